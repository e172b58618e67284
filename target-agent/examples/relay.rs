//! Messages go round four cores on two boards: through mailboxes inside a board, over UART1 between boards.
//!
//! ```text
//!        mailbox                mailbox
//!   A.0 ---------> A.1     B.0 ---------> B.1        A.0 starts 500 messages, numbered from 0, four at a time.
//!    ^              |       ^              |         Each core receives each message once, checks that it is the
//!    |              +-------+              |         next one and came by the right way, logs it and passes it on.
//!    |              UART1, A to B          |         Home again at A.0 it is done.
//!    +-------------------------------------+
//!                   UART1, B to A
//! ```
//! Both boards run this same program: core 0 owns the receiving half of UART1, core 1 the sending half. What you see is
//! `A.0 got 0` to `A.0 got 499` in the log of board A's core 0, likewise for the three others, and `done 500` at the end
//! of each; nothing dropped, no overrun. How to run it, and how the host knows that it ended: `README.md` beside this.
#![no_std]
#![no_main]

use core::sync::atomic::{AtomicU32, Ordering};
use crc::{CRC_32_ISCSI, Crc};
use defmt::info;
use embassy_executor::Spawner;
use embedded_io_async::{Read, Write};
use serde::{Deserialize, Serialize};
use static_cell::StaticCell;
use stillpoint_agent::executor::Executor;
use stillpoint_agent::mailbox::{Mailbox, Receiver, Sender};
use stillpoint_agent::platform::uart::{self, UartRx, UartTx};
use stillpoint_agent::platform::{self, BoardId, Chip, CoreId, Platform};

/// Messages that go round in all, and how many of them at once.
const MESSAGES: u32 = 500;
const IN_FLIGHT: u32 = 4;
const BAUD: u32 = 115_200;

/// How the demo stands, for the host to read: see `README.md` beside this.
#[repr(C)]
pub struct DemoStatus {
    magic: AtomicU32,
    total: AtomicU32,
    handled: [AtomicU32; 2],
    done: [AtomicU32; 2],
    overruns: AtomicU32,
}

/// The host finds it by this symbol.
#[unsafe(no_mangle)]
#[unsafe(link_section = ".shared")]
pub static STILLPOINT_DEMO_STATUS: DemoStatus = DemoStatus {
    magic: AtomicU32::new(0),
    total: AtomicU32::new(0),
    handled: [const { AtomicU32::new(0) }; 2],
    done: [const { AtomicU32::new(0) }; 2],
    overruns: AtomicU32::new(0),
};

/// What goes round.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Message {
    number: u32,
    /// How many cores have passed it on.
    hops: u8,
}

/// A core's place in the ring, and how far it is.
struct Station {
    board: BoardId,
    core: CoreId,
    handled: u32,
}

impl Station {
    fn new(board: BoardId) -> Self {
        Self { board, core: Chip::core(), handled: 0 }
    }

    /// How many hops a message has behind it when it arrives here.
    fn expected_hops(&self) -> u8 {
        match (self.board.0, self.core.index()) {
            (0, 0) => 4,
            (board, core) => 2 * board + core as u8,
        }
    }

    /// Checks and logs a message that arrived.
    fn got(&mut self, message: Message) {
        let Message { number, hops } = message;
        info!("{=char}.{=usize} got {=u32}", self.board.letter(), self.core.index(), number);
        assert!(number == self.handled, "message {number} arrived where {} was due", self.handled);
        assert!(
            hops == self.expected_hops(),
            "message {number} arrived after {hops} hops, not {}",
            self.expected_hops()
        );
        self.handled += 1;
        STILLPOINT_DEMO_STATUS.handled[self.core.index()].store(self.handled, Ordering::Relaxed);
    }

    /// Says that all is done. The log comes first, so whoever sees `done` finds the whole log.
    fn done(&self) {
        info!("done {=u32}", self.handled);
        STILLPOINT_DEMO_STATUS.overruns.store(uart::overruns(1), Ordering::Relaxed);
        STILLPOINT_DEMO_STATUS.done[self.core.index()].store(1, Ordering::Release);
    }
}

