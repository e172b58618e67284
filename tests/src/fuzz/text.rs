//! The text log: arbitrary bytes through the reader, and arbitrary clocks through placer and reader.
use super::Bytes;
use stillpoint_core::log::{TextPlacer, TextReader};

/// The first byte chooses: the rest is a text log, or it is what a node that logs knows.
pub fn text(data: &[u8]) {
    match data.split_first() {
        Some((choice, rest)) if choice & 1 == 0 => read(rest),
        Some((_, rest)) => write_and_read(Bytes(rest)),
        None => {}
    }
}

fn read(mut rest: &[u8]) {
    let mut reader = TextReader::new();
    loop {
        let before = reader.clone();
        match reader.next(rest) {
            Ok(Some((item, used))) => {
                assert!((2..=rest.len()).contains(&used));
                let zeros = item.line.iter().filter(|byte| **byte == 0).count();
                assert!(zeros == 1 && item.line.ends_with(&[0]), "a line ends with its only zero");
                assert_eq!(before.clone().next(&rest[..used - 1]), Ok(None), "a shorter item is not all there");
                rest = &rest[used..];
            }
            Ok(None) | Err(_) => {
                assert_eq!(reader, before, "what could not be read changed the reader");
                return;
            }
        }
    }
}

/// Lines of a node, some of which never reach the ring.
fn write_and_read(mut bytes: Bytes<'_>) {
    let (mut placer, mut reader, mut clock) = (TextPlacer::<3>::new(), TextReader::new(), [0u32; 3]);
    let mut whole = true;
    while !bytes.is_empty() {
        let (entry, choice) = (usize::from(bytes.below(3)), bytes.below(8));
        clock[entry] = clock[entry].wrapping_add(bytes.word() >> (4 * choice));
        let mut item = Vec::new();
        placer.place(whole || choice == 1, &clock, |byte| item.push(byte));
        whole = choice == 0;
        if whole {
            // It found no room: the next one must say everything.
            continue;
        }
        item.extend([0x41, 0]);
        let (read, used) = reader.next(&item).expect("what was written is a text log").expect("and all of it");
        assert_eq!((read.clock.map(|clock| [clock[0], clock[1], clock[2]]), used), (Some(clock), item.len()));
    }
}

pub fn seeds() -> Vec<Vec<u8>> {
    let log = [0, 3, 7, 5, 0xAC, 2, 1, 0x41, 0, 2, 1, 1, 0x42, 0x43, 0, 1, 9, 3, 1, 7, 0x44, 0, 0, 0, 0x45, 0].to_vec();
    let lines = (0..96u8).map(|byte| byte.wrapping_mul(37) | 1).collect();
    vec![log, lines]
}
