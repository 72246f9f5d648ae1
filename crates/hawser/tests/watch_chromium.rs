//! The live page of a watch in a real browser: it follows what the watch shows, keeps the focus, asks nobody else, and fits.
//! Where there is no Chromium this is skipped, and says so.

mod chromium;
#[allow(dead_code, reason = "the tests of hawser-watch take the others")]
#[path = "../../hawser-watch/tests/it/pictures.rs"]
mod pictures;

use std::io::Write;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use chromium::Chromium;
use hawser_host::Clock;
use hawser_model::units::BytesPerSec;
use hawser_watch::board::Board;
use hawser_watch::metrics::Health;
use hawser_watch::serve::serve;
use hawser_watch::shown::Shown;
use hawser_watch::threads::Threads;
use hawser_watch::web::Doors;
use pictures::{
    both_dead_link, both_healthy, dead_link, file, healthy, incidents, lost_head, one_silent,
};

/// For what must come at last, on a machine that is busy with something else.
const PATIENCE: Duration = Duration::from_secs(60);

#[track_caller]
fn until(browser: &mut Chromium, condition: &str) {
    let begun = Instant::now();
    while browser.value(condition) != true {
        assert!(begun.elapsed() < PATIENCE, "never: {condition}");
        Clock::default().sleep(Duration::from_millis(50));
    }
}

fn served(board: Board) -> (Board, String) {
    let here: SocketAddr = "127.0.0.1:0".parse().unwrap();
    let doors = Arc::new(Doors::new(here.ip(), None).unwrap());
    let address = serve(&mut Threads::default(), here, doors, board.clone()).unwrap();
    (board, format!("http://{address}/"))
}

/// On a telephone and a desk, by day and by night.
#[track_caller]
fn fits(browser: &mut Chromium, name: &str) {
    for width in [375, 1400] {
        let (scroll, inner) = browser.widths(width);
        assert!(scroll <= inner, "{name} is {scroll} wide in {inner}");
        let (light, dark) = (browser.seen("light"), browser.seen("dark"));
        assert_ne!(light.colours, dark.colours, "{name}");
        assert_ne!(light.picture, dark.picture, "{name}");
    }
}

#[test]
fn a_page_follows_the_watch_whatever_its_width_and_colours() {
    let Some(mut browser) = Chromium::start() else {
        // Past the harness, which keeps what a test that passes prints.
        writeln!(std::io::stderr(), "\nskipped: no chromium here").unwrap();
        return;
    };
    let (all, of_all) = served(Board::whole(file(), Clock::default()));
    browser.visit(&of_all);
    for (name, shown, words) in [
        ("both-healthy", both_healthy(), "to head1: up"),
        ("both-dead-link", both_dead_link(), "to head1: DOWN"),
        ("one-silent", one_silent(), "last seen: "),
    ] {
        all.show(shown, Health::default(), None);
        until(
            &mut browser,
            &format!("document.body.innerText.includes('{words}')"),
        );
        fits(&mut browser, name);
    }
    let (board, origin) = served(Board::new(file(), "head1".into(), Clock::default()));
    board.incidents(incidents());
    let show = |shown: Shown| board.show(shown, Health::default(), None);
    show(healthy());
    browser.visit(&origin);
    for (name, shown, title) in [
        ("healthy", healthy(), "lab: no alarm"),
        ("dead-link", dead_link(), "lab: 2 alarms"),
        ("lost-head", lost_head(), "lab: 2 alarms"),
    ] {
        let last = shown.reading.alarms.last().map(|alarm| alarm.code.clone());
        show(shown);
        let last = last.unwrap_or_else(|| "No alarm".to_owned());
        until(
            &mut browser,
            &format!("document.body.innerText.includes('{last}')"),
        );
        assert_eq!(browser.value("document.title"), title);
        fits(&mut browser, name);
    }
    what_is_marked_stays(&mut browser, &show);
    focus_stays(&mut browser, &show);
    nothing_planted_acts(&mut browser, &show);
    silence_is_told(&mut browser, &show);
    for asked in browser.requested() {
        assert!(
            asked.starts_with(&origin) || asked.starts_with(&of_all),
            "{asked}"
        );
    }
    browser.has_nothing_to_complain_of();
}

