//! Orders to a running cluster, against heads that are simulated.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::adopted::adopted;
use crate::golden::Golden;
use crate::plan::running;
use crate::simulated::{Cluster, heads, with_constraint};
use crate::status::EXAMPLE;
use hawser_cluster::cib::edit::with_standby;
use hawser_cluster::cib::port_attribute;
use hawser_cluster::host::view::{PoolView, Told};
use hawser_cluster::live::{Manner, Operated, Waiting, left_orders, move_pool, set_standby};
use hawser_cluster::xml::Element;
use hawser_host::Hosts;
use hawser_host::sim::{Fate, Wire};
use hawser_model::cluster_file::parse_complete;
use hawser_model::names::HostName;

/// The lab's cluster: vmpool01 on head1, vmpool02 on head2.
struct Lab {
    golden: Golden,
    cluster: Arc<Mutex<Cluster>>,
    heads: Hosts,
    said: Vec<String>,
}

impl Lab {
    fn up() -> Self {
        let golden = Golden::named("lab");
        let cib = running(&golden);
        Self::of(golden, cib)
    }

    fn of(golden: Golden, mut cib: Element) -> Self {
        cib.set("dc-uuid", "1");
        let cluster = Cluster::running(&golden, cib);
        let heads = heads(&cluster, &Wire::default());
        Self {
            golden,
            cluster,
            heads,
            said: Vec::new(),
        }
    }

    fn with(&self, change: impl FnOnce(&mut Cluster)) {
        change(&mut self.cluster.lock().unwrap());
    }

    /// Somebody has ordered vmpool01 to a node (`cli-prefer-…`) or away from it (`cli-ban-…`).
    fn order_was_left(&self, id: &str, node: &str, score: &str) {
        self.order_was_left_about("vmpool01", id, node, score);
    }

    fn order_was_left_about(&self, resource: &str, id: &str, node: &str, score: &str) {
        let order = Element::new("rsc_location")
            .with("id", id)
            .with("rsc", resource)
            .with("node", node)
            .with("score", score);
        self.with(|cluster| cluster.cib = with_constraint(&cluster.cib, order));
    }

    /// A head runs the cluster of Debian's package, of that head alone.
    fn runs_example(&self, head: &str) {
        let example = Element::parse(EXAMPLE, "the example's CIB").unwrap();
        self.with(|cluster| cluster.runs_another(head, example));
    }

    fn obeyed(&self) -> Vec<&'static str> {
        self.cluster.lock().unwrap().obeyed.clone()
    }

    fn orders_left(&self) -> usize {
        left_orders(&self.cluster.lock().unwrap().cib).len()
    }

    fn standby(&mut self, node: &str, allow_disruption: bool) -> Result<Operated, String> {
        let said = &mut self.said;
        let mut manner = Manner {
            allow_disruption,
            waiting: Waiting {
                timeout: Some(Duration::from_millis(300)),
                said: &mut |text| said.push(text.to_owned()),
            },
            giving: &mut || {},
        };
        let file = &self.golden.file;
        set_standby(file, &mut self.heads, node, true, &mut manner).map_err(|e| e.to_string())
    }

    fn move_pool(&mut self, pool: &str, node: &str) -> Result<Operated, String> {
        self.move_allowing(pool, node, false)
    }

    fn move_allowing(
        &mut self,
        pool: &str,
        node: &str,
        allow_disruption: bool,
    ) -> Result<Operated, String> {
        let said = &mut self.said;
        let mut manner = Manner {
            allow_disruption,
            waiting: Waiting {
                timeout: Some(Duration::from_millis(300)),
                said: &mut |text| said.push(text.to_owned()),
            },
            giving: &mut || {},
        };
        let file = &self.golden.file;
        move_pool(file, &mut self.heads, pool, node, &mut manner).map_err(|e| e.to_string())
    }
}

#[track_caller]
fn is_on(operated: &Operated, pool: &str) -> Option<String> {
    let found = operated.pools.iter().find(|it| it.name == pool);
    found.unwrap().is_on.as_ref().map(ToString::to_string)
}

