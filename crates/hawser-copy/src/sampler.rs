//! Notes how far the copy is, forty times a second.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

use hawser_model::copy::{RateSample, Stage};
use hawser_model::units::Bytes;

use crate::progress::{Role, Shared};
use crate::tcp;

/// How often.
const EVERY: Duration = Duration::from_millis(25);

/// More samples than this are thinned to half, so that a copy of a day is as many as one of a
/// minute.
const MOST: usize = 4_096;

/// Samples until the copy has ended.
pub(crate) fn run(shared: &Shared) -> Vec<RateSample> {
    let mut samples = Vec::new();
    let mut every = EVERY;
    loop {
        let finished = shared.finished.load(Relaxed);
        if let Some(sample) = sample(shared) {
            samples.push(sample);
        }
        if finished {
            return samples;
        }
        if samples.len() >= MOST {
            let mut odd = false;
            samples.retain(|_| {
                odd = !odd;
                odd
            });
            every *= 2;
        }
        let mut left = every;
        while !left.is_zero() && !shared.finished.load(Relaxed) {
            let step = left.min(EVERY);
            thread::sleep(step);
            left -= step;
        }
    }
}

fn sample(shared: &Shared) -> Option<RateSample> {
    let mut sample = RateSample {
        at: shared.elapsed()?,
        bytes: Bytes(shared.moved.load(Relaxed)),
        disk: match shared.role {
            Role::Sender => shared.busy(Stage::Read),
            Role::Receiver => shared.busy(Stage::Write),
        },
        ..RateSample::default()
    };
    if shared.role == Role::Sender {
        for socket in shared.sockets().iter() {
            let info = tcp::info(socket);
            sample.retransmits += info.retransmits;
            sample.needless += info.needless;
            sample.tcp_busy += info.busy;
            sample.window_limited += info.window_limited;
            sample.send_buffer_limited += info.send_buffer_limited;
            sample.zero_windows += u32::from(info.snd_wnd.is_zero());
        }
    }
    Some(sample)
}
