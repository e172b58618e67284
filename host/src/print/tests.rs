//! Statics of a library that is compiled here and now, read from its own image.
use super::*;
use crate::dwarf::compiled::{self, Library};
use crate::{Memory, MemoryError};
use proptest::prelude::*;
use std::sync::LazyLock;

const SOURCE: &str = r#"
pub mod shapes {
    use core::sync::atomic::{AtomicBool, AtomicU32};
    use core::cell::UnsafeCell;
    use core::num::NonZeroU16;
    pub struct Point { pub x: i16, pub y: i16 }
    pub struct Pair(pub u8, pub char);
    #[repr(u8)] pub enum Colour { Red = 1, Green = 200, Blue = 3 }
    pub enum Order { Stop, Go(u32, i8), Turn { by: i64, flag: bool } }
    pub enum Only { One(u32) }
    pub struct Cells { pub count: AtomicU32, pub flag: AtomicBool, pub inner: Shared }
    pub struct Shared(pub UnsafeCell<u16>);
    unsafe impl Sync for Shared {}
    pub union Word { pub whole: u32, pub bytes: [u8; 4] }
    pub struct Everything {
        pub point: Point, pub pair: Pair, pub colours: [Colour; 3], pub orders: [Order; 3], pub only: Only,
        pub none: Option<u32>, pub some: Option<u32>, pub niche_none: Option<&'static u32>, pub niche_some: Option<NonZeroU16>,
        pub nested: Option<Option<bool>>, pub number: f32, pub long: f64, pub truth: bool, pub big: u128, pub minus: i64,
        pub unit: (), pub tuple: (u8, u16), pub table: [[u8; 2]; 2], pub result: Result<u8, Colour>,
    }
    #[unsafe(no_mangle)] pub static EVERYTHING: Everything = Everything {
        point: Point { x: -2, y: 300 }, pair: Pair(7, 'ä'), colours: [Colour::Red, Colour::Green, Colour::Blue],
        orders: [Order::Stop, Order::Go(70000, -3), Order::Turn { by: -5, flag: true }], only: Only::One(9),
        none: None, some: Some(4), niche_none: None, niche_some: NonZeroU16::new(8),
        nested: Some(None), number: 1.5, long: -0.25, truth: true, big: 1 << 100, minus: -1,
        unit: (), tuple: (1, 2), table: [[1, 2], [3, 4]], result: Err(Colour::Blue),
    };
    #[unsafe(no_mangle)] pub static CELLS: Cells =
        Cells { count: AtomicU32::new(41), flag: AtomicBool::new(true), inner: Shared(UnsafeCell::new(5)) };
    #[unsafe(no_mangle)] pub static MANY: [u16; 200] = [3; 200];
    pub mod held {
        use heapless::{deque, string, vec};
        use core::cell::{Cell, RefCell, UnsafeCell};
        use core::mem::{ManuallyDrop, MaybeUninit};
        use super::Shared;
        const fn slots<const N: usize>(of: [u16; N]) -> [MaybeUninit<u16>; N] { unsafe { core::mem::transmute_copy(&of) } }
        const fn letters(of: [u8; 6]) -> [MaybeUninit<u8>; 6] { unsafe { core::mem::transmute(of) } }
        const fn new<const N: usize>(of: [u16; N], len: usize) -> heapless::Vec<u16, N> {
            vec::VecInner { phantom: core::marker::PhantomData, len, buffer: vec::storage::VecStorageInner { buffer: slots(of) } }
        }
        pub struct Old { pub vec: vec::Vec<u16, 4>, pub text: string::String<6>, pub ring: deque::Deque<u16, 4> }
        pub struct New { pub vec: heapless::Vec<u16, 4>, pub text: heapless::String<6>, pub ring: heapless::Deque<u16, 4> }
        #[unsafe(no_mangle)] pub static OLD: Old = Old {
            vec: vec::Vec { buffer: slots([1, 2, 99, 99]), len: 2 },
            text: string::String { vec: vec::Vec { buffer: letters(*b"no dad"), len: 2 } },
            ring: deque::Deque { buffer: slots([3, 99, 1, 2]), front: 2, back: 1, full: false },
        };
        #[unsafe(no_mangle)] pub static NEW: New = New {
            vec: new([1, 2, 99, 99], 2),
            text: string::StringInner { vec: vec::VecInner {
                phantom: core::marker::PhantomData, len: 2, buffer: vec::storage::VecStorageInner { buffer: letters(*b"no dad") },
            } },
            ring: deque::DequeInner {
                phantom: core::marker::PhantomData, front: 1, back: 1, full: true,
                buffer: vec::storage::VecStorageInner { buffer: slots([4, 1, 2, 3]) },
            },
        };
        #[unsafe(no_mangle)] pub static BROKEN: heapless::Vec<u16, 4> = new([1, 2, 3, 4], 9);
        pub struct Leaf { pub list: heapless::Vec<u16, 2>, pub count: Cell<u8>, pub slot: MaybeUninit<ManuallyDrop<Cell<u8>>> }
        pub struct Sync<T>(pub T);
        unsafe impl<T> core::marker::Sync for Sync<T> {}
        #[unsafe(no_mangle)] pub static DEEP: Sync<UnsafeCell<RefCell<MaybeUninit<ManuallyDrop<Leaf>>>>> =
            Sync(UnsafeCell::new(RefCell::new(MaybeUninit::new(ManuallyDrop::new(Leaf {
                list: new([7, 99], 1), count: Cell::new(3), slot: MaybeUninit::new(ManuallyDrop::new(Cell::new(4))),
            })))));
        #[unsafe(no_mangle)] pub static UNUSED: Shared = Shared(UnsafeCell::new(1));
    }
    #[unsafe(no_mangle)] pub static WORD: Word = Word { whole: 0x0403_0201 };
}
pub mod other { #[used] #[unsafe(export_name = "MANY2")] pub static MANY: u8 = 6; }
"#;

static LIBRARY: LazyLock<Library> = LazyLock::new(|| compiled::library(SOURCE, &[compiled::HEAPLESS]));

/// The image of the library; everything else cannot be read.
struct Loaded;

impl Memory for Loaded {
    fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
        for (index, word) in into.iter_mut().enumerate() {
            let at = u64::from(address) + 4 * index as u64;
            let byte = |offset: u64| {
                let held = LIBRARY
                    .image
                    .iter()
                    .find_map(|(base, bytes)| bytes.get(usize::try_from((at + offset).checked_sub(*base)?).ok()?));
                held.copied().unwrap_or(0)
            };
            *word = u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]);
        }
        Ok(())
    }

    fn write(&mut self, address: u32, _: &[u32]) -> Result<(), MemoryError> {
        Err(MemoryError::IsADump { address })
    }
}

