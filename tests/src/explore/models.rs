//! The models that are run to exhaustion, and the mutants that must not survive.
use super::config::{Config, ControlLanes, Host, Predicate, Sight, Stage, Start, What};
use super::sabotage::Sabotage;
use super::system::Shape;
use stillpoint_core::StampKind;
use stillpoint_core::predicate::Detector;

const BASE: Config = Config {
    name: "",
    about: "",
    shape: Shape::Ring,
    capacity: 2,
    messages: [2, 2, 2],
    halts: [1, 0, 0],
    commands: 0,
    releases: 0,
    host: Host::WaitsForAll,
    control: ControlLanes::Fifo,
    stamps: StampKind::Vector,
    start: Start::Fresh,
    locals: [0; 3],
    predicate: None,
    reset: None,
    serial: None,
    meets: &[Sight::Certified],
    sabotage: None,
};

const LINE: Config = Config { shape: Shape::Line, messages: [2, 2, 0], ..BASE };

const fn stage(node: usize, what: What, times: u8) -> Stage {
    Stage { node, what, times }
}

const CAUSAL_TWO: Predicate =
    Predicate { detector: Detector::Causal, stages: &[stage(0, What::Local, 1), stage(2, What::Local, 1)] };

const CAUSAL_THREE: Predicate = Predicate {
    detector: Detector::Causal,
    stages: &[stage(0, What::Send, 2), stage(1, What::Local, 1), stage(2, What::Receive, 1)],
};

const MARKER_TWO: Predicate =
    Predicate { detector: Detector::Marker, stages: &[stage(0, What::Local, 1), stage(2, What::Local, 2)] };

/// Every model, in the order in which they run.
pub fn all() -> Vec<Config> {
    use Sight::*;
    vec![
        Config {
            name: "ring",
            about: "a ring, capacity 2, one initiator",
            meets: &[Certified, CertifiedInFlight],
            ..BASE
        },
        Config {
            name: "ring-two-initiators",
            about: "a ring, capacity 2, two initiators, spontaneous and at once",
            messages: [2, 2, 1],
            halts: [1, 0, 1],
            meets: &[Certified, CertifiedInFlight, TwoInitiators],
            ..BASE
        },
        Config {
            name: "ring-capacity-1",
            about: "a ring, capacity 1, two initiators, spontaneous and at once",
            capacity: 1,
            halts: [1, 1, 0],
            meets: &[Certified, CertifiedInFlight, TwoInitiators],
            ..BASE
        },
        Config {
            name: "line",
            about: "a pipeline, capacity 2, initiators at both ends: halting the producer needs the reverse lanes",
            halts: [1, 0, 1],
            meets: &[Certified, CertifiedInFlight, TwoInitiators],
            ..LINE
        },
        Config {
            name: "line-capacity-1",
            about: "a pipeline, capacity 1, every node an initiator",
            capacity: 1,
            halts: [1, 1, 1],
            meets: &[Certified, CertifiedInFlight, TwoInitiators],
            ..LINE
        },
        Config {
            name: "halt-resume-halt",
            about: "a ring, halted twice and released twice",
            messages: [2, 1, 1],
            halts: [1, 1, 0],
            releases: 2,
            meets: &[Certified, TwoInitiators, SecondHalt, StaleRelease],
            ..BASE
        },
        Config {
            name: "line-halt-resume-halt",
            about: "a pipeline, halted up to three times, with control in slots: a newer halt met while parked",
            capacity: 1,
            halts: [1, 1, 1],
            releases: 2,
            control: ControlLanes::Slots,
            meets: &[Certified, SecondHalt, NewerWhileParked, StaleRelease],
            ..LINE
        },
        Config {
            name: "eager-host",
            about: "a ring whose host releases before all are parked: stale markers and releases",
            messages: [1, 0, 0],
            halts: [1, 1, 0],
            releases: 2,
            host: Host::IsEager,
            meets: &[SecondHalt, StaleMarker, StaleRelease],
            ..BASE
        },
        Config {
            name: "debugger",
            about: "a ring that the debugger halts by commands, each of which arrives at any time, while a node initiates, too",
            messages: [1, 0, 0],
            commands: 1,
            releases: 1,
            meets: &[Certified, CertifiedInFlight, Commanded, CommandedAgain, StaleCommand, SecondHalt],
            ..BASE
        },
        Config {
            name: "debugger-twice",
            about: "a pipeline that only the debugger halts, twice, with an eager host and control in slots",
            messages: [1, 0, 0],
            halts: [0; 3],
            commands: 2,
            releases: 2,
            host: Host::IsEager,
            control: ControlLanes::Slots,
            meets: &[Commanded, CommandedAgain, StaleCommand, SecondHalt],
            ..LINE
        },
        Config {
            name: "wrap",
            about: "a ring whose event numbers and halt ids wrap on the way",
            messages: [2, 1, 1],
            halts: [2, 0, 0],
            releases: 1,
            start: Start::NearTheWrap,
            meets: &[Certified, CertifiedInFlight, SecondHalt],
            ..BASE
        },
        Config {
            name: "lossy-line",
            about: "a pipeline whose second wire is a serial line that loses or repeats two frames",
            messages: [1, 1, 0],
            halts: [1, 0, 1],
            releases: 1,
            serial: Some((1, 2)),
            meets: &[Certified, CertifiedInFlight, TwoInitiators, Fault, TimeOut],
            ..LINE
        },
        Config {
            name: "reset",
            about: "a pipeline whose middle node is reset at any moment of a halt",
            messages: [1, 1, 0],
            releases: 1,
            reset: Some(1),
            meets: &[Certified, JoinedBeforeStart, Restarted],
            ..LINE
        },
        Config {
            name: "reset-initiator",
            about: "a ring whose initiator is reset at any moment of its halt",
            messages: [1, 0, 1],
            releases: 1,
            reset: Some(0),
            meets: &[Certified, JoinedBeforeStart, Restarted],
            ..BASE
        },
        Config {
            name: "causal-predicate",
            about: "0.local -> 2.local by piggyback through a node that knows nothing of it",
            halts: [0, 0, 0],
            locals: [2, 0, 2],
            predicate: Some(CAUSAL_TWO),
            meets: &[Fired, DidNotFire, Certified],
            ..LINE
        },
        Config {
            name: "causal-three-stages",
            about: "0:send^2 -> 1.local -> 2:recv by piggyback on a ring",
            halts: [0, 0, 0],
            locals: [0, 2, 0],
            messages: [2, 2, 1],
            predicate: Some(CAUSAL_THREE),
            meets: &[Fired, DidNotFire, Certified],
            ..BASE
        },
        Config {
            name: "marker-predicate",
            about: "0.local -> 2.local^2 by predicate markers passed on by a node that knows nothing of it",
            halts: [0, 0, 0],
            locals: [2, 0, 3],
            messages: [1, 1, 0],
            predicate: Some(MARKER_TWO),
            meets: &[Fired, DidNotFire, Certified],
            ..LINE
        },
    ]
}

