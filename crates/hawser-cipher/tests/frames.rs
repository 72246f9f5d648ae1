//! A stream of frames gives the text that was written, or an error: never other text, never a part
//! that looks whole.

mod common;

use std::io::{self, Read, Write};

use common::{cut, cut_mut};
use hawser_cipher::frames::{
    FrameOpener, FrameReader, FrameSealer, FrameSize, FrameWriter, Header, TAG,
};
use hawser_cipher::{CipherError, Key, KeySize};
use proptest::prelude::*;

const SIZE: usize = 256;
const FRAME: usize = SIZE + TAG;

fn key() -> Key {
    Key::new(&[0x42; 32]).unwrap()
}

fn text(length: usize) -> Vec<u8> {
    (0..length).map(|k| (k * 7 + k / 256) as u8).collect()
}

/// The stream of `text`, as it is on the wire.
fn stream(text: &[u8]) -> Vec<u8> {
    let mut writer =
        FrameWriter::new(Vec::new(), &key(), FrameSize::new(SIZE).unwrap(), b"disk 3").unwrap();
    writer.write_all(text).unwrap();
    writer.finish().unwrap()
}

/// What a reader makes of `wire`: the text it gave out, and how it ended.
fn read(wire: &[u8]) -> (Vec<u8>, Result<(), Option<CipherError>>) {
    let mut given = Vec::new();
    let ended = FrameReader::new(wire, &key(), b"disk 3")
        .and_then(|mut reader| reader.read_to_end(&mut given))
        .map(|_| ())
        .map_err(|error| {
            error
                .get_ref()
                .and_then(|inner| inner.downcast_ref().cloned())
        });
    (given, ended)
}

fn forged(index: u64, last: bool) -> Result<(), Option<CipherError>> {
    Err(Some(CipherError::FrameForged { index, last }))
}

#[test]
fn texts_of_every_length_around_the_frames_come_back() {
    for length in [0, 1, SIZE - 1, SIZE, SIZE + 1, 3 * SIZE, 3 * SIZE + 7] {
        let wire = stream(&text(length));
        let frames = length.div_ceil(SIZE).max(1);
        assert_eq!(
            wire.len(),
            Header::LENGTH + length + frames * TAG,
            "of {length} bytes"
        );
        assert_eq!(read(&wire), (text(length), Ok(())), "of {length} bytes");
    }
}

#[test]
fn the_same_text_is_never_the_same_stream() {
    assert_ne!(
        stream(b"text")[Header::LENGTH..],
        stream(b"text")[Header::LENGTH..]
    );
}

#[test]
fn a_stream_cut_anywhere_is_refused() {
    let wire = stream(&text(3 * SIZE + 10));
    for length in Header::LENGTH..wire.len() {
        let (given, ended) = read(&wire[..length]);
        let whole = (length - Header::LENGTH).saturating_sub(1) / FRAME;
        assert_eq!(ended, forged(whole as u64, true), "cut at {length}");
        assert_eq!(
            given,
            text(whole * SIZE),
            "only verified frames are given out"
        );
    }
}

#[test]
fn a_cut_exactly_between_two_frames_is_refused() {
    let wire = stream(&text(3 * SIZE));
    let (given, ended) = read(&wire[..Header::LENGTH + 2 * FRAME]);
    assert_eq!(ended, forged(1, true));
    assert_eq!(given, text(SIZE));
}

#[test]
fn a_writer_that_was_dropped_left_a_stream_that_is_refused() {
    let mut wire = Vec::new();
    let size = FrameSize::new(SIZE).unwrap();
    let mut writer = FrameWriter::new(&mut wire, &key(), size, b"disk 3").unwrap();
    writer.write_all(&text(2 * SIZE + 1)).unwrap();
    drop(writer);
    assert_eq!(read(&wire).1, forged(1, true));
}

#[test]
fn frames_out_of_their_order_are_refused() {
    let wire = stream(&text(4 * SIZE));
    let frame = |n: usize| &wire[Header::LENGTH + n * FRAME..][..FRAME];
    let header = &wire[..Header::LENGTH];
    for (name, order, at) in [
        ("exchanged", [0, 2, 1, 3].as_slice(), 1),
        ("repeated", &[0, 1, 1, 2, 3], 2),
        ("left out", &[0, 2, 3], 1),
        ("the last in the middle", &[0, 3, 1, 2], 1),
        ("the first again at the end", &[0, 1, 2, 3, 0], 3),
    ] {
        let mut moved = header.to_vec();
        order.iter().for_each(|n| moved.extend(frame(*n)));
        let (given, ended) = read(&moved);
        let last = at as usize == order.len() - 1;
        assert_eq!(ended, forged(at, last), "{name}");
        assert_eq!(given, text(at as usize * SIZE), "{name}");
    }
}

#[test]
fn something_behind_the_end_is_refused() {
    let mut wire = stream(&text(SIZE + 10));
    wire.push(0);
    assert_eq!(read(&wire).1, forged(1, true));
    let mut wire = stream(&text(SIZE));
    wire.extend([0; 5]);
    assert_eq!(read(&wire).1, forged(0, false));
}

#[test]
fn frames_of_another_stream_under_the_same_key_are_refused() {
    let (one, other) = (stream(&text(2 * SIZE)), stream(&text(2 * SIZE)));
    let mixed = [
        &one[..Header::LENGTH + FRAME],
        &other[Header::LENGTH + FRAME..],
    ]
    .concat();
    assert_eq!(read(&mixed), (text(SIZE), forged(1, true)));
}

