//! Agents that do their work wrong on purpose, to see that the host's certificate finds it out: for tests.
//!
//! Without the feature `sabotage` every question here is answered "no" at compile time and nothing of it is in the
//! firmware. With it one port of one core can be chosen, at which one thing goes wrong.
#[cfg(feature = "sabotage")]
use crate::channel::Ring;
use crate::platform::CoreId;
use stillpoint_core::PortId;

/// What an agent can do wrong at a port, each at its outgoing end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Sabotage {
    /// A message is counted, stamped and logged, and never put into the channel.
    LostMessage = 1,
    /// A message goes into the channel behind the marker.
    SendAfterStop,
    /// The marker is taken for delivered and was never sent.
    MissingMarker,
    /// A message is put into the channel twice.
    Duplicate,
    /// The control block counts one message more than there was.
    WrongCount,
    /// The last two messages lie in each other's slots, as if their writes had changed places.
    Swap,
    /// The last message's slot holds the one before it.
    Repeat,
    /// The last message's write never reached its slot.
    Lose,
}

impl Sabotage {
    /// The sabotage with this name on a command line.
    #[must_use]
    pub fn by_name(name: &[u8]) -> Option<Self> {
        Some(match name {
            b"lost-message" => Self::LostMessage,
            b"send-after-stop" => Self::SendAfterStop,
            b"missing-marker" => Self::MissingMarker,
            b"duplicate" => Self::Duplicate,
            b"wrong-count" => Self::WrongCount,
            b"swap" => Self::Swap,
            b"repeat" => Self::Repeat,
            b"lose" => Self::Lose,
            _ => return None,
        })
    }
}

#[cfg(feature = "sabotage")]
mod armed {
    use super::{CoreId, PortId, Ring, Sabotage};
    use core::cell::RefCell;
    use critical_section::Mutex;

    struct Chosen {
        sabotage: Sabotage,
        core: CoreId,
        port: PortId,
        /// How many occasions pass before it happens, once; what happens at every halt does not count them.
        after: u32,
        ring: Ring,
    }

    static CHOSEN: Mutex<RefCell<Option<Chosen>>> = Mutex::new(RefCell::new(None));

    pub(crate) fn choose(sabotage: Sabotage, core: CoreId, port: PortId, after: u32, ring: Ring) {
        critical_section::with(|key| CHOSEN.replace(key, Some(Chosen { sabotage, core, port, after, ring })));
    }

    fn with<R>(sabotage: Sabotage, core: CoreId, port: PortId, act: impl FnOnce(&mut Chosen) -> R) -> Option<R> {
        critical_section::with(|key| {
            let mut chosen = CHOSEN.borrow_ref_mut(key);
            let chosen = chosen.as_mut();
            chosen.filter(|it| it.sabotage == sabotage && it.core == core && it.port == port).map(act)
        })
    }

    /// Whether this is the place; asked at every halt or report.
    pub(crate) fn always(sabotage: Sabotage, core: CoreId, port: PortId) -> bool {
        with(sabotage, core, port, |_| ()).is_some()
    }

    /// Whether this is the place and the time; asked for every message.
    pub(crate) fn once(sabotage: Sabotage, core: CoreId, port: PortId) -> bool {
        let strikes = with(sabotage, core, port, |chosen| {
            chosen.after = chosen.after.wrapping_sub(1);
            chosen.after == u32::MAX
        });
        strikes.unwrap_or(false)
    }

    /// What is done to a channel.
    type Spoil = fn(&Ring);

    /// Spoils the channel behind the message that was put in last, if that is the sabotage and now is the time.
    pub(crate) fn after_publish(core: CoreId, port: PortId) {
        let ways: [(Sabotage, Spoil); 4] = [
            (Sabotage::Duplicate, Ring::publish_again),
            (Sabotage::Swap, Ring::swap_last),
            (Sabotage::Repeat, Ring::repeat_last),
            (Sabotage::Lose, Ring::lose_last),
        ];
        for (sabotage, spoil) in ways {
            if once(sabotage, core, port) {
                with(sabotage, core, port, |chosen| spoil(&chosen.ring));
            }
        }
    }

    /// Puts another message into the channel behind the marker of this port, if that is the sabotage.
    pub(crate) fn send_after_stop(core: CoreId, port: PortId) {
        with(Sabotage::SendAfterStop, core, port, |chosen| {
            if let Some(slot) = chosen.ring.free_slot() {
                slot.fill(0x5A);
                chosen.ring.publish(0, 8);
            }
        });
    }
}

#[cfg(feature = "sabotage")]
pub(crate) use armed::{after_publish, always, choose, once, send_after_stop};

#[cfg(not(feature = "sabotage"))]
mod unarmed {
    use super::{CoreId, PortId, Sabotage};

    #[inline(always)]
    pub(crate) const fn always(_: Sabotage, _: CoreId, _: PortId) -> bool {
        false
    }
    #[inline(always)]
    pub(crate) const fn send_after_stop(_: CoreId, _: PortId) {}
}

#[cfg(not(feature = "sabotage"))]
pub(crate) use unarmed::{always, send_after_stop};
