//! Whether a head could be switched off is what the survivors' fencers say, not what the file means.

use super::*;
use crate::plan::by_hand;
use crate::scheduler::Scheduler;
use hawser_model::output::cluster::ServiceState;

#[test]
fn a_device_that_runs_and_answers_and_would_never_be_used_is_no_fencing() {
    let golden = Golden::named("lab");
    let cib = replaced(
        &well(&golden).to_text(),
        "name=\"pcmk_host_list\" value=\"head1\"",
        "name=\"pcmk_host_list\" value=\"nobody\"",
    );
    let facts = but(both(&golden, &cib), 2, |view| {
        if let Some(Told::Said(fencer)) = &mut view.fencer {
            fencer.can.remove("head1");
        }
    });
    let now = golden_status(&golden, "nobody-could-fence", &facts);
    assert!(!now.redundant);
    let text = "head1 could not be switched off: the fencer on head2 would use no device for it, and the file means \
                fence-head1";
    assert!(
        now.reason
            .as_deref()
            .is_some_and(|reason| reason.starts_with(text)),
        "{:?}",
        now.reason
    );
    // What `plan` finds, `status` says too.
    let drift =
        "resource fence-head1 is not what the file says: pcmk_host_list: \"nobody\" on the cluster";
    assert!(said(&now).contains(drift), "{}", said(&now));
}

#[test]
fn a_level_counts_only_when_a_survivor_has_all_its_devices() {
    let golden = Golden::named("lab");
    let mut cib = well(&golden);
    let level = |index: &str, devices: &str| {
        Element::new("fencing-level")
            .with("id", format!("l{index}"))
            .with("target", "head1")
            .with("index", index)
            .with("devices", devices)
    };
    let levels = Element::new("fencing-topology").children([level("1", "fence-head1,pdu-a,pdu-b")]);
    cib.first_or_new("configuration").children.push(levels);
    let can = |devices: &[&str]| {
        let facts = but(both(&golden, &cib.to_text()), 2, |view| {
            if let Some(Told::Said(fencer)) = &mut view.fencer {
                let devices = devices.iter().map(|device| (*device).to_owned()).collect();
                fencer.can.insert("head1".into(), devices);
            }
        });
        said(&status(&golden.file, &facts, &Scheduler).unwrap())
    };
    let text = "head1 could not be switched off";
    assert!(can(&["fence-head1", "pdu-a"]).contains(text));
    assert!(!can(&["fence-head1", "pdu-a", "pdu-b"]).contains(text));
}

/// Both power supplies must be cut, and without a level the fencer is content with one.
#[test]
fn devices_that_must_succeed_together_are_no_fencing_without_their_level() {
    let golden = Golden::named("two-supplies");
    let with = running(&golden);
    let mut without = with.clone();
    let configuration = without.first_or_new("configuration");
    configuration
        .children
        .retain(|section| section.name != "fencing-topology");
    assert_ne!(with, without);
    let now = |cib: &Element| {
        let facts = both(&golden, &cib.to_text());
        said(&status(&golden.file, &facts, &Scheduler).unwrap())
    };
    let text = "head1 might not be switched off: pdu-a and pdu-b must all succeed";
    assert!(now(&without).contains(text), "{}", now(&without));
    assert!(!now(&with).contains("be switched off"), "{}", now(&with));
}

#[test]
fn with_fencing_off_nothing_is_redundant() {
    let golden = Golden::named("lab");
    let off = by_hand(
        &well(&golden),
        "crm_attribute",
        &["--name", "stonith-enabled", "--update", "false"],
    );
    let now = golden_status(
        &golden,
        "fencing-off",
        &both(&golden, &decided(&off.to_text())),
    );
    assert_eq!(
        (now.redundant, now.state),
        (false, ServiceState::NotRedundant)
    );
    let reason = now.reason.clone().unwrap_or_default();
    assert!(
        reason.starts_with("fencing is switched off")
            && reason.ends_with("`hawser apply` switches it on")
    );
    assert_eq!(now.degraded.len(), 1, "said once: {}", said(&now));
}

#[test]
fn a_fencer_that_hangs_is_named() {
    let golden = Golden::named("lab");
    let facts = but(healthy(&golden), 2, |view| {
        view.fencer = Some(Told::Silent(5))
    });
    let now = status(&golden.file, &facts, &Scheduler).unwrap();
    assert_eq!(
        now.reason.as_deref(),
        Some(
            "the fencer on head2 does not answer (no answer within 5 s): whom it could switch off is not known"
        )
    );
}

#[test]
fn a_shot_that_missed_a_head_that_is_well_again_is_degraded_with_what_forgets_it() {
    let golden = Golden::named("lab");
    let missed = r#"<pacemaker-result><fence_event action="off" target="head1" status="failed"
        completed="2026-01-02 03:04:05Z" exit-reason="No route to host"/></pacemaker-result>"#;
    let now = golden_status(
        &golden,
        "fencing-failed",
        &with_history(healthy(&golden), 2, missed),
    );
    assert_eq!(now.degraded.len(), 1, "{}", said(&now));
    assert!(now.degraded[0].contains("the last attempt to fence head1 failed"));
    assert!(now.degraded[0].contains("`stonith_admin --cleanup --history=head1`"));
}

#[test]
fn a_head_that_is_fenced_again_and_again_is_worth_knowing() {
    let golden = Golden::named("lab");
    let shot = |minute: u32| {
        format!(
            r#"<fence_event action="off" target="head1" status="success" completed="2026-01-02 11:{minute}:00Z"/>"#
        )
    };
    let shots = |minutes: &[u32]| {
        let events: String = minutes.iter().map(|minute| shot(*minute)).collect();
        let facts = with_history(healthy(&golden), 2, &format!("<r>{events}</r>"));
        let facts = but(facts, 2, |view| {
            let noon = 1_767_355_200_000_000;
            view.clock = Some(hawser_cluster::host::view::Clock {
                asked_us: noon,
                answered_us: noon,
            });
        });
        status(&golden.file, &facts, &Scheduler).unwrap()
    };
    assert_eq!(shots(&[10, 20]).notes, Vec::<String>::new());
    let often = shots(&[10, 20, 30]);
    assert!(
        often.notes[0].contains("head1 was fenced 3 times within an hour"),
        "{:?}",
        often.notes
    );
}

#[test]
fn a_member_that_is_not_registered_is_told_of_and_one_that_was_shut_out_is_not() {
    let golden = Golden::named("lab");
    let device = "[[fencing.device]]\nname = \"disks\"\nagent = \"fence_scsi\"\nports = { head1 = \"\", head2 = \"\" }\n\
                  options = { devices = \"/dev/sdb\" }\n";
    let text = format!("{}\n{device}", golden.file.text);
    let file = hawser_model::cluster_file::parse_complete(&text, "hawser.toml").unwrap();
    let golden = Golden { file, ..golden };
    let told = |cib: &str| {
        let facts = but(both(&golden, cib), 1, |view| {
            let why = "/dev/sdb: key 0x1 is not registered".to_owned();
            view.fence_status.insert("disks".into(), Some(why));
        });
        said(&status(&golden.file, &facts, &Scheduler).unwrap())
    };
    let well = well(&golden);
    let text =
        "fence device disks would shut nobody out on head1: /dev/sdb: key 0x1 is not registered";
    let now = told(&well.to_text());
    assert!(now.contains(text), "{now}");
    // Its BMC is there for each head all the same.
    assert!(!now.contains("could not be switched off"), "{now}");

    let lost = told(&after(&well, &[Event::NodeFail("head1".into())]));
    assert!(!lost.contains("disks would shut nobody out"), "{lost}");
}
