//! The rows of each part.

use hawser_model::names::HostName;
use hawser_model::output::live::{EndKnown, Light, LiveIncident, LivePool};
use hawser_model::output::top::{Answers, TopHead, TopLink, TopPicture};
use hawser_model::output::watch::Alarm;

use crate::ink::{Ink, Looks, Piece, name, padded, piece, shape, wrapped};
use crate::view::Part;
use crate::words;

/// What follows names stands below each other up to this width of them.
const NAMES: usize = 16;

/// Of an alarm's text so many lines are shown; all of it is behind Enter.
const TEXT: usize = 3;

/// What stands in more groups is not shown further in.
const DEEPEST: usize = 4;

/// A row of a part.
pub struct Row {
    /// What it is, if it can be chosen; else it belongs to the row before it.
    pub key: Option<String>,
    /// What stands in it.
    pub pieces: Vec<Piece>,
}

/// How the rows are made.
#[derive(Clone, Copy)]
pub struct Room {
    /// So many columns.
    pub width: usize,
    /// All that is known, and not only what is wrong.
    pub whole: bool,
    /// What the terminal can show.
    pub looks: Looks,
}

/// What can be chosen in a part.
pub fn keys(picture: &TopPicture, part: Part) -> Vec<String> {
    let any = Room {
        width: 80,
        whole: false,
        looks: Looks {
            colours: false,
            unicode: false,
        },
    };
    let rows = rows(picture, part, any).into_iter();
    rows.filter_map(|row| row.key).collect()
}

/// The rows of a part.
pub fn rows(picture: &TopPicture, part: Part, room: Room) -> Vec<Row> {
    match part {
        Part::Alarms => alarms(picture, room),
        Part::Heads => {
            let width = widest(picture.heads.iter().map(|head| head.head.name.as_str()));
            let heads = picture.heads.iter();
            let heads = heads.flat_map(|one| head(one, width, picture, room));
            heads.collect()
        }
        Part::Links => {
            let width = widest(picture.links.iter().map(|link| link.name.as_str()));
            let links = picture.links.iter();
            links.flat_map(|one| link(one, width, room)).collect()
        }
        Part::Pools => {
            let width = widest(picture.pools.iter().map(|pool| pool.name.as_str()));
            let pools = picture.pools.iter();
            pools.flat_map(|one| pool(one, width, room)).collect()
        }
        Part::IfLost => if_lost(picture, room),
        Part::Incidents => incidents(picture, room),
    }
}

fn widest<'a>(names: impl Iterator<Item = &'a str>) -> usize {
    let widths = names.map(|name| crate::ink::width(&[piece(Ink::Plain, name)]));
    widths.max().unwrap_or(0).min(NAMES)
}

/// What an alarm is, whatever it says at the moment.
pub fn alarm_key(alarm: &Alarm) -> String {
    format!("{} {}", alarm.code, alarm.place)
}

fn row(key: &str, pieces: Vec<Piece>) -> Row {
    Row {
        key: Some(key.to_owned()),
        pieces,
    }
}

/// A row that belongs to the one before it, further in.
fn below(pieces: Vec<Piece>) -> Row {
    let mut all = vec![piece(Ink::Plain, "    ")];
    all.extend(pieces);
    Row {
        key: None,
        pieces: all,
    }
}

/// A row that says that there is nothing.
fn nothing(words: &str) -> Vec<Row> {
    vec![Row {
        key: None,
        pieces: vec![piece(Ink::Dim, format!("  {words}"))],
    }]
}

/// A shape, and a name in a column so wide.
fn named(light: Light, text: &str, width: usize, room: Room) -> Vec<Piece> {
    vec![
        shape(light, room.looks),
        piece(Ink::Plain, " "),
        piece(
            Ink::Bold,
            padded(&name(text, room.width, room.looks), width),
        ),
        piece(Ink::Plain, "  "),
    ]
}

