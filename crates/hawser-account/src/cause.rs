//! What a cause is: evidence of its own type, a way to find it, and what is said of it.
//!
//! Each cause is a folder of [`crate::causes`] with the name of its code (`_` for `-`): `mod.rs` and `page.md`, which
//! users read. The type of the evidence is the cause.

use std::cmp::Reverse;

use hawser_model::case::Case;
use hawser_model::finding::{Confidence, Finding, Place, Severity, WordedFinding};
use hawser_model::names::{HostName, InterfaceName};
use hawser_model::trial::TrialTraffic;
use hawser_model::units::Packets;
pub(crate) use hawser_model::units::counted;
use serde::Serialize;
use serde_json::Value;

use crate::clients::ClientsView;
use crate::compare::topic::About;
use crate::copy;
use crate::fanout::FanoutView;
use crate::fixes::Candidate;
use crate::fixes::knobs::At;
use crate::losses::Losses;
pub(crate) use crate::numbers::{
    Tenths, as_number, hundredths, in_brackets, percent_of, percent_text,
};
use crate::outage::view::DrillView;
pub(crate) use crate::place_words::{at_interface, between, host, interface, on_link, peer, way};
use crate::throughput::view::LadderView;
use crate::view::View;

/// A cause: its evidence, field by field as the finding shows it and the page explains it.
pub(crate) trait Cause: Serialize + Sized {
    /// Kebab-case, never renamed.
    const CODE: &'static str;
    /// What `hawser explain CODE` prints: `page.md` beside it, in Markdown.
    const PAGE: &'static str;
    /// What of a host's setup it is about: where that differs from a neighbour without the finding, it is told with it,
    /// and `hawser compare` tells it first.
    const ABOUT: &'static [About] = &[];

    /// What is said of it when it is found at this place.
    fn words(&self, at: &Place) -> Words;
}

/// What a finding means, and what to do.
pub(crate) struct Words {
    pub(crate) text: String,
    pub(crate) fix: String,
}

/// A cause that was found.
pub(crate) struct Found<C> {
    pub(crate) severity: Severity,
    pub(crate) confidence: Confidence,
    pub(crate) place: Place,
    pub(crate) evidence: C,
}

impl<C> Found<C> {
    /// The same, told with no more confidence than this.
    pub(crate) fn at_most(self, most: Confidence) -> Self {
        Self {
            confidence: self.confidence.min(most),
            ..self
        }
    }
}

impl<C: Cause> Found<C> {
    /// The finding with its words: the one place where a cause loses its type.
    fn worded(self) -> WordedFinding {
        let Words { text, fix } = self.evidence.words(&self.place);
        let evidence = match serde_json::to_value(&self.evidence) {
            Ok(Value::Object(fields)) => fields.into_iter().collect(),
            other => unreachable!("evidence is a struct of numbers and names, not {other:?}"),
        };
        let finding = Finding {
            code: C::CODE.to_owned(),
            severity: self.severity,
            confidence: self.confidence,
            place: self.place,
            evidence,
        };
        WordedFinding {
            finding,
            text,
            fix,
            differs: Vec::new(),
        }
    }
}

/// A cause as a list holds it: its code, its page, and `F`, which looks for it.
pub(crate) struct Listed<F> {
    pub(crate) code: &'static str,
    pub(crate) page: &'static str,
    pub(crate) about: &'static [About],
    pub(crate) find: F,
}

/// A cause that makes an outage longer than it has to be.
pub(crate) trait OutageCause: Cause {
    /// Whether it holds without a client and without the cluster's settings: it is found in the heads' own logs too.
    const IN_LOGS: bool = false;