#[test]
fn standby_of_the_last_head_is_refused_and_changes_nothing() {
    let mut lab = Lab::up();
    let done = lab.standby("head1", false).unwrap();
    assert_eq!(is_on(&done, "vmpool01").as_deref(), Some("head2"));
    assert!(
        done.pools
            .iter()
            .all(|pool| pool.served && pool.down.is_empty())
    );
    let before = lab.obeyed().len();

    let refused = lab.standby("head2", false).unwrap_err();
    for part in [
        "nothing was done",
        "vmpool01 would be served nowhere: head1 is in standby; head2 is in standby",
        "vmpool02 would be served nowhere",
        "--allow-disruption",
    ] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(lab.obeyed().len(), before);

    // Allowed, it is done, and what nobody serves is named.
    let done = lab.standby("head2", true).unwrap();
    for pool in &done.pools {
        assert!(pool.was_served && !pool.served, "{pool:?}");
        let why = pool.why_not.as_deref().unwrap();
        assert!(why.contains("head1 is in standby"), "{why}");
    }
    // Once nothing is served, the same order takes nothing from anybody.
    lab.standby("head2", false).unwrap();
}

#[test]
fn a_ban_by_hand_makes_the_other_head_the_last_one() {
    let mut lab = Lab::up();
    lab.order_was_left("cli-ban-vmpool01-on-head2", "head2", "-INFINITY");
    let refused = lab.standby("head1", false).unwrap_err();
    assert!(
        refused.contains("head2 may not run it (constraint cli-ban-vmpool01-on-head2)"),
        "{refused}"
    );
    assert!(!refused.contains("vmpool02"), "{refused}");
}

/// The speeds of the ports of a head to its two SANs, as its watchers write them.
fn ports_say(lab: &Lab, head: &str, [san01, san02]: [&str; 2]) {
    ports_to(lab, head, &[("san01", san01), ("san02", san02)]);
}

fn ports_to(lab: &Lab, head: &str, sans: &[(&str, &str)]) {
    lab.with(|cluster| {
        let states = &mut cluster.cib.first_or_new("status").children;
        let mut states = states.iter_mut();
        let state = states.find(|state| state.get("uname") == Some(head));
        let mut pairs = Element::new("instance_attributes").with("id", format!("{head}-transient"));
        for (san, speed) in sans {
            let name = port_attribute(san);
            pairs.children.push(
                Element::new("nvpair")
                    .with("id", format!("{head}-{name}"))
                    .with("name", name)
                    .with("value", *speed),
            );
        }
        let attributes = Element::new("transient_attributes")
            .with("id", head)
            .child(pairs);
        state.unwrap().children.push(attributes);
    });
}

#[test]
fn a_head_without_sans_is_no_place_for_a_pool() {
    let mut lab = Lab::up();
    ports_say(&lab, "head2", ["0", "0"]);
    ports_say(&lab, "head1", ["10000", "0"]);
    for refused in [
        lab.standby("head1", false).unwrap_err(),
        lab.move_pool("vmpool01", "head2").unwrap_err(),
    ] {
        let why = "vmpool01 would be served nowhere: head2 has no carrier on any SAN over which vmpool01 is reached \
                   (san01, san02)";
        assert!(refused.contains(why), "{refused}");
        assert!(refused.contains("--allow-disruption"), "{refused}");
    }
    assert!(lab.obeyed().is_empty());
    // Allowed, it is done, and nobody calls it served.
    let done = lab.standby("head1", true).unwrap();
    let pool = done
        .pools
        .iter()
        .find(|pool| pool.name == "vmpool01")
        .unwrap();
    assert!(pool.was_served && !pool.served);
    assert!(
        pool.why_not
            .as_ref()
            .unwrap()
            .contains("head2 has no carrier")
    );
}

