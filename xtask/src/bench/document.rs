//! BENCHMARKS.md, from the record alone.
use std::fmt::Write as _;

use serde_json::Value;

use super::goals::{GOALS, Goal, Standing};
use super::section::Table;
use super::{Record, Section};

const HOW: &str = "\
# What it costs

Written by `cargo xtask bench` from `bench/recorded.json`, which it writes too; edit neither.

```text
cargo xtask bench                  measure everything, and write this file
cargo xtask bench target bytes     measure these sections anew and keep the others as recorded
cargo xtask bench --check          write nothing; fail if an instruction or byte count grew by more than 5%
```

Counts of instructions and bytes do not depend on the machine: two runs give the same. Times do, and are only shown.

## The goals

";

const AFTER_GOALS: &str = "
References are constants taken over from the design's table of goals, not measured by this command: SystemView is SEGGER's
target code, modality-probe Auxon's crate of that name, defmt the crate with its RTT transport (which the section on the
target measures as well), the plain loop a merge written by hand.
";

/// The whole file.
pub fn document(record: &Record) -> String {
    let mut text = HOW.to_owned();
    text.push_str(&table(&goal_table(record)));
    text.push_str(AFTER_GOALS);
    let missed: Vec<(&Goal, f64)> = GOALS.iter().filter_map(|goal| Some((goal, goal.missed_by(record)?))).collect();
    if !missed.is_empty() {
        text.push_str("\n### Not met yet\n\n");
    }
    for (goal, figure) in missed {
        let figure = number(figure);
        let _ = writeln!(
            text,
            "- **{}**: {figure}, goal {}. Cause: {} Next: {}",
            goal.measure, goal.limit, goal.cause, goal.idea
        );
    }
    for section in record.sections.values() {
        text.push('\n');
        text.push_str(&section_text(section));
    }
    text
}

/// One section, as it stands in the file.
pub fn section_text(section: &Section) -> String {
    let mut parts = vec![format!("## {}\n", section.title)];
    parts.push(paragraph(&section.text));
    for it in &section.tables {
        parts.push(paragraph(&it.caption));
        parts.push(table(it));
    }
    parts.extend(section.pictures.iter().map(|picture| format!("![{}]({})\n", picture.alt, picture.file)));
    parts.push(paragraph(&section.after));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn paragraph(text: &str) -> String {
    if text.trim().is_empty() { String::new() } else { format!("{}\n", text.trim()) }
}

fn goal_table(record: &Record) -> Table {
    let columns = ["measure", "reference", "goal", "ours", ""].map(str::to_owned).to_vec();
    let row = |goal: &Goal| {
        let (ours, verdict) = match goal.standing(record) {
            Standing::Met(figure) => (number(figure), "met"),
            Standing::Missed(figure) => (number(figure), "**missed**"),
            Standing::Unknown => (String::new(), "not measured"),
        };
        [goal.measure.to_owned(), goal.reference.to_owned(), goal.limit.to_string(), ours, verdict.to_owned()]
            .map(Value::String)
            .to_vec()
    };
    Table { caption: String::new(), columns, rows: GOALS.iter().map(row).collect() }
}

/// At most two decimals, and none if there are none.
fn number(figure: f64) -> String {
    let text = format!("{figure:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

fn cell(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    // A bar or a line break would end the cell.
    text.replace('|', "\\|").replace('\n', " ")
}

/// A table whose columns line up, to be read as it is as well.
fn table(table: &Table) -> String {
    let head = table.columns.iter().map(|name| cell(&Value::String(name.clone()))).collect::<Vec<_>>();
    let rows: Vec<Vec<String>> = table.rows.iter().map(|row| row.iter().map(cell).collect()).collect();
    let width = |column: usize| {
        let cells = rows.iter().chain([&head]).filter_map(|row| row.get(column));
        cells.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let is_number = |column: usize| {
        let filled = table.rows.iter().filter_map(|row| row.get(column)).filter(|value| !value.is_null());
        filled.clone().count() > 0 && filled.clone().all(Value::is_number)
    };
    let mut text = String::new();
    let mut line = |cells: &[String]| {
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match is_number(column) {
                true => write!(text, "| {cell:>width$} "),
                false => write!(text, "| {cell:<width$} "),
            };
        }
        text.push_str("|\n");
    };
    line(&head);
    let rule = widths.iter().enumerate().map(|(column, &width)| match is_number(column) {
        true => format!("{}:", "-".repeat(width.saturating_sub(1).max(1))),
        false => "-".repeat(width.max(1)),
    });
    line(&rule.collect::<Vec<_>>());
    rows.iter().for_each(|row| line(row));
    text
}

#[cfg(test)]
mod tests {
    use super::super::Which;
    use super::*;
    use serde_json::json;

    fn shown() -> Section {
        serde_json::from_value(json!({
            "title": "Bytes", "text": "What a record takes.\n",
            "tables": [{ "caption": "By kind:", "columns": ["kind", "bytes"], "rows": [["local", 2.5], ["a|b", 10]] }],
            "pictures": [{ "file": "docs/a.svg", "alt": "curve" }], "after": "The end.",
        }))
        .unwrap()
    }

    #[test]
    fn a_section_is_its_words_tables_and_pictures_in_order() {
        let expected = "## Bytes\n\nWhat a record takes.\n\nBy kind:\n\n\
            | kind  | bytes |\n| ----- | ----: |\n| local |   2.5 |\n| a\\|b  |    10 |\n\n\
            ![curve](docs/a.svg)\n\nThe end.\n";
        assert_eq!(section_text(&shown()), expected);
    }

    #[test]
    fn sections_stand_in_their_order_and_a_goal_without_figure_says_so() {
        let named = |title: &str| Section { title: title.into(), ..Section::default() };
        let record = Record { sections: [(Which::Scaling, named("Last")), (Which::Target, named("First"))].into() };
        let text = document(&record);
        assert!(text.find("## First").unwrap() < text.find("## Last").unwrap());
        assert!(text.contains("not measured") && !text.contains("### Not met"), "{text}");
    }

    #[test]
    fn numbers_have_no_more_decimals_than_they_need() {
        assert_eq!([71.0, 2.5, 1.0 / 3.0, 100.0].map(number), ["71", "2.5", "0.33", "100"]);
    }
}
