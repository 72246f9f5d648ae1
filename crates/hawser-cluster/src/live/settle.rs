//! The wait for a cluster that is doing what it was told.

use std::time::{Duration, Instant};

use super::{Heads, LiveError, OnHead, head, live_cib, order};
use crate::host::Order;
use crate::simulate::{Directory, Report, Simulator, millis};
use crate::xml::Element;

/// How long Pacemaker may take to decide, beside what it then does.
const DECIDES: Duration = Duration::from_secs(60);

/// How long pools may take to stop and to start before somebody should look, however little their own timeouts are.
const SETTLES: Duration = Duration::from_secs(300);

/// Of an operation that says nothing else (`default-action-timeout`, Pacemaker Explained).
const UNSAID: Duration = Duration::from_secs(20);

/// Waits until Pacemaker has nothing left to do.
///
/// `crm_resource --wait` ends at once while the nodes choose who decides, so its word is held
/// against the scheduler's: it must have nothing to do for this CIB.
pub(super) fn wait_settled(heads: &mut Heads) -> Result<(), LiveError> {
    let deadline = Instant::now() + DECIDES;
    loop {
        let Some((name, cib)) = live_cib(heads)? else {
            return Err(LiveError::NotRunning);
        };
        let seconds = patience(&Element::parse(&cib, "the live CIB")?).as_secs();
        let seconds = u32::try_from(seconds).unwrap_or(u32::MAX);
        order(heads, &name, &Order::Settle { seconds })?;
        let Some((name, cib)) = live_cib(heads)? else {
            return Err(LiveError::NotRunning);
        };
        let simulator = OnHead::new(head(heads, &name)?.as_mut());
        let report = Report::parse(&simulator.simulate(&cib, &[])?.report)?;
        let decided = Element::parse(&cib, "the live CIB")?
            .get("dc-uuid")
            .is_some_and(|dc| !dc.is_empty() && dc != "0");
        if (decided && report.executed.is_empty()) || Instant::now() >= deadline {
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// How long the cluster may be busy: as the slowest pool may take to stop and to start by the timeouts of its
/// parts, which follow one another. Pacemaker itself ends what takes longer.
fn patience(cib: &Element) -> Duration {
    let directory = Directory::of(cib);
    let primitives: Vec<&Element> = cib.walk();
    let of_resource = |id: &str| -> Duration {
        let is_it =
            |element: &&&Element| element.name == "primitive" && element.get("id") == Some(id);
        let primitive = primitives.iter().find(is_it);
        let operations = primitive.and_then(|primitive| primitive.first("operations"));
        let timeout = |name: &str| {
            let mut all = operations.into_iter().flat_map(|all| all.all("op"));
            let op = all.find(|op| op.get("name") == Some(name))?;
            Some(Duration::from_millis(millis(op.get("timeout")?)?))
        };
        ["start", "stop"]
            .map(|name| timeout(name).unwrap_or(UNSAID))
            .iter()
            .sum()
    };
    let of_pool = |pool| directory.of_pool(pool).map(|(id, _)| of_resource(id)).sum();
    directory.pools().map(of_pool).fold(SETTLES, Duration::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cib(pool: &str, address: &str) -> Element {
        let text = format!(
            r#"<cib><configuration><resources>
                <primitive id="p" class="ocf" provider="heartbeat" type="Filesystem"><operations>
                    <op id="1" name="start" timeout="{pool}"/><op id="2" name="stop" timeout="{pool}"/>
                    <op id="3" name="monitor" interval="10s" timeout="2h"/></operations></primitive>
                <primitive id="a" class="ocf" provider="heartbeat" type="IPaddr2"><operations>
                    <op id="4" name="start" timeout="{address}"/></operations></primitive>
                <primitive id="f" class="stonith" type="fence_ipmilan"><operations>
                    <op id="5" name="start" timeout="3h"/></operations></primitive></resources>
                <constraints><rsc_colocation id="c" rsc="a" with-rsc="p" score="INFINITY"/></constraints>
            </configuration></cib>"#
        );
        Element::parse(&text, "test").unwrap()
    }

    #[test]
    fn as_long_as_the_slowest_pool_may_take() {
        // Twice the pool's ten minutes, the start of its address, and the stop of which nothing is said.
        assert_eq!(
            patience(&cib("10min", "30s")),
            Duration::from_secs(1200 + 30 + 20)
        );
    }

    #[test]
    fn never_shorter_than_somebody_would_wait() {
        assert_eq!(patience(&cib("20s", "20s")), SETTLES);
    }
}
