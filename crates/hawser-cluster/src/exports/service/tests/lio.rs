//! The kernel's target, on a tree of folders that no kernel stands behind: folders are made, and values are refused.

use std::fs;

use hawser_model::cluster_file::Backend;

use super::super::keep::due;
use super::{Health, IQN, ServiceError, World, broken};
use crate::exports::lio::backstore;

fn world() -> World {
    let mut world = World::with(&["a"]);
    world.parameters.backend = Backend::Lio;
    for folder in ["core", "iscsi"] {
        fs::create_dir_all(world.folder.path().join("configfs").join(folder)).unwrap();
    }
    world
}

#[test]
fn a_target_of_the_wanted_name_that_is_not_ours_is_left_alone() {
    let mut world = world();
    let target = world.folder.path().join("configfs/iscsi").join(IQN);
    fs::create_dir_all(target.join("tpgt_1/lun")).unwrap();
    let refused = world.start("").unwrap_err();
    assert!(matches!(refused, ServiceError::Foreign(_)), "{refused}");
    assert_eq!(
        world.saved(),
        None,
        "nothing is written down of what is not made"
    );
    world.stop().unwrap();
    assert!(target.is_dir());
    assert_eq!(world.health().unwrap(), Health::Stopped);
}

#[test]
fn a_start_that_the_kernel_refuses_in_the_middle_is_known_and_taken_away() {
    let mut world = world();
    let refused = world.start("").unwrap_err();
    assert!(matches!(refused, ServiceError::Configfs(_)), "{refused}");
    let core = world.folder.path().join("configfs/core");
    assert_eq!(fs::read_dir(&core).unwrap().count(), 1);
    let saved = world.saved().unwrap();
    assert!(
        saved.desired.targets.contains_key(IQN) && !saved.before.is_empty(),
        "it is written down before it is made"
    );
    // It got as far as the target.
    let target = world.folder.path().join("configfs/iscsi").join(IQN);
    fs::create_dir(&target).unwrap();
    let said = broken(world.health());
    assert!(
        said.starts_with("the last start did not end well"),
        "{said}"
    );
    world.stop().unwrap();
    assert_eq!(fs::read_dir(&core).unwrap().count(), 0);
    assert!(!target.exists());
    assert_eq!(
        (world.saved(), world.health().unwrap()),
        (None, Health::Stopped)
    );
}

#[test]
fn a_pool_that_changes_its_back_end_is_first_taken_away_from_the_other() {
    let mut world = world();
    world.parameters.backend = Backend::Tgt;
    world.start("").unwrap();
    world.parameters.backend = Backend::Lio;
    let refused = world.start("").unwrap_err();
    assert!(matches!(refused, ServiceError::Configfs(_)), "{refused}");
    assert!(world.tgtd().targets.is_empty());
    let saved = world.saved().unwrap();
    assert_eq!(saved.parameters.backend, Backend::Lio);
    assert_eq!(
        (saved.made, saved.portals.len(), saved.marks.len()),
        (None, 0, 0)
    );
}

#[test]
fn who_reserves_releases_or_leaves_is_noticed_although_the_kernel_counts_none_of_them() {
    let mut world = World::with(&["a"]);
    world.start("").unwrap();
    let mut saved = world.saved().unwrap();
    saved.parameters.backend = Backend::Lio;
    saved.write(world.run()).unwrap();
    let (serial, unit) = saved.desired.units.first_key_value().unwrap();
    let store = backstore("tank", serial, unit);
    let pr = world.folder.path().join("configfs").join(store).join("pr");
    fs::create_dir_all(&pr).unwrap();
    let told = |file: &str, text: &str| fs::write(pr.join(file), text).unwrap();
    told("res_pr_generation", "0x00000000\n");
    told("res_holder", "SPC-2 Reservation: iSCSI Initiator: iqn.a\n");
    let due = |before: &str| due(&world.here, "tank", before.as_bytes()).unwrap();
    assert_eq!(due(""), None, "nobody has registered");

    told("res_pr_generation", "0x00000002\n");
    told("res_holder", "No SPC-3 Reservation holder\n");
    told("res_pr_type", "No SPC-3 Reservation holder\n");
    told("res_pr_registered_i_pts", "iqn.a Key: 1\niqn.b Key: 2\n");
    // What an older version has noted.
    let mut before = due(&format!("{serial} 0x00000002\n")).unwrap();
    for (file, text) in [
        ("res_holder", "SPC-3 Reservation: iSCSI Initiator: iqn.a\n"),
        (
            "res_pr_type",
            "SPC-3 Reservation Type: Write Exclusive Access\n",
        ),
        ("res_pr_registered_i_pts", "iqn.a Key: 1\n"),
        ("res_pr_generation", "0x00000003\n"),
    ] {
        assert_eq!(due(&before), None);
        told(file, text);
        before = due(&before).unwrap_or_else(|| panic!("another {file} is not noticed"));
    }
}
