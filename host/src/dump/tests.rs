//! Dumps that were damaged, cut short or made up.
use super::frame::Body;
use super::writer::Writer;
use super::*;
use proptest::prelude::*;
use std::path::Path;

fn header() -> Header {
    let board = |name: &str| SavedBoard {
        name: name.into(),
        firmware: 0,
        stopped: vec![false; 2],
        memory: vec![(0x2000_0000, 3 * PIECE as u32), (0x3000_0000, 100)],
    };
    Header {
        tool: "stillpoint 0.0.0".into(),
        system: "stillpoint.toml".into(),
        halted: true,
        firmware: vec![SavedFirmware {
            identity: crate::firmware::identity(&elf()),
            inside: true,
            ..Default::default()
        }],
        boards: vec![board("A"), board("B")],
        ..Default::default()
    }
}

fn elf() -> Vec<u8> {
    (0..PIECE as u32 + 1000).map(|number| (number / 7) as u8).collect()
}

fn bodies() -> Vec<Body> {
    let memory = |board: u8, address: u32, bytes: Vec<u8>| Body::Memory { board, address, bytes };
    let noise = |seed: u32| (0..PIECE as u32).map(|number| (number.wrapping_mul(seed) >> 16) as u8).collect();
    let mut bodies = vec![Body::Header(Box::new(header())), Body::Report(serde_json::json!({ "valid": true }))];
    for board in 0..2 {
        let piece = PIECE as u32;
        bodies.push(memory(board, 0x2000_0000, noise(2_654_435_761)));
        bodies.push(memory(board, 0x2000_0000 + piece, vec![0; PIECE]));
        bodies.push(memory(board, 0x2000_0000 + 2 * piece, noise(40_503)));
        bodies.push(memory(board, 0x3000_0000, vec![board; 100]));
    }
    bodies.push(Body::Elf { file: 0, offset: 0, bytes: elf()[..PIECE].to_vec() });
    bodies.push(Body::Elf { file: 0, offset: PIECE as u32, bytes: elf()[PIECE..].to_vec() });
    bodies.push(Body::Header(Box::new(header())));
    bodies.push(Body::End(bodies.len() as u32));
    bodies
}

fn file() -> Vec<u8> {
    let frames = bodies().iter().flat_map(Body::encode).collect::<Vec<u8>>();
    [&MAGIC[..], &frames].concat()
}

fn parse(bytes: &[u8]) -> Result<Dump, DumpError> {
    Dump::parse(bytes, Path::new("x.dump"))
}

fn missing(dump: &Dump, board: usize) -> Vec<(u32, u32)> {
    let (pieces, saved) = (dump.boards[board].pieces.clone(), dump.header.boards[board].memory.clone());
    DumpMemory::new(pieces, saved, crate::Image::default()).missing()
}

#[test]
fn what_is_written_is_read() {
    let dump = parse(&file()).unwrap();
    assert_eq!(dump.damage, []);
    assert_eq!(dump.header, header());
    assert_eq!(dump.elfs, [Some(elf())]);
    assert_eq!((missing(&dump, 0), missing(&dump, 1)), (vec![], vec![]));
    assert_eq!(dump.report, Some(serde_json::json!({ "valid": true })));
}

#[test]
fn a_file_that_is_no_dump_is_told_from_one_without_its_header() {
    assert!(matches!(parse(b"STILLTR1 and more"), Err(DumpError::NotADump(_))));
    assert!(matches!(parse(b""), Err(DumpError::NotADump(_))));
    assert!(matches!(parse(&MAGIC), Err(DumpError::NoHeader { offset: 8, .. })));
    let other_end = Body::End(0).encode();
    assert!(matches!(parse(&[&MAGIC[..], &other_end].concat()), Err(DumpError::NoHeader { .. })));
}

