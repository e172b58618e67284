//! What a variable may hold, as far as ports and watches are concerned.
use super::Place;
use crate::WatchId;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use syn::{Block, Expr, Pat};

/// The variables in scope.
pub type Env = HashMap<String, Value>;

/// What an expression may evaluate to.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    /// Nothing through which a port or watch can be reached.
    #[default]
    Clean,
    /// Anything at all.
    Unknown,
    /// A port that the node does not have: control does not come here on this node.
    Absent,
    /// The static that `system!` defines.
    System,
    /// A name.
    Name(String),
    /// The agent of the node.
    Agent,
    /// A port, by its name.
    Port(String),
    /// A watch.
    Watch(WatchId),
    /// The client of a call: where requests leave and where replies arrive.
    Client(Box<[Value; 2]>),
    /// The server of a call: where the requests of each client arrive and where its replies leave.
    Server(Vec<[Value; 2]>),
    /// A request that waits for its reply, which leaves by one of these.
    Request(Vec<Value>),
    /// A tuple or an array.
    List(Vec<Value>),
    /// A struct.
    Fields(BTreeMap<String, Value>),
    /// One of several.
    OneOf(Vec<Value>),
    /// A closure, function or future that has not run yet.
    Code(Code),
}

/// Code that runs when it is called or awaited.
#[derive(Clone, Debug)]
pub struct Code {
    pub kind: Rc<Kind>,
    /// Whether it uses no port and no watch, if it is given none.
    pub is_inert: bool,
}

impl PartialEq for Code {
    fn eq(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.kind, &other.kind)
    }
}

/// The kinds of code.
#[derive(Debug)]
pub enum Kind {
    /// A closure with the variables around it.
    Closure { inputs: Vec<Pat>, body: Box<Expr>, env: Env, file: String },
    /// Functions of the sources, one of which is meant.
    Functions(Vec<usize>),
    /// An async block with the variables around it.
    Block { block: Block, env: Env, file: String },
    /// A call of async functions of the sources, one of which is meant, or of one outside of them.
    Call { functions: Vec<usize>, arguments: Vec<Value>, outside: bool },
    /// A send or receive.
    Port { port: String, receives: bool, at: Place },
    /// A call by RPC.
    Rpc { client: [Value; 2], at: Place },
    /// A server's wait for a request.
    Next { clients: Vec<[Value; 2]>, at: Place },
    /// A reply by one of these ports.
    Reply { ports: Vec<Value>, at: Place },
    /// Futures of which one ends, with the variant that says which.
    Race { parts: Vec<(&'static str, Option<Value>)>, at: Place },
    /// Futures that all end.
    Join { parts: Vec<Value>, at: Place },
}

impl Value {
    pub fn code(kind: Kind, is_inert: bool) -> Self {
        Self::Code(Code { kind: Rc::new(kind), is_inert })
    }

    /// Whether no port, watch or agent can be reached through it.
    pub fn is_clean(&self) -> bool {
        match self {
            Self::Clean | Self::Name(_) => true,
            Self::List(all) | Self::OneOf(all) => all.iter().all(Self::is_clean),
            Self::Fields(all) => all.values().all(Self::is_clean),
            Self::Code(code) => code.is_inert,
            _ => false,
        }
    }

    /// Whether it holds a port that the node does not have.
    pub fn has_absent(&self) -> bool {
        match self {
            Self::Absent => true,
            Self::List(all) => all.iter().any(Self::has_absent),
            Self::Fields(all) => all.values().any(Self::has_absent),
            Self::OneOf(all) => all.iter().all(Self::has_absent),
            Self::Client(ends) => ends.iter().any(Self::has_absent),
            Self::Server(all) => all.iter().flatten().any(Self::has_absent),
            _ => false,
        }
    }

    /// A list, or a clean value if all of it is.
    pub fn list(all: Vec<Self>) -> Self {
        if all.iter().all(|one| *one == Self::Clean) { Self::Clean } else { Self::List(all) }
    }

    /// One of the two. A value with a port has one type, so a clean one beside it is an `Option` without it.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (one, other) if one == other => one,
            (Self::Absent, value) | (value, Self::Absent) => value,
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Clean, Self::Name(_)) | (Self::Name(_), Self::Clean) => Self::Unknown,
            (Self::Clean, value) | (value, Self::Clean) if !value.is_clean() => value,
            (Self::List(one), Self::List(other)) if one.len() == other.len() => {
                Self::List(one.into_iter().zip(other).map(|(one, other)| one.or(other)).collect())
            }
            (one, other) => {
                let parts = |value| if let Self::OneOf(all) = value { all } else { vec![value] };
                let mut all = parts(one);
                for part in parts(other) {
                    if !all.contains(&part) {
                        all.push(part);
                    }
                }
                Self::OneOf(all)
            }
        }
    }

    /// One of all of them; a clean value if there are none.
    pub fn one_of(all: impl IntoIterator<Item = Self>) -> Self {
        all.into_iter().reduce(Self::or).unwrap_or(Self::Clean)
    }

    /// What an element of it may be.
    pub fn element(&self) -> Self {
        match self {
            Self::List(all) => Self::one_of(all.iter().cloned()),
            Self::OneOf(all) => Self::one_of(all.iter().map(Self::element)),
            Self::Clean | Self::Name(_) => Self::Clean,
            Self::Absent => Self::Absent,
            Self::Fields(_) | Self::Code(_) => Self::Unknown,
            // An `Option` is taken for what is in it.
            other => other.clone(),
        }
    }

    /// A field of it.
    pub fn field(&self, name: &str) -> Self {
        match self {
            Self::Clean | Self::Name(_) => Self::Clean,
            Self::Absent => Self::Absent,
            Self::Fields(all) => all.get(name).cloned().unwrap_or(Self::Unknown),
            Self::List(all) => name.parse().ok().and_then(|at: usize| all.get(at)).cloned().unwrap_or(Self::Unknown),
            Self::OneOf(all) => Self::one_of(all.iter().map(|one| one.field(name))),
            Self::Request(_) if name == "body" => Self::Clean,
            _ => Self::Unknown,
        }
    }

    /// Binds the names of a pattern that this value is matched with.
    pub fn bind(&self, pattern: &Pat, env: &mut Env) {
        match pattern {
            Pat::Ident(ident) => {
                env.insert(ident.ident.to_string(), self.clone());
                if let Some((_, inner)) = &ident.subpat {
                    self.bind(inner, env);
                }
            }
            Pat::Type(inner) => self.bind(&inner.pat, env),
            Pat::Reference(inner) => self.bind(&inner.pat, env),
            Pat::Paren(inner) => self.bind(&inner.pat, env),
            Pat::Or(any) => {
                // Each case binds the same names.
                let mut all = Env::new();
                for case in &any.cases {
                    let mut one = Env::new();
                    self.bind(case, &mut one);
                    for (name, value) in one {
                        let value = all.remove(&name).map_or(value.clone(), |known: Self| known.or(value));
                        all.insert(name, value);
                    }
                }
                env.extend(all);
            }
            Pat::Tuple(tuple) => self.bind_list(tuple.elems.iter(), env),
            Pat::Slice(slice) => self.bind_list(slice.elems.iter(), env),
            // `Some(port)` is the port.
            Pat::TupleStruct(inner) if inner.elems.len() == 1 && !matches!(self, Self::List(_)) => {
                self.bind(&inner.elems[0], env);
            }
            Pat::TupleStruct(inner) if inner.elems.len() == 1 && is_wrapper(&inner.path) => {
                self.bind(&inner.elems[0], env);
            }
            Pat::TupleStruct(inner) => self.bind_list(inner.elems.iter(), env),
            Pat::Struct(fields) => {
                for field in &fields.fields {
                    let name = match &field.member {
                        syn::Member::Named(name) => name.to_string(),
                        syn::Member::Unnamed(index) => index.index.to_string(),
                    };
                    self.field(&name).bind(&field.pat, env);
                }
            }
            _ => {}
        }
    }

    fn bind_list<'p>(&self, patterns: impl ExactSizeIterator<Item = &'p Pat>, env: &mut Env) {
        let patterns: Vec<_> = patterns.collect();
        let has_rest = patterns.iter().any(|pattern| matches!(pattern, Pat::Rest(_)));
        for (at, pattern) in patterns.into_iter().enumerate() {
            let value = match self {
                Self::List(_) | Self::OneOf(_) if has_rest => self.element(),
                Self::List(_) | Self::OneOf(_) => self.field(&at.to_string()),
                Self::Clean | Self::Name(_) => Self::Clean,
                Self::Absent => Self::Absent,
                _ => Self::Unknown,
            };
            value.bind(pattern, env);
        }
    }
}

