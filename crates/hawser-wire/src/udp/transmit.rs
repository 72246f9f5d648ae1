//! Handing packets to the kernel in batches, and counting what it refuses.

use std::ops::ControlFlow;
use std::os::fd::BorrowedFd;

use hawser_model::units::{Nanos, Packets};
use nix::errno::Errno;
use socket2::SockAddr;

use crate::clock;
use crate::packet::Template;
use crate::refusals::Refusals;
use crate::sys::send::SendBatch;
use crate::thread::errno;

/// Messages handed over by one system call.
const MESSAGES: usize = 64;

/// With segmentation each message holds many packets; more bytes than this in one call would
/// only leave the cache.
const BYTES: usize = 256 * 1024;

/// Messages sent one by one after a refusal, so that each further one has its name.
const CAREFUL: usize = 64;

/// The sending end of a flow: its next sequence number and its buffers.
pub(crate) struct Transmitter<'a> {
    socket: BorrowedFd<'a>,
    template: &'a Template,
    batch: SendBatch,
    messages: usize,
    /// Packets of one message: one, or as many as the kernel cuts (`UDP_SEGMENT`).
    segments: usize,
    next: u64,
    careful: usize,
    refusals: Refusals,
}

impl<'a> Transmitter<'a> {
    /// Packets of `template`, `segments` to a message, to the peer or to `to`.
    pub(crate) fn new(
        socket: BorrowedFd<'a>,
        template: &'a Template,
        segments: usize,
        to: Option<SockAddr>,
    ) -> Self {
        let message = template.payload() * segments;
        let messages = if segments > 1 {
            (BYTES / message).clamp(1, MESSAGES)
        } else {
            MESSAGES
        };
        let mut batch = SendBatch::new(messages, message, to);
        for slot in 0..messages {
            for packet in batch.slot(slot).chunks_exact_mut(template.payload()) {
                template.prepare(packet);
            }
        }
        Self {
            socket,
            template,
            batch,
            messages,
            segments,
            next: 0,
            careful: 0,
            refusals: Refusals::default(),
        }
    }

    /// Sequence numbers used so far.
    pub(crate) fn sent(&self) -> Packets {
        Packets(self.next)
    }

    /// Packets of one full batch.
    pub(crate) fn batch_packets(&self) -> u64 {
        (self.messages * self.segments) as u64
    }

    /// Sends `count` packets back to back. When the send buffer stays full beyond `end`,
    /// the rest is not sent and its sequence numbers are not used.
    pub(crate) fn burst(&mut self, count: u64, end: Nanos) {
        let mut left = count;
        while left > 0 {
            let packets = left.min(self.batch_packets()) as usize;
            self.stamp(packets);
            if self.hand_over(packets, end).is_break() {
                return;
            }
            left -= packets as u64;
        }
    }

    /// Writes the next `packets` sequence numbers and the time into the buffers.
    fn stamp(&mut self, packets: usize) {
        let now = clock::now();
        let size = self.template.payload();
        let mut sequence = self.next;
        for slot in 0..packets.div_ceil(self.segments) {
            let here = self.in_slot(slot, packets);
            let message = &mut self.batch.slot(slot)[..here * size];
            for packet in message.chunks_exact_mut(size) {
                self.template.stamp(packet, sequence, now);
                sequence += 1;
            }
            self.batch.set_len(slot, here * size);
        }
    }

    /// Packets in a slot when the batch holds `packets`.
    fn in_slot(&self, slot: usize, packets: usize) -> usize {
        (packets - slot * self.segments).min(self.segments)
    }

    fn hand_over(&mut self, packets: usize, end: Nanos) -> ControlFlow<()> {
        let slots = packets.div_ceil(self.segments);
        let mut slot = 0;
        while slot < slots {
            let asked = if self.careful > 0 { 1 } else { slots - slot };
            let taken = match self.batch.send(self.socket, slot..slot + asked) {
                Ok(taken) => taken,
                Err(error) if errno(&error) == Errno::EINTR => continue,
                Err(error) => {
                    let refused = self.in_slot(slot, packets) as u64;
                    self.refusals.named(errno(&error), refused);
                    self.next += refused;
                    self.careful = CAREFUL;
                    slot += 1;
                    if errno(&error) == Errno::EAGAIN && clock::now() >= end {
                        return ControlFlow::Break(());
                    }
                    continue;
                }
            };
            self.careful = self.careful.saturating_sub(taken);
            for taken in slot..slot + taken {
                self.next += self.in_slot(taken, packets) as u64;
            }
            slot += taken;
            if taken < asked {
                // This one was tried and failed; a second try would be a second packet to
                // whatever refused it.
                let refused = self.in_slot(slot, packets) as u64;
                self.refusals.unnamed(refused);
                self.next += refused;
                self.careful = CAREFUL;
                slot += 1;
            }
        }
        ControlFlow::Continue(())
    }

    /// What was refused.
    pub(crate) fn finish(self) -> Refusals {
        self.refusals
    }
}
