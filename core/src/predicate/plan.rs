//! Simultaneous events: what each node does so that one node recognises that conditions of several nodes hold at once.
//!
//! The rule is that of `stillpoint-analysis`: the node of a *component* sends with its messages on the *carriers* whether
//! its condition holds, and how many messages it has taken from its *release*. The recognising node fires if its own
//! condition holds, every component said that it holds, and it has sent as many messages on each release as were taken.
//! Spezialetti & Gupta evaluate an event where such messages arrive (section 3.3); the counts are an addition without which
//! programs with loops could go on unnoticed.
use super::{Carry, CarryDecodeError, Generation, SLOTS, SlotId};
use crate::{PortId, PortSet};

/// How many components a simultaneous event can have.
pub const MAX_COMPONENTS: usize = 4;

/// How many components one port can carry.
pub const MAX_CARRIED: usize = 2;

/// A node's part in recognising a simultaneous event. Its condition is the program in the slot.
///
/// # Wire form
/// 32 bytes: own component, release, needed components (one bit each), 0; the port of each component's release; a word each:
/// the ports that carry each component, the guarded ports, the ports that are wires. `ff` stands for no component or port.
///
/// # Example: a node that sends its component 1 on port 0 and is released by port 3
/// ```
/// use stillpoint_core::predicate::Plan;
/// use stillpoint_core::{PortId, PortSet};
/// let mut plan = Plan::NOTHING;
/// (plan.own, plan.release) = (Some(1), Some(PortId(3)));
/// plan.carriers[1] = PortSet::EMPTY.with(PortId(0));
/// assert_eq!(plan.to_bytes()[..8], [1, 3, 0, 0, 0xff, 0xff, 0xff, 0xff]);
/// assert_eq!(Plan::from_bytes(&plan.to_bytes()), Some(plan));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Plan {
    /// The component whose condition the node tells others.
    pub own: Option<u8>,
    /// Where messages come in that let the own condition change. `None` if it stays true for ever.
    pub release: Option<PortId>,
    /// The components that the recognising node has to hear of, one bit each; 0 on every other node.
    pub needs: u8,
    /// On the recognising node, where messages leave that let each component change. `None` if it stays true for ever.
    pub sent: [Option<PortId>; MAX_COMPONENTS],
    /// The outgoing ports whose messages say what is known of each component.
    pub carriers: [PortSet; MAX_COMPONENTS],
    /// Ports whose next session ends the event: the counts of both ends begin anew, or a node was reset.
    pub guarded: PortSet,
    /// Ports of a release that only pass through this node. Their sessions must have begun together, else the counts at the
    /// two ends of the release do not belong together.
    pub wires: PortSet,
}

const NONE: u8 = 0xff;

impl Plan {
    /// The length of the wire form.
    pub const LEN: usize = 32;

    /// A node that has nothing to do.
    pub const NOTHING: Self = Self {
        own: None,
        release: None,
        needs: 0,
        sent: [None; MAX_COMPONENTS],
        carriers: [PortSet::EMPTY; MAX_COMPONENTS],
        guarded: PortSet::EMPTY,
        wires: PortSet::EMPTY,
    };

