//! Tracepoints and watches by name.

/// A cheap local event with a name: `trace!(agent, "token taken")`.
#[macro_export]
macro_rules! trace {
    ($agent:expr, $text:literal) => {
        $agent.trace($crate::name!(trace $text))
    };
}

/// A watch with a name: `let holding = watch!(agent, "holding")?;`, then `holding.set(1)`.
#[macro_export]
macro_rules! watch {
    ($agent:expr, $text:literal) => {
        $agent.watch($crate::name!(watch $text))
    };
}
