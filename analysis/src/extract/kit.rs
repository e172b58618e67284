//! Methods: of the kit's agents, ports, watches, clients and servers, and of what holds them.
use super::Place;
use super::lower::{After, Ends, Lowering, merge};
use super::value::{Kind, Value};

/// Methods whose result is taken for what they are called on.
const SAME: [&str; 26] = [
    "unwrap",
    "expect",
    "ok",
    "as_mut",
    "as_ref",
    "as_deref",
    "as_deref_mut",
    "borrow",
    "borrow_mut",
    "clone",
    "by_ref",
    "iter",
    "iter_mut",
    "into_iter",
    "into_inner",
    "copied",
    "cloned",
    "into",
    "as_slice",
    "as_mut_slice",
    "deref",
    "deref_mut",
    "map_err",
    "ok_or",
    "unwrap_or_default",
    "flatten",
];
/// Methods whose result is an element of what they are called on.
const ELEMENT: [&str; 9] = ["get", "get_mut", "first", "first_mut", "last", "last_mut", "next", "take", "nth"];
/// Methods of an agent that open no port.
const OF_AGENT: [&str; 11] =
    ["halt", "start", "trace", "pump", "event", "input", "share", "watch_races", "crash", "node", "id"];

impl Lowering<'_, '_> {
    pub fn method(&mut self, value: &Value, name: &str, arguments: Vec<Value>, place: &Place, from: Ends) -> After {
        if let Value::OneOf(all) = value
            && !value.is_clean()
        {
            let mut after = After::new(Ends::new(), Value::Absent);
            for one in all {
                let done = self.method(one, name, arguments.clone(), place, from.clone());
                merge(&mut after.ends, &done.ends);
                after.value = after.value.or(done.value);
            }
            return after;
        }
        let functions = self.index.methods(name);
        if (SAME.contains(&name) || ELEMENT.contains(&name)) && !functions.is_empty() && !value.is_clean() {
            // It may be that of the sources or that of the standard library.
            let mut after = self.invoke(&functions, with(value, arguments), false, place, from.clone());
            merge(&mut after.ends, &from);
            return After::new(after.ends, Value::Unknown);
        }
        if SAME.contains(&name) && !value.is_clean() && arguments.iter().all(Value::is_clean) {
            return After::new(from, value.clone());
        }
        let at = place.clone();
        match (value, name) {
            (Value::Absent, _) => After::new(from, Value::Absent),
            (Value::System, "begin") => {
                let agent = self.begin_agent(arguments.first().unwrap_or(&Value::Unknown));
                After::new(from, agent)
            }
            (Value::Agent, "inbox" | "outbox") => {
                let value = self.opened(arguments.first(), name == "outbox", place);
                After::new(from, value)
            }
            (Value::Agent, "serial") => {
                let name = |at: usize| arguments.get(at).map(|pair: &Value| pair.field("0"));
                let ports = [4, 5].map(|at| self.opened(name(at).as_ref(), at == 4, place));
                After::new(from, Value::List(ports.to_vec()))
            }
            (Value::Agent, "watch") => match arguments.first() {
                Some(Value::Name(name)) => {
                    let value = self.watch(&name.clone());
                    After::new(from, value)
                }
                _ => After::new(from, Value::Unknown),
            },
            (Value::Agent, name) if OF_AGENT.contains(&name) => After::clean(from),
            (Value::Clean, "client" | "relay") if arguments.len() >= 4 && arguments.contains(&Value::Agent) => {
                let [.., requests, replies] = arguments.as_slice() else { return After::clean(from) };
                After::new(from, Value::Client(Box::new([requests.clone(), replies.clone()])))
            }
            (Value::Clean, "server") if arguments.len() == 3 && arguments.contains(&Value::Agent) => {
                let clients = match &arguments[2] {
                    Value::List(all) => all.iter().map(|one| [one.field("0"), one.field("1")]).collect(),
                    _ => vec![[Value::Unknown, Value::Unknown]],
                };
                After::new(from, Value::Server(clients))
            }
            // The gate of calls begins: no node does.
            (Value::Clean, "begin") if arguments.first() == Some(&Value::Agent) => After::clean(from),
            (Value::Port(port), "send" | "recv") => {
                let kind = Kind::Port { port: port.clone(), receives: name == "recv", at };
                After::new(from, Value::code(kind, false))
            }
            (Value::Port(port), "try_send" | "try_recv") => {
                let done = self.on_port(Some(port), name == "try_recv", place, &from);
                After::one_of(vec![("Ok", done, Value::Clean), ("Err", from, Value::Clean)])
            }
            (Value::Port(_), "sabotage") => After::clean(from),
            (Value::Watch(watch), "set") => {
                After::clean(vec![self.statement(crate::Action::Write(*watch), place, &from)])
            }
            (Value::Client(client), "call" | "call_with_timeout") => {
                After::new(from, Value::code(Kind::Rpc { client: (**client).clone(), at }, false))
            }
            (Value::Client(_), "late") => After::clean(from),
            (Value::Client(_), "on_behalf_of") => After::new(from, value.clone()),
            (Value::Server(clients), "next") => {
                After::new(from, Value::code(Kind::Next { clients: clients.clone(), at }, false))
            }
            (Value::Request(ports), "reply") => {
                After::new(from, Value::code(Kind::Reply { ports: ports.clone(), at }, false))
            }
            (Value::Request(_), "caller") => After::clean(from),
            (Value::Unknown, _) => self.on_unknown(name, arguments, place, from),
            (_, name) if ELEMENT.contains(&name) && !value.is_clean() && arguments.iter().all(Value::is_clean) => {
                After::new(from, value.element())
            }
            (Value::List(all), "map") => {
                let all = all.clone();
                self.mapped(all, arguments, place, from)
            }
            _ if functions.is_empty() => self.outside(name, with(value, arguments), place, from),
            _ => self.invoke(&functions, with(value, arguments), true, place, from),
        }
    }