    /// The wire form.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let port = |port: Option<PortId>| port.map_or(NONE, |port| port.0);
        let head = [self.own.unwrap_or(NONE), port(self.release), self.needs, 0];
        let words = self.carriers.into_iter().chain([self.guarded, self.wires]).flat_map(|ports| ports.0.to_le_bytes());
        let mut bytes = [0; Self::LEN];
        let all = head.into_iter().chain(self.sent.map(port)).chain(words);
        bytes.iter_mut().zip(all).for_each(|(byte, value)| *byte = value);
        bytes
    }

    /// Reads the wire form. `None` if it names more components than there can be.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let port = |byte: u8| (usize::from(byte) < crate::MAX_PORTS).then_some(PortId(byte));
        let (&[own, release, needs, reserved], rest) = bytes.split_first_chunk()?;
        let (&sent, rest) = rest.split_first_chunk::<MAX_COMPONENTS>()?;
        let mut plan = Self { needs, release: port(release), sent: sent.map(port), ..Self::NOTHING };
        let limit = MAX_COMPONENTS as u8;
        let is_known = (own < limit || own == NONE) && needs >> limit == 0 && reserved == 0;
        plan.own = (own != NONE).then_some(own);
        let sets = plan.carriers.iter_mut().chain([&mut plan.guarded, &mut plan.wires]);
        sets.zip(rest.as_chunks().0).for_each(|(set, word)| *set = PortSet(u32::from_le_bytes(*word)));
        let fits = ports_of(plan.carriers)
            .iter()
            .all(|port| plan.carriers.iter().filter(|set| set.contains(port)).count() <= MAX_CARRIED);
        (is_known && fits).then_some(plan)
    }

    /// The ports that carry anything.
    #[must_use]
    pub fn carrying(&self) -> PortSet {
        ports_of(self.carriers)
    }
}

fn ports_of(sets: [PortSet; MAX_COMPONENTS]) -> PortSet {
    PortSet(sets.into_iter().fold(0, |all, set| all | set.0))
}

/// What a message says of the components of a simultaneous event.
///
/// # Wire form
/// It follows the stamp, before the stages if there are any. The first byte is `80 + 10 * slot`, plus 8 if stages follow; then the
/// generation; then a byte with a bit for each component that is told of (bits 0 to 3) and a bit for each that holds (bits 4 to
/// 7); then a word for each component that is told of: the messages that its node had taken from its release.
///
/// | bytes | meaning |
/// |---|---|
/// | `90 07 22 05 00 00 00` | slot 1, generation 7: component 1 holds, 5 messages taken |
/// | `80 07 01 00 00 00 00` | slot 0, generation 7: component 0 does not hold |
///
/// # Example
/// ```
/// use stillpoint_core::predicate::{Generation, SlotId, Values};
/// let mut values = Values::new(SlotId::ALL[1], Generation(7));
/// values.tell(1, true, 5);
/// let mut bytes = [0; Values::MAX_BYTES];
/// let length = values.encode(false, &mut bytes).unwrap();
/// assert_eq!(bytes[..length], [0x90, 7, 0x22, 5, 0, 0, 0]);
/// assert_eq!(values.iter().collect::<Vec<_>>(), [(1, true, 5)]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Values {
    /// The slot of the event.
    pub slot: SlotId,
    /// Which use of the slot.
    pub generation: Generation,
    /// Bits 0 to 3: which components; bits 4 to 7: which of them hold.
    bits: u8,
    counts: [u32; MAX_CARRIED],
}

/// Set in the first byte of [`Values`], which no number of stages has.
const VALUES: u8 = 0x80;
const STAGES_FOLLOW: u8 = 0x08;
const SLOT_SHIFT: u8 = 4;
const HEAD: usize = 3;
/// The length of the values of one component.
const ONE: usize = HEAD + 4;

impl Values {
    /// The longest wire form.
    pub const MAX_BYTES: usize = HEAD + 4 * MAX_CARRIED;

    /// Nothing said yet.
    #[must_use]
    pub const fn new(slot: SlotId, generation: Generation) -> Self {
        Self { slot, generation, bits: 0, counts: [0; MAX_CARRIED] }
    }

    /// Says of a component whether it holds, and how many messages its node has taken. Components are told of in ascending
    /// order; what does not fit is left out.
    pub fn tell(&mut self, component: u8, holds: bool, count: u32) {
        let place = (self.bits & 0xf).count_ones() as usize;
        if let Some(word) = self.counts.get_mut(place) {
            *word = count;
            self.bits |= (1 | u8::from(holds) << 4) << (component & 3);
        }
    }

