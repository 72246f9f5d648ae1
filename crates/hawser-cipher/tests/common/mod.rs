//! What the tests of this crate share.
#![allow(dead_code)] // each test program uses its own part

use std::io::{IoSlice, IoSliceMut};

use hawser_cipher::{Buffers, CipherError};

/// Bytes from their hexadecimal digits.
pub fn hex(digits: &str) -> Vec<u8> {
    assert_eq!(digits.len() % 2, 0, "{digits}");
    (0..digits.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap())
        .collect()
}

/// Cuts `data` into pieces of the given lengths, again and again, the last one shorter.
pub fn cut<'d>(mut data: &'d [u8], lengths: &[usize]) -> Vec<IoSlice<'d>> {
    let mut pieces = Vec::new();
    let mut lengths = lengths.iter().cycle();
    while !data.is_empty() {
        let piece;
        (piece, data) = data.split_at(data.len().min(*lengths.next().unwrap()));
        pieces.push(IoSlice::new(piece));
    }
    pieces
}

/// [`cut`] for writing.
pub fn cut_mut<'d>(mut data: &'d mut [u8], lengths: &[usize]) -> Vec<IoSliceMut<'d>> {
    let mut pieces = Vec::new();
    let mut lengths = lengths.iter().cycle();
    while !data.is_empty() {
        let length = data.len().min(*lengths.next().unwrap());
        let piece;
        (piece, data) = data.split_at_mut(length);
        pieces.push(IoSliceMut::new(piece));
    }
    pieces
}

/// Runs `operation` over `from` in all four shapes of buffers; each must give `to`.
#[track_caller]
pub fn each_shape(
    from: &[u8],
    to: &[u8],
    mut operation: impl FnMut(Buffers<'_, '_>) -> Result<(), CipherError>,
) {
    let mut result = vec![0xee; from.len()];
    operation((from, &mut result[..]).into()).unwrap();
    assert_eq!(result, to, "contiguous");

    let mut data = from.to_vec();
    operation((&mut data[..]).into()).unwrap();
    assert_eq!(data, to, "in place");

    let mut result = vec![0xee; from.len()];
    let mut pieces = cut_mut(&mut result, &[3, 16, 64, 1]);
    operation((&cut(from, &[5, 0, 31])[..], &mut pieces[..]).into()).unwrap();
    assert_eq!(result, to, "scattered");

    let mut data = from.to_vec();
    operation((&mut cut_mut(&mut data, &[7, 16, 0, 2])[..]).into()).unwrap();
    assert_eq!(data, to, "scattered in place");
}