    /// A port that is opened under a name.
    fn opened(&mut self, name: Option<&Value>, out: bool, place: &Place) -> Value {
        match name {
            Some(Value::Name(name)) => self.port(name, out),
            Some(Value::OneOf(all)) => Value::one_of(all.iter().map(|one| self.opened(Some(one), out, place))),
            _ => {
                self.note_at(place.clone(), "a port is opened under a name that is not followed".into());
                Value::Unknown
            }
        }
    }

    fn on_unknown(&mut self, name: &str, arguments: Vec<Value>, place: &Place, from: Ends) -> After {
        let given = arguments.iter().any(|argument| !argument.is_clean());
        match name.trim_start_matches("try_") {
            _ if given => {
                let ends = self.escape(place, &format!("`{name}` of something unknown gets a port or function"), from);
                After::new(ends, Value::Unknown)
            }
            "send" | "recv" => {
                let text = format!("`{name}` is on a port that is not known: taken for any port of the node");
                self.note_at(place.clone(), text);
                let mut ends = self.on_port(None, name.ends_with("recv"), place, &from);
                merge(&mut ends, &from);
                After::clean(ends)
            }
            "set" => After::clean(self.any_watch(place, "`set` is on a watch that is not known", from)),
            _ if ELEMENT.contains(&name) => After::new(from, Value::Unknown),
            _ => {
                let functions = self.index.methods(name);
                let why = format!("`{name}` is of something that is not known");
                let mut ends = self.anything(place, &why, from.clone());
                if !functions.is_empty() {
                    merge(
                        &mut ends,
                        &self.invoke(&functions, with(&Value::Unknown, arguments), true, place, from).ends,
                    );
                }
                After::new(ends, Value::Unknown)
            }
        }
    }

    /// A closure for each element of a list.
    fn mapped(&mut self, all: Vec<Value>, arguments: Vec<Value>, place: &Place, from: Ends) -> After {
        let Some(function) = arguments.into_iter().next() else { return After::clean(from) };
        if function == Value::Clean {
            // `Result::unwrap` and the like.
            return After::new(from, Value::List(all));
        }
        let (mut values, mut ends) = (Vec::new(), from);
        for one in all {
            let after = self.apply(&function, vec![one], place, ends);
            (ends, _) = (after.ends, values.push(after.value));
        }
        After::new(ends, Value::list(values))
    }
}

fn with(value: &Value, arguments: Vec<Value>) -> Vec<Value> {
    std::iter::once(value.clone()).chain(arguments).collect()
}
