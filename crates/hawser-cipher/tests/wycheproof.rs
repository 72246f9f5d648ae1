//! The vectors of C2SP Wycheproof, which look for the mistakes that implementations make.

mod common;

use common::each_shape;
use hawser_cipher::gcm::{OpeningKey, Tag};
use hawser_cipher::hazmat::NonceChoosingKey;
use hawser_cipher::{Cipher, CipherError, Direction, Iv, Key};
use wycheproof::TestResult;

#[test]
fn gcm() {
    use wycheproof::aead::{TestName, TestSet};

    let set = TestSet::load(TestName::AesGcm).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for group in set.test_groups {
        // Nonces of other lengths and shorter tags cannot be expressed with this crate's types.
        if group.nonce_size != 96 || group.tag_size != 128 {
            continue;
        }
        for test in group.tests {
            let key = Key::new(&test.key).unwrap();
            let nonce: [u8; 12] = test.nonce[..].try_into().unwrap();
            let tag = Tag(test.tag[..].try_into().unwrap());
            let mut opening = OpeningKey::new(&key).unwrap();
            if test.result == TestResult::Invalid {
                let zeros = vec![0; test.ct.len()];
                each_shape(&test.ct, &zeros, |data| {
                    let opened = opening.open(nonce, &test.aad, data, &tag);
                    assert_eq!(opened, Err(CipherError::Forged), "test {}", test.tc_id);
                    Ok(())
                });
                invalid += 1;
            } else {
                each_shape(&test.ct, &test.pt, |data| {
                    opening.open(nonce, &test.aad, data, &tag)
                });
                let mut sealing = NonceChoosingKey::new(&key).unwrap();
                each_shape(&test.pt, &test.ct, |data| {
                    assert_eq!(
                        sealing.seal(nonce, &test.aad, data)?,
                        tag,
                        "test {}",
                        test.tc_id
                    );
                    Ok(())
                });
                valid += 1;
            }
        }
    }
    assert!(
        valid >= 90 && invalid >= 50,
        "{valid} valid and {invalid} invalid ones were run"
    );
}

/// The padding (PKCS #7) of these vectors is put on and checked here, since the crate has none.
#[test]
fn cbc() {
    use wycheproof::cipher::{TestName, TestSet};

    let set = TestSet::load(TestName::AesCbcPkcs5).unwrap();
    let (mut valid, mut invalid) = (0, 0);
    for test in set.test_groups.into_iter().flat_map(|group| group.tests) {
        let key = Key::new(&test.key).unwrap();
        let iv: [u8; 16] = test.nonce[..].try_into().unwrap();
        let fill = 16 - test.pt.len() % 16;
        let mut padded = test.pt.to_vec();
        padded.resize(test.pt.len() + fill, fill as u8);
        let decrypt = |data: &mut [u8]| {
            Cipher::cbc(Direction::Decrypt, &key, Iv::new(iv))
                .unwrap()
                .update(data)
        };
        let mut decrypted = test.ct.to_vec();
        if test.result == TestResult::Invalid {
            // Broken padding or a broken block: what comes out is not the padded text.
            assert!(
                decrypt(&mut decrypted).is_err() || decrypted != padded,
                "test {}",
                test.tc_id
            );
            invalid += 1;
        } else {
            decrypt(&mut decrypted).unwrap();
            assert_eq!(decrypted, padded, "test {}", test.tc_id);
            each_shape(&padded, &test.ct, |data| {
                Cipher::cbc(Direction::Encrypt, &key, Iv::new(iv))?.update(data)
            });
            valid += 1;
        }
    }
    assert!(
        valid >= 60 && invalid >= 90,
        "{valid} valid and {invalid} invalid ones were run"
    );
}
