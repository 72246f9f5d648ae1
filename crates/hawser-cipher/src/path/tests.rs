//! What the data path promises of calls, seen by an engine that notes them.

use super::*;

/// Adds one to every byte and notes the length of every call.
#[derive(Default)]
struct Noting(Vec<usize>);

impl Engine for Noting {
    fn apply(&mut self, input: &[u8], output: &mut [u8]) -> Result<(), CipherError> {
        self.0.push(input.len());
        for (to, from) in output.iter_mut().zip(input) {
            *to = from.wrapping_add(1);
        }
        Ok(())
    }

    fn apply_in_place(&mut self, data: &mut [u8]) -> Result<(), CipherError> {
        self.0.push(data.len());
        data.iter_mut()
            .for_each(|byte| *byte = byte.wrapping_add(1));
        Ok(())
    }
}

fn path(mode: Mode) -> DataPath<Noting> {
    DataPath::with_engine(Noting::default(), mode, 512)
}

fn run(path: &mut DataPath<Noting>, buffers: Buffers<'_, '_>) {
    path.next(buffers).unwrap();
}

fn slices(data: &[u8], lengths: impl IntoIterator<Item = usize>) -> Vec<IoSlice<'_>> {
    let mut rest = data;
    lengths
        .into_iter()
        .map(|length| {
            let piece;
            (piece, rest) = rest.split_at(length);
            IoSlice::new(piece)
        })
        .collect()
}

fn slices_mut(data: &mut [u8], lengths: impl IntoIterator<Item = usize>) -> Vec<IoSliceMut<'_>> {
    let mut rest = data;
    lengths
        .into_iter()
        .map(|length| {
            let piece;
            (piece, rest) = std::mem::take(&mut rest).split_at_mut(length);
            IoSliceMut::new(piece)
        })
        .collect()
}

/// Runs 1 MiB split as told and returns the calls made.
fn calls(input: &[usize], output: &[usize]) -> Vec<usize> {
    let length: usize = input.iter().sum();
    assert_eq!(length, output.iter().sum::<usize>());
    let data = vec![7; length];
    let mut result = vec![0; length];
    let mut path = path(Mode::Ctr);
    let from = slices(&data, input.iter().copied());
    let mut to = slices_mut(&mut result, output.iter().copied());
    run(&mut path, (&from[..], &mut to[..]).into());
    assert!(result.iter().all(|byte| *byte == 8), "every byte once");
    assert_eq!(path.engine.0.iter().sum::<usize>(), length);
    path.engine.0
}

const LENGTH: usize = 1 << 20;

#[test]
fn contiguous_data_goes_in_chunks() {
    let data = vec![7; LENGTH];
    let mut result = vec![0; LENGTH];
    let mut path = path(Mode::Ctr);
    run(&mut path, (&data[..], &mut result[..]).into());
    assert_eq!(path.engine.0, [CHUNK; LENGTH / CHUNK]);
}

#[test]
fn short_pieces_cost_no_call_each() {
    for piece in [1, 16, 64, 256] {
        let pieces = vec![piece; LENGTH / piece];
        assert_eq!(calls(&pieces, &pieces), [BOUNCE; LENGTH / BOUNCE]);
        assert_eq!(calls(&pieces, &[LENGTH]), [GATHER; LENGTH / GATHER]);
        assert_eq!(calls(&[LENGTH], &pieces), [BOUNCE; LENGTH / BOUNCE]);
    }
}

#[test]
fn long_pieces_are_not_copied_together() {
    let pieces = [4096; LENGTH / 4096];
    assert_eq!(calls(&pieces, &pieces), pieces);
    let pieces = [LENGTH / 2; 2];
    assert_eq!(calls(&pieces, &pieces), [CHUNK; LENGTH / CHUNK]);
}

#[test]
fn a_long_run_behind_short_pieces_is_found_again() {
    // 3 + 4 bytes break the alignment; the long run gives the 9 bytes that restore it.
    let made = calls(&[3, 4, LENGTH], &[5, 2, LENGTH]);
    assert_eq!(made[0], 16);
    assert_eq!(made[1], CHUNK);
    assert!(made.len() <= LENGTH / CHUNK + 2);
}

#[test]
fn no_call_is_longer_than_a_chunk_and_only_the_last_ends_within_a_block() {
    let odd: Vec<usize> = (0..400)
        .map(|i| [1, 5000, 17, 0, 64, 700, 33, 40_000][i % 8])
        .collect();
    let total: usize = odd.iter().sum();
    for (input, output) in [(&odd[..], &[total][..]), (&[total], &odd), (&odd, &odd)] {
        let made = calls(input, output);
        let (_, all_but_last) = made.split_last().unwrap();
        assert!(made.iter().all(|length| *length <= CHUNK));
        assert!(
            all_but_last.iter().all(|length| length % BLOCK == 0),
            "{all_but_last:?}"
        );
    }
}

#[test]
fn in_place_pieces_are_handled_alike() {
    let mut data = vec![7; LENGTH];
    let mut pieces = slices_mut(&mut data, [64; LENGTH / 64]);
    let mut path = path(Mode::Gcm);
    run(&mut path, (&mut pieces[..]).into());
    assert_eq!(path.engine.0, [BOUNCE; LENGTH / BOUNCE]);
    assert!(data.iter().all(|byte| *byte == 8));
}

#[test]
fn the_hook_runs_once_a_chunk() {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    let count = Arc::new(AtomicUsize::new(0));
    let mut path = path(Mode::Ctr);
    let seen = Arc::clone(&count);
    path.between.set(move || {
        seen.fetch_add(1, Ordering::Relaxed);
    });
    run(&mut path, (&mut vec![7; LENGTH][..]).into());
    assert_eq!(count.load(Ordering::Relaxed), LENGTH / CHUNK);
}

#[test]
fn broken_blocks_and_unequal_lengths_are_refused() {
    let mut result = [0; 32];
    let broken = path(Mode::Cbc).accepts(&(&mut result[..17]).into());
    assert_eq!(
        broken.unwrap_err(),
        CipherError::NotWholeBlocks {
            mode: "CBC",
            length: 17
        }
    );
    let unequal = path(Mode::Ctr).accepts(&(&[0; 31][..], &mut result[..]).into());
    assert_eq!(
        unequal.unwrap_err(),
        CipherError::LengthsDiffer {
            input: 31,
            output: 32
        }
    );
}
