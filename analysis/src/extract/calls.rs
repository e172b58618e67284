//! Calls: of the kit, of functions of the sources, and of what is outside of them.
use super::Place;
use super::expression::{bound, wraps};
use super::lower::{After, Ends, Lowering, merge};
use super::value::{Code, Env, Kind, Value};
use syn::spanned::Spanned as _;
use syn::{Expr, ExprMethodCall};

/// Functions whose result is their argument.
const PASSED: [&str; 6] = ["init", "transmute", "identity", "black_box", "pin", "into_pin"];
/// Functions that run a closure once, if at all, before they return.
const ONCE: [&str; 10] = [
    "run",
    "start_core1",
    "spawn_core1",
    "with",
    "then",
    "masked",
    "unwrap_or_else",
    "block_on",
    "get_or_insert_with",
    "map_err",
];
/// Functions that run a closure any number of times before they return.
const OFTEN: [&str; 14] = [
    "for_each",
    "try_for_each",
    "map_or",
    "map_or_else",
    "or_else",
    "and_then",
    "is_some_and",
    "is_none_or",
    "ok_or_else",
    "from_fn",
    "any",
    "all",
    "retain",
    "fold",
];
impl Lowering<'_, '_> {
    pub fn call(&mut self, call: &syn::ExprCall, from: Ends) -> After {
        let place = self.place(call.span());
        let Expr::Path(path) = &*call.func else {
            let function = self.expression(&call.func, from);
            let (values, ends) = self.all(call.args.iter(), function.ends);
            return self.apply(&function.value, values, &place, ends);
        };
        let (values, ends) = self.all(call.args.iter(), from);
        let name = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        let local = path.path.get_ident().and_then(|name| self.env.get(&name.to_string())).cloned();
        if let Some(function) = local {
            return self.apply(&function, values, &place, ends);
        }
        let functions = self.index.named(&path.path, path.qself.is_some());
        if !functions.is_empty() {
            return self.invoke(&functions, values, false, &place, ends);
        }
        if wraps(&path.path) && values.len() == 1 {
            return After::new(ends, Value::one_of(values));
        }
        if name.starts_with(char::is_uppercase) {
            // A tuple struct or a variant of an enum.
            return After::new(ends, Value::list(values));
        }
        match self.race(&name, &values, &place) {
            Some(value) => After::new(ends, value),
            None => self.outside(&name, values, &place, ends),
        }
    }

    /// The future of several futures.
    fn race(&self, name: &str, values: &[Value], at: &Place) -> Option<Value> {
        let variants = ["First", "Second", "Third", "Fourth"];
        let is_inert = values.iter().all(Value::is_clean);
        let kind = match (name, values) {
            ("with_timeout" | "with_deadline", [_, future]) => {
                Kind::Race { parts: vec![("Ok", Some(future.clone())), ("Err", None)], at: at.clone() }
            }
            ("select" | "select3" | "select4", parts) if parts.len() <= variants.len() => Kind::Race {
                parts: variants.into_iter().zip(parts.iter().cloned().map(Some)).collect(),
                at: at.clone(),
            },
            ("join" | "join3" | "join4" | "join5", parts) => Kind::Join { parts: parts.to_vec(), at: at.clone() },
            _ => return None,
        };
        Some(if is_inert { Value::Clean } else { Value::code(kind, false) })
    }

    pub fn method_call(&mut self, call: &ExprMethodCall, from: Ends) -> After {
        let After { ends, value, ways } = self.expression(&call.receiver, from);
        let (arguments, after) = self.all(call.args.iter(), ends.clone());
        let (name, place) = (call.method.to_string(), self.place(call.method.span()));
        if !ways.is_empty() && after == ends {
            let good = |name: &str| ["Ok", "Some", "true"].contains(&name);
            let named = |yes: &'static str, no: &'static str, turned: bool| {
                let ways = ways.iter().map(|(way, ends, value)| {
                    (if good(way) != turned { yes } else { no }, ends.clone(), value.clone())
                });
                After::one_of(ways.collect())
            };
            match name.as_str() {
                "unwrap" | "expect" => {
                    return After::one_of(ways.into_iter().filter(|way| good(way.0)).collect()).told_nothing();
                }
                "is_ok" | "is_some" => return named("true", "false", false),
                "is_err" | "is_none" => return named("true", "false", true),
                "ok" => return named("Some", "None", false),
                "map_err" if arguments.iter().all(Value::is_clean) => return After::one_of(ways),
                _ => {}
            }
        }
        self.method(&value, &name, arguments, &place, after)
    }

    /// Calls a closure or function that a variable holds.
    pub fn apply(&mut self, function: &Value, arguments: Vec<Value>, place: &Place, from: Ends) -> After {
        match function {
            Value::Code(Code { kind, .. }) => match &**kind {
                Kind::Closure { inputs, body, env, file } => {
                    let env = bound(inputs.iter(), &arguments, env.clone());
                    self.inside(file, env, from, |this, from| this.expression(body, from))
                }
                Kind::Functions(functions) => self.invoke(functions, arguments, false, place, from),
                _ => After::new(self.anything(place, "a future is called", from), Value::Unknown),
            },
            Value::Absent => After::new(from, Value::Absent),
            Value::Clean | Value::Name(_) if arguments.iter().all(Value::is_clean) => After::clean(from),
            _ => After::new(self.escape(place, "a function that is not known is called", from), Value::Unknown),
        }
    }

