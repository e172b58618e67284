//! Futures: what happens where one is awaited.
use super::Place;
use super::lower::{After, Ends, Lowering, merge};
use super::value::{Code, Kind, Value};
use crate::Action;
use syn::spanned::Spanned as _;

impl Lowering<'_, '_> {
    pub fn awaited(&mut self, inner: &syn::ExprAwait, from: Ends) -> After {
        let after = self.expression(&inner.base, from);
        let place = self.place(inner.base.span());
        self.await_value(&after.value, &place, after.ends)
    }

    fn await_value(&mut self, value: &Value, place: &Place, from: Ends) -> After {
        match value {
            Value::Code(Code { kind, .. }) => self.run(&kind.clone(), place, from),
            Value::OneOf(all) => {
                let mut after = After::new(Ends::new(), Value::Absent);
                for one in all {
                    let done = self.await_value(one, place, from.clone());
                    merge(&mut after.ends, &done.ends);
                    after.value = after.value.or(done.value);
                }
                after
            }
            Value::Absent => After::new(from, Value::Absent),
            value if value.is_clean() => After::clean(vec![self.statement(Action::Wait, place, &from)]),
            _ => After::new(self.anything(place, "a future that is not known is awaited", from), Value::Unknown),
        }
    }

    /// Runs a future to its end.
    pub fn run(&mut self, kind: &Kind, place: &Place, from: Ends) -> After {
        match kind {
            Kind::Block { block, env, file } => {
                self.inside(file, env.clone(), from, |this, from| this.block(block, from))
            }
            Kind::Call { functions, arguments, outside, .. } => {
                let mut after = self.inline(functions, arguments, from.clone());
                if *outside {
                    merge(&mut after.ends, &from);
                }
                after
            }
            Kind::Port { port, receives, at } => After::clean(self.on_port(Some(port), *receives, at, &from)),
            Kind::Rpc { client: [requests, replies], at } => {
                // Late replies are taken before and after the request; with a timeout there may be none.
                let wait = self.statement(Action::Wait, at, &from);
                self.again(replies, true, at, wait);
                let sent = self.on_ports(requests, false, at, &vec![wait]);
                let wait = self.statement(Action::Wait, at, &sent);
                self.again(replies, true, at, wait);
                After::clean(vec![wait])
            }
            Kind::Next { clients, at } => {
                let wait = self.statement(Action::Wait, at, &from);
                clients.iter().for_each(|[requests, _]| self.again(requests, true, at, wait));
                let replies = clients.iter().map(|[_, replies]| replies.clone()).collect();
                After::new(vec![wait], Value::Request(replies))
            }
            Kind::Reply { ports, at } => {
                let mut ends = from.clone();
                for port in ports {
                    merge(&mut ends, &self.on_ports(port, false, at, &from));
                }
                After::clean(ends)
            }
            Kind::Race { parts, at } => self.raced(parts, at, &from),
            Kind::Join { parts, at } => self.joined(parts, at, &from),
            Kind::Closure { .. } | Kind::Functions(_) => {
                After::new(self.anything(place, "a function is awaited", from), Value::Unknown)
            }
        }
    }

    /// A send or receive on one of the ports that a value may be.
    fn on_ports(&mut self, value: &Value, receives: bool, at: &Place, from: &Ends) -> Ends {
        match value {
            Value::Port(name) => self.on_port(Some(name), receives, at, from),
            Value::OneOf(all) => all.iter().flat_map(|one| self.on_ports(one, receives, at, from)).collect(),
            Value::Absent => from.clone(),
            _ => {
                let text = "a call goes by a port that is not known: taken for any port of the node";
                self.note_at(at.clone(), text.into());
                self.on_port(None, receives, at, from)
            }
        }
    }

    /// The same any number of times, at a statement.
    fn again(&mut self, value: &Value, receives: bool, at: &Place, head: crate::StatementId) {
        let ends = self.on_ports(value, receives, at, &vec![head]);
        ends.iter().for_each(|last| self.system.builder.edge(*last, head));
    }

    /// Whether awaiting it is one send or receive, or nothing of either.
    fn is_single(value: &Value) -> bool {
        match value {
            Value::Code(code) => code.is_inert || matches!(&*code.kind, Kind::Port { .. }),
            value => value.is_clean(),
        }
    }

    /// One of several futures ends. The others may have come to any point, unless they are one send or receive: cancelled,
    /// that did nothing.
    fn raced(&mut self, parts: &[(&'static str, Option<Value>)], at: &Place, from: &Ends) -> After {
        let start = vec![self.statement(Action::Wait, at, from)];
        let first = self.system.builder.len();
        let mut ways = Vec::new();
        for (name, part) in parts {
            let done = match part {
                Some(part) if !part.is_clean() => self.await_value(part, at, start.clone()),
                _ => After::clean(start.clone()),
            };
            ways.push((*name, done.ends, done.value));
        }
        if !parts.iter().all(|(_, part)| part.as_ref().is_none_or(Self::is_single)) {
            let ends = self.shuffle(first, at, &start);
            ways.iter_mut().for_each(|way| way.1.clone_from(&ends));
        }
        After::one_of(ways)
    }

    /// All futures end, in any order.
    fn joined(&mut self, parts: &[Value], at: &Place, from: &Ends) -> After {
        let start = vec![self.statement(Action::Wait, at, from)];
        let mut values = Vec::new();
        if let ([one, other], true) = (parts, parts.iter().all(Self::is_single)) {
            let mut ends = Ends::new();
            for pair in [[one, other], [other, one]] {
                let done = pair.into_iter().fold(start.clone(), |from, part| self.await_value(part, at, from).ends);
                merge(&mut ends, &done);
            }
            return After::clean(ends);
        }
        let first = self.system.builder.len();
        for part in parts {
            values.push(self.await_value(part, at, start.clone()).value);
        }
        After::new(self.shuffle(first, at, &start), Value::list(values))
    }
}
