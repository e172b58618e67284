//! Commands of the host: what only the agent can check, then the node's own step.
use super::local::Local;
use crate::platform::Platform;
use stillpoint_core::control::{Refusal, RefusalCode};
use stillpoint_core::log::LogRing;
use stillpoint_core::predicate::{self, Matcher, Program, SlotSet};
use stillpoint_core::{Command, EventKind, Input, PortId};

impl<const N: usize, const PORTS: usize> Local<N, PORTS> {
    /// Does what the host asks for, or says why not; then nothing has changed.
    pub fn command<P: Platform, const LOG: usize>(
        &mut self,
        ring: &LogRing<LOG>,
        command: Command<'_>,
    ) -> Result<(), Refusal> {
        if let Command::Install { program, .. } = command
            && predicate::BUILT_IN
        {
            self.check_program(program)?;
        }
        // A refusal is the host's to know, by the answer: it is not counted among the steps that the node refused.
        let effects = self.node.step(Input::Command(command))?;
        self.is_recording_told &= !matches!(command, Command::Record(_));
        self.settle_all::<P, LOG>(ring, effects);
        Ok(())
    }

    /// A program may ask only for watches and ports that the firmware has opened: others would never come true, and
    /// nobody would know why. The node itself does not know how many watches were opened.
    fn check_program(&self, bytes: &[u8]) -> Result<(), Refusal> {
        let program = Program::verify(bytes).map_err(stillpoint_core::StepError::Program)?;
        let missing = u32::from(program.watches_read()) & !((1 << self.watches) - 1);
        if missing != 0 {
            return Err(Refusal { code: RefusalCode::NoSuchWatch, value: missing.trailing_zeros() });
        }
        for term in program.terms() {
            let Matcher::Event { kind, argument: Some(port) } = term.matcher else { continue };
            let names_a_port =
                matches!(kind, EventKind::Send | EventKind::Receive | EventKind::LinkUp | EventKind::LinkDown);
            let is_connected = u8::try_from(port).is_ok_and(|port| self.node.count(PortId(port)).is_some());
            if names_a_port && !is_connected {
                return Err(Refusal { code: RefusalCode::NoSuchPort, value: port.into() });
            }
        }
        Ok(())
    }

    /// Notes in the control block which event advanced which predicates, and to which stage.
    pub fn note_advanced(&self, advanced: SlotSet) {
        for slot in advanced.iter() {
            if let (Some(block), Some(reached)) =
                (self.slots.get(usize::from(slot.number())), self.node.predicate_marker(slot))
            {
                block.satisfy(reached.stage(), self.node.number().0);
            }
        }
    }
}
