//! Applying a cluster file to simulated heads, cut off at every single question.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use crate::golden::Golden;
use crate::simulated::{Cluster, Machine, heads};
use hawser_cluster::host::StoredCib;
use hawser_cluster::host::questions::Standby;
use hawser_cluster::live::{Applied, ApplyError, Options, Secrets, apply};
use hawser_cluster::plan::{AUTHKEY, COROSYNC_CONF};
use hawser_host::sim::Wire;
use hawser_host::{Clock, Hosts};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::names::HostName;
use tempfile::TempDir;

/// The example of the lab, and a folder with its secrets.
pub struct Bench {
    pub golden: Golden,
    secrets: TempDir,
}

impl Bench {
    pub fn new() -> Self {
        let bench = Self {
            golden: Golden::named("lab"),
            secrets: tempfile::tempdir().unwrap(),
        };
        bench.set_passwords("hunter2");
        bench
    }

    /// The passwords of the BMCs.
    pub fn set_passwords(&self, password: &str) {
        let folder = self.secrets.path().join("etc/hawser/secrets");
        fs::create_dir_all(&folder).unwrap();
        for head in ["head1", "head2"] {
            let file = folder.join(format!("{head}-bmc"));
            fs::write(&file, format!("{password}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        }
    }

    pub fn secrets(&self) -> Secrets {
        Secrets::below(self.secrets.path())
    }

    /// A head is in standby, or again not.
    pub fn standby(&self, cluster: &Arc<Mutex<Cluster>>, node: &str, on: bool) {
        let mut heads = heads(cluster, &Wire::default());
        let (asked, node) = (HostName::from("head2"), node.to_owned());
        let head = heads.get_mut(&asked).unwrap();
        head.ask(&Standby { node, on }).unwrap();
    }

    pub fn apply(&self, cluster: &Arc<Mutex<Cluster>>, wire: &Wire) -> Result<Applied, ApplyError> {
        let mut heads = heads(cluster, wire);
        self.apply_to(&mut heads, &self.golden.file, Options::default())
    }

    /// Applies a file so, agreed to by whoever is asked.
    pub fn apply_to(
        &self,
        heads: &mut Hosts,
        file: &ClusterFile,
        options: Options<'_>,
    ) -> Result<Applied, ApplyError> {
        let (secrets, agreed) = (self.secrets(), &mut |_: &_| Ok(()));
        apply(file, heads, &secrets, options, agreed, &mut |_| {})
    }
}

/// What an apply leaves: the heads but for the key, which is random, and the configuration.
fn left(cluster: &Arc<Mutex<Cluster>>) -> (BTreeMap<HostName, Machine>, String) {
    let cluster = cluster.lock().unwrap();
    let mut machines = cluster.machines.clone();
    let keys = machines
        .values_mut()
        .map(|machine| machine.files.remove(AUTHKEY));
    let mut keys: Vec<_> = keys.collect();
    keys.dedup();
    assert!(matches!(&keys[..], [Some(_)]), "one key, on all heads");
    let mut configuration = cluster.cib.first("configuration").unwrap().clone();
    // In the order in which they joined.
    configuration
        .children
        .retain(|section| section.name != "nodes");
    (machines, configuration.to_text())
}

/// Bare heads, one of which was another cluster's.
fn reused(bench: &Bench) -> Arc<Mutex<Cluster>> {
    let cluster = Cluster::bare(&bench.golden);
    let old = StoredCib {
        cluster: Some("archive".into()),
        nodes: vec!["vault1".into(), "head2".into()],
    };
    let head2 = HostName::from("head2");
    cluster
        .lock()
        .unwrap()
        .machines
        .get_mut(&head2)
        .unwrap()
        .old_cib = Some(old);
    cluster
}

#[test]
fn an_apply_that_is_killed_anywhere_is_finished_by_the_next_one() {
    let bench = Bench::new();
    let whole = Wire::default();
    let cluster = reused(&bench);
    let applied = bench.apply(&cluster, &whole).unwrap();
    assert!(applied.not_running.is_empty(), "{:?}", applied.not_running);
    let wanted = left(&cluster);
    assert!(wanted.0.values().all(|machine| machine.running));
    let questions = whole.asked().len();
    assert!(questions > 40, "{questions}");

    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= questions {
                        return;
                    }
                    let cluster = reused(&bench);
                    let wire = Wire::default();
                    wire.cut_before(number);
                    // Of two that were asked at the same time, one may have been enough before the other was cut off.
                    let ended = bench.apply(&cluster, &wire).is_ok();
                    assert!(!ended || left(&cluster) == wanted);
                    let again = bench.apply(&cluster, &Wire::default());
                    again.unwrap_or_else(|e| panic!("killed before question {number}: {e}"));
                    assert!(left(&cluster) == wanted, "killed before question {number}");
                }
            });
        }
    });
}