    /// Which component, whether it holds, and the messages taken; in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = (u8, bool, u32)> {
        let bits = self.bits;
        let told = (0..MAX_COMPONENTS as u8).filter(move |component| bits >> component & 1 != 0);
        told.zip(self.counts).map(move |(component, count)| (component, bits >> (component + 4) & 1 != 0, count))
    }

    /// How many bytes [`encode`](Self::encode) writes.
    #[must_use]
    pub const fn encoded_len(&self) -> usize {
        HEAD + 4 * (self.bits & 0xf).count_ones() as usize
    }

    /// Writes the wire form to the start of `out` and says how long it is; `None` if there is no room.
    pub fn encode(&self, stages_follow: bool, out: &mut [u8]) -> Option<usize> {
        let length = self.encoded_len();
        let (head, words) = out.get_mut(..length)?.split_first_chunk_mut()?;
        let follow = if stages_follow { STAGES_FOLLOW } else { 0 };
        *head = [VALUES | self.slot.number() << SLOT_SHIFT | follow, self.generation.0, self.bits];
        words.as_chunks_mut().0.iter_mut().zip(self.counts).for_each(|(word, count)| *word = count.to_le_bytes());
        Some(length)
    }

    /// The wire form of one component, without stages behind it.
    pub(crate) const fn to_bytes(self) -> [u8; ONE] {
        let [a, b, c, d] = self.counts[0].to_le_bytes();
        [VALUES | self.slot.number() << SLOT_SHIFT, self.generation.0, self.bits, a, b, c, d]
    }

    /// What a wire form of one component says, if it is of this event: which, whether it holds, how many messages were taken.
    pub(crate) fn one_from_bytes(bytes: &[u8; ONE], event: (SlotId, Generation)) -> Option<(u8, bool, u32)> {
        let &[first, generation, bits, a, b, c, d] = bytes;
        let is_it = first == VALUES | event.0.number() << SLOT_SHIFT && generation == event.1.0;
        let component = bits.trailing_zeros() as u8;
        (is_it && is_one(bits)).then_some((component, bits >> 4 != 0, u32::from_le_bytes([a, b, c, d])))
    }

    /// The length of the wire form of one component without stages, if `bytes` begin with one.
    pub(crate) fn one_len(bytes: &[u8]) -> Option<usize> {
        let &[first, _, bits, ..] = bytes.first_chunk::<ONE>()?;
        let is_known = first & !(3 << SLOT_SHIFT) == VALUES;
        (is_known && is_one(bits)).then_some(ONE)
    }

    /// Reads the wire form from the start of `bytes`; also says whether stages follow.
    fn decode(bytes: &[u8]) -> Result<(Self, bool), CarryDecodeError> {
        let &[first, generation, bits] = bytes.first_chunk().ok_or(CarryDecodeError::Truncated { needed: HEAD })?;
        let (told, hold) = (bits & 0xf, bits >> 4);
        let slot = SlotId::new(first >> SLOT_SHIFT & 7).filter(|_| first & 7 == 0);
        let slot = slot.filter(|_| told.count_ones() as usize <= MAX_CARRIED && hold & !told == 0);
        let slot = slot.ok_or(CarryDecodeError::BadValues(first))?;
        let mut values = Self { slot, generation: Generation(generation), bits, counts: [0; MAX_CARRIED] };
        let needed = values.encoded_len();
        let words = bytes.get(HEAD..needed).ok_or(CarryDecodeError::Truncated { needed })?;
        words.as_chunks().0.iter().zip(&mut values.counts).for_each(|(word, count)| *count = u32::from_le_bytes(*word));
        Ok((values, first & STAGES_FOLLOW != 0))
    }
}

/// Whether these bits of values tell of exactly one component.
const fn is_one(bits: u8) -> bool {
    let (told, hold) = (bits & 0xf, bits >> 4);
    told.is_power_of_two() && (hold == 0 || hold == told)
}

const _: () = assert!(SLOTS == 4, "two bits of the first byte are the slot");

/// All that follows the stamp of a message before its payload.
///
/// # Example: stages only
/// ```
/// use stillpoint_core::predicate::Load;
/// let load = Load::decode(&[0x01, 0x04, 0x07]).unwrap();
/// assert!(load.values.is_none() && load.length == 3);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// What it says of a simultaneous event.
    pub values: Option<Values>,
    /// The stages of causal predicates.
    pub carry: Carry,
    /// How long it is.
    pub length: usize,
}

