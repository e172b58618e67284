//! What the two cores do, and what must hold.
extern crate std;
use super::atomic::{AtomicU32, Ordering};
use super::{CORE, Model, WEAKENED, WORLD, World};
use crate::channel::{Channel, End, Ring};
use crate::doorbell::{Doorbells, Waiter};
use crate::lane::{Lane, Taken};
use crate::lock::CoreLock;
use crate::platform::{CoreId, Platform as _};
use crate::rpc::slot::NoticeSlot;
use core::task::Waker;
use loom::cell::UnsafeCell;
use std::boxed::Box;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool as Flag, Ordering as FlagOrdering};
use std::task::Wake;
use std::vec::Vec;
use stillpoint_core::HaltId;
use stillpoint_core::delay::{Delay, Notice, ThreadId, ThreadSet};
use stillpoint_core::predicate::{Generation, Reached, SlotId};

/// Runs a model in every way that there is. `weakened` takes the orderings away.
///
/// An atomic becomes loom's when it is touched first. A scenario touches each before there is a second thread.
fn explore(weakened: bool, run: fn()) {
    let mut model = loom::model::Builder::new();
    model.max_branches = 20_000;
    WEAKENED.set(weakened);
    model.check(move || {
        WORLD.set(Some(leak(World { doorbells: Doorbells::new(), rung: [const { AtomicU32::new(0) }; 2] })));
        super::world().rung.iter().for_each(|word| assert_eq!(word.load(Ordering::Relaxed), 0));
        run();
    });
    WORLD.set(None);
}

/// Runs `act` as core 1, on the calling thread.
fn as_the_other_core<R>(act: impl FnOnce() -> R) -> R {
    CORE.with(|core| core.set(CoreId::ONE));
    let result = act();
    CORE.with(|core| core.set(CoreId::ZERO));
    result
}

fn leak<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Runs `act` on core 1, beside the caller, which is core 0.
fn on_the_other_core<R: 'static>(act: impl FnOnce() -> R + 'static) -> loom::thread::JoinHandle<R> {
    loom::thread::spawn(move || {
        CORE.with(|core| core.set(CoreId::ONE));
        act()
    })
}

/// Three messages through a ring of two slots. Each slot has a cell that is used when its bytes are.
fn messages_cross_a_ring() {
    const MESSAGES: u8 = 3;
    let channel: &'static Channel<u8, 2, 8> = leak(Channel::new());
    let (mut sender, receiver) = (channel.claim(End::Sender).unwrap(), channel.claim(End::Receiver).unwrap());
    for _ in 0..2 {
        assert!(sender.free_slot().is_some());
        sender.publish(0, 1);
        assert!(receiver.front().is_some());
        receiver.free();
    }
    let cells: &'static [UnsafeCell<u8>; 2] = leak([UnsafeCell::new(0), UnsafeCell::new(0)]);
    let other = on_the_other_core(move || {
        let mut came = 0;
        // A bounded number of looks: what is not there yet is taken below.
        for _ in 0..2 {
            came += u8::from(take(&receiver, cells, came));
        }
        (receiver, came)
    });
    let mut sent = 0;
    for _ in 0..MESSAGES {
        if let Some(slot) = sender.free_slot() {
            slot[0] = sent;
            cells[usize::from(sent) % 2].with_mut(|cell| {
                // SAFETY: loom reports a use of the cell by the other core that is not ordered with this one.
                unsafe { *cell = sent }
            });
            sender.publish(0, 1);
            sent += 1;
        }
    }
    assert!(sent >= 2, "two slots are free at the beginning");
    let (receiver, mut came) = other.join().unwrap();
    while take(&receiver, cells, came) {
        came += 1;
    }
    assert_eq!(came, sent, "every message arrives");
}

/// Takes the next message, which is the `number`-th.
fn take(receiver: &Ring, cells: &'static [UnsafeCell<u8>; 2], number: u8) -> bool {
    let Some(message) = receiver.front() else { return false };
    let cell = cells[usize::from(number) % 2].with(|cell| {
        // SAFETY: as above.
        unsafe { *cell }
    });
    assert_eq!((message, cell), (&[number][..], number), "a message is whole");
    receiver.free();
    true
}