    /// Looks for it in a drill.
    fn find(view: &DrillView<'_>) -> Option<Found<Self>>;
}

/// Looks for a cause of an outage.
pub(crate) struct OutageFind {
    /// Looks, and words it.
    pub(crate) look: fn(&DrillView<'_>) -> Option<WordedFinding>,
    /// See [`OutageCause::IN_LOGS`].
    pub(crate) in_logs: bool,
}

impl Listed<OutageFind> {
    /// The entry of this cause.
    pub(crate) const fn outage<C: OutageCause>() -> Self {
        Self {
            code: C::CODE,
            page: C::PAGE,
            about: C::ABOUT,
            find: OutageFind {
                look: |view| C::find(view).map(Found::worded),
                in_logs: C::IN_LOGS,
            },
        }
    }
}

/// A cause for which a host serves few receivers of one flow.
pub(crate) trait FanoutCause: Cause {
    /// Looks for it in a fan-out.
    fn find(view: &FanoutView<'_>) -> Vec<Found<Self>>;
}

/// Looks for a cause of a small fan-out, and words each.
pub(crate) type FanoutFind = fn(&FanoutView<'_>) -> Vec<WordedFinding>;

impl Listed<FanoutFind> {
    /// The entry of this cause.
    pub(crate) const fn fanout<C: FanoutCause>() -> Self {
        Self {
            code: C::CODE,
            page: C::PAGE,
            about: C::ABOUT,
            find: |view| C::find(view).into_iter().map(Found::worded).collect(),
        }
    }
}

/// A cause for which a client of the storage sees more of a takeover, or of a dead SAN, than it has to.
pub(crate) trait ClientCause: Cause {
    /// Looks for it in what the clients have.
    fn find(view: &ClientsView<'_>) -> Vec<Found<Self>>;
}

/// Looks for such a cause, and words each.
pub(crate) type ClientFind = fn(&ClientsView<'_>) -> Vec<WordedFinding>;

impl Listed<ClientFind> {
    /// The entry of this cause.
    pub(crate) const fn client<C: ClientCause>() -> Self {
        Self {
            code: C::CODE,
            page: C::PAGE,
            about: C::ABOUT,
            find: |view| C::find(view).into_iter().map(Found::worded).collect(),
        }
    }
}

/// A cause that a check finds.
pub(crate) trait CheckCause: Cause + 'static {
    /// Whether what is tried on one interface of a host says nothing of another one: each is a plan of its own then.
    const BY_INTERFACE: bool = false;
    /// Whether it judges hosts as they stand, without traffic: `hawser watch` asks it all the time.
    const STANDING: bool = false;
    /// Whether its cure shows only in a TCP stream that gets faster: one that is steady does not prove that it is cured.
    const SHOWN_BY_RATE: bool = false;

    /// Looks for it, and claims the losses it explains.
    fn find(view: &View<'_>, losses: &mut Losses) -> Vec<Found<Self>>;

    /// The packets that it cost: of two that are as severe, the one that cost more is told first.
    fn cost(&self) -> Packets {
        Packets(0)
    }

    /// What might cure it, in the order in which it is tried; none for a knob of an interface that is not known.
    ///
    /// A setting of one interface comes before one of the whole machine. So what operators try first, and what helped
    /// nobody in the reports this project started from (IGMP version, ring size, interrupt mode), is tried first here
    /// too, and measured, and rolled back.
    fn candidates(&self, _: &At<'_>) -> Vec<Option<Candidate>> {
        Vec::new()
    }

    /// Where that is turned, unless on the host of the finding and at the interface that lost most there.
    fn turned_at(_: &Case, _: &Place) -> Option<(HostName, InterfaceName)> {
        None
    }

    /// The traffic that shows it on this host, where no lost packet does.
    fn traffic(_: &View<'_>, _: &Place, _: &HostName) -> Option<TrialTraffic> {
        None
    }
}

/// A cause that a check found, whatever its type.
pub(crate) trait CheckFound {
    /// The finding with its words.
    fn worded(self: Box<Self>) -> WordedFinding;

    /// Worst first; equal ones by name, so that the order never depends on anything else.
    fn rank(&self) -> Rank<'_>;

    /// The code and the place of the finding.
    fn what_and_where(&self) -> (&'static str, &Place);

    /// See [`CheckCause::candidates`].
    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>>;

    /// See [`CheckCause::BY_INTERFACE`].
    fn by_interface(&self) -> bool;

    /// See [`CheckCause::SHOWN_BY_RATE`].
    fn shown_by_rate(&self) -> bool;

    /// See [`CheckCause::turned_at`].
    fn turned_at(&self, case: &Case) -> Option<(HostName, InterfaceName)>;

    /// See [`CheckCause::traffic`].
    fn traffic(&self, view: &View<'_>, host: &HostName) -> Option<TrialTraffic>;
}

/// How much a finding matters.
pub(crate) type Rank<'a> = (
    Reverse<Severity>,
    Reverse<Packets>,
    Reverse<Confidence>,
    &'static str,
    &'a Place,
);

impl<C: CheckCause> CheckFound for Found<C> {
    fn worded(self: Box<Self>) -> WordedFinding {
        Found::worded(*self)
    }

    fn rank(&self) -> Rank<'_> {
        (
            Reverse(self.severity),
            Reverse(self.evidence.cost()),
            Reverse(self.confidence),
            C::CODE,
            &self.place,
        )
    }

    fn what_and_where(&self) -> (&'static str, &Place) {
        (C::CODE, &self.place)
    }

    fn candidates(&self, at: &At<'_>) -> Vec<Option<Candidate>> {
        self.evidence.candidates(at)
    }

    fn by_interface(&self) -> bool {
        C::BY_INTERFACE
    }

    fn shown_by_rate(&self) -> bool {
        C::SHOWN_BY_RATE
    }

    fn turned_at(&self, case: &Case) -> Option<(HostName, InterfaceName)> {
        C::turned_at(case, &self.place)
    }

    fn traffic(&self, view: &View<'_>, host: &HostName) -> Option<TrialTraffic> {
        C::traffic(view, &self.place, host)
    }
}

/// Looks for a cause in a check.
pub(crate) struct CheckFind {
    /// Looks.
    pub(crate) look: fn(&View<'_>, &mut Losses) -> Vec<Box<dyn CheckFound>>,
    /// See [`CheckCause::STANDING`].
    pub(crate) standing: bool,
}

impl Listed<CheckFind> {
    /// The entry of this cause.
    pub(crate) const fn check<C: CheckCause>() -> Self {
        Self {
            code: C::CODE,
            page: C::PAGE,
            about: C::ABOUT,
            find: CheckFind {
                look: |view, losses| {
                    let found = C::find(view, losses).into_iter();
                    found
                        .map(|one| Box::new(one) as Box<dyn CheckFound>)
                        .collect()
                },
                standing: C::STANDING,
            },
        }
    }
}

/// A cause for which a copy was slow.
pub(crate) trait CopyCause: Cause {
    /// Looks for it in a copy; `explained` says that an earlier one was found.
    fn find(view: &copy::View<'_>, explained: bool) -> Option<Found<Self>>;
}

/// Looks for a cause of a slow copy, and words it.
pub(crate) type CopyFind = fn(&copy::View<'_>, bool) -> Option<WordedFinding>;

impl Listed<CopyFind> {
    /// The entry of this cause.
    pub(crate) const fn copy<C: CopyCause>() -> Self {
        Self {
            code: C::CODE,
            page: C::PAGE,
            about: C::ABOUT,
            find: |view, explained| C::find(view, explained).map(Found::worded),
        }
    }
}

/// A cause that takes the rate of a path away.
pub(crate) trait LadderCause: Cause {
    /// Looks for it in a ladder, knowing what was found before: a node that is held back by a quota also looks like
    /// a path with a rate limit.
    fn find(view: &LadderView<'_>, before: &Before<'_>) -> Vec<Found<Self>>;
}

/// What the causes before one have found.
pub(crate) struct Before<'a>(pub(crate) &'a [WordedFinding]);

impl Before<'_> {
    /// Whether one of these was found.
    pub(crate) fn any(&self, codes: &[&str]) -> bool {
        let found = self.0.iter();
        let mut found = found.map(|worded| worded.finding.code.as_str());
        found.any(|code| codes.contains(&code))
    }
}

/// Looks for a cause of a slow path, and words each.
pub(crate) type LadderFind = fn(&LadderView<'_>, &Before<'_>) -> Vec<WordedFinding>;

impl Listed<LadderFind> {
    /// The entry of this cause.
    pub(crate) const fn ladder<C: LadderCause>() -> Self {
        Self {
            code: C::CODE,
            page: C::PAGE,
            about: C::ABOUT,
            find: |view, before| {
                let found = C::find(view, before).into_iter();
                found.map(Found::worded).collect()
            },
        }
    }
}
