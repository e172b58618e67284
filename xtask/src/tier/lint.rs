//! Format, lints and documentation.
use super::Tier;
use crate::verb::lint_everything;

pub const TIER: Tier =
    Tier { name: "lint", proves: "format, lints and documentation, warnings denied", run: lint_everything };