const LIMITS: Limits = Limits { depth: 8, elements: 64 };

fn shown_within(text: &str, limits: Limits) -> String {
    let read = || parse(text)?.find(&LIBRARY.types)?.read(&LIBRARY.types, &mut Loaded, limits);
    read().map_or_else(|error| error.to_string(), |read| read.value.to_string())
}

fn shown(text: &str) -> String {
    shown_within(text, LIMITS)
}

#[test]
fn every_kind_of_value_is_shown_as_rust_shows_it() {
    let cases = [
        ("point", "Point { x: -2, y: 300 }"),
        ("pair", "Pair(7, 'ä')"),
        ("colours", "[Red, Green, Blue]"),
        ("orders", "[Stop, Go(70000, -3), Turn { by: -5, flag: true }]"),
        ("only", "One(9)"),
        ("none", "None"),
        ("some", "Some(4)"),
        ("niche_none", "None"),
        ("niche_some", "Some(8)"),
        ("nested", "Some(None)"),
        ("number", "1.5"),
        ("long", "-0.25"),
        ("truth", "true"),
        ("big", "1267650600228229401496703205376"),
        ("minus", "-1"),
        ("unit", "()"),
        ("tuple", "(1, 2)"),
        ("table", "[[1, 2], [3, 4]]"),
        ("result", "Err(Blue)"),
    ];
    for (field, expected) in cases {
        assert_eq!(shown(&format!("EVERYTHING.{field}")), expected, "{field}");
    }
    assert_eq!(shown("CELLS"), "Cells { count: 41, flag: true, inner: Shared(5) }");
    assert_eq!(shown("WORD"), "union Word { whole: 67305985, bytes: [1, 2, 3, 4] }");
}

