//! The checks of a certificate, each with its figures.
use super::{ChannelLine, Check};
use crate::names::Names;
use crate::{Cut, CutError};
use stillpoint_core::{NodeId, Violation};

/// Every check. `lost` says of which channels only one end is there.
pub(super) fn all(cut: &Cut, channels: &[ChannelLine], lost: Vec<String>, names: &Names) -> Vec<Check> {
    let size = cut.nodes.first().map_or(0, |node| node.nodes);
    let parked = cut.nodes.iter().filter(|node| node.is_parked()).count();
    let (of_nodes, of_clocks) = match cut.check_sized(&[]) {
        Ok(_) => (None, None),
        Err(CutError::Violated(violation @ Violation::EffectWithoutCause { .. })) => {
            (None, Some(violation.to_string()))
        }
        Err(CutError::Violated(violation)) => (Some(with_name(&violation, names)), None),
        Err(error) => (Some(error.to_string()), None),
    };
    let wrong = channels.iter().filter_map(|line| line.wrong.as_ref().map(|wrong| format!("{}: {wrong}", line.name)));
    let (of_markers, of_counts): (Vec<String>, Vec<String>) = wrong.partition(|wrong| wrong.contains("halt marker"));
    let sum = |of: fn(&ChannelLine) -> u32| channels.iter().map(|line| u64::from(of(line))).sum::<u64>();
    let in_flight: usize = channels.iter().map(|line| line.in_flight.len()).sum();
    let lost_by_resets = match sum(|line| line.lost_by_reset) {
        0 => String::new(),
        lost => format!("; {lost} lost by resets before"),
    };
    let (sent, received) = (sum(|line| line.sent), sum(|line| line.received));
    let markers = channels.iter().filter(|line| line.marker.is_some()).count();
    let checked = of_nodes.is_none();
    let check = |what, figures, checked, wrong| Check { what, figures, checked, wrong };
    vec![
        check(
            "every node is parked in the same halt",
            format!("{parked} of {size}"),
            true,
            of_nodes.into_iter().collect(),
        ),
        check(
            "every channel has both its ends",
            format!("{} of {}", channels.len(), channels.len() + lost.len()),
            true,
            lost,
        ),
        check(
            "sent = received + in flight, on every channel",
            format!("{sent} = {received} + {in_flight}{lost_by_resets}"),
            checked,
            of_counts,
        ),
        check(
            "one marker closes every channel, and nothing follows it",
            format!("{markers} of {}", channels.len()),
            checked,
            of_markers,
        ),
        check(
            "no event is known before it happened",
            format!("{} clocks of {size} entries", cut.nodes.len()),
            checked,
            of_clocks.into_iter().collect(),
        ),
    ]
}

/// A violation with the name of the node it is about.
fn with_name(violation: &Violation, names: &Names) -> String {
    match violation {
        Violation::Missing(node)
        | Violation::UnexpectedReport(node)
        | Violation::NotHalted(node)
        | Violation::OtherHalt { node, .. }
        | Violation::BrokenOrder(node) => {
            let text = violation.to_string();
            let number = format!("node {}", node.0);
            text.replacen(&number, &names.node(*node), 1)
        }
        other => other.to_string(),
    }
}

/// Why a channel could not be looked at.
pub(super) fn no_channel(error: &CutError, names: &Names) -> String {
    match error {
        CutError::NoPeer { node, port, peer } => {
            let (node, peer) = (NodeId(*node), names.node(NodeId(*peer)));
            format!(
                "{}:{} has no other end at {peer}: is its board missing?",
                names.node(node),
                names.port(node, *port)
            )
        }
        CutError::Sessions(channel) => format!("{}: its two ends are not in the same session", names.channel(channel)),
        other => other.to_string(),
    }
}
