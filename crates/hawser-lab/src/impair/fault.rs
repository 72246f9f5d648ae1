//! What a port of a switch can do to the packets that pass it.

use std::fmt;
use std::str::FromStr;

use hawser_model::units::{BitsPerSec, Bytes, Mtu};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::share::Share;

/// A direction of a port, seen from the node that is plugged in there.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// What the node is to receive: where the switch sends.
    ToNode,
    /// What the node has sent: where the switch receives.
    FromNode,
}

impl Direction {
    /// Both directions.
    pub const BOTH: [Self; 2] = [Self::ToNode, Self::FromNode];

    /// The word of the command line.
    pub fn word(self) -> &'static str {
        match self {
            Self::ToNode => "to-node",
            Self::FromNode => "from-node",
        }
    }
}

/// So many packets lost in a row, once in so many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BurstLoss {
    /// The length of a run of lost packets.
    pub lost: u32,
    /// The run comes once in this many packets, at their end.
    pub every: u32,
}

impl FromStr for BurstLoss {
    type Err = String;

    /// From `LOST/EVERY`.
    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text.split_once('/').and_then(|(lost, every)| {
            Some((lost.parse::<u32>().ok()?, every.parse::<u32>().ok()?))
        });
        match numbers {
            Some((lost, every)) if lost >= 1 && lost <= every => Ok(Self { lost, every }),
            _ => Err(format!(
                "\"{text}\": N/M loses N packets in a row out of every M, such as 20/1000"
            )),
        }
    }
}

/// Gilbert's model of a channel (E. N. Gilbert, 1960): good, where all passes, and bad, where all
/// is lost. Loss comes in runs of 1/better packets and hits worse/(worse+better) of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Gilbert {
    /// The chance of a packet to turn good into bad.
    pub worse: Share,
    /// The chance of a packet to turn bad into good.
    pub better: Share,
}

impl FromStr for Gilbert {
    type Err = String;

    /// From `WORSE%,BETTER%`.
    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once(',') {
            Some((worse, better)) => Ok(Self {
                worse: worse.parse()?,
                better: better.parse()?,
            }),
            None => Err(format!(
                "\"{text}\": two shares, good to bad and bad to good, such as 0.1%,20%"
            )),
        }
    }
}

/// Which packets are hit; all others pass untouched and uncounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Only {
    /// UDP over IPv4 or IPv6, fragments included.
    Udp,
    /// TCP over IPv4 or IPv6.
    Tcp,
}

/// Faults of one direction of a port. Several add up; a packet meets them in this order: MTU,
/// loss, corruption, duplication, reordering, rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Fault {
    /// Only these packets; all frames when absent. The rate always holds for all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub only: Option<Only>,
    /// Larger IP packets are dropped, without a word to anybody.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<Mtu>,
    /// Lost by chance, in packets in a million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<Share>,
    /// Lost in runs of fixed length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_loss: Option<BurstLoss>,
    /// Lost in runs of random length.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gilbert: Option<Gilbert>,
    /// One bit of the payload flipped, in packets in a million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Share>,
    /// Sent twice, in packets in a million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Share>,
    /// Held for `hold_ms` while later packets pass, in packets in a million.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Share>,
    /// How long a reordered packet is held, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold_ms: Option<u32>,
    /// The rate that passes, in bits a second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitsPerSec>,
    /// The queue in front of the rate, in bytes; what does not fit is dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<Bytes>,
    /// Once a TCP connection has brought so many bytes, the node itself loses what its interface
    /// merged. Only towards the node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lose_merged_after: Option<Bytes>,
}

impl Fault {
    /// How long a reordered packet is held unless said otherwise: longer than the distance of
    /// most heartbeats, so that even they overtake.
    pub const HOLD_MS: u32 = 10;
    /// The queue of a rate limit unless said otherwise: a small switch's share for one port.
    pub const QUEUE: Bytes = Bytes(128 << 10);

    /// Whether there is nothing to do.
    pub fn is_none(&self) -> bool {
        !self.needs_program() && self.rate.is_none() && self.lose_merged_after.is_none()
    }

