//! What a node says to the coordinator: greeting, marker, then answers, cut anywhere by the pipe.
//!
//! Whatever comes, nothing panics, no more than what arrived is held, and an answer that is
//! understood says the same after it was written and read again.
#![no_main]

use hawser_agent::questions::{
    AskForOwn, CloseUsage, CloseWindow, CopyNow, FinishCopy, FinishReceiver, HearHellos,
    HearMulticast, MeasureFanout, MeasureRung, OpenFanout, ReadChanges, ReadCorosync, ReadFacts,
    ReadHardware, ReadKnob, ReadSockets, RunSender, SearchPathMtu, TryKnob, UndoChange,
    WatchCluster,
};
use hawser_client::questions::TakeWords;
use hawser_cluster::host::ViewQuestion;
use hawser_cluster::host::questions::{
    LookAround, PatchCib, ReadFenceHistory, ReadFile, ReadLogs, ReportExports, Simulate,
    StartExports, TakeInventory,
};
use hawser_fuzz::{bodies, choice, read};
use hawser_host::Ask;
use hawser_host::marker::Scanner;
use hawser_host::protocol::{Hello, Ping, Reply};
use libfuzzer_sys::fuzz_target;

/// One question of each kind of answer.
const ANSWERS: &[fn(&[u8])] = &[
    answer::<Ping>,
    answer::<Hello>,
    answer::<ReadFacts>,
    answer::<ReadSockets>,
    answer::<ReadCorosync>,
    answer::<ReadHardware>,
    answer::<CloseWindow>,
    answer::<CloseUsage>,
    answer::<RunSender>,
    answer::<WatchCluster>,
    answer::<FinishReceiver>,
    answer::<SearchPathMtu>,
    answer::<HearHellos>,
    answer::<AskForOwn>,
    answer::<HearMulticast>,
    answer::<CopyNow>,
    answer::<FinishCopy>,
    answer::<MeasureRung>,
    answer::<OpenFanout>,
    answer::<MeasureFanout>,
    answer::<ReadKnob>,
    answer::<TryKnob>,
    answer::<ReadChanges>,
    answer::<UndoChange>,
    answer::<ViewQuestion>,
    answer::<TakeInventory>,
    answer::<ReadFile>,
    answer::<PatchCib>,
    answer::<Simulate>,
    answer::<ReadFenceHistory>,
    answer::<LookAround>,
    answer::<ReadLogs>,
    answer::<StartExports>,
    answer::<ReportExports>,
    answer::<TakeWords>,
];

fn answer<A: Ask>(body: &[u8]) {
    read::<Reply<A::Answer>>(body);
}

fuzz_target!(|data: &[u8]| {
    let Some((&first, stream)) = data.split_first() else {
        return;
    };
    let (kind, cut) = choice(first, ANSWERS.len());
    let mut scanner = Scanner::default();
    for chunk in stream.chunks(cut) {
        match scanner.push(chunk) {
            Ok(None) => {}
            Ok(Some((_, rest))) => {
                assert!(rest.len() <= chunk.len());
                break;
            }
            Err(_) => break,
        }
    }
    bodies(stream, cut, ANSWERS[kind]);
});
