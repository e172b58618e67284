//! The serial link: UART1 of core 0, UART2 of core 1, joined outside the board.
use crate::{Side, Verdict, check};
use embassy_futures::join::join;
use embassy_time::Timer;
use embedded_io_async::{Read, Write};
use stillpoint_agent::platform::uart::{self, UartRx, UartTx};

/// Bytes that repeat after 2^32 - 1 only, so that a lost or doubled byte shows.
struct Bytes(u32);

impl Bytes {
    fn next(&mut self) -> u8 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        (self.0 >> 24) as u8
    }
}

/// The seed of what a core sends.
fn seed(first: bool) -> u32 {
    if first { 0x1234_5678 } else { 0x9ABC_DEF1 }
}

async fn send(tx: &mut UartTx, seed: u32, count: usize) {
    let mut bytes = Bytes(seed);
    let mut left = count;
    while left > 0 {
        let mut chunk = [0; 100];
        let chunk = &mut chunk[..left.min(100)];
        chunk.fill_with(|| bytes.next());
        let Ok(()) = tx.write_all(chunk).await;
        left -= chunk.len();
    }
}

async fn receive(rx: &mut UartRx, seed: u32, count: usize) -> Verdict {
    let mut bytes = Bytes(seed);
    let mut left = count;
    while left > 0 {
        let mut chunk = [0; 64];
        let Ok(length) = rx.read(&mut chunk[..left.min(64)]).await;
        check(chunk[..length].iter().all(|&byte| byte == bytes.next()), "a byte is missing or wrong")?;
        left -= length;
    }
    check(uart::overruns(1) == 0 && uart::overruns(2) == 0, "there were overruns")
}

pub async fn carries_64k(side: &mut Side) -> Verdict {
    const COUNT: usize = 64 * 1024;
    let first = side.is_first();
    let Side { rx, tx, .. } = side;
    join(send(tx, seed(first), COUNT), receive(rx, seed(!first), COUNT)).await.1
}

pub async fn slow_reader_loses_nothing(side: &mut Side) -> Verdict {
    // Far more than the receiver holds.
    const COUNT: usize = 4 * 1024;
    if side.is_first() {
        send(&mut side.tx, seed(true), COUNT).await;
        return Ok(());
    }
    Timer::after_millis(50).await;
    receive(&mut side.rx, seed(true), COUNT).await
}