/// Whether a path is a variant that wraps a value and is taken for it.
pub fn is_wrapper(path: &syn::Path) -> bool {
    path.segments.last().is_some_and(|last| ["Some", "Ok", "Err"].contains(&last.ident.to_string().as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(pattern: &str, value: &Value) -> Vec<(String, Value)> {
        let statement: syn::Stmt = syn::parse_str(&format!("let {pattern} = x;")).unwrap();
        let syn::Stmt::Local(local) = statement else { panic!("not a let") };
        let mut env = Env::new();
        value.bind(&local.pat, &mut env);
        let mut all: Vec<_> = env.into_iter().collect();
        all.sort_by(|one, other| one.0.cmp(&other.0));
        all
    }

    fn port(name: &str) -> Value {
        Value::Port(name.into())
    }

    #[test]
    fn a_pattern_binds_the_part_that_it_stands_for() {
        let pair = Value::List(vec![port("a"), port("b")]);
        assert_eq!(bound("(x, y)", &pair), [("x".into(), port("a")), ("y".into(), port("b"))]);
        assert_eq!(bound("Some((x, _))", &pair), [("x".into(), port("a"))]);
        assert_eq!(bound("[first, ..]", &pair), [("first".into(), port("a").or(port("b")))]);
        let fields = Value::Fields([("out".to_string(), port("a"))].into());
        assert_eq!(bound("Ends { out, .. }", &fields), [("out".into(), port("a"))]);
        assert_eq!(bound("Ends { other, .. }", &fields), [("other".into(), Value::Unknown)]);
    }

    #[test]
    fn an_option_without_its_port_is_the_port() {
        assert_eq!(Value::Clean.or(port("a")), port("a"));
        assert_eq!(Value::Name("a".into()).or(Value::Clean), Value::Unknown);
        assert_eq!(port("a").or(Value::Unknown), Value::Unknown);
    }
}