    /// Calls one of these functions of the sources, or one outside of them.
    pub fn invoke(&mut self, functions: &[usize], values: Vec<Value>, outside: bool, at: &Place, from: Ends) -> After {
        let is_clean = values.iter().all(Value::is_clean);
        if functions.iter().all(|one| self.inert[*one]) && is_clean {
            return After::clean(from);
        }
        if let Some(task) = functions.iter().find(|one| self.index.functions[**one].pool.is_some()) {
            self.spawn(*task, values);
            return After::clean(from);
        }
        let mut after = if functions.iter().any(|one| self.index.functions[*one].is_async) {
            // A method outside of the sources may have the same name and begin at once.
            let name = self.index.functions[functions[0]].name.clone();
            let is_other = outside && !is_clean && !self.is_own(functions, &values);
            let ends = if is_other { self.outside(&name, values.clone(), at, from).ends } else { from };
            let kind = Kind::Call { functions: functions.to_vec(), arguments: values, outside };
            return After::new(ends, Value::code(kind, false));
        } else {
            self.inline(functions, &values, from.clone())
        };
        if outside && !is_clean && !self.is_own(functions, &values) {
            let name = self.index.functions[functions[0]].name.clone();
            let other = self.outside(&name, values, at, from);
            merge(&mut after.ends, &other.ends);
            after.value = after.value.or(other.value);
        } else if outside && is_clean {
            merge(&mut after.ends, &from);
        }
        After::new(after.ends, after.value)
    }

    /// Whether a method is certainly one of the sources: it is called on a struct of theirs.
    fn is_own(&self, functions: &[usize], values: &[Value]) -> bool {
        let owned = functions.iter().all(|one| self.index.functions[*one].owner.is_some());
        owned && matches!(values.first(), Some(Value::Fields(_)))
    }

    /// The bodies of functions, one of which is called.
    pub fn inline(&mut self, functions: &[usize], values: &[Value], from: Ends) -> After {
        let mut all = After::new(Ends::new(), Value::Absent);
        for at in functions {
            let function = &self.index.functions[*at];
            if self.calls.contains(at) || self.calls.len() > 64 {
                let place = Place { file: function.file.clone(), line: function.line };
                let ends = self.anything(&place, &format!("`{}` calls itself", function.name), from.clone());
                merge(&mut all.ends, &ends);
                all.value = Value::Unknown;
                continue;
            }
            let mut env = Env::new();
            let values = match values.split_first() {
                Some((own, rest)) if function.has_self => {
                    env.insert("self".into(), own.clone());
                    rest
                }
                _ => values,
            };
            let env = bound(function.parameters.iter(), values, env);
            self.calls.push(*at);
            let done = self.inside(&function.file, env, from.clone(), |this, from| this.block(&function.body, from));
            self.calls.pop();
            merge(&mut all.ends, &done.ends);
            all.value = all.value.or(done.value);
        }
        all
    }

    /// Lowers a body that has its own variables and returns.
    pub fn inside(&mut self, file: &str, env: Env, from: Ends, body: impl FnOnce(&mut Self, Ends) -> After) -> After {
        let outer = std::mem::replace(&mut self.env, env);
        let file = std::mem::replace(&mut self.file, file.to_owned());
        let loops = std::mem::take(&mut self.loops);
        self.returns.push((Ends::new(), Value::Absent));
        let mut after = body(self, from);
        if let Some((ends, value)) = self.returns.pop() {
            merge(&mut after.ends, &ends);
            after.value = after.value.or(value);
        }
        (self.env, self.file, self.loops) = (outer, file, loops);
        After::new(after.ends, after.value)
    }

    /// A call of something outside of the sources. It can use only what it is given.
    pub fn outside(&mut self, name: &str, values: Vec<Value>, place: &Place, from: Ends) -> After {
        if values.iter().any(Value::has_absent) {
            return After::new(from, Value::Absent);
        }
        if values.iter().all(Value::is_clean) || name == "drop" || name == "forget" {
            return After::clean(from);
        }
        if PASSED.contains(&name) {
            return After::new(from, Value::one_of(values.into_iter().filter(|value| !value.is_clean())));
        }
        let is_code = |value: &&Value| matches!(value, Value::Code(_));
        let given =
            Value::one_of(values.iter().filter(|value| !is_code(value) && !value.is_clean()).map(Value::element));
        let codes: Vec<_> = values.iter().filter(is_code).cloned().collect();
        let (once, often) = (ONCE.contains(&name), OFTEN.contains(&name) || name == "map" && given != Value::Clean);
        if codes.is_empty() || !once && !often {
            let why = format!("`{name}` gets a port, watch or function and is not in the sources");
            return After::new(self.escape(place, &why, from), Value::Unknown);
        }
        let here = self.here;
        let mut after = After::new(from.clone(), Value::Absent);
        let head = self.statement(crate::Action::Local, place, &from);
        merge(&mut after.ends, &[head]);
        self.repeats += usize::from(often);
        for code in &codes {
            let done = match code {
                Value::Code(Code { kind, .. }) if name == "block_on" => self.run(kind, place, vec![head]),
                code => self.apply(code, vec![given.clone(), given.clone()], place, vec![head]),
            };
            if often {
                done.ends.iter().for_each(|last| self.system.builder.edge(*last, head));
            }
            merge(&mut after.ends, &done.ends);
            after.value = after.value.or(done.value);
        }
        self.repeats -= usize::from(often);
        // What the other core does is its own affair.
        self.here = here;
        after
    }
}

impl After {
    fn told_nothing(mut self) -> Self {
        self.ways.clear();
        self
    }
}
