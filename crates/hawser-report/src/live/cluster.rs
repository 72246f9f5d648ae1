//! The cluster as a picture: a column a head, its links across, its pools below.
//!
//! It is made of boxes and lines around words, not of a drawing: words wrap on a narrow screen, can be searched, and are
//! read aloud in order.

use hawser_model::names::HostName;
use hawser_model::output::live::{
    EndKnown, Light, LiveAddress, LiveEnd, LiveHead, LiveLink, LivePage, LivePool, PoolAt,
};

use super::devices::devices;
use super::light::{class, mark};
use crate::markup::Markup;
use crate::page::moment;

pub(super) fn cluster(m: &mut Markup, page: &LivePage) {
    let hosts = page.is_of_hosts();
    m.leaf("h2", &[], if hosts { "The hosts" } else { "The cluster" });
    let columns = format!("columns n{}", page.heads.len().clamp(1, 8));
    m.node(
        "ul",
        &[("class", &columns), ("aria-label", &"Heads")],
        |m| {
            for head in &page.heads {
                one_head(m, page, head);
            }
        },
    );
    for link in &page.links {
        one_link(m, page, link, &columns);
    }
    pools(m, page, &columns);
    if hosts {
        return;
    }
    m.leaf(
        "p",
        &[("class", &"muted")],
        match (&page.own, page.asked_at) {
            (Some(own), Some(at)) => format!(
                "Ports, links and quorum as {own} read them last; the heads and where pools run as its Pacemaker had them at {} UTC.",
                moment(at)
            ),
            (None, Some(at)) => format!(
                "Each head, its ports and its ways to the others by its own answer; where pools run as Pacemaker had them at {} UTC.",
                moment(at)
            ),
            (Some(_), None) => "Pacemaker was not asked yet.".to_owned(),
            (None, None) => "No head has answered for the cluster.".to_owned(),
        },
    );
}

fn one_head(m: &mut Markup, page: &LivePage, head: &LiveHead) {
    m.node("li", &[("class", &class("head", head.light))], |m| {
        m.node("h3", &[], |m| {
            mark(m, head.light);
            m.text(&head.name);
        });
        match (page.is_of_hosts(), head.light) {
            (false, _) => m.leaf("p", &[], head.words()),
            (true, _) if head.not_reached.is_some() => {}
            (true, Light::Unknown) => m.leaf("p", &[], "no answer yet"),
            (true, _) => m.leaf("p", &[], "answered"),
        }
        if let Some(not) = &head.not_reached {
            let seen = not.seen_at.map_or_else(
                || "not since this watch began".to_owned(),
                |at| format!("{} UTC", moment(at)),
            );
            m.leaf(
                "p",
                &[("class", &"missing")],
                format_args!("did not answer: {}", not.why),
            );
            m.leaf(
                "p",
                &[("class", &"muted")],
                format_args!("last seen: {seen}"),
            );
        }
        if page.own.as_ref() == Some(&head.name) {
            m.leaf("p", &[("class", &"muted")], "this head");
        }
    });
}

fn one_link(m: &mut Markup, page: &LivePage, link: &LiveLink, columns: &str) {
    m.node("div", &[("class", &"link")], |m| {
        m.node("h3", &[], |m| {
            m.text(&link.name);
            m.leaf("small", &[], format_args!(" {}", link.carries));
        });
        if let Some(switch) = &link.switch {
            let class = if link.suspect {
                "switch suspect"
            } else {
                "switch"
            };
            m.node("p", &[("class", &class)], |m| {
                m.text(format_args!("switch {switch}"));
                if link.suspect {
                    m.text(": look here first");
                }
            });
        }
        let label = format!("Ends of {}", link.name);
        let columns = format!("{columns} ends");
        m.node("ul", &[("class", &columns), ("aria-label", &label)], |m| {
            let is_there = |end: &LiveEnd| end.what != EndKnown::NotThere;
            let first = link.ends.iter().position(is_there);
            let last = link.ends.iter().rposition(is_there);
            for (at, (head, end)) in page.heads.iter().zip(&link.ends).enumerate() {
                let class = match is_there(end) {
                    true if first == last => class("end alone", end.light),
                    true if first == Some(at) => class("end from", end.light),
                    true if last == Some(at) => class("end to", end.light),
                    true => class("end", end.light),
                    // The line goes by, or has not begun, or is over.
                    false if first < Some(at) && Some(at) < last => "end by".to_owned(),
                    false => "end beyond".to_owned(),
                };
                let whose = match &page.own {
                    Some(own) if *own != head.name => format!("to {}: ", head.name),
                    _ => format!("{}: ", head.name),
                };
                one_end(m, &class, &whose, end);
            }
        });
    });
}

fn one_end(m: &mut Markup, class: &str, whose: &str, end: &LiveEnd) {
    m.node("li", &[("class", &class)], |m| {
        match end.what {
            EndKnown::NotThere => m.leaf("span", &[("class", &"gap")], ""),
            _ => mark(m, end.light),
        }
        m.leaf("span", &[("class", &"aloud")], whose);
        for line in end.what.words() {
            m.leaf("span", &[("class", &"line")], line);
        }
        for way in &end.ways {
            let words = way.words().join(", ");
            m.leaf(
                "span",
                &[("class", &"line")],
                format_args!("to {}: {words}", way.peer),
            );
        }
    });
}

/// Each pool below the head where it is; what is nowhere stands by itself.
fn pools(m: &mut Markup, page: &LivePage, columns: &str) {
    if page.pools.is_empty() {
        return;
    }
    m.leaf("h3", &[("class", &"pools")], "Pools");
    let columns = format!("{columns} by-head");
    m.node(
        "ul",
        &[("class", &columns), ("aria-label", &"Pools by head")],
        |m| {
            for head in &page.heads {
                m.node("li", &[], |m| {
                    m.leaf(
                        "span",
                        &[("class", &"aloud")],
                        format_args!("On {}:", head.name),
                    );
                    let here = page.pools.iter().filter(|pool| is_on(pool, &head.name));
                    let mut none = true;
                    for pool in here {
                        one_pool(m, pool);
                        none = false;
                    }
                    if none {
                        m.leaf("p", &[("class", &"muted none")], "no pool");
                    }
                });
            }
        },
    );
    let known = |pool: &&LivePool| page.heads.iter().any(|head| is_on(pool, &head.name));
    for pool in page.pools.iter().filter(|pool| !known(pool)) {
        one_pool(m, pool);
    }
}

fn is_on(pool: &LivePool, head: &HostName) -> bool {
    matches!(&pool.on, PoolAt::Head(on) if on == head)
}

fn one_pool(m: &mut Markup, pool: &LivePool) {
    m.node("div", &[("class", &class("pool", pool.light))], |m| {
        m.node("h4", &[], |m| {
            mark(m, pool.light);
            m.text(&pool.name);
        });
        m.leaf("p", &[], pool.words());
        for what in &pool.missing {
            m.leaf("p", &[("class", &"missing")], what);
        }
        m.node(
            "ul",
            &[("class", &"plain"), ("aria-label", &"Addresses")],
            |m| {
                for address in &pool.addresses {
                    one_address(m, address);
                }
            },
        );
        devices(m, pool);
    });
}

fn one_address(m: &mut Markup, address: &LiveAddress) {
    let light = address.light();
    m.node("li", &[("class", &class("address", light))], |m| {
        mark(m, light);
        m.text(format_args!("{} ", address.address));
        m.leaf(
            "small",
            &[],
            format_args!("{}, {}", address.link, address.word()),
        );
    });
}
