//! The live page: its model and its text for saved clusters, and what names in them may not do to it.
//!
//! `live/` has the model as JSON and the page as HTML; `UPDATE_CASES=1 cargo test -p hawser-watch --test it live::` writes
//! both again, for a person to read the difference.

use std::path::Path;

use crate::pictures::{
    NOW, both_dead_link, both_healthy, dead_link, file, healthy, incidents, lost_head, one_silent,
};
use hawser_model::cluster_file::{ClusterFile, parse_complete};
use hawser_model::drops::DropTotals;
use hawser_model::output::live::{
    EndKnown, Light, LiveDevice, LivePage, LiveRunning, NotReached, PoolAt,
};
use hawser_model::output::watch::{LinkReading, LinkState};
use hawser_report::{live_page as text, live_parts};
use hawser_watch::layout::of_topology;
use hawser_watch::live::{LiveInput, live_page};
use hawser_watch::shown::Shown;
use proptest::prelude::*;

fn page_of(file: &ClusterFile, shown: &Shown) -> LivePage {
    let known = LiveInput {
        own: Some(&"head1".into()),
        shown: Some(shown),
        problem: None,
        old_s: None,
        incidents: Some(&incidents()),
    };
    live_page(file, known)
}

/// Of all heads, which were asked from elsewhere.
fn whole(shown: &Shown) -> LivePage {
    let known = LiveInput {
        own: None,
        shown: Some(shown),
        problem: None,
        old_s: None,
        incidents: Some(&incidents()),
    };
    live_page(&file(), known)
}

fn page(shown: &Shown) -> LivePage {
    page_of(&file(), shown)
}

#[track_caller]
fn held_against(name: &str, page: &LivePage) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/live");
    let json = serde_json::to_string_pretty(page).unwrap() + "\n";
    // A part a line, so that a difference can be read.
    let html = text(page).replace("><", ">\n<");
    for (file, now) in [("json", json), ("html", html)] {
        let file = folder.join(name).with_extension(file);
        if std::env::var_os("UPDATE_CASES").is_some() {
            std::fs::write(&file, &now).unwrap();
        }
        let saved = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(saved == now, "{} is another one now", file.display());
    }
}

#[test]
fn a_cluster_in_which_all_is_well() {
    let page = page(&healthy());
    let lights = page.heads.iter().map(|head| head.light);
    let lights = lights.chain(page.pools.iter().map(|pool| pool.light));
    assert!(lights.clone().all(|light| light == Light::Good), "{page:?}");
    held_against("healthy", &page);
}

#[test]
fn a_dead_link_is_dead_at_both_ends_and_a_lossy_one_is_up_and_no_longer_good() {
    let page = page(&dead_link());
    let ends = |link: usize| page.links[link].ends.iter().map(|end| end.light);
    assert_eq!(ends(0).collect::<Vec<_>>(), [Light::Good, Light::Warning]);
    assert_eq!(ends(1).collect::<Vec<_>>(), [Light::Bad, Light::Bad]);
    held_against("dead-link", &page);
}

#[test]
fn a_pool_is_shown_with_the_devices_that_its_head_has_and_the_paths_of_each() {
    let lights = |shown: &Shown, pool: usize| {
        let page = page(shown);
        let devices = page.pools[pool].devices.iter();
        let of = |device: &LiveDevice| {
            let paths = device.paths.iter().map(|path| path.light);
            (device.name.clone(), device.light, paths.collect::<Vec<_>>())
        };
        devices.map(of).collect::<Vec<_>>()
    };
    let well = lights(&healthy(), 0);
    assert_eq!(well.len(), 4);
    assert_eq!(well[3].2.len(), 2);
    let all = well
        .iter()
        .flat_map(|(_, own, paths)| paths.iter().chain([own]));
    assert!(all.clone().all(|light| *light == Light::Good), "{well:?}");
    let broken = lights(&dead_link(), 0);
    let side = (
        "wwn-0x5000c500a1b2c3d1".to_owned(),
        Light::Bad,
        vec![Light::Good, Light::Bad],
    );
    assert_eq!(broken[3], side);
    // Of a pool on another head, which asks itself, nothing is known.
    assert_eq!(lights(&healthy(), 1), []);
    let page = whole(&both_healthy());
    assert_eq!(page.pools[1].devices[0].name, "/dev/mapper/mpathc");
}

