//! The gates of a client, another client and their server, and the channels between them, without a chip.
extern crate std;
use super::door::{Door, DoorId, Kind, Standing};
use super::gate::Gate;
use crate::channel::{Channel, End, Ring};
use std::boxed::Box;
use std::vec;
use std::vec::Vec;
use stillpoint_core::NodeId;
use stillpoint_core::delay::{Access, CallHeader, Delay, Left, Notice, Step, ThreadId, ThreadSet};

type Node = Gate<2, 3, 4>;
const SERVER: NodeId = NodeId(2);
const FIRST: ThreadId = ThreadId(0);
const SECOND: ThreadId = ThreadId(1);

/// One direction between two nodes, and the door at its end.
struct Line {
    sender: Ring,
    receiver: Ring,
    door: DoorId,
}

impl Line {
    fn to(gate: &mut Node, kind: Kind) -> Self {
        let channel: &'static Channel<(), 4, 32> = Box::leak(Box::new(Channel::new()));
        let (sender, receiver) = (channel.claim(End::Sender).unwrap(), channel.claim(End::Receiver).unwrap());
        let door = gate.add_door(Door::new(receiver.share(), kind)).unwrap();
        Self { sender, receiver, door }
    }

    /// Sends what a client or server would: a stamp of one byte, the header, nothing.
    fn send(&mut self, header: CallHeader) {
        let slot = self.sender.free_slot().unwrap();
        slot[0] = 1;
        slot[1..16].copy_from_slice(&header.to_bytes());
        self.sender.publish(0, 16);
    }
}

/// Threads 0 and 1 live on nodes 0 and 1 and call node 2.
struct System {
    gates: [Node; 3],
    requests: [Line; 2],
    replies: [Line; 2],
    number: u16,
    now: u64,
}

impl System {
    fn new() -> Self {
        let mut access = Access::NONE;
        for client in 0..2 {
            access.allow(ThreadId(client), NodeId(client)).unwrap();
            access.allow(ThreadId(client), SERVER).unwrap();
        }
        let mut gates = [0, 1, 2].map(|node| Gate::new(NodeId(node), access));
        let [first, second, server] = &mut gates;
        assert!(first.start(FIRST, 0) && second.start(SECOND, 0));
        let requests = [(); 2].map(|()| Line::to(server, Kind::Requests(0)));
        let replies = [Line::to(first, Kind::Replies(None)), Line::to(second, Kind::Replies(None))];
        Self { gates, requests, replies, number: 0, now: 0 }
    }

    /// Lets time pass; everybody looks, and every notice that is owed arrives.
    fn pass(&mut self, ticks: u64) {
        self.now += ticks;
        for _ in 0..4 {
            self.gates.iter_mut().for_each(|gate| gate.look(self.now));
            for (from, to) in (0..3).flat_map(|from| (0..3).map(move |to| (from, to))).filter(|(from, to)| from != to) {
                while let Some(notice) = self.gates[from].owed(NodeId(to as u8)) {
                    self.gates[from].told(NodeId(to as u8), notice);
                    assert!(self.gates[to].hear(NodeId(from as u8), notice, self.now));
                }
            }
        }
    }

    fn call(&mut self, client: usize) {
        let gate = &mut self.gates[client];
        self.number += 1;
        gate.door(self.replies[client].door).unwrap().expect(Some(self.number));
        let passage = gate.leave(ThreadId(client as u8), Step::Call, self.now);
        assert!(passage.is_some());
        self.requests[client].send(CallHeader { passage, number: self.number });
    }

    /// The server takes the request of a client. Returns whose it is.
    fn take(&mut self, client: usize) -> Option<ThreadId> {
        let Standing::Open(entry) = self.gates[2].standing(self.requests[client].door) else {
            panic!("nothing to take")
        };
        self.requests[client].receiver.free();
        self.gates[2].serve(0, entry.thread, self.now);
        entry.thread
    }

