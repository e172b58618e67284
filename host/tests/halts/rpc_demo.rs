//! The demo `rpc_timeouts` on two emulated boards, for every test of it.
#![allow(dead_code, reason = "each test uses a part of it")]
use crate::boards::{firmware, start, wait_for, wait_until_started};
use anyhow::bail;
use qemu_probe::{Link, Machine};
use stillpoint::{Firmware, Node, NodeAddress, System};
use stillpoint_core::Command;

pub const SERVER: usize = 0;
pub const NEAR_CLIENT: usize = 1;
pub const FAR_CLIENT: usize = 2;

/// The demo on two boards.
pub struct Demo {
    pub machines: [Machine; 2],
    pub system: System,
    pub firmware: Firmware,
}

/// What went wrong so far, over all nodes, and what went right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    pub calls: i32,
    pub timeouts: i32,
    pub late: i32,
    pub bites: i32,
}

impl Demo {
    pub fn start(words: &[&str]) -> anyhow::Result<Self> {
        let elf = firmware("rpc_timeouts")?;
        let (one, other) = Link::pair()?;
        let words = |board| [&[board], words].concat();
        let (a, board_a) = start(&elf, one, &words("board=A"))?;
        let (b, board_b) = start(&elf, other, &words("board=B"))?;
        let mut system = System::new(vec![board_a, board_b]);
        wait_until_started(&mut system)?;
        Ok(Self { machines: [a, b], system, firmware: Firmware::read(&elf)? })
    }

    pub fn at(node: usize) -> NodeAddress {
        NodeAddress { board: node / 2, core: node % 2 }
    }

    /// A node as it is now.
    pub fn node(&mut self, node: usize) -> anyhow::Result<Node> {
        self.system.command(Self::at(node), &Command::Report)?;
        Ok(self.system.node(Self::at(node))?)
    }

    pub fn watch(&self, node: &Node, name: &str) -> i32 {
        let known = |(number, value): &(u16, i32)| (self.firmware.name("watch", *number)? == name).then_some(*value);
        node.watches.iter().find_map(known).unwrap_or(0)
    }

    pub fn counts(&mut self) -> anyhow::Result<Counts> {
        let nodes = (0..4).map(|node| self.node(node)).collect::<anyhow::Result<Vec<Node>>>()?;
        let sum = |name| nodes.iter().map(|node| self.watch(node, name)).sum();
        let calls = self.watch(&nodes[NEAR_CLIENT], "calls") + self.watch(&nodes[FAR_CLIENT], "calls");
        Ok(Counts { calls, timeouts: sum("timeouts"), late: sum("late"), bites: sum("bites") })
    }

    /// All nodes, a line each: what they do, who stopped them, and their watches.
    fn describe(&mut self) -> anyhow::Result<String> {
        let line = |node: usize| {
            let node = self.node(node)?;
            let named =
                |(number, value): &(u16, i32)| Some(format!("{}={value}", self.firmware.name("watch", *number)?));
            let watches: Vec<String> = node.watches.iter().filter_map(named).collect();
            let order: Vec<u8> = node.order.iter().map(|node| node.0).collect();
            let (state, halt, fault) = (node.state, node.last_halt.0, &node.fault);
            Ok(format!(
                "node {}: {state:?}, halt {halt}, order {order:?}, {}, fault {fault:?}",
                node.id.0,
                watches.join(" ")
            ))
        };
        Ok((0..4).map(line).collect::<anyhow::Result<Vec<String>>>()?.join("\n"))
    }

    /// Waits until each client has made this many more calls.
    pub fn wait_for_calls(&mut self, more: i32) -> anyhow::Result<()> {
        for client in [NEAR_CLIENT, FAR_CLIENT] {
            let mut calls = || self.node(client).map(|node| self.watch(&node, "calls"));
            let before = calls()?;
            let made =
                wait_for(format!("node {client} makes {more} calls"), || Ok((calls()? - before >= more).then_some(())));
            if let Err(error) = made {
                bail!("{error}\n{}", self.describe()?);
            }
        }
        Ok(())
    }
}
