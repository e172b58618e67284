//! A QEMU plugin that counts the instructions a core executes between two addresses.
//!
//! Arguments: `out=FILE`, and for each span `span=NAME:BEGIN:END`, addresses in hexadecimal. When QEMU exits, `FILE` has a
//! line `NAME RUNS MINIMUM MAXIMUM` for each span. Counts are those of the core that enters the span, and do not depend on
//! how fast the machine is. `total=NAME:BEGIN:END` is a span in which the instructions of all cores are counted.
//!
//! For each place at which interrupts are masked there is a line `masked:ADDRESS RUNS MINIMUM MAXIMUM` besides: how many
//! instructions later they are open again. Where there is a total, they are counted from its beginning on.
//!
//! QEMU ships no header with its packages, so what is used of its plugin interface, version 1, is declared here.
use std::collections::BTreeMap;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::fmt::Write as _;
use std::sync::{Mutex, OnceLock};

#[repr(C)]
struct Block {
    _private: [u8; 0],
}
#[repr(C)]
struct Instruction {
    _private: [u8; 0],
}

/// `QEMU_PLUGIN_CB_NO_REGS`: the callback looks at no register.
const NO_REGISTERS: c_int = 0;

type BlockCallback = extern "C" fn(id: u64, block: *mut Block);
type InstructionCallback = extern "C" fn(core: c_uint, address: *mut c_void);
type ExitCallback = extern "C" fn(id: u64, data: *mut c_void);

unsafe extern "C" {
    fn qemu_plugin_register_vcpu_tb_trans_cb(id: u64, callback: BlockCallback);
    fn qemu_plugin_tb_n_insns(block: *const Block) -> usize;
    fn qemu_plugin_tb_get_insn(block: *const Block, index: usize) -> *mut Instruction;
    fn qemu_plugin_insn_vaddr(instruction: *const Instruction) -> u64;
    fn qemu_plugin_insn_data(instruction: *const Instruction) -> *const u16;
    fn qemu_plugin_register_vcpu_insn_exec_cb(
        instruction: *mut Instruction,
        callback: InstructionCallback,
        flags: c_int,
        data: *mut c_void,
    );
    fn qemu_plugin_register_atexit_cb(id: u64, callback: ExitCallback, data: *mut c_void);
}

/// The version of the interface that is declared above.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

struct Span {
    name: String,
    begin: u64,
    end: u64,
    /// Whether the instructions of all cores count.
    of_all: bool,
    counts: Counts,
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

/// The two instructions that mask and unmask interrupts.
const CPSID: u16 = 0xB672;
const CPSIE: u16 = 0xB662;

#[derive(Default)]
struct State {
    out: String,
    spans: Vec<Span>,
    cores: Vec<Core>,
    /// Instructions of all cores so far.
    executed: u64,
    masked: BTreeMap<u64, Counts>,
}

#[derive(Clone, Default)]
struct Core {
    /// The span it is in, and the instructions since.
    inside: Option<(usize, u64)>,
    /// Where it masked its interrupts, and the instructions since.
    masked: Option<(u64, u64)>,
}

static STATE: OnceLock<Mutex<State>> = OnceLock::new();

/// Called by QEMU when it loads the plugin. Anything but 0 keeps QEMU from starting.
///
/// # Safety
/// `arguments` are `count` strings that end with zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: u64,
    _info: *const c_void,
    count: c_int,
    arguments: *const *const c_char,
) -> c_int {
    let mut state = State::default();
    for index in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: QEMU passes `count` strings.
        let argument = unsafe { CStr::from_ptr(*arguments.add(index)) }.to_string_lossy().into_owned();
        if let Err(problem) = state.take(&argument) {
            eprintln!("stillpoint-count: {argument}: {problem}");
            return 1;
        }
    }
    if STATE.set(Mutex::new(state)).is_err() {
        return 1;
    }
    // SAFETY: the callbacks live as long as QEMU does.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
        qemu_plugin_register_atexit_cb(id, on_exit, std::ptr::null_mut());
    }
    0
}

