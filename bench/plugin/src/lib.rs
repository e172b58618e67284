//! A QEMU plugin that counts the instructions a core executes between two addresses.
//!
//! Arguments: `out=FILE`, and `span=NAME:BEGIN:END` for each span, addresses in hexadecimal. When QEMU exits, `FILE` has a
//! line `NAME RUNS MINIMUM MAXIMUM` for each span. Counts are those of the core that enters the span, and do not depend on
//! how fast the machine is.
//!
//! QEMU ships no header with its packages, so what is used of its plugin interface, version 1, is declared here.
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
    runs: u64,
    least: u64,
    most: u64,
}

#[derive(Default)]
struct State {
    out: String,
    spans: Vec<Span>,
    /// For each core: the span it is in, and the instructions so far.
    cores: Vec<Option<(usize, u64)>>,
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
            Some(("span", span)) => {
                let mut parts = span.rsplitn(3, ':');
                let mut address = || parts.next().and_then(|text| u64::from_str_radix(text, 16).ok());
                let (Some(end), Some(begin)) = (address(), address()) else { return Err("wants NAME:BEGIN:END") };
                let name = parts.next().ok_or("wants NAME:BEGIN:END")?.to_owned();
                self.spans.push(Span { name, begin, end, runs: 0, least: u64::MAX, most: 0 });
            }
            _ => return Err("unknown argument"),
        }
        Ok(())
    }

    fn execute(&mut self, core: usize, address: u64) {
        if self.cores.len() <= core {
            self.cores.resize(core + 1, None);
        }
        let entered = || self.spans.iter().position(|span| span.begin == address).map(|place| (place, 0));
        let Some((place, count)) = self.cores[core].or_else(entered) else { return };
        let span = &mut self.spans[place];
        if address == span.end {
            span.runs += 1;
            span.least = span.least.min(count);
            span.most = span.most.max(count);
            self.cores[core] = None;
        } else {
            self.cores[core] = Some((place, count + 1));
        }
    }
}

extern "C" fn on_translate(_id: u64, block: *mut Block) {
    // SAFETY: QEMU passes a block that lives during this call, and asks only for instructions it has.
    unsafe {
        for index in 0..qemu_plugin_tb_n_insns(block) {
            let instruction = qemu_plugin_tb_get_insn(block, index);
            let address = std::ptr::without_provenance_mut(qemu_plugin_insn_vaddr(instruction) as usize);
            qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_execute, NO_REGISTERS, address);
        }
    }
}

extern "C" fn on_execute(core: c_uint, address: *mut c_void) {
    if let Some(mut state) = STATE.get().and_then(|state| state.lock().ok()) {
        state.execute(core as usize, address.addr() as u64);
    }
}

extern "C" fn on_exit(_id: u64, _data: *mut c_void) {
    let Some(state) = STATE.get().and_then(|state| state.lock().ok()) else { return };
    let mut text = String::new();
    for span in &state.spans {
        let _ =
            writeln!(text, "{} {} {} {}", span.name, span.runs, if span.runs == 0 { 0 } else { span.least }, span.most);
    }
    if let Err(problem) = std::fs::write(&state.out, text) {
        eprintln!("stillpoint-count: cannot write {}: {problem}", state.out);
    }
}
