//! The accounts of tgtd, which all its targets share.

use std::collections::BTreeMap;

use super::ServiceError;
use super::owned::{Thing, Whose, only_ours};
use crate::exports::desired::Desired;
use crate::exports::host::{Mark, Saved, read_secret};
use crate::exports::tgt::{Account, Found, Instance};

pub fn secrets(desired: &Desired) -> Result<BTreeMap<String, String>, ServiceError> {
    let accounts = desired.accounts().into_iter();
    accounts
        .map(|(user, secret)| Ok((user, read_secret(&secret)?)))
        .collect()
}

pub fn marks(
    secrets: &BTreeMap<String, String>,
    saved: Option<&Saved>,
) -> Result<BTreeMap<String, Mark>, ServiceError> {
    let one = |(user, secret): (&String, &String)| {
        let known = saved.and_then(|saved| saved.marks.get(user));
        let mark = match known.filter(|mark| mark.is_of(secret)) {
            Some(mark) => mark.clone(),
            None => Mark::of(secret).map_err(|source| ServiceError::Io {
                call: "take",
                path: "random bytes".into(),
                source,
            })?,
        };
        Ok((user.clone(), mark))
    };
    secrets.iter().map(one).collect()
}

/// Whether each account that is wanted is there with the right secret. What a start left that did not end
/// well has the old one or the new one: it is `unfinished`.
pub fn judge_accounts(
    mut found: Found,
    secrets: &BTreeMap<String, String>,
    instance: Instance,
    saved: Option<&Saved>,
    unfinished: bool,
    others: &[Saved],
) -> Result<Found, ServiceError> {
    let here = |saved: &&Saved| {
        saved
            .made
            .as_ref()
            .is_none_or(|made| made.instance == instance)
    };
    let saved = saved.filter(here);
    let unfinished = unfinished && saved.is_some_and(|saved| !saved.before.is_empty());
    let there: Vec<String> = found.accounts.keys().cloned().collect();
    let wanted = secrets.keys().filter(|user| there.contains(user));
    only_ours(wanted.cloned().map(Thing::Account), |thing| {
        let Thing::Account(user) = thing else {
            return None;
        };
        let secret = secrets.get(user)?;
        let other = others
            .iter()
            .filter(here)
            .find_map(|other| Some((other, other.marks.get(user)?)));
        let own = saved.and_then(|saved| saved.marks.get(user));
        Some(match (other, own) {
            (Some((_, mark)), _) if mark.is_of(secret) => Whose::Ours,
            (Some((other, _)), _) => Whose::Pool(other.parameters.pool.clone()),
            (None, Some(mark)) => {
                if unfinished || !mark.is_of(secret) {
                    found.accounts.insert(user.clone(), Account::Older);
                }
                Whose::Ours
            }
            (None, None) => Whose::Unknown,
        })
    })?;
    Ok(found)
}