#[test]
fn a_head_that_never_joins_is_waited_for_as_long_as_is_said_and_everything_is_taken_back() {
    let bench = Bench::new();
    let (clock, cluster) = (Clock::simulated(), Cluster::bare(&bench.golden));
    cluster.lock().unwrap().never_joins = Some("head2".into());
    let error = bench.apply(&cluster, &Wire::of(clock.clone())).unwrap_err();
    let error = error.to_string();
    let joins = "head2 did not join the cluster within 62 s; /var/log/corosync/corosync.log and";
    assert!(error.starts_with(joins), "{error}");
    let waited = clock.now().as_secs_f64();
    assert!((62.0..63.0).contains(&waited), "{waited}");
    let cluster = cluster.lock().unwrap();
    for (name, machine) in &cluster.machines {
        assert!(
            !machine.running && machine.files.is_empty(),
            "{name}: {machine:?}"
        );
    }
}

/// A cluster that is set up, some of whose heads do not run, and what an apply says when head2 does not join.
#[track_caller]
fn head2_does_not_join(starts_at_boot: bool, stopped: &[&str]) -> (Cluster, String) {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    bench.apply(&cluster, &Wire::default()).unwrap();
    {
        let mut cluster = cluster.lock().unwrap();
        for (name, machine) in &mut cluster.machines {
            machine.starts_at_boot = Some(starts_at_boot);
            machine.running = !stopped.contains(&name.as_str());
        }
        cluster.never_joins = Some("head2".into());
    }
    let error = bench.apply(&cluster, &Wire::default()).unwrap_err();
    let error = error.to_string();
    assert!(error.starts_with("head2 did not join"), "{error}");
    let cluster = cluster.lock().unwrap().clone();
    (cluster, error)
}

#[test]
fn a_head_that_serves_is_not_stopped_because_another_one_does_not_join() {
    // As some administrators have it: started, and not at a boot.
    let (cluster, error) = head2_does_not_join(false, &["head2"]);
    let stopped = "put back: corosync and pacemaker are stopped on head2";
    assert!(error.ends_with(stopped), "{error}");
    let runs = cluster.machines.values().map(|machine| machine.running);
    assert_eq!(runs.collect::<Vec<_>>(), [true, false]);
}

/// After an outage one head does not join: the other one serves by now, and both are to start at the next boot.
#[test]
fn a_start_that_a_boot_would_have_made_is_not_taken_back() {
    let (cluster, error) = head2_does_not_join(true, &["head1", "head2"]);
    assert!(!error.contains("stopped on"), "{error}");
    for (name, machine) in &cluster.machines {
        assert!(machine.running, "{name}");
        assert_eq!(machine.starts_at_boot, Some(true), "{name}");
    }
}

#[test]
fn heads_that_do_not_join_with_another_configuration_run_with_the_old_one() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    bench.apply(&cluster, &Wire::default()).unwrap();
    let old = {
        let mut cluster = cluster.lock().unwrap();
        cluster.never_joins = Some("head2".into());
        cluster.machines["head1"].runs_with.clone()
    };
    let text = fs::read_to_string("../../examples/lab/hawser.toml").unwrap();
    let renamed = text.replacen("name = \"lab\"", "name = \"other\"", 1);
    assert_ne!(text, renamed);
    let file = parse_complete(&renamed, "hawser.toml").unwrap();
    let options = Options {
        allow_disruption: true,
        ..Options::default()
    };
    let mut heads = heads(&cluster, &Wire::default());
    let error = bench.apply_to(&mut heads, &file, options).unwrap_err();
    let error = error.to_string();
    let back =
        "put back: corosync and pacemaker are started anew on head1, head2 with what they had";
    assert!(error.contains(back), "{error}");
    let cluster = cluster.lock().unwrap();
    for (name, machine) in &cluster.machines {
        assert_eq!(machine.files.get(COROSYNC_CONF), old.as_ref(), "{name}");
        assert_eq!(machine.runs_with, old, "{name}");
    }
}

/// Who has all read their files again hears of a refusal of its own Corosync alone.
#[test]
fn a_head_that_goes_on_with_its_old_configuration_fails_the_apply_and_all_have_that_again() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    bench.apply(&cluster, &Wire::default()).unwrap();
    let old = {
        let mut cluster = cluster.lock().unwrap();
        cluster.refuses_reload = Some("head1".into());
        cluster.machines["head1"].runs_with.clone()
    };
    let text = fs::read_to_string("../../examples/lab/hawser.toml").unwrap();
    let longer = text.replacen("initial = \"2s\"", "initial = \"2s\"\ntoken = \"4s\"", 1);
    let file = parse_complete(&longer, "hawser.toml").unwrap();
    let mut heads = heads(&cluster, &Wire::default());
    let error = bench
        .apply_to(&mut heads, &file, Options::default())
        .unwrap_err();
    let error = error.to_string();
    let refused = "head1: Corosync did not take its new /etc/corosync/corosync.conf, and goes on without totem.token = ";
    assert!(
        error.starts_with(refused) && error.contains("(in the file: 4000)"),
        "{error}"
    );
    for (name, machine) in &cluster.lock().unwrap().machines {
        assert_eq!(machine.files.get(COROSYNC_CONF), old.as_ref(), "{name}");
        assert_eq!(machine.runs_with, old, "{name}");
    }
}

