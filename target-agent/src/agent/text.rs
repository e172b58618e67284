//! Where the node stands when its core logs a line.
use super::Agents;
use crate::log::Standing;
use crate::platform::Platform;

impl<P: Platform, const N: usize, const PORTS: usize, const LOG: usize> Standing for Agents<P, N, PORTS, LOG> {
    // Small rather than fast: whoever logs a line spends far more on its text.
    #[inline(never)]
    fn place(&self, whole: bool, put: &mut dyn FnMut(&[u8])) -> bool {
        self.local.with(|local| {
            // Somebody logs from inside a step, or after a crash inside one: there is no answer, and no harm.
            let Some(mut local) = local.try_borrow_mut() else { return false };
            let local = &mut *local;
            local.placer.place(whole, local.node.clock().entries(), |byte| put(&[byte]));
            true
        })
    }
}
