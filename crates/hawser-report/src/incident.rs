//! An incident that nobody planned: what began it, where each second of its outages went, and the lines of the heads' logs
//! that prove it.

use hawser_account::incident::proof;
use hawser_model::output::drill::OutagePhase;
use hawser_model::output::incident::{
    CourseStep, IncidentLine, IncidentReport, IncidentsReport, ReadLog, ServiceOutage,
};
use hawser_model::output::link_outage::LinkOutage;

use crate::bars::{Bar, bars};
use crate::page::{Page, Section, Source};
use crate::table::{Column, table};
use crate::{findings, outage};

/// The page of one incident of the report.
pub fn page(
    report: &IncidentsReport,
    incident: &IncidentReport,
    source: Source<'_>,
    by: &str,
) -> String {
    let read = report.read_at.unwrap_or_default();
    let mut page = Page::new(&format!("Incident {}", incident.id), read, by);
    page.lead(format_args!("{}.", incident.trigger));
    page.lead(lead(incident));
    page.section("What happened", |s| happened(s, incident));
    for service in &incident.services {
        let heading = format!("Where the time of {} went", service.service);
        page.section(&heading, |s| away(s, incident, service));
    }
    let mut all = Vec::new();
    for finding in incident.services.iter().flat_map(|one| &one.findings) {
        if !all.contains(finding) {
            all.push(finding.clone());
        }
    }
    if !all.is_empty() {
        findings::section(&mut page, &all);
    }
    page.section("What was logged and read", |s| course(s, incident));
    page.section("The heads' logs and clocks", |s| logs(s, report));
    page.finish(source)
}

/// The longest outage; of links alone, of each how long it was down.
fn lead(incident: &IncidentReport) -> String {
    let Some(longest) = incident.services.first() else {
        let nothing = "No service was away for it.".to_owned();
        if incident.outage_s.is_some() {
            return nothing;
        }
        let links = incident.links.iter().map(link_sentence);
        return links.chain([nothing]).collect::<Vec<_>>().join(" ");
    };
    let others = match incident.services.len() {
        1 => String::new(),
        n => format!(" It is the longest of {n}."),
    };
    format!("{}{others}", sentence(longest))
}

/// "Link ring1 between head1 and head2 was down for 12.500 s; head1 and head2 say so."
fn link_sentence(link: &LinkOutage) -> String {
    let sentence = link.sentence();
    let rest = sentence.strip_prefix("link").unwrap_or(&sentence);
    format!("Link{rest}.")
}

fn sentence(outage: &ServiceOutage) -> String {
    format!(
        "{} was away for {}{:.3} s{}.",
        outage.service,
        outage.least(),
        outage.outage_s,
        outage.end()
    )
}

fn happened(s: &mut Section<'_>, incident: &IncidentReport) {
    let began = &incident.began;
    match incident.outage_s {
        Some(_) => s.paragraph(format_args!(
            "It began {began} by the first head's clock, and lasted {:.3} s. Fenced: {}.",
            incident.lasted_s,
            outage::fenced(&incident.fenced)
        )),
        None => s.paragraph(format_args!(
            "It began {began} by the first head's clock. No head was lost or fenced."
        )),
    }
    s.paragraph(match &incident.cause {
        Some(cause) => format!("{cause}."),
        None => "Why it happened is not in these logs.".to_owned(),
    });
    // Of links alone the page begins with them.
    if incident.outage_s.is_some() {
        for link in &incident.links {
            s.paragraph(link_sentence(link));
        }
    }
    for promise in &incident.promises {
        let held = if promise.held { "Kept" } else { "Broken" };
        s.paragraph(format_args!("{held}: {}.", promise.text));
    }
    if incident.services.len() < 2 {
        return;
    }
    let whole = incident.services.iter();
    let whole = whole.map(|one| one.start_s + one.outage_s);
    let whole = whole.fold(f64::MIN_POSITIVE, f64::max);
    let rows: Vec<Bar> = incident
        .services
        .iter()
        .map(|one| Bar {
            label: one.service.clone(),
            note: format!("from {:.3} s", one.start_s),
            value: format!("{:.3} s", one.outage_s),
            from: one.start_s / whole,
            to: (one.start_s + one.outage_s) / whole,
            class: "bad",
            ..Bar::default()
        })
        .collect();
    let caption = "Services that were away, from the beginning of the incident";
    bars(s, caption, ["service", "away for"], &rows);
}

