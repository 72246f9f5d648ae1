//! The types of the protocol belong to its version: who changes one raises it.
//!
//! `protocol.txt` of hawser-host has the version, and the shape of every question and answer, field by field and variant by
//! variant. It is read from the types themselves. `UPDATE_PROTOCOL=1 cargo test -p hawser-agent --test protocol` writes it
//! again, with the next version.

use std::any::type_name;
use std::collections::BTreeSet;
use std::fs;

use hawser_agent::questions as agent;
use hawser_client::questions as client;
use hawser_cluster::host::questions as cluster;
use hawser_host::protocol::{Hello, Message, Reply, VERSION};
use hawser_host::{Ask, OfEach};
use hawser_model::knob::{Change, Knob, RecordedChanges, Undone};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_reflection::{Error, Format, Registry, Samples, Tracer, TracerConfig};

/// The questions that hold a `Knob`, by a sample: a `Knob` says its kind beside its fields, and the tracer cannot
/// follow that. Their other types have a schema.
const WITH_KNOBS: [(&str, &str); 2] = [
    (
        "ReadKnob",
        r#"{"kind":"sysctl","name":"net.core.rmem_max"}"#,
    ),
    (
        "TryKnob",
        r#"{"knob":{"kind":"mtu","interface":"eth0"},"value":"9000"}"#,
    ),
];

/// What goes around questions and answers.
const FRAMES: [&str; 3] = [
    r#"{"ask":{"question":"ping","body":null}}"#,
    r#""alive""#,
    r#""stop""#,
];

/// The shapes of all types, a line each.
#[derive(Default)]
struct Shapes(BTreeSet<String>);

impl OfEach for Shapes {
    fn question<A: Ask>(&mut self) {
        let asked = self.shape::<A>();
        let answered = self.shape::<A::Answer>();
        self.0
            .insert(format!("{:?}: {asked} -> {answered}", A::NAME));
    }
}

impl Shapes {
    /// The shape of one type, in one line; the types in it have lines of their own.
    fn shape<T: Serialize + DeserializeOwned>(&mut self) -> String {
        let name = type_name::<T>().rsplit("::").next().unwrap_or_default();
        match traced::<T>() {
            Ok((format, registry)) => {
                for (name, shape) in registry {
                    self.0.insert(format!("{name}: {}", json(&shape)));
                }
                json(&format)
            }
            Err(Error::NotSupported(_)) if schema(name).is_some() => {
                self.0.extend(schema(name));
                format!("{{\"TYPENAME\":{name:?}}}")
            }
            Err(Error::NotSupported(_)) => {
                let sample = WITH_KNOBS.iter().find(|(of, _)| *of == name);
                let (_, sample) = sample.unwrap_or_else(|| panic!("{name}: give a sample of it"));
                same_again::<T>(sample);
                (*sample).to_owned()
            }
            Err(e) => panic!("{name}: {e}: {}", e.explanation()),
        }
    }
}

/// A pass visits one more variant of each enum, of those that are known not to be complete.
fn traced<T: DeserializeOwned>() -> Result<(Format, Registry), Error> {
    let (mut enums, samples) = (BTreeSet::new(), Samples::new());
    loop {
        let mut tracer = Tracer::new(TracerConfig::default());
        let format = loop {
            let (format, _) = tracer.trace_type_once::<T>(&samples)?;
            let more = enums
                .iter()
                .filter(|name: &&String| tracer.check_incomplete_enum(name).is_some());
            if more.count() == 0 {
                break format;
            }
        };
        match tracer.registry() {
            Ok(registry) => return Ok((format, registry)),
            Err(Error::MissingVariants(more)) => {
                let known = enums.len();
                enums.extend(more);
                assert!(enums.len() > known, "{enums:?} are never complete");
            }
            Err(e) => return Err(e),
        }
    }
}

/// The schema of a type that holds a `Knob`, without its comments.
fn schema(name: &str) -> Option<String> {
    let schema = match name {
        "Change" => schemars::schema_for!(Change),
        "RecordedChanges" => schemars::schema_for!(RecordedChanges),
        "Undone" => schemars::schema_for!(Undone),
        _ => return None,
    };
    let mut schema = schema.to_value();
    without_comments(&mut schema);
    Some(format!("{name}: {schema}"))
}

fn without_comments(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A field of this name is an object, a comment is a text.
            fields.retain(|key, value| key != "description" || !value.is_string());
            fields.values_mut().for_each(without_comments);
        }
        Value::Array(items) => items.iter_mut().for_each(without_comments),
        _ => {}
    }
}

fn same_again<T: Serialize + DeserializeOwned>(sample: &str) {
    let read: T = serde_json::from_str(sample).unwrap_or_else(|e| panic!("{sample}: {e}"));
    assert_eq!(json(&read), sample);
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("it can be written")
}

#[test]
fn a_change_of_a_type_needs_another_version() {
    let mut shapes = Shapes::default();
    agent::each_question(&mut shapes);
    cluster::each_question(&mut shapes);
    client::each_question(&mut shapes);
    shapes.shape::<Hello>();
    shapes.shape::<Reply<()>>();
    for frame in FRAMES {
        same_again::<Message>(frame);
    }
    let knob: Knob = serde_json::from_str(WITH_KNOBS[0].1).expect("a knob");
    assert_eq!(json(&knob), WITH_KNOBS[0].1);
    let shapes: Vec<String> = shapes.0.into_iter().collect();
    let of = |version: u32| format!("version {version}\n{}\n", shapes.join("\n"));

    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../hawser-host/src/protocol.txt"
    );
    let (now, recorded) = (of(VERSION), fs::read_to_string(file).unwrap_or_default());
    if now == recorded {
        return;
    }
    if std::env::var_os("UPDATE_PROTOCOL").is_some() {
        fs::write(file, of(VERSION + 1)).expect("the shapes are written");
        return;
    }
    let differs = |a: &str, b: &str| -> Vec<String> {
        let there: BTreeSet<&str> = b.lines().collect();
        let new = a.lines().filter(|line| !there.contains(line));
        new.map(str::to_owned).collect()
    };
    panic!(
        "a type of the protocol changed: UPDATE_PROTOCOL=1 writes {file} with the next version\nwas: {:#?}\nis: {:#?}",
        differs(&recorded, &now),
        differs(&now, &recorded),
    );
}
