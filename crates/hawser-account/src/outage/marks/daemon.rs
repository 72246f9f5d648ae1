//! What Pacemaker's first process says, `pacemakerd`, which starts and stops all others.

use super::{Mark, after};

/// What a line of it marks (`main` and `pcmk_shutdown_worker` in daemons/pacemakerd/).
pub(super) fn said(text: &str) -> Option<Mark> {
    let said = after(text, "pacemakerd")?;
    if said.contains("notice: Shutdown complete") {
        return Some(Mark::EngineStopped);
    }
    // Its daemons say `Starting Pacemaker fencer`.
    let version = after(said, "notice: Starting Pacemaker ")?;
    version
        .starts_with(|first: char| first.is_ascii_digit())
        .then_some(Mark::EngineStarts)
}

#[cfg(test)]
mod tests {
    use super::super::pacemaker;
    use super::*;

    #[test]
    fn it_starts_and_has_stopped() {
        let starts = "head1 pacemakerd          [3800] (main) \tnotice: Starting Pacemaker 2.1.5 | build=a3f44794f94";
        assert_eq!(pacemaker(starts), Some(Mark::EngineStarts));
        let syslog = "head1 pacemakerd[3800]:  notice: Starting Pacemaker 2.1.5";
        assert_eq!(pacemaker(syslog), Some(Mark::EngineStarts));
        let stopped =
            "head1 pacemakerd          [34] (pcmk_shutdown_worker) \tnotice: Shutdown complete";
        assert_eq!(pacemaker(stopped), Some(Mark::EngineStopped));
        for other in [
            "head1 pacemaker-fenced    [3808] (main) \tnotice: Starting Pacemaker fencer",
            "head1 pacemakerd          [34] (pcmk_shutdown_worker) \tnotice: Shutting down Pacemaker",
        ] {
            assert_eq!(pacemaker(other), None, "{other}");
        }
    }
}
