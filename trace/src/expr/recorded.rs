//! The names of a trace, from its header.
use super::{Directory, NodeNames, PortNames};
use crate::{Header, NodeInfo};
use stillpoint_core::{Direction, NodeId, PortId};

impl Directory {
    /// Every name that an expression may use on a trace: all that the header carries.
    ///
    /// # Example: no board is needed
    /// ```
    /// use stillpoint_trace::{Sketch, expr};
    /// let mut sketch = Sketch::new(&["a", "b"]);
    /// let directory = expr::Directory::of_trace(sketch.header());
    /// let expression = expr::parse("a:send(to_b) -> b:recv(from_a)")?;
    /// assert!(expr::resolve(&expression, &directory).is_ok());
    /// # Ok::<(), expr::ExprError>(())
    /// ```
    #[must_use]
    pub fn of_trace(header: &Header) -> Self {
        Self { nodes: header.nodes.iter().map(|node| names_of(header, node)).collect(), recorded: true }
    }
}

fn names_of(header: &Header, node: &NodeInfo) -> NodeNames {
    let board = header.boards.get(node.board);
    let port = |port: &crate::PortInfo| PortNames {
        id: PortId(port.id),
        name: Some(port.name.clone()),
        direction: if port.out { Direction::Out } else { Direction::In },
        peer: NodeId(port.peer),
    };
    let names = board.into_iter().flat_map(|board| &board.names);
    NodeNames {
        id: NodeId(node.id),
        name: Some(node.name.clone()),
        aliases: board.map(|board| format!("{}.{}", board.name, node.core)).into_iter().collect(),
        watches: node.watches.iter().map(|number| header.text(node.id, "watch", *number).map(str::to_owned)).collect(),
        ports: node.ports.iter().map(port).collect(),
        tags: names.map(|name| (name.kind.clone(), name.number, name.text.clone())).collect(),
        // In a trace every event has its whole clock.
        knows_all_clocks: true,
    }
}