fn alarms(picture: &TopPicture, room: Room) -> Vec<Row> {
    if picture.alarms.is_empty() {
        return nothing(match picture.light() {
            Light::Good => "none stands",
            Light::Unknown | Light::Warning | Light::Bad => "none so far",
        });
    }
    let one = |alarm: &Alarm| {
        let light = Light::from(alarm.severity);
        let mut when = vec![words::since(alarm, picture)];
        when.extend(words::times(alarm));
        let mut pieces = vec![
            shape(light, room.looks),
            piece(Ink::Of(light), format!(" {} ", alarm.severity.word())),
            piece(Ink::Bold, &alarm.code),
            piece(Ink::Plain, format!(", {}", when.join(", "))),
        ];
        if !room.whole {
            pieces.push(piece(Ink::Plain, format!(": {}", alarm.text)));
            return vec![row(&alarm_key(alarm), pieces)];
        }
        let text = wrapped(&alarm.text, room.width.saturating_sub(4));
        let mut rows = vec![row(&alarm_key(alarm), pieces)];
        let shown = text.iter().take(TEXT).enumerate().map(|(at, line)| {
            let cut = at + 1 == TEXT && text.len() > TEXT;
            let end = if cut { " ..." } else { "" };
            below(vec![piece(Ink::Plain, format!("{line}{end}"))])
        });
        rows.extend(shown);
        rows
    };
    picture.alarms.iter().flat_map(one).collect()
}

fn head(head: &TopHead, width: usize, picture: &TopPicture, room: Room) -> Vec<Row> {
    let name = head.head.name.as_str();
    let mut pieces = named(head.head.light, name, width, room);
    pieces.push(piece(Ink::Plain, words::head(head, picture)));
    let mut rows = vec![row(name, pieces)];
    if let (true, Answers::No { why, .. }) = (room.whole, &head.answers) {
        rows.push(below(vec![piece(Ink::Dim, why)]));
    }
    rows
}

fn link(link: &TopLink, width: usize, room: Room) -> Vec<Row> {
    let name = link.name.as_str();
    let mut pieces = named(words::link_light(link), name, width, room);
    pieces.push(piece(Ink::Plain, words::link(link)));
    let carries = words::carries(link);
    if !carries.is_empty() {
        pieces.push(piece(Ink::Dim, format!("  ({carries})")));
    }
    let mut rows = vec![row(name, pieces)];
    for (light, words) in parts_of(link) {
        if room.whole || light >= Light::Warning {
            rows.push(below(vec![
                shape(light, room.looks),
                piece(Ink::Plain, format!(" {words}")),
            ]));
        }
    }
    rows
}

/// The ports and the ways of a link, each in words.
pub fn parts_of(link: &TopLink) -> Vec<(Light, String)> {
    let ports = link.ports.iter();
    let ports = ports.filter(|port| port.end.what != EndKnown::NotThere);
    let ports = ports.map(|port| {
        let words = port.end.what.words().join(", ");
        (port.end.light, format!("{}: {words}", port.head))
    });
    let ways = link.ways.iter().map(|way| {
        let words = way.link.words().join(", ");
        (
            way.light,
            format!("{} to {}: {words}", way.from, way.link.peer),
        )
    });
    ports.chain(ways).collect()
}