/// Every mutant: its name, and the model it is put into.
pub fn mutants() -> Vec<(&'static str, Config)> {
    use Sabotage::*;
    let models = all();
    let model = |name: &str| *models.iter().find(|config| config.name == name).expect("a model of this name");
    [
        ("dropped marker", "ring", DroppedMarker),
        ("non-FIFO channel", "ring", NotFifo),
        ("forgotten stale-marker check", "eager-host", ForgottenStaleMarkerCheck),
        ("marker position off by one", "ring", MarkerPositionOffByOne),
        ("stale release obeyed", "halt-resume-halt", StaleReleaseObeyed),
        ("wrong wrap compare", "wrap", WrongWrapCompare),
        ("missing merge on receive", "ring", MissingMerge),
        ("stage not forwarded by an unarmed node", "causal-predicate", StageNotForwarded),
        ("predicate marker not forwarded", "marker-predicate", PredicateMarkerNotForwarded),
        ("release not forwarded", "line-halt-resume-halt", ReleaseNotForwarded),
        ("drain skipped", "ring", DrainSkipped),
        ("marker acknowledged but not processed", "ring", AcknowledgedNotProcessed),
        ("duplicated message", "ring", DuplicatedMessage),
        ("epoch not raised after a reset", "reset", EpochNotRaised),
        ("late command begins a halt", "debugger", LateCommandBegins),
        ("command halts without markers", "debugger", CommandWithoutMarkers),
    ]
    .into_iter()
    .map(|(name, of, sabotage)| (name, Config { sabotage: Some(sabotage), ..model(of) }))
    .chain([
        // The one message comes after the halt, so that nothing but the halted state itself gives it away.
        ("send after halt", Config { sabotage: Some(SendAfterHalt), messages: [1, 0, 0], ..model("ring") }),
        ("no retransmission", Config { sabotage: Some(NoRetransmission), messages: [0; 3], ..model("lossy-line") }),
    ])
    .collect()
}