impl Load {
    /// The longest.
    pub const MAX_BYTES: usize = Values::MAX_BYTES + Carry::MAX_BYTES;

    /// Reads it from the start of `bytes`.
    ///
    /// # Errors
    /// What is wrong with the bytes; see [`CarryDecodeError`].
    #[inline]
    pub fn decode(bytes: &[u8]) -> Result<Self, CarryDecodeError> {
        let (mut values, mut before) = (None, 0);
        if bytes.first().is_some_and(|first| first & VALUES != 0) {
            let (said, stages_follow) = Values::decode(bytes)?;
            (values, before) = (Some(said), said.encoded_len());
            if !stages_follow {
                return Ok(Self { values, carry: Carry::EMPTY, length: before });
            }
        }
        let (carry, length) = Carry::decode(bytes.get(before..).unwrap_or_default())?;
        Ok(Self { values, carry, length: before + length })
    }

    /// Writes it to the start of `out` and says how long it is. 0 if there is nothing to say, or no room.
    pub fn encode(values: Option<&Values>, carry: &Carry, out: &mut [u8]) -> usize {
        let before = values.and_then(|values| values.encode(!carry.is_empty(), out)).unwrap_or(0);
        if carry.is_empty() {
            return before;
        }
        out.get_mut(before..).and_then(|rest| carry.encode(rest).ok()).map_or(0, |length| before + length)
    }
}

#[cfg(any(test, on_target))]
mod tests {
    use super::*;
    use crate::predicate::Reached;
    use stillpoint_test::test;

    fn values() -> Values {
        let mut values = Values::new(SlotId::ALL[3], Generation(200));
        values.tell(1, true, 0x0102_0304);
        values.tell(3, false, u32::MAX);
        values
    }

    #[test]
    fn values_with_and_without_stages_survive_the_wire_and_every_shorter_prefix_is_refused() {
        let mut carry = Carry::EMPTY;
        for _ in 0..2 {
            let mut bytes = [0; Load::MAX_BYTES];
            let length = Load::encode(Some(&values()), &carry, &mut bytes);
            let load = Load::decode(&bytes).unwrap();
            assert_eq!(load, Load { values: Some(values()), carry, length });
            assert!((0..length).all(|short| Load::decode(&bytes[..short]).is_err()));
            carry.set(Reached::new(SlotId::ALL[0], Generation(7), 1).unwrap());
        }
    }

    #[test]
    fn malformed_values_are_refused() {
        assert_eq!(Load::decode(&[0x81, 0, 0]), Err(CarryDecodeError::BadValues(0x81)), "a reserved bit");
        assert_eq!(Load::decode(&[0xc0, 0, 0]), Err(CarryDecodeError::BadValues(0xc0)), "no such slot");
        assert_eq!(Load::decode(&[0x80, 0, 0x20]), Err(CarryDecodeError::BadValues(0x80)), "holds but is not told of");
        assert_eq!(Load::decode(&[0x80, 0, 0x07]), Err(CarryDecodeError::BadValues(0x80)), "more than fit");
    }

    #[test]
    fn a_plan_that_asks_too_much_is_refused() {
        let plan = |at: usize, value| {
            let mut bytes = Plan::NOTHING.to_bytes();
            bytes[at] = value;
            Plan::from_bytes(&bytes)
        };
        assert_eq!(plan(0, NONE), Some(Plan::NOTHING));
        assert!(plan(0, 3).is_some() && plan(0, 4).is_none(), "an own component");
        assert!(plan(2, 0xf).is_some() && plan(2, 0x10).is_none(), "needed components");
        let mut crowded = Plan::NOTHING;
        crowded.carriers = [PortSet::first(1); MAX_COMPONENTS];
        assert_eq!(Plan::from_bytes(&crowded.to_bytes()), None, "a port carries two components at most");
    }
}
