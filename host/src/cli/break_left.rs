//! Breakpoints that nobody needs any more: left by a killed command, or fired in a halt that ends.
use super::break_store::{Kept, Store};
use super::{CliError, Context};
use stillpoint::Node;
use stillpoint::breakpoint::{self, Agreement};
use stillpoint_core::predicate::SlotId;

/// Removes the breakpoints that a killed command left on the boards, and says so: those that only that command had use for,
/// and those that it had not finished arming.
pub fn remove_left(context: &mut Context) -> Result<(), CliError> {
    if context.is_dump() {
        return Ok(());
    }
    let mut store = Store::of(context)?;
    if !store.kept().iter().any(Kept::is_left) {
        return Ok(());
    }
    let out = context.out();
    let system = context.system()?;
    let nodes = breakpoint::survey(system)?;
    let is_useless = |kept: &&Kept| {
        let is_half = || breakpoint::is_half_armed(&kept.armed, &nodes);
        kept.is_left() && (kept.only_for.is_some() || is_half())
    };
    let left: Vec<Kept> = store.kept().iter().filter(is_useless).cloned().collect();
    for Kept { armed, only_for, .. } in &left {
        let Some(slot) = SlotId::new(armed.slot) else { continue };
        if breakpoint::agreement(armed, &nodes) != Agreement::Gone {
            breakpoint::remove(system, slot)?;
            let verb = only_for.as_deref().unwrap_or("break");
            out.say(
                "removed",
                format!("breakpoint {}, left by a `{verb}` that was killed: {}", armed.slot, armed.text),
            );
        }
        store.forget(|other| other.slot == armed.slot)?;
    }
    Ok(())
}

/// Whether a breakpoint that has fired is one that a command of this process has yet to look at.
pub fn is_looked_after(store: &Store, slot: SlotId) -> bool {
    store.in_slot(slot).is_some_and(|kept| kept.only_for.is_some() && !kept.is_left())
}

/// Removes the breakpoints that have fired, as their halt is about to end. Returns their numbers.
pub fn remove_fired(context: &mut Context, nodes: &[Node]) -> Result<Vec<u8>, CliError> {
    let mut store = Store::of(context)?;
    let fired = breakpoint::remove_fired(context.system()?, nodes, |slot| !is_looked_after(&store, slot))?;
    let fired: Vec<u8> = fired.into_iter().map(SlotId::number).collect();
    store.forget(|armed| fired.contains(&armed.slot))?;
    Ok(fired)
}
