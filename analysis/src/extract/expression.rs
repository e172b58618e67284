//! The control flow of expressions.
use super::branch::either;
use super::inert::{arguments, is_harmless, is_inert, mentions, name_of};
use super::lower::{After, Around, Ends, Lowering, merge};
use super::value::{Env, Kind, Value, is_wrapper};
use crate::Action;
use proc_macro2::Span;
use syn::spanned::Spanned as _;
use syn::visit::Visit as _;
use syn::{BinOp, Expr, Macro, Pat};

/// Macros after which control does not go on.
const DIVERGING: [&str; 4] = ["panic", "unreachable", "todo", "unimplemented"];

impl Lowering<'_, '_> {
    pub fn expression(&mut self, expression: &Expr, from: Ends) -> After {
        let at = expression.span();
        match expression {
            Expr::Await(inner) => self.awaited(inner, from),
            Expr::MethodCall(call) => self.method_call(call, from),
            Expr::Call(call) => self.call(call, from),
            Expr::Block(inner) => match &inner.label {
                None => self.block(&inner.block, from),
                Some(label) => {
                    let label = Some(label.name.ident.to_string());
                    self.loops.push(Around { label, head: None, ends: Ends::new(), value: Value::Absent });
                    let mut after = self.block(&inner.block, from);
                    self.leave(&mut after);
                    after
                }
            },
            Expr::Unsafe(inner) => self.block(&inner.block, from),
            Expr::Const(inner) => self.block(&inner.block, from),
            Expr::If(branch) => {
                let (outer, here) = (self.env.clone(), self.here);
                let (then, otherwise) = self.condition(&branch.cond, from);
                let mut after = self.block(&branch.then_branch, then);
                self.env = outer;
                let there = std::mem::replace(&mut self.here, here);
                let other = match &branch.else_branch {
                    Some((_, branch)) => self.expression(branch, otherwise),
                    None => After::clean(otherwise),
                };
                self.here = either(there, self.here);
                merge(&mut after.ends, &other.ends);
                After::new(after.ends, after.value.or(other.value))
            }
            Expr::Match(inner) => self.choice(inner, from),
            Expr::Loop(inner) => self
                .looped(inner.label.as_ref(), at, from, |this, head| (this.block(&inner.body, head).ends, Ends::new())),
            Expr::While(inner) => self.looped(inner.label.as_ref(), at, from, |this, head| {
                let outer = this.env.clone();
                let (then, otherwise) = this.condition(&inner.cond, head);
                let again = this.block(&inner.body, then).ends;
                this.env = outer;
                (again, otherwise)
            }),
            Expr::ForLoop(inner) => {
                let over = self.expression(&inner.expr, from);
                let endless = matches!(&*inner.expr, Expr::Range(range) if range.end.is_none());
                self.looped(inner.label.as_ref(), at, over.ends, |this, head| {
                    let outer = this.env.clone();
                    over.value.element().bind(&inner.pat, &mut this.env);
                    let again = this.block(&inner.body, head.clone()).ends;
                    this.env = outer;
                    (again, if endless { Ends::new() } else { head })
                })
            }
            Expr::Closure(inner) => {
                // Its parameters hide variables of the same names.
                let around = bound(inner.inputs.iter(), &[], self.env.clone());
                let is_inert = is_inert(self.index, self.inert, &around, |look| look.visit_expr(&inner.body));
                if inner.asyncness.is_some() && !is_inert {
                    let place = self.place(at);
                    let ends = self.escape(&place, "an async closure is not followed", from);
                    return After::new(ends, Value::Unknown);
                }
                let (inputs, body) = (inner.inputs.iter().cloned().collect(), inner.body.clone());
                let kind = Kind::Closure { inputs, body, env: self.env.clone(), file: self.file.clone() };
                After::new(from, Value::code(kind, is_inert))
            }
            Expr::Async(inner) => {
                let is_inert = is_inert(self.index, self.inert, &self.env, |look| look.visit_block(&inner.block));
                let kind = Kind::Block { block: inner.block.clone(), env: self.env.clone(), file: self.file.clone() };
                After::new(from, Value::code(kind, is_inert))
            }
            Expr::Break(inner) => {
                let after = self.optional(inner.expr.as_deref(), from);
                if let Some(around) = self.around(inner.label.as_ref(), false) {
                    merge(&mut around.ends, &after.ends);
                    around.value = std::mem::take(&mut around.value).or(after.value);
                }
                After::new(Ends::new(), Value::Absent)
            }
            Expr::Continue(inner) => {
                let head = self.around(inner.label.as_ref(), true).and_then(|around| around.head);
                head.into_iter().for_each(|head| from.iter().for_each(|last| self.system.builder.edge(*last, head)));
                After::new(Ends::new(), Value::Absent)
            }
            Expr::Return(inner) => {
                let after = self.optional(inner.expr.as_deref(), from);
                self.returned(&after.ends, after.value);
                After::new(Ends::new(), Value::Absent)
            }
            Expr::Try(inner) => {
                let After { ends, value, ways } = self.expression(&inner.expr, from);
                let of = |name| ways.iter().filter(move |way| way.0 == name).flat_map(|way| way.1.iter().copied());
                let (good, bad) =
                    if ways.is_empty() { (ends.clone(), ends) } else { (of("Ok").collect(), of("Err").collect()) };
                self.returned(&bad, Value::Absent);
                After::new(good, value)
            }
            Expr::Macro(call) => self.macro_call(&call.mac, from),
            Expr::Binary(inner) if matches!(inner.op, BinOp::And(_) | BinOp::Or(_)) => {
                let (then, otherwise) = self.condition(expression, from);
                After::one_of(vec![("true", then, Value::Clean), ("false", otherwise, Value::Clean)])
            }
            Expr::Binary(inner) => {
                let left = self.expression(&inner.left, from);
                let right = self.expression(&inner.right, left.ends);
                // An operator of the sources that uses a port is noted as called without a name.
                After::clean(right.ends)
            }
            Expr::Assign(inner) => self.assign(inner, from),
            Expr::Let(_) => {
                let (then, otherwise) = self.condition(expression, from);
                After::one_of(vec![("true", then, Value::Clean), ("false", otherwise, Value::Clean)])
            }
            Expr::Reference(inner) => self.expression(&inner.expr, from),
            Expr::Unary(inner) => self.expression(&inner.expr, from),
            Expr::Paren(inner) => self.expression(&inner.expr, from),
            Expr::Group(inner) => self.expression(&inner.expr, from),
            Expr::Cast(inner) => self.expression(&inner.expr, from),
            Expr::RawAddr(inner) => self.expression(&inner.expr, from),
            Expr::Field(inner) => {
                let after = self.expression(&inner.base, from);
                let name = match &inner.member {
                    syn::Member::Named(name) => name.to_string(),
                    syn::Member::Unnamed(index) => index.index.to_string(),
                };
                After::new(after.ends, after.value.field(&name))
            }
            Expr::Index(inner) => {
                let of = self.expression(&inner.expr, from);
                let after = self.expression(&inner.index, of.ends);
                let value = match &*inner.index {
                    Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => {
                        of.value.field(number.base10_digits())
                    }
                    _ => of.value.element(),
                };
                After::new(after.ends, value)
            }
            Expr::Tuple(inner) => {
                let (values, ends) = self.all(inner.elems.iter(), from);
                After::new(ends, Value::list(values))
            }
            Expr::Array(inner) => {
                let (values, ends) = self.all(inner.elems.iter(), from);
                After::new(ends, Value::list(values))
            }
            Expr::Struct(inner) => self.structure(inner, from),
            Expr::Repeat(inner) => {
                let after = self.expression(&inner.expr, from);
                After::new(after.ends, Value::list(vec![after.value]))
            }
            Expr::Range(inner) => {
                let (_, ends) = self.all(inner.start.iter().chain(&inner.end).map(|end| &**end), from);
                After::clean(ends)
            }
            Expr::Path(path) => {
                let value = self.path(path);
                After::new(from, value)
            }
            Expr::Lit(_) | Expr::Infer(_) => After::clean(from),
            _ => {
                let ends = self.anything(&self.place(at), "an expression of this kind is not followed", from);
                After::new(ends, Value::Unknown)
            }
        }
    }

