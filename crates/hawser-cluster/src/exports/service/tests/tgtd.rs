//! A tgtd in memory behind a socket: it answers what tgtd 1.0.85 answers, opens what it offers, and prints
//! what clients call themselves as they sent it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread;

/// `struct tgtadm_req`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    pub mode: u32,
    pub op: u32,
    pub tid: u32,
    pub sid: u64,
    pub lun: u64,
    pub cid: u32,
    pub outgoing: bool,
    pub text: String,
}

#[derive(Debug, Default)]
pub struct Target {
    pub iqn: String,
    pub units: BTreeMap<u64, (String, File)>,
    pub acl: BTreeSet<String>,
    pub incoming: BTreeSet<String>,
    pub outgoing: BTreeSet<String>,
    /// By number, with what they call themselves.
    pub sessions: BTreeMap<u64, Vec<u8>>,
}

#[derive(Debug, Default)]
pub struct Tgtd {
    pub targets: BTreeMap<u32, Target>,
    pub accounts: BTreeSet<String>,
    /// All that was to change something.
    pub told: Vec<Asked>,
    /// It does so many more things, of the last of which nobody hears.
    pub left: Option<usize>,
    /// Where it was told to listen besides.
    pub portals: BTreeSet<String>,
    /// It answers so many more questions; then it takes what it is asked, and answers nothing.
    pub hangs_after: Option<usize>,
    /// It hangs when it is to change something.
    pub hangs_at_a_change: bool,
}

const NEW: u32 = 0;
const DELETE: u32 = 1;
const SHOW: u32 = 2;
const BIND: u32 = 3;
const UNBIND: u32 = 4;
const UPDATE: u32 = 5;
const STATS: u32 = 6;

const TARGET: u32 = 1;
const UNIT: u32 = 2;
const PORTAL: u32 = 3;
const SESSION: u32 = 5;
const CONNECTION: u32 = 6;
const ACCOUNT: u32 = 7;

const COUNTED: &str = "tgt lun sid rd_subm(bytes,cmds) rd_done(bytes,cmds) wr_subm(bytes,cmds) wr_done(bytes,cmds) errs\n";

/// Answers on a socket until the test ends.
pub fn listen(socket: &Path) -> Arc<Mutex<Tgtd>> {
    let listener = UnixListener::bind(socket).unwrap();
    let tgtd = Arc::new(Mutex::new(Tgtd::default()));
    let shared = Arc::clone(&tgtd);
    thread::spawn(move || {
        for stream in listener.incoming() {
            serve(stream.unwrap(), &shared);
        }
    });
    tgtd
}

fn serve(mut stream: UnixStream, tgtd: &Mutex<Tgtd>) -> Option<()> {
    let mut header = [0; 120];
    stream.read_exact(&mut header).ok()?;
    let word = |at: usize| u32::from_ne_bytes(header[at..at + 4].try_into().unwrap());
    let long = |at: usize| u64::from_ne_bytes(header[at..at + 8].try_into().unwrap());
    let mut text = vec![0; word(72) as usize - 120];
    stream.read_exact(&mut text).ok()?;
    let asked = Asked {
        mode: word(0),
        op: word(4),
        tid: word(76),
        sid: long(80),
        lun: long(88),
        cid: word(96),
        outgoing: word(108) == 1,
        text: String::from_utf8(text)
            .unwrap()
            .trim_end_matches('\0')
            .to_owned(),
    };
    let mut tgtd = tgtd.lock().unwrap();
    let changes = ![SHOW, STATS].contains(&asked.op);
    if tgtd.hangs_after == Some(0) || (changes && tgtd.hangs_at_a_change) {
        std::mem::forget(stream);
        return None;
    }
    tgtd.hangs_after = tgtd.hangs_after.map(|more| more - 1);
    if tgtd.left == Some(0) {
        return None;
    }
    let (error, text) = match tgtd.answer(&asked) {
        Ok(text) => (0, text),
        Err(error) => (error, Vec::new()),
    };
    if changes {
        tgtd.told.push(asked);
        tgtd.left = tgtd.left.map(|left| left - 1);
        if tgtd.left == Some(0) {
            return None;
        }
    }
    let length = u32::try_from(8 + text.len()).unwrap();
    let head = [error.to_ne_bytes(), length.to_ne_bytes()].concat();
    stream.write_all(&[head, text].concat()).ok()
}