fn pool(pool: &LivePool, width: usize, room: Room) -> Vec<Row> {
    let mut pieces = named(pool.light, &pool.name, width, room);
    pieces.push(piece(Ink::Plain, words::pool(pool)));
    let address = |at: usize| {
        let address = &pool.addresses[at];
        let words = format!("{} on {} {}", address.address, address.link, address.word());
        (address.light(), words)
    };
    let addresses = (0..pool.addresses.len()).map(address);
    let mut rows = Vec::new();
    match room.whole {
        true => rows.extend(addresses.map(|(light, words)| {
            below(vec![
                shape(light, room.looks),
                piece(Ink::Plain, format!(" {words}")),
            ])
        })),
        false => {
            for (light, words) in addresses {
                pieces.push(piece(Ink::Plain, "  "));
                pieces.push(shape(light, room.looks));
                pieces.push(piece(Ink::Plain, format!(" {words}")));
            }
        }
    }
    rows.insert(0, row(&pool.name, pieces));
    for (light, words) in devices_of(pool) {
        if room.whole || light >= Light::Warning {
            rows.push(below(vec![
                shape(light, room.looks),
                piece(Ink::Plain, format!(" {words}")),
            ]));
        }
    }
    let missing = pool.missing.iter();
    rows.extend(missing.map(|what| {
        below(vec![
            shape(Light::Bad, room.looks),
            piece(Ink::Plain, format!(" {what}")),
        ])
    }));
    rows
}

/// What a pool stands on, each in words, further in what is within another.
pub fn devices_of(pool: &LivePool) -> Vec<(Light, String)> {
    let mut all = Vec::new();
    for device in &pool.devices {
        let indent = "  ".repeat(device.depth.min(DEEPEST));
        let words = match device.words.as_str() {
            "" => device.name.clone(),
            words => format!("{}: {words}", device.name),
        };
        all.push((device.light, format!("{indent}{words}")));
        let paths = device.paths.iter();
        all.extend(paths.map(|path| {
            let words = format!("{indent}  {}: {}", path.disk, path.words);
            (path.light, words)
        }));
    }
    let about = pool.about_devices.iter().cloned();
    all.extend(about.map(|words| (Light::Warning, words)));
    all
}

fn if_lost(picture: &TopPicture, room: Room) -> Vec<Row> {
    if picture.if_lost.is_empty() {
        return nothing("not known");
    }
    let width = widest(picture.if_lost.keys().map(|head| head.as_str()));
    let one = |(head, lines): (&HostName, &Vec<String>)| {
        let short = name(head.as_str(), room.width, room.looks);
        let short = piece(Ink::Bold, padded(&short, width));
        let begin = [piece(Ink::Plain, "  "), short, piece(Ink::Plain, "  ")];
        let mut pieces: Vec<Piece> = begin.into();
        match room.whole {
            true => pieces.extend(lines.first().map(|line| piece(Ink::Plain, line))),
            false => pieces.push(piece(Ink::Plain, lines.join("; "))),
        }
        let mut rows = vec![row(head.as_str(), pieces)];
        if room.whole {
            let more = lines.iter().skip(1);
            let indent = " ".repeat(width);
            rows.extend(more.map(|line| below(vec![piece(Ink::Plain, format!("{indent}{line}"))])));
        }
        rows
    };
    picture.if_lost.iter().flat_map(one).collect()
}

fn incidents(picture: &TopPicture, room: Room) -> Vec<Row> {
    let incidents = &picture.incidents;
    let mut rows = Vec::new();
    rows.extend(picture.running.as_ref().map(|running| Row {
        key: None,
        pieces: vec![
            piece(Ink::Plain, "  "),
            shape(Light::Bad, room.looks),
            piece(Ink::Bold, format!(" {}", words::running(running, picture))),
        ],
    }));
    if !incidents.read {
        rows.extend(nothing("the heads' logs were not read yet"));
        return rows;
    }
    if incidents.newest.is_empty() {
        rows.extend(nothing("the heads' logs tell of none"));
        return rows;
    }
    let one = |incident: &LiveIncident| {
        // The second is enough here; the rest is behind Enter.
        let began = incident.began.split('.').next().unwrap_or_default();
        row(
            &incident.id,
            vec![
                piece(Ink::Bold, format!("  {began}")),
                piece(
                    Ink::Plain,
                    format!("  {}: {}", incident.away, incident.trigger),
                ),
            ],
        )
    };
    rows.extend(incidents.newest.iter().map(one));
    rows
}
