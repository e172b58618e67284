//! The serial link: arbitrary bytes from the wire, and arbitrary frames with a right checksum.
use super::Bytes;
use stillpoint_core::link::{CONTROL_BYTES, Config, Flags, FrameDecoder, Header, Kind, Lane, Link, wire_bytes};
use stillpoint_core::time::{TickRate, Ticks};

/// The first byte chooses between bytes and frames; either goes through the decoder and into one end of a link.
pub fn link(data: &[u8]) {
    let mut bytes = Bytes(data);
    if bytes.flag() {
        decode::<48>(bytes.0);
        decode::<240>(bytes.0);
        serve(bytes, |bytes, wire| wire.push(bytes.byte()));
    } else {
        serve(bytes, |bytes, wire| {
            let mut frame = [0; wire_bytes(64)];
            let header = any_header(bytes);
            let length = header.encode(bytes.piece(64), &mut frame).expect("a buffer of wire_bytes holds the frame");
            wire.extend(&frame[..length]);
        });
    }
}

fn any_header(bytes: &mut Bytes<'_>) -> Header {
    let kind = [Kind::Hello, Kind::Data, Kind::Control, Kind::Ack][usize::from(bytes.below(4))];
    // A frame that names nobody is malformed, and the wire has enough of these.
    let (flags, from, to) = (Flags(bytes.byte() & !3), bytes.byte().max(1), bytes.byte());
    let (number, data_next, control_next, edge) = (bytes.byte(), bytes.byte(), bytes.byte(), bytes.byte());
    Header { kind, flags, from, to, number, data_next, control_next, edge }
}

/// Every frame that comes out can go in again.
fn decode<const F: usize>(data: &[u8]) {
    let (mut decoder, mut second) = (FrameDecoder::<F>::new(), FrameDecoder::<F>::new());
    for byte in data {
        let Some(Ok((header, payload))) = decoder.push(*byte) else { continue };
        assert!(payload.len() <= F);
        let mut wire = vec![0; wire_bytes(F)];
        let length = header.encode(payload, &mut wire).unwrap();
        let (last, before) = wire[..length].split_last().unwrap();
        assert!(before.iter().all(|byte| second.push(*byte).is_none()));
        assert_eq!(second.push(*last), Some(Ok((header, payload))));
    }
}

/// One end of a link whose peer says anything, and whose driver does anything.
fn serve(mut bytes: Bytes<'_>, mut hear: impl FnMut(&mut Bytes<'_>, &mut Vec<u8>)) {
    let mut link = Link::<4, 64>::new(Config::BAUD_1M, TickRate::MEGAHERTZ, bytes.byte());
    let (mut now, mut wire) = (bytes.word(), Vec::new());
    while !bytes.is_empty() {
        match bytes.byte() {
            0..=159 => {
                hear(&mut bytes, &mut wire);
                for byte in wire.drain(..) {
                    let _event = link.on_byte(byte, Ticks(now));
                }
            }
            160..=179 => now = now.wrapping_add(u32::from(bytes.half_word())),
            180..=199 => {
                let lane = if bytes.flag() { Lane::Data } else { Lane::Control };
                let (item, full) = (bytes.piece(70), link.unacknowledged(lane));
                let sent = link.send(lane, item);
                assert_eq!(link.unacknowledged(lane), full + u8::from(sent.is_ok()));
                assert!(sent.is_err() || item.len() <= Link::<4, 64>::limit(lane));
            }
            200..=219 => {
                let lane = if bytes.flag() { Lane::Data } else { Lane::Control };
                let was = link.front(lane).is_some();
                assert_eq!(link.take(lane), was);
            }
            220..=229 => link.set_stopped(bytes.flag()),
            230..=239 => {
                let hello = bytes.piece(40);
                assert_eq!(link.set_hello(hello).is_ok(), hello.len() <= 32);
            }
            _ => talk(&mut link, Ticks(now)),
        }
        check(&link);
    }
}

/// Everything the link has to say now; a driver that gives it too little room is told, and loses nothing.
fn talk(link: &mut Link<4, 64>, now: Ticks<u32>) {
    let _event = link.on_tick(now);
    for _ in 0..64 {
        let before = link.clone();
        if link.poll_transmit(now, &mut [0; 4]).is_err() {
            assert_eq!(*link, before, "a frame that found no room is still to be sent");
        }
        let mut wire = [0; wire_bytes(64)];
        let Some(length) = link.poll_transmit(now, &mut wire).expect("wire_bytes is enough") else { return };
        let mut decoder = FrameDecoder::<64>::new();
        let heard = wire[..length].iter().filter_map(|byte| decoder.push(*byte).map(|frame| frame.is_ok()));
        assert!(heard.eq([true]), "the link sends whole frames");
    }
    panic!("the link never stops talking");
}

fn check(link: &Link<4, 64>) {
    for (lane, longest, most) in [(Lane::Data, 64, 4), (Lane::Control, CONTROL_BYTES, 4)] {
        assert!(link.unacknowledged(lane) <= most);
        assert!(link.front(lane).is_none_or(|item| item.bytes.len() <= longest));
        let ledger = link.ledger(lane);
        assert!(ledger.waiting.checked_add(ledger.waiting_before_reset).is_some_and(|held| held <= most));
    }
    assert!(link.peer_hello().len() <= 32);
}

/// A session that begins, carries items and ends; and the bytes of its frames.
pub fn seeds() -> Vec<Vec<u8>> {
    let frame = |kind: u8, flags: u8, number: u8, payload: &[u8]| {
        let mut bytes = vec![0, kind, flags, 5, 1, number, 0, 0, 4, payload.len() as u8];
        bytes.extend(payload);
        bytes
    };
    let mut frames = vec![0, 1, 0, 0, 0, 0];
    for part in [
        frame(0, 0x08, 1, b"hello"),
        vec![255],
        frame(0, 0x30, 1, b"hello"),
        vec![190, 1, 3, 1, 2, 3, 255],
        frame(1, 0, 0, b"hi"),
        frame(2, 4, 0, &[1, 3, 0, 41, 0, 0, 0, 1, 1]),
        vec![210, 1, 255, 170, 0, 0xff, 255],
        frame(3, 0x10, 0, b""),
        frame(0, 0x08, 2, b"other version"),
    ] {
        frames.extend(part);
    }
    let mut raw = vec![1, 1, 0, 0, 0, 0];
    let session: [&[u8]; 4] = [
        &[0, 3, 8, 5, 2, 1, 1, 7, 4, 0x41, 0xc9, 0x76, 0x28, 0xbc, 0],
        &[0, 5, 0x30, 5, 9, 1, 1, 7, 4, 0x41, 0xc9, 0x6f, 0x0f, 0xcd, 0],
        &[4, 1, 5, 9, 1, 1, 8, 4, 0x68, 0x69, 0xd5, 0xdb, 0x49, 0xb2, 0],
        &[4, 6, 9, 5, 2, 1, 4, 4, 1, 2, 5, 0x49, 0xec, 0x1d, 0x7d, 0],
    ];
    raw.extend(session.concat().into_iter().flat_map(|byte| [0, byte]));
    let mut plain = vec![1];
    plain.extend(session.concat());
    vec![frames, raw, plain]
}
