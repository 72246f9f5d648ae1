//! Times and states in the words of people.

use hawser_model::date::utc_seconds;
use hawser_model::output::live::{EndKnown, Light, LivePool, LiveRunning, PoolAt};
use hawser_model::output::top::{Answers, TopHead, TopLink, TopPicture, TopWay};
use hawser_model::output::watch::{Alarm, LinkState};
use hawser_model::units::counted;

/// `18:29:55`, with the day before it if that is another one. In UTC, as all times here.
pub fn moment(seconds: u64, now: u64) -> String {
    let (then, today) = (utc_seconds(seconds), utc_seconds(now));
    let time = then.trim_end_matches('Z');
    match (time.split_once('T'), today.split_once('T')) {
        (Some((day, time)), Some((today, _))) if day == today => time.to_owned(),
        (Some((day, time)), _) => format!("{day} {time}"),
        (None, _) => then,
    }
}

/// `5 s`, `12 min`, `3 h`, `4 d`.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        7200..172_800 => format!("{} h", seconds / 3600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Since when an alarm stands: one that stood when the looking began is as old at least.
pub fn since(alarm: &Alarm, picture: &TopPicture) -> String {
    let Some(since) = alarm.since else {
        return "since when is not known".to_owned();
    };
    let at = moment(since, picture.now);
    match since <= picture.begun_at {
        true => format!("since {at} or before"),
        false => format!("since {at}, {}", age(picture.now.saturating_sub(since))),
    }
}

/// An incident that is under way.
pub fn running(running: &LiveRunning, picture: &TopPicture) -> String {
    let since = moment(running.since, picture.now);
    let before = match running.or_before {
        true => " or before",
        false => "",
    };
    format!("under way since {since}{before}: {}", running.trigger)
}

/// `4 times`; nothing for what came once.
pub fn times(alarm: &Alarm) -> Option<String> {
    (alarm.times > 1).then(|| format!("{} times", alarm.times))
}

/// The alarms about a head.
pub fn about<'a>(head: &'a TopHead, picture: &'a TopPicture) -> impl Iterator<Item = &'a Alarm> {
    let alarms = picture.alarms.iter();
    alarms.filter(|alarm| alarm.is_of(&head.head.name))
}

/// What a head is, whether it answers, and how many alarms are about it.
pub fn head(head: &TopHead, picture: &TopPicture) -> String {
    let now = picture.now;
    let alarms = match about(head, picture).count() {
        0 => String::new(),
        n => format!(", {}", counted(n as u64, "alarm")),
    };
    let seen = |seen: Option<u64>| match seen {
        Some(seen) => format!("last seen {}", moment(seen, now)),
        None => "not seen yet".to_owned(),
    };
    match &head.answers {
        Answers::Yes => head.head.words() + &alarms,
        Answers::NotYet => "is being reached".to_owned(),
        Answers::No { seen: at, .. } => {
            let known = head.head.condition;
            let known = known.map_or(String::new(), |known| format!("; {}", known.word()));
            format!("does not answer, {}{known}{alarms}", seen(*at))
        }
    }
}

/// How a link is: the worst of its ends and ways.
pub fn link_light(link: &TopLink) -> Light {
    let there = |what: &EndKnown| !matches!(what, EndKnown::NotThere);
    let ports = link.ports.iter().filter(|port| there(&port.end.what));
    let ports = ports.map(|port| port.end.light);
    let ways = link.ways.iter().map(|way| way.light);
    // What one head does not know of another that does not answer hides no trouble.
    let lights: Vec<Light> = ports.chain(ways).collect();
    lights.into_iter().max().unwrap_or(Light::Unknown)
}

/// How a link is, in few words.
pub fn link(link: &TopLink) -> String {
    match link.ways.is_empty() {
        true => of_ports(link),
        false => of_ways(&link.ways),
    }
}

