//! Walks the registered tests and reports each of them.
use core::fmt::Write;
use core::panic::PanicInfo;
use core::sync::atomic::{AtomicUsize, Ordering};
use cortex_m_semihosting::{debug, hprint, hprintln};
use stillpoint_core::on_target::UnitTest;

static PASSED: AtomicUsize = AtomicUsize::new(0);

/// Every registered test, in link order.
fn tests() -> &'static [UnitTest] {
    unsafe extern "C" {
        static __stillpoint_tests_start: [u32; 0];
        static __stillpoint_tests_stop: [u32; 0];
    }
    let (start, stop) = (&raw const __stillpoint_tests_start, &raw const __stillpoint_tests_stop);
    let count = (stop.addr() - start.addr()) / size_of::<UnitTest>();
    // SAFETY: the linker script puts nothing between the two symbols but the `UnitTest`s that the harness registers.
    unsafe { core::slice::from_raw_parts(start.cast(), count) }
}

#[cortex_m_rt::entry]
fn main() -> ! {
    crate::fault::prepare();
    for test in tests() {
        hprint!("test {} ... ", test.name);
        (test.run)();
        hprintln!("ok");
        PASSED.fetch_add(1, Ordering::Relaxed);
    }
    hprintln!("{} passed, 0 failed", tests().len());
    end(debug::EXIT_SUCCESS)
}

/// Ends the line of the test that runs, and the whole run.
pub fn fail(why: core::fmt::Arguments<'_>) -> ! {
    let passed = PASSED.load(Ordering::Relaxed);
    hprint!("FAILED at ");
    let _ = OneLine.write_fmt(why);
    hprintln!();
    hprintln!("{} passed, 1 failed, {} not run", passed, tests().len().saturating_sub(passed + 1));
    end(debug::EXIT_FAILURE)
}

/// Keeps an assertion's several lines on the line of its test.
struct OneLine;
impl Write for OneLine {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                hprint!(";");
            }
            hprint!("{}", line);
        }
        Ok(())
    }
}

fn end(status: debug::ExitStatus) -> ! {
    debug::exit(status);
    loop {
        cortex_m::asm::wfi();
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    match info.location() {
        Some(at) => fail(format_args!("{}:{}: {}", at.file(), at.line(), info.message())),
        None => fail(format_args!("an unknown place: {}", info.message())),
    }
}