#[test]
fn one_san_is_enough_and_what_is_not_known_refuses_nothing() {
    let mut lab = Lab::up();
    ports_say(&lab, "head2", ["0", "-1"]);
    let done = lab.standby("head1", false).unwrap();
    assert!(done.pools.iter().all(|pool| pool.served), "{done:?}");
}

#[test]
fn when_every_head_has_lost_its_sans_an_order_changes_nothing_and_says_so() {
    let mut lab = Lab::up();
    for head in ["head1", "head2"] {
        ports_say(&lab, head, ["0", "0"]);
    }
    let done = lab.standby("head1", false).unwrap();
    assert_eq!(is_on(&done, "vmpool01").as_deref(), Some("head2"));
    let said = lab.said.join("\n");
    assert!(
        said.contains("clients do not reach vmpool01 now, and would not: head1 has no carrier"),
        "{said}"
    );
}

#[test]
fn a_move_leaves_no_order_and_clears_one_that_was_left() {
    let mut lab = Lab::up();
    lab.order_was_left("cli-prefer-vmpool01", "head1", "INFINITY");
    let done = lab.move_pool("vmpool01", "head2").unwrap();
    assert_eq!(is_on(&done, "vmpool01").as_deref(), Some("head2"));
    assert_eq!(lab.orders_left(), 0);
    let said = lab.said.join("\n");
    assert!(
        said.contains("undoing an order that was left: vmpool01 is ordered to head1"),
        "{said}"
    );
    let kinds = lab.obeyed();
    assert_eq!(kinds, ["forget a move", "move a resource", "forget a move"]);
}

/// The constraints of a pool that was adopted in a group name the group.
#[test]
fn what_is_said_of_a_group_holds_for_the_pool_in_it() {
    let up = || {
        let (golden, cib) = adopted();
        Lab::of(golden, cib)
    };
    let mut lab = up();
    lab.order_was_left_about("vms", "cli-prefer-vms", "head1", "INFINITY");
    let done = lab.move_pool("fs1", "head2").unwrap();
    assert_eq!(is_on(&done, "fs1").as_deref(), Some("head2"));
    assert_eq!(lab.orders_left(), 0);
    let said = lab.said.join("\n");
    let undone = "undoing an order that was left: vms is ordered to head1 (cli-prefer-vms)";
    assert!(said.contains(undone), "{said}");

    let mut lab = up();
    lab.order_was_left_about("files", "cli-ban-files-on-head1", "head1", "-INFINITY");
    let refused = lab.standby("head2", false).unwrap_err();
    let why = "head1 may not run it (constraint cli-ban-files-on-head1)";
    assert!(refused.contains(why), "{refused}");

    let mut lab = up();
    ports_to(&lab, "head2", &[("san1", "0")]);
    ports_to(&lab, "head1", &[("san1", "10000")]);
    let refused = lab.standby("head1", false).unwrap_err();
    let why = "fs1 would be served nowhere: head2 has no carrier on any SAN over which fs1 is reached (san1)";
    assert!(refused.contains(why), "{refused}");
}

#[test]
fn an_order_is_taken_back_through_another_head_than_the_one_that_died_of_it() {
    let mut lab = Lab::up();
    lab.with(|cluster| cluster.dies_of_a_move = Some("head1".into()));
    let done = lab.move_pool("vmpool01", "head2").unwrap();
    assert_eq!(is_on(&done, "vmpool01").as_deref(), Some("head2"));
    assert_eq!(lab.orders_left(), 0);
}

/// With automatic failback the pool would go back as soon as the order is taken back.
#[test]
fn a_move_away_from_where_a_pool_goes_back_to_is_refused() {
    let golden = Golden::named("lab");
    let text = include_str!("../../../../examples/lab/hawser.toml");
    let automatic = text.replacen("[cluster]\n", "[cluster]\nfailback = \"automatic\"\n", 1);
    let file = parse_complete(&automatic, "hawser.toml").unwrap();
    let golden = Golden { file, ..golden };
    let cib = running(&golden);
    let mut lab = Lab::of(golden, cib);
    let refused = lab.move_pool("vmpool01", "head2").unwrap_err();
    assert_eq!(
        refused,
        "nothing was done: vmpool01 would go on to head1 when the order is taken back, since it prefers head1 \
         (constraint hawser-vmpool01-prefers-head1) to staying where it is: its clients would be interrupted twice"
    );
    assert!(lab.obeyed().is_empty());
}

