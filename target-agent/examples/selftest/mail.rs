//! Messages and wakes across cores, by the primitives of embassy-sync.
use crate::{Side, Verdict, check};
use embassy_futures::join::join;
use embassy_sync::blocking_mutex::raw::CriticalSectionRawMutex;
use embassy_sync::signal::Signal;

pub async fn loses_nothing(side: &mut Side) -> Verdict {
    const MESSAGES: u32 = 20_000;
    let Side { mail_out, mail_in, .. } = side;
    let send = async {
        for number in 0..MESSAGES {
            mail_out.send(number).await;
        }
    };
    let receive = async {
        for number in 0..MESSAGES {
            check(mail_in.receive().await == number, "a message is missing or out of order")?;
        }
        Ok(())
    };
    join(send, receive).await.1
}

pub async fn wakes_cross_cores(side: &mut Side) -> Verdict {
    static SIGNALS: [Signal<CriticalSectionRawMutex, u32>; 2] = [Signal::new(), Signal::new()];
    let (own, others) = if side.is_first() { (&SIGNALS[0], &SIGNALS[1]) } else { (&SIGNALS[1], &SIGNALS[0]) };
    for number in 0..500 {
        if side.is_first() {
            others.signal(number);
        }
        check(own.wait().await == number, "a signal is missing")?;
        if !side.is_first() {
            others.signal(number);
        }
    }
    Ok(())
}