impl State {
    fn take(&mut self, argument: &str) -> Result<(), &'static str> {
        match argument.split_once('=') {
            Some(("out", path)) => self.out = path.to_owned(),
            Some((kind @ ("span" | "total"), span)) => {
                let mut parts = span.rsplitn(3, ':');
                let mut address = || parts.next().and_then(|text| u64::from_str_radix(text, 16).ok());
                let (Some(end), Some(begin)) = (address(), address()) else { return Err("wants NAME:BEGIN:END") };
                let name = parts.next().ok_or("wants NAME:BEGIN:END")?.to_owned();
                self.spans.push(Span { name, begin, end, of_all: kind == "total", counts: Counts::NONE });
            }
            _ => return Err("unknown argument"),
        }
        Ok(())
    }

    fn execute(&mut self, core: usize, address: u64) {
        if self.cores.len() <= core {
            self.cores.resize(core + 1, Core::default());
        }
        self.executed += 1;
        let own = &mut self.cores[core];
        if let Some((_, count)) = &mut own.masked {
            *count += 1;
        }
        let entered = || self.spans.iter().position(|span| span.begin == address).map(|place| (place, 0));
        let Some((place, count)) = own.inside.or_else(entered) else { return };
        let span = &mut self.spans[place];
        if address == span.end {
            span.counts.add(if span.of_all { self.executed - count } else { count });
            own.inside = None;
        } else if span.of_all {
            if own.inside.is_none() {
                own.inside = Some((place, self.executed));
                // What masked interrupts before, at the start of the program, is not what is measured.
                self.masked.clear();
            }
        } else {
            own.inside = Some((place, count + 1));
        }
    }

    /// After the instruction itself was counted.
    fn mask(&mut self, core: usize, address: u64) {
        self.execute(core, address);
        if let Some(core) = self.cores.get_mut(core) {
            core.masked = core.masked.or(Some((address, 0)));
        }
    }

    fn unmask(&mut self, core: usize, address: u64) {
        self.execute(core, address);
        if let Some((place, count)) = self.cores.get_mut(core).and_then(|core| core.masked.take()) {
            self.masked.entry(place).or_insert(Counts::NONE).add(count);
        }
    }
}

extern "C" fn on_translate(_id: u64, block: *mut Block) {
    // SAFETY: QEMU passes a block that lives during this call, and asks only for instructions it has.
    unsafe {
        for index in 0..qemu_plugin_tb_n_insns(block) {
            let instruction = qemu_plugin_tb_get_insn(block, index);
            let address = std::ptr::without_provenance_mut(qemu_plugin_insn_vaddr(instruction) as usize);
            let callback = match qemu_plugin_insn_data(instruction).read_unaligned() {
                CPSID => on_mask,
                CPSIE => on_unmask,
                _ => on_execute,
            };
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, NO_REGISTERS, address);
        }
    }
}

extern "C" fn on_execute(core: c_uint, address: *mut c_void) {
    with_state(|state| state.execute(core as usize, address.addr() as u64));
}

extern "C" fn on_mask(core: c_uint, address: *mut c_void) {
    with_state(|state| state.mask(core as usize, address.addr() as u64));
}

extern "C" fn on_unmask(core: c_uint, address: *mut c_void) {
    with_state(|state| state.unmask(core as usize, address.addr() as u64));
}

fn with_state(act: impl FnOnce(&mut State)) {
    if let Some(mut state) = STATE.get().and_then(|state| state.lock().ok()) {
        act(&mut state);
    }
}

extern "C" fn on_exit(_id: u64, _data: *mut c_void) {
    with_state(|state| {
        let mut text = String::new();
        let spans = state.spans.iter().map(|span| (span.name.clone(), span.counts));
        let masked = state.masked.iter().map(|(place, counts)| (format!("masked:{place:x}"), *counts));
        for (name, Counts { runs, least, most }) in spans.chain(masked) {
            let _ = writeln!(text, "{name} {runs} {} {most}", if runs == 0 { 0 } else { least });
        }
        if let Err(problem) = std::fs::write(&state.out, text) {
            eprintln!("stillpoint-count: cannot write {}: {problem}", state.out);
        }
    });
}
