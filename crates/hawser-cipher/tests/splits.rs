//! However the bytes are split, they are the same bytes, and those of a second implementation
//! (RustCrypto's, composed by its own crates).

mod common;

use aes_gcm::aead::{AeadInOut, KeyInit as _};
use cbc::cipher::{BlockModeEncrypt, KeyIvInit, StreamCipher};
use common::{cut, cut_mut};
use hawser_cipher::gcm::{OpeningKey, Tag};
use hawser_cipher::hazmat::NonceChoosingKey;
use hawser_cipher::{Cipher, CipherError, Direction, Iv, Key, KeySize};
use proptest::prelude::*;

/// Up to five chunks and a bit, so that every path of the data path is met.
const LONGEST: usize = 5 * 32 * 1024 + 1000;

/// Lengths of pieces, repeated: single bytes, blocks, lines, pages, more than a chunk, empty ones.
fn lengths() -> impl Strategy<Value = Vec<usize>> {
    let length = prop_oneof![
        Just(0_usize),
        Just(1),
        Just(16),
        Just(64),
        Just(4096),
        1..40_usize,
        1..3000_usize,
        1..50_000_usize,
    ];
    prop::collection::vec(length, 1..12).prop_filter("not all empty", |v| v.iter().any(|n| *n > 0))
}

#[derive(Clone, Debug)]
struct Case {
    key: Vec<u8>,
    iv: [u8; 16],
    text: Vec<u8>,
    /// Where the text is cut into updates.
    updates: Vec<usize>,
    input: Vec<usize>,
    output: Vec<usize>,
    /// Bytes by which buffers are moved from their alignment.
    shift: usize,
}

fn case() -> impl Strategy<Value = Case> {
    let iv = prop_oneof![
        any::<[u8; 16]>(),
        // The counter wraps at 32, 64 and 128 bits within the text.
        (4..=16_usize).prop_map(|ones| {
            let mut iv = [0x37; 16];
            iv[16 - ones..].fill(0xff);
            iv
        }),
    ];
    (
        prop::sample::select(vec![16_usize, 24, 32]),
        any::<[u8; 32]>(),
        iv,
        (0..LONGEST, any::<u64>()),
        prop::collection::vec(1..60_000_usize, 1..5),
        (lengths(), lengths()),
        0..64_usize,
    )
        .prop_map(
            |(size, key, iv, (length, seed), updates, (input, output), shift)| Case {
                key: key[..size].to_vec(),
                iv,
                text: text(length, seed),
                updates,
                input,
                output,
                shift,
            },
        )
}

fn text(length: usize, mut seed: u64) -> Vec<u8> {
    let mut step = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    (0..length).map(|_| step()).collect()
}

impl Case {
    fn key(&self) -> Key {
        Key::new(&self.key).unwrap()
    }

    fn nonce(&self) -> [u8; 12] {
        self.iv[..12].try_into().unwrap()
    }

    /// Only whole blocks, in the text and in each update (not in the pieces).
    fn in_blocks(mut self) -> Self {
        self.text.truncate(self.text.len() / 16 * 16);
        self.updates
            .iter_mut()
            .for_each(|length| *length = length.next_multiple_of(16));
        self
    }

    /// The text by one operation after the other, in each shape of buffers.
    fn results(&self, mut begin: impl FnMut() -> Cipher) -> Vec<Vec<u8>> {
        let shift = self.shift;
        let mut moved = vec![0; shift];
        moved.extend(&self.text);
        let text = &moved[shift..];

        let mut contiguous = vec![0; moved.len()];
        let mut cipher = begin();
        let mut rest = &mut contiguous[shift..];
        for from in cut(text, &self.updates) {
            let to;
            (to, rest) = rest.split_at_mut(from.len());
            cipher.update((&from[..], to)).unwrap();
        }

        let mut in_place = moved.clone();
        let mut cipher = begin();
        for mut part in cut_mut(&mut in_place[shift..], &self.updates) {
            cipher.update(&mut part[..]).unwrap();
        }

        let mut scattered = vec![0; moved.len()];
        let mut cipher = begin();
        let targets = cut_mut(&mut scattered[shift..], &self.updates);
        for (from, mut to) in cut(text, &self.updates).into_iter().zip(targets) {
            let mut pieces = cut_mut(&mut to, &self.output);
            cipher
                .update((&cut(&from, &self.input)[..], &mut pieces[..]))
                .unwrap();
        }

        let mut scattered_in_place = moved.clone();
        let mut cipher = begin();
        for mut part in cut_mut(&mut scattered_in_place[shift..], &self.updates) {
            cipher
                .update(&mut cut_mut(&mut part, &self.input)[..])
                .unwrap();
        }

        [contiguous, in_place, scattered, scattered_in_place]
            .map(|result| result[shift..].to_vec())
            .to_vec()
    }
}

