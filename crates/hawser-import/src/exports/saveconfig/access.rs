//! Who gets in at a portal group, with which account, and what each sees.
//!
//! LIO asks an initiator with an ACL for the account of that ACL, and one without for that of the portal group
//! (`iscsi_handle_authentication`). An ACL may say for itself whether it asks (`iscsi_conn_auth_required`).

use std::collections::BTreeSet;

use serde_json::Value;

use super::value::{Object, attributes, list, text};
use crate::Secret;
use crate::exports::Target;
use crate::page::Page;
use crate::place::{Malformed, quoted};

/// Who gets in.
pub(super) struct Access<'a> {
    /// Initiators without an ACL get in, and see each LUN under its own number.
    pub everybody: bool,
    /// They got in at LIO, or some of them could, and exports.toml cannot let them in.
    pub narrowed: bool,
    pub acls: Vec<Acl<'a>>,
}

/// An initiator with an ACL.
pub(super) struct Acl<'a> {
    pub host: &'a str,
    /// It is not asked for an account, or has one.
    pub gets_in: bool,
    pub sees: BTreeSet<Mapped>,
}

/// A LUN as it is seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Mapped {
    pub lun: u16,
    /// Its number in the portal group.
    pub of: u64,
    pub read_only: bool,
}

type Account = (String, Secret);

/// Reads it, and gives the target its hosts and its account.
pub(super) fn read<'a>(
    group: &'a Value,
    target: &mut Target,
    page: &mut Page,
) -> Result<Access<'a>, Malformed> {
    let at = target.at.clone();
    let iqn = quoted(&target.iqn);
    let what = format!("the portal group of {iqn}");
    let said = Object {
        value: attributes(group),
        what: &what,
        at: &at,
    };
    // The kernel's own values, where the file has none: TA_AUTHENTICATION, TA_GENERATE_NODE_ACLS.
    let asks = said.flag("authentication")?.unwrap_or(true);
    let everybody = said.flag("generate_node_acls")?.unwrap_or(false);
    let mut narrowed = false;
    let mut unasked: Vec<String> = Vec::new();
    match (everybody, asks, account(group, "chap")) {
        (true, true, Some(chap)) => take(target, chap, group, page),
        (true, true, None) => {
            narrowed = true;
            page.mistake(
                &at,
                format!("{iqn} asks initiators without an ACL for an account, and has none"),
                "LIO lets none of them in: only hosts with an ACL get in",
            );
        }
        (true, false, _) => unasked.push("everybody".into()),
        (false, _, Some(_)) => page.unsaid(
            &at,
            format!("the account of {what}"),
            "LIO asks for it only initiators without an ACL, and lets none of them in",
        ),
        (false, _, None) => {}
    }
    let mut acls = Vec::new();
    for acl in list(group, "node_acls") {
        let host = text(acl, "node_wwn");
        let asks = own(acl, &at)?.unwrap_or(asks);
        let chap = account(acl, "chap");
        let gets_in = !asks || chap.is_some();
        match chap {
            Some(chap) if asks => take(target, chap, acl, page),
            None if asks => page.mistake(
                &at,
                format!("{} is asked for an account at {iqn}, and has none", quoted(host)),
                "LIO does not let it in: it is left out. Write [target.chap] and put it into the host group to let it in",
            ),
            _ => unasked.push(quoted(host)),
        }
        let sees = mapped(acl, host, target, page)?;
        acls.push(Acl {
            host,
            gets_in,
            sees,
        });
    }
    if let (Some((user, _)), Some(first)) = (&target.chap, unasked.first()) {
        let others = match unasked.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        page.unsaid(
            &at,
            format!("{first}{others} at {iqn}, without an account"),
            format!(
                "a target asks all for its account or none: they need that of {}",
                quoted(user)
            ),
        );
    }
    if everybody && !narrowed {
        narrowed = !alike(group, &said, &acls, target, page)?;
    }
    let everybody = everybody && !narrowed;
    let hosts = acls.iter().filter(|acl| acl.gets_in);
    let hosts = hosts.map(|acl| acl.host.to_owned());
    target.hosts = (!everybody).then(|| hosts.collect());
    Ok(Access {
        everybody,
        narrowed,
        acls,
    })
}

