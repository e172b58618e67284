//! What async functions are called in the source.
use super::chain::Follower;
use super::combined::member;
use crate::dwarf::{Choice, DebugTypes, Type, TypeId, without_parameters};

impl Follower<'_> {
    /// `{impl#5}::recv` by its type's name: `Inbox::recv`. The type is that of `self`, if the function has it.
    pub(super) fn method_name(&self, choice: &Choice, name: &str) -> String {
        let Some(from) = name.find("{impl#") else { return name.to_owned() };
        let Some(until) = name[from..].find('}').map(|length| from + length + 1) else { return name.to_owned() };
        let first = choice.variants.first().and_then(|variant| variant.content.as_ref());
        let arguments = first.map(|content| self.types.get(content.ty));
        let Some(Type::Struct { members, .. }) = arguments else { return name.to_owned() };
        let Some(this) = member(&members, "self") else { return name.to_owned() };
        let of = match self.types.get(this.ty) {
            Type::Pointer(Some(to)) => self.types.type_name(to),
            _ => self.types.type_name(this.ty),
        };
        let of = without_parameters(&of);
        format!("{}{of}{}", &name[..from], &name[until..])
    }
}

/// Whether a type is one that the compiler makes for async code, by its name.
pub(super) fn is_async(name: &str) -> bool {
    ["{async_fn_env#", "{async_block_env#", "{async_closure_env#"].iter().any(|kind| name.starts_with(kind))
}

/// The same by the states of a type: another version of the compiler may name it differently.
pub(super) fn has_states(types: &DebugTypes, ty: TypeId) -> bool {
    let Type::Choice(choice) = types.get(ty) else { return false };
    let contents = choice.variants.iter().filter_map(|variant| variant.content.as_ref());
    let mut states = contents.map(|content| types.type_name(content.ty));
    states.any(|state| state == "Unresumed" || state == "Suspend0")
}

/// The path of a function as its author knows it, from the path of its state machine.
pub(super) fn function_name(path: &str) -> String {
    let path = without_parameters(path);
    let path = match path.rsplit_once("::") {
        Some((outer, last)) if last.starts_with("{async_fn_env#") => outer.to_owned(),
        Some((outer, last)) if last.starts_with("{async_block_env#") => format!("{outer}::{{async block}}"),
        Some((outer, last)) if last.starts_with("{async_closure_env#") => format!("{outer}::{{async closure}}"),
        _ => path,
    };
    crate::backtrace::tidy(&path).replace("{async_fn#0}::", "").replace("{async_fn#0}", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_is_called_as_in_its_source() {
        let task = "ring::__pass_task::__pass_task_inner_function::{async_fn_env#0}";
        assert_eq!(function_name(task), "ring::pass");
        assert_eq!(function_name("a::{impl#5}::recv::{async_fn_env#0}<P, T>"), "a::{impl#5}::recv");
        assert_eq!(function_name("a::f::{async_fn#0}::{async_block_env#1}"), "a::f::{async block}");
        assert_eq!(function_name("embassy_futures::select::Select<A, B>"), "embassy_futures::select::Select");
    }
}