#[test]
fn a_message_is_read_after_it_was_written_and_its_slot_written_after_it_was_read() {
    explore(false, messages_cross_a_ring);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_ring_without_its_orderings_is_caught() {
    explore(true, messages_cross_a_ring);
}

struct Woken(Flag);
impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, FlagOrdering::Relaxed);
    }
}

/// Touches what a ring and its answer use.
fn prepare(waiter: &Waiter<Model>, change: &AtomicU32) {
    waiter.ring();
    as_the_other_core(|| {
        waiter.stop_waiting();
        Model::doorbells().answer();
    });
    assert_eq!(change.load(Ordering::Relaxed), 0);
}

/// One core waits, then looks; the other changes something, then rings.
fn a_waiter_looks_while_the_other_core_rings() {
    let waiter = Model::doorbells().claim(CoreId::ONE).unwrap();
    let change: &'static AtomicU32 = leak(AtomicU32::new(0));
    let woken = Arc::new(Woken(Flag::new(false)));
    let waker: Waker = Arc::clone(&woken).into();
    prepare(&waiter, change);
    let other = on_the_other_core(move || {
        waiter.wait(&waker);
        change.load(Ordering::Relaxed) == 1
    });
    change.store(1, Ordering::Relaxed);
    waiter.ring();
    let saw = other.join().unwrap();
    // The interrupt of the bell, if it was rung.
    let rung = super::world().rung[CoreId::ONE.index()].load(Ordering::Relaxed) == 1;
    if rung {
        as_the_other_core(|| Model::doorbells().answer());
    }
    assert!(saw || woken.0.load(FlagOrdering::Relaxed), "a lost wake-up");
}

#[test]
fn of_a_look_and_a_ring_one_sees_the_other() {
    explore(false, a_waiter_looks_while_the_other_core_rings);
}

#[test]
#[should_panic(expected = "a lost wake-up")]
fn a_doorbell_without_its_fences_is_caught() {
    explore(true, a_waiter_looks_while_the_other_core_rings);
}

/// Two rings for one place while its core answers: what the second is about is seen, or the bell rings once more.
fn a_core_answers_while_it_is_rung_again() {
    let waiter = Model::doorbells().claim(CoreId::ONE).unwrap();
    let change: &'static AtomicU32 = leak(AtomicU32::new(0));
    let woken = Arc::new(Woken(Flag::new(false)));
    let waker: Waker = Arc::clone(&woken).into();
    prepare(&waiter, change);
    as_the_other_core(|| waiter.wait(&waker));
    waiter.ring();
    let other = on_the_other_core({
        let woken = Arc::clone(&woken);
        move || {
            // The interrupt of the first ring, and the task that it wakes: waits again, looks.
            super::world().rung[1].store(0, Ordering::Relaxed);
            Model::doorbells().answer();
            assert!(woken.0.swap(false, FlagOrdering::Relaxed), "the first ring wakes");
            waiter.wait(&waker);
            change.load(Ordering::Relaxed) == 1
        }
    });
    change.store(1, Ordering::Relaxed);
    waiter.ring();
    let saw = other.join().unwrap();
    as_the_other_core(|| Model::doorbells().answer());
    assert!(saw || woken.0.load(FlagOrdering::Relaxed), "a lost wake-up");
}

#[test]
fn a_ring_during_the_answer_to_another_is_not_lost() {
    explore(false, a_core_answers_while_it_is_rung_again);
}

fn notice(number: u64) -> Notice {
    let delay = Delay { ticks: number * 0x0101_0101_0101, turn: number as u32 };
    Notice::Suspended { thread: ThreadId(number as u8), delay, waits_for: ThreadSet(number as u32 * 0x0101_0101) }
}

/// A notice lies in the slot; a newer one replaces it while the peer looks.
fn a_newer_notice_comes_while_the_peer_looks() {
    let slot: &'static NoticeSlot = leak(NoticeSlot::new());
    slot.post(notice(1));
    // Makes every word before there is a second thread.
    assert_eq!(slot.take(&mut 0), Some(notice(1)));
    let other = on_the_other_core(move || slot.post(notice(2)));
    let mut taken = 0;
    let first = slot.take(&mut taken);
    let is_whole = first.is_none() || first == Some(notice(1)) || first == Some(notice(2));
    assert!(is_whole, "a torn notice: {first:?}");
    other.join().unwrap();
    let second = slot.take(&mut taken);
    let last = if first == Some(notice(2)) { None } else { Some(notice(2)) };
    assert_eq!(second, last, "the newer one arrives, once");
}

