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
