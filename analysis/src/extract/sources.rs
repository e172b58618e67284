//! An index of source files: functions, statics, types and macros by their names.
use super::{ExtractError, Place, Source};
use std::collections::{HashMap, HashSet};
use syn::visit::{self, Visit};
use syn::{Attribute, Block, Pat};

/// A function or method with a body.
pub struct Function {
    pub file: String,
    pub name: String,
    /// The type or trait whose method or associated function it is.
    pub owner: Option<String>,
    /// The trait of another crate that it implements: the compiler may call it without a name.
    pub is_implicit: bool,
    pub has_self: bool,
    pub is_async: bool,
    pub parameters: Vec<Pat>,
    pub body: Block,
    pub line: usize,
    /// Of a task: how many of it may run at a time.
    pub pool: Option<usize>,
    /// Whether it is an interrupt handler.
    pub is_handler: bool,
    /// Whether the firmware begins with it.
    pub is_entry: bool,
}

/// What the source files define.
#[derive(Default)]
pub struct Index {
    pub functions: Vec<Function>,
    /// Statics, with the identifiers of their types.
    statics: HashMap<String, HashSet<String>>,
    /// Types, with the identifiers of what they are made of.
    types: HashMap<String, HashSet<String>>,
    modules: HashSet<String>,
    pub macros: HashSet<String>,
    /// The statics that `system!` defines.
    pub systems: HashSet<String>,
    /// Where an interrupt executor is named, if it is.
    pub interrupt_executor: Option<Place>,
}

/// Types through which ports, watches or unknown code can be reached.
const REACHING: [&str; 12] =
    ["Inbox", "Outbox", "Watch", "Client", "Server", "Request", "Agent", "dyn", "fn", "Fn", "FnMut", "FnOnce"];

/// Traits whose methods are called without being named.
const IMPLICIT: [&str; 24] = [
    "Drop",
    "Deref",
    "DerefMut",
    "Index",
    "IndexMut",
    "Iterator",
    "IntoIterator",
    "Future",
    "IntoFuture",
    "From",
    "Into",
    "Add",
    "Sub",
    "Mul",
    "Div",
    "Rem",
    "Neg",
    "Not",
    "PartialEq",
    "PartialOrd",
    "Debug",
    "Display",
    "Format",
    "Wake",
];

impl Index {
    /// Reads source files.
    pub fn new(sources: &[Source]) -> Result<Self, ExtractError> {
        let mut index = Self::default();
        for Source { file, text } in sources {
            let parsed = syn::parse_file(text).map_err(|error| ExtractError::Syntax {
                place: Place { file: file.clone(), line: error.span().start().line },
                text: error.to_string(),
            })?;
            Collector { index: &mut index, file, owner: None, is_implicit: false }.visit_file(&parsed);
        }
        Ok(index)
    }

    /// Whether a port, a watch or unknown code can be reached through a static of this name.
    pub fn is_reaching(&self, name: &str) -> bool {
        let mut seen = HashSet::new();
        let mut work: Vec<&String> = self.statics.get(name).into_iter().flatten().collect();
        while let Some(word) = work.pop() {
            if REACHING.contains(&word.as_str()) {
                return true;
            }
            if seen.insert(word) {
                work.extend(self.types.get(word).into_iter().flatten());
            }
        }
        false
    }

    /// The functions that a path may name. Empty if it is outside of the sources.
    pub fn named(&self, path: &syn::Path, has_qself: bool) -> Vec<usize> {
        let names: Vec<_> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        let Some((last, before)) = names.split_last() else { return Vec::new() };
        let all = |fits: &dyn Fn(&Function) -> bool| {
            let found = self.functions.iter().enumerate().filter(|(_, one)| one.name == *last && fits(one));
            found.map(|(at, _)| at).collect()
        };
        match before.last().map(String::as_str) {
            _ if has_qself => all(&|_| true),
            None => all(&|one| one.owner.is_none()),
            Some("Self") => all(&|one| one.owner.is_some()),
            Some(around) if self.functions.iter().any(|one| one.owner.as_deref() == Some(around)) => {
                all(&|one| one.owner.as_deref() == Some(around))
            }
            // A parameter or an alias may stand for any type of the sources.
            Some(around) if around.len() == 1 || self.types.contains_key(around) => all(&|one| one.owner.is_some()),
            Some(around) if ["crate", "self", "super"].contains(&around) || self.modules.contains(around) => {
                all(&|one| one.owner.is_none())
            }
            Some(_) => Vec::new(),
        }
    }

    /// The methods of a name.
    pub fn methods(&self, name: &str) -> Vec<usize> {
        let all = self.functions.iter().enumerate();
        all.filter(|(_, one)| one.has_self && one.name == name).map(|(at, _)| at).collect()
    }
}

struct Collector<'i> {
    index: &'i mut Index,
    file: &'i str,
    owner: Option<String>,
    is_implicit: bool,
}

fn is_named(attribute: &Attribute, names: &[&str]) -> bool {
    attribute.path().segments.last().is_some_and(|last| names.contains(&last.ident.to_string().as_str()))
}

fn is_test(attributes: &[Attribute]) -> bool {
    let of_tests = |attribute: &Attribute| {
        is_named(attribute, &["cfg"])
            && attribute.parse_args::<syn::Path>().is_ok_and(|argument| argument.is_ident("test"))
    };
    attributes.iter().any(|attribute| is_named(attribute, &["test"]) || of_tests(attribute))
}

/// How many of a task may run at a time, if the attributes are those of a task.
fn pool(attributes: &[Attribute]) -> Option<usize> {
    let task = attributes.iter().find(|attribute| is_named(attribute, &["task"]))?;
    let size = task.parse_args::<syn::MetaNameValue>().ok().and_then(|argument| match argument.value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Int(number), .. }) => number.base10_parse().ok(),
        // A number that is not written here: two stand for as many as there are.
        _ => Some(2),
    });
    Some(size.unwrap_or(1))
}