/// The slowest round trip, and what is lost in all directions together.
fn of_ways(ways: &[TopWay]) -> String {
    let down = ways.iter().filter(|way| way.link.state == LinkState::Down);
    let up = ways.iter().filter(|way| way.link.state == LinkState::Up);
    let state = match (down.count(), up.count()) {
        (0, 0) => "not known".to_owned(),
        (0, _) => "up".to_owned(),
        (_, 0) => "DOWN".to_owned(),
        (down, _) => format!("DOWN {down} of {} ways", ways.len()),
    };
    let latencies = ways.iter().filter(|way| way.link.state == LinkState::Up);
    let slowest = latencies.filter_map(|way| way.link.latency_s);
    let slowest = slowest.fold(None, |most: Option<f64>, one| {
        Some(most.map_or(one, |most| most.max(one)))
    });
    let mut all = vec![state];
    all.extend(slowest.map(|s| format!("round trip {:.3} ms", s * 1e3)));
    let lost = ways
        .iter()
        .filter_map(|way| way.link.lost.zip(way.link.sent));
    let lost = lost.fold(None, |sum: Option<(u64, u64)>, one| {
        let (lost, sent) = sum.unwrap_or_default();
        Some((lost.saturating_add(one.0), sent.saturating_add(one.1)))
    });
    all.extend(lost.map(|(lost, sent)| match lost {
        0 => "no ping lost".to_owned(),
        _ => format!("{lost} of {sent} pings lost"),
    }));
    all.join(", ")
}

fn of_ports(link: &TopLink) -> String {
    let mut carrier = 0;
    let (mut known, mut unknown) = (0, 0);
    let mut speeds = Vec::new();
    for port in &link.ports {
        match &port.end.what {
            EndKnown::Port(port) => {
                known += 1;
                if port.up && port.carrier {
                    carrier += 1;
                    speeds.extend(port.speed);
                }
            }
            EndKnown::NoPort => known += 1,
            EndKnown::NotKnown => unknown += 1,
            EndKnown::Peer(_) | EndKnown::NotThere => {}
        }
    }
    if known == 0 {
        return "not known".to_owned();
    }
    let mut all = vec![format!(
        "{carrier} of {} with carrier",
        counted(known, "port")
    )];
    all.extend((unknown > 0).then(|| format!("{unknown} not known")));
    // The slowest port is as fast as the link is.
    all.extend(speeds.into_iter().min().map(|speed| speed.to_string()));
    all.join(", ")
}

/// Where a pool is, and how it is there.
pub fn pool(pool: &LivePool) -> String {
    match &pool.on {
        PoolAt::Head(head) => format!("on {head}, {}", pool.words()),
        PoolAt::Nowhere | PoolAt::NotKnown => pool.words(),
    }
}

/// What a link carries, over what.
pub fn carries(link: &TopLink) -> String {
    let suspect = match link.suspect {
        true => ": look there first",
        false => "",
    };
    let switch = link.switch.as_ref();
    let switch = switch.map(|switch| format!("switch {switch}{suspect}"));
    let carries = Some(link.carries.clone()).filter(|words| !words.is_empty());
    let all: Vec<String> = carries.into_iter().chain(switch).collect();
    all.join(", ")
}

/// The headline.
pub fn headline(picture: &TopPicture) -> String {
    let worst = picture.alarms.iter().map(|alarm| alarm.severity).max();
    match (worst, picture.light()) {
        (Some(worst), _) => {
            let count = counted(picture.alarms.len() as u64, "alarm");
            format!("{count}, the worst: {}", worst.word())
        }
        (None, Light::Good) => "no alarm".to_owned(),
        (None, Light::Unknown | Light::Warning | Light::Bad) => {
            "no alarm so far; not all is known yet".to_owned()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_short_and_of_another_day_have_it() {
        let now = 1_795_631_400;
        assert_eq!(moment(now, now), "18:30:00");
        assert_eq!(moment(now - 86_400, now), "2026-11-24 18:30:00");
        let ages = [0, 119, 120, 7199, 7200, 172_799, 172_800];
        let words = ages.map(age);
        assert_eq!(
            words,
            ["0 s", "119 s", "2 min", "119 min", "2 h", "47 h", "2 d"]
        );
    }
}
