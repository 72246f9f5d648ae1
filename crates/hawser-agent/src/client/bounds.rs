//! How much a node may answer. A node that is hostile or broken costs the operator's machine no more.

use crate::frame::MAX_FRAME;
use crate::protocol::Request;

/// Largest answer that is a number, a word or an error.
const SMALL: usize = 256 << 10;

/// All answers of an agent together that become part of a case. A check of eight hosts takes some 30 MB of each.
pub(super) const KEPT: usize = 512 << 20;

/// Longest text of an answer that is shown to a person, in characters.
pub(super) const WORDS: usize = 16 << 10;

/// The largest answer to a request, in bytes.
pub(super) fn largest(request: &Request) -> usize {
    match request {
        Request::Hello { .. }
        | Request::Ping
        | Request::OpenReceiver(_)
        | Request::OpenSender(_)
        | Request::ExpectFrom { .. }
        | Request::OpenWindow(_)
        | Request::WatchCluster { .. }
        | Request::DropFlow(_)
        | Request::OpenPathMtuResponder { .. }
        | Request::ClosePathMtuResponder
        | Request::SearchPathMtu { .. }
        | Request::ListenHello(_)
        | Request::AnnounceHello { .. }
        | Request::ListenMulticast { .. }
        | Request::SendUnjoined { .. }
        | Request::OpenCopyReceiver(_)
        | Request::StartCopySender(_)
        | Request::CopyNow
        | Request::OpenUsage
        | Request::OpenFanout { .. }
        | Request::CloseFanout
        | Request::ReadKnob(_)
        | Request::TryKnob { .. }
        | Request::TurnKnob { .. }
        | Request::KeepChange { .. }
        | Request::Bye => SMALL,
        _ => MAX_FRAME,
    }
}

/// Whether the answer is kept until the run ends.
pub(super) fn is_kept(request: &Request) -> bool {
    matches!(
        request,
        Request::HostFacts
            | Request::Sockets
            | Request::Hardware
            | Request::HellosHeard
            | Request::AskForOwn(_)
            | Request::CloseWindow
            | Request::CloseUsage
            | Request::RunSender { .. }
            | Request::RunSenders(_)
            | Request::FinishReceiver { .. }
            | Request::MeasureRung(_)
            | Request::MeasureFanout(_)
            | Request::FinishCopy
    )
}
