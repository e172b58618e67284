//! What is counted.
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

/// Two addresses between which instructions are counted.
struct Span {
    name: String,
    begin: u64,
    end: u64,
    kind: Kind,
    counts: Counts,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The instructions of the core that enters it.
    Own,
    /// The instructions of all cores.
    Total,
    /// From the last time that a core passed its begin.
    Since,
}

#[derive(Clone, Copy)]
struct Counts {
    runs: u64,
    least: u64,
    most: u64,
}

impl Counts {
    const NONE: Self = Self { runs: 0, least: u64::MAX, most: 0 };

    fn add(&mut self, count: u64) {
        *self = Self { runs: self.runs + 1, least: self.least.min(count), most: self.most.max(count) };
    }
}

/// A function: its addresses, and its instructions while a total was counted.
struct Function {
    begin: u64,
    end: u64,
    executed: u64,
}

/// Everything counted so far.
#[derive(Default)]
pub struct State {
    out: String,
    spans: Vec<Span>,
    /// By address, without overlap.
    functions: Vec<Function>,
    /// Where QEMU ends, and at how many cores.
    stop: Option<(u64, usize)>,
    stopped: BTreeSet<usize>,
    cores: Vec<Core>,
    /// Instructions of all cores so far.
    executed: u64,
    /// How many cores are inside a total.
    in_total: usize,
    masked: BTreeMap<u64, Counts>,
}

#[derive(Clone, Default)]
struct Core {
    /// Instructions so far.
    executed: u64,
    /// The span it is in, and the instructions since.
    inside: Option<(usize, u64)>,
    /// For each span, where it last passed the begin of one that counts since then.
    passed: BTreeMap<usize, u64>,
    /// Where it masked its interrupts, and the instructions since.
    masked: Option<(u64, u64)>,
}

fn hexadecimal(text: Option<&str>) -> Option<u64> {
    u64::from_str_radix(text?, 16).ok()
}

impl State {
    /// Takes an argument of the plugin.
    pub fn take(&mut self, argument: &str) -> Result<(), String> {
        let Some((name, value)) = argument.split_once('=') else { return Err("unknown argument".into()) };
        let kind = match name {
            "span" => Kind::Own,
            "total" => Kind::Total,
            "since" => Kind::Since,
            "out" => {
                self.out = value.to_owned();
                return Ok(());
            }
            "functions" => return self.read_functions(value),
            "stop" => {
                let stop =
                    value.split_once(':').and_then(|(at, cores)| Some((hexadecimal(Some(at))?, cores.parse().ok()?)));
                self.stop = Some(stop.ok_or("wants ADDRESS:CORES")?);
                return Ok(());
            }
            _ => return Err("unknown argument".into()),
        };
        let mut parts = value.rsplitn(3, ':');
        let (end, begin) = (hexadecimal(parts.next()), hexadecimal(parts.next()));
        let (Some(end), Some(begin), Some(name)) = (end, begin, parts.next()) else {
            return Err("wants NAME:BEGIN:END".into());
        };
        self.spans.push(Span { name: name.to_owned(), begin, end, kind, counts: Counts::NONE });
        Ok(())
    }

    fn read_functions(&mut self, path: &str) -> Result<(), String> {
        let text = std::fs::read_to_string(path).map_err(|problem| problem.to_string())?;
        for line in text.lines() {
            let (begin, end) = line.split_once(' ').unwrap_or((line, ""));
            let (Some(begin), Some(end)) = (hexadecimal(Some(begin)), hexadecimal(Some(end))) else {
                return Err(format!("not the addresses of a function: {line}"));
            };
            self.functions.push(Function { begin, end, executed: 0 });
        }
        self.functions.sort_by_key(|function| function.begin);
        Ok(())
    }

    /// Counts an instruction. True when QEMU shall end.
    pub fn execute(&mut self, core: usize, address: u64) -> bool {
        if self.cores.len() <= core {
            self.cores.resize(core + 1, Core::default());
        }
        self.executed += 1;
        let own = &mut self.cores[core];
        own.executed += 1;
        if let Some((_, count)) = &mut own.masked {
            *count += 1;
        }
        if self.in_total > 0 {
            self.count_function(address);
        }
        self.since(core, address);
        self.inside(core, address);
        self.stop.is_some_and(|(at, cores)| {
            // Once is enough: QEMU takes its time to end.
            at == address && self.stopped.insert(core) && self.stopped.len() == cores
        })
    }

    fn count_function(&mut self, address: u64) {
        let after = self.functions.partition_point(|function| function.begin <= address);
        if let Some(function) = after.checked_sub(1).and_then(|place| self.functions.get_mut(place))
            && address < function.end
        {
            function.executed += 1;
        }
    }

    fn since(&mut self, core: usize, address: u64) {
        let own = &mut self.cores[core];
        for (place, span) in self.spans.iter_mut().enumerate().filter(|(_, span)| span.kind == Kind::Since) {
            if address == span.begin {
                own.passed.insert(place, own.executed);
            } else if address == span.end
                && let Some(began) = own.passed.remove(&place)
            {
                span.counts.add(own.executed - began);
            }
        }
    }

    fn inside(&mut self, core: usize, address: u64) {
        let own = &mut self.cores[core];
        let begins = |span: &Span| span.kind != Kind::Since && span.begin == address;
        let entered = || self.spans.iter().position(begins).map(|place| (place, 0));
        let Some((place, count)) = own.inside.or_else(entered) else { return };
        let span = &mut self.spans[place];
        let of_all = span.kind == Kind::Total;
        if address == span.end {
            span.counts.add(if of_all { self.executed - count } else { count });
            own.inside = None;
            self.in_total -= usize::from(of_all);
        } else if of_all {
            if own.inside.is_none() {
                own.inside = Some((place, self.executed));
                self.in_total += 1;
                // What masked interrupts before, at the start of the program, is not what is measured.
                self.masked.clear();
            }
        } else {
            own.inside = Some((place, count + 1));
        }
    }

    /// After the instruction itself was counted.
    pub fn mask(&mut self, core: usize, address: u64) {
        self.execute(core, address);
        if let Some(core) = self.cores.get_mut(core) {
            core.masked = core.masked.or(Some((address, 0)));
        }
    }

    pub fn unmask(&mut self, core: usize, address: u64) {
        self.execute(core, address);
        if let Some((place, count)) = self.cores.get_mut(core).and_then(|core| core.masked.take()) {
            self.masked.entry(place).or_insert(Counts::NONE).add(count);
        }
    }

    /// Writes every count to the file that was named.
    pub fn write(&self) -> Result<(), String> {
        let mut text = String::new();
        let spans = self.spans.iter().map(|span| (span.name.clone(), span.counts));
        let masked = self.masked.iter().map(|(place, counts)| (format!("masked:{place:x}"), *counts));
        for (name, Counts { runs, least, most }) in spans.chain(masked) {
            let _ = writeln!(text, "{name} {runs} {} {most}", if runs == 0 { 0 } else { least });
        }
        for Function { begin, executed, .. } in self.functions.iter().filter(|function| function.executed > 0) {
            let _ = writeln!(text, "function:{begin:x} 1 {executed} {executed}");
        }
        std::fs::write(&self.out, text).map_err(|problem| format!("cannot write {}: {problem}", self.out))
    }
}
