//! The picture as lines, for a screen reader and for what is no terminal: all of it once, then what has changed.

use std::collections::BTreeMap;

use hawser_model::output::live::{EndKnown, Light, LivePool};
use hawser_model::output::top::{Answers, TopPicture};

use crate::ink::one_line;
use crate::rows::alarm_key;
use crate::words;

/// Something that is said in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    /// How it is: said again when this is another.
    state: String,
    /// Numbers that change all the time, said with it.
    also: String,
    /// What is said when it is gone; nothing for what is not worth it.
    gone: Option<String>,
}

/// What is said, by what it is about.
type All = Vec<(String, Said)>;

/// Says all of a picture once, and then what changes.
#[derive(Debug, Default)]
pub struct Teller(Option<BTreeMap<String, Said>>);

impl Teller {
    /// The lines to say of this picture.
    pub fn lines(&mut self, picture: &TopPicture) -> Vec<String> {
        let now = all(picture);
        let known: BTreeMap<String, Said> = now.iter().cloned().collect();
        let Some(before) = self.0.replace(known) else {
            return now.into_iter().map(|(_, said)| said.line()).collect();
        };
        let time = words::moment(picture.now, picture.now);
        let is_new = |(key, said): &&(String, Said)| {
            before
                .get(key)
                .is_none_or(|before| before.state != said.state)
        };
        let new = now.iter().filter(is_new).map(|(_, said)| said.line());
        let gone = before.iter();
        let gone = gone.filter(|(key, _)| now.iter().all(|(other, _)| other != *key));
        let gone = gone.filter_map(|(_, said)| said.gone.clone());
        let lines = new.chain(gone);
        lines.map(|line| format!("{time} {line}")).collect()
    }
}

impl Said {
    fn line(&self) -> String {
        one_line(&format!("{}{}", self.state, self.also))
    }

    fn of(state: String) -> Self {
        let also = String::new();
        Self {
            state,
            also,
            gone: None,
        }
    }
}

fn all(picture: &TopPicture) -> All {
    let name = match picture.cluster.as_str() {
        "" => "the hosts".to_owned(),
        name => format!("cluster {name}"),
    };
    let mut all: All = vec![(
        "picture".to_owned(),
        Said::of(format!("{name}: {}", words::headline(picture))),
    )];
    if let Some(why) = &picture.look.problem {
        let said = Said::of(format!("no view of the cluster: {why}"));
        all.push(("problem".to_owned(), said));
    }
    alarms(picture, &mut all);
    for head in &picture.heads {
        let name = &head.head.name;
        let why = match &head.answers {
            Answers::No { why, .. } => format!(": {why}"),
            Answers::Yes | Answers::NotYet => String::new(),
        };
        let said = Said {
            also: why,
            ..Said::of(format!("head {name}: {}", words::head(head, picture)))
        };
        all.push((format!("head {name}"), said));
    }
    links(picture, &mut all);
    for pool in &picture.pools {
        all.push((format!("pool {}", pool.name), of_pool(pool)));
    }
    for (head, lines) in &picture.if_lost {
        let said = format!("if {head} died now: {}", lines.join("; "));
        all.push((format!("lost {head}"), Said::of(said)));
    }
    if let Some(running) = &picture.running {
        let said = Said {
            gone: Some("the incident that was under way is over".to_owned()),
            ..Said::of(format!("incident {}", words::running(running, picture)))
        };
        all.push(("running".to_owned(), said));
    }
    for incident in &picture.incidents.newest {
        let (began, away, trigger) = (&incident.began, &incident.away, &incident.trigger);
        let said = format!("incident {}, {began}: {away}: {trigger}", incident.id);
        all.push((format!("incident {}", incident.id), Said::of(said)));
    }
    all
}

fn alarms(picture: &TopPicture, all: &mut All) {
    for alarm in &picture.alarms {
        let (word, code) = (alarm.severity.word(), &alarm.code);
        let times = words::times(alarm).map(|times| format!(", {times}"));
        let times = times.unwrap_or_default();
        let said = Said {
            state: format!("alarm: {word} {code}{times}"),
            also: format!(", {}: {}", words::since(alarm, picture), alarm.text),
            gone: Some(one_line(&format!("ended: {word} {code}: {}", alarm.text))),
        };
        all.push((format!("alarm {}", alarm_key(alarm)), said));
    }
}

fn links(picture: &TopPicture, all: &mut All) {
    for link in &picture.links {
        let name = &link.name;
        let carries = words::carries(link);
        if !carries.is_empty() {
            all.push((
                format!("link {name}"),
                Said::of(format!("link {name}: {carries}")),
            ));
        }
        for port in &link.ports {
            let head = &port.head;
            if port.end.what != EndKnown::NotThere {
                let state = port.end.what.state_words();
                let words = port.end.what.words();
                let also = words.iter().skip(state.len());
                let also: String = also.map(|words| format!(", {words}")).collect();
                let state = state.join(", ");
                let said = Said {
                    also,
                    ..Said::of(format!("link {name}, port of {head}: {state}"))
                };
                all.push((format!("port {name} {head}"), said));
            }
        }
        for way in &link.ways {
            let (from, to, state) = (&way.from, &way.link.peer, way.link.state.word());
            let words = way.link.words().join(", ");
            let also = words.strip_prefix(state).unwrap_or(&words).to_owned();
            let said = Said {
                also,
                ..Said::of(format!("link {name}, {from} to {to}: {state}"))
            };
            all.push((format!("way {name} {from} {to}"), said));
        }
    }
}

fn of_pool(pool: &LivePool) -> Said {
    // How full it is grows all the time.
    let how = LivePool {
        used_percent: None,
        ..pool.clone()
    };
    let mut state = format!("pool {}: {}", pool.name, words::pool(&how));
    for address in &pool.addresses {
        let (at, link, word) = (address.address, &address.link, address.word());
        state += &format!("; {at} on {link} {word}");
    }
    for missing in &pool.missing {
        state += &format!("; {missing}");
    }
    for device in pool.devices.iter().filter(|it| it.light != Light::Good) {
        state += &format!("; {} {}", device.name, device.words);
        for path in device.paths.iter().filter(|it| it.light != Light::Good) {
            state += &format!("; {} {}", path.disk, path.words);
        }
    }
    let full = pool.used_percent.map(|used| format!("; {used} % full"));
    Said {
        also: full.unwrap_or_default(),
        ..Said::of(state)
    }
}