    fn reply(&mut self, client: usize, thread: Option<ThreadId>, number: u16) {
        let passage = thread.and_then(|thread| self.gates[2].leave(thread, Step::Return, self.now));
        self.replies[client].send(CallHeader { passage, number });
        self.gates[2].serve(0, None, self.now);
    }

    fn at_server(&mut self, client: usize) -> Standing {
        self.gates[2].standing(self.requests[client].door)
    }

    fn at_home(&mut self, client: usize) -> Standing {
        self.gates[client].standing(self.replies[client].door)
    }
}

#[test]
fn while_nobody_is_stopped_calls_and_returns_come_in_at_once_and_nobody_is_told_anything() {
    let mut system = System::new();
    for client in [0, 1, 0] {
        system.call(client);
        system.now += 5;
        system.gates[2].look(system.now);
        let thread = system.take(client);
        assert_eq!(thread, Some(ThreadId(client as u8)));
        system.reply(client, thread, system.number);
        system.gates[client].look(system.now);
        assert!(matches!(system.at_home(client), Standing::Open(_)));
        system.replies[client].receiver.free();
    }
    assert!(system.gates.iter().all(|gate| !gate.owes() && gate.refused == 0));
}

/// The request lies in the inbox of a node that stands still: nobody takes it, yet its caller's timeout stands.
#[test]
fn a_request_that_reaches_a_stopped_server_freezes_its_callers_timeout() {
    let mut system = System::new();
    let deadline = system.gates[0].deadline(FIRST, 100, 0).unwrap();
    system.gates[2].park(true, 0);
    system.call(0);
    system.pass(10);
    assert_eq!(system.gates[0].left(deadline, 10), Left::Frozen);
    system.pass(5_000);
    assert_eq!(system.gates[0].left(deadline, system.now), Left::Frozen);
    system.gates[2].park(false, system.now);
    system.pass(0);
    assert_eq!(system.gates[0].left(deadline, system.now), Left::Ticks(90));
}

#[test]
fn a_call_that_overtakes_a_stopped_client_is_held_until_that_one_would_have_come() {
    let mut system = System::new();
    system.gates[0].park(true, 0);
    system.pass(0);
    system.pass(20);
    let deadline = system.gates[1].deadline(SECOND, 100, system.now).unwrap();
    system.call(1);
    system.pass(0);
    assert_eq!(system.at_server(1), Standing::Shut);
    assert_eq!(system.gates[1].left(deadline, system.now), Left::Frozen);
    // Stopped for 1000 in all: the other follows 20 later, as it would have.
    system.pass(980);
    system.gates[0].park(false, system.now);
    system.pass(0);
    assert_eq!(system.gates[2].alarm(system.now), Some(20));
    system.call(0);
    system.pass(19);
    assert!(matches!(system.at_server(0), Standing::Open(_)), "the one that was stopped enters first");
    assert_eq!(system.at_server(1), Standing::Shut);
    system.pass(1);
    assert!(matches!(system.at_server(1), Standing::Open(_)));
    assert_eq!(system.gates[1].left(deadline, system.now), Left::Ticks(100), "being held took none of its time");
}

/// The second client's request waits in the server's queue behind the first's when the server stops.
#[test]
fn who_is_queued_at_a_stopped_server_is_frozen_with_it() {
    let mut system = System::new();
    let deadline = system.gates[1].deadline(SECOND, 100, 0).unwrap();
    system.call(0);
    system.call(1);
    system.pass(1);
    system.take(0);
    system.gates[2].park(true, system.now);
    system.pass(0);
    system.pass(500);
    assert_eq!(system.gates[1].left(deadline, system.now), Left::Frozen);
}

