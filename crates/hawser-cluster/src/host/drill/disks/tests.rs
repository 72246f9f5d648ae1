use super::*;

fn disk(states: &[&str]) -> Disk {
    let named = states.iter().zip('a'..);
    Disk {
        paths: named
            .map(|(state, letter)| (format!("sd{letter}"), (*state).to_owned()))
            .collect(),
        others: None,
    }
}

#[test]
fn one_of_several_paths_is_hit_and_of_a_disk_with_one_none() {
    let two = disk(&["running", "running"]);
    assert_eq!(fits(&two, &Extent::OnePath, false).unwrap(), ["sda"]);
    let one = fits(&disk(&["running"]), &Extent::OnePath, true).unwrap_err();
    assert!(one.contains("it has one path"), "{one}");
    let half = fits(&disk(&["running", "offline"]), &Extent::OnePath, true).unwrap_err();
    assert_eq!(half, "its path sdb is \"offline\" already");
}

#[test]
fn a_whole_disk_is_hit_only_if_another_has_what_is_on_it_and_nothing_else_needs_it() {
    let mut two = disk(&["running", "running"]);
    assert_eq!(fits(&two, &Extent::OneDisk, true).unwrap(), ["sda", "sdb"]);
    let single = fits(&two, &Extent::OneDisk, false).unwrap_err();
    assert!(single.starts_with("no other disk has"), "{single}");
    two.others = Some("sda2".into());
    let shared = fits(&two, &Extent::OneDisk, true).unwrap_err();
    assert_eq!(shared, "sda2 is on the same disk");
}

/// A mirror and a disk beside it.
const POOL: &str = "  pool: tank\n state: ONLINE\nconfig:\n\n\tNAME  STATE  READ WRITE CKSUM\n\
    \ttank  ONLINE  0  0  0\n\t  mirror-0  ONLINE  0  0  0\n\t    /dev/a  ONLINE  0  0  0\n\
    \t    /dev/b  ONLINE  0  0  0\n\t  /dev/c  ONLINE  0  0  0\n";

#[test]
fn a_disk_is_ill_at_its_shelf_if_another_has_what_is_on_it_unless_that_is_waived() {
    let pool = Vdevs::parse(POOL);
    assert_eq!(unfit_behind(&pool, "/dev/b", true), None);
    let single = unfit_behind(&pool, "/dev/c", true).unwrap();
    assert!(single.starts_with("/dev/c: no other disk has"), "{single}");
    assert_eq!(unfit_behind(&pool, "/dev/c", false), None);
}

#[test]
fn what_is_waived_is_the_copy_and_nothing_else() {
    let foreign = unfit_behind(&Vdevs::parse(POOL), "/dev/x", false).unwrap();
    assert_eq!(foreign, "/dev/x is none of the disks that ZFS lists");
    let ill = POOL.replace("/dev/b  ONLINE", "/dev/b  FAULTED");
    let ill = unfit_behind(&Vdevs::parse(&ill), "/dev/c", false).unwrap();
    assert_eq!(ill, "/dev/b is FAULTED");
}

#[test]
fn a_disk_that_is_called_faulted_after_its_errors_were_cleared_is_taken_back_too() {
    let says = |pool: &str| {
        let vdevs = Vdevs::parse(pool);
        let remedy = Remedy::of(&vdevs, "tank", Some("/dev/b"));
        let orders: Vec<String> = remedy.orders.iter().map(|it| it.join(" ")).collect();
        (orders.join("; "), remedy.lacks)
    };
    let failed = POOL.replace("/dev/b  ONLINE  0", "/dev/b  ONLINE  3");
    let counted = Some("errors of /dev/b are counted".to_owned());
    assert_eq!(says(&failed), ("clear tank /dev/b".to_owned(), counted));
    // Seen 10 ms later, after a drill that was content with the above.
    let faulted = POOL.replace("/dev/b  ONLINE", "/dev/b  FAULTED");
    let (orders, lacks) = says(&faulted);
    assert_eq!(orders, "online tank /dev/b; clear tank /dev/b");
    assert_eq!(lacks.as_deref(), Some("/dev/b is FAULTED"));
    assert_eq!(says(POOL), (String::new(), None));
    let stopped = POOL.replacen("ONLINE", "SUSPENDED", 1);
    assert_eq!(says(&stopped).0, "clear tank");
}