#[test]
fn the_second_header_stands_in_for_the_first() {
    let mut bytes = file();
    bytes[20] ^= 1;
    let dump = parse(&bytes).unwrap();
    assert_eq!(dump.header, header());
    assert_eq!(dump.damage.len(), 1);
    assert_eq!(dump.damage[0].offset, 8);
}

#[test]
fn a_frame_that_claims_more_than_it_holds_is_damage() {
    let mut bomb = Body::Memory { board: 0, address: 0, bytes: vec![1; 1000] }.encode();
    // A piece of 999 bytes that unpacks to 1000: its checksum is made right again.
    bomb[14..18].copy_from_slice(&999u32.to_le_bytes());
    let sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&[&bomb[..4], &bomb[8..]].concat());
    bomb[4..8].copy_from_slice(&sum.to_le_bytes());
    assert!(matches!(Body::decode(&bomb), Err(FrameError::Body(_))));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// One flipped bit: it is noticed, its place is named, and what is lost is known exactly.
    #[test]
    fn a_flipped_bit_costs_its_frame_and_nothing_else(place in any::<prop::sample::Index>(), bit in 0u8..8) {
        let mut bytes = file();
        let place = place.index(bytes.len() - MAGIC.len()) + MAGIC.len();
        bytes[place] ^= 1 << bit;
        let whole = parse(&file()).unwrap();
        let dump = parse(&bytes).unwrap();
        prop_assert_eq!(dump.damage.len(), 1);
        let damage = &dump.damage[0];
        prop_assert!((damage.offset..damage.offset + damage.lost).contains(&(place as u64)), "{} at {}", damage, place);
        prop_assert_eq!(&dump.header, &whole.header);
        for board in 0..2 {
            let lost: u32 = missing(&dump, board).iter().map(|(_, length)| length).sum();
            prop_assert!(lost <= PIECE as u32, "one frame holds no more");
            for piece in &dump.boards[board].pieces {
                prop_assert!(whole.boards[board].pieces.contains(piece), "what is shown was saved");
            }
        }
        prop_assert!(dump.elfs[0].as_ref().is_none_or(|read| *read == elf()), "an ELF file is whole or not there");
    }

    /// A file that was cut short is read up to there.
    #[test]
    fn a_truncated_dump_is_read_up_to_its_end(place in any::<prop::sample::Index>()) {
        let bytes = file();
        let length = place.index(bytes.len());
        match parse(&bytes[..length]) {
            Err(DumpError::NotADump(_)) => prop_assert!(length < MAGIC.len()),
            Err(DumpError::NoHeader { .. }) => prop_assert!(length < MAGIC.len() + bodies()[0].encode().len()),
            Err(other) => prop_assert!(false, "{}", other),
            Ok(dump) => {
                prop_assert_eq!(dump.damage.len(), 1);
                prop_assert_eq!(dump.damage[0].offset + dump.damage[0].lost, length as u64);
            }
        }
    }

    /// Whatever the bytes are, nothing panics.
    #[test]
    fn any_bytes_are_a_dump_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let _ = parse(&[&MAGIC[..], &bytes].concat());
        let _ = Body::decode(&bytes);
    }
}

#[test]
fn a_dump_that_cannot_be_finished_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dump");
    let mut writer = Writer::create(&path).unwrap();
    writer.put(&bodies()[0]).unwrap();
    drop(writer);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "half a dump is no dump");
    let mut writer = Writer::over(&path, std::fs::File::options().write(true).open("/dev/full").unwrap());
    let error = writer.put(&bodies()[2]).unwrap_err();
    assert!(matches!(&error, DumpError::Write { source, .. } if source.kind() == std::io::ErrorKind::StorageFull));
    assert!(error.to_string().contains("x.dump"), "{error}");
}

#[test]
fn a_dump_is_never_written_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.dump");
    let writer = Writer::create(&path).unwrap();
    std::fs::write(&path, "somebody was faster").unwrap();
    assert!(matches!(writer.finish(), Err(DumpError::Exists(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"somebody was faster");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