fn away(s: &mut Section<'_>, incident: &IncidentReport, outage: &ServiceOutage) {
    s.paragraph(sentence(outage));
    if outage.at_least {
        s.paragraph("A check found it dead. Since when it was, the logs do not say.");
    }
    if outage.outage_s > 0.0 {
        outage::account(s, &outage.phases, outage.unattributed_s, outage.outage_s);
    }
    s.remark(
        "No client is heard here: one may have noticed the outage later, and come back later.",
    );
    for phase in &outage.phases {
        phase_lines(s, incident, outage, phase);
    }
}

/// The lines at both ends of a phase.
fn phase_lines(
    s: &mut Section<'_>,
    incident: &IncidentReport,
    outage: &ServiceOutage,
    phase: &OutagePhase,
) {
    s.heading(format_args!(
        "{}: {:.3} s, on {}",
        phase.name, phase.seconds, phase.host
    ));
    let [begins, ends] = proof(incident, outage, phase);
    for (word, from_s, found) in [
        ("begins", phase.start_s, begins),
        ("ends", phase.start_s + phase.seconds, ends),
    ] {
        match found.as_slice() {
            [] => s.remark(format_args!(
                "It {word} at {from_s:.3} s: no line is written then, a rule of docs/outage.md says so."
            )),
            found => {
                s.remark(format_args!("It {word} at {from_s:.3} s with:"));
                let text: Vec<String> = found.iter().map(|line| quoted(line)).collect();
                s.markup().leaf("pre", &[], text.join("\n"));
            }
        }
    }
}

fn quoted(line: &IncidentLine) -> String {
    format!("{} {}: {}", line.host, line.source(), line.text)
}

/// Lines of the logs and changes that the heads' watches read, in the order of time.
fn course(s: &mut Section<'_>, incident: &IncidentReport) {
    for head in &incident.readings {
        let heading = format!(
            "As {} read it {:+.3} s from the beginning",
            head.host, head.first_s
        );
        s.heading(heading);
        let all: Vec<String> = head.first.iter().map(ToString::to_string).collect();
        s.paragraph(format_args!("{}.", all.join("; ")));
    }
    let all = incident.course();
    if all.is_empty() {
        return s.paragraph("No line marks a step of it, and no watch has read anything of it.");
    }
    let row = |step: CourseStep<'_>| {
        let at = format!("{:.3} s", step.at_s);
        vec![at, step.host.to_string(), step.by.to_owned(), step.text]
    };
    let rows: Vec<Vec<String>> = all.into_iter().map(row).collect();
    use Column::{Number, Text};
    let heads = [Number("at"), Text("head"), Text("from"), Text("what")];
    let caption = "In seconds from the beginning of the incident, on the first head's clock; \"read\" is by the head's watch";
    table(s, caption, &heads, &rows);
    if incident.lines_left_out > 0 {
        s.remark(format_args!(
            "{} more lines mark steps of it, and are in the logs alone.",
            incident.lines_left_out
        ));
    }
}

fn logs(s: &mut Section<'_>, report: &IncidentsReport) {
    let row = |head: &ReadLog| {
        let dash = || "–".to_owned();
        vec![
            head.host.to_string(),
            match head.ahead_s {
                Some(seconds) => format!("{seconds:+.3} s"),
                None => "not known".to_owned(),
            },
            head.corosync.to_string(),
            head.pacemaker.to_string(),
            head.syslog.unwrap_or(0).to_string(),
            head.from.clone().unwrap_or_else(dash),
            head.to.clone().unwrap_or_else(dash),
        ]
    };
    let rows: Vec<Vec<String>> = report.heads.iter().map(row).collect();
    use Column::{Number, Text};
    let heads = [
        Text("head"),
        Number("clock ahead"),
        Number("corosync.log"),
        Number("pacemaker.log"),
        Number("syslog"),
        Text("first line"),
        Text("last line"),
    ];
    let caption = "How far each clock is ahead of the first head's, and lines with a time stamp that were read";
    table(s, caption, &heads, &rows);
    match report.clock_error_s {
        Some(error_s) => outage::clock_error(s, error_s),
        None => s.remark("How the heads' clocks stand to each other is not known."),
    }
    if report.gaps.is_empty() {
        return;
    }
    s.heading("What stood in the way");
    for gap in &report.gaps {
        s.paragraph(gap);
    }
}
