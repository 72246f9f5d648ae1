//! What would happen next, and what happened before.

use hawser_model::output::live::LivePage;

use crate::markup::Markup;

pub(super) fn if_lost(m: &mut Markup, page: &LivePage) {
    m.leaf("h2", &[], "If a head died now");
    if page.if_lost.is_empty() {
        return m.leaf("p", &[], "Pacemaker has not said it yet.");
    }
    m.leaf(
        "p",
        &[("class", &"muted")],
        format_args!(
            "By the scheduler of Pacemaker on {}, when it was asked last.",
            page.own
        ),
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
    let (own, all) = (&page.own, &page.incidents);
    if !all.read {
        return m.leaf(
            "p",
            &[],
            format_args!("The logs of {own} were not read yet."),
        );
    }
    match all.newest.is_empty() {
        true => m.leaf(
            "p",
            &[],
            format_args!(
                "No head was lost or fenced and no service was away, as far as {own} keeps it."
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
        m.text(format_args!(
            "From what {own} keeps alone, in its local time; what is going on is told 35 s after its last change. "
        ));
        m.leaf("code", &[], "hawser incident list");
        m.text(" asks all heads; ");
        m.leaf("code", &[], "hawser incident show ID");
        m.text(" has the whole account.");
    });
}
