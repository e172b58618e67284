//! Where the tasks of a firmware lie: the pools that embassy's macro makes, and statics of `TaskStorage`.
use crate::MemoryError;
use crate::dwarf::{DebugTypes, FutureIndex, Place, Static, Type, TypeId};
use crate::print::Reader;

/// Room for one or several tasks of one future.
#[derive(Clone, Debug)]
pub(super) struct Pool {
    /// The function of the task, with its path.
    pub path: String,
    pub address: u64,
    size: u64,
    /// The type of the whole pool.
    pub holder: TypeId,
    /// The `TaskStorage<F>`, unless only a running task can tell.
    pub storage: Option<TypeId>,
}

/// One place for a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Storage {
    pub place: Place,
    pub index: u64,
    /// How many places its pool has.
    pub of: u64,
}

/// What the header of a task says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub is_spawned: bool,
    pub is_queued: bool,
    pub executor: u64,
    /// The function that polls it, without the Thumb bit.
    pub poll: u64,
}

impl Header {
    /// Of a task that is not understood.
    pub const UNKNOWN: Self = Self { is_spawned: false, is_queued: false, executor: 0, poll: 0 };
}

/// The pools of a firmware, by address.
pub(super) fn pools(types: &DebugTypes, index: &FutureIndex) -> Vec<Pool> {
    let mut pools: Vec<Pool> = types.statics().iter().filter_map(|of| pool(types, index, of)).collect();
    pools.sort_by_key(|pool| (pool.address, pool.storage.is_none()));
    pools.dedup_by_key(|pool| pool.address);
    pools
}

fn pool(types: &DebugTypes, index: &FutureIndex, of: &Static) -> Option<Pool> {
    let name = types.type_name(of.place.ty);
    let outside = of.path.rsplit_once("::").map_or("", |(outside, _)| outside);
    let is_macro = of.name == "POOL";
    let storage = if name.starts_with("TaskPoolHolder<") {
        future_of(types, index, outside).and_then(|future| index.storages.get(&types.type_path(future)).copied())
    } else if name.starts_with("TaskPool<") {
        match types.get(types.field(of.place, "pool")?.ty) {
            Type::Array { element, .. } => Some(element),
            _ => None,
        }
    } else if name.starts_with("TaskStorage<") {
        Some(of.place.ty)
    } else if name.starts_with("[") && name.contains("TaskStorage<") {
        match types.get(of.place.ty) {
            Type::Array { element, .. } if types.type_name(element).starts_with("TaskStorage<") => Some(element),
            _ => return None,
        }
    } else {
        return None;
    };
    let path = if is_macro { outside } else { of.path.as_str() };
    let size = types.size(of.place.ty)?;
    Some(Pool { path: path.to_owned(), address: of.place.address, size, holder: of.place.ty, storage })
}

/// The future of a task by the macro's own names: what its closure returns, or the inner function's state machine.
fn future_of(types: &DebugTypes, index: &FutureIndex, outside: &str) -> Option<TypeId> {
    if let Some(future) = index.made.get(outside)
        && index.storages.contains_key(&types.type_path(*future))
    {
        return Some(*future);
    }
    let (module, name) = outside.rsplit_once("::").unwrap_or(("", outside));
    let inner = format!("{module}::__{name}_task::__{name}_task_inner_function::{{async_fn_env#0}}");
    let storage = index.storages.get(inner.trim_start_matches("::"))?;
    let Type::Struct { parameters, .. } = types.get(*storage) else { return None };
    parameters.first().map(|(_, future)| *future)
}

impl Pool {
    /// Its places. `storage` is its own type, or what a task in it told.
    pub fn places(&self, types: &DebugTypes, storage: TypeId) -> Vec<Storage> {
        let size = types.size(storage).filter(|size| *size > 0).unwrap_or(self.size.max(1));
        let of = (self.size / size).max(1);
        let place = |index| Place { address: self.address + index * size, ty: storage };
        (0..of).map(|index| Storage { place: place(index), index, of }).collect()
    }
}

/// The header of the task at a place; `None` if its type does not describe one.
pub(super) fn header(reader: &mut Reader<'_>, at: Place) -> Result<Option<Header>, MemoryError> {
    let types = reader.types;
    let part = |path: &[&str]| types.follow(at, path);
    let (Some(state), Some(executor), Some(poll)) =
        (part(&["raw", "state"]), part(&["raw", "executor"]), part(&["raw", "poll_fn"]))
    else {
        return Ok(None);
    };
    let (is_spawned, is_queued) = match (types.field(state, "spawned"), types.field(state, "run_queued")) {
        // From ARMv7-M on each has a byte of its own.
        (Some(spawned), Some(queued)) => {
            (reader.number(spawned.address, 1)? != 0, reader.number(queued.address, 1)? != 0)
        }
        // Elsewhere they are the lowest bits of a word.
        _ => {
            let word = reader.number(state.address, types.size(state.ty).unwrap_or(4))?;
            (word & 1 != 0, word & 2 != 0)
        }
    };
    let executor = reader.number(executor.address, 4)? as u64;
    let poll = reader.number(poll.address, 4)? as u64 & !1;
    Ok(Some(Header { is_spawned, is_queued, executor, poll }))
}

/// What an executor gives its pender: the kit's gives the number of its core.
pub(super) fn pender_context(reader: &mut Reader<'_>, at: Place, executor: u64) -> Result<Option<u64>, MemoryError> {
    let types = reader.types;
    let Some(pointer) = types.follow(at, &["raw", "executor"]) else { return Ok(None) };
    let Type::Struct { parameters, .. } = types.get(pointer.ty) else { return Ok(None) };
    let Some((_, of)) = parameters.first() else { return Ok(None) };
    let of = match types.get(*of) {
        Type::Pointer(Some(to)) => to,
        _ => *of,
    };
    let Some(pender) = types.field(Place { address: executor, ty: of }, "pender") else { return Ok(None) };
    Ok(Some(reader.number(pender.address, 4)? as u64))
}
