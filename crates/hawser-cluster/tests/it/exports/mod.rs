//! What a pool offers: from files to operations, against recorded answers, and what must hold for
//! any file and any history.

mod files;
mod lio;
mod mistakes;
mod model;
mod nfs;
mod numbers;

use std::net::IpAddr;
use std::path::Path;

use hawser_cluster::exports::{Context, ExportsError, Resolved, State, Volume, parse, resolve};
use hawser_model::cluster_file::Backend;

use crate::golden::compare;

#[test]
fn the_published_schema_is_what_the_types_say() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/exports-toml.schema.json");
    let text = serde_json::to_string_pretty(&hawser_cluster::exports::schema()).unwrap() + "\n";
    compare(&path, &text);
}

fn context() -> Context {
    let address = |text: &str| -> IpAddr { text.parse().unwrap() };
    Context {
        pool: "tank".into(),
        authority: "iqn.2026-01.lab".into(),
        portals: vec![address("192.0.2.1"), address("fd00::1")],
        backend: Backend::Tgt,
    }
}

fn volume(name: &str, identity: &str) -> Volume {
    Volume {
        name: name.into(),
        identity: identity.into(),
        path: format!("/tank/{name}.img"),
        bytes: 16 << 20,
        discards: true,
    }
}

fn resolved(text: &str, volumes: &[Volume], state: &State) -> Result<Resolved, Vec<ExportsError>> {
    resolved_for(Backend::Tgt, text, volumes, state)
}

fn resolved_for(
    backend: Backend,
    text: &str,
    volumes: &[Volume],
    state: &State,
) -> Result<Resolved, Vec<ExportsError>> {
    let file = parse(text, "exports.toml").unwrap_or_else(|errors| panic!("{errors}"));
    let context = Context {
        backend,
        ..context()
    };
    resolve(&file, volumes, state, &context)
}
