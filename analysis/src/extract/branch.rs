//! Branches: conditions, patterns and `match`.
use super::lower::{After, Ends, Lowering, Way, merge};
use super::value::Value;
use syn::{BinOp, Expr, ExprMatch, Pat, UnOp};

impl Lowering<'_, '_> {
    /// Where control goes on if a condition holds, and if it does not. Binds the names of `if let`.
    pub fn condition(&mut self, expression: &Expr, from: Ends) -> (Ends, Ends) {
        match expression {
            Expr::Paren(inner) => self.condition(&inner.expr, from),
            Expr::Group(inner) => self.condition(&inner.expr, from),
            Expr::Unary(inner) if matches!(inner.op, UnOp::Not(_)) => {
                let (then, otherwise) = self.condition(&inner.expr, from);
                (otherwise, then)
            }
            Expr::Binary(inner) if matches!(inner.op, BinOp::And(_)) => {
                let (left, mut otherwise) = self.condition(&inner.left, from);
                let (then, not) = self.condition(&inner.right, left);
                merge(&mut otherwise, &not);
                (then, otherwise)
            }
            Expr::Binary(inner) if matches!(inner.op, BinOp::Or(_)) => {
                let (mut then, left) = self.condition(&inner.left, from);
                let (right, otherwise) = self.condition(&inner.right, left);
                merge(&mut then, &right);
                (then, otherwise)
            }
            Expr::Let(inner) => {
                let after = self.expression(&inner.expr, from);
                after.value.bind(&inner.pat, &mut self.env);
                self.split(&inner.pat, after.ways, &after.ends)
            }
            _ => {
                let After { ends, ways, .. } = self.expression(expression, from);
                let of = |name| ways.iter().find(|way| way.0 == name).map(|way| way.1.clone());
                match (of("true"), of("false")) {
                    (Some(then), Some(otherwise)) => (then, otherwise),
                    _ => (ends.clone(), ends),
                }
            }
        }
    }

    /// Where control goes on if a value fits a pattern, and if it does not.
    pub fn split(&self, pattern: &Pat, ways: Vec<Way>, ends: &Ends) -> (Ends, Ends) {
        if ways.is_empty() {
            return (ends.clone(), ends.clone());
        }
        let (mut fits, mut differs) = (Ends::new(), Ends::new());
        for (name, way, _) in &ways {
            let (may_fit, may_differ) = fit(pattern, name);
            if may_fit {
                merge(&mut fits, way);
            }
            if may_differ {
                merge(&mut differs, way);
            }
        }
        (fits, differs)
    }

    /// A `match`. If the value says which way control went, an arm is reached only by the ways that fit its pattern.
    pub fn choice(&mut self, inner: &ExprMatch, from: Ends) -> After {
        let After { ends, value, mut ways } = self.expression(&inner.expr, from);
        let (outer, here) = (self.env.clone(), self.here);
        let is_told = !ways.is_empty();
        let mut result: Option<After> = None;
        let mut there = None;
        for arm in &inner.arms {
            self.here = here;
            let (mut start, _) = self.split(&arm.pat, ways.clone(), &ends);
            let of_way = ways.iter().filter(|way| fit(&arm.pat, way.0).0).map(|way| way.2.clone());
            let bound = if is_told { Value::one_of(of_way) } else { value.clone() };
            if is_told && arm.guard.is_none() {
                ways.retain(|way| fit(&arm.pat, way.0).1);
                if ways.is_empty() {
                    // What follows is never reached, and must not be taken for not told.
                    ways.push(("", Ends::new(), Value::Absent));
                }
            }
            bound.bind(&arm.pat, &mut self.env);
            if let Some((_, guard)) = &arm.guard {
                start = self.condition(guard, start).0;
            }
            let done = self.expression(&arm.body, start);
            self.env.clone_from(&outer);
            there = if result.is_some() { either(there, self.here) } else { self.here };
            result = Some(match result {
                None => After::new(done.ends, done.value),
                Some(mut before) => {
                    merge(&mut before.ends, &done.ends);
                    After::new(before.ends, before.value.or(done.value))
                }
            });
        }
        self.here = if result.is_some() { there } else { here };
        result.unwrap_or_default()
    }
}

/// Whether a thread of control is that of the node after one of two branches.
pub fn either(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(true), _) | (_, Some(true)) => Some(true),
        (Some(false), _) | (_, Some(false)) => Some(false),
        _ => None,
    }
}

/// Whether a pattern may match a way, and whether it may not.
fn fit(pattern: &Pat, way: &str) -> (bool, bool) {
    match pattern {
        Pat::TupleStruct(inner) => {
            let name = inner.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
            if name != way {
                return (false, true);
            }
            // `Ok(Ok(x))` may differ although this layer fits.
            let always = |inner: &Pat| match inner {
                Pat::Wild(_) | Pat::Rest(_) => true,
                Pat::Ident(ident) => ident.subpat.is_none(),
                _ => false,
            };
            (true, !inner.elems.iter().all(always))
        }
        Pat::Or(any) => {
            let all: Vec<_> = any.cases.iter().map(|case| fit(case, way)).collect();
            (all.iter().any(|one| one.0), all.iter().all(|one| one.1))
        }
        Pat::Paren(inner) => fit(&inner.pat, way),
        Pat::Reference(inner) => fit(&inner.pat, way),
        Pat::Lit(literal) => match &literal.lit {
            syn::Lit::Bool(value) => (value.value == (way == "true"), value.value != (way == "true")),
            _ => (true, true),
        },
        Pat::Wild(_) => (true, false),
        // A constant or a variant without fields looks like a variable if it is in scope.
        Pat::Ident(ident) => {
            let name = ident.ident.to_string();
            (true, ident.subpat.is_some() || name.starts_with(char::is_uppercase))
        }
        _ => (true, true),
    }
}
