//! Values of types that rustc described, encoded by postcard.
use super::*;
use crate::dwarf::compiled;
use proptest::prelude::*;
use std::sync::LazyLock;

include!("shapes.rs");

/// The debug information of a library with a static of each type.
static TYPES: LazyLock<DebugTypes> = LazyLock::new(|| {
    let source = include_str!("shapes.rs");
    let statics = r#"
        pub struct Shared<T>(pub T);
        unsafe impl<T> Sync for Shared<T> {}
        #[unsafe(no_mangle)] pub static EVERYTHING: Option<Everything> = None;
        #[unsafe(no_mangle)] pub static REPORT: Shared<Option<Report>> = Shared(None);
        #[unsafe(no_mangle)] pub static CHANNELS: [Held<Pair>; 3] = [Held { head: 1, value: Pair(1, true) }; 3];
        #[derive(Clone, Copy)] pub struct Held<T> { pub head: u32, pub value: T }
        pub trait Serialize { fn serialize<S>(&self, to: S) -> S; }
        pub struct ByHand { pub number: u16 }
        impl Serialize for ByHand { fn serialize<S>(&self, to: S) -> S { to } }
        const _: () = { impl Serialize for Pair { fn serialize<__S>(&self, to: __S) -> __S { to } } };
        #[unsafe(no_mangle)] pub static BY_HAND: ByHand = ByHand { number: 1 };
        #[unsafe(no_mangle)] pub fn write(of: &ByHand, pair: &Pair) -> u8 { of.serialize(1) + pair.serialize(2) }
        #[unsafe(no_mangle)] pub static CHANNELS_PAIR: Pair = Pair(1, true);
        #[unsafe(no_mangle)] pub static ENVELOPE: Option<stillpoint_agent::rpc::Envelope<Pair>> = None;
        #[unsafe(no_mangle)] pub static LAYOUT: Option<core::alloc::Layout> = None;
    "#;
    let envelope = "#![no_std] pub mod rpc { pub struct Envelope<T> { pub header: [u8; 15], pub body: T } }";
    let crates = [compiled::HEAPLESS, ("stillpoint_agent", envelope)];
    compiled::library(&format!("{source}{statics}"), &crates).types
});

fn type_of(name: &str, shape: &str) -> TypeId {
    let found = TYPES.statics().iter().find(|of| of.name == name).unwrap();
    TYPES.unwrap(found.place, shape).unwrap().ty
}

fn everything() -> TypeId {
    type_of("EVERYTHING", "Everything")
}

fn any_everything() -> impl Strategy<Value = Everything> {
    let colour = || prop_oneof![Just(Colour::Red), Just(Colour::Green), Just(Colour::Blue)];
    let order = prop_oneof![
        Just(Order::Stop),
        any::<(u32, i8)>().prop_map(|(far, fast)| Order::Go(far, fast)),
        (any::<i64>(), colour()).prop_map(|(by, colour)| Order::Turn { by, colour }),
    ];
    let numbers = any::<(bool, u64, u8, i32, char, i16, bool, Option<u16>, [u8; 3])>();
    (numbers, colour(), order, -1.0e9f32..1.0e9).prop_map(|(numbers, colour, order, number)| {
        let (flag, long, tiny, signed, letter, first, second, maybe, bytes) = numbers;
        let pair = Pair(first, second);
        Everything { flag, long, tiny, signed, letter, colour, pair, order, maybe, bytes, number, nothing: () }
    })
}

fn any_report() -> impl Strategy<Value = Report> {
    let colour = || prop_oneof![Just(Colour::Red), Just(Colour::Green), Just(Colour::Blue)];
    let vote = move || {
        prop_oneof![
            any::<u8>().prop_map(|held| Vote::Yes { held }),
            Just(Vote::No),
            any::<(i16, bool)>().prop_map(|(first, second)| Vote::Maybe(Pair(first, second))),
            (any::<u8>(), proptest::option::of(colour())).prop_map(|(first, second)| Vote::Both(first, second)),
        ]
    };
    let votes = (vote(), proptest::option::of(vote()), prop_oneof![any::<u8>().prop_map(Ok), colour().prop_map(Err)]);
    let lists = (
        "[a-zä]{0,4}",
        proptest::collection::vec(any::<u16>(), 0..5),
        proptest::collection::vec(proptest::collection::vec(any::<Option<u8>>(), 0..3), 0..3),
        proptest::collection::vec((any::<u8>(), any::<bool>()), 0..4),
    );
    let numbers = any::<(u32, i16, u16, u8, u32, (u8,), (i8, bool))>();
    (votes, lists, numbers, any::<f32>(), any::<f64>()).prop_map(|(votes, lists, numbers, short, long)| {
        let (vote, decision, result) = votes;
        let (text, list, nested, map) = lists;
        let (wrapped, wrapping, nonzero, cell, nanos, tuple, pair) = numbers;
        let mut deque = heapless::Deque::new();
        list.iter().for_each(|number| deque.push_front(*number).unwrap());
        Report {
            vote,
            decision,
            result,
            wrapped: Wrapped(wrapped),
            unit: Unit,
            text: text.as_str().try_into().unwrap(),
            list: list.iter().copied().collect(),
            nested: nested.into_iter().map(|inner| inner.into_iter().collect()).collect(),
            deque,
            map: map.into_iter().collect(),
            wrapping: core::num::Wrapping(wrapping),
            nonzero: core::num::NonZeroU16::new(nonzero | 1).unwrap(),
            cell: core::cell::Cell::new(cell),
            atomic: (cell & 1 == 1).into(),
            time: core::time::Duration::from_nanos(nanos.into()),
            tuple,
            pair,
            short,
            long,
        }
    })
}

