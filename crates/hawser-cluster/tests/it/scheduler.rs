//! Pacemaker's own scheduler, asked once of each cluster: the same ones come again and again.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::UNIX_EPOCH;

use hawser_cluster::simulate::{Answer, CrmSimulate, Event, SimulateError, Simulator};
use hawser_cluster::xml::Element;

/// The `crm_simulate` of this machine.
pub struct Scheduler;

type Known = Arc<Mutex<Option<Answer>>>;

static KNOWN: Mutex<BTreeMap<String, Known>> = Mutex::new(BTreeMap::new());

impl Simulator for Scheduler {
    fn simulate(&self, cib: &str, events: &[Event]) -> Result<Answer, SimulateError> {
        let question = format!("{events:?}\n{cib}");
        let known = KNOWN.lock().unwrap().entry(question).or_default().clone();
        let mut known = known.lock().unwrap();
        if let Some(answer) = &*known {
            return Ok(answer.clone());
        }
        let mut answer = CrmSimulate.simulate(cib, events)?;
        let mut after = Element::parse(&answer.cib_after, "the CIB")?;
        forget_times(&mut after);
        answer.cib_after = after.to_text();
        *known = Some(answer.clone());
        Ok(answer)
    }
}

/// When everything was done, in seconds since 1970: just now, since a failure is forgotten after an hour.
static DONE: LazyLock<String> = LazyLock::new(|| {
    let now = UNIX_EPOCH.elapsed().unwrap();
    now.as_secs().to_string()
});

/// It stamps what it does with this machine's time, by which the same cluster would be another one a second later.
fn forget_times(element: &mut Element) {
    for name in ["last-rc-change", "last-run"] {
        if element.get(name).is_some() {
            element.set(name, &*DONE);
        }
    }
    let named = element.get("name").unwrap_or_default();
    if named.starts_with("last-failure-") {
        element.set("value", &*DONE);
    }
    element.children.iter_mut().for_each(forget_times);
}
