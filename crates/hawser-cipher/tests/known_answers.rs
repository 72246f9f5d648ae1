//! The answers that NIST's validation programme and RFC 3686 know, by every way in and out.

mod common;

use std::fs;
use std::path::Path;

use common::{each_shape, hex};
use hawser_cipher::gcm::{OpeningKey, Tag};
use hawser_cipher::hazmat::NonceChoosingKey;
use hawser_cipher::{Cipher, CipherError, Direction, Iv, Key};

/// One vector: its section's direction, its fields, and whether it says FAIL.
struct Vector {
    decrypt: bool,
    fields: Vec<(String, String)>,
    fails: bool,
}

impl Vector {
    fn bytes(&self, name: &str) -> Vec<u8> {
        let found = self
            .fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name));
        hex(&found.unwrap_or_else(|| panic!("no field {name}")).1)
    }

    fn key(&self) -> Key {
        Key::new(&self.bytes("key")).unwrap()
    }

    fn array<const N: usize>(&self, name: &str) -> [u8; N] {
        self.bytes(name).try_into().unwrap()
    }
}

/// All vectors of a file in NIST's response format.
fn vectors(file: &str) -> Vec<Vector> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(file);
    let text = fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut vectors = Vec::new();
    let mut decrypt = false;
    for paragraph in text.replace('\r', "").split("\n\n") {
        let mut vector = Vector {
            decrypt,
            fields: Vec::new(),
            fails: false,
        };
        for line in paragraph
            .lines()
            .map(str::trim)
            .filter(|line| !line.starts_with('#'))
        {
            match line {
                "[ENCRYPT]" => decrypt = false,
                "[DECRYPT]" => decrypt = true,
                "FAIL" => vector.fails = true,
                _ if line.starts_with('[') => {}
                _ => {
                    if let Some((name, value)) = line.split_once('=') {
                        vector
                            .fields
                            .push((name.trim().into(), value.trim().into()));
                    }
                }
            }
        }
        vector.decrypt = decrypt;
        if !vector.fields.is_empty() {
            vectors.push(vector);
        }
    }
    vectors
}

/// Runs a file of ECB, CBC or CTR vectors; returns how many.
fn block_modes(file: &str, cipher: impl Fn(&Vector, Direction) -> Cipher) -> usize {
    let vectors = vectors(file);
    for vector in &vectors {
        let (plain, secret) = (vector.bytes("plaintext"), vector.bytes("ciphertext"));
        let (direction, from, to) = if vector.decrypt {
            (Direction::Decrypt, secret, plain)
        } else {
            (Direction::Encrypt, plain, secret)
        };
        each_shape(&from, &to, |data| cipher(vector, direction).update(data));
    }
    vectors.len()
}

const SIZES: [&str; 3] = ["128", "192", "256"];
const KINDS: [&str; 3] = ["GFSbox", "KeySbox", "MMT"];

#[test]
fn ecb() {
    let mut count = 0;
    for (kind, size) in KINDS.iter().flat_map(|kind| SIZES.map(|size| (kind, size))) {
        count += block_modes(&format!("cavp/ECB{kind}{size}.rsp"), |vector, direction| {
            Cipher::ecb(direction, &vector.key()).unwrap()
        });
    }
    assert_eq!(count, 218);
}

#[test]
fn cbc() {
    let mut count = 0;
    for (kind, size) in KINDS.iter().flat_map(|kind| SIZES.map(|size| (kind, size))) {
        count += block_modes(&format!("cavp/CBC{kind}{size}.rsp"), |vector, direction| {
            Cipher::cbc(direction, &vector.key(), Iv::new(vector.array("iv"))).unwrap()
        });
    }
    assert_eq!(count, 218);
}

#[test]
fn ctr() {
    let count = block_modes("ctr-rfc3686.rsp", |vector, _| {
        Cipher::ctr(&vector.key(), Iv::new(vector.array("iv"))).unwrap()
    });
    assert_eq!(count, 9);
}

#[test]
fn gcm_sealing() {
    let mut count = 0;
    for size in SIZES {
        for vector in vectors(&format!("cavp/gcmEncryptExtIV{size}.rsp")) {
            let mut key = NonceChoosingKey::new(&vector.key()).unwrap();
            each_shape(&vector.bytes("pt"), &vector.bytes("ct"), |data| {
                let tag = key.seal(vector.array("iv"), &vector.bytes("aad"), data)?;
                assert_eq!(tag, Tag(vector.array("tag")));
                Ok(())
            });
            count += 1;
        }
    }
    assert_eq!(count, 150);
}

#[test]
fn gcm_opening() {
    let (mut opened, mut refused) = (0, 0);
    for size in SIZES {
        for vector in vectors(&format!("cavp/gcmDecrypt{size}.rsp")) {
            let mut key = OpeningKey::new(&vector.key()).unwrap();
            let (nonce, tag) = (vector.array("iv"), Tag(vector.array("tag")));
            let (associated, secret) = (vector.bytes("aad"), vector.bytes("ct"));
            if vector.fails {
                let zeros = vec![0; secret.len()];
                each_shape(&secret, &zeros, |data| {
                    assert_eq!(
                        key.open(nonce, &associated, data, &tag),
                        Err(CipherError::Forged)
                    );
                    Ok(())
                });
                refused += 1;
            } else {
                each_shape(&secret, &vector.bytes("pt"), |data| {
                    key.open(nonce, &associated, data, &tag)
                });
                opened += 1;
            }
        }
    }
    assert_eq!((opened, refused), (150, 75));
}