#[test]
fn what_a_running_corosync_is_to_read_it_has_read_wherever_an_apply_was_killed() {
    const CHANGES: [&str; 4] = [
        "write a file",
        "reload Corosync",
        "stop the cluster",
        "start the cluster",
    ];
    let bench = Bench::new();
    let before = Cluster::bare(&bench.golden);
    bench.apply(&before, &Wire::default()).unwrap();
    let running = || Arc::new(Mutex::new(before.lock().unwrap().clone()));
    let text = fs::read_to_string("../../examples/lab/hawser.toml").unwrap();
    for (old, new) in [
        // Read anew; and only by one that is started anew.
        ("initial = \"2s\"", "initial = \"2s\"\ntoken = \"4s\""),
        ("name = \"lab\"", "name = \"other\""),
    ] {
        let changed = text.replacen(old, new, 1);
        assert_ne!(text, changed);
        let file = parse_complete(&changed, "hawser.toml").unwrap();
        let apply = |cluster: &Arc<Mutex<Cluster>>, wire: &Wire| {
            let options = Options {
                allow_disruption: true,
                ..Options::default()
            };
            bench.apply_to(&mut heads(cluster, wire), &file, options)
        };
        let (cluster, whole) = (running(), Wire::default());
        apply(&cluster, &whole).unwrap();
        let asked = whole.asked().into_iter().zip(0..);
        // Before any other question all is as it was before the one that follows.
        let changes = asked.filter(|((_, name), _)| CHANGES.contains(name));
        let numbers: Vec<usize> = changes.map(|(_, number)| number).collect();
        assert!(numbers.len() >= 2, "{numbers:?}");
        for number in numbers {
            let (cluster, wire) = (running(), Wire::default());
            wire.cut_before(number);
            let _killed = apply(&cluster, &wire);
            apply(&cluster, &Wire::default())
                .unwrap_or_else(|e| panic!("{new}: killed before question {number}: {e}"));
            for (name, machine) in &cluster.lock().unwrap().machines {
                let file = machine.files.get(COROSYNC_CONF);
                assert!(file.is_some() && machine.running);
                assert_eq!(
                    machine.runs_with.as_ref(),
                    file,
                    "{new}: {name}, killed before question {number}"
                );
            }
        }
    }
}

#[test]
fn what_takes_a_served_pool_away_is_refused_unless_it_is_allowed() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    bench.apply(&cluster, &Wire::default()).unwrap();
    let before = left(&cluster);
    let text = fs::read_to_string("../../examples/lab/hawser.toml").unwrap();
    let last_pool = text.rfind("[[pool]]").unwrap();
    let file = parse_complete(&text[..last_pool], "hawser.toml").unwrap();
    let apply = |allow_disruption| {
        let options = Options {
            allow_disruption,
            ..Options::default()
        };
        bench.apply_to(&mut heads(&cluster, &Wire::default()), &file, options)
    };
    let error = apply(false).unwrap_err().to_string();
    for words in [
        "nothing was changed, because clients would notice:",
        "vmpool02 is served now and would be served nowhere",
        "--allow-disruption does it all the same",
    ] {
        assert!(error.contains(words), "{words}: {error}");
    }
    assert_eq!(left(&cluster), before);
    let applied = apply(true).unwrap();
    assert_eq!(applied.not_running, Vec::<String>::new());
    let (_, configuration) = left(&cluster);
    assert!(configuration.contains("vmpool01") && !configuration.contains("vmpool02"));
}

#[test]
fn a_cluster_that_is_what_its_file_says_is_left_alone() {
    let bench = Bench::new();
    let cluster = Cluster::bare(&bench.golden);
    bench.apply(&cluster, &Wire::default()).unwrap();
    let before = left(&cluster);
    let wire = Wire::default();
    let again = bench.apply(&cluster, &wire).unwrap();
    assert!(again.changes.is_empty(), "{:?}", again.changes);
    let forecast = |note: &String| note.starts_with("when head1 dies it is");
    assert!(again.notes.iter().any(forecast), "{:?}", again.notes);
    assert_eq!(left(&cluster), before);
    let changes = ["write a file", "change the CIB", "start the cluster"];
    let asked = wire.asked();
    assert!(
        asked.iter().all(|(_, name)| !changes.contains(name)),
        "{asked:?}"
    );
}
