//! What Pacemaker's first process says, `pacemakerd`, which starts and stops all others.

use super::Mark;

/// What a line of it marks (`main` and `pcmk_shutdown_worker` in daemons/pacemakerd/).
pub(super) fn said(text: &str) -> Option<Mark> {
    let said = says(text, "pacemakerd")?;
    if said.starts_with("Shutdown complete") {
        return Some(Mark::EngineStopped);
    }
    // Its daemons say `Starting Pacemaker fencer`.
    let version = said.strip_prefix("Starting Pacemaker ")?;
    version
        .starts_with(|first: char| first.is_ascii_digit())
        .then_some(Mark::EngineStarts)
}

/// The notice that this program of a head says: in a line of any other these words are somebody else's.
pub(super) fn says<'a>(text: &'a str, program: &str) -> Option<&'a str> {
    let (_host, rest) = text.trim_start().split_once(' ')?;
    let rest = rest.strip_prefix(program)?;
    if !rest.starts_with([' ', '[']) {
        return None;
    }
    Some(rest.split_once("notice: ")?.1)
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
            "head1 pacemaker-controld[40]:  notice: Result of monitor operation for x on head1: error (asked pacemakerd: notice: Shutdown complete)",
            "head1 pacemaker-controld[40]:  notice: x (pacemakerd notice: Starting Pacemaker 2)",
        ] {
            assert_eq!(said(other), None, "{other}");
        }
    }
}
