//! What a probe finds in a control block: the header, and commands.
use super::Bytes;
use super::script::any_command;
use stillpoint_core::control::{
    CommandError, CommandWords, ControlBlock, ControlLayout, MAGIC, VERSION, command_checksum,
};
use stillpoint_core::{Input, Node, NodeId, StampKind};

/// Words found in a command block: as they are, and with a checksum that fits.
pub fn command(data: &[u8]) {
    let mut bytes = Bytes(data);
    if bytes.flag() {
        let command = any_command(&mut bytes);
        if let Ok(encoded) = CommandWords::encode(&command, bytes.word()) {
            assert_eq!(encoded.decode(), Ok(command), "a command comes back as it went");
        }
        return;
    }
    let words: [u32; CommandWords::LEN] = std::array::from_fn(|_| bytes.word());
    let (checksum, sequence) = (bytes.word(), bytes.word());
    let right = command_checksum(&words, sequence);
    let found = CommandWords::from_block(words, checksum, sequence);
    assert!(checksum == right || found.decode().is_err());
    for bit in 0..32 {
        let nearly = CommandWords::from_block(words, right ^ 1 << bit, sequence);
        assert_eq!(nearly.decode(), Err(CommandError::Checksum));
    }
    let sealed = CommandWords::from_block(words, right, sequence);
    let Ok(command) = sealed.decode() else { return };
    // Words that say the same in another way are allowed; what they say is not lost.
    let encoded = CommandWords::encode(&command, sequence).expect("what was decoded can be encoded");
    assert_eq!(encoded.decode(), Ok(command));
    let mut node = Node::<2, 2>::new(NodeId(0), StampKind::Event).unwrap();
    let _ = node.step(Input::start()).unwrap();
    let before = node.clone();
    if node.step(Input::Command(command)).is_err() {
        assert_eq!(node, before, "a refused command changed the node");
    }
}

/// A command of each kind, as words and as a script.
pub fn command_seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for kind in 0..9 {
        let script = [kind, 1, 1, 0, 11, 0x22, 0x61, 3, 0, 1, 2, 0, 0x12, 2, 0x60, 10];
        let encoded = CommandWords::encode(&any_command(&mut Bytes(&script)), 42).unwrap();
        let (words, checksum, sequence) = encoded.as_block();
        let mut seed = vec![0];
        seed.extend(words.iter().chain([&checksum, &sequence]).flat_map(|word| word.to_le_bytes()));
        seeds.push(seed);
        seeds.push([&[1], &script[..]].concat());
    }
    seeds
}

/// The first four words of a block: as they are, and with magic and version put right.
pub fn control_header(data: &[u8]) {
    let mut bytes = Bytes(data);
    let words: [u32; 4] = std::array::from_fn(|_| bytes.word());
    let [_, _, size, shape] = words;
    for header in [words, [MAGIC, VERSION, size, shape]] {
        let Ok(layout) = ControlLayout::read(header) else { continue };
        assert_eq!((header[0], header[1]), (MAGIC, VERSION));
        assert!((1..=32).contains(&layout.nodes) && layout.ports <= 32 && usize::from(layout.node.0) < layout.nodes);
        let places = [layout.clock(), layout.port(0), layout.fault(), layout.command(), layout.answer(), layout.size];
        assert!(places.is_sorted() && places.iter().all(|place| place % 4 == 0));
        assert_eq!(layout.port(layout.ports), layout.fault());
    }
}

/// Headers of real blocks.
pub fn header_seeds() -> Vec<Vec<u8>> {
    let small = ControlBlock::<1, 1>::new(NodeId(0), StampKind::Event).header();
    let usual = ControlBlock::<4, 6>::new(NodeId(2), StampKind::Vector).header();
    let large = ControlBlock::<32, 32>::new(NodeId(31), StampKind::Vector).header();
    [small, usual, large].map(|header| header.iter().flat_map(|word| word.to_le_bytes()).collect()).into()
}
