//! Statics of a library that is compiled here and now, read from its own image.
use super::*;
use crate::dwarf::DebugTypes;
use crate::{Memory, MemoryError};
use object::{Object as _, ObjectSection as _};
use proptest::prelude::*;
use std::process::Command;
use std::sync::LazyLock;

const SOURCE: &str = r#"
#![no_std]
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
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
    #[unsafe(no_mangle)] pub static WORD: Word = Word { whole: 0x0403_0201 };
}
pub mod other { #[used] #[unsafe(export_name = "MANY2")] pub static MANY: u8 = 6; }
"#;

struct Library {
    types: DebugTypes,
    image: Vec<(u64, Vec<u8>)>,
}

static LIBRARY: LazyLock<Library> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("shapes.rs"), folder.path().join("shapes.so"));
    std::fs::write(&source, SOURCE).unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut compile = Command::new(rustc);
    compile.args(["-g", "--edition", "2024", "--crate-type", "cdylib", "-Cpanic=abort", "-Clink-arg=-nostdlib"]);
    let status = compile.arg("-o").arg(&library).arg(&source).status().unwrap();
    assert!(status.success(), "rustc compiles the shapes");
    let bytes = std::fs::read(&library).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let loaded = file.sections().filter(|section| section.address() != 0);
    let image = loaded.filter_map(|of| Some((of.address(), of.data().ok()?.to_vec()))).collect();
    Library { types: DebugTypes::read(&library).unwrap(), image }
});

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
