//! Words on what made an outage longer than it had to be.

use super::{Told, Words, Writer};

/// Words of each code of a drill's causes.
pub(super) const WORDS: &[(&str, Writer)] = &[
    ("client-back-off", client_back_off),
    ("engine-throttled", engine_throttled),
    ("failed-start-kept", failed_start_kept),
    ("monitor-interval", monitor_interval),
    ("no-gratuitous-arp", no_gratuitous_arp),
    ("power-wait", power_wait),
    ("serial-exports", serial_exports),
    ("slow-import", slow_import),
    ("static-fence-delay", static_fence_delay),
    ("takeover-waited-for-human", takeover_waited_for_human),
    ("token-longer-than-needed", token_longer_than_needed),
    ("unattributed-outage", unattributed_outage),
];

/// `1.25 s`.
fn seconds(f: &Told<'_>, key: &str) -> String {
    format!("{:.2} s", f.count(key) as f64 / 1000.0)
}

/// `1.25 s of the outage of 4.90 s`.
fn of_outage(f: &Told<'_>, key: &str) -> String {
    format!(
        "{} of the outage of {}",
        seconds(f, key),
        seconds(f, "outage_ms")
    )
}

fn client_back_off(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} came back {} after the service stood: {}.",
            f.host(),
            seconds(f, "reconnect_ms"),
            of_outage(f, "reconnect_ms"),
        ),
        fix: "At the client: TCP asks a silent address again after 1, 3, 7 s. `sysctl \
              net.ipv4.tcp_syn_linear_timeouts=4` (Linux 6.5) keeps that at 1 s; for open-iscsi \
              lower `node.conn[0].timeo.noop_out_interval` and `noop_out_timeout` to 1 to 2 s, \
              for NFS `timeo`. Price: a client that gives up sooner also gives up on a path that was \
              only slow, and errors reach the application sooner if \
              `node.session.timeo.replacement_timeout` is lowered with them."
            .to_owned(),
    }
}

fn engine_throttled(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "Pacemaker found the processors of {} busy and allowed one operation at a time: starts \
             waited for the first checks of what had been started, {}.",
            f.host(),
            of_outage(f, "checks_ms"),
        ),
        fix: "Set the cluster property `load-threshold` higher (80 % by default), in `[cluster] \
              properties` of the cluster file. Price: on a head that is really busy more agents \
              run at once and each takes longer, up to the operations' time limits. If the load is not \
              usual, it was this drill's."
            .to_owned(),
    }
}

fn failed_start_kept(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} had failed to start on {}, and was not tried there again for {} after the faults were \
             healed: {}.",
            f.object().unwrap_or("A resource"),
            f.host(),
            seconds(f, "waited_ms"),
            of_outage(f, "waited_ms"),
        ),
        fix: "`crm_resource --cleanup` as soon as what kept it from starting is mended; or a \
              `failure-timeout` on the resource, after which Pacemaker tries again by itself. Price: a \
              resource that still cannot start is then tried, and times out, again and again."
            .to_owned(),
    }
}

fn monitor_interval(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} on {} was dead for {} before Pacemaker asked it: {}.",
            f.object().unwrap_or("A resource"),
            f.host(),
            seconds(f, "waited_ms"),
            of_outage(f, "waited_ms"),
        ),
        fix: "Shorten the interval of its monitor operation. Price: each monitor is a process that is \
              started on the head; with many resources below 5 s they become a load of their own, \
              and a monitor that times out under load moves a pool that was well."
            .to_owned(),
    }
}

fn no_gratuitous_arp(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} came up on {} and its agent told nobody: the client found it after {}.",
            f.object().unwrap_or("An address"),
            f.host(),
            of_outage(f, "reconnect_ms"),
        ),
        fix: "Let IPaddr2 send gratuitous ARP: remove `arp_count=0`, and look into pacemaker.log for \
              why its `send_arp` could not run. Price: five small packets per takeover."
            .to_owned(),
    }
}

fn power_wait(f: &Told<'_>) -> Words {
    let whence = match f.is("default") {
        true => "its agent's default",
        false => "as it is set",
    };
    Words {
        text: format!(
            "The fence device of {} waits {} after it has cut the power, {whence}: fencing took {}.",
            f.host(),
            seconds(f, "power_wait_ms"),
            of_outage(f, "fence_agent_ms"),
        ),
        fix: "Set `power_wait = \"0s\"` at the node's BMC in the cluster file. The agent asks the BMC \
              whether the node is off in any case, each second. Price: with a BMC that says «off» before \
              the power is gone a takeover would begin too early; `hawser drill power-cut` and a look \
              at the node's power supply show which kind yours is."
            .to_owned(),
    }
}

