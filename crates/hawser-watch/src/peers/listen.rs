//! Who listens on a head's heartbeat links for the watches of the other heads.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use hawser_model::names::HostName;

use super::channel::{Channel, ChannelError, GREETING};
use super::{Answering, Ring, key};
use crate::board::Board;
use crate::locked::locked;
use crate::slots::Slots;
use crate::threads::Threads;

/// Conversations at a time. The other heads have one each, and one more while a link is lost.
const AT_ONCE: usize = 16;

/// A question is no longer, in bytes.
const QUESTION: usize = 16 << 10;

/// Who asks nothing for so long is let go.
const IDLE: Duration = Duration::from_secs(60);

/// Then another conversation begins, by the key as it is then.
const LASTS: Duration = Duration::from_secs(3600);

/// How long an answer may take to be taken.
const TAKES: Duration = Duration::from_secs(10);

/// An address that cannot be listened on, or is not there yet, is tried again after this.
const AGAIN: Duration = Duration::from_secs(10);

/// After a connection that could not be taken.
const PAUSE: Duration = Duration::from_millis(100);

/// Who is asked about this head itself.
pub type Own = Arc<dyn Fn() -> Answering + Send + Sync>;

/// Why which address is not listened on.
#[derive(Clone, Debug, Default)]
pub struct Trouble(Arc<Mutex<BTreeMap<SocketAddr, Why>>>);

/// Why, and whether it has been said.
#[derive(Clone, Debug)]
struct Why {
    words: String,
    is_said: bool,
}

impl Trouble {
    /// What is new since it was asked last, in words.
    pub fn said(&self) -> Vec<String> {
        let mut all = locked(&self.0);
        let new = all.iter_mut().filter(|(_, why)| !why.is_said);
        new.map(|(address, why)| {
            why.is_said = true;
            format!(
                "the other heads' watches are not listened to at {address}: {}",
                why.words
            )
        })
        .collect()
    }

    fn take(&self, address: SocketAddr, words: String) {
        let mut all = locked(&self.0);
        let is_said = all
            .get(&address)
            .is_some_and(|why| why.is_said && why.words == words);
        all.insert(address, Why { words, is_said });
    }
}

/// Listens on each heartbeat link of this head from then on, each on a thread of its own.
///
/// # Errors
/// There is no thread to be had.
pub fn listen(threads: &mut Threads, ring: &Arc<Ring>, own: &Own) -> io::Result<Trouble> {
    let trouble = Trouble::default();
    let slots = Slots::new(AT_ONCE);
    for address in ring.listens.clone() {
        let (ring, own) = (Arc::clone(ring), Arc::clone(own));
        let (trouble, slots) = (trouble.clone(), Arc::clone(&slots));
        let work = move || {
            loop {
                match TcpListener::bind(address) {
                    Ok(listener) => {
                        locked(&trouble.0).remove(&address);
                        accept(&listener, &ring, &own, &slots);
                    }
                    Err(e) => trouble.take(address, e.to_string()),
                }
                thread::sleep(AGAIN);
            }
        };
        threads.start("heads", work)?;
    }
    Ok(trouble)
}

/// Takes who comes from an address of another head; anybody else is let go before he has said a word.
fn accept(listener: &TcpListener, ring: &Arc<Ring>, own: &Own, slots: &Arc<Slots>) {
    loop {
        match listener.accept() {
            Ok((stream, from)) if ring.has(from.ip()) => {
                let Some(slot) = slots.take() else {
                    continue;
                };
                let (ring, own) = (Arc::clone(ring), Arc::clone(own));
                let work = move || {
                    // Who has no key, or is gone, has what he gets.
                    let _ended = converse(stream, &ring, own.as_ref());
                    drop(slot);
                };
                let started = thread::Builder::new().name("head".into()).spawn(work);
                if started.is_err() {
                    thread::sleep(PAUSE);
                }
            }
            Ok(_) => {}
            Err(_) => thread::sleep(PAUSE),
        }
    }
}

fn converse(
    stream: TcpStream,
    ring: &Ring,
    own: &(dyn Fn() -> Answering + Send + Sync),
) -> Result<(), ChannelError> {
    let Ok(key) = key::read(&ring.secret) else {
        return Err(ChannelError::Key);
    };
    let mut channel = Channel::accept(stream, &key, &ring.meant(&ring.own))?;
    drop(key);
    let until = Instant::now() + LASTS;
    // Only who has the key can ask; a greeting alone may be an old one, said again.
    let mut question = channel.receive(QUESTION, GREETING)?;
    let mut answering = own();
    while Instant::now() < until {
        channel.send(&answering.answer(&question), TAKES)?;
        question = channel.receive(QUESTION, IDLE)?;
    }
    Ok(())
}

/// Who answers on this head: by what its watch shows, and by what it has on its disk.
pub fn of_head(own: HostName, board: Board) -> Own {
    Arc::new(move || Answering::new(board.clone(), hawser_agent::own(own.clone())))
}