#[test]
fn an_incident_that_is_under_way_is_told_below_the_headline() {
    let parts = live_parts(&page(&lost_head())).parts;
    let (_, headline) = parts.iter().find(|(id, _)| *id == "headline").unwrap();
    assert!(
        headline.contains(
            "An incident has been under way since 2026-11-25 18:29:57 UTC: head2 is gone"
        ),
        "{headline}"
    );
    assert!(!text(&page(&healthy())).contains("under way"));
}

#[test]
fn a_head_that_is_lost_and_a_pool_that_is_nowhere() {
    let page = page(&lost_head());
    assert_eq!(page.heads[1].light, Light::Bad);
    assert_eq!(page.pools[1].on, PoolAt::Nowhere);
    held_against("lost-head", &page);
}

#[test]
fn who_asks_all_heads_has_both_ends_of_each_link() {
    let page = whole(&both_dead_link());
    let heads = page.heads.iter().map(|head| head.light);
    assert_eq!(heads.collect::<Vec<_>>(), [Light::Good, Light::Good]);
    for end in &page.links[0].ends {
        assert!(
            matches!(end.what, EndKnown::Port(_)) && end.ways.len() == 1,
            "{end:?}"
        );
    }
    let lights = |link: usize| page.links[link].ends.iter().map(|end| end.light);
    // The loss is told of both ends of the way, whoever has counted it.
    assert_eq!(lights(0).collect::<Vec<_>>(), [Light::Warning; 2]);
    assert_eq!(lights(1).collect::<Vec<_>>(), [Light::Bad; 2]);
    // A link without heartbeat has ports and no ways.
    assert!(page.links[2].ends.iter().all(|end| end.ways.is_empty()));
    let on = page
        .pools
        .iter()
        .map(|pool| (pool.on.clone(), pool.used_percent, pool.offered));
    let here = |head: &str| (PoolAt::Head(head.into()), Some(37), Some(true));
    assert_eq!(on.collect::<Vec<_>>(), [here("head1"), here("head2")]);
    held_against("both-heads", &page);
}

#[test]
fn a_head_that_does_not_answer_is_shown_with_when_it_was_seen_last() {
    let page = whole(&one_silent());
    assert_eq!(page.heads[1].light, Light::Bad);
    assert_eq!(page.heads[1].own, None);
    let seen = page.heads[1]
        .not_reached
        .as_ref()
        .and_then(|not| not.seen_at);
    assert_eq!(seen, Some(NOW - 95));
    // Of its ends nothing is known; that the other end sees it down stands there.
    assert!(
        page.links
            .iter()
            .all(|link| link.ends[1].what == EndKnown::NotKnown)
    );
    assert_eq!(page.links[0].ends[0].light, Light::Bad);
    assert_eq!(page.pools[1].on, PoolAt::Nowhere);
    held_against("silent-head", &page);
    // If none answers, nobody says that its pool runs nowhere.
    let mut deaf = one_silent();
    deaf.heads.clear();
    deaf.reading.heads.clear();
    let deaf = whole(&deaf);
    assert!(deaf.pools.iter().all(|pool| pool.on == PoolAt::NotKnown));
    assert!(deaf.heads.iter().all(|head| head.condition.is_none()));
    // Nobody knows better than the judgement whether it is lost: silence alone is not.
    let mut silent = one_silent();
    silent.reading.alarms.clear();
    silent.members = both_healthy().members;
    assert_eq!(whole(&silent).heads[1].light, Light::Unknown);
}

#[test]
fn hosts_without_a_cluster_file_are_heads_and_nothing_else() {
    let mut shown = both_healthy();
    (shown.status, shown.asked_at) = (None, None);
    shown.members.clear();
    shown.reading.cluster.clear();
    let mut hosts = file().topology();
    (hosts.cluster, hosts.links) = (String::new(), Vec::new());
    hosts.nodes[1].name = "a".into();
    let known = LiveInput {
        own: None,
        shown: Some(&shown),
        problem: None,
        old_s: None,
        incidents: None,
    };
    let page = live_page(&of_topology(&hosts), known);
    let lights = page.heads.iter().map(|head| head.light);
    assert_eq!(lights.collect::<Vec<_>>(), [Light::Good, Light::Unknown]);
    let written = text(&page);
    assert!(written.contains("<h1>head1 and a</h1>"), "{written}");
    assert!(
        !written.contains("quorum") && !written.contains("Pacemaker"),
        "{written}"
    );
    assert!(written.contains("without a cluster file"), "{written}");
}

