//! What somebody chose to have recorded, in words: `off`, `send,recv`, `full,causes`.
use crate::node::Port;
use crate::{Firmware, did_you_mean};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use stillpoint_core::log::{Recording, RecordingMode};
use stillpoint_core::{Direction, EventKind, KindSet};
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
    /// What is chosen by name or number; of a kind that has none here everything is recorded.
    names: Vec<(EventKind, String)>,
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

/// Names that cannot be chosen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The firmware has no such tracepoint, port, object, span or procedure.
    #[error("there is no {what} {name} in {firmware}{hint}")]
    Unknown {
        /// What it should be.
        what: &'static str,
        /// The name.
        name: String,
        /// Where it should be.
        firmware: String,
        /// The nearest, as a question.
        hint: String,
    },
    /// A node can look for so many only.
    #[error(
        "a node records at most {} names besides ports, and {count} are chosen in {firmware}: choose whole kinds, as in `trace`",
        Recording::NAMES
    )]
    TooMany {
        /// How many.
        count: usize,
        /// Where.
        firmware: String,
    },
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
        let (mut mode, mut kinds, mut names) = (None, KindSet::EMPTY, Vec::new());
        let (mut causes, mut overrides) = (false, false);
        for word in words(text) {
            let about = word.strip_suffix(')').and_then(|word| word.split_once('('));
            let about = about.and_then(|(kind, name)| Some((kind_called(kind)?, name.trim_matches('"'))));
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
                (_, _, _, Some((kind, name))) if !name.is_empty() && about_what(kind).is_some() => {
                    names.push((kind, name.to_owned()));
                }
                _ => return Err(unknown(word)),
            }
        }
        // A kind that is also chosen as a whole is.
        names.retain(|(kind, _)| !kinds.contains(*kind));
        kinds = names.iter().fold(kinds, |kinds, (kind, _)| kinds.with(*kind));
        let mode = match (mode, kinds == KindSet::EMPTY) {
            (None, true) => return Err(ChoiceError::Nothing),
            (None | Some(RecordingMode::Restricted), false) => RecordingMode::Restricted,
            (Some(mode), false) => return Err(ChoiceError::Both { mode: mode_name(mode) }),
            (Some(mode), true) => mode,
        };
        if mode == RecordingMode::Restricted && kinds == KindSet::EMPTY {
            kinds = kinds.with(EventKind::Send).with(EventKind::Receive);
        }
        Ok(Self { mode, kinds, names, causes, overrides })
    }
}

/// The words of a choice. Commas and spaces inside of parentheses are part of a name.
fn words(text: &str) -> Vec<&str> {
    let mut depth = 0;
    let between = |letter: char| {
        depth += i32::from(letter == '(') - i32::from(letter == ')');
        depth <= 0 && matches!(letter, ',' | ' ' | '\t')
    };
    text.split(between).filter(|word| !word.is_empty()).collect()
}

/// What the events of a kind are about, in words and as kinds of names in a firmware.
fn about_what(kind: EventKind) -> Option<(&'static str, &'static [&'static str])> {
    match kind {
        EventKind::Local => Some(("tracepoint", &["trace"])),
        EventKind::Send | EventKind::Receive => Some(("port", &["port"])),
        EventKind::Access => Some(("shared object", &["shared"])),
        EventKind::Enter | EventKind::Leave => Some(("span", &["span"])),
        EventKind::Call | EventKind::Return => Some(("procedure", &["call", "serve"])),
        _ => None,
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

    /// The same for a node with this firmware and these ports.
    ///
    /// # Errors
    /// The firmware does not have such a name, or more are chosen than a node can look for.
    pub fn on(&self, firmware: &Firmware, ports: &[Port]) -> Result<Recording, NameError> {
        let recording = match self.mode {
            RecordingMode::Off => Recording::OFF,
            RecordingMode::Full => Recording::FULL,
            RecordingMode::Replay => Recording::REPLAY,
            RecordingMode::Restricted => self.restricted(firmware, ports)?,
        };
        Ok(if self.causes { recording.with_causes() } else { recording })
    }

    fn restricted(&self, firmware: &Firmware, ports: &[Port]) -> Result<Recording, NameError> {
        let (mut named, mut chosen_ports, mut numbers) = (KindSet::EMPTY, 0, Vec::new());
        for (kind, name) in &self.names {
            named = named.with(*kind);
            let found = numbers_of(firmware, *kind, name)?;
            let direction = match kind {
                EventKind::Send => Direction::Out,
                EventKind::Receive => Direction::In,
                _ => {
                    numbers.extend(found);
                    continue;
                }
            };
            // A port that only other nodes of the firmware have is none of this one's.
            let own = ports.iter().filter(|port| port.direction == direction && found.contains(&port.name));
            chosen_ports |= own.fold(0, |mask, port| mask | 1_u32 << (port.id.0 & 31));
        }
        numbers.sort_unstable();
        numbers.dedup();
        let mut places = [0; Recording::NAMES];
        if numbers.len() > places.len() {
            let firmware = firmware.path.display().to_string();
            return Err(NameError::TooMany { count: numbers.len(), firmware });
        }
        places.iter_mut().zip(numbers).for_each(|(place, number)| *place = number);
        Ok(Recording::restricted(self.kinds, u32::MAX).only(named, chosen_ports, places))
    }
}

/// The numbers behind a name, which may stand in several places of the source.
fn numbers_of(firmware: &Firmware, kind: EventKind, name: &str) -> Result<Vec<u16>, NameError> {
    let (what, kinds) = about_what(kind).unwrap_or(("name", &[]));
    let all = || kinds.iter().flat_map(|kind| firmware.names(kind));
    let named = || all().filter(|(_, text)| *text == name).map(|(number, _)| number);
    let numbers: Vec<u16> = name.parse().map_or_else(|_| named().collect(), |number| vec![number]);
    if numbers.is_empty() {
        let hint = did_you_mean(name, all().map(|(_, text)| text));
        let firmware = firmware.path.display().to_string();
        return Err(NameError::Unknown { what, name: name.to_owned(), firmware, hint });
    }
    Ok(numbers)
}

impl fmt::Display for Choice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if self.mode == RecordingMode::Restricted {
            for kind in EventKind::ALL.into_iter().filter(|kind| self.kinds.contains(*kind)) {
                let of_kind = self.names.iter().filter(|(of, _)| *of == kind);
                let named: Vec<String> = of_kind.map(|(_, name)| format!("{}({name})", kind_name(kind))).collect();
                words.extend(if named.is_empty() { vec![kind_name(kind).to_owned()] } else { named });
            }
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
                .map(|kind| match recording.names().0.contains(kind) {
                    true => format!("some {}", kind_name(kind)),
                    false => kind_name(kind).to_owned(),
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
