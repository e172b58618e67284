//! What somebody chose to have recorded, in words: `off`, `send,recv`, `full,causes`.
use crate::{Firmware, did_you_mean};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use stillpoint_core::log::{Recording, RecordingMode};
use stillpoint_core::{EventKind, KindSet};
use stillpoint_trace::kind_name;

/// What a system, a board or a node was told to record.
///
/// # Example: what is written is what is shown
/// ```
/// use stillpoint::recording::Choice;
/// let choice: Choice = "recv, send, trace(lap)".parse().unwrap();
/// assert_eq!(choice.to_string(), "trace(lap),send,recv");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Choice {
    mode: RecordingMode,
    kinds: KindSet,
    /// Tracepoints by name or number; all if there are none and their kind is recorded.
    actions: Vec<String>,
    causes: bool,
    overrides: bool,
}

/// Words that choose nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChoiceError {
    /// None of them says how much.
    #[error("it does not say what to record: write full, off, replay, or kinds of events as in send,recv")]
    Nothing,
    /// One of them is no mode and no kind.
    #[error("`{word}` is no mode and no kind of event{hint} (modes: {MODES}; kinds: {})", kinds().join(", "))]
    Unknown {
        /// Which.
        word: String,
        /// The nearest, as a question.
        hint: String,
    },
    /// Some events and all or none of them.
    #[error("`{mode}` leaves no choice of kinds; write only `{mode}`, or only the kinds")]
    Both {
        /// The mode.
        mode: &'static str,
    },
    /// Two modes.
    #[error("`{0}` and `{1}` cannot both be")]
    Modes(&'static str, &'static str),
}

/// A tracepoint that the firmware does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no tracepoint {name} in {firmware}{hint}")]
pub struct UnknownAction {
    name: String,
    firmware: String,
    hint: String,
}

const MODES: &str = "full, off, replay, restricted";
/// Recorded in every restricted mode.
const ALWAYS: [EventKind; 4] = [EventKind::Halt, EventKind::Resume, EventKind::Fault, EventKind::Reset];

fn kinds() -> Vec<&'static str> {
    EventKind::ALL.into_iter().filter(|kind| KindSet::ORDINARY.contains(*kind)).map(kind_name).collect()
}

fn mode_name(mode: RecordingMode) -> &'static str {
    match mode {
        RecordingMode::Off => "off",
        RecordingMode::Restricted => "restricted",
        RecordingMode::Full => "full",
        RecordingMode::Replay => "replay",
    }
}

fn mode_called(word: &str) -> Option<RecordingMode> {
    use RecordingMode::{Full, Off, Replay, Restricted};
    [Off, Restricted, Full, Replay].into_iter().find(|mode| mode_name(*mode) == word)
}

fn kind_called(word: &str) -> Option<EventKind> {
    match word {
        "local" => Some(EventKind::Local),
        "receive" => Some(EventKind::Receive),
        _ => EventKind::ALL.into_iter().find(|kind| KindSet::ORDINARY.contains(*kind) && kind_name(*kind) == word),
    }
}

impl FromStr for Choice {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let (mut mode, mut kinds, mut actions) = (None, KindSet::EMPTY, Vec::new());
        let (mut causes, mut overrides) = (false, false);
        for word in text.split([',', ' ', '\t']).filter(|word| !word.is_empty()) {
            let about = word.strip_suffix(')').and_then(|word| word.split_once('('));
            match (word, mode_called(word), kind_called(word), about) {
                ("causes", ..) => causes = true,
                ("override", ..) => overrides = true,
                (_, Some(found), ..) => match mode.replace(found) {
                    Some(other) if other != found => {
                        return Err(ChoiceError::Modes(mode_name(other), mode_name(found)));
                    }
                    _ => {}
                },
                (_, _, Some(kind), _) => kinds = kinds.with(kind),
                (_, _, _, Some(("trace" | "local", action))) if !action.is_empty() => {
                    kinds = kinds.with(EventKind::Local);
                    actions.push(action.to_owned());
                }
                _ => return Err(unknown(word)),
            }
        }
        let mode = match (mode, kinds == KindSet::EMPTY) {
            (None, true) => return Err(ChoiceError::Nothing),
            (None | Some(RecordingMode::Restricted), false) => RecordingMode::Restricted,
            (Some(mode), false) => return Err(ChoiceError::Both { mode: mode_name(mode) }),
            (Some(mode), true) => mode,
        };
        if mode == RecordingMode::Restricted && kinds == KindSet::EMPTY {
            kinds = kinds.with(EventKind::Send).with(EventKind::Receive);
        }
        Ok(Self { mode, kinds, actions, causes, overrides })
    }
}