#[test]
fn what_one_head_does_not_know_it_says() {
    let mut three = include_str!("../../../../examples/lab/hawser.toml").replace(
        "[fencing]",
        "[[node]]\nname = \"head3\"\naddresses = { ring0 = \"10.72.0.3\", ring1 = \"10.72.1.3\" }\n[node.bmc]\n\
         address = \"10.72.9.103\"\nusername = \"admin\"\npassword = \"file:/etc/hawser/secrets/head3-bmc\"\ncipher = 3\n\
         [fencing]",
    );
    three = three.replace(
        "prefer = \"head1\"",
        "prefer = \"head1\"\nnodes = [\"head1\", \"head2\"]",
    );
    three = three.replace(
        "prefer = \"head2\"",
        "prefer = \"head2\"\nnodes = [\"head1\", \"head2\"]",
    );
    let three = parse_complete(&three, "hawser.toml").unwrap_or_else(|e| panic!("{e:?}"));
    let mut shown = healthy();
    shown.status = None;
    let without = "read /sys/kernel/btf/vmlinux: No such file or directory";
    shown.heads.get_mut("head1").unwrap().drops = Some(DropTotals::NotCounted(without.to_owned()));
    let page = page_of(&three, &shown);
    // head3 is on no SAN, nothing was read of it, and the links between the others are nobody's to tell.
    assert_eq!(page.links[2].ends[2].what, EndKnown::NotThere);
    assert_eq!(page.links[2].ends[1].what, EndKnown::NotKnown);
    assert_eq!(page.links[0].ends[2].what, EndKnown::NotKnown);
    assert_eq!(page.heads[2].light, Light::Unknown);
    assert_eq!(page.pools[1].on, PoolAt::NotKnown);
    assert_eq!(page.pools[0].on, PoolAt::Head("head1".into()));
    let not_known = page.not_known.join("\n");
    for there in [
        "has not looked at the cluster yet",
        "head2 and head3",
        "links are between head2 and head3",
        "No switch is asked",
        "Why the kernel of head1 drops packets cannot be counted: read /sys/kernel/btf/vmlinux",
    ] {
        assert!(not_known.contains(there), "{there}: {not_known}");
    }
    held_against("three-heads", &page);
}

#[test]
fn nothing_is_called_good_before_it_was_read_and_old_is_called_old() {
    let own = "head1".into();
    let known = LiveInput {
        own: Some(&own),
        shown: None,
        problem: None,
        old_s: None,
        incidents: None,
    };
    let unread = live_page(&file(), known);
    let written = text(&unread);
    assert!(!written.contains("mark-of good"), "{written}");
    assert!(written.contains("Not known yet") && written.contains("were not read yet"));
    let shown = healthy();
    let old = LiveInput {
        own: Some(&own),
        shown: Some(&shown),
        problem: Some("crm_simulate: no answer"),
        old_s: Some(47),
        incidents: None,
    };
    let old = text(&live_page(&file(), old));
    assert!(old.contains("nothing for 47 s: what stands here is old"));
    assert!(old.contains("The last look at the cluster failed") && old.contains("no answer"));
}

#[test]
fn links_of_alarms_with_one_code_have_each_a_name_of_its_own() {
    let mut shown = dead_link();
    let mut second = shown.reading.alarms[0].clone();
    second.place.link = Some("san01".into());
    shown.reading.alarms.push(second);
    let written = text(&page(&shown));
    for name in ["id=\"cause-link-down\"", "id=\"cause-link-down-2\""] {
        assert_eq!(written.matches(name).count(), 1, "{name}");
    }
}

#[test]
fn colours_are_never_alone() {
    let own = [healthy(), dead_link(), lost_head()].map(|shown| page(&shown));
    let all = [both_healthy(), both_dead_link(), one_silent()].map(|shown| whole(&shown));
    for page in own.iter().chain(&all) {
        let written = text(page);
        // Each shape has words after it, and is not read aloud itself.
        let shapes = written.matches("class=\"mark-of").count();
        assert!(shapes > 10);
        assert_eq!(written.matches("aria-hidden=\"true\"").count(), shapes);
        for wordless in ["</svg></p>", "</svg></h3>", "</svg></h4>", "</svg></li>"] {
            assert!(!written.contains(wordless), "{wordless}");
        }
    }
}

