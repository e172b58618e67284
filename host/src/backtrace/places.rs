//! Where chosen nodes of a halted system stand in user code.
use super::{Frame, Unwinder};
use crate::{NodeAddress, System, SystemError};
use std::collections::HashMap;
use std::path::PathBuf;

/// Debug information of the firmwares that were looked at, read once each.
#[derive(Default)]
pub struct Unwinders(HashMap<PathBuf, Option<Unwinder>>);

impl System {
    /// The innermost frame of user code of each of these nodes; `None` where the debug information does not tell.
    ///
    /// Only for a system that is parked.
    ///
    /// # Errors
    /// A board could not be reached.
    pub fn places(&mut self, of: &[NodeAddress], unwinders: &mut Unwinders) -> Result<Vec<Option<Frame>>, SystemError> {
        self.while_frozen(|system| {
            let place = |at: &NodeAddress| {
                let board = &mut system.boards()[at.board];
                let path = board.firmware().path.clone();
                let unwinder = unwinders.0.entry(path.clone()).or_insert_with(|| Unwinder::read(&path).ok());
                board.backtrace(at.core, unwinder.as_ref()?).ok()?.user().cloned()
            };
            Ok(of.iter().map(place).collect())
        })
    }
}