#[test]
fn another_key_or_another_purpose_opens_nothing() {
    let wire = stream(b"text");
    let mut nothing = Vec::new();
    let wrong = Key::new(&[0x43; 32]).unwrap();
    for (key, associated) in [(&key(), &b"disk 4"[..]), (&wrong, b"disk 3")] {
        let mut reader = FrameReader::new(&wire[..], key, associated).unwrap();
        assert_eq!(
            reader.read_to_end(&mut nothing).unwrap_err().kind(),
            io::ErrorKind::InvalidData
        );
    }
    let short = Key::generate(KeySize::Aes128).unwrap();
    assert!(FrameReader::new(&wire[..], &short, b"disk 3").is_err());
    assert!(nothing.is_empty());
}

#[test]
fn after_a_forged_frame_nothing_opens_any_more() {
    let mut sealer = FrameSealer::new(&key(), FrameSize::new(SIZE).unwrap(), b"").unwrap();
    let header = *sealer.header();
    let (mut first, mut second) = (text(SIZE), text(SIZE));
    let tags = [
        sealer.seal_next(&mut first[..]).unwrap(),
        sealer.seal_next(&mut second[..]).unwrap(),
    ];

    let mut opener = FrameOpener::new(&key(), &header, b"").unwrap();
    let refused = Err(CipherError::FrameForged {
        index: 0,
        last: false,
    });
    let mut out = [0xee; SIZE];
    assert_eq!(
        opener.open_next((&second[..], &mut out[..]), &tags[1]),
        refused
    );
    assert_eq!(out, [0; SIZE]);
    assert_eq!(
        opener.open_next((&first[..], &mut out[..]), &tags[0]),
        refused
    );
    assert_eq!(
        opener.open_last((&second[..], &mut out[..]), &tags[1]),
        refused
    );
}

#[test]
fn only_the_last_frame_may_be_short_and_none_too_long() {
    let size = FrameSize::new(SIZE).unwrap();
    let mut sealer = FrameSealer::new(&key(), size, b"").unwrap();
    for length in [0, SIZE - 1, SIZE + 1] {
        assert_eq!(
            sealer.seal_next(&mut vec![0; length][..]),
            Err(CipherError::FrameLength {
                index: 0,
                length,
                size: SIZE
            })
        );
    }
    assert_eq!(
        sealer.seal_last(&mut [0; SIZE + 1][..]),
        Err(CipherError::FrameLength {
            index: 0,
            length: SIZE + 1,
            size: SIZE
        })
    );
}

/// A source and sink that work in small, odd portions, with interruptions.
struct Halting<T> {
    inner: T,
    step: usize,
    interrupt: bool,
}

impl<T> Halting<T> {
    fn portion(&mut self, length: usize) -> io::Result<usize> {
        self.interrupt = !self.interrupt;
        if self.interrupt {
            return Err(io::ErrorKind::Interrupted.into());
        }
        Ok(length.min(self.step))
    }
}

impl<T: Read> Read for Halting<T> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let portion = self.portion(into.len())?;
        self.inner.read(&mut into[..portion])
    }
}

impl<T: Write> Write for Halting<T> {
    fn write(&mut self, from: &[u8]) -> io::Result<usize> {
        let portion = self.portion(from.len())?;
        self.inner.write(&from[..portion])
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

proptest! {
    #[test]
    fn portions_of_any_size_make_no_difference(
        length in 0..5 * SIZE,
        writes in prop::collection::vec(1..2 * SIZE, 1..5),
        step in 1..2 * FRAME,
    ) {
        let sink = Halting { inner: Vec::new(), step, interrupt: false };
        let size = FrameSize::new(SIZE).unwrap();
        let mut writer = FrameWriter::new(sink, &key(), size, b"disk 3").unwrap();
        let text = text(length);
        for part in cut(&text, &writes) {
            writer.write_all(&part).unwrap();
        }
        let wire = writer.finish().unwrap().inner;
        let source = Halting { inner: &wire[..], step, interrupt: false };
        let mut given = Vec::new();
        FrameReader::new(source, &key(), b"disk 3").unwrap().read_to_end(&mut given).unwrap();
        prop_assert_eq!(given, text);
    }

    #[test]
    fn one_changed_bit_anywhere_gives_out_no_other_text(
        length in 0..4 * SIZE,
        bit in any::<prop::sample::Index>(),
    ) {
        let text = text(length);
        let mut wire = stream(&text);
        let bit = bit.index(wire.len() * 8);
        wire[bit / 8] ^= 1 << (bit % 8);
        let (given, ended) = read(&wire);
        prop_assert!(ended.is_err());
        prop_assert!(text.starts_with(&given));
        prop_assert_eq!(given.len() % SIZE, 0);
    }

    #[test]
    fn frames_may_lie_scattered(pieces in prop::collection::vec(1..100_usize, 1..10)) {
        let mut sealer = FrameSealer::new(&key(), FrameSize::new(SIZE).unwrap(), b"").unwrap();
        let header = *sealer.header();
        let text = text(SIZE);
        let mut sealed = vec![0; SIZE];
        let input = cut(&text, &pieces);
        let tag = sealer.seal_next((&input[..], &mut cut_mut(&mut sealed, &[33])[..])).unwrap();
        let mut opener = FrameOpener::new(&key(), &header, b"").unwrap();
        opener.open_next(&mut cut_mut(&mut sealed, &pieces)[..], &tag).unwrap();
        prop_assert_eq!(sealed, text);
    }
}