/// Calls `$body` with `$Aes` the second implementation's cipher of the key's size.
macro_rules! with_size {
    ($key:expr, |$Aes:ident| $body:expr) => {
        match $key.size() {
            KeySize::Aes128 => {
                type $Aes = aes::Aes128;
                $body
            }
            KeySize::Aes192 => {
                type $Aes = aes::Aes192;
                $body
            }
            KeySize::Aes256 => {
                type $Aes = aes::Aes256;
                $body
            }
        }
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn ctr(case in case()) {
        let key = case.key();
        let mut expected = case.text.clone();
        with_size!(key, |Aes| {
            ctr::Ctr128BE::<Aes>::new_from_slices(&case.key, &case.iv)
                .unwrap()
                .apply_keystream(&mut expected);
        });
        for result in case.results(|| Cipher::ctr(&key, Iv::new(case.iv)).unwrap()) {
            prop_assert!(result == expected);
        }
    }

    #[test]
    fn cbc_mode(case in case().prop_map(Case::in_blocks)) {
        let key = case.key();
        let mut expected = case.text.clone();
        with_size!(key, |Aes| {
            let (blocks, _) = aes::cipher::Array::slice_as_chunks_mut(&mut expected);
            cbc::Encryptor::<Aes>::new_from_slices(&case.key, &case.iv)
                .unwrap()
                .encrypt_blocks(blocks);
        });
        let begin = |direction| Cipher::cbc(direction, &key, Iv::new(case.iv)).unwrap();
        for result in case.results(|| begin(Direction::Encrypt)) {
            prop_assert!(result == expected);
        }
        let sealed = Case { text: expected, ..case.clone() };
        for result in sealed.results(|| begin(Direction::Decrypt)) {
            prop_assert!(result == case.text);
        }
    }

    #[test]
    fn ecb(case in case().prop_map(Case::in_blocks)) {
        use aes::cipher::BlockCipherEncrypt;

        let key = case.key();
        let mut expected = case.text.clone();
        with_size!(key, |Aes| {
            let (blocks, _) = aes::cipher::Array::slice_as_chunks_mut(&mut expected);
            Aes::new_from_slice(&case.key).unwrap().encrypt_blocks(blocks);
        });
        for result in case.results(|| Cipher::ecb(Direction::Encrypt, &key).unwrap()) {
            prop_assert!(result == expected);
        }
        let sealed = Case { text: expected, ..case.clone() };
        for result in sealed.results(|| Cipher::ecb(Direction::Decrypt, &key).unwrap()) {
            prop_assert!(result == case.text);
        }
    }

    #[test]
    fn gcm(case in case(), associated in prop::collection::vec(any::<u8>(), 0..100)) {
        let key = case.key();
        let nonce = case.nonce();
        let mut expected = case.text.clone();
        let tag = with_size!(key, |Aes| {
            let tag = aes_gcm::AesGcm::<Aes, aes_gcm::aead::consts::U12>::new_from_slice(&case.key)
                .unwrap()
                .encrypt_inout_detached(&nonce.into(), &associated, expected.as_mut_slice().into())
                .unwrap();
            Tag(tag.0)
        });

        let mut sealing = NonceChoosingKey::new(&key).unwrap();
        let mut opening = OpeningKey::new(&key).unwrap();
        let mut result = vec![0; case.text.len()];
        let input = cut(&case.text, &case.input);
        let sealed =
            sealing.seal(nonce, &associated, (&input[..], &mut cut_mut(&mut result, &case.output)[..]));
        prop_assert_eq!(sealed, Ok(tag));
        prop_assert!(result == expected);

        // In parts, in place.
        let mut parts = case.text.clone();
        let mut sealer = sealing.sealer(nonce, &associated).unwrap();
        for mut part in cut_mut(&mut parts, &case.updates) {
            sealer.update(&mut cut_mut(&mut part, &case.input)[..]).unwrap();
        }
        prop_assert_eq!(sealer.finish().unwrap().tag, tag);
        prop_assert!(parts == expected);

        // Opened whole, scattered.
        let mut opened = vec![0; expected.len()];
        let input = cut(&expected, &case.output);
        opening
            .open(nonce, &associated, (&input[..], &mut cut_mut(&mut opened, &case.input)[..]), &tag)
            .unwrap();
        prop_assert!(opened == case.text);

        // Opened in two passes, cut differently in each.
        let mut verifier = opening.verifier(nonce, &associated).unwrap();
        for (i, part) in cut(&expected, &case.updates).into_iter().enumerate() {
            if i % 2 == 0 {
                verifier.update(&part).unwrap();
            } else {
                verifier.update_scattered(&cut(&part, &case.input)).unwrap();
            }
        }
        let mut releaser = verifier.verify(&tag).unwrap();
        let mut released = expected.clone();
        for mut part in cut_mut(&mut released, &case.output) {
            releaser.update(&mut part[..]).unwrap();
        }
        releaser.finish().unwrap();
        prop_assert!(released == case.text);
    }

    #[test]
    fn one_changed_bit_anywhere_opens_nothing(
        case in case(),
        associated in prop::collection::vec(any::<u8>(), 0..40),
        bit in any::<prop::sample::Index>(),
    ) {
        let key = case.key();
        let mut sealed = case.text.clone();
        let mut tag =
            NonceChoosingKey::new(&key).unwrap().seal(case.nonce(), &associated, &mut sealed[..]).unwrap();
        let (mut nonce, mut associated) = (case.nonce(), associated);
        let parts: [&mut [u8]; 4] = [&mut sealed, &mut tag.0, &mut nonce, &mut associated];
        let total: usize = parts.iter().map(|part| part.len()).sum();
        let bit = bit.index(total * 8);
        let byte = parts.into_iter().flatten().nth(bit / 8).unwrap();
        *byte ^= 1 << (bit % 8);

        let mut opening = OpeningKey::new(&key).unwrap();
        let mut opened = vec![0xee; sealed.len()];
        let input = cut(&sealed, &case.input);
        let mut output = cut_mut(&mut opened, &case.output);
        let result = opening.open(nonce, &associated, (&input[..], &mut output[..]), &tag);
        prop_assert_eq!(result, Err(CipherError::Forged));
        prop_assert!(opened.iter().all(|byte| *byte == 0), "nothing is left in the output");

        let mut verifier = opening.verifier(nonce, &associated).unwrap();
        verifier.update(&sealed).unwrap();
        prop_assert!(matches!(verifier.verify(&tag), Err(CipherError::Forged)));
    }
}