fn serial_exports(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "{} exports of {} were started one after the other, {} in all; the longest takes {}. {} could \
             be saved.",
            f.count("exports"),
            f.object().unwrap_or("the pool"),
            of_outage(f, "exports_ms"),
            seconds(f, "longest_ms"),
            seconds(f, "saved_ms"),
        ),
        fix: "Take them out of the group and let each follow the pool by an order and a colocation \
              of its own, or offer them all by one resource, as `ocf:hawser:exports` does. Price: none \
              known; a member of a group that fails also stops those behind it."
            .to_owned(),
    }
}

fn slow_import(f: &Told<'_>) -> Words {
    let zfs = f.name("agent").ends_with("ZFS");
    let fix = match zfs {
        true => {
            "Look at what the import waits for: with `multihost=on` OpenZFS watches the pool for \
             another host's activity before it imports. Cluster fencing already excludes the other host; \
             without `multihost` the import is shorter. Price: the pool's own guard against two hosts \
             is gone, and fencing is the only one left. Fewer devices to look through \
             (`-d`, a cache file) cost nothing."
        }
        false => {
            "Look at what the mount waits for: the journal that is replayed (a smaller journal, more \
             frequent commits), or a file system check before it (`run_fsck`). Price: a smaller \
             journal means more seeks under load; without a check a damaged file system is mounted."
        }
    };
    Words {
        text: format!(
            "{} took {} to come up on {}.",
            f.object().unwrap_or("The pool"),
            of_outage(f, "pool_ms"),
            f.host(),
        ),
        fix: fix.to_owned(),
    }
}

fn static_fence_delay(f: &Told<'_>) -> Words {
    let (theirs, all) = (f.count("pools_of_the_dead"), f.count("pools"));
    Words {
        text: format!(
            "The shot at {} was held back {}, although it was dead: its fence device has a static delay. \
             It had {theirs} of {all} pools.",
            f.host(),
            of_outage(f, "delay_ms"),
        ),
        fix: "Use the cluster property `priority-fencing-delay` (Pacemaker 2.0.4) with priorities for \
              the pools instead of `[fencing] delay`: then only a shot at the head that has more is held \
              back, not every shot at one and the same head. Price: when the head that has more is \
              really dead, it is still waited for; and where both have the same, both may shoot at once. \
              A third vote (`[quorum] device`) needs no delay at all: one side never has quorum."
            .to_owned(),
    }
}

fn takeover_waited_for_human(f: &Told<'_>) -> Words {
    Words {
        text: format!(
            "Fencing failed and nothing may be taken over without it: {} went by until somebody mended it \
             or confirmed that the node is off.",
            of_outage(f, "waited_ms"),
        ),
        fix: "Give the node a second fence device on a second level (`[[fencing.device]]`: a power \
              switch, a storage switch), on a network and a power supply of its own. Price: the device, and \
              up to the first device's time limit before the second is asked. Waiting was right: a \
              takeover without fencing destroys pools."
            .to_owned(),
    }
}

fn token_longer_than_needed(f: &Told<'_>) -> Words {
    let margin =
        f.0.evidence
            .get("margin")
            .and_then(|v| v.as_f64())
            .unwrap_or(0.0);
    // A node stands still, and the token goes round: what one token has to survive.
    let left = margin * f.count("safe_token_ms") as f64 / f.count("token_ms").max(1) as f64;
    Words {
        text: format!(
            "Corosync waits {} ms for its token and {} ms for consensus: {}. In {} the longest round trip \
             was {} and the longest pause {} (on {}); the token is {margin:.0} times that. {} ms would \
             still be {left:.0} times.",
            f.count("token_ms"),
            f.count("consensus_ms"),
            of_outage(f, "waited_ms"),
            f.time("watched_ns"),
            f.time("longest_round_trip_ns"),
            f.time("longest_pause_ns"),
            f.name("paused_host"),
            f.count("safe_token_ms"),
        ),
        fix: format!(
            "`[timing] token = \"{}ms\"` saves {}. Price: a pause or a switch that is silent for longer \
             than that gets a healthy head fenced. What was measured is one quiet stretch: measure during \
             backups and live migrations, and let `token_warning` in corosync.log tell how near it comes.",
            f.count("safe_token_ms"),
            seconds(f, "saved_ms"),
        ),
    }
}

fn unattributed_outage(f: &Told<'_>) -> Words {
    let without = f.count("nodes_without_log");
    let logs = match without {
        0 => String::new(),
        n => format!(" The log of {n} of the nodes could not be read."),
    };
    Words {
        text: format!("Nothing marks {}.{logs}", of_outage(f, "unattributed_ms")),
        fix: "Look into the logs of that time in the case file. `timestamp: hires` in corosync.conf and \
              pacemaker.log at its usual level (info) are needed."
            .to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_of_a_drill_has_words_and_every_word_a_cause() {
        let mut causes: Vec<&str> = crate::outage::drill_codes().collect();
        causes.sort_unstable();
        let words: Vec<&str> = WORDS.iter().map(|(code, _)| *code).collect();
        assert_eq!(causes, words);
    }
}