#[test]
fn a_type_that_is_serialised_by_hand_is_not_guessed_at() {
    let by_hand = type_of("BY_HAND", "ByHand");
    assert_eq!(decode(&TYPES, by_hand, &[7]), Err(Undecoded::ByHand("ByHand".into())));
    assert!(decode(&TYPES, type_of("CHANNELS_PAIR", "Pair"), &[2, 1]).is_ok(), "a derived implementation is believed");
    let layout = decode(&TYPES, type_of("LAYOUT", "Layout"), &[1, 2]).unwrap_err().to_string();
    assert_eq!(layout, "the form of core::alloc::layout::Layout in a message is not known");
}

#[test]
fn a_call_shows_its_direction_its_number_and_what_was_asked() {
    use stillpoint_core::delay::{Delay, Passage, ThreadId};
    let ty = type_of("ENVELOPE", "Envelope<");
    let shown = |step: Option<Step>| {
        let delay = Delay { ticks: 30, turn: 2 };
        let passage = step.map(|step| Passage { thread: ThreadId(1), step, delay });
        let header = CallHeader { passage, number: 300 }.to_bytes();
        let value = decode(&TYPES, ty, &postcard::to_allocvec(&(header, Pair(-2, true))).unwrap()).unwrap();
        (value.to_string(), serde_json::to_value(&value).unwrap())
    };
    let (text, json) = shown(Some(Step::Call));
    assert_eq!(text, "call { id: 300, thread: 1, delay_ticks: 30, request: Pair(-2, true) }");
    let inside = serde_json::json!({ "id": 300, "thread": 1, "delay_ticks": 30, "request": [-2, true] });
    assert_eq!(json, serde_json::json!({ "call": inside }));
    let (text, _) = shown(Some(Step::Return));
    assert_eq!(text, "return { id: 300, thread: 1, delay_ticks: 30, response: Pair(-2, true) }");
    assert_eq!(shown(None).0, "unfollowed { id: 300, body: Pair(-2, true) }");
}

proptest! {
    /// Postcard's bytes, read by what the compiler says of the type, are shown as Rust itself shows the value.
    #[test]
    fn a_message_is_shown_as_its_sender_would_show_it(value in any_everything()) {
        let bytes = postcard::to_allocvec(&value).unwrap();
        let shown = decode(&TYPES, everything(), &bytes).map(|value| value.to_string());
        prop_assert_eq!(shown, Ok(format!("{value:?}")));
    }

    /// As JSON, a message is what `serde_json` makes of the same value: the names of variants are kept.
    #[test]
    fn a_message_is_the_json_that_serde_makes_of_it(value in any_everything(), report in any_report()) {
        let bytes = postcard::to_allocvec(&value).unwrap();
        let json = decode(&TYPES, everything(), &bytes).map(|value| serde_json::to_string(&value).unwrap());
        prop_assert_eq!(json, Ok(serde_json::to_string(&value).unwrap()));
        let bytes = postcard::to_allocvec(&report).unwrap();
        let json = decode(&TYPES, type_of("REPORT", "Report"), &bytes).map(|value| serde_json::to_string(&value).unwrap());
        prop_assert_eq!(json, Ok(serde_json::to_string(&report).unwrap()));
    }

    /// Collections of heapless are read as they were written, and shown as they show themselves.
    #[test]
    fn texts_and_sequences_of_heapless_are_decoded(report in any_report()) {
        let bytes = postcard::to_allocvec(&report).unwrap();
        let value = decode(&TYPES, type_of("REPORT", "Report"), &bytes).unwrap();
        let Value::Struct { fields, .. } = value else { panic!("{value} is a struct") };
        let shown = |name: &str| fields.iter().find(|(own, _)| own == name).unwrap().1.to_string();
        prop_assert_eq!(shown("text"), format!("{:?}", report.text));
        prop_assert_eq!(shown("list"), format!("{:?}", report.list));
        prop_assert_eq!(shown("nested"), format!("{:?}", report.nested));
        prop_assert_eq!(shown("deque"), format!("{:?}", report.deque));
        prop_assert_eq!(shown("map"), format!("{:?}", report.map));
    }

    /// Bytes too few or too many are not of the type.
    #[test]
    fn a_message_of_another_length_is_not_believed(value in any_everything(), cut in 1usize..8, more in any::<u8>()) {
        let mut bytes = postcard::to_allocvec(&value).unwrap();
        let short = &bytes[..bytes.len().saturating_sub(cut)];
        let misfit = Err(Undecoded::Misfit("Everything".into()));
        prop_assert_eq!(decode(&TYPES, everything(), short), misfit.clone());
        bytes.push(more);
        prop_assert_eq!(decode(&TYPES, everything(), &bytes), misfit);
    }

    /// Whatever the bytes are, nothing panics.
    #[test]
    fn any_bytes_are_a_value_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&TYPES, everything(), &bytes);
        let _ = decode(&TYPES, type_of("REPORT", "Report"), &bytes);
    }
}

#[test]
fn a_part_of_a_static_is_found_by_its_address() {
    let channels = TYPES.statics().iter().find(|of| of.name == "CHANNELS").unwrap().place;
    let second = TYPES.element(channels, 1).unwrap();
    assert_eq!(TYPES.find(second.address, "Held<"), Some(second));
    assert_eq!(TYPES.find(second.address + 1, "Held<"), None);
    let Type::Struct { parameters, .. } = TYPES.get(second.ty) else { panic!("it is a struct") };
    assert!(matches!(TYPES.get(parameters[0].1), Type::Struct { name, .. } if name == "Pair"));
    assert_eq!(TYPES.element(channels, 3), None);
}