    /// What of it makes sense in a direction.
    pub(crate) fn towards(self, direction: Direction) -> Self {
        match direction {
            Direction::ToNode => self,
            Direction::FromNode => Self {
                lose_merged_after: None,
                ..self
            },
        }
    }

    /// Whether the eBPF program has anything to do.
    pub(crate) fn needs_program(&self) -> bool {
        let shares = [self.loss, self.corrupt, self.duplicate, self.reorder];
        self.mtu.is_some()
            || self.burst_loss.is_some()
            || self.gilbert.is_some()
            || shares.iter().any(Option::is_some)
    }

    /// These faults with everything that `other` names put in its place.
    pub(crate) fn with(self, other: Self) -> Self {
        Self {
            only: other.only.or(self.only),
            mtu: other.mtu.or(self.mtu),
            loss: other.loss.or(self.loss),
            burst_loss: other.burst_loss.or(self.burst_loss),
            gilbert: other.gilbert.or(self.gilbert),
            corrupt: other.corrupt.or(self.corrupt),
            duplicate: other.duplicate.or(self.duplicate),
            reorder: other.reorder.or(self.reorder),
            hold_ms: other.hold_ms.or(self.hold_ms),
            rate: other.rate.or(self.rate),
            queue: other.queue.or(self.queue),
            lose_merged_after: other.lose_merged_after.or(self.lose_merged_after),
        }
    }
}

impl fmt::Display for Fault {
    /// As the options that made it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut words = Vec::new();
        if let Some(mtu) = self.mtu {
            words.push(format!("mtu {mtu}"));
        }
        if let Some(share) = self.loss {
            words.push(format!("loss {share}"));
        }
        if let Some(BurstLoss { lost, every }) = self.burst_loss {
            words.push(format!("burst-loss {lost}/{every}"));
        }
        if let Some(Gilbert { worse, better }) = self.gilbert {
            words.push(format!("gilbert {worse},{better}"));
        }
        for (word, share) in [
            ("corrupt", self.corrupt),
            ("duplicate", self.duplicate),
            ("reorder", self.reorder),
        ] {
            if let Some(share) = share {
                words.push(format!("{word} {share}"));
            }
        }
        if self.reorder.is_some() {
            words.push(format!("hold {} ms", self.hold_ms.unwrap_or(Self::HOLD_MS)));
        }
        if let Some(rate) = self.rate {
            let queue = self.queue.unwrap_or(Self::QUEUE);
            words.push(format!("rate {rate} queue {queue}"));
        }
        if let Some(bytes) = self.lose_merged_after {
            words.push(format!("lose merged segments after {bytes}"));
        }
        match self.only {
            Some(Only::Udp) => words.push("only udp".to_owned()),
            Some(Only::Tcp) => words.push("only tcp".to_owned()),
            None => {}
        }
        f.write_str(&words.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_order_adds_to_the_first_and_replaces_what_it_names() {
        let first = Fault {
            loss: Some("1%".parse().unwrap()),
            mtu: Some(Mtu(1400)),
            ..Fault::default()
        };
        let second = Fault {
            loss: Some("5%".parse().unwrap()),
            rate: Some(BitsPerSec(1_000_000)),
            ..Fault::default()
        };
        let both = first.with(second);
        assert_eq!(
            both.to_string(),
            "mtu 1400, loss 5%, rate 1.00 Mbit/s queue 128.0 KiB"
        );
        assert!(!both.is_none() && Fault::default().is_none());
    }

    #[test]
    fn runs_of_loss_are_read_and_nonsense_is_refused() {
        assert_eq!(
            "20/1000".parse::<BurstLoss>().unwrap(),
            BurstLoss {
                lost: 20,
                every: 1000
            }
        );
        assert!("0/10".parse::<BurstLoss>().is_err() && "11/10".parse::<BurstLoss>().is_err());
        assert!("0.1%,20%".parse::<Gilbert>().is_ok() && "0.1%".parse::<Gilbert>().is_err());
    }
}
