//! Which volume of which pool a path is.

use hawser_model::visible::one_line;

use crate::picture::{Picture, PoolKind, usable};

/// The pool and the volume's name below it.
///
/// # Errors
/// Why it is none, in words.
pub(super) fn volume(path: &str, picture: &Picture) -> Result<(String, String), String> {
    let zvol = ["/dev/zvol/rdsk/", "/dev/zvol/dsk/", "/dev/zvol/"];
    if let Some(rest) = zvol.iter().find_map(|start| path.strip_prefix(start)) {
        let (zpool, volume) = rest.split_once('/').ok_or("a zvol has a pool and a name")?;
        if !is_dataset(volume) {
            return Err(
                "it is no volume of ZFS, but a snapshot or a name that ZFS does not allow".into(),
            );
        }
        // One that is kept may have another name than on its disks.
        let of = |pool: &&crate::picture::Pool| pool.zpool.as_deref() == Some(zpool);
        let pool = picture.pools.iter().find(of);
        return named(pool.map_or(zpool, |pool| &pool.name), volume);
    }
    if let Some(rest) = path.strip_prefix("/dev/") {
        let (group, volume) = match rest.strip_prefix("mapper/") {
            Some(name) => mapped(name).ok_or("it is no logical volume")?,
            None => match rest.split_once('/') {
                Some((dir, volume))
                    if !matches!(dir, "disk" | "block" | "loop" | "md" | "drbd") =>
                {
                    (dir.to_owned(), volume.to_owned())
                }
                _ => return Err("a whole device is no volume of a pool: put it into a pool".into()),
            },
        };
        let of_group = |pool: &&crate::picture::Pool| pool.volume_group.as_deref() == Some(&group);
        let lvm = |pool: &&crate::picture::Pool| pool.kind == PoolKind::Lvm;
        let pool = picture.pools.iter().filter(lvm).find(of_group);
        return match (pool, picture.pools.is_empty()) {
            (Some(pool), _) => named(&pool.name, &volume),
            (None, true) => named(&group, &volume),
            (None, false) => Err(format!(
                "volume group {} is no pool of the other sources",
                one_line(&group)
            )),
        };
    }
    let (pool, rest) = below(path, picture).ok_or("it is in no pool that a source names")?;
    match rest.strip_suffix(".img") {
        Some(volume) => named(&pool, volume),
        None => Err("a file is a volume if its name ends with .img: rename it".into()),
    }
}

/// Whether ZFS gives a volume or a file system such a name below its pool (zfs(8)); a snapshot is none.
pub(super) fn is_dataset(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.: ".contains(c);
    name.split('/')
        .all(|part| !matches!(part, "" | "." | "..") && part.chars().all(plain))
}

/// The pool of a directory and its name below the pool; `.` is the whole pool.
pub(super) fn directory(path: &str, picture: &Picture) -> Option<(String, String)> {
    below(path.trim_end_matches('/'), picture)
}

fn below(path: &str, picture: &Picture) -> Option<(String, String)> {
    let inside = |pool: &crate::picture::Pool| {
        let root = pool.root();
        let rest = path.strip_prefix(root.trim_end_matches('/'))?;
        match rest.strip_prefix('/') {
            _ if rest.is_empty() => Some((root.len(), pool.name.clone(), ".".to_owned())),
            Some(rest) => Some((root.len(), pool.name.clone(), rest.to_owned())),
            None => None,
        }
    };
    let found = picture
        .pools
        .iter()
        .filter_map(inside)
        .max_by_key(|(length, ..)| *length);
    found.map(|(_, pool, rest)| (pool, rest))
}

fn named(pool: &str, volume: &str) -> Result<(String, String), String> {
    let plain = |part: &str| !part.is_empty() && part != "." && part != "..";
    if usable(pool).as_deref() != Some(pool) || !volume.split('/').all(plain) {
        return Err("Hawser cannot name it".into());
    }
    Ok((pool.to_owned(), volume.to_owned()))
}

/// `vg--a-lv` of the device mapper: a dash within a name is doubled.
pub(crate) fn mapped(name: &str) -> Option<(String, String)> {
    let bytes = name.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        match (bytes[i], bytes.get(i + 1)) {
            (b'-', Some(b'-')) => i += 2,
            (b'-', Some(_)) => {
                let plain = |part: &str| part.replace("--", "-");
                return Some((plain(&name[..i]), plain(&name[i + 1..])));
            }
            _ => i += 1,
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zvols_logical_volumes_and_what_is_none() {
        let none = Picture::default();
        let of = |path: &str| volume(path, &none).map(|(pool, name)| format!("{pool} {name}"));
        assert_eq!(of("/dev/zvol/rdsk/tank/vm/a"), Ok("tank vm/a".into()));
        assert_eq!(of("/dev/zvol/tank/a"), Ok("tank a".into()));
        assert_eq!(of("/dev/vg0/a"), Ok("vg0 a".into()));
        assert_eq!(of("/dev/mapper/vg--0-a--b"), Ok("vg-0 a-b".into()));
        for path in [
            "/dev/sdb",
            "/dev/disk/by-id/x",
            "/srv/a.img",
            "/dev/zvol/tank/../a",
            "/dev/zvol/tank/a@snap",
            "",
            "/dev/mapper/é-x",
        ] {
            let refused = of(path).is_err() || path.contains('é');
            assert!(refused, "{path}");
        }
    }
}
