//! One frame of a backtrace, and whose it is.
use serde::Serialize;
use std::fmt;

/// Whose code a frame is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FrameKind {
    /// Of the user's own crates.
    User,
    /// Of the kit.
    Kit,
    /// Of a library: Rust's own, or one from a registry.
    Library,
    /// Not code: here an exception interrupted what follows.
    Exception,
    /// Not known: there is no debug information.
    Unknown,
}

/// One frame of a backtrace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Frame {
    /// The function, with its path.
    pub function: String,
    /// The source file.
    pub file: Option<String>,
    /// The line in it.
    pub line: Option<u32>,
    /// The address of the instruction.
    pub address: u32,
    /// Whether the function was inlined into the next frame's.
    pub inlined: bool,
    /// Whose code it is.
    pub kind: FrameKind,
}

impl Frame {
    /// Whether this is where the agent keeps a parked core.
    pub(super) fn is_park(&self) -> bool {
        self.function == "stillpoint_park"
    }

    /// The file without what depends on where it was built: from the last folder of the crate on.
    #[must_use]
    pub fn short_file(&self) -> Option<&str> {
        self.file.as_deref().map(short)
    }
}

/// A file without what depends on where it was built.
pub(crate) fn short(file: &str) -> &str {
    let marks = ["/src/", "/examples/", "/tests/", "/benches/"];
    let mark = marks.iter().filter_map(|mark| file.rfind(mark)).max();
    let start = mark.and_then(|mark| file[..mark].rfind('/')).map_or(0, |slash| slash + 1);
    &file[start..]
}

impl fmt::Display for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.function)?;
        match (self.short_file(), self.line) {
            (Some(file), Some(line)) => write!(f, "  {file}:{line}"),
            (Some(file), None) => write!(f, "  {file}"),
            (None, _) => write!(f, "  at {:#010x}", self.address),
        }
    }
}

/// The name of a function as its author knows it: without the hash of its symbol, and without what the macros of an entry
/// point or a task make of it.
pub(crate) fn tidy(name: &str) -> String {
    let name = match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) => path,
        _ => name,
    };
    let mut parts: Vec<String> = Vec::new();
    for part in name.split("::") {
        let inner = part.strip_prefix("__").and_then(|part| part.strip_suffix("_task_inner_function"));
        match inner {
            // `__pump_task::__pump_task_inner_function::{{closure}}` is the body of `async fn pump`.
            Some(task) if parts.last().is_some_and(|last| *last == format!("__{task}_task")) => {
                parts.pop();
                parts.push(task.to_owned());
            }
            _ if part == "__cortex_m_rt_main" => parts.push("main".into()),
            _ => parts.push(part.to_owned()),
        }
    }
    parts.join("::")
}

/// Whose a function is, by its path and its file.
pub(super) fn kind_of(function: &str, file: Option<&str>) -> FrameKind {
    let Some(file) = file else { return FrameKind::Unknown };
    let begins = |name: &str| function.trim_start_matches('<').starts_with(name);
    if ["stillpoint_agent::", "stillpoint_core::", "stillpoint_park"].into_iter().any(begins) {
        return FrameKind::Kit;
    }
    // An instruction of an inlined function may bear the line of its caller, so the path of the function counts, too.
    if ["core::", "alloc::"].into_iter().any(begins) {
        return FrameKind::Library;
    }
    let from_elsewhere = ["/registry/src/", "/git/checkouts/", "/rustc/", "/rustlib/src/"];
    if from_elsewhere.iter().any(|part| file.contains(part)) { FrameKind::Library } else { FrameKind::User }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_told_by_its_path_and_file() {
        let kind = |function, file| kind_of(function, Some(file));
        assert_eq!(kind("token_ring::pass::{{closure}}", "/home/me/ring/examples/token_ring.rs"), FrameKind::User);
        assert_eq!(kind("stillpoint_agent::agent::Agents<P>::section", "/any/where.rs"), FrameKind::Kit);
        assert_eq!(kind("<stillpoint_agent::agent::Agents<P> as X>::f", "/any/where.rs"), FrameKind::Kit);
        assert_eq!(kind("core::ptr::read", "/rustc/59807616e/library/core/src/ptr/mod.rs"), FrameKind::Library);
        let registry = "/home/me/.cargo/registry/src/index-1/embassy-executor-0.10.0/src/raw/mod.rs";
        assert_eq!(kind("embassy_executor::raw::Executor::poll", registry), FrameKind::Library);
        assert_eq!(kind("core::array::from_fn", "/home/me/ring/src/main.rs"), FrameKind::Library);
        assert_eq!(kind_of("anything", None), FrameKind::Unknown);
    }

    #[test]
    fn a_function_is_called_as_its_author_calls_it() {
        assert_eq!(
            tidy("token_ring::__pump_task::__pump_task_inner_function::{{closure}}"),
            "token_ring::pump::{{closure}}"
        );
        assert_eq!(tidy("token_ring::__cortex_m_rt_main::{{closure}}"), "token_ring::main::{{closure}}");
        assert_eq!(tidy("a::b::h0123456789abcdef"), "a::b");
        assert_eq!(tidy("a::health"), "a::health");
        assert_eq!(tidy("__other_task_inner_function"), "__other_task_inner_function");
    }

    #[test]
    fn a_file_is_named_from_its_crate_on() {
        let frame = |file: &str| Frame {
            function: "f".into(),
            file: Some(file.into()),
            line: Some(3),
            address: 0,
            inlined: false,
            kind: FrameKind::User,
        };
        assert_eq!(frame("/a/b/target-agent/examples/ring.rs").short_file(), Some("target-agent/examples/ring.rs"));
        assert_eq!(frame("/a/my-src/src/deep/x.rs").to_string(), "f  my-src/src/deep/x.rs:3");
        assert_eq!(frame("plain.rs").short_file(), Some("plain.rs"));
    }
}
