//! The processor that a machine runs on.
//!
//! A machine's kernel and its programs are processes that take turns: each system call stops the one and starts the other
//! (`userspace`, arch/um/os-Linux/skas/process.c). On two processors each turn is a wake-up of the other one, which a virtual
//! machine pays for with an interrupt. Kept to one processor, a machine starts programs 2.4 times as fast and makes system calls
//! 3.6 times as fast (Linux 6.1.176 on a quiet host of two virtual processors).

use nix::sched::{CpuSet, sched_getaffinity, sched_setaffinity};
use nix::unistd::Pid;

use crate::error::LabError;

/// Keeps this process, and all that it starts from now on, to one of the processors that it may use. The machines of a lab are
/// spread over them in order, from one that the lab's name chooses.
///
/// # Errors
/// What the kernel says.
pub(super) fn keep_to_one(lab: u32, machine: usize) -> Result<(), LabError> {
    let this = Pid::from_raw(0);
    let failed = |call| move |e| LabError::system(call, "process 1", e);
    let may_use = sched_getaffinity(this).map_err(failed("sched_getaffinity"))?;
    let all: Vec<usize> = (0..CpuSet::count())
        .filter(|&cpu| may_use.is_set(cpu).unwrap_or(false))
        .collect();
    let Some(cpu) = one_of(&all, lab, machine) else {
        return Ok(());
    };
    let mut one = CpuSet::new();
    one.set(cpu).map_err(failed("CPU_SET"))?;
    sched_setaffinity(this, &one).map_err(failed("sched_setaffinity"))
}

fn one_of(all: &[usize], lab: u32, machine: usize) -> Option<usize> {
    let nth = (lab as usize).wrapping_add(machine);
    nth.checked_rem(all.len())
        .and_then(|nth| all.get(nth).copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_a_lab_are_spread_over_the_processors_they_may_use() {
        let taken: Vec<_> = (1..=4).map(|nth| one_of(&[2, 5, 7], 3, nth)).collect();
        assert_eq!(taken, [Some(5), Some(7), Some(2), Some(5)]);
        assert_eq!(one_of(&[0], u32::MAX, usize::MAX), Some(0));
        assert_eq!(one_of(&[], 1, 1), None);
    }
}
