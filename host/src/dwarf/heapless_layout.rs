// The collections of heapless as the compiler describes them: version 0.8 under its names, and 0.9 under those that end in
// `Inner`. The tests compile this as a crate of that name.
#![no_std]

pub mod vec {
    use core::mem::MaybeUninit;
    pub struct Vec<T, const N: usize> {
        pub buffer: [MaybeUninit<T>; N],
        pub len: usize,
    }
    pub mod storage {
        pub struct VecStorageInner<T: ?Sized> {
            pub buffer: T,
        }
    }
    pub type OwnedVecStorage<T, const N: usize> = storage::VecStorageInner<[MaybeUninit<T>; N]>;
    pub struct VecInner<T, LenT, S: ?Sized> {
        pub phantom: core::marker::PhantomData<T>,
        pub len: LenT,
        pub buffer: S,
    }
}

pub mod string {
    pub struct String<const N: usize> {
        pub vec: super::vec::Vec<u8, N>,
    }
    pub struct StringInner<LenT, S: ?Sized> {
        pub vec: super::vec::VecInner<u8, LenT, S>,
    }
}

pub mod deque {
    use core::mem::MaybeUninit;
    pub struct Deque<T, const N: usize> {
        pub buffer: [MaybeUninit<T>; N],
        pub front: usize,
        pub back: usize,
        pub full: bool,
    }
    pub struct DequeInner<T, S: ?Sized> {
        pub phantom: core::marker::PhantomData<T>,
        pub front: usize,
        pub back: usize,
        pub full: bool,
        pub buffer: S,
    }
}

pub mod linear_map {
    pub struct LinearMapInner<K, V, S: ?Sized> {
        pub phantom: core::marker::PhantomData<(K, V)>,
        pub buffer: super::vec::VecInner<(K, V), usize, S>,
    }
}

pub use vec::OwnedVecStorage;
pub type Vec<T, const N: usize, LenT = usize> = vec::VecInner<T, LenT, OwnedVecStorage<T, N>>;
pub type String<const N: usize, LenT = usize> = string::StringInner<LenT, OwnedVecStorage<u8, N>>;
pub type Deque<T, const N: usize> = deque::DequeInner<T, OwnedVecStorage<T, N>>;
pub type LinearMap<K, V, const N: usize> = linear_map::LinearMapInner<K, V, OwnedVecStorage<(K, V), N>>;