#[test]
fn a_move_to_a_head_that_takes_nothing_is_refused() {
    let mut lab = Lab::up();
    lab.standby("head2", false).unwrap();
    lab.order_was_left("cli-prefer-vmpool01", "head1", "INFINITY");
    let before = lab.obeyed().len();
    let refused = lab.move_pool("vmpool01", "head2").unwrap_err();
    assert_eq!(
        refused,
        "nothing was done: vmpool01 would not get to head2, because head2 is in standby"
    );
    assert_eq!(lab.orders_left(), 1, "what was left stays as well");
    assert_eq!(lab.obeyed().len(), before);
    let unknown = lab.move_pool("vmpool03", "head2").unwrap_err();
    assert!(unknown.contains("pools: vmpool01, vmpool02"), "{unknown}");
}

#[test]
fn a_wait_ends_and_says_what_was_not_reached() {
    let mut lab = Lab::up();
    lab.with(|cluster| cluster.stuck = true);
    let late = lab.standby("head1", false).unwrap_err();
    for part in [
        "Pacemaker is not done: head1 gives up vmpool01's addresses",
        "head1 unmounts vmpool01",
        "it goes on: head1 is in standby and stays so",
    ] {
        assert!(late.contains(part), "{part}: {late}");
    }
    assert!(
        lab.said[0].contains("every head is asked"),
        "{:?}",
        lab.said
    );
    assert!(lab.said[1].contains("at most"), "{:?}", lab.said);
    // The order of a move that is late stays in force: it ends by itself.
    let mut lab = Lab::up();
    lab.with(|cluster| cluster.stuck = true);
    let late = lab.move_pool("vmpool01", "head2").unwrap_err();
    assert!(late.contains("the order ends by itself 15 min"), "{late}");
    assert_eq!(lab.orders_left(), 1);
}

#[test]
fn one_head_that_hangs_holds_up_no_order_that_may_interrupt() {
    for hangs in ["head1", "head2"] {
        let mut lab = Lab::up();
        let wire = Wire::default();
        lab.heads = heads(&lab.cluster, &wire);
        wire.befalls(hangs.into(), Fate::Hangs, 0);
        let done = lab.standby("head1", true).unwrap();
        assert_eq!(is_on(&done, "vmpool01").as_deref(), Some("head2"));
        lab.order_was_left("cli-prefer-vmpool01", "head2", "INFINITY");
        lab.with(|cluster| cluster.cib = with_standby(&cluster.cib, "head1", false));
        let done = lab.move_allowing("vmpool01", "head1", true).unwrap();
        assert_eq!(is_on(&done, "vmpool01").as_deref(), Some("head1"));
        assert_eq!(lab.orders_left(), 0);
        assert_eq!(wire.clock().now(), Duration::ZERO, "{hangs} was waited for");
        wire.release();
    }
}

#[test]
fn a_move_that_is_killed_anywhere_is_finished_by_the_next_one_and_leaves_no_order() {
    let moved = |lab: &mut Lab| {
        let done = lab.move_pool("vmpool01", "head2")?;
        Ok::<_, String>(is_on(&done, "vmpool01"))
    };
    let mut whole = Lab::up();
    let wire = Wire::default();
    whole.heads = heads(&whole.cluster, &wire);
    assert_eq!(moved(&mut whole).unwrap().as_deref(), Some("head2"));
    let questions = wire.asked().len();
    assert!(questions > 20, "{questions}");
    for number in 0..questions {
        let mut lab = Lab::up();
        let wire = Wire::default();
        wire.cut_before(number);
        lab.heads = heads(&lab.cluster, &wire);
        // Of two that were asked at the same time, one may have been enough before the other was cut off.
        if moved(&mut lab).is_ok() {
            assert_eq!(lab.orders_left(), 0, "before question {number}");
        }
        lab.heads = heads(&lab.cluster, &Wire::default());
        let again = moved(&mut lab).unwrap_or_else(|e| panic!("before question {number}: {e}"));
        assert_eq!(again.as_deref(), Some("head2"), "before question {number}");
        assert_eq!(lab.orders_left(), 0, "before question {number}");
    }
}

