//! Code that cannot reach a port or watch unless it is given one.
use super::sources::Index;
use super::value::Env;
use proc_macro2::{TokenStream, TokenTree};
use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, Macro};

/// Macros of the kit and of others that use no port and no watch themselves, whatever they are given.
const HARMLESS: [&str; 6] = ["trace", "span", "name", "here", "asm", "global_asm"];

/// The name of a macro.
pub fn name_of(call: &Macro) -> String {
    call.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default()
}

/// The arguments of a macro, if they are expressions.
pub fn arguments(call: &Macro) -> Option<Vec<Expr>> {
    let parsed = call.parse_body_with(Punctuated::<Expr, syn::Token![,]>::parse_terminated).ok()?;
    Some(parsed.into_iter().collect())
}

/// Whether a macro uses no port and no watch, whatever it is given.
pub fn is_harmless(call: &Macro) -> bool {
    HARMLESS.contains(&name_of(call).as_str())
}

/// Whether one of the words is a variable with a port or watch.
pub fn mentions(tokens: TokenStream, env: &Env) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(word) => env.get(&word.to_string()).is_some_and(|value| !value.is_clean()),
        TokenTree::Group(group) => mentions(group.stream(), env),
        _ => false,
    })
}

/// Finds the functions of the sources that cannot reach a port or watch unless they are given one.
pub fn inert_functions(index: &Index) -> Vec<bool> {
    let mut inert: Vec<_> = index.functions.iter().map(|function| function.pool.is_none()).collect();
    let env = Env::new();
    // Every function is inert until something in it is not: so is a circle of functions that call each other.
    loop {
        let next: Vec<_> = index
            .functions
            .iter()
            .zip(&inert)
            .map(|(function, was)| *was && is_inert(index, &inert, &env, |look| look.visit_block(&function.body)))
            .collect();
        if next == inert {
            return inert;
        }
        inert = next;
    }
}

/// The functions that the compiler calls without a name and that may use a port or watch, themselves or by what they call.
pub fn hidden_uses(index: &Index, inert: &[bool]) -> Vec<usize> {
    let mut uses: Vec<_> = inert.iter().map(|inert| !inert).collect();
    loop {
        let next: Vec<_> = index
            .functions
            .iter()
            .zip(&uses)
            .map(|(function, known)| {
                let mut verbs = Verbs { index, uses: &uses, found: *known };
                verbs.visit_block(&function.body);
                verbs.found
            })
            .collect();
        if next == uses {
            break;
        }
        uses = next;
    }
    (0..index.functions.len()).filter(|at| index.functions[*at].is_implicit && uses[*at]).collect()
}

/// Looks for methods that ports, watches, clients and servers have.
struct Verbs<'a> {
    index: &'a Index,
    uses: &'a [bool],
    found: bool,
}

impl<'ast> Visit<'ast> for Verbs<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        let name = call.method.to_string();
        let verbs = ["send", "recv", "set", "call", "call_with_timeout", "next", "reply"];
        self.found |= verbs.contains(&name.trim_start_matches("try_"));
        self.found |= self.index.methods(&name).iter().any(|at| self.uses[*at]);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        self.found |= self.index.named(&path.path, path.qself.is_some()).iter().any(|at| self.uses[*at]);
    }

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}

/// Whether code cannot reach a port or watch, with these variables around it.
pub fn is_inert(index: &Index, inert: &[bool], env: &Env, visit: impl FnOnce(&mut Look<'_>)) -> bool {
    let mut look = Look { index, inert, env, found: false };
    visit(&mut look);
    !look.found
}

/// Looks for a way to a port or watch.
pub struct Look<'a> {
    index: &'a Index,
    inert: &'a [bool],
    env: &'a Env,
    found: bool,
}

impl<'ast> Visit<'ast> for Look<'_> {
    fn visit_expr_path(&mut self, path: &'ast syn::ExprPath) {
        let local = path.path.get_ident().and_then(|name| self.env.get(&name.to_string()));
        self.found |= match local {
            Some(value) => !value.is_clean(),
            None => {
                let last = path.path.segments.last().map(|last| last.ident.to_string()).unwrap_or_default();
                self.index.systems.contains(&last)
                    || self.index.is_reaching(&last)
                    || self.index.named(&path.path, path.qself.is_some()).iter().any(|at| !self.inert[*at])
            }
        };
        visit::visit_expr_path(self, path);
    }

    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        self.found |= self.index.methods(&call.method.to_string()).iter().any(|at| !self.inert[*at]);
        visit::visit_expr_method_call(self, call);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        if is_harmless(call) {
            return;
        }
        let name = name_of(call);
        self.found |= name == "watch" || self.index.macros.contains(&name);
        match arguments(call) {
            Some(arguments) => arguments.iter().for_each(|argument| {
                let owned = is_inert(self.index, self.inert, self.env, |look| look.visit_expr(argument));
                self.found |= !owned;
            }),
            None => self.found |= mentions(call.tokens.clone(), self.env),
        }
    }

    // A function inside a function is one of the sources and looked at by itself.
    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