/// A number that is another each second takes nothing away from who reads or copies what is beside it.
fn what_is_marked_stays(browser: &mut Chromium, show: &dyn Fn(Shown)) {
    show(healthy());
    let first =
        "[...document.querySelectorAll('.end .line')].find(it => it.innerText.includes('eth0'))";
    until(browser, &format!("Boolean({first})"));
    browser.value(&format!(
        "getSelection().selectAllChildren(window.kept = {first})"
    ));
    let mut again = healthy();
    let head = again.heads.get_mut("head1").unwrap();
    head.rates.get_mut("eth0").unwrap().received = BytesPerSec(777);
    show(again);
    until(browser, "document.body.innerText.includes('777 B/s')");
    assert_eq!(browser.value(&format!("{first} === window.kept")), true);
    assert_eq!(
        browser.value("getSelection().toString()"),
        "eth0 has carrier"
    );
    // What is there no longer goes, and what is new comes in its place.
    show(dead_link());
    until(browser, "document.body.innerText.includes('no carrier')");
    assert_eq!(browser.value("document.querySelectorAll('.end').length"), 8);
    show(healthy());
    until(browser, "!document.body.innerText.includes('no carrier')");
    let fresh = "document.getElementById('cluster').innerHTML";
    let shown = browser.value(fresh);
    browser.value("location.reload()");
    until(
        browser,
        "window.kept === undefined && document.readyState === 'complete'",
    );
    assert_eq!(browser.value(fresh), shown);
}

/// Who goes through the page by its keys is not thrown back to its beginning by an update.
fn focus_stays(browser: &mut Chromium, show: &dyn Fn(Shown)) {
    show(dead_link());
    until(
        browser,
        "document.getElementById('cause-link-down') !== null",
    );
    browser.value("document.getElementById('cause-link-down').focus()");
    let mut again = dead_link();
    again.reading.alarms[0].times = 7;
    show(again);
    until(
        browser,
        "document.body.innerText.includes('7 times so far')",
    );
    assert_eq!(
        browser.value("document.activeElement.id"),
        "cause-link-down"
    );
}

/// What a head says is text in the page, also when it comes later.
fn nothing_planted_acts(browser: &mut Chromium, show: &dyn Fn(Shown)) {
    let mut hostile = dead_link();
    hostile.reading.alarms[0].text =
        "<img src=//192.0.2.1/x onerror=document.title='x'><script>document.title='x'</script>"
            .into();
    let ports = &mut hostile.heads.get_mut("head1").unwrap().interfaces;
    let port = ports.remove("eth0").unwrap();
    ports.insert("<b id=planted>\n\u{202e}".into(), port);
    show(hostile);
    until(
        browser,
        "document.body.innerText.includes('<img src=//192.0.2.1/x')",
    );
    let planted = "document.querySelectorAll('img, #planted, main script').length";
    assert_eq!(browser.value(planted), 0);
    assert_eq!(browser.value("document.title"), "lab: 2 alarms");
    assert_eq!(
        browser.value("document.body.innerText.includes('\\u202e')"),
        false
    );
}

/// What stands there is not taken for new when nothing comes any more, and is again when something does.
fn silence_is_told(browser: &mut Chromium, show: &dyn Fn(Shown)) {
    browser.value("performance.now = () => 1e9");
    until(
        browser,
        "document.getElementById('stream').innerText.includes('what stands here is old')",
    );
    assert_eq!(
        browser.value("document.body.classList.contains('old')"),
        true
    );
    show(healthy());
    until(
        browser,
        "document.getElementById('stream').innerText === ''",
    );
    assert_eq!(
        browser.value("document.body.classList.contains('old')"),
        false
    );
}
