//! The whole path: both ends run their stages, and both hosts are watched meanwhile.

use hawser_agent::AgentError;
use hawser_model::ladder::{Rung, RungKind};
use hawser_model::units::Nanos;
use hawser_rungs::whole::WholeSpec;

use super::plan::LadderOptions;
use super::{Ends, blank};

/// Measures it.
pub(super) fn measure(
    ends: &mut Ends<'_>,
    options: &LadderOptions,
    key: [u8; 32],
) -> Result<Rung, AgentError> {
    let spec = WholeSpec {
        source_address: ends.path.source,
        destination_address: ends.path.destination,
        source: options.source.clone(),
        sink: options.sink.clone(),
        cipher: options.cipher,
        key,
        duration: Nanos(options.duration.0 * 3),
    };
    let ((sent, received), usage) = ends.watched(|ends| {
        let port = ends.receiver.open_whole(&spec)?;
        match ends.sender.run_whole(&spec, port) {
            Ok(sent) => Ok((sent, ends.receiver.finish_whole()?)),
            Err(error) => {
                ends.receiver.drop_whole()?;
                Err(error)
            }
        }
    })?;
    let cipher = options
        .cipher
        .map_or("not encrypted".to_owned(), |c| c.name());
    Ok(Rung {
        samples: received.samples,
        usage,
        stages: sent.stages.into_iter().chain(received.stages).collect(),
        ..blank(
            RungKind::Whole,
            format!("{}; {cipher}; 256 KiB blocks", sent.how),
        )
    })
}
