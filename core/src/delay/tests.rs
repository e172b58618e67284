//! Both roles of four nodes joined by a perfect network: what freezes whom, and that nothing freezes for ever.
use super::*;
use crate::NodeId;
use stillpoint_test::test;

const A: NodeId = NodeId(0);
const B: NodeId = NodeId(1);
const C: NodeId = NodeId(2);
const D: NodeId = NodeId(3);

/// Four threads on four nodes; each node guards its own door.
struct Net {
    access: Access<4, 4>,
    satellites: [Satellite<4, 4>; 4],
    doors: [Central<4, 4>; 4],
    post: [Option<Effect>; 24],
    now: u64,
}

impl Net {
    /// Thread number `i` may enter the nodes of `rows[i]` and starts on the first of them.
    fn new(rows: [&[NodeId]; 4]) -> Self {
        let mut access = Access::NONE;
        for (thread, row) in (0..).map(ThreadId).zip(rows) {
            for &node in row {
                access.allow(thread, node).unwrap();
            }
        }
        let nodes = [A, B, C, D];
        let mut net = Self {
            access,
            satellites: nodes.map(|node| Satellite::new(node, access)),
            doors: nodes.map(|node| Central::new(NodeSet::EMPTY.with(node), access)),
            post: [None; 24],
            now: 0,
        };
        for (thread, row) in (0..).map(ThreadId).zip(rows) {
            if let Some(home) = row.first() {
                net.at(*home).start(thread, Delay::default(), 0).unwrap().for_each(drop);
            }
        }
        net
    }

    fn at(&mut self, node: NodeId) -> &mut Satellite<4, 4> {
        &mut self.satellites[usize::from(node.0)]
    }

    /// Lets something happen on a node and tells the others.
    fn on(&mut self, node: NodeId, verb: fn(&mut Satellite<4, 4>, ThreadId, u64) -> Notices<'_, 4, 4>, thread: u8) {
        let Self { satellites, post, now, .. } = self;
        for tell in verb(&mut satellites[usize::from(node.0)], ThreadId(thread), *now) {
            push(post, Effect::Tell(tell));
        }
        self.settle();
    }

    fn wait(&mut self, node: NodeId, thread: u8, on: u8) {
        let Self { satellites, post, now, .. } = self;
        for tell in satellites[usize::from(node.0)].wait(ThreadId(thread), Some(ThreadId(on)), *now).unwrap() {
            push(post, Effect::Tell(tell));
        }
        self.settle();
    }

    /// Moves a thread through a door; says whether it was let in at once.
    fn go(&mut self, thread: u8, from: NodeId, to: NodeId, step: Step) -> bool {
        let now = self.now;
        let passage = self.at(from).leave(ThreadId(thread), step, now).unwrap();
        let ask = self.at(to).arrive(passage, now).unwrap();
        match self.doors[usize::from(to.0)].ask(ask, now).unwrap() {
            Verdict::Enter { delay } => {
                push(&mut self.post, Effect::Admit { thread: ThreadId(thread), server: to, delay });
            }
            Verdict::Weighed(effects) => effects.for_each(|effect| push(&mut self.post, effect)),
        }
        self.settle();
        self.at(to).here().contains(ThreadId(thread))
    }

    /// Lets time pass until `now`, ringing every alarm when it is due.
    fn until(&mut self, now: u64) {
        while let Some(due) = self.doors.iter().filter_map(Central::next_alarm).min().filter(|&due| due <= now) {
            self.now = self.now.max(due);
            let Self { doors, post, now, .. } = self;
            doors.iter_mut().for_each(|door| door.recheck(*now).unwrap().for_each(|effect| push(post, effect)));
            assert!(post[0].is_some(), "an alarm that is due lets somebody in");
            self.settle();
        }
        self.now = now;
    }

    /// Delivers until nothing is under way.
    fn settle(&mut self) {
        while let Some(effect) = self.post[0] {
            self.post.copy_within(1.., 0);
            self.post[23] = None;
            let Self { satellites, doors, post, now, .. } = self;
            match effect {
                Effect::Admit { thread, server, delay } => {
                    let told = satellites[usize::from(server.0)].admit(thread, delay, *now).unwrap();
                    told.for_each(|tell| push(post, Effect::Tell(tell)));
                }
                Effect::Tell(Tell { to, notice }) => {
                    for node in to.iter().map(|node| usize::from(node.0)) {
                        doors[node].hear(notice, *now).unwrap().for_each(|effect| push(post, effect));
                        let told = satellites[node].hear(notice, *now).unwrap();
                        told.for_each(|tell| push(post, Effect::Tell(tell)));
                    }
                }
            }
        }
    }
}

