//! What a trace says of the system it was recorded from.
use serde::{Deserialize, Serialize};
use stillpoint_core::time::{CounterRate, TickRate};

/// Everything that is needed to make sense of the logs, without the firmware at hand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Who wrote it: name and version of the tool.
    pub tool: String,
    /// The system file.
    pub system: String,
    /// When the recorder began, in microseconds since 1970.
    pub began: u64,
    /// The boards.
    pub boards: Vec<BoardInfo>,
    /// The nodes.
    pub nodes: Vec<NodeInfo>,
    /// The channels between them.
    pub channels: Vec<ChannelInfo>,
}

/// A board and its firmware.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoardInfo {
    /// Its name.
    pub name: String,
    /// The ELF file.
    pub firmware: String,
    /// CRC-64/XZ of the ELF file, so that a trace is never read with the names of another build.
    pub identity: String,
    /// Ticks per second of its recorded times, if the firmware says so; read it by [`tick_rate`](Self::tick_rate).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_hz: Option<TickRate>,
    /// Counts per second of its counter. Recordings of earlier versions have this instead of `tick_hz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_hz: Option<CounterRate>,
    /// The names in its firmware: of watches, tracepoints, functions.
    pub names: Vec<NameInfo>,
}

impl BoardInfo {
    /// The rate of its recorded times, if it is known.
    ///
    /// # Example: a recording of an earlier version, in which a tick was 16 counts
    /// ```
    /// use stillpoint_core::time::TickRate;
    /// let board = r#"{"name":"A","firmware":"","identity":"","counter_hz":20000000,"names":[]}"#;
    /// let board: stillpoint_trace::BoardInfo = serde_json::from_str(board).unwrap();
    /// assert_eq!(board.tick_rate(), Some(TickRate(1_250_000)));
    /// ```
    #[must_use]
    pub fn tick_rate(&self) -> Option<TickRate> {
        self.tick_hz.or_else(|| self.counter_hz?.ticks()).filter(|rate| rate.0 > 0)
    }
}

/// A name in a firmware, known to logs as a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameInfo {
    /// What it names.
    pub kind: String,
    /// Its number.
    pub number: u16,
    /// The name.
    pub text: String,
    /// Where in the source it is given: `src/main.rs:41`. Recordings of earlier versions do not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeInfo {
    /// Its number.
    pub id: u8,
    /// What it is called.
    pub name: String,
    /// Which board.
    pub board: usize,
    /// Which of its cores.
    pub core: usize,
    /// Whether its messages carry vector stamps.
    pub vector_stamps: bool,
    /// Its ports.
    pub ports: Vec<PortInfo>,
    /// The numbers of the names of its watches, by the number of the watch.
    pub watches: Vec<u16>,
}

/// A port.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortInfo {
    /// Its number.
    pub id: u8,
    /// What it is called.
    pub name: String,
    /// Whether messages leave here.
    pub out: bool,
    /// The node at the other end.
    pub peer: u8,
}

/// A channel: a sender's port and a receiver's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelInfo {
    /// Who sends.
    pub from: u8,
    /// The sender's port.
    pub out: u8,
    /// Who receives.
    pub to: u8,
    /// The receiver's port.
    pub into: u8,
}
