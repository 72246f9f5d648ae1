//! A plan that was reviewed is what an apply does, or nothing is done.

use std::sync::{Arc, Mutex};

use crate::apply::Bench;
use crate::simulated::{Cluster, heads};
use hawser_cluster::host::view::{Limits, PoolView, Told};
use hawser_cluster::live::{Applied, ApplyError, Options, Slow, apply, gather, plan_live};
use hawser_cluster::plan::{AUTHKEY, Origin, parse_saved, saved, saved_text};
use hawser_cluster::xml::Element;
use hawser_host::sim::Wire;
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::saved_plan::SavedPlan;

const EXAMPLE: &str = include_str!("../../../../examples/lab/hawser.toml");

/// The example with one thing changed.
#[track_caller]
fn changed(from: &str, to: &str) -> ClusterFile {
    assert!(EXAMPLE.contains(from), "the example has no {from}");
    parse_complete(&EXAMPLE.replacen(from, to, 1), "hawser.toml").unwrap()
}

/// A plan of this file, through its text and back.
fn reviewed(bench: &Bench, cluster: &Arc<Mutex<Cluster>>, file: &ClusterFile) -> SavedPlan {
    let mut heads = heads(cluster, &Wire::default());
    let facts = gather(file, &mut heads, &bench.secrets(), Slow::LeftAlone).unwrap();
    let plan = plan_live(file, &facts, &mut heads).unwrap();
    let origin = Origin {
        file,
        path: "hawser.toml",
        lab: None,
        made: 1_700_000_000,
    };
    let text = saved_text(&saved(&plan, origin)).unwrap();
    assert!(!text.contains("hunter2"), "{text}");
    parse_saved(&text).unwrap()
}

fn carry_out(
    bench: &Bench,
    cluster: &Arc<Mutex<Cluster>>,
    plan: &SavedPlan,
    allow_disruption: bool,
) -> Result<Applied, ApplyError> {
    let file = parse_complete(&plan.file, &plan.path).unwrap();
    let options = Options {
        allow_disruption,
        reviewed: Some(plan),
        ..Options::default()
    };
    bench.apply_to(&mut heads(cluster, &Wire::default()), &file, options)
}

/// A cluster that is what the example says.
fn applied(bench: &Bench) -> Arc<Mutex<Cluster>> {
    let cluster = Cluster::bare(&bench.golden);
    bench.apply(&cluster, &Wire::default()).unwrap();
    cluster
}

/// The example with a longer token: two files differ.
fn longer_token() -> ClusterFile {
    let profile = "profile = \"tuned\"";
    changed(profile, &format!("{profile}\ntoken = \"1500ms\""))
}

/// What the heads and the cluster are now.
fn now(cluster: &Arc<Mutex<Cluster>>) -> (String, String) {
    let cluster = cluster.lock().unwrap();
    (cluster.cib.to_text(), format!("{:?}", cluster.machines))
}

fn set_property(cluster: &Arc<Mutex<Cluster>>, name: &str, value: &str) {
    let mut cluster = cluster.lock().unwrap();
    let set = cluster.cib.first_or_new("configuration");
    let set = set
        .first_or_new("crm_config")
        .first_or_new("cluster_property_set");
    set.children.retain(|pair| pair.get("name") != Some(name));
    let pair = Element::new("nvpair").with("id", format!("by-hand-{name}"));
    set.children
        .push(pair.with("name", name).with("value", value));
}

#[test]
fn a_first_set_up_is_what_was_reviewed_and_once_more_is_nothing() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    let plan = reviewed(&bench, &cluster, &bench.golden.file);
    let applied = carry_out(&bench, &cluster, &plan, false).unwrap();
    assert_eq!(applied.changes, plan.changes);
    let before = now(&cluster);
    let again = carry_out(&bench, &cluster, &plan, false).unwrap();
    assert!(again.changes.is_empty(), "{:?}", again.changes);
    assert_eq!(now(&cluster), before);
}

