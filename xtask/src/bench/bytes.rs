//! Bytes: of records and stamps, which a program measures; of flash and RAM, which the images of the demos tell.
use serde_json::{Value, json};

use super::Section;
use super::section::{Profile, Table, from_program};
use crate::footprint::{Footprint, PURPOSES, Pair};
use crate::say::say;
use crate::toolchain::{CORTEX_M33, Toolchain};

/// Runs the program, builds the demos, and makes one section of both.
pub fn measure(program: &str) -> anyhow::Result<Section> {
    let mut section = from_program(program, Profile::Release, &[])?;
    say("size", "the demos with the kit and without it");
    add(&mut section, &Pair::of_every_demo(Toolchain::ready(&[CORTEX_M33])?)?);
    Ok(section)
}

fn add(section: &mut Section, pairs: &[Pair]) {
    let columns = ["demo", "what", "with the kit", "without", "kit"].map(str::to_owned).to_vec();
    let rows = pairs.iter().flat_map(rows).collect();
    let caption =
        "Flash and RAM of the demos, two nodes each, in bytes (`cargo xtask size --verbose` says where in the source):";
    section.tables.push(Table { caption: caption.into(), columns, rows });
    let rows = pairs.iter().map(|pair| vec![json!(pair.name), json!(pair.kit_flash()), json!(pair.kit_ram_per_node())]);
    section.tables.push(Table {
        caption: "What the kit adds; logs, message buffers and link windows are apart, in the table above:".into(),
        columns: ["demo", "flash", "RAM per node"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    });
    let rows = pairs.iter().flat_map(|pair| pair.parts.iter().map(move |part| (pair, part)));
    section.tables.push(Table {
        caption: "The same by parts: the least kit (halting, log, clocks, links, crashes, the host's commands), and what each feature adds to that:".into(),
        columns: ["demo", "part", "flash", "RAM per node"].map(str::to_owned).to_vec(),
        rows: rows
            .map(|(pair, part)| vec![json!(pair.name), json!(part.name), json!(part.flash), json!(part.ram_per_node)])
            .collect(),
    });
    for pair in pairs {
        section.counts.insert(format!("flash of the kit, {}", pair.name), pair.kit_flash().into());
        section.counts.insert(format!("RAM of the kit per node, {}", pair.name), pair.kit_ram_per_node().into());
    }
}

fn rows(pair: &Pair) -> Vec<Vec<Value>> {
    let signed = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
    let row = |what: &str, of: &dyn Fn(&Footprint) -> u64| {
        let (with, without) = (of(&pair.with), of(&pair.without));
        vec![json!(pair.name), json!(what), json!(with), json!(without), json!(signed(with) - signed(without))]
    };
    let whole = [row("flash", &|it| it.flash), row("RAM", &|it| it.ram)];
    let named = |it: &Footprint| PURPOSES.iter().map(|(_, purpose)| it.serving(*purpose)).sum::<u64>();
    let parts = PURPOSES.iter().map(|(name, purpose)| row(&format!("RAM: {name}"), &|it| it.serving(*purpose)));
    let rest = row("RAM: tasks, drivers", &|it| it.ram.saturating_sub(named(it)));
    whole.into_iter().chain(parts).chain([rest]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::footprint::{Code, Purpose, Static};

    fn footprint(flash: u64, ram: u64, logs: u64) -> Footprint {
        let logs = Static { name: "LOGS".into(), size: logs, purpose: Purpose::LogRings };
        let code = Code { bytes: [].into(), touched: [].into() };
        Footprint { flash, initial: 0, ram, code, statics: vec![logs] }
    }

    #[test]
    fn flash_and_ram_are_counts_and_logs_are_apart() {
        let (with, without) = (footprint(9000, 5000, 2000), footprint(1000, 1000, 0));
        let pair = Pair { name: "demo".into(), elf: "demo".into(), with, without, left_over: vec![], parts: vec![] };
        let mut section = Section::default();
        add(&mut section, &[pair]);
        assert_eq!(section.number("flash of the kit, demo"), Some(8000.0));
        assert_eq!(section.number("RAM of the kit per node, demo"), Some(1000.0));
        let logs = ["demo", "RAM: log rings"].map(Value::from).into_iter().chain([2000, 0, 2000].map(Value::from));
        assert!(section.tables[0].rows.contains(&logs.collect()), "{:?}", section.tables[0]);
    }
}
