//! What would happen next, and what happened before.

use hawser_model::output::live::LivePage;

use crate::markup::Markup;

pub(super) fn if_lost(m: &mut Markup, page: &LivePage) {
    m.leaf("h2", &[], "If a head died now");
    if page.is_of_hosts() {
        return m.leaf(
            "p",
            &[],
            "Nothing is asked about that without a cluster file.",
        );
    }
    if page.if_lost.is_empty() {
        return m.leaf("p", &[], "Pacemaker has not said it yet.");
    }
    m.leaf(
        "p",
        &[("class", &"muted")],
        match &page.own {
            Some(own) => {
                format!("By the scheduler of Pacemaker on {own}, when it was asked last.")
            }
            None => "By the scheduler of Pacemaker, when it was asked last.".to_owned(),
        },
    );
    m.node("dl", &[], |m| {
        for (head, lines) in &page.if_lost {
            m.leaf("dt", &[], head);
            for line in lines {
                m.leaf("dd", &[], line);
            }
        }
    });
}

pub(super) fn incidents(m: &mut Markup, page: &LivePage) {
    m.leaf("h2", &[], "What happened before");
    let all = &page.incidents;
    let (whose, keep) = match &page.own {
        Some(own) => (own.to_string(), "keeps"),
        None => ("the heads".to_owned(), "keep"),
    };
    if !all.read {
        return m.leaf(
            "p",
            &[],
            format_args!("The logs of {whose} were not read yet."),
        );
    }
    match all.newest.is_empty() {
        true => m.leaf(
            "p",
            &[],
            format_args!(
                "No head was lost or fenced, no service was away and no heartbeat link was down, as far as {whose} {keep} it."
            ),
        ),
        false => m.node("ol", &[("class", &"plain incidents")], |m| {
            for incident in &all.newest {
                m.node("li", &[], |m| {
                    m.leaf("code", &[], &incident.id);
                    m.text(" ");
                    m.leaf("strong", &[], &incident.away);
                    m.text(format_args!(": {}", incident.trigger));
                    m.text(". ");
                    m.leaf(
                        "span",
                        &[("class", &"muted")],
                        format_args!("Began {}.", incident.began),
                    );
                });
            }
        }),
    }
    if all.older > 0 {
        m.leaf("p", &[], format_args!("{} older ones are kept.", all.older));
    }
    for gap in &all.gaps {
        m.leaf("p", &[("class", &"muted")], gap);
    }
    m.node("p", &[("class", &"muted")], |m| {
        match &page.own {
            Some(own) => {
                m.text(format_args!(
                    "From what {own} keeps alone, in its local time; what is going on is told 35 s after its last change. "
                ));
                m.leaf("code", &[], "hawser incident list");
                m.text(" asks all heads; ");
            }
            None => m.text(
                "From all heads' logs and what their watches keep, in their local time; read again when something has changed. ",
            ),
        }
        m.leaf("code", &[], "hawser incident show ID");
        m.text(" has the whole account.");
    });
}