#[test]
fn a_cluster_that_moved_on_is_left_alone_and_what_differs_is_named() {
    let bench = Bench::new();
    let cluster = applied(&bench);
    let file = longer_token();
    let plan = reviewed(&bench, &cluster, &file);

    set_property(&cluster, "no-quorum-policy", "ignore");
    let before = now(&cluster);
    let error = carry_out(&bench, &cluster, &plan, false)
        .unwrap_err()
        .to_string();
    let wanted = "nothing was changed, because what would be done now is not what was reviewed:\n    \
                  not reviewed: ~ property no-quorum-policy: \"ignore\" on the cluster, the file says";
    assert!(error.starts_with(wanted), "{error}");
    assert!(
        error.contains("`hawser plan -o FILE`") && !error.contains("token"),
        "{error}"
    );
    assert_eq!(now(&cluster), before);

    // Somebody did a part of it.
    bench.apply(&cluster, &Wire::default()).unwrap();
    let plan = reviewed(&bench, &cluster, &file);
    let conf = "/etc/corosync/corosync.conf";
    {
        let mut cluster = cluster.lock().unwrap();
        let there = cluster.machines.get("head1").unwrap().files[conf].clone();
        let text = String::from_utf8(there.content.0).unwrap();
        let machine = cluster.machines.get_mut("head2").unwrap();
        let other = machine.files.get_mut(conf).unwrap();
        other.content.0 = text.replace("token: 1000", "token: 1234").into_bytes();
    }
    let error = carry_out(&bench, &cluster, &plan, false)
        .unwrap_err()
        .to_string();
    for words in [
        "reviewed, and not so now: ~ corosync.conf on head2: totem.token: 1000 → 1500",
        "not reviewed: ~ corosync.conf on head2: totem.token: 1234 → 1500",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert!(!error.contains("head1"), "{error}");
}

#[test]
fn what_is_none_of_the_plans_business_keeps_nobody_from_it() {
    let bench = Bench::new();
    let cluster = applied(&bench);
    let file = longer_token();
    let plan = reviewed(&bench, &cluster, &file);
    set_property(&cluster, "last-lrm-refresh", "1700000000");
    let applied = carry_out(&bench, &cluster, &plan, false).unwrap();
    assert_eq!(applied.changes.len(), 2, "{:?}", applied.changes);
}

#[test]
fn what_clients_notice_must_be_allowed_of_a_reviewed_plan_too() {
    let bench = Bench::new();
    let cluster = applied(&bench);
    let file = changed(
        "options = \"loop\"\nprefer = \"head1\"",
        "options = \"loop,noatime\"\nprefer = \"head1\"",
    );
    let plan = reviewed(&bench, &cluster, &file);
    assert!(!plan.pacemaker.is_empty());
    let before = now(&cluster);
    let error = carry_out(&bench, &cluster, &plan, false).unwrap_err();
    assert!(
        matches!(error, ApplyError::Disruptive { begun: false, .. }),
        "{error}"
    );
    assert_eq!(now(&cluster), before);

    // The pool is elsewhere by then: Pacemaker would do something else about the same changes.
    bench.standby(&cluster, "head1", true);
    let error = carry_out(&bench, &cluster, &plan, true)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("not reviewed: head2 ") && error.contains("(Pacemaker)"),
        "{error}"
    );
    bench.standby(&cluster, "head1", false);
}

#[test]
fn what_somebody_adds_while_a_plan_is_done_is_not_done_with_it() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    let plan = reviewed(&bench, &cluster, &bench.golden.file);
    let file = parse_complete(&plan.file, &plan.path).unwrap();
    let options = Options {
        reviewed: Some(&plan),
        ..Options::default()
    };
    let mut said = |what: &str| {
        if what.ends_with("to the CIB") {
            set_property(&cluster, "stop-all-resources", "true");
        }
    };
    let mut heads = heads(&cluster, &Wire::default());
    let ended = apply(
        &file,
        &mut heads,
        &bench.secrets(),
        options,
        &mut |_| Ok(()),
        &mut said,
    );
    let error = ended.unwrap_err().to_string();
    assert!(
        error.starts_with("what was reviewed is done, and now more differs"),
        "{error}"
    );
    assert!(error.contains("stop-all-resources"), "{error}");
}

