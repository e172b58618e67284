//! Sends the last byte of its words over UART 1, waits for the peer's, prints both through semihosting and exits with 3.
#![no_std]
#![no_main]

use core::ffi::CStr;
use qemu_probe_test_firmware::{exit, print, uart_init, uart_receive, uart_send, words, write};

#[cortex_m_rt::entry]
fn main() -> ! {
    let mut line = *b"hello \0...........................................................";
    let len = words(&mut line[6..64]);
    // The space after the last word ends the text.
    line[5 + len] = 0;
    let Ok(text) = CStr::from_bytes_until_nul(&line) else { exit(9) };
    print(text);
    let me = text.to_bytes().last().copied().unwrap_or(b'?');
    // QEMU looks for received bytes only when its main loop turns, so something must turn it: a running timer does.
    write(0xE000_E014, 100_000);
    write(0xE000_E010, 5);
    uart_init(0);
    uart_init(1);
    for byte in b"uart 0 speaks\n" {
        uart_send(0, *byte);
    }
    uart_send(1, me);
    let peer = [b' ', b'm', b'e', b't', b' ', uart_receive(1), b'\n', 0];
    print(CStr::from_bytes_until_nul(&peer).unwrap_or_default());
    exit(3)
}
