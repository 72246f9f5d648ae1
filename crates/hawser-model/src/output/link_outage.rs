//! A heartbeat link that was down, as Corosync's own log says it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::names::HostName;

/// A heartbeat link between two heads that was down while both were members, once or again and again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LinkOutage {
    /// The link: its name in the cluster file, or Corosync's number where no file says whose it is.
    pub link: String,
    /// Its two ends: heads, or `node 2` where nothing says which head has that number.
    pub between: [String; 2],
    /// The heads whose Corosync said that it was down, each once.
    pub said_by: Vec<HostName>,
    /// How often it was down; what both ends saw at one time is one.
    pub times: u64,
    /// Seconds from the beginning of the incident until it went down first. Absent: that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_s: Option<f64>,
    /// For how long it was down, all times together, in seconds, of those whose beginning and end are known. Absent: of
    /// no time both are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down_s: Option<f64>,
    /// It was down longer: of one of these times the beginning or the end is not known, and it is not in `down_s`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Whether the logs say since when it was down the first time: logs may begin in the middle.
    pub since_known: bool,
    /// How the last time ended.
    pub until: LinkUntil,
    /// Whether it was the last one: Corosync of an end said meanwhile that it had no link to the other any more.
    pub last_left: bool,
}

/// How the time ended in which a link was down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LinkUntil {
    /// It was up again.
    Up,
    /// One of its ends left the cluster, or its Corosync ended.
    EndGone,
    /// These logs do not say.
    NotKnown,
}

impl LinkOutage {
    /// How often and how long, in words that follow "down".
    pub fn how_long(&self) -> String {
        let least = match self.at_least {
            true => "at least ",
            false => "",
        };
        let together = match self.times {
            1 => "",
            _ => " together",
        };
        let length = match self.down_s {
            Some(seconds) => Some(format!("for {least}{seconds:.3} s{together}")),
            None if !self.since_known => {
                Some("for a time whose beginning is not in these logs".to_owned())
            }
            None => None,
        };
        let often = (self.times > 1).then(|| format!("{} times", self.times));
        let so_long: Vec<String> = often.into_iter().chain(length).collect();
        let until = match self.until {
            LinkUntil::Up => None,
            LinkUntil::EndGone => Some("until one end had left the cluster".to_owned()),
            LinkUntil::NotKnown => Some("and not seen up again in these logs".to_owned()),
        };
        let so_long = Some(so_long.join(", ")).filter(|words| !words.is_empty());
        so_long
            .into_iter()
            .chain(until)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The whole of it, as a sentence without its full stop.
    pub fn sentence(&self) -> String {
        let [one, other] = &self.between;
        let said_by: Vec<&str> = self.said_by.iter().map(HostName::as_str).collect();
        // Whoever has a number that nobody explains may have said it too.
        let known = self.between.iter().all(|end| !end.contains(' '));
        let by = match said_by.as_slice() {
            [alone] if known => format!("{alone} alone says so"),
            [one] => format!("{one} says so"),
            all => format!("{} say so", all.join(" and ")),
        };
        let last = match self.last_left {
            true => "; meanwhile there was no link between them",
            false => "",
        };
        let (link, how_long) = (&self.link, self.how_long());
        format!("link {link} between {one} and {other} was down {how_long}; {by}{last}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage() -> LinkOutage {
        LinkOutage {
            link: "ring1".to_owned(),
            between: ["head1".to_owned(), "head2".to_owned()],
            said_by: vec!["head1".into(), "head2".into()],
            times: 1,
            start_s: Some(0.0),
            down_s: Some(12.5),
            at_least: false,
            since_known: true,
            until: LinkUntil::Up,
            last_left: false,
        }
    }

    #[test]
    fn a_length_is_the_least_where_an_end_of_it_is_not_known() {
        let whole = outage();
        assert_eq!(
            whole.sentence(),
            "link ring1 between head1 and head2 was down for 12.500 s; head1 and head2 say so"
        );
        let flapping = LinkOutage {
            times: 3,
            until: LinkUntil::NotKnown,
            at_least: true,
            said_by: vec!["head2".into()],
            last_left: true,
            ..outage()
        };
        assert_eq!(
            flapping.sentence(),
            "link ring1 between head1 and head2 was down 3 times, for at least 12.500 s together and not seen up \
             again in these logs; head2 alone says so; meanwhile there was no link between them"
        );
        // The last end is known, one in the middle is not.
        let lost = LinkOutage {
            times: 3,
            at_least: true,
            ..outage()
        };
        assert_eq!(lost.how_long(), "3 times, for at least 12.500 s together");
        let middle = LinkOutage {
            start_s: None,
            down_s: None,
            at_least: true,
            since_known: false,
            ..outage()
        };
        assert_eq!(
            middle.how_long(),
            "for a time whose beginning is not in these logs"
        );
        let unnamed = LinkOutage {
            between: ["head1".to_owned(), "node 2".to_owned()],
            said_by: vec!["head1".into()],
            ..outage()
        };
        assert!(unnamed.sentence().ends_with("; head1 says so"));
        let gone = LinkOutage {
            until: LinkUntil::EndGone,
            ..outage()
        };
        assert_eq!(
            gone.how_long(),
            "for 12.500 s until one end had left the cluster"
        );
    }
}
