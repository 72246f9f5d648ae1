//! The metrics of a watch that has something to show of everything that it can.

use hawser_host::Clock;
use hawser_model::host::{CertificateFacts, SecretFacts};
use hawser_watch::board::Board;
use hawser_watch::keeping::KeptCounts;
use hawser_watch::metrics::Health;
use hawser_watch::outbox::Counts;

use crate::measured::measured;
use crate::pictures::{both_dead_link, file};

fn board() -> Board {
    let mut shown = both_dead_link();
    // Names that Corosync 3.1.7 has.
    let stats = [
        "connected",
        "tx_ping_packets",
        "rx_pong_packets",
        "down_count",
        "rx_total_retries",
    ];
    let stats = stats.map(|key| (format!("stats.knet.node2.link0.{key}"), "1".to_owned()));
    let token = [
        "mtt_rx_token",
        "operational_token_lost",
        "gather_token_lost",
        "commit_token_lost",
        "recovery_token_lost",
        "consensus_timeouts",
        "mcast_retx",
        "rx_msg_dropped",
    ];
    let token = token.map(|key| (format!("stats.srp.{key}"), "1".to_owned()));
    let head1 = shown.heads.get_mut("head1").unwrap();
    head1.stats.extend(stats);
    head1.stats.extend(token);
    head1.certificates.push(CertificateFacts::default());
    head1.secrets.push(SecretFacts::default());
    measured(head1);
    shown.reading.heads[0].pools[0].free_bytes = Some(1 << 30);
    let health = Health {
        readings: 60,
        failures: 0,
        told: Some(Counts::default()),
        tells: true,
        kept: Some(KeptCounts::default()),
    };
    // One that asks all heads serves all that one on a head does, and whether it reaches them.
    let board = Board::whole(file(), Clock::default());
    board.show(shown, health, None);
    board
}

/// Its metrics.
pub fn served() -> String {
    board().metrics().unwrap()
}
