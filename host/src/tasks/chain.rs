//! From the storage of a future to the chain of futures that it awaits.
use super::function_name::{function_name, has_states, is_async};
use super::link::{Link, LinkKind, Variable};
use crate::dwarf::{Choice, DebugTypes, FutureIndex, Member, Place, Type, TypeId, Variant, without_parameters};
use crate::print::{Limits, Reader};
use crate::{Memory, MemoryError};
use std::collections::HashMap;

/// No chain is longer; a damaged pointer may close a circle.
const DEPTH: u32 = 40;

/// Follows the futures of one board.
pub(super) struct Follower<'a> {
    pub types: &'a DebugTypes,
    pub index: &'a FutureIndex,
    pub reader: Reader<'a>,
    /// Whether a type holds a future, of the types that were asked for.
    pub(super) holds: HashMap<TypeId, bool>,
}

impl<'a> Follower<'a> {
    pub fn new(types: &'a DebugTypes, index: &'a FutureIndex, memory: &'a mut dyn Memory) -> Self {
        let reader = Reader::new(types, memory, Limits { depth: 3, elements: 8 });
        Self { types, index, reader, holds: HashMap::new() }
    }

    /// The chain that begins with the future at a place.
    pub fn chain(&mut self, at: Place) -> Link {
        self.follow(at, String::new(), DEPTH)
    }

    pub(super) fn follow(&mut self, at: Place, field: String, depth: u32) -> Link {
        let name = self.types.type_name(at.ty);
        let mut link = Link {
            field,
            name: function_name(&self.types.type_path(at.ty)),
            kind: LinkKind::Future,
            line: None,
            note: None,
            awaits: Vec::new(),
            closure: None,
            place: Some(at),
            variables: Vec::new(),
        };
        let followed = match depth.checked_sub(1) {
            None => {
                link.kind = LinkKind::Unknown;
                link.note = Some("the chain is too long to be followed".into());
                Ok(())
            }
            Some(depth) if is_async(&name) || has_states(self.types, at.ty) => self.async_code(at, &mut link, depth),
            Some(depth) => self.other(at, &name, &mut link, depth),
        };
        if let Err(error) = followed {
            link.note = Some(format!("cannot be read: {error}"));
        }
        link
    }

    /// The state machine of an async function: its state tells the line, and what is awaited there.
    fn async_code(&mut self, at: Place, link: &mut Link, depth: u32) -> Result<(), MemoryError> {
        link.kind = LinkKind::Async;
        let Type::Choice(choice) = self.types.get(at.ty) else {
            link.note = Some("the debug information does not describe its states".into());
            return Ok(());
        };
        link.name = self.method_name(&choice, &link.name);
        let Some((variant, content)) = self.state(at, &choice, link)? else { return Ok(()) };
        link.line = self.types.line_of(at.ty, &variant);
        let state = self.types.type_name(content.ty);
        let at_rest = match state.as_str() {
            "Unresumed" => Some("not polled yet"),
            "Returned" => Some("has returned"),
            "Panicked" => Some("has panicked"),
            _ => None,
        };
        link.note = at_rest.map(str::to_owned);
        let Type::Struct { members, .. } = self.types.get(content.ty) else { return Ok(()) };
        let base = at.address + content.offset;
        link.variables = variables(&members, &arguments(self.types, &choice), base);
        if let Some(awaited) = members.iter().find(|member| member.name == "__awaitee") {
            let place = Place { address: base + awaited.offset, ty: awaited.ty };
            link.awaits.push(self.follow(place, String::new(), depth));
        } else if at_rest.is_none() {
            link.note = Some("the debug information does not say what it awaits".into());
        }
        Ok(())
    }

    /// The variant that an enum is now; a number that no variant has is said.
    pub(super) fn state(
        &mut self,
        at: Place,
        choice: &Choice,
        link: &mut Link,
    ) -> Result<Option<(Variant, Member)>, MemoryError> {
        let variant = self.reader.variant(at, choice)?;
        if let Some(variant) = variant
            && let Some(content) = variant.content.clone()
        {
            return Ok(Some((variant, content)));
        }
        let (offset, size) = choice.tag.unwrap_or_default();
        let number = self.reader.number(at.address + offset, size)?;
        link.note = Some(format!("damaged: no state has the number {number}"));
        link.kind = LinkKind::Unknown;
        Ok(None)
    }

    pub(super) fn poll_fn(&mut self, at: Place, link: &mut Link) {
        link.kind = LinkKind::PollFn;
        link.name = "poll_fn".into();
        let Some(closure) = self.types.field(at, "f") else { return };
        let path = without_parameters(&self.types.type_path(closure.ty)).replace("{closure_env#", "{closure#");
        link.line = self.index.closures.get(&path).cloned();
        link.closure = Some(path);
        if link.line.is_none() {
            link.note = Some("the line of its closure was optimized out".into());
        }
        if let Type::Struct { members, .. } = self.types.get(closure.ty) {
            link.variables = variables(&members, &[], closure.address);
        }
    }
}

/// The names of a function's arguments, which are in every one of its states.
fn arguments(types: &DebugTypes, choice: &Choice) -> Vec<String> {
    let first = choice.variants.first().and_then(|variant| variant.content.as_ref());
    match first.map(|content| types.get(content.ty)) {
        Some(Type::Struct { members, .. }) => members.into_iter().map(|member| member.name).collect(),
        _ => Vec::new(),
    }
}