impl Collector<'_> {
    fn add(&mut self, attributes: &[Attribute], signature: &syn::Signature, body: &Block) {
        let parameters = signature.inputs.iter().filter_map(|input| match input {
            syn::FnArg::Receiver(_) => None,
            syn::FnArg::Typed(typed) => Some((*typed.pat).clone()),
        });
        let has = |names: &[&str]| attributes.iter().any(|attribute| is_named(attribute, names));
        self.index.functions.push(Function {
            file: self.file.to_owned(),
            name: signature.ident.to_string(),
            owner: self.owner.clone(),
            is_implicit: self.is_implicit,
            has_self: signature.receiver().is_some(),
            is_async: signature.asyncness.is_some(),
            parameters: parameters.collect(),
            body: body.clone(),
            line: signature.ident.span().start().line,
            pool: pool(attributes),
            is_handler: has(&["interrupt", "exception"]),
            is_entry: has(&["entry", "main"]),
        });
    }

    fn within(&mut self, owner: Option<String>, visit: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.owner, owner);
        visit(self);
        self.owner = outer;
    }
}

#[derive(Default)]
struct Words(HashSet<String>);

impl<'ast> Visit<'ast> for Words {
    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        self.0.insert(ident.to_string());
    }

    fn visit_type_bare_fn(&mut self, _: &'ast syn::TypeBareFn) {
        self.0.insert("fn".into());
    }

    fn visit_type_trait_object(&mut self, _: &'ast syn::TypeTraitObject) {
        self.0.insert("dyn".into());
    }
}

fn words(visit: impl FnOnce(&mut Words)) -> HashSet<String> {
    let mut words = Words::default();
    visit(&mut words);
    words.0
}

impl<'ast> Visit<'ast> for Collector<'_> {
    fn visit_ident(&mut self, ident: &'ast proc_macro2::Ident) {
        if ident == "InterruptExecutor" && self.index.interrupt_executor.is_none() {
            let line = ident.span().start().line;
            self.index.interrupt_executor = Some(Place { file: self.file.to_owned(), line });
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            // Also one inside a method is called by its name alone.
            self.within(None, |this| {
                this.add(&item.attrs, &item.sig, &item.block);
                visit::visit_item_fn(this, item);
            });
        }
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let owner = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|last| last.ident.to_string()),
            _ => None,
        };
        let of_trait = item.trait_.as_ref().and_then(|(_, path, _)| path.segments.last());
        let is_implicit = of_trait.is_some_and(|last| IMPLICIT.contains(&last.ident.to_string().as_str()));
        let outer = std::mem::replace(&mut self.is_implicit, is_implicit);
        self.within(Some(owner.unwrap_or_default()), |this| visit::visit_item_impl(this, item));
        self.is_implicit = outer;
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.attrs, &item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.within(Some(item.ident.to_string()), |this| visit::visit_item_trait(this, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if let Some(body) = &item.default {
            self.add(&item.attrs, &item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_test(&item.attrs) {
            self.index.modules.insert(item.ident.to_string());
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        let words = words(|words| words.visit_type(&item.ty));
        self.index.statics.entry(item.ident.to_string()).or_default().extend(words);
        visit::visit_item_static(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        let words = words(|words| words.visit_type(&item.ty));
        self.index.statics.entry(item.ident.to_string()).or_default().extend(words);
        visit::visit_item_const(self, item);
    }

    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        let words = words(|words| words.visit_fields(&item.fields));
        self.index.types.entry(item.ident.to_string()).or_default().extend(words);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        let words = words(|words| item.variants.iter().for_each(|variant| words.visit_variant(variant)));
        self.index.types.entry(item.ident.to_string()).or_default().extend(words);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        let words = words(|words| words.visit_type(&item.ty));
        self.index.types.entry(item.ident.to_string()).or_default().extend(words);
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        if let Some(name) = &item.ident {
            self.index.macros.insert(name.to_string());
        }
        self.visit_macro(&item.mac);
    }

    fn visit_macro(&mut self, item: &'ast syn::Macro) {
        let defines = item.path.segments.last().is_some_and(|last| last.ident == "system");
        if let (true, Some(name)) = (defines, item.tokens.clone().into_iter().next()) {
            self.index.systems.insert(name.to_string());
        }
        visit::visit_macro(self, item);
    }
}

/// The modules that a file declares in files of their own: the name of each, and its path if an attribute gives one.
///
/// # Example: one beside the file, one elsewhere
/// ```
/// let text = "mod near; #[path = \"../far.rs\"] mod far; mod inside {} #[cfg(test)] mod tests;";
/// let found = stillpoint_analysis::modules(text);
/// assert_eq!(found, [("near".into(), None), ("far".into(), Some("../far.rs".into()))]);
/// ```
#[must_use]
pub fn modules(text: &str) -> Vec<(String, Option<String>)> {
    let Ok(file) = syn::parse_file(text) else { return Vec::new() };
    let declared = file.items.iter().filter_map(|item| match item {
        syn::Item::Mod(module) if module.content.is_none() && !is_test(&module.attrs) => Some(module),
        _ => None,
    });
    let path = |attribute: &Attribute| match &attribute.meta {
        syn::Meta::NameValue(syn::MetaNameValue {
            path,
            value: syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }),
            ..
        }) if path.is_ident("path") => Some(text.value()),
        _ => None,
    };
    declared.map(|module| (module.ident.to_string(), module.attrs.iter().find_map(path))).collect()
}