fn push(post: &mut [Option<Effect>; 24], effect: Effect) {
    *post.iter_mut().find(|slot| slot.is_none()).expect("room for every notice") = Some(effect);
}

const PARK: fn(&mut Satellite<4, 4>, ThreadId, u64) -> Notices<'_, 4, 4> = |node, _, now| node.park(now).unwrap();
const UNPARK: fn(&mut Satellite<4, 4>, ThreadId, u64) -> Notices<'_, 4, 4> = |node, _, now| node.unpark(now).unwrap();
const STOP: fn(&mut Satellite<4, 4>, ThreadId, u64) -> Notices<'_, 4, 4> =
    |node, thread, now| node.stop(thread, now).unwrap();
const RESUME: fn(&mut Satellite<4, 4>, ThreadId, u64) -> Notices<'_, 4, 4> =
    |node, thread, now| node.resume(thread, now).unwrap();

#[test]
fn a_stop_at_the_end_of_a_chain_of_calls_freezes_every_caller_and_nobody_else() {
    let mut net = Net::new([&[A, B, C], &[D], &[], &[]]);
    let first = net.at(A).deadline(ThreadId(0), 100, 0).unwrap();
    assert!(net.go(0, A, B, Step::Call));
    net.until(10);
    let second = net.at(B).deadline(ThreadId(0), 50, 10).unwrap();
    let bystander = net.at(D).deadline(ThreadId(1), 90, 10).unwrap();
    assert!(net.go(0, B, C, Step::Call));
    net.until(20);
    net.on(C, PARK, 0);
    net.until(5_000);
    assert_eq!(net.at(A).left(first, 5_000), Left::Frozen);
    assert_eq!(net.at(B).left(second, 5_000), Left::Frozen);
    assert_eq!(net.at(D).left(bystander, 5_000), Left::Elapsed);
    net.on(C, UNPARK, 0);
    assert_eq!(net.at(A).left(first, 5_030), Left::Ticks(50));
    assert_eq!(net.at(B).left(second, 5_030), Left::Ticks(10));
    assert_eq!(net.at(B).left(second, 5_040), Left::Elapsed);
}

#[test]
fn who_waits_behind_a_frozen_thread_is_frozen_with_it() {
    // Thread 0 calls B, whose server is busy with thread 1, whose call to C meets a stopped node.
    let mut net = Net::new([&[A, B], &[B, C], &[C], &[]]);
    let timeout = net.at(A).deadline(ThreadId(0), 100, 0).unwrap();
    assert!(net.go(1, B, C, Step::Call));
    assert!(net.go(0, A, B, Step::Call));
    net.wait(B, 0, 1);
    net.until(10);
    net.on(C, PARK, 0);
    net.until(1_000);
    assert_eq!(net.at(A).left(timeout, 1_000), Left::Frozen);
    // It is a delay like any other: what thread 0 does next comes that much later.
    assert_eq!(net.at(A).delay(ThreadId(0), 1_000).ticks, 990);
    net.on(C, UNPARK, 0);
    assert_eq!(net.at(A).left(timeout, 1_010), Left::Ticks(80));
}

#[test]
fn a_stop_freezes_through_a_chain_of_waiting_threads_on_this_node_and_on_others() {
    // 0 and 3 on A: 0 waits for 3, which waits for 1 on B, which waits for 2 on C.
    let mut net = Net::new([&[A], &[B, A], &[C, B], &[A]]);
    let timeout = net.at(A).deadline(ThreadId(0), 100, 0).unwrap();
    net.wait(A, 0, 3);
    net.wait(A, 3, 1);
    net.wait(B, 1, 2);
    net.until(10);
    net.on(C, STOP, 2);
    net.until(1_000);
    assert_eq!(net.at(A).left(timeout, 1_000), Left::Frozen);
    net.on(C, RESUME, 2);
    assert_eq!(net.at(A).left(timeout, 1_010), Left::Ticks(80));
    assert!(net.at(A).suspended().is_empty() && net.at(B).suspended().is_empty());
}

#[test]
fn a_hold_freezes_whoever_waits_for_the_held_thread() {
    // 0 on A waits for 1, which is held at C's door for 2, which is stopped there.
    let mut net = Net::new([&[A], &[B, C, A], &[C], &[]]);
    let timeout = net.at(A).deadline(ThreadId(0), 100, 0).unwrap();
    net.wait(A, 0, 1);
    net.on(C, STOP, 2);
    net.until(10);
    assert!(!net.go(1, B, C, Step::Call));
    net.until(500);
    assert_eq!(net.at(A).left(timeout, 500), Left::Frozen);
    net.on(C, RESUME, 2);
    net.until(520);
    assert_eq!(net.at(A).left(timeout, 520), Left::Ticks(80));
}

