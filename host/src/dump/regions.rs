//! Which memory of a board is worth saving: what its firmware writes, and its stacks.
use object::{Object as _, ObjectSection as _, SectionFlags};
use std::ops::Range;

/// A range of addresses.
type Span = Range<u64>;

/// Memory of the chip up to this size is saved whole if the firmware uses any of it: heaps and stacks have no symbols.
const WHOLE: u64 = 32 << 20;

/// Of larger memory so much is saved from each stack pointer on.
const STACK: u64 = 64 << 10;

/// Everything is saved in steps of this.
const STEP: u64 = 256;

/// The ranges in which an ELF file has variables, as opposed to code and constants.
pub(super) fn variables(elf: &object::File<'_>) -> Vec<Span> {
    let is_written = |flags| match flags {
        SectionFlags::Elf { sh_flags, .. } => {
            sh_flags.contains(object::elf::SHF_ALLOC) && sh_flags.contains(object::elf::SHF_WRITE)
        }
        _ => false,
    };
    let written = elf.sections().filter(|section| section.size() > 0 && is_written(section.flags()));
    written.map(|section| section.address()..section.address() + section.size()).collect()
}

/// What to save, given the RAM of the chip, where the firmware has variables, and the stack pointers.
pub(super) fn worth_saving(ram: &[Span], variables: &[Span], stacks: &[u64]) -> Vec<Span> {
    let mut chosen: Vec<Span> = Vec::new();
    for region in ram {
        let here = |at: &u64| region.contains(at) || *at == region.end;
        let inside: Vec<Span> = variables
            .iter()
            .map(|of| of.start.max(region.start)..of.end.min(region.end))
            .filter(|of| !of.is_empty())
            .collect();
        let stacks: Vec<u64> = stacks.iter().copied().filter(here).collect();
        if inside.is_empty() && stacks.is_empty() {
            continue;
        }
        if region.end - region.start <= WHOLE {
            chosen.push(region.clone());
            continue;
        }
        let stacks = stacks.into_iter().map(|at| at..(at + STACK).min(region.end));
        let rounded = |of: Span| (of.start / STEP * STEP)..(of.end.div_ceil(STEP) * STEP).min(region.end);
        chosen.extend(inside.into_iter().chain(stacks).map(rounded));
    }
    // Variables in memory that the chip description does not know of.
    let unknown = variables.iter().filter(|of| !ram.iter().any(|region| region.contains(&of.start)));
    chosen.extend(unknown.map(|of| (of.start / STEP * STEP)..(of.end.div_ceil(STEP) * STEP)));
    merged(chosen)
}

fn merged(mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut merged: Vec<Span> = Vec::new();
    for span in spans {
        match merged.last_mut() {
            Some(last) if span.start <= last.end => last.end = last.end.max(span.end),
            _ => merged.push(span),
        }
    }
    merged
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "lists of one range")]
mod tests {
    use super::*;

    #[test]
    fn memory_that_the_firmware_uses_is_saved_whole_and_other_memory_not_at_all() {
        let ram = [0x0..0x1000, 0x2000..0x3000, 0x8000..0x9000];
        assert_eq!(worth_saving(&ram, &[0x2010..0x2020], &[]), [0x2000..0x3000]);
        // A stack alone is a use, also an empty one, whose pointer is the end of its memory.
        assert_eq!(worth_saving(&ram, &[], &[0x8010]), [0x8000..0x9000]);
        assert_eq!(worth_saving(&ram, &[], &[0x9000]), [0x8000..0x9000]);
        assert_eq!(worth_saving(&ram, &[], &[]), []);
    }

    #[test]
    fn of_very_large_memory_the_variables_and_stacks_are_saved() {
        let ram = [0..1 << 31];
        let stack = 0x100_0000..0x100_0000 + STACK;
        assert_eq!(worth_saving(&ram, &[0x1001..0x1101, 0x1180..0x1190], &[0x100_0000]), [0x1000..0x1200, stack]);
    }

    #[test]
    fn variables_in_memory_that_no_chip_description_knows_are_saved() {
        assert_eq!(worth_saving(&[0..0x1000], &[0x5000..0x5004], &[]), [0x5000..0x5100]);
    }
}
