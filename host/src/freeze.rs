//! Looking at what lies still: by the agents of the cores, or because the probe stops them for the moment.
use crate::{Board, SessionError, System, SystemError};

/// Which cores of a board were stopped for a look, and are to go on after it.
#[must_use = "the cores stand until they are thawed"]
pub(crate) struct Frozen(Vec<usize>);

impl Board {
    /// Stops every core that runs, unless their agents keep all of them where they stand and have saved their registers. A
    /// board without a probe stays as it is.
    fn freeze(&mut self) -> Result<Frozen, SessionError> {
        if matches!(self.stands_by_its_agents(), Ok(true)) {
            return Ok(Frozen(Vec::new()));
        }
        let attaches = self.attached_session().is_none();
        let session = match self.session() {
            Err(SessionError::NoRegisters) => return Ok(Frozen(Vec::new())),
            session => session?,
        };
        if attaches {
            session.was_attached_for("a core does not stand by an agent that has saved its registers");
        }
        let running: Vec<usize> =
            (0..).zip(session.halted()?).filter(|(_, halted)| !halted).map(|(core, _)| core).collect();
        for (index, core) in running.iter().enumerate() {
            if let Err(error) = session.halt_core(*core) {
                thaw(session, &running[..index])?;
                return Err(error);
            }
        }
        Ok(Frozen(running))
    }

    fn thaw(&mut self, frozen: &Frozen) -> Result<(), SessionError> {
        self.attached_session().map_or(Ok(()), |session| thaw(session, &frozen.0))
    }
}

/// Lets these cores run, every one that will.
fn thaw(session: &mut crate::Session, cores: &[usize]) -> Result<(), SessionError> {
    let fail = |what| move |source| SessionError::Probe { what, source };
    let mut result = Ok(());
    for core in cores {
        let run = session.probe().core(*core).map_err(fail("reach a core"));
        result = result.and(run.and_then(|mut core| core.run().map_err(fail("let a core run"))));
    }
    result
}

impl System {
    /// Whether no core was stopped in the middle of writing its control block.
    pub(crate) fn is_steady(&mut self) -> Result<bool, SystemError> {
        let boards = 0..self.boards().len();
        boards.into_iter().try_fold(true, |steady, board| Ok(steady && self.on(board, Board::is_steady)?))
    }

    /// Looks at boards whose cores stand still for the moment, and lets them go on as they were, whatever the look brings.
    ///
    /// Only for a system that is parked: its cores do nothing then but wait for the host and keep their links up. They
    /// wait with their interrupts masked, so nothing is lost if the probe has to stop them to read their registers.
    pub(crate) fn while_frozen<R>(
        &mut self,
        look: impl FnOnce(&mut Self) -> Result<R, SystemError>,
    ) -> Result<R, SystemError> {
        let mut frozen = Vec::new();
        let mut failed = None;
        for board in self.boards() {
            match board.freeze() {
                Ok(cores) => frozen.push(cores),
                Err(source) => {
                    failed = Some(SystemError::Session { board: board.name().to_owned(), source });
                    break;
                }
            }
        }
        let found = failed.map_or_else(|| look(self), Err);
        let mut thawed = Ok(());
        for (board, cores) in self.boards().iter_mut().zip(&frozen) {
            let name = board.name().to_owned();
            thawed = thawed.and(board.thaw(cores).map_err(|source| SystemError::Session { board: name, source }));
        }
        let found = found?;
        thawed.map(|()| found)
    }
}
