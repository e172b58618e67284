//! What records and stamps take in bytes: scripted workloads on shipped nodes, printed as one JSON object.
//!
//! ```text
//! $ cargo run --release -p stillpoint-bench-bytes
//! ```
mod measure;
mod system;
mod workload;

use measure::Bytes;
use serde_json::{Map, Value, json};
use stillpoint_core::StampKind;
use workload::Workload;

const TEXT: &str = "\
Scripted workloads on the shipped nodes and log writers: in a round every node traces once and sends once to each of its
successors, which take the message at once. *ring*: to the next node; *all to all*: to every other node (at 32 nodes to the
next 16: a node has at most 32 ports); *pipeline*: from the first node to the last. 50 rounds are not counted, 1000 are. From
event to event 5 to 200 us pass on a counter of 20 MHz. A sync record comes every 1024 events and is counted apart.";

fn main() {
    let mut rows = Vec::new();
    let mut counts = Map::new();
    for workload in Workload::ALL {
        for nodes in [2, 4, 8, 32] {
            let vector = measure::run(workload, nodes, StampKind::Vector);
            let event = measure::run(workload, nodes, StampKind::Event);
            rows.push(row(workload, nodes, &vector, &event));
            let mut count = |what: &str, bytes: f64| {
                counts.insert(format!("{what}, {workload}, {nodes} nodes"), json!(bytes));
            };
            count("record of a local event", vector.local.mean());
            count("record of a message event", vector.message.mean());
            count("sync records per event", vector.sync_per_event());
            count("vector stamp", vector.stamp.mean());
            count("event stamp", event.stamp.mean());
        }
    }
    let columns = [
        "workload",
        "nodes",
        "record of a local event",
        "record of a message event",
        "sync records, per event",
        "vector stamp per message",
        "longest",
        "event stamp per message",
        "longest",
    ];
    let table = json!({ "caption": "Bytes, mean:", "columns": columns, "rows": rows });
    println!("{:#}", json!({ "title": "Bytes", "text": TEXT, "tables": [table], "counts": counts }));
}

fn row(workload: Workload, nodes: usize, vector: &Bytes, event: &Bytes) -> Vec<Value> {
    vec![
        json!(workload.to_string()),
        json!(nodes),
        json!(vector.local.mean()),
        json!(vector.message.mean()),
        json!(vector.sync_per_event()),
        json!(vector.stamp.mean()),
        json!(vector.stamp.most),
        json!(event.stamp.mean()),
        json!(event.stamp.most),
    ]
}
