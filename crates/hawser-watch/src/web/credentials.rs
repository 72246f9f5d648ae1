//! Who may ask: users and the bcrypt hashes of their passwords.
//!
//! A check with bcrypt is dear by design. What was right once is known again by a keyed digest, so that a scrape costs
//! nothing; what is not known is checked one at a time, with a pause after a wrong one, and few wait for their turn. So
//! whoever guesses takes half of one processor at most, and holds up only others who are not known yet.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

use crate::locked::locked;
use crate::slots::Slots;

/// So many wait for a check, beside the one that is made.
const WAIT: usize = 3;

/// The longest pause after a wrong one.
const PAUSE: Duration = Duration::from_secs(1);

type ShownDigest = [u8; 32];

/// Those who may ask.
pub struct Credentials {
    users: BTreeMap<String, String>,
    /// Makes the digests of this process: they are worth nothing elsewhere.
    key: [u8; 32],
    known: Mutex<BTreeMap<String, ShownDigest>>,
    turn: Mutex<()>,
    waiting: Arc<Slots>,
}

/// What comes of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordVerdict {
    /// It is one of those who may ask.
    Right,
    /// It is none of them.
    Wrong,
    /// Too many wait for a check already.
    Busy,
}

impl Credentials {
    /// Of these users and hashes; `key` is random.
    pub fn new(users: BTreeMap<String, String>, key: [u8; 32]) -> Self {
        Self {
            users,
            key,
            known: Mutex::default(),
            turn: Mutex::default(),
            waiting: Slots::new(1 + WAIT),
        }
    }

    /// Checks what a request's `Authorization` says (RFC 7617). Takes a while: for a thread that has nothing else to do.
    pub fn check(&self, authorization: Option<&[u8]>) -> PasswordVerdict {
        let Some((user, password)) = authorization.and_then(basic) else {
            return PasswordVerdict::Wrong;
        };
        let digest = self.digest(&user, &password);
        if self.knows(&user, &digest) {
            return PasswordVerdict::Right;
        }
        let Some(_slot) = self.waiting.take() else {
            return PasswordVerdict::Busy;
        };
        let _turn = locked(&self.turn);
        // Somebody before it may have shown the same.
        if self.knows(&user, &digest) {
            return PasswordVerdict::Right;
        }
        // A name that is not there takes as long as one that is.
        let Some(hash) = self.users.get(&user).or_else(|| self.users.values().next()) else {
            return PasswordVerdict::Wrong;
        };
        let begun = Instant::now();
        let right = bcrypt::verify(&password, hash).unwrap_or(false);
        if right && self.users.contains_key(&user) {
            locked(&self.known).insert(user, digest);
            return PasswordVerdict::Right;
        }
        std::thread::sleep(begun.elapsed().min(PAUSE));
        PasswordVerdict::Wrong
    }

    fn knows(&self, user: &str, digest: &ShownDigest) -> bool {
        let known = locked(&self.known);
        let known = known.get(user);
        known.is_some_and(|known| bool::from(known[..].ct_eq(&digest[..])))
    }

    /// A text that is longer than a block comes after a key of its own length: nobody can make one without it.
    fn digest(&self, user: &str, password: &[u8]) -> ShownDigest {
        let mut hash = Sha256::new();
        hash.update(self.key);
        hash.update((user.len() as u64).to_le_bytes());
        hash.update(user);
        hash.update(password);
        hash.finalize().into()
    }
}

fn basic(authorization: &[u8]) -> Option<(String, Vec<u8>)> {
    let (scheme, rest) = std::str::from_utf8(authorization).ok()?.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let both = STANDARD.decode(rest.trim()).ok()?;
    let colon = both.iter().position(|byte| *byte == b':')?;
    let user = std::str::from_utf8(&both[..colon]).ok()?.to_owned();
    Some((user, both[colon + 1..].to_vec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn credentials() -> Credentials {
        let hash = |password: &str| bcrypt::hash(password, 4).unwrap();
        let users = [
            ("you".to_owned(), hash("secret")),
            ("me".to_owned(), hash("other")),
        ];
        Credentials::new(users.into(), [7; 32])
    }

    fn shown(user: &str, password: &str) -> Vec<u8> {
        let both = STANDARD.encode(format!("{user}:{password}"));
        format!("bAsIc {both}").into_bytes()
    }

    #[test]
    fn a_password_is_the_one_of_its_user() {
        let all = credentials();
        let check = |user, password| all.check(Some(&shown(user, password)));
        assert_eq!(check("you", "secret"), PasswordVerdict::Right);
        assert_eq!(check("me", "other"), PasswordVerdict::Right);
        for (user, password) in [
            ("me", "secret"),
            ("you", "secret "),
            ("nobody", "secret"),
            ("", ""),
        ] {
            assert_eq!(
                check(user, password),
                PasswordVerdict::Wrong,
                "{user}:{password}"
            );
        }
        for none in [
            &b""[..],
            b"Basic",
            b"Basic ?",
            b"Basic eW91",
            b"Digest eW91OnNlY3JldA==",
            b"\xff",
        ] {
            assert_eq!(all.check(Some(none)), PasswordVerdict::Wrong, "{none:?}");
        }
        assert_eq!(all.check(None), PasswordVerdict::Wrong);
    }

    #[test]
    fn who_is_known_does_not_wait_behind_those_who_guess() {
        let all = credentials();
        let (you, guess) = (shown("you", "secret"), shown("you", "guess"));
        assert_eq!(all.check(Some(&you)), PasswordVerdict::Right);
        // Every slot is taken, and the one whose turn it is does not end.
        let slots: Vec<_> = (0..=WAIT).map(|_| all.waiting.take().unwrap()).collect();
        let turn = all.turn.lock().unwrap();
        assert_eq!(all.check(Some(&you)), PasswordVerdict::Right);
        assert_eq!(all.check(Some(&guess)), PasswordVerdict::Busy);
        // What was not checked yet has to wait, right or not.
        assert_eq!(
            all.check(Some(&shown("me", "other"))),
            PasswordVerdict::Busy
        );
        drop((slots, turn));
        assert_eq!(all.check(Some(&guess)), PasswordVerdict::Wrong);
        assert_eq!(
            all.check(Some(&shown("me", "other"))),
            PasswordVerdict::Right
        );
    }
}
