//! What a coordinator says to an agent, or to a client: questions, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and a question that is
//! understood says the same after it was written and read again.
#![no_main]

use hawser_agent::questions::{
    AnnounceHello, AskForOwn, DropFlow, ExpectFrom, FinishReceiver, HearMulticast, KeepChange,
    ListenHello, ListenMulticast, MeasureFanout, MeasureRung, OpenCopyReceiver, OpenFanout,
    OpenPathMtuResponder, OpenReceiver, OpenWindow, ReadKnob, RunSender, RunSenders, SearchPathMtu,
    SendUnjoined, StartCopySender, TryKnob, TurnKnob, UndoChange, WatchCluster,
};
use hawser_client::questions::StartWriting;
use hawser_cluster::host::ViewQuestion;
use hawser_cluster::host::questions::{
    AskFence, LookAround, MakeFault, MoveResource, PatchCib, Power, ReadFenceMetadata, ReadFile,
    ReadLogs, SeedCib, SetDevice, Settle, ShowFault, Simulate, Standby, StartExports, WriteFile,
};
use hawser_fuzz::{bodies, choice, read};
use hawser_host::protocol::{Hello, Message};
use libfuzzer_sys::fuzz_target;

/// All questions that say more than their name, but for those that are alike.
const QUESTIONS: &[fn(&[u8])] = &[
    read::<Hello>,
    read::<OpenWindow>,
    read::<OpenReceiver>,
    read::<ExpectFrom>,
    read::<RunSender>,
    read::<RunSenders>,
    read::<WatchCluster>,
    read::<FinishReceiver>,
    read::<DropFlow>,
    read::<OpenPathMtuResponder>,
    read::<SearchPathMtu>,
    read::<ListenHello>,
    read::<AnnounceHello>,
    read::<AskForOwn>,
    read::<ListenMulticast>,
    read::<SendUnjoined>,
    read::<HearMulticast>,
    read::<OpenCopyReceiver>,
    read::<StartCopySender>,
    read::<MeasureRung>,
    read::<OpenFanout>,
    read::<MeasureFanout>,
    read::<ReadKnob>,
    read::<TryKnob>,
    read::<TurnKnob>,
    read::<KeepChange>,
    read::<UndoChange>,
    read::<ViewQuestion>,
    read::<ReadFile>,
    read::<WriteFile>,
    read::<PatchCib>,
    read::<SeedCib>,
    read::<Simulate>,
    read::<Settle>,
    read::<SetDevice>,
    read::<Standby>,
    read::<MoveResource>,
    read::<AskFence>,
    read::<ReadFenceMetadata>,
    read::<Power>,
    read::<LookAround>,
    read::<ReadLogs>,
    read::<MakeFault>,
    read::<ShowFault>,
    read::<StartExports>,
    read::<StartWriting>,
];

fuzz_target!(|data: &[u8]| {
    let Some((&first, stream)) = data.split_first() else {
        return;
    };
    let (kind, cut) = choice(first, QUESTIONS.len());
    bodies(stream, cut, |body| {
        read::<Message>(body);
        let message = serde_json::from_slice(body);
        let question = match &message {
            Ok(Message::Ask { body, .. }) => body.get().as_bytes(),
            _ => body,
        };
        QUESTIONS[kind](question);
    });
});