/// Whether those with an ACL see what everybody sees. If not, a target for everybody would show them more.
fn alike(
    group: &Value,
    said: &Object<'_>,
    acls: &[Acl<'_>],
    target: &Target,
    page: &mut Page,
) -> Result<bool, Malformed> {
    let read_only = demo_read_only(said)?;
    let mut all = BTreeSet::new();
    for lun in list(group, "luns") {
        let number = Object {
            value: lun,
            ..*said
        }
        .lun("index")?;
        all.insert(Mapped {
            lun: number,
            of: number.into(),
            read_only,
        });
    }
    let other = acls.iter().find(|acl| !acl.gets_in || acl.sees != all);
    if let Some(acl) = other {
        page.unsaid(
            &target.at,
            format!(
                "{} is for everybody, but {} has an ACL that shows other LUNs, or shows them otherwise",
                quoted(&target.iqn),
                quoted(acl.host)
            ),
            "exports.toml cannot except a host: only hosts with an ACL get in. Put the others into a host group, or remove the ACL",
        );
    }
    Ok(other.is_none())
}

/// Whether everybody may only read (TA_DEMO_MODE_WRITE_PROTECT).
pub(super) fn demo_read_only(group: &Object<'_>) -> Result<bool, Malformed> {
    Ok(group.flag("demo_mode_write_protect")?.unwrap_or(true))
}

/// Whether an ACL asks for an account; `None`: as its portal group does.
fn own(acl: &Value, at: &crate::SourceLine) -> Result<Option<bool>, Malformed> {
    let attributes = attributes(acl);
    let said = attributes.get("authentication");
    let inherits = said.is_some_and(|said| {
        said.as_i64() == Some(-1)
            || said
                .as_str()
                .is_some_and(|said| said.trim() == "-1" || said.contains("inherited"))
    });
    if inherits {
        return Ok(None);
    }
    let what = format!("the ACL of {}", quoted(text(acl, "node_wwn")));
    Object {
        value: attributes,
        what: &what,
        at,
    }
    .flag("authentication")
}

fn account(from: &Value, kind: &str) -> Option<Account> {
    let of = |part: &str| text(from, &format!("{kind}_{part}"));
    let (user, password) = (of("userid"), of("password"));
    let there = !user.is_empty() && !password.is_empty();
    there.then(|| (user.to_owned(), Secret(password.to_owned())))
}

fn take(target: &mut Target, chap: Account, from: &Value, page: &mut Page) {
    match &target.chap {
        Some(first) if *first != chap => page.unsaid(
            &target.at,
            format!("a second account of {}", quoted(&target.iqn)),
            "a target has one account; the first is taken",
        ),
        Some(_) => {}
        None => {
            target.chap = Some(chap);
            target.mutual = account(from, "chap_mutual");
        }
    }
}

/// What an ACL shows: a LUN under another number, read-only, or not at all.
fn mapped(
    acl: &Value,
    host: &str,
    target: &Target,
    page: &mut Page,
) -> Result<BTreeSet<Mapped>, Malformed> {
    let what = format!("a LUN of {} at {}", quoted(host), quoted(&target.iqn));
    let mut all: BTreeSet<Mapped> = BTreeSet::new();
    for value in list(acl, "mapped_luns") {
        let object = Object {
            value,
            what: &what,
            at: &target.at,
        };
        let lun = object.lun("index")?;
        let of = object.number("tpg_lun")?.ok_or_else(|| {
            Malformed::new(
                &target.at,
                format!("no tpg_lun of {what}"),
                "the number of a LUN of the portal group",
            )
        })?;
        let read_only = object.flag("write_protect")?.unwrap_or(false);
        if all.iter().any(|other| other.lun == lun) {
            let found = format!(
                "{} has two LUNs {lun} at {}",
                quoted(host),
                quoted(&target.iqn)
            );
            return Err(Malformed::new(&target.at, found, "each number once"));
        }
        if all.iter().any(|other| other.of == of) {
            page.unsaid(
                &target.at,
                format!(
                    "LUN {lun} of {}: it is LUN {of} of {} again",
                    quoted(host),
                    quoted(&target.iqn)
                ),
                "a client sees a unit once on a target",
            );
            continue;
        }
        all.insert(Mapped { lun, of, read_only });
    }
    Ok(all)
}