#[test]
fn the_reply_to_a_call_that_was_given_up_is_late_and_the_next_call_is_followed_again() {
    let mut system = System::new();
    system.call(0);
    system.pass(1);
    let thread = system.take(0);
    assert!(system.gates[0].abandon(FIRST, system.now));
    system.call(0);
    system.pass(1);
    assert_eq!(system.at_server(0), Standing::Shut, "its first call is still served");
    system.reply(0, thread, 1);
    system.pass(1);
    assert_eq!(system.at_home(0), Standing::Late);
    system.replies[0].receiver.free();
    let thread = system.take(0);
    assert_eq!(thread, Some(FIRST));
    system.reply(0, thread, 2);
    system.pass(1);
    assert!(matches!(system.at_home(0), Standing::Open(entry) if entry.thread == Some(FIRST)));
}

/// Its answer stands open already when the caller gives up, and no thread is with it that would say so.
#[test]
fn a_reply_that_came_without_its_thread_is_never_taken_for_that_of_the_next_call() {
    let mut system = System::new();
    system.call(0);
    system.pass(1);
    system.take(0);
    system.reply(0, None, 1);
    system.gates[0].look(system.now);
    assert!(matches!(system.at_home(0), Standing::Open(_)));
    assert!(system.gates[0].abandon(FIRST, system.now));
    system.call(0);
    system.gates[0].look(system.now);
    assert_eq!(system.at_home(0), Standing::Late);
}

/// A gate that cannot follow a thread must not make its calls fail.
#[test]
fn a_call_without_a_thread_or_with_an_impossible_one_is_let_in_and_counted() {
    let mut system = System::new();
    system.requests[0].send(CallHeader { passage: None, number: 1 });
    system.pass(1);
    assert_eq!(system.take(0), None);
    assert_eq!(system.gates[2].refused, 0);
    let impossible = system.gates[0].leave(FIRST, Step::Call, system.now).unwrap();
    let impossible = stillpoint_core::delay::Passage { thread: ThreadId(9), ..impossible };
    system.requests[0].send(CallHeader { passage: Some(impossible), number: 2 });
    system.pass(1);
    assert_eq!(system.take(0), None);
    assert_eq!(system.gates[2].refused, 1);
}

#[test]
fn a_notice_is_passed_on_once_to_the_other_nodes_concerned_and_retold_when_a_link_comes_up() {
    let mut system = System::new();
    let notice = Notice::Suspended { thread: FIRST, delay: Delay { ticks: 0, turn: 1 }, waits_for: ThreadSet::EMPTY };
    // As if node 2 had heard it from node 1, which thread 0 never enters: only node 0 is concerned.
    assert!(system.gates[2].hear(NodeId(1), notice, 5));
    assert_eq!((system.gates[2].owed(NodeId(0)), system.gates[2].owed(NodeId(1))), (Some(notice), None));
    system.gates[2].told(NodeId(0), notice);
    assert!(system.gates[2].hear(NodeId(1), notice, 6));
    assert_eq!(system.gates[2].owed(NodeId(0)), None, "it is known");
    system.gates[2].owe_all(NodeId(0));
    assert_eq!(system.gates[2].owed(NodeId(0)), Some(notice));
    let unknown = Notice::Resumed { thread: ThreadId(2), delay: Delay::default() };
    assert!(!system.gates[2].hear(NodeId(1), unknown, 7));
}

#[test]
fn who_waits_is_told_of_again_every_period() {
    let mut system = System::new();
    system.gates[0].park(true, 0);
    system.pass(0);
    assert_eq!(system.gates[0].refresh(100, 0), Some(100));
    assert!(!system.gates[0].owes());
    let told: Vec<u64> = vec![100, 250]
        .into_iter()
        .map(|now| {
            assert_eq!(system.gates[0].refresh(100, now), Some(100));
            let notice = system.gates[0].owed(SERVER).unwrap();
            system.gates[0].told(SERVER, notice);
            notice.delay().ticks
        })
        .collect();
    assert_eq!(told, [100, 250]);
    system.gates[0].park(false, 300);
    assert_eq!(system.gates[0].refresh(100, 300), None);
}
