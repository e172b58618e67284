//! Keeps one copy of each distinct value and names it by a number.
use super::search::WordHasher;
use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash};
use std::rc::Rc;

/// A table of distinct values: a state of the whole system is then a handful of numbers.
///
/// # Example
/// ```
/// use std::rc::Rc;
/// use stillpoint_tests::explore::intern::Interner;
/// let names = Interner::default();
/// let (a, b) = (names.number(&Rc::new("a")), names.number(&Rc::new("b")));
/// assert_ne!(a, b);
/// assert_eq!(names.number(&Rc::new("a")), a);
/// assert_eq!(*names.value(b), "b");
/// ```
pub struct Interner<T> {
    numbers: RefCell<HashMap<Rc<T>, u32, BuildHasherDefault<WordHasher>>>,
    values: RefCell<Vec<Rc<T>>>,
}

impl<T> Default for Interner<T> {
    fn default() -> Self {
        Self { numbers: RefCell::default(), values: RefCell::default() }
    }
}

impl<T: Eq + Hash> Interner<T> {
    /// The number of a value: the same for equal values, another for others.
    pub fn number(&self, value: &Rc<T>) -> u32 {
        if let Some(&number) = self.numbers.borrow().get(value) {
            return number;
        }
        let mut values = self.values.borrow_mut();
        let number = u32::try_from(values.len()).expect("fewer than 2^32 distinct parts");
        values.push(Rc::clone(value));
        self.numbers.borrow_mut().insert(Rc::clone(value), number);
        number
    }

    /// The value that was given this number.
    pub fn value(&self, number: u32) -> Rc<T> {
        Rc::clone(&self.values.borrow()[number as usize])
    }

    /// How many distinct values there are.
    pub fn len(&self) -> usize {
        self.values.borrow().len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
