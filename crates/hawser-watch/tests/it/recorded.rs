//! What a host has answered, question by question, and a host that answers so again. A line is one answer that differs from the
//! last one to the same question, by what differs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hawser_agent::questions::ReadPulse;
use hawser_cluster::host::questions::ReadLogEnds;
use hawser_host::{Ask, Clock, Host, HostError, Question, Stopper};
use hawser_model::names::HostName;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// An answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// When, in milliseconds.
    at: u64,
    /// The question, and a hash of what was asked with it.
    question: String,
    /// What differs.
    differs: Value,
}

/// In what differs, the names of what is gone.
const GONE: &str = "$gone";

/// What makes the second of the first.
fn differs(before: &Value, after: &Value) -> Value {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return after.clone();
    };
    let new = after
        .iter()
        .filter_map(|(key, value)| match before.get(key) {
            Some(old) if old == value => None,
            Some(old) => Some((key.clone(), differs(old, value))),
            None => Some((key.clone(), value.clone())),
        });
    let mut all: Map<String, Value> = new.collect();
    let gone = before.keys().filter(|key| !after.contains_key(*key));
    let gone: Vec<Value> = gone.map(|key| key.clone().into()).collect();
    if !gone.is_empty() {
        all.insert(GONE.to_owned(), gone.into());
    }
    Value::Object(all)
}

fn merge(into: &mut Value, differs: &Value) {
    match (into, differs) {
        (Value::Object(into), Value::Object(differs)) => {
            let gone = differs.get(GONE).and_then(Value::as_array);
            for key in gone.into_iter().flatten().filter_map(Value::as_str) {
                into.remove(key);
            }
            for (key, value) in differs.iter().filter(|(key, _)| *key != GONE) {
                match into.get_mut(key) {
                    Some(old) => merge(old, value),
                    None => drop(into.insert(key.clone(), value.clone())),
                }
            }
        }
        (into, differs) => into.clone_from(differs),
    }
}

/// Which question it is. That for the pulse says where logs ended the last time, and is one all the same.
fn key(question: &Question) -> String {
    let body = match question.name == ReadPulse::NAME {
        true => "",
        false => question.body.get(),
    };
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in body.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{} {hash:016x}", question.name)
}

/// What is being recorded.
#[derive(Default)]
pub struct Tape {
    last: BTreeMap<String, Value>,
    pub lines: Vec<Line>,
}

/// A host whose answers are recorded.
pub struct Recording {
    pub host: Box<dyn Host>,
    pub begun: Instant,
    pub tape: Arc<Mutex<Tape>>,
}

impl Host for Recording {
    fn name(&self) -> &HostName {
        self.host.name()
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let at = self.begun.elapsed().as_millis() as u64;
        let bytes = self.host.exchange(question)?;
        let mut reply: Value = serde_json::from_slice(&bytes).expect("a reply is JSON");
        if question.name == ReadLogEnds::NAME {
            // The logs of a clean cluster tell of its beginning, and are long.
            if let Some(texts) = reply.pointer_mut("/answer/texts") {
                *texts = serde_json::json!(["", ""]);
            }
        }
        let question = key(question);
        let mut tape = self.tape.lock().unwrap();
        let before = tape.last.insert(question.clone(), reply.clone());
        let differs = match before {
            Some(before) if before == reply => return Ok(bytes),
            Some(before) => differs(&before, &reply),
            None => reply,
        };
        tape.lines.push(Line {
            at,
            question,
            differs,
        });
        Ok(bytes)
    }

    fn is_lost(&mut self) -> bool {
        self.host.is_lost()
    }

    fn let_go(&mut self) {
        self.host.let_go();
    }

    fn stopper(&self) -> Stopper {
        self.host.stopper()
    }

    fn clock(&self) -> Clock {
        self.host.clock()
    }
}

/// A host that answers as another one did, again and again.
pub struct Replayed {
    name: HostName,
    clock: Clock,
    /// How long the recording lasts.
    lasts: Duration,
    /// Each question's answers, whole, with their times.
    answers: BTreeMap<String, Vec<(Duration, Value)>>,
    /// Changes an answer to a question.
    plant: fn(Duration, &str, &mut Value),
}

impl Replayed {
    pub fn new(
        name: HostName,
        clock: &Clock,
        lines: &str,
        plant: fn(Duration, &str, &mut Value),
    ) -> Self {
        let mut answers: BTreeMap<String, Vec<(Duration, Value)>> = BTreeMap::new();
        let mut lasts = Duration::ZERO;
        for line in lines.lines() {
            let line: Line = serde_json::from_str(line).expect("a line of a recording");
            let all = answers.entry(line.question).or_default();
            let before = all.last().map(|(_, value)| value.clone());
            let mut value = before.unwrap_or(Value::Null);
            merge(&mut value, &line.differs);
            let at = Duration::from_millis(line.at);
            lasts = lasts.max(at);
            all.push((at, value));
        }
        Self {
            name,
            clock: clock.clone(),
            lasts: lasts + Duration::from_secs(1),
            answers,
            plant,
        }
    }
}

impl Host for Replayed {
    fn name(&self) -> &HostName {
        &self.name
    }

    fn exchange(&mut self, question: &Question) -> Result<Vec<u8>, HostError> {
        let now = self.clock.now();
        let at = Duration::from_secs_f64(now.as_secs_f64() % self.lasts.as_secs_f64());
        let exact = self.answers.get(&key(question));
        // One that was asked otherwise then, as of a CIB with another number, has the answer of its name.
        let named = || {
            let mut all = self.answers.iter();
            all.find(|(key, _)| key.rsplit_once(' ').map(|it| it.0) == Some(question.name))
        };
        let all = exact.or_else(|| Some(named()?.1));
        let all = all.unwrap_or_else(|| panic!("{} was not recorded", question.name));
        let last = all.iter().rev().find(|(when, _)| *when <= at);
        let (_, answer) = last.unwrap_or(&all[0]);
        let mut answer = answer.clone();
        (self.plant)(now, question.name, &mut answer);
        Ok(answer.to_string().into_bytes())
    }

    fn is_lost(&mut self) -> bool {
        false
    }

    fn let_go(&mut self) {}

    fn stopper(&self) -> Stopper {
        Stopper::new(|| {})
    }

    fn clock(&self) -> Clock {
        self.clock.clone()
    }
}

#[test]
fn a_difference_makes_the_second_of_the_first() {
    let pairs = [
        (
            r#"{"a":1,"b":{"c":[1],"d":2,"f":3}}"#,
            r#"{"b":{"c":[1,2],"f":null},"e":"x"}"#,
        ),
        (r#"[1]"#, r#"{"a":{}}"#),
    ];
    for (before, after) in pairs {
        let [mut before, after] = [before, after].map(|it| serde_json::from_str(it).unwrap());
        let differs = differs(&before, &after);
        merge(&mut before, &differs);
        assert_eq!(before, after);
    }
}
