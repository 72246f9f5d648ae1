//! The monotonic clock, a thread's CPU time, and waiting until a moment.

use hawser_model::units::Nanos;
use nix::time::{ClockId, ClockNanosleepFlags, clock_gettime, clock_nanosleep};

/// Shorter waits are spent spinning: going to sleep and waking takes about as long.
const SPIN: Nanos = Nanos(30_000);

/// The monotonic clock.
///
/// # Panics
/// Never on Linux: `CLOCK_MONOTONIC` always exists.
#[inline]
pub fn now() -> Nanos {
    read(ClockId::CLOCK_MONOTONIC)
}

/// CPU time the calling thread has used.
pub fn thread_cpu() -> Nanos {
    read(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read(clock: ClockId) -> Nanos {
    let time = clock_gettime(clock).expect("Linux has the monotonic and the CPU clock");
    Nanos(time.tv_sec() as u64 * 1_000_000_000 + time.tv_nsec() as u64)
}

/// Waits until the monotonic clock shows `moment`; may return a wake-up later than that.
pub fn wait_until(moment: Nanos) {
    loop {
        let left = moment.saturating_sub(now());
        if left.is_zero() {
            return;
        }
        if left > SPIN {
            // Interrupted: the loop looks at the clock again.
            let _ = clock_nanosleep(
                ClockId::CLOCK_MONOTONIC,
                ClockNanosleepFlags::TIMER_ABSTIME,
                &nix::sys::time::TimeSpec::new(
                    (moment.0 / 1_000_000_000) as i64,
                    (moment.0 % 1_000_000_000) as i64,
                ),
            );
        } else {
            std::hint::spin_loop();
        }
    }
}