/// Somebody gives a pool's address to a resource of his own while the CIB is written for the first time.
#[test]
fn what_is_found_after_the_first_changes_does_not_say_that_nothing_was_changed() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    let theirs = r#"<primitive id="theirs" class="ocf" provider="heartbeat" type="IPaddr2"><instance_attributes id="theirs-i">
        <nvpair id="theirs-ip" name="ip" value="ADDRESS"/></instance_attributes></primitive>"#;
    let theirs = theirs.replace("ADDRESS", "10.72.2.207");
    let mut said = |what: &str| {
        if what.ends_with("to the CIB") {
            let mut cluster = cluster.lock().unwrap();
            let resources = cluster
                .cib
                .first_or_new("configuration")
                .first_or_new("resources");
            if !resources
                .all("primitive")
                .any(|it| it.get("id") == Some("theirs"))
            {
                resources
                    .children
                    .push(Element::parse(&theirs, "theirs").unwrap());
            }
        }
    };
    let ended = apply(
        &bench.golden.file,
        &mut heads(&cluster, &Wire::default()),
        &bench.secrets(),
        Options::default(),
        &mut |_| Ok(()),
        &mut said,
    );
    let error = ended.unwrap_err().to_string();
    let begins = "what was planned first is done, and what is left was not begun; fix this first:";
    assert!(
        error.starts_with(begins) && error.contains("theirs"),
        "{error}"
    );
}

#[test]
fn no_secret_and_no_digest_of_one_is_in_a_plan() {
    let bench = Bench::new();
    let plans = ["hunter2", "hunter3"].map(|password| {
        bench.set_passwords(password);
        let cluster = Cluster::bare(&bench.golden);
        reviewed(&bench, &cluster, &bench.golden.file)
    });
    assert_eq!(plans[0], plans[1]);

    // A key that is there is not told either: another one is the same plan.
    let keyed = |key: &[u8]| {
        let cluster = applied(&bench);
        let file = |it: &mut crate::simulated::Machine| it.files.remove(AUTHKEY).unwrap();
        {
            let mut cluster = cluster.lock().unwrap();
            let mut machines = cluster.machines.values_mut();
            let (one, two) = (machines.next().unwrap(), machines.next().unwrap());
            let mut there = file(one);
            let _gone = file(two);
            there.content.0 = key.to_vec();
            one.files.insert(AUTHKEY.into(), there);
        }
        reviewed(&bench, &cluster, &bench.golden.file)
    };
    assert_eq!(keyed(&[1; 256]), keyed(&[2; 256]));
}

#[test]
fn a_plan_names_a_head_that_could_not_have_a_pool_and_keeps_nobody_from_applying() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    let why = "its log device /dev/nvme0n1 is UNAVAIL there";
    {
        let mut cluster = cluster.lock().unwrap();
        let head2 = cluster.machines.get_mut("head2").unwrap();
        let away = PoolView::Away(Told::Said(Some(why.into())));
        head2.pools.insert("vmpool01".into(), away);
        let there = PoolView::Away(Told::Said(None));
        head2.pools.insert("vmpool02".into(), there);
    }
    let file = &bench.golden.file;
    let mut heads = heads(&cluster, &Wire::default());
    let mut told = |slow| {
        let facts = gather(file, &mut heads, &bench.secrets(), slow).unwrap();
        let report = plan_live(file, &facts, &mut heads).unwrap().report;
        assert_eq!(report.problems, [""; 0]);
        let notes = report.notes.into_iter();
        let told = notes.filter(|note| note.contains("take over"));
        told.collect::<Vec<_>>()
    };
    let expected = format!("head2 could not take over vmpool01: {why}");
    assert_eq!(told(Slow::Asked(Limits::PATIENT)), [expected]);
    assert_eq!(told(Slow::LeftAlone), [""; 0]);
    bench.apply(&cluster, &Wire::default()).unwrap();
}
