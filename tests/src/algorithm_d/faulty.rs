//! Gates that are wrong on purpose: each is a mistake that somebody made or could make, and that a test must catch.
use super::online::{Door, Table};
use stillpoint_core::NodeId;
use stillpoint_core::delay::{Ask, Delay, Effect, Notice, NoticeError, Tell, ThreadId, ThreadSet};

/// What is wrong with a [`Faulty`] gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing: to show that it is the fault, and not the rest of the gate, that a test catches.
    None,
    /// Appendix A as printed: when a thread asks, an alarm is set on the clock of whoever is furthest behind just then,
    /// and when it rings the thread goes, whatever happened to the others.
    AlarmSetOnce,
    /// Works out once, when a thread asks, how long it has to wait, and never looks at a change again.
    NeverReevaluates,
    /// Waits also for those that are exactly as far behind.
    WaitsForEquals,
}

/// A plain gate for all doors, without the shipped one's economy, and with a fault.
pub struct Faulty {
    fault: Fault,
    access: Table,
    accounts: Vec<Account>,
    held: Vec<Held>,
}

#[derive(Clone, Copy, Default)]
struct Account {
    delay: Delay,
    growing_since: Option<u64>,
}

#[derive(Clone, Copy)]
struct Held {
    thread: ThreadId,
    server: NodeId,
    /// For [`Fault::AlarmSetOnce`].
    furthest_behind: ThreadId,
    /// For [`Fault::NeverReevaluates`].
    until: u64,
}

impl Faulty {
    /// A gate with this fault.
    #[must_use]
    pub fn new(fault: Fault, access: Table) -> Self {
        Self { fault, access, accounts: vec![Account::default(); super::online::THREADS], held: Vec::new() }
    }

    fn delay(&self, thread: ThreadId, now: u64) -> u64 {
        let account = self.accounts[usize::from(thread.0)];
        account.delay.ticks + account.growing_since.map_or(0, |since| now.saturating_sub(since))
    }

    fn others(&self, thread: ThreadId, server: NodeId) -> impl Iterator<Item = ThreadId> {
        self.access.clients(server).without(thread).iter()
    }

    fn may_go(&self, held: &Held, now: u64) -> bool {
        let own = self.delay(held.thread, now);
        match self.fault {
            Fault::None => self.others(held.thread, held.server).all(|other| own >= self.delay(other, now)),
            Fault::WaitsForEquals => self.others(held.thread, held.server).all(|other| own > self.delay(other, now)),
            Fault::AlarmSetOnce => own >= self.delay(held.furthest_behind, now),
            Fault::NeverReevaluates => now >= held.until,
        }
    }

    fn decide(&mut self, now: u64) -> Vec<Effect> {
        let mut effects = Vec::new();
        while let Some(index) = self.held.iter().position(|held| self.may_go(held, now)) {
            let Held { thread, server, .. } = self.held.remove(index);
            let turn = self.accounts[usize::from(thread.0)].delay.turn + 1;
            let delay = Delay { ticks: self.delay(thread, now), turn };
            self.accounts[usize::from(thread.0)] = Account { delay, growing_since: None };
            let notice = Notice::Resumed { thread, delay };
            effects.push(Effect::Tell(Tell { to: self.access.servers(thread), notice }));
            effects.push(Effect::Admit { thread, server, delay });
        }
        effects
    }
}

impl Door for Faulty {
    fn ask(&mut self, ask: Ask, now: u64) -> Vec<Effect> {
        let (thread, server) = (ask.thread(), ask.server());
        let furthest_behind = self.others(thread, server).max_by_key(|&other| self.delay(other, now)).unwrap_or(thread);
        let missing = self.delay(furthest_behind, now).saturating_sub(ask.delay().ticks);
        let delay = Delay { turn: ask.delay().turn + 1, ..ask.delay() };
        self.accounts[usize::from(thread.0)] = Account { delay, growing_since: Some(now) };
        self.held.push(Held { thread, server, furthest_behind, until: now + missing });
        let mut effects = self.decide(now);
        if self.held.iter().any(|held| held.thread == thread) {
            let notice = Notice::Suspended { thread, delay, waits_for: ThreadSet::EMPTY };
            effects.push(Effect::Tell(Tell { to: self.access.servers(thread), notice }));
        }
        effects
    }

    fn hear(&mut self, notice: Notice, now: u64) -> Result<Vec<Effect>, NoticeError> {
        let thread = notice.thread();
        if !self.held.iter().any(|held| held.thread == thread) {
            let growing_since = matches!(notice, Notice::Suspended { .. }).then_some(now);
            self.accounts[usize::from(thread.0)] = Account { delay: notice.delay(), growing_since };
        }
        Ok(self.decide(now))
    }

    fn recheck(&mut self, now: u64) -> Vec<Effect> {
        self.decide(now)
    }

    fn next_alarm(&self) -> Option<u64> {
        // The first tick at which anything that now stands still is passed: the far end of that is the largest delay.
        let due = |held: &Held| {
            let since = self.accounts[usize::from(held.thread.0)].growing_since?;
            let own = self.accounts[usize::from(held.thread.0)].delay.ticks;
            let standing =
                self.accounts.iter().filter(|other| other.growing_since.is_none()).map(|other| other.delay.ticks);
            (since..=since + standing.max()?.saturating_sub(own) + 1).find(|&now| self.may_go(held, now))
        };
        self.held.iter().filter_map(due).min()
    }
}
