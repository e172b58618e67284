//! `--order`: what counts as "happened before".
use stillpoint_trace::History;

/// Which order a command looks at.
#[derive(Clone, Copy, clap::Args)]
pub struct OrderArgs {
    /// The order to use: with the accesses of shared objects, or messages and calls alone.
    #[arg(long, value_name = "ORDER", default_value = "causality")]
    order: Order,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Order {
    /// Messages, calls and the order of accesses of shared objects.
    Causality,
    /// Messages and calls.
    Sync,
}

impl OrderArgs {
    /// Whether the accesses of shared objects are left out.
    pub fn is_sync(self) -> bool {
        matches!(self.order, Order::Sync)
    }

    /// A recording in this order.
    pub fn of(self, history: History) -> History {
        match self.order {
            Order::Causality => history.causality(),
            Order::Sync => history,
        }
    }
}