/// Each string that comes from outside is this one.
fn planted(words: &str) -> LivePage {
    let mut shown = dead_link();
    let reading = &mut shown.reading;
    for alarm in &mut reading.alarms {
        alarm.text = words.to_owned();
        alarm.fix = Some(words.to_owned());
        alarm.code = words.to_owned();
        alarm.place.object = Some(words.to_owned());
    }
    reading.heads[0].exports[0].offered = Some(false);
    reading.heads[0].exports[0].missing = vec![words.to_owned()];
    reading.heads[0].links[0].state = LinkState::Down;
    let own = shown.heads.get_mut("head1").unwrap();
    let port = own.interfaces.remove("eth0").unwrap();
    own.interfaces.insert(words.into(), port);
    for drop in &mut own.dropped_now {
        (drop.reason, drop.interface) = (words.to_owned(), Some(words.into()));
    }
    let mut storage = own.storage.clone().unwrap();
    let zpool = storage.zpools.get_mut("vmpool01").unwrap();
    (zpool.scan, zpool.errors) = (None, Some(words.to_owned()));
    (zpool.devices[0].name, zpool.devices[0].state) = (words.to_owned(), words.to_owned());
    let map = storage.multipath.values_mut().next().unwrap();
    let mut path = map.paths.remove("sda").unwrap();
    (path.used, path.checked) = (Some(words.to_owned()), Some(words.to_owned()));
    // By itself, so that no name changes the order.
    map.paths = [(words.to_owned(), path)].into();
    own.storage = Some(storage);
    shown.running = Some(LiveRunning {
        since: NOW,
        or_before: true,
        trigger: words.to_owned(),
    });
    let status = shown.status.as_mut().unwrap();
    status.if_lost = [(words.into(), vec![words.to_owned()])].into();
    let mut page = page(&shown);
    page.cluster = words.to_owned();
    page.own = Some(words.into());
    page.heads[0].name = words.into();
    page.links[0].name = words.into();
    page.links[0].switch = Some(words.to_owned());
    page.pools[0].name = words.to_owned();
    page.pools[0].on = PoolAt::Head(words.into());
    page.pools[0].addresses[0].link = words.into();
    page.not_known.push(words.to_owned());
    for incident in &mut page.incidents.newest {
        incident.id = words.to_owned();
        incident.began = words.to_owned();
        incident.away = words.to_owned();
        incident.trigger = words.to_owned();
    }
    page.incidents.gaps = vec![words.to_owned()];
    page.heads[1].not_reached = Some(NotReached {
        why: words.to_owned(),
        seen_at: None,
    });
    page.links[1].ends[0].ways = vec![LinkReading {
        name: words.into(),
        peer: words.into(),
        state: LinkState::Up,
        latency_s: None,
        lost: None,
        sent: None,
    }];
    page
}

/// Every tag and attribute of a page, without what the attributes say.
fn shape(html: &str) -> Vec<String> {
    let mut shape = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let (mut tag, mut quoted, mut length) = (String::new(), false, 0);
        for c in after.chars() {
            length += c.len_utf8();
            match c {
                '"' => quoted = !quoted,
                '>' if !quoted => break,
                _ if quoted => {}
                c => tag.push(c),
            }
        }
        shape.push(tag);
        rest = &after[length..];
    }
    shape
}

#[test]
fn script_tags_newlines_escape_sequences_and_marks_of_direction_are_text() {
    let hostile =
        "</script><script>alert(1)</script>\"onload='x' \n\r\u{1b}[2J\u{202e}\u{2066}&amp;";
    let page = planted(hostile);
    let written = text(&page);
    assert!(!written.contains("<script>") && !written.contains("</script><script"));
    for hidden in ['\u{1b}', '\u{202e}', '\u{2066}', '\r'] {
        assert!(!written.contains(hidden), "{hidden:?}");
    }
    let shown = written.matches("&lt;script&gt;alert(1)").count();
    assert!(shown > 25, "{shown} of the planted strings are shown");
    assert!(
        !written.contains("href=\"/explain/&"),
        "no way to what is no code"
    );
}

fn hostile() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "<script>",
            "</title>",
            "-->",
            "<!--",
            "]]>",
            "\" onload=\"x",
            "'",
            "&lt;",
            "&",
            "\n",
            "\r\n\r\ndata: x",
            "\u{1b}]0;x\u{7}",
            "\u{202e}",
            "\u{0}",
            "\u{ffff}",
            "javascript:x",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_name_changes_the_shape_of_the_page(words in hostile()) {
        let words = format!("x{words}");
        prop_assume!(!words.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        prop_assert_eq!(shape(&text(&planted(&words))), shape(&text(&planted("A name"))));
        // What is sent later is the same text.
        for (id, part) in live_parts(&planted(&words)).parts {
            prop_assert!(text(&planted(&words)).contains(&part), "{}", id);
        }
    }
}
