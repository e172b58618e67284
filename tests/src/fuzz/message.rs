//! What arrives with messages: stamps, carries, halt markers, hellos.
use super::Bytes;
use stillpoint_core::predicate::{Carry, Generation, Reached, SlotId};
use stillpoint_core::{
    Direction, EventNumber, HaltId, HaltMarker, HaltOrder, Hello, Input, Node, NodeId, PortId, StampKind,
    message_stamp_len,
};

const PORT: PortId = PortId(0);

/// Messages with arbitrary stamps reach a node of a system of 1 + 1 to 32 nodes.
pub fn stamp(data: &[u8]) {
    let mut bytes = Bytes(data);
    match bytes.below(6) {
        0 => receive_all::<2>(bytes),
        1 => receive_all::<4>(bytes),
        2 => receive_all::<5>(bytes),
        3 => receive_all::<6>(bytes),
        4 => receive_all::<9>(bytes),
        _ => receive_all::<32>(bytes),
    }
}

fn receive_all<const N: usize>(mut bytes: Bytes<'_>) {
    let mut node = Node::<N, 1>::new(NodeId(0), StampKind::Vector).unwrap();
    node.connect(PORT, Direction::In, NodeId(1)).unwrap();
    let _ = node.step(Input::Start { known: EventNumber(bytes.word()) }).unwrap();
    while !bytes.is_empty() {
        let message = bytes.piece(160);
        let before = node.clone();
        match node.step(Input::Receive { port: PORT, stamp: message }) {
            Err(_) => assert_eq!(node, before, "a refused message changed the node"),
            Ok(effects) => {
                assert_eq!(Ok(usize::from(effects.stamp)), message_stamp_len::<N>(message));
                assert_eq!(node.number(), before.number().next(), "a receive is one event");
                for (after, before) in node.clock().entries().iter().zip(before.clock().entries()) {
                    let (after, before) = (EventNumber(*after), EventNumber(*before));
                    assert!(after == before || after.is_newer_than(before), "the clock went back");
                }
                assert_eq!(node.count(PORT), before.count(PORT).map(|count| count.wrapping_add(1)));
            }
        }
    }
}

/// A few messages of a real sender, in the form in which [`stamp`] takes them.
pub fn stamp_seeds() -> Vec<Vec<u8>> {
    fn sent<const N: usize>(choice: u8, kind: StampKind) -> Vec<u8> {
        let mut sender = Node::<N, 1>::new(NodeId(1), kind).unwrap();
        sender.connect(PORT, Direction::Out, NodeId(0)).unwrap();
        let _ = sender.step(Input::start()).unwrap();
        let mut seed = vec![choice, 0, 0, 0, 0];
        for burst in [1, 2, 300] {
            let mut stamp = vec![0; 160];
            let effects = sender.step(Input::Send { port: PORT, stamp: &mut stamp }).unwrap();
            seed.push(effects.stamp);
            seed.extend(&stamp[..effects.stamp.into()]);
            for _ in 0..burst {
                let _ = sender.step(Input::Event(stillpoint_core::Event::local(1))).unwrap();
            }
        }
        seed
    }
    let mut carrying = sent::<4>(1, StampKind::Vector);
    carrying.extend([5, 0x62, 1, 1, 4, 7]);
    vec![
        sent::<2>(0, StampKind::Event),
        sent::<4>(1, StampKind::Vector),
        sent::<5>(2, StampKind::Vector),
        sent::<6>(3, StampKind::Vector),
        sent::<9>(4, StampKind::Event),
        sent::<32>(5, StampKind::Vector),
        carrying,
    ]
}

/// A halt marker, read in systems of different sizes.
pub fn halt_marker(data: &[u8]) {
    fn read<const N: usize>(data: &[u8]) -> bool {
        let Ok(marker) = HaltMarker::<N>::read(data) else { return false };
        let mut again = [0; 40];
        assert_eq!(marker.write(&mut again), Ok(data.len()));
        assert_eq!(again[..data.len()], *data, "a marker has one wire form");
        if let Some(short) = data.len().checked_sub(1) {
            assert!(marker.write(&mut again[..short]).is_err());
        }
        true
    }
    let accepted = [read::<1>(data), read::<4>(data), read::<32>(data)];
    assert!(accepted.is_sorted(), "a larger system has all nodes of a smaller one");
}

