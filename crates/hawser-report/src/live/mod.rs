//! The live page of a watch: the same parts in the page as it is opened and in what is sent to it later.

mod alarms;
mod before;
mod cluster;
mod devices;
mod light;

use hawser_model::output::live::{Light, LivePage};
use hawser_model::units::counted;

use crate::markup::Markup;
use crate::page::{document, moment};
use light::mark;

/// Where the page's style sheet, its script and its events are, on the server that it came from.
pub const STYLE_PATH: &str = "/live.css";
/// The script's.
pub const SCRIPT_PATH: &str = "/live.js";
/// The sign in the browser's tab.
pub const ICON_PATH: &str = "/live.svg";
/// The events'.
pub const EVENTS_PATH: &str = "/events";
/// The page of a cause is at this and its code.
pub const CAUSE_PATH: &str = "/explain/";

/// The style sheet.
pub const LIVE_STYLE: &str = concat!(include_str!("../style.css"), include_str!("live.css"));

/// The script: it puts what the server sends in the place of what is there, and says when nothing comes any more.
pub const LIVE_SCRIPT: &str = include_str!("live.js");

/// The sign: a shackle of a hawser.
pub const LIVE_ICON: &str = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 16 16\"><path d=\"M5 14V7a3 3 0 0 1 6 0v7\" \
    fill=\"none\" stroke=\"#2f6f9f\" stroke-width=\"3\"/></svg>\n";

/// What a server of these pages tells browsers to refuse: all that is not from itself, what stands in the page as a script
/// or a style, and to be shown within another page.
pub const LIVE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// So many alarms are shown; how many more there are is said.
const ALARMS: usize = 100;

/// A page in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LiveParts {
    /// The title of the browser's window.
    pub title: String,
    /// What is in each part of the page, by its id.
    pub parts: Vec<(&'static str, String)>,
}

/// Writes what is in a part.
type Write = fn(&mut Markup, &LivePage);

/// What is in each part, and how it is made.
const PARTS: [(&str, Write); 7] = [
    ("read", read),
    ("headline", headline),
    ("alarms", alarms::alarms),
    ("cluster", cluster::cluster),
    ("lost", before::if_lost),
    ("incidents", before::incidents),
    ("unknown", not_known),
];

/// The page's parts.
pub fn live_parts(page: &LivePage) -> LiveParts {
    let part = |(id, of): (&'static str, Write)| {
        let mut m = Markup::default();
        of(&mut m, page);
        (id, m.into_string())
    };
    LiveParts {
        title: title(page),
        parts: PARTS.map(part).into(),
    }
}

/// The whole page.
pub fn live_page(page: &LivePage) -> String {
    let head = |m: &mut Markup| {
        head_links(m);
        m.node("noscript", &[], |m| {
            m.empty("meta", &[("http-equiv", &"refresh"), ("content", &"10")]);
        });
        m.leaf("script", &[("src", &SCRIPT_PATH), ("defer", &"defer")], "");
    };
    document(&title(page), head, |m| {
        m.node("header", &[], |m| {
            m.leaf("h1", &[], name(page));
            m.leaf(
                "p",
                &[("class", &"muted")],
                match &page.own {
                    Some(own) => format!("as {own} sees it"),
                    None if page.is_of_hosts() => "hosts, without a cluster file".to_owned(),
                    None => "as all its heads see it".to_owned(),
                },
            );
        });
        // The script fills it; a screen reader says it at once.
        m.leaf("p", &[("id", &"stream"), ("role", &"alert")], "");
        for (id, of) in PARTS {
            let inside = |m: &mut Markup| of(m, page);
            match id {
                "read" => m.node("p", &[("id", &id), ("class", &"muted")], inside),
                "headline" => m.node("div", &[("id", &id), ("role", &"status")], inside),
                _ => m.node("section", &[("id", &id)], inside),
            }
        }
        m.node("footer", &[], |m| {
            m.text("Nothing on this page changes the cluster. The same for programs: ");
            m.leaf("a", &[("href", &"/reading.json")], "/reading.json");
            m.text(", ");
            m.leaf("a", &[("href", &"/metrics")], "/metrics");
            m.text(".");
        });
    })
}