fn unknown(word: &str) -> ChoiceError {
    let all = MODES.split(", ").chain(kinds()).chain(["causes", "override"]);
    ChoiceError::Unknown { word: word.to_owned(), hint: did_you_mean(word, all) }
}

impl Choice {
    /// Whether it counts for whatever lies inside, too, whatever was chosen there.
    #[must_use]
    pub fn overrides(&self) -> bool {
        self.overrides
    }

    /// The same for a node with this firmware, which knows the names of tracepoints.
    ///
    /// # Errors
    /// The firmware does not have a tracepoint of that name.
    pub fn on(&self, firmware: &Firmware) -> Result<Recording, UnknownAction> {
        let recording = match self.mode {
            RecordingMode::Off => Recording::OFF,
            RecordingMode::Full => Recording::FULL,
            RecordingMode::Replay => Recording::REPLAY,
            RecordingMode::Restricted if self.actions.is_empty() => Recording::restricted(self.kinds, u32::MAX),
            RecordingMode::Restricted => Recording::restricted(self.kinds, self.tags(firmware)?),
        };
        Ok(if self.causes { recording.with_causes() } else { recording })
    }

    fn tags(&self, firmware: &Firmware) -> Result<u32, UnknownAction> {
        let mut tags = 0;
        for action in &self.actions {
            let named = || firmware.names("trace").filter(|(_, text)| text == action).map(|(number, _)| number);
            let numbers: Vec<u16> = action.parse().map_or_else(|_| named().collect(), |number| vec![number]);
            if numbers.is_empty() {
                let hint = did_you_mean(action, firmware.names("trace").map(|(_, text)| text));
                let firmware = firmware.path.display().to_string();
                return Err(UnknownAction { name: action.clone(), firmware, hint });
            }
            tags |= numbers.iter().fold(0, |tags, number| tags | 1 << (number & 31));
        }
        Ok(tags)
    }
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.mode == RecordingMode::Restricted {
            let traces = self.actions.iter().map(|action| format!("trace({action})"));
            words.extend(traces);
            let chosen = EventKind::ALL.into_iter().filter(|kind| self.kinds.contains(*kind));
            let all_traces = self.actions.is_empty();
            words.extend(
                chosen.filter(|kind| all_traces || *kind != EventKind::Local).map(|kind| kind_name(kind).into()),
            );
        } else {
            words.push(mode_name(self.mode).to_owned());
        }
        words.extend(self.causes.then(|| "causes".into()));
        words.extend(self.overrides.then(|| "override".into()));
        f.write_str(&words.join(","))
    }
}

impl From<Choice> for String {
    fn from(choice: Choice) -> Self {
        choice.to_string()
    }
}

impl TryFrom<String> for Choice {
    type Error = ChoiceError;

    fn try_from(text: String) -> Result<Self, ChoiceError> {
        text.parse()
    }
}

/// What a node records, in words.
#[must_use]
pub fn say(recording: Recording) -> String {
    let mut text = match recording.mode() {
        RecordingMode::Off => return "nothing".into(),
        RecordingMode::Full => "everything".to_owned(),
        RecordingMode::Replay => "everything, and what else is not determined".to_owned(),
        RecordingMode::Restricted => {
            let chosen = EventKind::ALL.into_iter().filter(|kind| recording.kinds().contains(*kind));
            let words: Vec<String> = chosen
                .filter(|kind| !ALWAYS.contains(kind))
                .map(|kind| match (kind, recording.actions()) {
                    (EventKind::Local, actions) if actions != u32::MAX => "some trace".to_owned(),
                    _ => kind_name(kind).to_owned(),
                })
                .collect();
            if words.is_empty() { "halts, faults and resets".to_owned() } else { words.join(", ") }
        }
    };
    if recording.carries_causes() && recording.mode() != RecordingMode::Restricted {
        text += ", with causes";
    }
    text
}
