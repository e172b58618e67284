//! A QEMU plugin that counts the instructions a core executes between two addresses.
//!
//! Arguments: `out=FILE`, and for each span `span=NAME:BEGIN:END`, addresses in hexadecimal. When QEMU exits, `FILE` has a
//! line `NAME RUNS MINIMUM MAXIMUM` for each span. Counts are those of the core that enters the span, and do not depend on
//! how fast the machine is. `total=NAME:BEGIN:END` is a span in which the instructions of all cores are counted.
//!
//! `since=NAME:BEGIN:END` counts from the last time a core passed `BEGIN` to when it gets to `END`, beside whatever span it
//! is in. `functions=FILE` names a file with a line `BEGIN END` for each function; for each that a total executed there is a
//! line `function:BEGIN 1 COUNT COUNT`. `stop=ADDRESS:CORES` ends QEMU when as many cores have come to an address.
//!
//! For each place at which interrupts are masked there is a line `masked:ADDRESS RUNS MINIMUM MAXIMUM` besides: how many
//! instructions later they are open again. Where there is a total, they are counted from its beginning on.
//!
//! QEMU ships no header with its packages, so what is used of its plugin interface, version 1, is declared here.
mod state;

use state::State;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
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
    /// The C library's: QEMU takes a termination signal as a wish to end in an orderly way.
    fn kill(process: c_int, signal: c_int) -> c_int;
}

const SIGTERM: c_int = 15;

/// The version of the interface that is declared above.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = 1;

/// The two instructions that mask and unmask interrupts.
const CPSID: u16 = 0xB672;
const CPSIE: u16 = 0xB662;

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
    let is_over = with_state(|state| state.execute(core as usize, address.addr() as u64));
    if is_over == Some(true) {
        // SAFETY: QEMU handles this signal, in another thread than this one, and the state is not locked any more.
        unsafe { kill(std::process::id() as c_int, SIGTERM) };
    }
}

extern "C" fn on_mask(core: c_uint, address: *mut c_void) {
    with_state(|state| state.mask(core as usize, address.addr() as u64));
}

extern "C" fn on_unmask(core: c_uint, address: *mut c_void) {
    with_state(|state| state.unmask(core as usize, address.addr() as u64));
}

fn with_state<R>(act: impl FnOnce(&mut State) -> R) -> Option<R> {
    let mut state = STATE.get()?.lock().ok()?;
    Some(act(&mut state))
}

extern "C" fn on_exit(_id: u64, _data: *mut c_void) {
    with_state(|state| {
        if let Err(problem) = state.write() {
            eprintln!("stillpoint-count: {problem}");
        }
    });
}
