//! Values of types that rustc described, encoded by postcard.
use super::*;
use proptest::prelude::*;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

include!("shapes.rs");

/// The debug information of a library with a static of each type, compiled here and now by the compiler in use.
static TYPES: LazyLock<DebugTypes> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let (source, library) = (folder.path().join("shapes.rs"), folder.path().join("shapes.so"));
    let shapes = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/payload/shapes.rs");
    let text = format!(
        "#![no_std]\n#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! {{ loop {{}} }}\n{}\n\
         #[unsafe(no_mangle)] pub static EVERYTHING: Option<Everything> = None;\n\
         #[unsafe(no_mangle)] pub static CHANNELS: [Held<Pair>; 3] = [Held {{ head: 1, value: Pair(1, true) }}; 3];\n\
         #[derive(Clone, Copy)] pub struct Held<T> {{ pub head: u32, pub value: T }}\n",
        std::fs::read_to_string(shapes).unwrap()
    );
    std::fs::write(&source, text).unwrap();
    let rustc = std::env::var("RUSTC").unwrap_or_else(|_| "rustc".into());
    let mut compile = Command::new(rustc);
    compile.args(["-g", "--edition", "2024", "--crate-type", "cdylib", "-Cpanic=abort", "-Clink-arg=-nostdlib"]);
    let status = compile.arg("-o").arg(&library).arg(&source).status().unwrap();
    assert!(status.success(), "rustc compiles the shapes");
    DebugTypes::read(&library).unwrap()
});

fn everything() -> TypeId {
    let found = TYPES.statics().iter().find(|of| of.name == "EVERYTHING").unwrap();
    TYPES.unwrap(found.place, "Everything").unwrap().ty
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

proptest! {
    /// Postcard's bytes, read by what the compiler says of the type, are shown as Rust itself shows the value.
    #[test]
    fn a_message_is_shown_as_its_sender_would_show_it(value in any_everything()) {
        let bytes = postcard::to_allocvec(&value).unwrap();
        let shown = decode(&TYPES, everything(), &bytes).map(|value| value.to_string());
        let number = format!("{:?}", f64::from(value.number));
        let expected = format!("{value:?}").replace(&format!("number: {:?}", value.number), &format!("number: {number}"));
        prop_assert_eq!(shown, Some(expected));
    }

    /// Bytes too few or too many are not of the type.
    #[test]
    fn a_message_of_another_length_is_not_believed(value in any_everything(), cut in 1usize..8, more in any::<u8>()) {
        let mut bytes = postcard::to_allocvec(&value).unwrap();
        let short = &bytes[..bytes.len().saturating_sub(cut)];
        prop_assert_eq!(decode(&TYPES, everything(), short), None);
        bytes.push(more);
        prop_assert_eq!(decode(&TYPES, everything(), &bytes), None);
    }

    /// Whatever the bytes are, nothing panics.
    #[test]
    fn any_bytes_are_a_value_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&TYPES, everything(), &bytes);
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