/// Markers with no, one and all names.
pub fn halt_marker_seeds() -> Vec<Vec<u8>> {
    let orders: [&[u8]; 4] = [&[], &[1], &[3, 1, 0, 2], &[31, 0]];
    let encode = |names: &[u8]| {
        let order = names.iter().copied().map(NodeId).fold(HaltOrder::<32>::new(), HaltOrder::then);
        let mut bytes = vec![0; 40];
        let length = HaltMarker { id: HaltId(3), position: 41, order }.write(&mut bytes).unwrap();
        bytes.truncate(length);
        bytes
    };
    orders.into_iter().map(encode).collect()
}

/// A hello, and what it does to a node that hears it.
pub fn hello(data: &[u8]) {
    let Some((bytes, _)) = data.split_first_chunk() else { return };
    let Some(hello) = Hello::from_bytes(*bytes) else {
        assert!(bytes[Hello::LEN - 1] > 1, "only the flag can be wrong");
        return;
    };
    assert_eq!(hello.to_bytes(), *bytes);
    for starts in [false, true] {
        let mut node = Node::<2, 2>::new(NodeId(0), StampKind::Vector).unwrap();
        node.connect(PORT, Direction::Out, NodeId(1)).unwrap();
        if starts {
            let _ = node.step(Input::start()).unwrap();
        }
        let before = node.clone();
        assert!(node.step(Input::Hello { port: PortId(1), hello, resumed: false }).is_err());
        assert_eq!(node, before, "a port that is not connected heard nothing");
        let _ = node.step(Input::Hello { port: PORT, hello, resumed: false }).unwrap();
        assert!(!node.last_halt().is_newer_than(hello.last_halt) || node.last_halt() == HaltId(0));
        assert!(
            !hello.of_you.is_newer_than(node.number()) || far(hello.of_you),
            "the node fell behind what is known of it"
        );
    }
}

/// Half the circle of event numbers and more ahead: nothing above it is in reach.
fn far(number: EventNumber) -> bool {
    number.next_epoch().0 >= 1 << 31
}

/// A hello of a node that runs and of one that is halted.
pub fn hello_seeds() -> Vec<Vec<u8>> {
    let running = Hello { number: EventNumber(9), of_you: EventNumber(7), last_halt: HaltId(0), halted: false };
    let halted = Hello { number: EventNumber(0x0200_0000), last_halt: HaltId(3), halted: true, ..running };
    [running, halted].map(|hello| hello.to_bytes().to_vec()).into()
}

/// The stages that travel on messages.
pub fn carry(data: &[u8]) {
    if let Some((pair, _)) = data.split_first_chunk()
        && let Ok(reached) = Reached::from_bytes(*pair)
    {
        assert_eq!(reached.to_bytes(), *pair);
    }
    let Ok((carry, length)) = Carry::decode(data) else { return };
    let mut again = [0; Carry::MAX_BYTES];
    assert_eq!((carry.encode(&mut again), carry.encoded_len()), (Ok(length), length));
    assert_eq!(again[..length], data[..length], "a carry has one wire form");
    assert!(Carry::decode(&data[..length - 1]).is_err());
    assert!(carry.iter().map(Reached::slot).is_sorted());
}

/// No, one and all slots.
pub fn carry_seeds() -> Vec<Vec<u8>> {
    let carrying = |slots: &[SlotId]| {
        let mut carry = Carry::EMPTY;
        slots.iter().for_each(|slot| carry.set(Reached::new(*slot, Generation(250), 1 + slot.number()).unwrap()));
        let mut bytes = vec![0; Carry::MAX_BYTES];
        let length = carry.encode(&mut bytes).unwrap();
        bytes.truncate(length);
        bytes
    };
    vec![carrying(&[]), carrying(&SlotId::ALL[2..3]), carrying(&SlotId::ALL)]
}
