//! All about one row, and what the keys do: texts that cover the picture.

use hawser_model::output::live::LiveIncident;
use hawser_model::output::top::{Answers, TopHead, TopPicture};
use hawser_model::output::watch::Alarm;

use crate::ink::wrapped;
use crate::rows::{alarm_key, devices_of, parts_of};
use crate::view::{Over, Part, View, ViewInput};
use crate::words;

/// What the keys do, in columns.
const KEYS: &[(&str, &str)] = &[
    ("Up Down, k j", "the row before or after"),
    ("PgUp PgDn", "ten rows at a time"),
    ("Home End, g G", "the first or the last row"),
    ("Tab, Shift-Tab", "the next part, the part before"),
    (
        "Enter",
        "all about the row; of an alarm: its cause and what to do",
    ),
    ("Space", "the picture stands still, and goes on"),
    ("r", "ask the heads for all again, now"),
    ("? h F1", "this text"),
    ("Esc", "back to the picture"),
    ("q F10 Ctrl-C", "end"),
];

const HELP: &str = "\
What is read of each head, and how often, is what a watch on it reads (docs/watch.md). Nothing here changes a cluster. Times \
are UTC; those of incidents are the heads' own.

The exit code is 0 if no alarm stands at the end and all heads answer, else 1.";

/// The lines of what covers the picture, of which so many are above the screen; none if nothing does.
pub fn covering(seen: ViewInput<'_>, view: &View) -> Option<(String, Vec<String>, usize)> {
    let width = usize::from(seen.size.0);
    let (title, text, above) = match view.over.as_ref()? {
        Over::Help(above) => ("Keys".to_owned(), help(), *above),
        Over::More(above) => {
            let (title, text) = more(seen, view);
            (title, text, *above)
        }
    };
    Some((title, wrapped(&text, width), above))
}

fn help() -> String {
    let keys = KEYS.iter();
    let mut text: Vec<String> = keys
        .map(|(keys, does)| format!("  {keys:<15} {does}"))
        .collect();
    text.push(String::new());
    text.push(HELP.to_owned());
    text.join("\n")
}

fn more(seen: ViewInput<'_>, view: &View) -> (String, String) {
    let ViewInput { picture, .. } = seen;
    let gone = || {
        (
            view.part.title().to_owned(),
            "There is nothing to show.".to_owned(),
        )
    };
    let Some(at) = view.chosen(picture, view.part) else {
        return gone();
    };
    let found = match view.part {
        Part::Alarms => picture.alarms.get(at).map(|one| alarm(one, seen)),
        Part::Heads => picture.heads.get(at).map(|one| head(one, picture)),
        Part::Links => picture.links.get(at).map(|link| {
            let mut lines = vec![words::carries(link), String::new()];
            lines.extend(parts_of(link).into_iter().map(|(_, words)| words));
            (format!("Link {}", link.name), lines.join("\n"))
        }),
        Part::Pools => picture.pools.get(at).map(|pool| {
            let mut lines = vec![words::pool(pool)];
            let addresses = pool.addresses.iter();
            lines.extend(
                addresses.map(|it| format!("{} on {}: {}", it.address, it.link, it.word())),
            );
            lines.extend(devices_of(pool).into_iter().map(|(_, words)| words));
            lines.extend(pool.missing.iter().cloned());
            (format!("Pool {}", pool.name), lines.join("\n"))
        }),
        Part::IfLost => picture.if_lost.iter().nth(at).map(|(head, lines)| {
            let title = format!("If {head} died now");
            let asked = picture.look.at;
            let asked = asked.map(|at| words::moment(at, picture.now));
            let asked = asked.map(|at| format!("\nPacemaker's scheduler said so at {at}."));
            (title, lines.join("\n") + "\n" + &asked.unwrap_or_default())
        }),
        Part::Incidents => picture
            .incidents
            .newest
            .get(at)
            .map(|it| incident(it, picture)),
    };
    found.unwrap_or_else(gone)
}

fn alarm(alarm: &Alarm, seen: ViewInput<'_>) -> (String, String) {
    let mut when = words::since(alarm, seen.picture);
    if let Some(times) = words::times(alarm) {
        when += &format!(", {times}");
    }
    let mut lines = vec![
        format!("{}: {}", alarm.severity.word(), alarm.text),
        String::new(),
        format!("It stands {when}."),
    ];
    match alarm.place.to_string().as_str() {
        "" => {}
        place => lines.push(format!("Where: {place}.")),
    }
    if let Some(fix) = &alarm.fix {
        lines.extend([String::new(), format!("What to do: {fix}")]);
    }
    if let Some(page) = (seen.explain)(&alarm.code) {
        let title = format!("hawser explain {}:", alarm.code);
        lines.extend([String::new(), title, String::new(), page]);
    }
    (format!("Alarm {}", alarm_key(alarm)), lines.join("\n"))
}

fn head(head: &TopHead, picture: &TopPicture) -> (String, String) {
    let name = &head.head.name;
    let mut lines = vec![words::head(head, picture)];
    if let Answers::No { why, .. } = &head.answers {
        lines.push(why.clone());
    }
    let mut alarms = words::about(head, picture);
    if let Some(first) = alarms.next() {
        lines.extend([String::new(), "Alarms about it:".to_owned()]);
        let all = std::iter::once(first).chain(alarms);
        lines.extend(all.map(|it| format!("  {} {}: {}", it.severity.word(), it.code, it.text)));
    }
    if let Some(lost) = picture.if_lost.get(name) {
        lines.extend([String::new(), "If it died now:".to_owned()]);
        lines.extend(lost.iter().map(|line| format!("  {line}")));
    }
    (format!("Head {name}"), lines.join("\n"))
}

fn incident(incident: &LiveIncident, picture: &TopPicture) -> (String, String) {
    let LiveIncident {
        id,
        began,
        away,
        trigger,
    } = incident;
    let mut lines = vec![
        format!("It began {began}, by the head's clock."),
        format!("{trigger}; {away}."),
        String::new(),
        format!("hawser incident show {id} has its account."),
    ];
    match picture.incidents.older {
        0 => {}
        older => lines.push(format!("{older} older ones are in hawser incident list.")),
    }
    if !picture.incidents.gaps.is_empty() {
        lines.extend([String::new(), "What the logs do not tell:".to_owned()]);
        let gaps = picture.incidents.gaps.iter();
        lines.extend(gaps.map(|gap| format!("  {gap}")));
    }
    (format!("Incident {id}"), lines.join("\n"))
}
