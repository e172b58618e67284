//! Real firmware on two emulated boards with two cores each, through probe-rs.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::boards::{LIMIT, firmware, two_boards, wait_until};
use anyhow::Context as _;
use stillpoint::{Firmware, Node, NodeAddress, System};
use stillpoint_core::Direction;

/// Waits until every node has handled `more` messages than `before`: the token goes round. Returns the new counts.
fn wait_for_traffic(system: &mut System, before: &[u32], more: u32) -> anyhow::Result<Vec<u32>> {
    let counts = |nodes: &[Node]| -> Vec<u32> {
        nodes.iter().map(|node| node.ports.iter().map(|port| port.count).sum()).collect()
    };
    let nodes = wait_until(system, "the token goes round", |nodes| {
        counts(nodes).iter().zip(before).all(|(now, before)| now - before >= more)
    })?;
    Ok(counts(&nodes))
}

/// How many halts: each takes a few milliseconds on an idle machine.
const CYCLES: usize = 200;

/// Halts from every node in turn, each certified from the raw rings; then the token goes on.
#[test]
fn four_nodes_on_two_boards_halt_consistently_from_any_node_and_resume() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    let mut handled = wait_for_traffic(&mut system, &[0; 4], 4)?;
    let addresses = system.addresses();
    for cycle in 0..CYCLES {
        // A fixed but irregular choice of who initiates and who releases.
        let choose = |salt: usize| addresses[(cycle * 7 + cycle / 5 + salt) % addresses.len()];
        let initiator: NodeAddress = choose(0);
        let proof = system.halt(initiator, LIMIT).with_context(|| format!("halt {cycle} from {initiator:?}"))?;
        let in_flight: usize = proof.channels.iter().map(|channel| channel.in_flight.len()).sum();
        assert!(in_flight <= 1, "there is one token, and {in_flight} messages are in flight");
        assert_eq!(proof.channels.len(), 6, "two mailboxes and one way of the serial link on each board");
        assert!(proof.orders.iter().all(|order| order[0] == proof.orders[0][0]), "one initiator: {:?}", proof.orders);
        system.release(choose(1), proof.halt, LIMIT).with_context(|| format!("release {cycle}"))?;
        if cycle % 10 == 9 {
            handled = wait_for_traffic(&mut system, &handled, 4).with_context(|| format!("after release {cycle}"))?;
        }
    }
    for node in system.nodes()? {
        assert_eq!(node.refused, 0, "node {} refused a step", node.id.0);
    }
    Ok(())
}

/// What the control blocks say is what the firmware's source says.
#[test]
fn nodes_ports_and_watches_are_known_by_their_names() -> anyhow::Result<()> {
    let (_machines, mut system) = two_boards("token_ring")?;
    let firmware = Firmware::read(&firmware("token_ring")?)?;
    let nodes = system.nodes()?;
    let names: Vec<_> = nodes.iter().filter_map(|node| firmware.name("node", node.name)).collect();
    assert_eq!(names, ["left0", "left1", "right0", "right1"]);
    for node in nodes {
        let names: Vec<_> = node.ports.iter().map(|port| firmware.name("port", port.name)).collect();
        assert!(names.iter().all(Option::is_some), "node {} has ports {names:?}", node.id.0);
        assert!(node.ports.iter().any(|port| port.direction == Direction::Out));
    }
    Ok(())
}
