//! What is counted on the target, by name.
use super::count::Counts;

/// One line of the table.
pub struct Row {
    /// Its name, in the table and in the record.
    pub what: &'static str,
    /// What it adds up to, from the counts of the spans.
    pub figure: fn(&Counts) -> Option<u64>,
}

fn usual(counts: &Counts, span: &str) -> Option<u64> {
    counts.get(span).map(|count| count.usual)
}

fn most(counts: &Counts, span: &str) -> Option<u64> {
    counts.get(span).map(|count| count.most)
}

/// Round trips that the demo `round_trip` makes.
pub const ROUND_TRIPS: u64 = 1000;

/// Every line.
pub const ROWS: &[Row] = &[
    Row { what: "local record, timestamped", figure: |counts| usual(counts, "local_record") },
    Row { what: "the same as `trace!`: agent and masking included", figure: |counts| usual(counts, "tracepoint") },
    Row {
        what: "local record with the sync record that comes every 1024 events",
        figure: |counts| most(counts, "local_record"),
    },
    Row { what: "event, recording off, nothing armed", figure: |counts| most(counts, "recording_off") },
    Row { what: "send, clock and stamp, 4 nodes", figure: |counts| most(counts, "send_4") },
    Row { what: "receive, clock and stamp, 4 nodes", figure: |counts| most(counts, "receive_4") },
    Row { what: "send with its record, 4 nodes", figure: |counts| usual(counts, "send_record_4") },
    Row { what: "receive with its record, 4 nodes", figure: |counts| usual(counts, "receive_record_4") },
    Row { what: "send, clock and stamp, 32 nodes of which 2 talk", figure: |counts| usual(counts, "send_32") },
    Row { what: "receive, clock and stamp, 32 nodes of which 2 talk", figure: |counts| usual(counts, "receive_32") },
    Row { what: "merge of 4 entries", figure: |counts| most(counts, "merge_4") },
    Row { what: "merge of 32 entries", figure: |counts| most(counts, "merge_32") },
    Row { what: "predicate evaluation, none armed", figure: |counts| most(counts, "evaluation_none") },
    Row { what: "predicate evaluation, one armed", figure: |counts| most(counts, "evaluation_one") },
    Row { what: "predicate evaluation, four armed", figure: |counts| most(counts, "evaluation_four") },
    Row {
        what: "what one armed comparison adds to a local record",
        figure: |counts| most(counts, "one_armed")?.checked_sub(usual(counts, "local_record")?),
    },
    Row {
        what: "what four armed comparisons add to a local record",
        figure: |counts| most(counts, "four_armed")?.checked_sub(usual(counts, "local_record")?),
    },
    Row {
        what: "simultaneous event armed: send that carries a component, 4 nodes",
        figure: |counts| usual(counts, "send_carrying"),
    },
    Row {
        what: "simultaneous event armed: receive of it, 4 nodes",
        figure: |counts| usual(counts, "receive_carrying"),
    },
    Row {
        what: "simultaneous event armed: send on a port that carries nothing, 4 nodes",
        figure: |counts| usual(counts, "send_beside"),
    },
    Row {
        what: "simultaneous event armed: receive on a port that carries nothing, 4 nodes",
        figure: |counts| usual(counts, "receive_beside"),
    },
    Row { what: "halt marker handled by the node", figure: |counts| most(counts, "marker") },
    Row { what: "halt begun here, to the bell of the other core", figure: |counts| usual(counts, "ring") },
    Row { what: "halt begun here, to park", figure: |counts| most(counts, "halt") },
    Row { what: "halt from the other core, doorbell to park", figure: |counts| most(counts, "bell") },
    Row { what: "mailbox round trip, both cores", figure: |counts| Some(usual(counts, "round_trips")? / ROUND_TRIPS) },
    Row {
        what: "the same, kit compiled out",
        figure: |counts| Some(usual(counts, "plain_round_trips")? / ROUND_TRIPS),
    },
    Row { what: "defmt over RTT: one line with a u32 and a timestamp", figure: |counts| most(counts, "defmt") },
];
