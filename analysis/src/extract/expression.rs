//! The control flow of expressions.
use super::{Around, Ends, Lowering, Value};
use crate::Action;
use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned as _;
use syn::{Expr, ExprMatch, ExprMethodCall, Pat};

fn last_name(expression: &Expr) -> Option<String> {
    let Expr::Path(path) = expression else { return None };
    path.path.segments.last().map(|last| last.ident.to_string())
}

impl Lowering<'_> {
    pub(super) fn expression(&mut self, expression: &Expr, from: Ends) -> Ends {
        let at = expression.span();
        match expression {
            Expr::Await(inner) => {
                let is_port =
                    matches!(&*inner.base, Expr::MethodCall(call) if call.method == "send" || call.method == "recv");
                let after = self.expression(&inner.base, from);
                if is_port { after } else { vec![self.statement(Action::Wait, at, &after)] }
            }
            Expr::MethodCall(call) => self.method(call, from),
            Expr::Call(call) => self.call(call, from),
            Expr::Block(inner) => self.block(&inner.block, from),
            Expr::Unsafe(inner) => self.block(&inner.block, from),
            Expr::If(branch) => {
                let from = self.expression(&branch.cond, from);
                let mut ends = self.block(&branch.then_branch, from.clone());
                ends.extend(match &branch.else_branch {
                    Some((_, otherwise)) => self.expression(otherwise, from),
                    None => from,
                });
                ends
            }
            Expr::Match(inner) => self.choice(inner, from),
            Expr::Loop(inner) => {
                self.looped(inner.label.as_ref(), at, from, |this, head| (this.block(&inner.body, head), Vec::new()))
            }
            Expr::While(inner) => self.looped(inner.label.as_ref(), at, from, |this, head| {
                let tested = this.expression(&inner.cond, head);
                (this.block(&inner.body, tested.clone()), tested)
            }),
            Expr::ForLoop(inner) => {
                let from = self.expression(&inner.expr, from);
                let endless = matches!(&*inner.expr, Expr::Range(range) if range.end.is_none());
                self.looped(inner.label.as_ref(), at, from, |this, head| {
                    (this.block(&inner.body, head.clone()), if endless { Vec::new() } else { head })
                })
            }
            Expr::Closure(inner) => {
                // It may run any number of times.
                self.looped(None, at, from, |this, head| (this.expression(&inner.body, head.clone()), head))
            }
            Expr::Async(inner) => {
                self.note(at, "an async block is taken to run any number of times where it is written".into());
                self.looped(None, at, from, |this, head| (this.block(&inner.block, head.clone()), head))
            }
            Expr::Break(inner) => {
                let from = inner.expr.iter().fold(from, |from, value| self.expression(value, from));
                if let Some(around) = self.around(inner.label.as_ref()) {
                    around.ends.extend(from);
                }
                Vec::new()
            }
            Expr::Continue(inner) => {
                let head = self.around(inner.label.as_ref()).map(|around| around.head);
                head.into_iter().for_each(|head| from.iter().for_each(|last| self.builder.edge(*last, head)));
                Vec::new()
            }
            Expr::Return(inner) => {
                let from = inner.expr.iter().fold(from, |from, value| self.expression(value, from));
                self.returns.last_mut().into_iter().for_each(|ends| ends.extend(from.iter().copied()));
                Vec::new()
            }
            Expr::Try(inner) => {
                let from = self.expression(&inner.expr, from);
                self.returns.last_mut().into_iter().for_each(|ends| ends.extend(from.iter().copied()));
                from
            }
            Expr::Macro(call) => {
                // A watch counts as one of the node's even if its variable is not followed.
                self.value(expression);
                self.tokens(&call.mac, from)
            }
            Expr::Binary(inner) => {
                let left = self.expression(&inner.left, from);
                let mut ends = self.expression(&inner.right, left.clone());
                if matches!(inner.op, syn::BinOp::And(_) | syn::BinOp::Or(_)) {
                    ends.extend(left);
                }
                ends
            }
            Expr::Assign(inner) => {
                let from = self.expression(&inner.right, from);
                self.expression(&inner.left, from)
            }
            Expr::Let(inner) => self.expression(&inner.expr, from),
            Expr::Reference(inner) => self.expression(&inner.expr, from),
            Expr::Unary(inner) => self.expression(&inner.expr, from),
            Expr::Paren(inner) => self.expression(&inner.expr, from),
            Expr::Group(inner) => self.expression(&inner.expr, from),
            Expr::Cast(inner) => self.expression(&inner.expr, from),
            Expr::Field(inner) => self.expression(&inner.base, from),
            Expr::Index(inner) => {
                let from = self.expression(&inner.expr, from);
                self.expression(&inner.index, from)
            }
            Expr::Tuple(inner) => self.all(inner.elems.iter(), from),
            Expr::Array(inner) => self.all(inner.elems.iter(), from),
            Expr::Struct(inner) => self.all(inner.fields.iter().map(|field| &field.expr), from),
            Expr::Repeat(inner) => self.expression(&inner.expr, from),
            Expr::Range(inner) => self.all(inner.start.iter().chain(&inner.end).map(|end| &**end), from),
            Expr::Path(_) | Expr::Lit(_) | Expr::Infer(_) => from,
            _ => self.anything(at, "an expression of this kind is not followed", from),
        }
    }

    fn all<'e>(&mut self, of: impl Iterator<Item = &'e Expr>, from: Ends) -> Ends {
        of.fold(from, |from, one| self.expression(one, from))
    }

    fn around(&mut self, label: Option<&syn::Lifetime>) -> Option<&mut Around> {
        let label = label.map(|label| label.ident.to_string());
        self.loops.iter_mut().rev().find(|around| label.is_none() || around.label == label)
    }

    fn looped(
        &mut self,
        label: Option<&syn::Label>,
        at: Span,
        from: Ends,
        body: impl FnOnce(&mut Self, Ends) -> (Ends, Ends),
    ) -> Ends {
        let head = self.statement(Action::Local, at, &from);
        self.loops.push(Around { label: label.map(|label| label.name.ident.to_string()), head, ends: Vec::new() });
        let (again, mut ends) = body(self, vec![head]);
        again.iter().for_each(|last| self.builder.edge(*last, head));
        ends.extend(self.loops.pop().into_iter().flat_map(|around| around.ends));
        ends
    }

    /// A `match`. After `with_timeout` and `select`, an arm is reached only from the future that it is about.
    fn choice(&mut self, inner: &ExprMatch, from: Ends) -> Ends {
        let ways = self.raced(&inner.expr, &from);
        let from = if ways.is_empty() { self.expression(&inner.expr, from) } else { Vec::new() };
        let mut ends = Vec::new();
        for arm in &inner.arms {
            let variant = match &arm.pat {
                Pat::TupleStruct(pattern) => pattern.path.segments.last().map(|last| last.ident.to_string()),
                _ => None,
            };
            let known: Vec<_> = ways.iter().filter(|(name, _)| Some(*name) == variant.as_deref()).collect();
            let mut start = from.clone();
            match known.is_empty() {
                true => start.extend(ways.iter().flat_map(|(_, way)| way)),
                false => start.extend(known.iter().flat_map(|(_, way)| way)),
            }
            let start = arm.guard.iter().fold(start, |start, (_, guard)| self.expression(guard, start));
            ends.extend(self.expression(&arm.body, start));
        }
        ends
    }

    /// The ends of each future of an awaited `with_timeout` or `select`, by the variant that says it.
    fn raced(&mut self, expression: &Expr, from: &Ends) -> Vec<(&'static str, Ends)> {
        let Expr::Await(inner) = expression else { return Vec::new() };
        let Expr::Call(call) = &*inner.base else { return Vec::new() };
        let wait = |this: &mut Self| vec![this.statement(Action::Wait, call.span(), from)];
        match (last_name(&call.func).as_deref(), call.args.len()) {
            (Some("with_timeout" | "with_deadline"), 2) => {
                let start = wait(self);
                vec![("Ok", self.expression(&call.args[1], start.clone())), ("Err", start)]
            }
            (Some("select"), 2) => {
                let start = wait(self);
                let mut way = |at: usize| self.expression(&call.args[at], start.clone());
                vec![("First", way(0)), ("Second", way(1))]
            }
            _ => Vec::new(),
        }
    }

    fn method(&mut self, call: &ExprMethodCall, from: Ends) -> Ends {
        let from = self.expression(&call.receiver, from);
        let from = self.all(call.args.iter(), from);
        let (at, method) = (call.method.span(), call.method.to_string());
        let fallible = method.starts_with("try_");
        match (method.trim_start_matches("try_"), self.value(&call.receiver)) {
            ("send" | "recv", Some(Value::Port(port))) => {
                let receives = method.ends_with("recv");
                let mut ends = self.on_port(Some(&port), receives, at, &from);
                if fallible {
                    ends.extend(from);
                }
                ends
            }
            ("set", Some(Value::Watch(watch))) => vec![self.statement(Action::Write(watch), at, &from)],
            ("send" | "recv", _) => {
                self.note(at, format!("`{method}` is on a port that is not known: taken for any port of the node"));
                let mut ends = self.on_port(None, method.ends_with("recv"), at, &from);
                ends.extend(from);
                ends
            }
            ("set", _) => self.any_watch(at, "`set` is on a watch that is not known", from),
            _ => self.inline(&method, call.args.iter(), at, from),
        }
    }

    fn call(&mut self, call: &syn::ExprCall, from: Ends) -> Ends {
        // An awaited race that is not matched on: each future may have ended or not.
        let raced = matches!(last_name(&call.func).as_deref(), Some("with_timeout" | "with_deadline" | "select"));
        let mut after = self.all(call.args.iter(), from.clone());
        if raced {
            for argument in &call.args {
                after.extend(self.expression(argument, from.clone()));
            }
            after.extend(from);
        }
        match last_name(&call.func) {
            Some(name) => self.inline(&name, call.args.iter(), call.span(), after),
            None => self.expression(&call.func, after),
        }
    }

    /// The bodies of all functions of a name, one of which is called.
    fn inline<'e>(&mut self, name: &str, arguments: impl Iterator<Item = &'e Expr>, at: Span, from: Ends) -> Ends {
        let values: Vec<_> = arguments.map(|argument| self.value(argument)).collect();
        let functions = self.functions;
        let Some(candidates) = functions.get(name) else {
            if values.iter().any(Option::is_some) {
                return self.anything(at, &format!("`{name}` gets a port or watch and is not in the sources"), from);
            }
            return from;
        };
        if self.calls.iter().any(|outer| outer == name) {
            return self.anything(at, &format!("`{name}` calls itself"), from);
        }
        let mut ends = Vec::new();
        for function in candidates {
            let bound = function.parameters.iter().zip(&values);
            let bound = bound.filter_map(|(name, value)| Some((name.clone()?, value.clone()?))).collect();
            let outer = std::mem::replace(&mut self.values, bound);
            let file = std::mem::replace(&mut self.file, function.file.clone());
            let loops = std::mem::take(&mut self.loops);
            self.calls.push(name.into());
            self.returns.push(Vec::new());
            ends.extend(self.block(&function.body, from.clone()));
            ends.extend(self.returns.pop().into_iter().flatten());
            self.calls.pop();
            (self.values, self.file, self.loops) = (outer, file, loops);
        }
        ends
    }

    /// A send or receive on one port, or on any port of the node.
    fn on_port(&mut self, port: Option<&str>, receives: bool, at: Span, from: &Ends) -> Ends {
        let of = |end: &(stillpoint_core::NodeId, String)| end.0 == self.node && port.is_none_or(|port| end.1 == port);
        let all = self.ports.iter().zip(self.channels);
        let found = all.filter(|(ends, _)| of(if receives { &ends.to } else { &ends.from })).map(|(_, id)| *id);
        let action = |id| if receives { Action::Receive(id) } else { Action::Send(id) };
        let actions: Vec<_> = found.map(action).collect();
        actions.into_iter().map(|action| self.statement(action, at, from)).collect()
    }

    fn any_watch(&mut self, at: Span, why: &str, from: Ends) -> Ends {
        self.note(at, format!("{why}: taken for any watch of the node"));
        let before = self.statement(Action::Local, at, &from);
        let after = self.statement(Action::Local, at, &[before]);
        self.unknown_sets.push((self.node, self.task, before, after));
        vec![after]
    }

    /// Something that may use any port and any watch of the node, any number of times.
    fn anything(&mut self, at: Span, why: &str, from: Ends) -> Ends {
        self.note(at, format!("{why}: taken for any use of the node's ports and watches"));
        self.looped(None, at, from, |this, head| {
            let mut again = this.on_port(None, true, at, &head);
            again.extend(this.on_port(None, false, at, &head));
            again.push(this.statement(Action::Wait, at, &head));
            again.extend(this.any_watch(at, why, head.clone()));
            (again, head)
        })
    }

    /// The arguments of a macro, where they are expressions.
    pub(super) fn tokens(&mut self, call: &syn::Macro, from: Ends) -> Ends {
        let name = call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if ["watch", "trace", "name", "here"].contains(&name.as_str()) {
            return from;
        }
        match call.parse_body_with(Punctuated::<Expr, syn::Token![,]>::parse_terminated) {
            Ok(arguments) => {
                let after = self.all(arguments.iter(), from);
                if ["panic", "unreachable", "todo", "unimplemented"].contains(&name.as_str()) {
                    Vec::new()
                } else {
                    after
                }
            }
            Err(_) => self.anything(call.span(), &format!("the macro `{name}` is not followed"), from),
        }
    }
}
