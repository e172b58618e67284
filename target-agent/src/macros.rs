//! Tracepoints and watches by name.

/// A cheap local event with a name: `trace!(agent, "token taken")`.
#[macro_export]
macro_rules! trace {
    ($agent:expr, $text:literal) => {
        $agent.trace($crate::name!(trace $text))
    };
}

/// A span with a name: `let _commit = span!(agent, "commit");`. It begins here and ends where the guard is dropped, and both
/// are events.
#[macro_export]
macro_rules! span {
    ($agent:expr, $text:literal) => {
        $agent.span($crate::name!(span $text))
    };
}

/// A value that comes from outside the system, recorded where replay would need it:
/// `let level = input!(agent, "level", adc.read())`.
#[macro_export]
macro_rules! input {
    ($agent:expr, $text:literal, $value:expr) => {
        $agent.input($crate::name!(input $text), $value)
    };
}

/// This place in the source, as a name: `totals.read(here!(), |totals| totals[0])`. It takes no room on the target.
#[macro_export]
macro_rules! here {
    () => {
        $crate::name!(place "")
    };
}

/// A watch with a name: `let holding = watch!(agent, "holding")?;`, then `holding.set(1)`.
#[macro_export]
macro_rules! watch {
    ($agent:expr, $text:literal) => {
        $agent.watch($crate::name!(watch $text))
    };
}