#[test]
fn a_hold_freezes_the_callers_of_the_held_thread() {
    let mut net = Net::new([&[A, C], &[B, C], &[], &[]]);
    let timeout = net.at(A).deadline(ThreadId(0), 100, 0).unwrap();
    net.on(B, STOP, 1);
    net.until(10);
    assert!(!net.go(0, A, C, Step::Call));
    net.until(700);
    assert_eq!(net.at(A).left(timeout, 700), Left::Frozen);
    net.on(B, RESUME, 1);
    net.until(710);
    assert!(net.at(C).here().contains(ThreadId(0)));
    assert_eq!(net.at(A).left(timeout, 710), Left::Ticks(90));
}

#[test]
fn a_hold_that_waits_for_its_caller_does_not_freeze_it() {
    // Thread 0 has been stopped and then waits for thread 1, which is held at C's door until it is as far behind.
    let mut net = Net::new([&[A, B, C], &[B, C, A], &[], &[]]);
    net.on(A, STOP, 0);
    net.until(30);
    net.on(A, RESUME, 0);
    net.wait(A, 0, 1);
    assert!(!net.go(1, B, C, Step::Call));
    net.until(59);
    assert!(!net.at(A).suspended().contains(ThreadId(0)));
    assert!(!net.at(C).here().contains(ThreadId(1)));
    net.until(60);
    assert!(net.at(C).here().contains(ThreadId(1)));
}

#[test]
fn two_callers_whose_callees_wait_for_the_other_caller_do_not_freeze_for_ever() {
    // 0 waits for 1, which is held until it is as far behind as 2; 2 waits for 3, held until as far behind as 0.
    let mut net = Net::new([&[A, D, B], &[B, C, A], &[C, D], &[D, B, C]]);
    net.on(A, STOP, 0);
    net.on(C, STOP, 2);
    net.until(30);
    net.on(A, RESUME, 0);
    net.on(C, RESUME, 2);
    net.wait(A, 0, 1);
    net.wait(C, 2, 3);
    assert!(!net.go(1, B, C, Step::Call));
    assert!(!net.go(3, D, B, Step::Call));
    net.until(200);
    assert!(net.at(C).here().contains(ThreadId(1)));
    assert!(net.at(B).here().contains(ThreadId(3)));
    assert!(net.at(A).suspended().is_empty() && net.at(D).suspended().is_empty());
}

#[test]
fn threads_that_wait_for_each_other_thaw_when_the_stop_behind_them_ends() {
    // A deadlock of the application: its timeouts must run, so that it ends as it does when nobody looks.
    let mut net = Net::new([&[A, B], &[B, A], &[], &[]]);
    let timeout = net.at(A).deadline(ThreadId(0), 100, 0).unwrap();
    net.wait(A, 0, 1);
    net.wait(B, 1, 0);
    net.on(B, STOP, 1);
    assert_eq!(net.at(A).left(timeout, 40), Left::Frozen);
    net.until(50);
    net.on(B, RESUME, 1);
    assert!(net.at(A).suspended().is_empty() && net.at(B).suspended().is_empty());
    assert_eq!(net.at(A).left(timeout, 60), Left::Ticks(90));
}

#[test]
fn who_is_admitted_to_a_parked_node_is_suspended_there() {
    let mut net = Net::new([&[A, B], &[], &[], &[]]);
    net.on(B, PARK, 0);
    assert!(net.go(0, A, B, Step::Call));
    net.until(40);
    net.on(B, UNPARK, 0);
    assert_eq!(net.at(A).delay(ThreadId(0), 50).ticks, 40);
    assert!(net.go(0, B, A, Step::Return));
}

#[test]
fn a_node_that_starts_again_takes_its_threads_out_of_every_wait() {
    let mut net = Net::new([&[A, C], &[B, C], &[], &[]]);
    net.on(A, STOP, 0);
    net.until(10);
    assert!(!net.go(1, B, C, Step::Call));
    // A resets; it learns from C how far behind its thread was.
    net.until(25);
    let known = net.at(C).delay(ThreadId(0), 25);
    net.satellites[0] = Satellite::new(A, net.access);
    let told = net.satellites[0].start(ThreadId(0), known, 25).unwrap();
    told.for_each(|tell| push(&mut net.post, Effect::Tell(tell)));
    net.settle();
    net.until(35);
    assert!(net.at(C).here().contains(ThreadId(1)));
}
