//! The accounts of tgtd, which all its targets share.

use std::collections::BTreeMap;

use hawser_files::FileError;

use super::instance::Instance;
use super::plan::{Account, Found};
use crate::exports::host::Mark;
use crate::exports::service::ServiceError;
use crate::exports::service::job::{Job, Purpose};
use crate::exports::service::owned::{Thing, Whose, only_ours};

/// By what the secrets that are wanted will be known again.
pub fn marks(job: &Job<'_>) -> Result<BTreeMap<String, Mark>, ServiceError> {
    let mut marks = BTreeMap::new();
    for (user, secret) in job.desired().accounts() {
        let secret = &job.secrets[&secret];
        let known = job.saved.and_then(|saved| saved.marks.get(&user));
        let mark = match known.filter(|mark| mark.is_of(secret)) {
            Some(mark) => mark.clone(),
            None => Mark::of(secret).map_err(FileError::io("take", "random bytes"))?,
        };
        marks.insert(user, mark);
    }
    Ok(marks)
}

/// Whether each account that is wanted is there with the right secret. What a start left that did not end
/// well has the old one or the new one.
pub fn judge_accounts(
    job: &Job<'_>,
    tgtd: Instance,
    found: &mut Found,
) -> Result<(), ServiceError> {
    let saved = job.saved.filter(|saved| saved.is_of(tgtd));
    let unfinished = saved.is_some_and(|saved| !saved.before.is_empty());
    let unfinished = unfinished && job.purpose != Purpose::Started;
    let others = job.others()?;
    let others = || others.iter().filter(|other| other.is_of(tgtd));
    for (user, secret) in job.desired().accounts() {
        let Some(account) = found.accounts.get_mut(&user) else {
            continue;
        };
        let secret = &job.secrets[&secret];
        let other = others().find_map(|other| Some((other, other.marks.get(&user)?)));
        let own = saved.and_then(|saved| saved.marks.get(&user));
        let whose = match (other, own) {
            (Some((_, mark)), _) if mark.is_of(secret) => Whose::Ours,
            (Some((other, _)), _) => Whose::Pool(other.parameters.pool.clone()),
            (None, Some(mark)) => {
                if unfinished || !mark.is_of(secret) {
                    *account = Account::Older;
                }
                Whose::Ours
            }
            (None, None) => Whose::Unknown,
        };
        only_ours(Thing::Account(user), Some(whose))?;
    }
    Ok(())
}
