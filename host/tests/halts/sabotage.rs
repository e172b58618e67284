//! Firmware that does its work wrong gets no certificate, and the error names the channel.
//!
//! `cargo xtask test qemu` builds the firmware, says where it is, and runs this.
use crate::boards::{LIMIT, two_boards_with};
use anyhow::Context as _;
use std::time::{Duration, Instant};
use stillpoint::{CutError, HaltProof, NodeAddress, System, SystemError};
use stillpoint_core::{Command, Violation};

/// Every channel of the firmware `sabotaged` holds messages 4 and 5 when nothing moves any more.
const TAKEN: i32 = 3;
const SENT: u32 = 5;
/// The initiator: the node that does wrong, on board A.
const LEFT0: NodeAddress = NodeAddress { board: 0, core: 0 };
const MAILBOX: &str = "channel left0.`numbers out` -> left1.`numbers in`";
const LINK: &str = "channel left0.`far out` -> right0.`far in`";

/// Runs the firmware with these words on board A, and halts it when nothing moves any more.
fn halt_with(words: &[&str], limit: Duration) -> anyhow::Result<Result<HaltProof, SystemError>> {
    let (_machines, mut system) = two_boards_with("sabotaged", [words, &[]])?;
    wait_until_idle(&mut system).with_context(|| format!("with {words:?}"))?;
    Ok(system.halt(LEFT0, limit))
}

/// Waits until every receiver has taken what it takes, and every sender sent what it sends.
fn wait_until_idle(system: &mut System) -> anyhow::Result<()> {
    let until = Instant::now() + LIMIT;
    loop {
        for at in system.addresses() {
            system.command(at, &Command::Report)?;
        }
        let nodes = system.nodes()?;
        let all_taken = nodes.iter().all(|node| node.watches.iter().all(|(_, taken)| *taken == TAKEN));
        let is_sent = |port: &stillpoint::Port| port.count >= SENT;
        let out = |port: &&stillpoint::Port| port.direction == stillpoint_core::Direction::Out;
        if all_taken && nodes.iter().all(|node| node.ports.iter().filter(out).all(is_sent)) {
            return Ok(());
        }
        anyhow::ensure!(Instant::now() < until, "the firmware does not come to rest within {LIMIT:?}: {nodes:#?}");
    }
}

/// What the certificate of a halt with this sabotage says, in the mailbox and on the link.
fn found(sabotage: &str, limit: Duration) -> anyhow::Result<[(CutError, String); 2]> {
    let word = format!("sabotage={sabotage}");
    let in_mailbox = refusal(&[&word], limit)?;
    let on_link = refusal(&[&word, "at=far"], limit)?;
    assert!(in_mailbox.1.contains(MAILBOX), "{sabotage}: {}", in_mailbox.1);
    assert!(on_link.1.contains(LINK), "{sabotage}: {}", on_link.1);
    Ok([in_mailbox, on_link])
}

fn refusal(words: &[&str], limit: Duration) -> anyhow::Result<(CutError, String)> {
    match halt_with(words, limit)? {
        Err(SystemError::Cut(refused)) => {
            println!("{words:?}: {refused}");
            let sentence = refused.to_string();
            Ok((refused.why, sentence))
        }
        other => anyhow::bail!("with {words:?} there should be no certificate, but: {other:#?}"),
    }
}

#[test]
fn without_sabotage_the_same_firmware_has_a_certificate() -> anyhow::Result<()> {
    let proof = halt_with(&[], LIMIT)??;
    assert_eq!(proof.channels.len(), 6, "two mailboxes on each board and the link both ways");
    for channel in &proof.channels {
        let numbers: Vec<u32> = channel.in_flight.iter().map(|message| message.number).collect();
        assert_eq!(numbers, [4, 5], "{}", channel.channel);
    }
    Ok(())
}

#[test]
fn a_message_that_was_counted_and_never_sent_is_missed() -> anyhow::Result<()> {
    for (error, sentence) in found("lost-message", LIMIT)? {
        assert!(matches!(error, CutError::Violated(Violation::LostMessage { message: 5, .. })), "{sentence}");
    }
    Ok(())
}

#[test]
fn a_message_sent_after_the_stop_is_found_behind_the_marker() -> anyhow::Result<()> {
    for (error, sentence) in found("send-after-stop", LIMIT)? {
        assert!(matches!(error, CutError::Violated(Violation::AfterMarker { message: 6, .. })), "{sentence}");
    }
    Ok(())
}

/// Nobody can see that a marker will never come, so this one takes as long as it is waited for.
#[test]
fn a_channel_without_a_marker_is_not_closed() -> anyhow::Result<()> {
    for (error, sentence) in found("missing-marker", Duration::from_secs(5))? {
        assert!(matches!(error, CutError::Violated(Violation::MissingMarker(_))), "{sentence}");
    }
    Ok(())
}

#[test]
fn a_message_put_in_twice_is_seen_to_be_there_twice() -> anyhow::Result<()> {
    for (error, sentence) in found("duplicate", LIMIT)? {
        assert!(matches!(error, CutError::Violated(Violation::DuplicateMessage { message: 6, .. })), "{sentence}");
    }
    Ok(())
}

/// What a cache or a DMA fault does to a mailbox: the counts add up, and what lies in the slots is not what was put there.
#[test]
fn a_mailbox_that_swaps_repeats_or_loses_messages_is_found_though_its_counts_add_up() -> anyhow::Result<()> {
    for (sabotage, displaced) in [("swap", 4), ("repeat", 5), ("lose", 5)] {
        let (error, sentence) = refusal(&[&format!("sabotage={sabotage}")], LIMIT)?;
        assert!(sentence.contains(MAILBOX), "{sabotage}: {sentence}");
        let is_found =
            matches!(error, CutError::Violated(Violation::OutOfOrder { message, .. }) if message == displaced);
        assert!(is_found, "{sabotage}: {sentence}");
    }
    Ok(())
}

#[test]
fn a_wrong_total_is_found_out_by_the_rings() -> anyhow::Result<()> {
    for (error, sentence) in found("wrong-count", LIMIT)? {
        assert!(matches!(error, CutError::CountDiffers { said: 6, found: 5, .. }), "{sentence}");
    }
    Ok(())
}