    fn path(&mut self, path: &syn::ExprPath) -> Value {
        if let Some(value) = path.path.get_ident().and_then(|name| self.env.get(&name.to_string())) {
            return value.clone();
        }
        let last = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
        if self.index.systems.contains(&last) {
            return Value::System;
        }
        let functions = self.index.named(&path.path, path.qself.is_some());
        if !functions.is_empty() {
            let is_inert = functions.iter().all(|at| self.inert[*at]);
            return Value::code(Kind::Functions(functions), is_inert);
        }
        if self.index.is_reaching(&last) { Value::Unknown } else { Value::Clean }
    }

    fn optional(&mut self, expression: Option<&Expr>, from: Ends) -> After {
        match expression {
            Some(expression) => self.expression(expression, from),
            None => After::clean(from),
        }
    }

    pub fn all<'e>(&mut self, of: impl Iterator<Item = &'e Expr>, from: Ends) -> (Vec<Value>, Ends) {
        let (mut values, mut ends) = (Vec::new(), from);
        for one in of {
            let after = self.expression(one, ends);
            (ends, _) = (after.ends, values.push(after.value));
        }
        (values, ends)
    }

    fn structure(&mut self, inner: &syn::ExprStruct, from: Ends) -> After {
        let (values, mut ends) = self.all(inner.fields.iter().map(|field| &field.expr), from);
        let rest = inner.rest.as_ref().map(|rest| {
            let after = self.expression(rest, std::mem::take(&mut ends));
            ends = after.ends;
            after.value
        });
        if values.iter().chain(&rest).all(|value| *value == Value::Clean) {
            return After::clean(ends);
        }
        if rest.is_some_and(|rest| !rest.is_clean()) {
            return After::new(ends, Value::Unknown);
        }
        let name = |field: &syn::FieldValue| match &field.member {
            syn::Member::Named(name) => name.to_string(),
            syn::Member::Unnamed(index) => index.index.to_string(),
        };
        After::new(ends, Value::Fields(inner.fields.iter().map(name).zip(values).collect()))
    }

    /// An assignment. Variables that hold ports are followed from where they are bound, so they must not change.
    fn assign(&mut self, inner: &syn::ExprAssign, from: Ends) -> After {
        let right = self.expression(&inner.right, from);
        let left = self.expression(&inner.left, right.ends);
        if left.value.is_clean() && right.value.is_clean() || left.value == right.value {
            return After::clean(left.ends);
        }
        let place = self.place(inner.span());
        After::clean(self.escape(&place, "a port, watch or function is assigned to a variable", left.ends))
    }

    pub fn returned(&mut self, ends: &Ends, value: Value) {
        if let Some(last) = self.returns.last_mut() {
            merge(&mut last.0, ends);
            last.1 = std::mem::take(&mut last.1).or(value);
        }
    }

    fn around(&mut self, label: Option<&syn::Lifetime>, is_loop: bool) -> Option<&mut Around> {
        let label = label.map(|label| label.ident.to_string());
        let fits = |around: &&mut Around| match &label {
            Some(_) => around.label == label,
            None => around.head.is_some(),
        };
        self.loops.iter_mut().rev().filter(|around| !is_loop || around.head.is_some()).find(fits)
    }

    fn leave(&mut self, after: &mut After) {
        if let Some(around) = self.loops.pop() {
            merge(&mut after.ends, &around.ends);
            after.value = std::mem::take(&mut after.value).or(around.value);
            after.ways.clear();
        }
    }

    pub fn looped(
        &mut self,
        label: Option<&syn::Label>,
        at: Span,
        from: Ends,
        body: impl FnOnce(&mut Self, Ends) -> (Ends, Ends),
    ) -> After {
        let head = self.statement(Action::Local, &self.place(at), &from);
        let label = label.map(|label| label.name.ident.to_string());
        self.loops.push(Around { label, head: Some(head), ends: Ends::new(), value: Value::Absent });
        self.repeats += 1;
        let (again, ends) = body(self, vec![head]);
        self.repeats -= 1;
        again.iter().for_each(|last| self.system.builder.edge(*last, head));
        let mut after = After::new(ends, Value::Absent);
        self.leave(&mut after);
        after
    }

    /// A macro: a watch, a name, or something that evaluates its arguments.
    pub fn macro_call(&mut self, call: &Macro, from: Ends) -> After {
        let (name, place) = (name_of(call), self.place(call.span()));
        if name == "watch" || name == "name" {
            let text = call.tokens.clone().into_iter().last().map(|last| last.to_string()).unwrap_or_default();
            let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).map(str::to_owned);
            let value = match text {
                Some(text) if name == "name" => Value::Name(text),
                Some(text) => self.watch(&text),
                None => Value::Unknown,
            };
            return After::new(from, value);
        }
        if is_harmless(call) {
            return After::clean(from);
        }
        if self.index.macros.contains(&name) {
            return After::new(
                self.anything(&place, &format!("the macro `{name}` is not followed"), from),
                Value::Unknown,
            );
        }
        let Some(arguments) = arguments(call) else {
            if mentions(call.tokens.clone(), &self.env) {
                let ends = self.anything(&place, &format!("the macro `{name}` is not followed"), from);
                return After::new(ends, Value::Unknown);
            }
            return After::clean(from);
        };
        let skipped = usize::from(name == "input");
        let (values, ends) = self.all(arguments.iter().skip(skipped), from);
        if DIVERGING.contains(&name.as_str()) {
            return After::new(Ends::new(), Value::Absent);
        }
        match name.as_str() {
            "pin" => After::new(ends, Value::one_of(values)),
            "join" => After::new(ends, Value::code(Kind::Join { parts: values, at: place }, false)),
            _ if values.iter().all(Value::is_clean) => After::clean(ends),
            _ => After::new(
                self.anything(&place, &format!("the macro `{name}` gets a port or watch"), ends),
                Value::Unknown,
            ),
        }
    }
}

/// Whether a call makes a value that is taken for its only argument.
pub fn wraps(path: &syn::Path) -> bool {
    is_wrapper(path)
}

/// An environment with the values of parameters.
pub fn bound<'p>(patterns: impl Iterator<Item = &'p Pat>, values: &[Value], mut env: Env) -> Env {
    let missing = if values.iter().all(Value::is_clean) { Value::Clean } else { Value::Unknown };
    for (at, pattern) in patterns.enumerate() {
        values.get(at).unwrap_or(&missing).bind(pattern, &mut env);
    }
    env
}
