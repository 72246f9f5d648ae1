use proptest::prelude::*;

use super::*;

/// As Linux 6.1 wrote it for two sessions of a client, one of which holds "write exclusive, registrants only".
const TWO: &str = "PR_REG_START: 0\ninitiator_fabric=iSCSI\ninitiator_node=iqn.2026-01.lab:client1\n\
    initiator_sid=00023d000003\nsa_res_key=43969\nres_holder=1\nres_type=05\nres_scope=00\nres_all_tg_pt=0\n\
    mapped_lun=1\ntarget_fabric=iSCSI\ntarget_node=iqn.2026-01.lab:tank\ntpgt=1\nport_rtpi=1\ntarget_lun=1\n\
    PR_REG_END: 0\nPR_REG_START: 1\ninitiator_fabric=iSCSI\ninitiator_node=iqn.2026-01.lab:client1\n\
    sa_res_key=18446744073709551615\nres_holder=0\nres_all_tg_pt=0\nmapped_lun=1\n\
    target_fabric=iSCSI\ntarget_node=iqn.2026-01.lab:tank\ntpgt=1\nport_rtpi=1\ntarget_lun=1\nPR_REG_END: 1\n\0";

#[test]
fn what_the_kernel_wrote_is_what_it_is_told() {
    let (all, strange) = parse(TWO).unwrap();
    let told: Vec<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(strange, 0);
    assert_eq!(
        told,
        [
            "initiator_fabric=iSCSI,initiator_node=iqn.2026-01.lab:client1,initiator_sid=00023d000003,sa_res_key=43969,\
             res_holder=1,res_type=5,res_scope=0,res_all_tg_pt=0,mapped_lun=1,target_fabric=iSCSI,\
             target_node=iqn.2026-01.lab:tank,tpgt=1,port_rtpi=1,target_lun=1",
            "initiator_fabric=iSCSI,initiator_node=iqn.2026-01.lab:client1,sa_res_key=18446744073709551615,\
             res_holder=0,res_all_tg_pt=0,mapped_lun=1,target_fabric=iSCSI,\
             target_node=iqn.2026-01.lab:tank,tpgt=1,port_rtpi=1,target_lun=1"
        ]
    );
    for none in ["", "\0", "No Registrations or Reservations\n\0"] {
        assert_eq!(parse(none), Ok((vec![], 0)));
    }
}

#[test]
fn anything_else_is_an_error_with_its_line() {
    let line = |text: &str| parse(text).unwrap_err().line;
    assert_eq!(line("initiator_node=x\n"), 1);
    // A client may call itself anything, and keeps nobody else out by that.
    let (others, strange) =
        parse(&TWO.replacen(":client1\n", ":client1,res_holder=1\n", 1)).unwrap();
    assert_eq!((others.len(), strange), (1, 1));
    assert_eq!(line(&TWO.replace("00023d000003", "0,res_holder=1")), 16);
    assert_eq!(line(&TWO.replace("res_type=05\n", "")), 15);
    assert_eq!(line(&TWO[..60]), 3);
}

/// A line break in the name of a client, and what else it may write behind one.
#[test]
fn a_client_whose_name_has_lines_loses_what_it_registered_and_nobody_else_does() {
    let ended = "sa_res_key=7\nres_holder=1\nres_type=05\nres_scope=00\nres_all_tg_pt=0\nmapped_lun=1\ntarget_fabric=iSCSI\n\
        target_node=iqn.2026-01.lab:tank\ntpgt=1\nport_rtpi=1\ntarget_lun=1\nPR_REG_END: 0";
    let begun = "initiator_fabric=iSCSI\ninitiator_node=iqn.x";
    let second = parse(TWO).unwrap().0.remove(1);
    for more in [
        "PR_REG_START: 9".to_owned(),
        "PR_REG_END: 0".to_owned(),
        "nothing".to_owned(),
        "sa_res_key=7".to_owned(),
        ended.to_owned(),
        format!("{ended}\nPR_REG_START: 0\n{begun}"),
    ] {
        let text = TWO.replacen(":client1\n", &format!(":client1\n{more}\n"), 1);
        let (all, strange) = parse(&text).unwrap();
        assert_eq!(all.as_slice(), std::slice::from_ref(&second), "{more}");
        assert!(strange > 0, "{more}");
    }
    // One that takes the number of the next has that one's lost too, and never stands for anybody.
    let next = format!(":client1\n{ended}\nPR_REG_START: 1\n{begun}\n");
    let (all, strange) = parse(&TWO.replacen(":client1\n", &next, 1)).unwrap();
    assert!(all.iter().all(|it| *it == second) && strange > 0, "{all:?}");
}

proptest! {
    #[test]
    fn nothing_is_a_panic(text in "(PR_REG_START: 0\n)?(\\PC{0,20}=\\PC{0,20}\n){0,4}(PR_REG_END: 0\n)?") {
        let _ = parse(&text);
    }
}

#[test]
fn files_are_the_pool_s_while_it_is_served() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    let (database, root) = (folder.path().join("target"), folder.path().join("tank"));
    fs::create_dir_all(&root)?;
    let files = Files::of(&format!("{}\n", database.display()), &root);
    let at = |serial: &str| database.join(format!("pr/aptpl_{serial}"));
    let one = BTreeSet::from(["one"]);
    assert!(files.are(&BTreeSet::new()) && !files.are(&one));
    files.make(&one, |_| false).unwrap();
    assert!(files.are(&one));
    // The kernel writes through it, as root does, whose files alone are read.
    if !nix::unistd::geteuid().is_root() {
        eprintln!("not run to its end: that takes root");
        return Ok(());
    }
    fs::write(at("one"), TWO)?;
    assert_eq!(fs::read_to_string(root.join(FOLDER).join("one"))?, TWO);
    let units = ["one".to_owned()];
    flush(&root, units.iter()).unwrap();
    assert_eq!(read(&root, units.iter()).unwrap().of_units["one"].len(), 2);
    // What a loss of power may leave.
    fs::write(at("one"), "")?;
    flush(&root, units.iter()).unwrap();
    assert_eq!(read(&root, units.iter()).unwrap().of_units["one"].len(), 2);
    fs::write(at("one"), TWO)?;
    // A unit more and a unit less; what is somebody else's stays.
    fs::write(at("two"), "served")?;
    fs::write(at("three"), "of old")?;
    fs::write(at("foreign"), "theirs")?;
    let others = BTreeSet::from(["three", "two"]);
    files.make(&others, |it| it == "two").unwrap();
    assert!(files.are(&others));
    assert_eq!(fs::read_to_string(at("two"))?, "served");
    assert!(!at("three").exists() && !at("one").exists());
    files.make(&BTreeSet::new(), |_| false).unwrap();
    assert_eq!(fs::read_dir(database.join("pr"))?.count(), 1);
    assert_eq!(fs::read_to_string(root.join(FOLDER).join("one"))?, TWO);
    Ok(())
}