#[test]
fn no_pool_is_sent_where_the_heads_themselves_say_that_it_would_not_start() {
    let here = |why: Option<&str>| PoolView::Here {
        file: Told::Said(why.map(str::to_owned)),
        offered: Told::Said(Some(Vec::new())),
        room: Told::Said(None),
        disks: Told::Said(None),
        ports: [].into(),
        encrypted: Told::Said(Vec::new()),
    };
    let away = |told| PoolView::Away(told);
    let no_disks = "head2 could not take over vmpool01: /dev/shelf1 does not exist there";
    let typo = "its next start fails, on any head: line 7: lun";
    let slow = "whether head2 sees the disks of vmpool01 is not known yet";
    for (head, seen, refusal, doubt) in [
        (
            "head2",
            away(Told::Said(Some("/dev/shelf1 does not exist there".into()))),
            Some(no_disks),
            None,
        ),
        ("head1", here(Some("line 7: lun")), Some(typo), None),
        (
            "head2",
            PoolView::Imported("vmpool01".into()),
            Some("head2 could not take over vmpool01: vmpool01 is imported there"),
            None,
        ),
        ("head2", away(Told::Silent(15)), None, Some(slow)),
        ("head1", here(None), None, None),
        ("head2", away(Told::Said(None)), None, None),
    ] {
        for by_move in [true, false] {
            let mut lab = Lab::up();
            lab.with(|cluster| {
                let machine = cluster.machines.get_mut(&HostName::from(head)).unwrap();
                machine.pools = [("vmpool01".to_owned(), seen.clone())].into();
            });
            let done = match by_move {
                true => lab.move_pool("vmpool01", "head2"),
                false => lab.standby("head1", false),
            };
            match refusal {
                Some(why) => {
                    let refused = done.unwrap_err();
                    let line = format!("vmpool01 would be served nowhere: {why}");
                    assert!(refused.contains(&line), "{refused}");
                    assert_eq!(lab.obeyed(), [""; 0]);
                }
                None => assert_eq!(is_on(&done.unwrap(), "vmpool01").as_deref(), Some("head2")),
            }
            let said = lab.said.join("\n");
            assert!(doubt.is_none_or(|doubt| said.contains(doubt)), "{said}");
        }
    }
    // Who allows it is asked nothing.
    let mut lab = Lab::up();
    lab.with(|cluster| {
        let machine = cluster.machines.get_mut(&HostName::from("head2")).unwrap();
        let seen = away(Told::Said(Some("gone".into())));
        machine.pools = [("vmpool01".to_owned(), seen)].into();
    });
    lab.standby("head1", true).unwrap();
}

#[test]
fn no_order_is_carried_out_by_the_cib_of_another_cluster() {
    let mut lab = Lab::up();
    let of_this = lab.standby("head1", true).unwrap();
    // Its system disk was replaced, and the packages started their example.
    lab.runs_example("head1");
    let no_such = "there is no node \"head9\"; nodes: head1, head2";
    assert_eq!(lab.standby("head9", true).unwrap_err(), no_such);
    let now = lab.standby("head1", true).unwrap();
    assert_eq!(is_on(&now, "vmpool01"), is_on(&of_this, "vmpool01"));

    lab.runs_example("head2");
    let nobody = lab.standby("head1", true).unwrap_err();
    assert!(nobody.contains("does not run on any node"), "{nobody}");
}
