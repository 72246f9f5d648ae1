//! Reading an iSCSI unit raw, without this kernel's initiator and without a file system: what the target,
//! its storage and the way to it give to so many requests in flight.
//!
//! It is done by `hawser-client read`, a program of its own because it links libiscsi, a library in C. It
//! ends with its pipe, so it does not outlive the agent.

use std::env;
use std::path::PathBuf;
use std::process::Output;
use std::time::Duration;

use hawser_model::iscsi::IscsiUnit;
use hawser_model::ladder::Sample;
use hawser_model::units::{Bytes, Nanos};
use hawser_tool::{Tool, ToolError};

use crate::{Measured, RungError};

const CLIENT: &str = "hawser-client";

/// Of a shell and of the dynamic linker that does not find a library.
const NOT_STARTED: i32 = 127;

/// What it takes to log in and out, at most.
const MORE: Duration = Duration::from_secs(30);

pub(crate) fn measure(unit: &IscsiUnit, depth: u32, duration: Nanos) -> Measured {
    let how = format!("{unit}, {depth} requests of 128 KiB in flight, in order");
    (how, run(unit, depth, duration))
}

fn run(unit: &IscsiUnit, depth: u32, duration: Nanos) -> Result<Vec<Sample>, RungError> {
    let output = Tool::new(client())
        .args(["read"])
        .args(["--portal", &unit.portal.to_string()])
        .args(["--target", &unit.target])
        .args(["--lun", &unit.lun.to_string()])
        .args(["--depth", &depth.to_string()])
        .args(["--for", &format!("{}ns", duration.0)])
        .limit(Duration::from_nanos(duration.0) + MORE)
        .output();
    match output {
        Ok(output) => judge(&output),
        Err(ToolError::Missing { .. }) => Err(RungError::Absent(format!(
            "{CLIENT} is not on this host, neither beside hawser nor in PATH: it links libiscsi and is built \
             and installed apart"
        ))),
        Err(e) => Err(RungError::Absent(e.to_string())),
    }
}

/// The one beside this program, else one in `PATH`.
fn client() -> PathBuf {
    let own = env::current_exe().ok();
    own.map(|own| own.with_file_name(CLIENT))
        .filter(|beside| beside.exists())
        .unwrap_or_else(|| CLIENT.into())
}

fn judge(output: &Output) -> Result<Vec<Sample>, RungError> {
    let complaints = String::from_utf8_lossy(&output.stderr);
    let last = complaints.lines().last().unwrap_or("it says nothing");
    match output.status.code() {
        Some(0) => samples(&String::from_utf8_lossy(&output.stdout)).ok_or_else(|| {
            RungError::Absent(format!(
                "{CLIENT} speaks of slices that this hawser cannot read"
            ))
        }),
        Some(NOT_STARTED) => Err(RungError::Absent(format!(
            "{CLIENT} does not start on this host: {last}"
        ))),
        // Its own lines begin with its name.
        _ => Err(RungError::Absent(last.to_owned())),
    }
}

/// A line a slice: its nanoseconds and its bytes. `None`: something else, or none.
fn samples(lines: &str) -> Option<Vec<Sample>> {
    let slice = |line: &str| {
        let (nanos, bytes) = line.split_once(' ')?;
        Some(Sample {
            elapsed: Nanos(nanos.parse().ok()?),
            bytes: Bytes(bytes.parse().ok()?),
        })
    };
    let samples: Option<Vec<Sample>> = lines.lines().map(slice).collect();
    samples.filter(|samples| !samples.is_empty())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn ended(code: i32, stdout: &str, stderr: &str) -> Output {
        Output {
            status: ExitStatus::from_raw(code << 8),
            stdout: stdout.into(),
            stderr: stderr.into(),
        }
    }

    #[test]
    fn slices_are_read_and_everything_else_is_a_reason() {
        let read = judge(&ended(0, "50000123 13107200\n50000001 0\n", "")).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].bytes, Bytes(13_107_200));
        let loader =
            "hawser-client: error while loading shared libraries: libiscsi.so.7: cannot open";
        for (output, says) in [
            (ended(127, "", loader), "libiscsi.so.7"),
            (
                ended(2, "", "hawser-client: 10.0.0.1:3260: refused\n"),
                "refused",
            ),
            (ended(0, "", ""), "cannot read"),
            (ended(0, "writing\n", ""), "cannot read"),
        ] {
            let why = judge(&output).unwrap_err().to_string();
            assert!(why.contains(says), "{why}");
        }
    }
}