/// The page of a cause, which is a text.
pub fn live_cause(code: &str, text: &str) -> String {
    document(code, head_links, |m| {
        m.node("p", &[], |m| {
            m.leaf("a", &[("href", &"/")], "Back to the cluster");
        });
        m.leaf("h1", &[], code);
        m.leaf("pre", &[], text);
        m.node("footer", &[], |m| {
            m.leaf("code", &[], format_args!("hawser explain {code}"));
            m.text(" prints it in a terminal.");
        });
    })
}

fn head_links(m: &mut Markup) {
    m.empty("link", &[("rel", &"stylesheet"), ("href", &STYLE_PATH)]);
    m.empty("link", &[("rel", &"icon"), ("href", &ICON_PATH)]);
}

fn title(page: &LivePage) -> String {
    let state = match page.alarms.len() {
        _ if page.read_at.is_none() => "not read yet".to_owned(),
        0 => "no alarm".to_owned(),
        n => counted(n as u64, "alarm"),
    };
    match page.is_of_hosts() {
        true => format!("hosts: {state}"),
        false => format!("{}: {state}", page.cluster),
    }
}

/// What is shown.
fn name(page: &LivePage) -> String {
    match page.is_of_hosts() {
        true => {
            let heads: Vec<&str> = page.heads.iter().map(|head| head.name.as_str()).collect();
            heads.join(" and ")
        }
        false => format!("Cluster {}", page.cluster),
    }
}

fn read(m: &mut Markup, page: &LivePage) {
    match (page.read_at, page.old_s) {
        (None, _) => match &page.own {
            Some(own) => m.text(format_args!("{own} has not read itself yet.")),
            None => m.text("The heads were not read yet."),
        },
        (Some(at), None) => m.text(format_args!("Read {} UTC.", moment(at))),
        (Some(at), Some(seconds)) => {
            mark(m, Light::Bad);
            m.text(format_args!(
                "Last read {} UTC, and nothing for {seconds} s: what stands here is old.",
                moment(at)
            ));
        }
    }
}

fn headline(m: &mut Markup, page: &LivePage) {
    let worst = page.alarms.iter().map(|alarm| Light::from(alarm.severity));
    let (light, words) = match (page.read_at, worst.max()) {
        (None, _) => (Light::Unknown, "Not known yet".to_owned()),
        (Some(_), None) if page.asked_at.is_none() && !page.is_of_hosts() => (
            Light::Unknown,
            "No alarm so far; the cluster was not looked at yet".to_owned(),
        ),
        (Some(_), None) => (Light::Good, "No alarm".to_owned()),
        (Some(_), Some(light)) => {
            let count = counted(page.alarms.len() as u64, "alarm");
            let worst = page.alarms.iter().map(|alarm| alarm.severity).max();
            let worst = worst.map_or("", |severity| severity.word());
            (light, format!("{count}, the worst: {worst}"))
        }
    };
    m.node("p", &[("class", &light::class("headline", light))], |m| {
        mark(m, light);
        m.text(words);
    });
    running(m, page);
}

/// An incident that is under way, which is in the list of those that were when it is over.
fn running(m: &mut Markup, page: &LivePage) {
    let Some(running) = &page.running else {
        return;
    };
    let before = match running.or_before {
        true => " or before",
        false => "",
    };
    m.node(
        "p",
        &[("class", &light::class("running", Light::Bad))],
        |m| {
            mark(m, Light::Bad);
            m.text(format_args!(
                "An incident has been under way since {} UTC{before}: {}",
                moment(running.since),
                running.trigger
            ));
        },
    );
}

fn not_known(m: &mut Markup, page: &LivePage) {
    m.leaf(
        "h2",
        &[],
        match &page.own {
            Some(own) => format!("What {own} does not know"),
            None => "What is not known here".to_owned(),
        },
    );
    m.node("ul", &[("class", &"plain")], |m| {
        for what in &page.not_known {
            m.leaf("li", &[], what);
        }
    });
    if page.own.is_none() {
        return;
    }
    m.node("p", &[("class", &"muted")], |m| {
        m.leaf("code", &[], "hawser watch --once");
        m.text(" and ");
        m.leaf("code", &[], "hawser status");
        m.text(" ask all heads.");
    });
}