#[test]
fn a_notice_is_taken_whole_and_once() {
    explore(false, a_newer_notice_comes_while_the_peer_looks);
}

#[test]
#[should_panic(expected = "a torn notice")]
fn a_notice_slot_without_its_orderings_is_caught() {
    explore(true, a_newer_notice_comes_while_the_peer_looks);
}

/// A release and a predicate marker in one lane, each behind what it is about.
fn a_lane_carries_news() {
    let lane: &'static Lane = leak(Lane::new());
    let about: &'static AtomicU32 = leak(AtomicU32::new(0));
    let reached = Reached::new(SlotId::ALL[1], Generation(3), 2).unwrap();
    let mut taken = Taken::default();
    let nothing = (lane.take_marker::<4>(&mut taken), lane.take_release(&mut taken), lane.take_predicate(&mut taken));
    assert_eq!((nothing, about.load(Ordering::Relaxed)), ((None, None, None), 0));
    // The writer goes first: loom remembers only the last load of an atomic, and a post loads before it stores.
    let other = on_the_other_core(move || {
        let (released, predicate) = (lane.take_release(&mut taken), lane.take_predicate(&mut taken));
        let is_seen = about.load(Ordering::Relaxed) == 1;
        assert!(is_seen || released.is_none() && predicate.is_none(), "news before what they are about");
        (released, predicate, taken)
    });
    about.store(1, Ordering::Relaxed);
    lane.post_release(HaltId(7));
    lane.post_predicate(reached);
    let (released, predicate, mut taken) = other.join().unwrap();
    let (later, later_predicate) = (lane.take_release(&mut taken), lane.take_predicate(&mut taken));
    assert_eq!((released.xor(later), predicate.xor(later_predicate)), (Some(HaltId(7)), Some(reached)), "once");
}

#[test]
fn what_a_lane_says_comes_after_what_it_is_about() {
    explore(false, a_lane_carries_news);
}

#[test]
#[should_panic(expected = "news before what they are about")]
fn a_lane_without_its_orderings_is_caught() {
    explore(true, a_lane_carries_news);
}

/// Both cores take the lock, one of them twice over, and use what it guards.
fn two_cores_take_the_lock() {
    let lock: &'static CoreLock<Model> = leak(CoreLock::new());
    let guarded: &'static UnsafeCell<Vec<CoreId>> = leak(UnsafeCell::new(Vec::new()));
    let enter = move || {
        let state = lock.acquire(super::spin_loop);
        let inner = lock.acquire(super::spin_loop);
        guarded.with_mut(|entered| {
            // SAFETY: loom reports a use of the cell by the other core that is not ordered with this one.
            unsafe { (*entered).push(Model::core()) }
        });
        lock.release(inner);
        lock.release(state);
    };
    lock.release(lock.acquire(super::spin_loop));
    let other = on_the_other_core(enter);
    enter();
    other.join().unwrap();
    // SAFETY: the other core is done.
    guarded.with(|entered| assert_eq!(unsafe { &*entered }.len(), 2));
}

#[test]
fn the_lock_lets_one_core_in_at_a_time() {
    explore(false, two_cores_take_the_lock);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_lock_without_its_orderings_is_caught() {
    explore(true, two_cores_take_the_lock);
}

/// A core that crashed gives the lock up; it never takes one away that the other core holds.
fn a_core_gives_the_lock_up() {
    let lock: &'static CoreLock<Model> = leak(CoreLock::new());
    let guarded: &'static UnsafeCell<u32> = leak(UnsafeCell::new(0));
    lock.release(lock.acquire(super::spin_loop));
    let count = move || {
        guarded.with_mut(|count| {
            // SAFETY: loom reports a use of the cell by the other core that is not ordered with this one.
            unsafe { *count += 1 }
        });
    };
    let other = on_the_other_core(move || {
        let state = lock.acquire(super::spin_loop);
        count();
        lock.release(state);
    });
    let _never_released = lock.acquire(super::spin_loop);
    count();
    lock.abandon();
    // A second time it does nothing, whoever has the lock now.
    lock.abandon();
    other.join().unwrap();
}

#[test]
fn a_lock_that_a_crashed_core_gives_up_is_free_for_the_other() {
    explore(false, a_core_gives_the_lock_up);
}