impl Tgtd {
    fn answer(&mut self, asked: &Asked) -> Result<Vec<u8>, u32> {
        let tid = asked.tid;
        let value = |key: &str| {
            let rest = asked.text.split_once(key).map(|(_, rest)| rest);
            let value = rest.map(|rest| rest.split(',').next().unwrap_or(rest));
            value.unwrap_or_default().to_owned()
        };
        let who = || match value("initiator-name=") {
            name if name.is_empty() => value("initiator-address="),
            name => name,
        };
        match (asked.mode, asked.op) {
            (PORTAL, SHOW) => {
                let own = self
                    .portals
                    .iter()
                    .map(|portal| format!("Portal: {portal},1\n"));
                let first = "Portal: 0.0.0.0:3260,1\nPortal: [::]:3260,1\n";
                return Ok([first.to_owned(), own.collect()].concat().into());
            }
            (PORTAL, NEW) => {
                self.portals.insert(value("portal="));
                return Ok(Vec::new());
            }
            (PORTAL, DELETE) => {
                self.portals.remove(&value("portal="));
                return Ok(Vec::new());
            }
            (ACCOUNT, SHOW) => {
                let names = self.accounts.iter().map(|name| format!("    {name}\n"));
                return Ok(names.collect::<String>().into());
            }
            (ACCOUNT, NEW) => {
                return match self.accounts.insert(value("user=")) {
                    true => Ok(Vec::new()),
                    false => Err(14),
                };
            }
            (ACCOUNT, DELETE) => {
                let user = value("user=");
                for target in self.targets.values_mut() {
                    target.incoming.remove(&user);
                    target.outgoing.remove(&user);
                }
                return if self.accounts.remove(&user) {
                    Ok(Vec::new())
                } else {
                    Err(15)
                };
            }
            (TARGET, NEW) => {
                let iqn = value("targetname=");
                if self.targets.contains_key(&tid) || self.targets.values().any(|t| t.iqn == iqn) {
                    return Err(9);
                }
                self.targets.insert(
                    tid,
                    Target {
                        iqn,
                        ..Target::default()
                    },
                );
                return Ok(Vec::new());
            }
            (SESSION, STATS) => {
                let mut targets = self.targets.values();
                targets
                    .find(|target| target.sessions.contains_key(&asked.sid))
                    .ok_or(6_u32)?;
                let sid = asked.sid;
                let text = format!(
                    "{COUNTED}  1   0 {sid:3}  0 0 0 0 0 0 0 0 0\n\nsid cid rx tx out in cmd rsp\n{sid:3}   0 1 2 3 4 5 6\n"
                );
                return Ok(text.into());
            }
            // Everything else is about a target.
            _ => {}
        }
        let of_unit = asked.mode == UNIT && asked.op == DELETE;
        let target = self
            .targets
            .get_mut(&tid)
            .ok_or(if of_unit { 5_u32 } else { 4 })?;
        let done = |right: bool, error| if right { Ok(Vec::new()) } else { Err(error) };
        match (asked.mode, asked.op) {
            (TARGET, STATS) => Ok(COUNTED.into()),
            (TARGET, SHOW) | (CONNECTION, SHOW) => {
                let mut text = Vec::new();
                for (sid, name) in &target.sessions {
                    text.extend(
                        format!("Session: {sid}\n    Connection: 0\n        Initiator: ").bytes(),
                    );
                    text.extend(name);
                    text.extend(b"\n        IP Address: 192.0.2.9\n");
                }
                Ok(text)
            }
            (TARGET, DELETE) if !target.sessions.is_empty() => Err(19),
            (TARGET, DELETE) => done(self.targets.remove(&tid).is_some(), 4),
            (TARGET, BIND) => done(target.acl.insert(who()), 12),
            (TARGET, UNBIND) => done(target.acl.remove(&who()), 13),
            (UNIT, STATS) if asked.lun == 0 => {
                let line = |sid: &u64| format!("{tid:3}   0 {sid:3}  0 0 0 0 0 0 0 0 0\n");
                let lines: String = target.sessions.keys().map(line).collect();
                Ok(format!("{COUNTED}{lines}").into())
            }
            (UNIT, STATS | UPDATE) => match target.units.contains_key(&asked.lun) {
                true => Ok(COUNTED.into()),
                false => Err(5),
            },
            (UNIT, NEW) if target.units.contains_key(&asked.lun) => Err(10),
            (UNIT, NEW) => {
                let path = value("path=");
                let file = OpenOptions::new()
                    .read(true)
                    .write(true)
                    .open(&path)
                    .map_err(|_| 1_u32)?;
                target.units.insert(asked.lun, (path, file));
                Ok(Vec::new())
            }
            (UNIT, DELETE) => done(target.units.remove(&asked.lun).is_some(), 5),
            (CONNECTION, DELETE) => done(
                target.sessions.remove(&asked.sid).is_some() && asked.cid == 0,
                6,
            ),
            (ACCOUNT, BIND | UNBIND) => {
                let user = value("user=");
                if !self.accounts.contains(&user) {
                    return Err(15);
                }
                let bound = if asked.outgoing {
                    &mut target.outgoing
                } else {
                    &mut target.incoming
                };
                match asked.op {
                    BIND => done(bound.insert(user), 14),
                    _ => done(bound.remove(&user), 15),
                }
            }
            other => panic!("nobody asks {other:?}"),
        }
    }

    /// A target of somebody else's, with a unit.
    pub fn foreign(&mut self, tid: u32, iqn: &str, path: &Path) {
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        let units = BTreeMap::from([(1, (path.display().to_string(), file))]);
        let acl = BTreeSet::from(["192.0.2.50".to_owned()]);
        self.targets.insert(
            tid,
            Target {
                iqn: iqn.into(),
                units,
                acl,
                ..Target::default()
            },
        );
    }

    /// What it has, without what it has open.
    pub fn shown(&self) -> Vec<String> {
        let one = |(tid, target): (&u32, &Target)| {
            let units: Vec<_> = target
                .units
                .iter()
                .map(|(lun, (path, _))| (lun, path))
                .collect();
            format!(
                "{tid} {} {units:?} {:?} {:?}",
                target.iqn, target.acl, target.incoming
            )
        };
        self.targets.iter().map(one).collect()
    }
}
