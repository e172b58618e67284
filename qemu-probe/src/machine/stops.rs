//! How often a machine was stopped.

use super::MachineError;
use super::detached::RunDir;
use std::fs::File;
use std::io::{self, Write as _};
use std::sync::Arc;

/// The stops of a machine: a file that grows by one byte with each, so that all processes that debug it count together.
#[derive(Clone, Debug)]
pub(crate) struct StopCount(Arc<File>);

impl StopCount {
    /// The count of a machine: in its run directory, if it has one.
    pub(super) fn of(run_dir: Option<&RunDir>) -> Result<Self, MachineError> {
        let file = match run_dir {
            Some(run_dir) => File::options().append(true).create(true).open(run_dir.stops()),
            None => tempfile::tempfile(),
        };
        file.map(|file| Self(Arc::new(file))).map_err(MachineError::io("opening the count of stops"))
    }

    /// Counts one stop.
    pub(crate) fn add(&self) -> io::Result<()> {
        (&*self.0).write_all(b".")
    }

    pub(super) fn get(&self) -> io::Result<u64> {
        self.0.metadata().map(|meta| meta.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debuggers_of_one_machine_count_together_and_each_machine_begins_at_zero() {
        let folder = tempfile::tempdir().unwrap();
        let run_dir = RunDir::create(folder.path().into()).unwrap();
        let [one, other] = [(); 2].map(|()| StopCount::of(Some(&run_dir)).unwrap());
        assert_eq!(one.get().unwrap(), 0);
        one.add().unwrap();
        other.add().unwrap();
        one.add().unwrap();
        assert_eq!([one.get().unwrap(), other.get().unwrap()], [3, 3]);
        let run_dir = RunDir::create(folder.path().into()).unwrap();
        assert_eq!(StopCount::of(Some(&run_dir)).unwrap().get().unwrap(), 0);
        let own = StopCount::of(None).unwrap();
        own.add().unwrap();
        assert_eq!(own.get().unwrap(), 1);
    }
}
