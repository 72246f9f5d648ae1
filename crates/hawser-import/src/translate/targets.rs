//! What resources offer by iSCSI.

use hawser_cluster::exports::LAST_LUN;

use super::members::Owners;
use crate::crm::Primitive;
use crate::exports::{Offered, Shown, Target, Unit};
use crate::page::Page;
use crate::picture::{Picture, PoolKind, Said};
use crate::place::quoted;

/// What an `iSCSILogicalUnit` tells clients of itself beside its serial number.
const TOLD: [&str; 5] = [
    "scsi_id",
    "vendor_id",
    "product_id",
    "product_rev",
    "additional_parameters",
];

/// The agent of Hawser's own: adopting what Hawser has built.
pub(super) fn own_exports(
    primitive: &Primitive,
    owner: &str,
    owners: &Owners,
    picture: &mut Picture,
    page: &mut Page,
) {
    let at = &primitive.at;
    let kind = match primitive.param(&["iqn"]) {
        Some(iqn) => {
            picture.authority = Some(Said::new(iqn.to_owned(), at));
            "iscsi"
        }
        None => "nfs",
    };
    if let Some(backend) = primitive.param(&["backend"]) {
        picture.backend = Some(Said::new(backend.to_owned(), at));
    }
    if let Some(pool) = owners.pool_mut(owner, picture) {
        pool.exports = Some(Said::new(kind.into(), at));
        let root = primitive
            .param(&["root"])
            .filter(|root| *root != pool.root());
        if let (Some(root), PoolKind::Zfs) = (root, pool.kind) {
            pool.directory = Some(root.to_owned());
        }
    }
    page.understood(
        at,
        quoted(&primitive.id),
        format!("exports = \"{kind}\" of pool {owner}"),
    );
}

pub(super) fn target(
    primitive: &Primitive,
    offered: &mut Offered,
    picture: &mut Picture,
    page: &mut Page,
) {
    let at = &primitive.at;
    let Some(iqn) = primitive.param(&["iqn"]) else {
        return page.unsaid(at, quoted(&primitive.id), "it has no iqn");
    };
    let backend = match primitive.param(&["implementation"]) {
        Some("tgt") => "tgt",
        None | Some("lio" | "lio-t") => "lio",
        Some(other) => {
            page.changed(
                at,
                format!(
                    "implementation={} of {}",
                    quoted(other),
                    quoted(&primitive.id)
                ),
                "lio: Hawser drives LIO and tgt",
            );
            "lio"
        }
    };
    if primitive.param(&["additional_parameters"]).is_some() {
        let what = format!("additional_parameters of {}", quoted(&primitive.id));
        page.unsaid(at, what, "exports.toml has no key for it");
    }
    picture.backend = Some(Said::new(backend.into(), at));
    let mut target = Target::new(iqn, at);
    let portals = primitive.param(&["portals"]).unwrap_or_default();
    target.portals = portals
        .split_whitespace()
        .filter(|p| !p.starts_with("0.0.0.0"))
        .map(str::to_owned)
        .collect();
    let hosts = primitive
        .param(&["allowed_initiators"])
        .filter(|hosts| *hosts != "ALL");
    target.hosts = hosts.map(|hosts| hosts.split_whitespace().map(str::to_owned).collect());
    // An account stays one when its password is not known: without it everybody would get in.
    let secret = primitive.param(&["incoming_password"]).unwrap_or_default();
    let user = primitive.param(&["incoming_username"]);
    target.chap = user.map(|user| (user.to_owned(), crate::Secret(secret.to_owned())));
    let back = primitive.param(&["outgoing_password"]).unwrap_or_default();
    let user = primitive.param(&["outgoing_username"]);
    target.mutual = user.map(|user| (user.to_owned(), crate::Secret(back.to_owned())));
    offered.targets.push(target);
    page.understood(
        at,
        format!("{}, {}", quoted(&primitive.id), quoted(iqn)),
        "[[target]] of the pool's exports.toml",
    );
}

/// Where it stays a resource of its own, clients see what they saw.
pub(super) fn unit(primitive: &Primitive, stays: bool, offered: &mut Offered, page: &mut Page) {
    let at = &primitive.at;
    let (Some(iqn), Some(path)) = (primitive.param(&["target_iqn"]), primitive.param(&["path"]))
    else {
        return page.unsaid(at, quoted(&primitive.id), "it has no target_iqn or no path");
    };
    let mut unit = Unit::new(path, at);
    unit.serial = primitive.param(&["scsi_sn"]).map(str::to_owned);
    if unit.serial.is_none() && !stays {
        page.unsaid(
            at,
            format!("the serial number of {}", quoted(&primitive.id)),
            "the agent made one from the resource's name: write it as `serial`, or clients see a new disk",
        );
    }
    let number = primitive.param(&["lun"]);
    let lun = number.and_then(|lun| lun.parse().ok());
    let lun = lun.filter(|lun: &u16| *lun <= LAST_LUN);
    if let (Some(number), None) = (number, lun) {
        let what = format!("lun={} of {}", quoted(number), quoted(&primitive.id));
        page.mistake(
            at,
            what,
            "it is no number from 0 to 16383: write `lun`, or the unit gets one of its own",
        );
    }
    for name in TOLD.iter().filter(|_| !stays) {
        if let Some(value) = primitive.param(&[name]) {
            let what = format!("{name}={} of {}", quoted(value), quoted(&primitive.id));
            page.unsaid(
                at,
                what,
                "clients see Hawser's own: the vendor HAWSER, the product the volume's name",
            );
        }
    }
    let hosts = primitive.param(&["allowed_initiators"]);
    let hosts = hosts.map(|hosts| hosts.split_whitespace().map(str::to_owned).collect());
    unit.shown.push(Shown {
        target: iqn.to_owned(),
        lun,
        hosts,
        read_only: false,
    });
    offered.units.push(unit);
}
