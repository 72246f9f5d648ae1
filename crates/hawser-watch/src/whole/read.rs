//! Whether what an alarm is judged by is read of all heads now: a trouble on a head that does not answer is not over by that.

use hawser_account::standing_codes;
use hawser_cluster::host::view::Told;
use hawser_cluster::live::Sign;
use hawser_model::names::HostName;
use hawser_model::output::cluster::NodeCondition;
use hawser_model::output::top::Answers;

use super::Whole;
use crate::judge::Sighting;
use crate::sources::{FENCED, NEWER};

/// Whether a sign of a head is over because the head does not answer.
enum Tells {
    /// Others tell of it, or the CIB does.
    Others,
    /// The head does as long as it is a member of the cluster; it is none of one that has left it.
    Member,
    /// The head does.
    Head,
}

fn tells(sign: Sign) -> Tells {
    match sign {
        Sign::HeadsSplit
        | Sign::HeadCutOff
        | Sign::HeadLost
        | Sign::HeadStarting
        | Sign::HeadStandby
        | Sign::HeadMaintenance
        | Sign::HeadAway
        | Sign::BeingFenced
        | Sign::FencingFailed
        | Sign::CannotBeFenced
        | Sign::FailureKept
        | Sign::WatcherMissing
        | Sign::WatcherStopped
        | Sign::NextLoss => Tells::Others,
        Sign::CorosyncHangs
        | Sign::PacemakerMute
        | Sign::ControllerHangs
        | Sign::DeviceSilent
        | Sign::FencerSilent
        | Sign::DisksLost
        | Sign::DisksHang
        | Sign::NotMounted
        | Sign::NotOffered
        | Sign::PoolFull => Tells::Member,
        _ => Tells::Head,
    }
}

impl Whole {
    /// Whether all is read that tells of this trouble.
    pub(super) fn is_read(&self, it: &Sighting) -> bool {
        let place = &it.place;
        let mut ends = [&place.host, &place.peer].into_iter().flatten();
        if standing_codes().any(|code| code == it.code) {
            let mut all = self.heads.keys();
            return match place.host {
                Some(_) => ends.all(|head| self.answers(head)),
                // It compares heads.
                None => all.all(|head| self.answers(head)),
            };
        }
        let sign = Sign::ALL.iter().find(|sign| sign.code() == it.code);
        let (sign, view) = match (sign, &self.view) {
            // What answers is known without a look.
            (None | Some(Sign::HeadNotReached), _) => return true,
            // One end of a link is enough.
            (Some(sign), _) if NEWER.contains(sign) => return ends.any(|head| self.answers(head)),
            (Some(sign), Some(view)) => (*sign, view),
            (Some(_), None) => return false,
        };
        let asked = |head: &HostName| view.facts.views.contains_key(head);
        let member = |head: &HostName| {
            let nodes = view.judged.status.nodes.iter();
            let mut nodes = nodes.filter(|node| node.name == *head);
            nodes.any(|node| node.state == NodeCondition::Online)
        };
        // One fencer that tells is enough.
        let fencer_tells = || {
            let views = view.facts.views.values();
            let mut fencers = views.filter_map(|view| view.fencer.as_ref());
            fencers.clone().any(|it| it.said().is_some()) || !fencers.any(Told::is_silent)
        };
        view.facts.cluster_was_seen()
            && match tells(sign) {
                Tells::Others if FENCED.contains(&sign) => fencer_tells(),
                Tells::Others => true,
                Tells::Member => ends.all(|head| asked(head) || !member(head)),
                Tells::Head => ends.all(asked),
            }
    }

    fn answers(&self, head: &HostName) -> bool {
        let head = self.heads.get(head);
        head.is_some_and(|head| head.answers == Answers::Yes)
    }
}
