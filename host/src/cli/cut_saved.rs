//! The cut that was saved in a dump, shown where the damaged dump does not let anybody make it anew.
use super::cut::{Missing, heading};
use super::{Report, paint};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// What was found when the dump was made.
#[derive(Serialize)]
pub struct Saved<'a> {
    /// The report of `cut` at that time.
    pub certificate_as_saved: &'a Value,
    /// What keeps it from being checked.
    pub not_checked_anew: String,
    /// Boards of which nothing is there.
    pub missing: Vec<Missing>,
}

fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key].as_str().unwrap_or("?")
}

impl Report for Saved<'_> {
    fn text(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let saved = self.certificate_as_saved;
        let halt = saved["halt"].as_u64().map_or_else(String::new, |halt| format!(" of halt {halt}"));
        let (style, verdict) = if saved["valid"] == true { (paint::GOOD, "valid") } else { (paint::BAD, "FAILED") };
        let (name, name_off, warn) = (paint::NAME, format!("{:#}", paint::NAME), paint::WARN);
        writeln!(f, "{name}certificate{halt}:{name_off} {style}{verdict}{style:#} when it was saved")?;
        writeln!(
            f,
            "  {warn}??{warn:#}  the dump is damaged, so it cannot be checked anew: {}",
            self.not_checked_anew
        )?;
        self.missing.iter().try_for_each(|missing| writeln!(f, "  {}--{:#}  {missing}", paint::BAD, paint::BAD))?;
        for check in list(saved, "checks") {
            let mark = match (check["checked"] == true, list(check, "wrong").is_empty()) {
                (false, _) => "??",
                (true, true) => "ok",
                (true, false) => "--",
            };
            writeln!(f, "  {mark}  {:<57} {}", text(check, "what"), text(check, "figures"))?;
            list(check, "wrong")
                .iter()
                .try_for_each(|wrong| writeln!(f, "        {}", wrong.as_str().unwrap_or("?")))?;
        }
        heading(f, "frontier, as saved")?;
        for node in list(saved, "nodes") {
            let epoch = node["epoch"].as_u64().filter(|epoch| *epoch > 0);
            let epoch = epoch.map_or_else(String::new, |epoch| format!(" of epoch {epoch}"));
            let event = format!("event {}{epoch}", node["event"]);
            let user = list(&node["backtrace"], "frames").iter().find(|frame| frame["kind"] == "user");
            let place =
                user.map(|frame| format!("{}  {}:{}", text(frame, "function"), text(frame, "file"), frame["line"]));
            writeln!(f, "  {name}{:<8}{name_off} {event:<14} {}", text(node, "name"), place.unwrap_or_default())?;
        }
        heading(f, "in flight, as saved")?;
        for channel in list(saved, "channels") {
            let count = list(channel, "in_flight").len();
            if count > 0 {
                let of = channel["carries"].as_str().map_or_else(String::new, |name| format!(" of {name}"));
                let plural = if count == 1 { "" } else { "s" };
                writeln!(f, "  {:<36} {count} message{plural}{of}", text(channel, "name"))?;
            }
        }
        writeln!(f, "  {} channels in all", list(saved, "channels").len())
    }
}