/// The variables among the members of a state. Members of one name share one description, so of several all but one have a
/// wrong place; an argument that lives on comes once more.
fn variables(members: &[Member], arguments: &[String], base: u64) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    for member in members.iter().filter(|member| !member.name.starts_with("__")) {
        let same = members.iter().filter(|of| of.name == member.name).count();
        let is_shadowed = same > 1 + usize::from(arguments.contains(&member.name));
        let place = Place { address: base + member.offset, ty: member.ty };
        if !found.iter().any(|of| of.name == member.name && of.place == place) {
            found.push(Variable { name: member.name.clone(), place, is_shadowed });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dwarf::compiled::{library, library_with_names};

    /// A future of this library is read from memory that holds the same byte everywhere.
    const SOURCE: &str = "use core::future::Future;
        use core::task::{Context, Waker};
        async fn leaf(number: u32) -> u32 { core::future::pending::<()>().await; number }
        async fn stem(number: u32) -> u32 {
            let twice = 2 * number;
            leaf(twice).await + twice
        }
        #[unsafe(no_mangle)] pub fn poll_once(number: u32) -> bool {
            let mut future = core::pin::pin!(stem(number));
            future.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
        }";

    struct Filled(u8);

    impl Memory for Filled {
        fn read(&mut self, _: u32, into: &mut [u32]) -> Result<(), MemoryError> {
            into.fill(u32::from_le_bytes([self.0; 4]));
            Ok(())
        }

        fn write(&mut self, address: u32, _: &[u32]) -> Result<(), MemoryError> {
            Err(MemoryError::IsADump { address })
        }
    }

    #[test]
    fn every_number_of_a_state_is_one_of_the_compilers_or_called_damaged() {
        let types = library(SOURCE, &[]).types;
        let index = types.futures();
        let stem = *types.types_at("shapes::stem::{async_fn_env#0}").first().expect("the future is described");
        let mut states = Vec::new();
        for number in 0..=u8::MAX {
            let mut memory = Filled(number);
            let link = Follower::new(&types, &index, &mut memory).chain(Place { address: 0x1000, ty: stem });
            assert_eq!(link.name, "shapes::stem");
            match &link.note {
                Some(note) if note.starts_with("damaged: no state has the number") => assert!(link.awaits.is_empty()),
                _ => states.push(link),
            }
        }
        // Not polled yet, returned, panicked, and the one await. Two lines come before the source.
        assert_eq!(states.len(), 4, "{states:#?}");
        let suspended = states.last().expect("four states");
        let line = SOURCE.lines().position(|line| line.contains("leaf(twice).await")).expect("it is there") + 3;
        assert_eq!(suspended.line.as_ref().map(|line| line.line as usize), Some(line));
        assert_eq!(suspended.awaits[0].name, "shapes::leaf");
        assert!(suspended.variables.iter().any(|variable| variable.name == "twice" && !variable.is_shadowed));
    }

    /// The states of the one future, read by a host that knows the names of the present compiler only.
    fn states_of_another_compiler(names: &[(&str, &str)], path: &str) -> Vec<Link> {
        let types = library_with_names(SOURCE, &[], names).types;
        let index = types.futures();
        let stem = *types.types_at(path).first().expect("the future is described");
        let link = |number| {
            let mut memory = Filled(number);
            Follower::new(&types, &index, &mut memory).chain(Place { address: 0x1000, ty: stem })
        };
        let links = (0..=u8::MAX).map(link);
        links.filter(|link| !link.note.as_ref().is_some_and(|note| note.starts_with("damaged"))).collect()
    }

    #[test]
    fn the_states_of_a_future_are_told_by_a_compiler_that_names_its_type_differently() {
        let names = [("{async_fn_env#0}", "{async_fn_sta#0}")];
        let states = states_of_another_compiler(&names, "shapes::stem::{async_fn_sta#0}");
        let suspended = states.last().expect("four states");
        assert_eq!((states.len(), suspended.kind), (4, LinkKind::Async), "{states:#?}");
        assert!(suspended.line.is_some() && suspended.awaits[0].line.is_some(), "{suspended:#?}");
    }

    #[test]
    fn a_compiler_that_names_the_awaited_future_differently_leaves_the_line_and_a_note() {
        let states = states_of_another_compiler(&[("__awaitee", "__awaited")], "shapes::stem::{async_fn_env#0}");
        let suspended = states.last().expect("four states");
        assert!(suspended.line.is_some() && suspended.awaits.is_empty(), "{suspended:#?}");
        assert_eq!(suspended.note.as_deref(), Some("the debug information does not say what it awaits"));
    }

    #[test]
    fn a_compiler_that_names_the_states_differently_leaves_their_lines() {
        let names = [("Suspend0", "Waiting0"), ("Unresumed", "Unstarted")];
        let states = states_of_another_compiler(&names, "shapes::stem::{async_fn_env#0}");
        let suspended = states.last().expect("four states");
        assert!(suspended.line.is_some() && suspended.awaits[0].line.is_some(), "{suspended:#?}");
    }
}
