// Types whose values are sent by the tests: compiled once into the test and once, alone, into a library whose debug
// information the test reads.

#[derive(Clone, Copy, Debug)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum Colour {
    Red,
    Green = 7,
    Blue,
}

#[derive(Clone, Copy, Debug)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Pair(pub i16, pub bool);

#[derive(Clone, Copy, Debug)]
#[cfg_attr(test, derive(serde::Serialize))]
pub enum Order {
    Stop,
    Go(u32, i8),
    Turn { by: i64, colour: Colour },
}

// The smallest field comes first here and last in memory, or the other way round: the order of the source counts.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(test, derive(serde::Serialize))]
pub struct Everything {
    pub flag: bool,
    pub long: u64,
    pub tiny: u8,
    pub signed: i32,
    pub letter: char,
    pub colour: Colour,
    pub pair: Pair,
    pub order: Order,
    pub maybe: Option<u16>,
    pub bytes: [u8; 3],
    pub number: f32,
    pub nothing: (),
}

#[cfg_attr(test, derive(Clone, Debug, serde::Serialize))]
pub enum Vote {
    Yes { held: u8 },
    No,
    Maybe(Pair),
    Both(u8, Option<Colour>),
}

#[cfg_attr(test, derive(Clone, Debug, serde::Serialize))]
pub struct Wrapped(pub u32);

#[cfg_attr(test, derive(Clone, Debug, serde::Serialize))]
pub struct Unit;

#[cfg_attr(test, derive(Debug, serde::Serialize))]
pub struct Report {
    pub vote: Vote,
    pub decision: Option<Vote>,
    pub result: Result<u8, Colour>,
    pub wrapped: Wrapped,
    pub unit: Unit,
    pub text: heapless::String<8>,
    pub list: heapless::Vec<u16, 4>,
    pub nested: heapless::Vec<heapless::Vec<Option<u8>, 2>, 2>,
    pub deque: heapless::Deque<u16, 4>,
    pub map: heapless::LinearMap<u8, bool, 4>,
    pub wrapping: core::num::Wrapping<i16>,
    pub nonzero: core::num::NonZeroU16,
    pub cell: core::cell::Cell<u8>,
    pub atomic: core::sync::atomic::AtomicBool,
    pub time: core::time::Duration,
    pub tuple: (u8,),
    pub pair: (i8, bool),
    pub short: f32,
    pub long: f64,
}
