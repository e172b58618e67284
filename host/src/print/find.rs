//! From a path to a static, or to the nearest names that there are.
use super::parse::Query;
use super::{Limits, PrintError};
use crate::dwarf::{DebugTypes, Place, Static};
use crate::expr::ExprError;
use crate::payload::Value;
use crate::{Memory, nearest};

/// A static that a query is about.
#[derive(Clone, Debug)]
pub struct Found {
    /// Its whole path.
    pub path: String,
    place: Place,
    query: Query,
}

/// A value that was read.
#[derive(Clone, Debug)]
pub struct Read {
    /// Where it lies.
    pub address: u64,
    /// Its type.
    pub ty: String,
    /// The value.
    pub value: Value,
}

/// So many candidates are named.
const NAMED: usize = 8;

/// What the compiler makes for itself.
fn is_made_up(name: &str) -> bool {
    name.is_empty() || name.contains("{vtable") || name.starts_with('<')
}

impl Query {
    /// Finds its static in the debug information of a firmware. The end of a path will do if only one static has it.
    pub fn find(&self, types: &DebugTypes) -> Result<Found, ExprError> {
        let wanted = self.path.text.as_str();
        let ends_so = |path: &str| path == wanted || path.strip_suffix(wanted).is_some_and(|rest| rest.ends_with("::"));
        let mut found: Vec<&Static> = types.statics().iter().filter(|of| ends_so(&of.path)).collect();
        found.sort_by_key(|of| (of.path != wanted, of.place.address));
        found.dedup_by_key(|of| of.place.address);
        // One that is meant exactly is meant, whatever else ends so.
        let exact = found.iter().filter(|of| of.path == wanted).count();
        match found.as_slice() {
            [one] => Ok(self.found(one)),
            [one, ..] if exact == 1 => Ok(self.found(one)),
            [] => Err(self.unknown(types, ends_so)),
            several => {
                let mut paths: Vec<&str> = several.iter().map(|of| of.path.as_str()).collect();
                paths.sort_unstable();
                paths.dedup();
                let problem = format!("{} statics are called `{wanted}`", several.len());
                Err(self.error(problem, format!("say which: {}", listed(&paths))))
            }
        }
    }

    fn found(&self, of: &Static) -> Found {
        Found { path: of.path.clone(), place: of.place, query: self.clone() }
    }

    fn error(&self, problem: impl Into<String>, advice: impl Into<String>) -> ExprError {
        let span = self.path.span.clone();
        ExprError { problem: problem.into(), advice: advice.into(), text: self.text.clone(), span }
    }

    fn unknown(&self, types: &DebugTypes, ends_so: impl Fn(&str) -> bool) -> ExprError {
        let wanted = self.path.text.as_str();
        if let Some(gone) = types.gone().iter().find(|gone| ends_so(&gone.path)) {
            let ty = types.type_name(gone.ty);
            let problem = format!("{} was optimized out: the firmware has it in no memory", gone.path);
            return self.error(problem, format!("it was of type {ty}; `#[used]` keeps a static"));
        }
        let real = || types.statics().iter().filter(|of| !is_made_up(&of.name));
        let last = wanted.rsplit("::").next().unwrap_or(wanted);
        // The same name elsewhere, or in other letters; then the nearest one.
        let same = real().filter(|of| of.name.eq_ignore_ascii_case(last)).map(|of| of.path.as_str());
        let mut candidates: Vec<&str> = same.collect();
        if candidates.is_empty()
            && let Some(name) = nearest(last, real().map(|of| of.name.as_str()))
        {
            candidates.extend(real().filter(|of| of.name == name).map(|of| of.path.as_str()));
        }
        candidates.sort_unstable();
        candidates.dedup();
        let advice = match candidates.as_slice() {
            [] => format!("the firmware has {} statics; write the name of one", real().count()),
            paths => format!("did you mean {}?", listed(paths)),
        };
        self.error(format!("there is no static `{wanted}`"), advice)
    }
}

fn listed(paths: &[&str]) -> String {
    let shown = paths.iter().take(NAMED).map(|path| format!("`{path}`")).collect::<Vec<_>>().join(", ");
    if paths.len() > NAMED { format!("{shown} or {} others", paths.len() - NAMED) } else { shown }
}

impl Found {
    /// Reads the part that was asked for.
    pub fn read(&self, types: &DebugTypes, memory: &mut dyn Memory, limits: Limits) -> Result<Read, PrintError> {
        let mut reader = super::read::Reader::new(types, memory, limits);
        let mut place = self.place;
        for step in &self.query.steps {
            place = reader.step(place, step, &self.query.text)?;
        }
        let value = reader.whole(place)?;
        Ok(Read { address: place.address, ty: types.type_name(place.ty), value })
    }
}