/// Core 0: what comes over the link goes to core 1. On board A messages also begin and end here.
#[embassy_executor::task]
async fn link_to_mailbox(board: BoardId, link: UartRx, mut next: Sender<Chip, Message>) {
    let mut station = Station::new(board);
    let mut frames = Frames::new(link);
    let first_board = board == BoardId(0);
    if first_board {
        for number in 0..IN_FLIGHT {
            next.send(Message { number, hops: 1 }).await;
        }
    }
    while station.handled < MESSAGES {
        let message = frames.receive().await;
        station.got(message);
        if !first_board {
            next.send(Message { hops: message.hops + 1, ..message }).await;
        } else if message.number + IN_FLIGHT < MESSAGES {
            next.send(Message { number: message.number + IN_FLIGHT, hops: 1 }).await;
        }
    }
    station.done();
}

/// Core 1: what is in the mailbox goes over the link.
#[embassy_executor::task]
async fn mailbox_to_link(board: BoardId, mut mailbox: Receiver<Chip, Message>, mut link: UartTx) {
    let mut station = Station::new(board);
    while station.handled < MESSAGES {
        let message = mailbox.receive().await;
        station.got(message);
        send_frame(&mut link, Message { hops: message.hops + 1, ..message }).await;
    }
    station.done();
}

const CRC: Crc<u32> = Crc::<u32>::new(&CRC_32_ISCSI);
/// Longest frame: 5 + 1 bytes of message, 4 of CRC, 2 of COBS.
const FRAME: usize = 12;

/// Sends a message as postcard, CRC, COBS.
async fn send_frame(link: &mut UartTx, message: Message) {
    let (mut plain, mut frame) = ([0; FRAME], [0; FRAME]);
    let plain = postcard::to_slice_crc32(&message, &mut plain, CRC.digest()).expect("a message fits its buffer");
    let length = cobs::encode(plain, &mut frame);
    frame[length] = 0;
    let Ok(()) = link.write_all(&frame[..=length]).await;
}

/// The frames that arrive on a link.
struct Frames {
    link: UartRx,
    frame: heapless::Vec<u8, FRAME>,
}

impl Frames {
    fn new(link: UartRx) -> Self {
        Self { link, frame: heapless::Vec::new() }
    }

    /// The next message. A frame that does not decode would be a loss, and this demo shows that there is none.
    async fn receive(&mut self) -> Message {
        self.frame.clear();
        loop {
            let mut byte = [0];
            let Ok(()) = self.link.read_exact(&mut byte).await else { unreachable!("a UART has no end") };
            if byte == [0] {
                let length = cobs::decode_in_place(&mut self.frame).expect("a frame in COBS");
                return postcard::from_bytes_crc32(&self.frame[..length], CRC.digest())
                    .expect("a message with its CRC");
            }
            self.frame.push(byte[0]).expect("no frame is longer than the longest message");
        }
    }
}

fn spawn(spawner: Spawner, task: Result<embassy_executor::SpawnToken<impl Sized>, embassy_executor::SpawnError>) {
    spawner.spawn(task.expect("each task is spawned once"));
}

#[cortex_m_rt::entry]
fn main() -> ! {
    static MAILBOX: StaticCell<Mailbox<Message, 8>> = StaticCell::new();
    static EXECUTORS: [StaticCell<Executor<Chip>>; 2] = [const { StaticCell::new() }; 2];
    platform::init();
    let board = Chip::board().expect("start the board with the word board=A or board=B");
    STILLPOINT_DEMO_STATUS.start();

    let (sender, receiver) = MAILBOX.init(Mailbox::new()).open(CoreId::ZERO, CoreId::ONE).expect("the first mailbox");
    let (receiving, sending) = uart::open(1, BAUD).expect("UART1 is free");
    Chip::start_core1(move || {
        let executor = EXECUTORS[1].init(Executor::new());
        executor.run(|spawner| spawn(spawner, mailbox_to_link(board, receiver, sending.claim())))
    })
    .expect("core 1 is started once");
    let executor = EXECUTORS[0].init(Executor::new());
    executor.run(|spawner| spawn(spawner, link_to_mailbox(board, receiving.claim(), sender)))
}

impl DemoStatus {
    /// Makes it valid, whatever the memory held before. The magic comes last.
    fn start(&self) {
        self.total.store(MESSAGES, Ordering::Relaxed);
        for word in self.handled.iter().chain(&self.done).chain([&self.overruns]) {
            word.store(0, Ordering::Relaxed);
        }
        self.magic.store(0x57A7_05D0, Ordering::Release);
    }
}