#[test]
fn a_collection_of_heapless_shows_the_elements_in_use() {
    for of in ["OLD", "NEW"] {
        assert_eq!(shown(&format!("{of}.vec")), "[1, 2]");
        assert_eq!(shown(&format!("{of}.text")), "\"no\"");
        assert_eq!(shown(&format!("{of}.vec[1]")), "2");
        assert!(shown(&format!("{of}.vec[2]")).contains("there are only 2 elements"), "a dead slot is no element");
        assert_eq!(shown(&format!("{of}.vec.len")), "2");
    }
    assert_eq!(shown("OLD.ring"), "[1, 2, 3]");
    assert_eq!(shown("OLD.ring[2]"), "3");
    assert_eq!(shown("NEW.ring"), "[1, 2, 3, 4]");
    assert_eq!(shown("BROKEN"), "<damaged or not initialised: len 9 with room for 4>");
}

#[test]
fn wrappers_of_libraries_do_not_count_as_depth() {
    let flat = |depth| shown_within("DEEP", Limits { depth, elements: 64 });
    assert_eq!(flat(3), "Sync(MaybeUninit(Leaf { list: [7], count: 3, slot: MaybeUninit(4) }))");
    assert_eq!(flat(2), "Sync(MaybeUninit(Leaf { list: [..; 1], count: 3, slot: MaybeUninit(4) }))");
    assert_eq!(flat(1), "Sync(MaybeUninit(Leaf {..}))");
    assert_eq!(shown("DEEP.0.value.value.count"), "3");
}

