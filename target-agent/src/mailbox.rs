//! A mailbox: messages from a task of one core to a task of another, in order, through shared RAM and a doorbell.
use crate::doorbell::{ClaimError, Waiter};
use crate::platform::{CoreId, Platform};
use core::future::poll_fn;
use core::task::{Context, Poll};
use heapless::spsc::{Consumer, Producer, Queue};

/// The memory of a mailbox. It holds `N - 1` messages.
///
/// # Example: core 0 asks, core 1 doubles
/// ```
/// use stillpoint_agent::doorbell::ClaimError;
/// use stillpoint_agent::mailbox::{Ends, Mailbox, Receiver, Sender};
/// use stillpoint_agent::platform::{CoreId, Platform};
///
/// fn open<P: Platform>(memory: &'static mut Mailbox<u32, 8>) -> Result<Ends<P, u32>, ClaimError> {
///     memory.open(CoreId::ZERO, CoreId::ONE)
/// }
/// async fn ask<P: Platform>(questions: &mut Sender<P, u32>, answers: &mut Receiver<P, u32>) -> u32 {
///     questions.send(21).await;
///     answers.receive().await
/// }
/// async fn answer<P: Platform>(questions: &mut Receiver<P, u32>, answers: &mut Sender<P, u32>) {
///     let question = questions.receive().await;
///     answers.send(2 * question).await;
/// }
/// ```
pub struct Mailbox<T, const N: usize>(Queue<T, N>);

impl<T, const N: usize> Mailbox<T, N> {
    /// An empty mailbox.
    #[must_use]
    pub const fn new() -> Self {
        Self(Queue::new())
    }

    /// Its two ends. Each works on its own core only, and may be moved there.
    ///
    /// # Errors
    /// [`ClaimError::NoneLeft`] when a core has no place left to wait at.
    pub fn open<P: Platform>(&'static mut self, from: CoreId, to: CoreId) -> Result<Ends<P, T>, ClaimError> {
        let room = P::doorbells().claim(from)?;
        let mail = P::doorbells().claim(to)?;
        let (producer, consumer) = self.0.split();
        Ok((Sender { queue: producer, room, mail }, Receiver { queue: consumer, room, mail }))
    }
}

impl<T, const N: usize> Default for Mailbox<T, N> {
    fn default() -> Self {
        Self::new()
    }
}

/// Both ends of a mailbox.
pub type Ends<P, T> = (Sender<P, T>, Receiver<P, T>);

/// The end that puts messages in.
pub struct Sender<P: Platform, T: 'static> {
    queue: Producer<'static, T>,
    room: Waiter<P>,
    mail: Waiter<P>,
}

impl<P: Platform, T> Sender<P, T> {
    /// Puts a message in.
    ///
    /// # Errors
    /// Gives the message back when the mailbox is full.
    pub fn try_send(&mut self, message: T) -> Result<(), T> {
        self.queue.enqueue(message)?;
        self.mail.ring();
        Ok(())
    }

    /// Puts a message in as soon as there is room. Dropped before that, nothing was sent.
    pub async fn send(&mut self, message: T) {
        let mut unsent = Some(message);
        poll_fn(|context| self.poll_send(&mut unsent, context)).await;
    }

    fn poll_send(&mut self, unsent: &mut Option<T>, context: &Context<'_>) -> Poll<()> {
        let Some(message) = unsent.take() else { return Poll::Ready(()) };
        let Err(message) = self.try_send(message) else { return Poll::Ready(()) };
        self.room.wait(context.waker());
        match self.try_send(message) {
            Ok(()) => {
                self.room.stop_waiting();
                Poll::Ready(())
            }
            Err(message) => {
                *unsent = Some(message);
                Poll::Pending
            }
        }
    }
}

/// The end that takes messages out.
pub struct Receiver<P: Platform, T: 'static> {
    queue: Consumer<'static, T>,
    room: Waiter<P>,
    mail: Waiter<P>,
}

impl<P: Platform, T> Receiver<P, T> {
    /// Takes the oldest message, if there is one.
    pub fn try_receive(&mut self) -> Option<T> {
        let message = self.queue.dequeue()?;
        self.room.ring();
        Some(message)
    }

    /// Takes the oldest message as soon as there is one. Dropped before that, nothing was taken.
    pub async fn receive(&mut self) -> T {
        poll_fn(|context| self.poll_receive(context)).await
    }

    fn poll_receive(&mut self, context: &Context<'_>) -> Poll<T> {
        if let Some(message) = self.try_receive() {
            return Poll::Ready(message);
        }
        self.mail.wait(context.waker());
        match self.try_receive() {
            Some(message) => {
                self.mail.stop_waiting();
                Poll::Ready(message)
            }
            None => Poll::Pending,
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use crate::fake::{self, Fake, Flag};
    use std::boxed::Box;

    fn mailbox() -> Ends<Fake, u32> {
        Box::leak(Box::new(Mailbox::<u32, 3>::new())).open(CoreId::ZERO, CoreId::ONE).unwrap()
    }

    #[test]
    fn messages_arrive_in_the_order_they_were_sent() {
        let _alone = fake::begin();
        let (mut sender, mut receiver) = mailbox();
        sender.try_send(1).unwrap();
        sender.try_send(2).unwrap();
        assert_eq!([receiver.try_receive(), receiver.try_receive(), receiver.try_receive()], [Some(1), Some(2), None]);
    }

    #[test]
    fn a_full_mailbox_gives_the_message_back() {
        let _alone = fake::begin();
        let (mut sender, _receiver) = mailbox();
        sender.try_send(1).unwrap();
        sender.try_send(2).unwrap();
        assert_eq!(sender.try_send(3), Err(3));
    }

    #[test]
    fn a_receiver_that_waits_is_woken_by_the_message() {
        let _alone = fake::begin();
        let (mut sender, mut receiver) = mailbox();
        let woken = Flag::new();
        let waker = woken.waker();
        let context = Context::from_waker(&waker);
        assert!(fake::on(CoreId::ONE, || receiver.poll_receive(&context).is_pending()));
        sender.try_send(7).unwrap();
        fake::deliver_bells();
        assert!(woken.is_set());
        assert_eq!(fake::on(CoreId::ONE, || receiver.poll_receive(&context)), Poll::Ready(7));
    }

    #[test]
    fn a_sender_that_waits_is_woken_by_the_first_free_place() {
        let _alone = fake::begin();
        let (mut sender, mut receiver) = mailbox();
        sender.try_send(1).unwrap();
        sender.try_send(2).unwrap();
        let woken = Flag::new();
        let waker = woken.waker();
        let mut unsent = Some(3);
        let context = Context::from_waker(&waker);
        assert!(sender.poll_send(&mut unsent, &context).is_pending());
        assert_eq!(fake::on(CoreId::ONE, || receiver.try_receive()), Some(1));
        fake::deliver_bells();
        assert!(woken.is_set());
        assert!(sender.poll_send(&mut unsent, &context).is_ready());
        assert_eq!([receiver.try_receive(), receiver.try_receive()], [Some(2), Some(3)]);
    }

    #[test]
    fn a_message_to_a_busy_receiver_rings_no_bell() {
        let _alone = fake::begin();
        let (mut sender, _receiver) = mailbox();
        sender.try_send(1).unwrap();
        assert_eq!(fake::bells_rung(), 0);
    }
}
