//! From a chain of futures to the things at its ends that the kit and embassy know: ports, calls, timers, locks.
use super::chain::Follower;
use super::link::Link;
use crate::MemoryError;
use crate::dwarf::{Place, Type, without_parameters};

/// What a future waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// A message at an incoming port of its node.
    Receive(u8),
    /// Room at an outgoing port of its node.
    Send(u8),
    /// The reply to a call whose request leaves by this port.
    Call(u8),
    /// A request at any of these ports.
    Serve(Vec<u8>),
    /// A moment, in ticks of the node's time.
    Timer(u64),
    /// A primitive of embassy-sync: what it is, and where.
    Sync(String, u64),
    /// A future that neither the kit nor embassy describes: a closure or a type.
    Other(String),
}

/// One end of a channel that a task holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub port: u8,
    pub is_inbox: bool,
}

/// How deep the ends of channels are looked for in a variable.
const DEPTH: u32 = 5;

impl Follower<'_> {
    /// Everything that a chain waits for: several things in a `select` or a `join`.
    pub fn awaited(&mut self, link: &Link) -> Vec<Awaited> {
        match self.known(link) {
            Ok(Some(known)) => vec![known],
            Ok(None) | Err(_) if link.awaits.is_empty() => {
                let line = link.line.as_ref().map_or_else(String::new, |line| format!(" at {line}"));
                vec![Awaited::Other(format!("{}{line}", link.short_name()))]
            }
            Ok(None) | Err(_) => link.awaits.iter().flat_map(|inner| self.awaited(inner)).collect(),
        }
    }

    fn known(&mut self, link: &Link) -> Result<Option<Awaited>, MemoryError> {
        let variable = |name: &str| link.variables.iter().find(|of| of.name == name).map(|of| of.place);
        Ok(match link.name.as_str() {
            "stillpoint_agent::port::Inbox::recv" => self.port(variable("self"), &[])?.map(Awaited::Receive),
            "stillpoint_agent::port::Outbox::send" => self.port(variable("self"), &[])?.map(Awaited::Send),
            "stillpoint_agent::rpc::client::Call" => {
                let client = link.place.and_then(|place| self.types.field(place, "client"));
                self.port(client, &["requests"])?.map(Awaited::Call)
            }
            "stillpoint_agent::rpc::server::Server::next" => {
                let server = self.pointee(variable("self"))?;
                let mut ends = Vec::new();
                if let Some(server) = server {
                    self.ends(server, DEPTH, &mut ends)?;
                }
                let inboxes = ends.iter().filter(|end| end.is_inbox).map(|end| end.port);
                Some(Awaited::Serve(inboxes.collect()))
            }
            "embassy_time::timer::Timer" => {
                let ticks = link.place.and_then(|place| self.types.follow(place, &["expires_at", "ticks"]));
                self.long(ticks)?.map(Awaited::Timer)
            }
            "stillpoint_agent::time::sleep" => self.long(variable("until"))?.map(Awaited::Timer),
            name if name.starts_with("embassy_sync::") => self.sync(link)?,
            _ if link.closure.as_ref().is_some_and(|path| path.starts_with("embassy_sync::")) => self.sync(link)?,
            _ => None,
        })
    }

    fn long(&mut self, place: Option<Place>) -> Result<Option<u64>, MemoryError> {
        let Some(place) = place else { return Ok(None) };
        Ok(Some(self.reader.number(place.address, 8)? as u64))
    }

    /// What a variable points to, or the variable itself if it is no pointer.
    fn pointee(&mut self, place: Option<Place>) -> Result<Option<Place>, MemoryError> {
        let Some(place) = place else { return Ok(None) };
        Ok(match self.types.get(place.ty) {
            Type::Pointer(Some(to)) => Some(Place { address: self.reader.number(place.address, 4)? as u64, ty: to }),
            Type::Pointer(None) => None,
            _ => Some(place),
        })
    }

    /// The port of an end of a channel, in a part of what a variable points to.
    fn port(&mut self, place: Option<Place>, path: &[&str]) -> Result<Option<u8>, MemoryError> {
        let Some(of) = self.pointee(place)? else { return Ok(None) };
        let port = self.types.follow(of, path).and_then(|end| self.types.follow(end, &["tap", "port"]));
        let Some(port) = port else { return Ok(None) };
        Ok(Some(self.reader.number(port.address, 1)? as u8))
    }

    /// A primitive by the address of what its future, its `self` or its closure points to.
    fn sync(&mut self, link: &Link) -> Result<Option<Awaited>, MemoryError> {
        let is_self = |name: &str| name.trim_start_matches("_ref__") == "self";
        let own = link.variables.iter().find(|of| is_self(&of.name)).map(|of| of.place);
        let fields = ["channel", "signal", "mutex", "pipe", "subscriber", "self"];
        let field = link.place.and_then(|place| fields.iter().find_map(|name| self.types.field(place, name)));
        let mut place = own.or(field);
        // A closure may hold a reference to a reference.
        while let Some(pointer) = place
            && matches!(self.types.get(pointer.ty), Type::Pointer(_))
        {
            place = self.pointee(place)?;
        }
        let Some(place) = place else { return Ok(None) };
        let of = without_parameters(&self.types.type_name(place.ty));
        // The method that a closure is in: `embassy_sync::mutex::{impl#1}::lock::{closure#0}`.
        let method = link.closure.as_deref().and_then(|path| path.rsplit("::").find(|part| !part.starts_with('{')));
        let what = method.map_or_else(|| link.short_name().to_owned(), |method| format!("{of}::{method}"));
        Ok(Some(Awaited::Sync(what, place.address)))
    }

    /// The ends of channels in a value.
    pub fn ends(&mut self, at: Place, depth: u32, found: &mut Vec<End>) -> Result<(), MemoryError> {
        let Some(depth) = depth.checked_sub(1) else { return Ok(()) };
        match self.types.get(at.ty) {
            Type::Struct { name, members, .. } => {
                let is_inbox = name.starts_with("Inbox<");
                if (is_inbox || name.starts_with("Outbox<"))
                    && let Some(port) = self.types.follow(at, &["tap", "port"])
                {
                    found.push(End { port: self.reader.number(port.address, 1)? as u8, is_inbox });
                    return Ok(());
                }
                for member in members {
                    self.ends(Place { address: at.address + member.offset, ty: member.ty }, depth, found)?;
                }
            }
            Type::Array { element, count } => {
                let size = self.types.size(element).unwrap_or(0);
                for index in 0..count.min(32) {
                    self.ends(Place { address: at.address + index * size, ty: element }, depth, found)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The ends of channels that a task holds in any future of its chain.
    pub fn ends_of(&mut self, chain: &Link) -> Vec<End> {
        let mut found = Vec::new();
        for (_, link) in chain.walk() {
            for variable in &link.variables {
                let _ = self.ends(variable.place, DEPTH, &mut found);
            }
        }
        found
    }

    /// The addresses of the mutexes whose guards a task holds.
    pub fn guards_of(&mut self, chain: &Link) -> Vec<u64> {
        let mut found = Vec::new();
        for (_, link) in chain.walk() {
            for variable in &link.variables {
                if self.types.type_name(variable.place.ty).starts_with("MutexGuard<")
                    && let Some(mutex) = self.types.field(variable.place, "mutex")
                    && let Ok(Some(mutex)) = self.pointee(Some(mutex))
                {
                    found.push(mutex.address);
                }
            }
        }
        found
    }
}