/// The oracle is `serde_json` of the same values.
#[test]
fn a_printed_value_is_the_json_that_serde_makes_of_it() {
    #[derive(serde::Serialize)]
    enum Order {
        Stop,
        Go(u32, i8),
        Turn { by: i64, flag: bool },
    }
    #[derive(serde::Serialize)]
    enum Only {
        One(u32),
    }
    let json = |text: &str| {
        let read = parse(text).unwrap().find(&LIBRARY.types).unwrap().read(&LIBRARY.types, &mut Loaded, LIMITS);
        serde_json::to_string(&read.unwrap().value).unwrap()
    };
    let orders = [Order::Stop, Order::Go(70000, -3), Order::Turn { by: -5, flag: true }];
    assert_eq!(json("EVERYTHING.orders"), serde_json::to_string(&orders).unwrap());
    assert_eq!(json("EVERYTHING.only"), serde_json::to_string(&Only::One(9)).unwrap());
    assert_eq!(json("EVERYTHING.some"), serde_json::to_string(&Some(4)).unwrap());
    assert_eq!(json("EVERYTHING.none"), serde_json::to_string(&None::<u32>).unwrap());
    assert_eq!(json("EVERYTHING.result"), r#"{"Err":"Blue"}"#);
    assert_eq!(json("EVERYTHING.unit"), serde_json::to_string(&()).unwrap());
    assert_eq!(json("EVERYTHING.tuple"), serde_json::to_string(&(1, 2)).unwrap());
    assert_eq!(json("NEW.text"), "\"no\"");
}

#[test]
fn parts_are_reached_through_fields_elements_cells_and_variants() {
    assert_eq!(shown("shapes::EVERYTHING.point.y"), "300");
    assert_eq!(shown("EVERYTHING.tuple.1"), "2");
    assert_eq!(shown("EVERYTHING.table[1][0]"), "3");
    assert_eq!(shown("( EVERYTHING . orders )[2].by"), "-5");
    assert_eq!(shown("EVERYTHING.orders[1].0"), "70000");
    assert_eq!(shown("CELLS.inner.0"), "5");
    assert_eq!(shown("WORD.bytes[3]"), "4");
}

#[test]
fn a_long_array_is_cut_and_says_so_and_so_is_a_deep_struct() {
    let few = Limits { depth: 8, elements: 2 };
    assert_eq!(shown_within("shapes::MANY", few), "[3, 3, ... 198 more]");
    let flat = Limits { depth: 1, elements: 2 };
    assert!(shown_within("EVERYTHING", flat).starts_with("Everything { point: Point {..}, pair: Pair {..}, "));
    let read = parse("EVERYTHING").unwrap().find(&LIBRARY.types).unwrap();
    let value = read.read(&LIBRARY.types, &mut Loaded, LIMITS).unwrap().value;
    let text = pretty(&value, 4);
    assert!(text.lines().all(|line| line.chars().count() <= 110), "{text}");
    assert!(text.contains("\n      point: Point { x: -2, y: 300 },\n"), "{text}");
}

#[test]
fn a_name_that_is_not_there_is_answered_with_the_nearest() {
    assert!(shown("EVERYTHIN").contains("did you mean `shapes::shapes::EVERYTHING`?"), "{}", shown("EVERYTHIN"));
    assert!(shown("cells").contains("shapes::CELLS`?"), "{}", shown("cells"));
    assert!(shown("wrong::CELLS").contains("shapes::CELLS`?"), "{}", shown("wrong::CELLS"));
    let both = shown("MANY");
    assert!(both.contains("2 statics are called `MANY`") && both.contains("other::MANY"), "{both}");
    assert!(shown("CELLS.cuont").contains("did you mean `.count`?"), "{}", shown("CELLS.cuont"));
    assert!(shown("EVERYTHING.none.0").contains("has no field `0` now"), "{}", shown("EVERYTHING.none.0"));
    assert!(shown("shapes::MANY[200]").contains("the last one is [199]"), "{}", shown("shapes::MANY[200]"));
    assert!(shown("*CELLS").contains("is no pointer"), "{}", shown("*CELLS"));
    assert!(shown("CELLS[1]").contains("has no elements"), "{}", shown("CELLS[1]"));
}

#[test]
fn what_means_nothing_is_pointed_at() {
    for (text, caret) in
        [("", 0), ("CELLS.", 6), ("CELLS[x]", 6), ("CELLS[1", 7), ("(CELLS", 6), ("CELLS)", 5), ("3", 0)]
    {
        let error = parse(text).unwrap_err();
        assert_eq!(error.span.start, caret, "{error}");
    }
    assert!(parse(&"*".repeat(100_000)).is_err(), "no text fills the stack");
}

proptest! {
    /// Whatever is written, it is read or refused.
    #[test]
    fn any_text_is_a_query_or_none(text in "[A-Z*.:\\[\\]()0-9<>{} ä]{0,24}") {
        if let Ok(query) = parse(&text) {
            let _ = query.find(&LIBRARY.types);
        }
    }

    /// Whatever the memory holds, a value is shown and nothing panics.
    #[test]
    fn any_memory_is_a_value(words in proptest::collection::vec(any::<u32>(), 64..200)) {
        struct Noise(Vec<u32>);
        impl Memory for Noise {
            fn read(&mut self, address: u32, into: &mut [u32]) -> Result<(), MemoryError> {
                for (index, word) in into.iter_mut().enumerate() {
                    *word = self.0[(address as usize / 4 + index) % self.0.len()];
                }
                Ok(())
            }
            fn write(&mut self, address: u32, _: &[u32]) -> Result<(), MemoryError> {
                Err(MemoryError::IsADump { address })
            }
        }
        let query = parse("EVERYTHING").unwrap().find(&LIBRARY.types).unwrap();
        let value = query.read(&LIBRARY.types, &mut Noise(words), LIMITS).unwrap().value;
        prop_assert!(pretty(&value, 0).starts_with("Everything"));
    }
}
