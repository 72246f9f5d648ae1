//! A volume behind several addresses, by libiscsi: one session at a time, another address when
//! this one fails.
//!
//! Whether an address can be reached is asked by connections of our own that do not wait for TCP's
//! back-off: with it, a client finds a pool that has moved up to 5.5 s late (measured).

mod ffi;
pub mod reader;
mod session;

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use hawser_client::stamp::{self, BLOCK, Page};
use hawser_client::target::Target;
use hawser_client::volume::{Event, Facts, Order, Volume};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use socket2::{Domain, Protocol, Socket, Type};

use self::session::{Answer, Refusal, Session};

/// Without an answer for so long, it is asked whether the address still accepts connections.
const DOUBT: Duration = Duration::from_millis(150);
/// A new question is put so often.
const ASK: Duration = Duration::from_millis(20);
/// A question that has no answer by now will have none.
const GIVE_UP: Duration = Duration::from_millis(200);
/// Without an answer for so long on an address that accepts connections, the session is given up.
const HUNG: Duration = Duration::from_secs(3);
/// A login takes no longer.
const LOGIN: Duration = Duration::from_millis(1500);
/// Numbers of our own questions, beyond those of orders.
const CAPACITY: u64 = u64::MAX;
const CACHING: u64 = u64::MAX - 1;

struct Question {
    portal: usize,
    socket: Socket,
    asked: Instant,
}

/// The volume.
pub struct Paths {
    target: Target,
    writer: u8,
    chance: u64,
    session: Option<Session>,
    portal: usize,
    login_since: Option<Instant>,
    up: bool,
    capacity: Option<u32>,
    cache: Option<bool>,
    waiting: std::collections::BTreeMap<u64, Instant>,
    heard: Instant,
    questions: Vec<Question>,
    asked: Instant,
    /// The address in use has not answered since it is in doubt.
    silent: bool,
}

impl Paths {
    /// Begins with the address of this number.
    pub fn new(target: Target, writer: u8, seed: u64) -> Self {
        Self {
            portal: usize::from(writer) % target.portals.len(),
            writer,
            chance: seed ^ u64::from(writer),
            target,
            session: None,
            login_since: None,
            up: false,
            capacity: None,
            cache: None,
            waiting: Default::default(),
            heard: Instant::now(),
            questions: Vec::new(),
            asked: Instant::now(),
            silent: true,
        }
    }

    fn lose(&mut self, events: &mut Vec<Event>) {
        if self.up {
            events.push(Event::PathLost(self.portal as u8));
        }
        self.session = None;
        self.login_since = None;
        self.up = false;
        self.silent = true;
        self.waiting.clear();
    }

    fn log_in(&mut self, portal: usize, events: &mut Vec<Event>) {
        self.lose(events);
        self.questions.clear();
        self.portal = portal;
        events.push(Event::Connected(portal as u8));
        let address = self.target.portals[portal].to_string();
        let isid = stamp::mixed(&mut self.chance) as u32;
        match Session::login(&self.target, (isid, self.writer), &address) {
            Ok(session) => {
                self.session = Some(session);
                self.login_since = Some(Instant::now());
            }
            Err(why) => events.push(Event::Said(why)),
        }
    }

    /// Asks the addresses whether they accept connections, and moves when it must.
    fn look_around(&mut self, events: &mut Vec<Event>) {
        let now = Instant::now();
        let oldest = self.waiting.values().min().copied();
        let silence = oldest.map_or(Duration::ZERO, |sent| now - sent.max(self.heard));
        if self.login_since.is_some_and(|since| now - since > LOGIN) {
            self.lose(events);
        }
        let doubt = self.up && silence > DOUBT;
        if self.session.is_some() && !doubt {
            self.questions.clear();
            self.silent = false;
            return;
        }
        if now - self.asked >= ASK {
            self.asked = now;
            for portal in 0..self.target.portals.len() {
                if self.questions.iter().filter(|q| q.portal == portal).count() < 3 {
                    match ask(self.target.portals[portal]) {
                        Ok(socket) => self.questions.push(Question {
                            portal,
                            socket,
                            asked: now,
                        }),
                        // No way there: as good as silence.
                        Err(_) => self.silent |= portal == self.portal,
                    }
                }
            }
        }
        let mut reached = None;
        let (mine, mut silent) = (self.portal, self.silent);
        self.questions
            .retain(|question| match answered(&question.socket) {
                Some(true) => {
                    // The address in use is preferred.
                    if reached != Some(mine) {
                        reached = Some(question.portal);
                    }
                    false
                }
                Some(false) => {
                    silent |= question.portal == mine;
                    false
                }
                None if now - question.asked > GIVE_UP => {
                    silent |= question.portal == mine;
                    false
                }
                None => true,
            });
        self.silent = silent;
        if let Some(portal) = reached {
            if self.session.is_none() || self.silent || silence > HUNG {
                self.log_in(portal, events);
            }
        }
    }

    /// How long until it is time to look around again, if nothing is heard.
    fn looks_around_in(&self) -> Duration {
        let now = Instant::now();
        let due = match (self.login_since, self.waiting.values().min()) {
            (Some(since), _) => since + LOGIN,
            (None, Some(sent)) => (*sent).max(self.heard) + DOUBT,
            (None, None) if self.session.is_some() => now + ASK,
            (None, None) => now,
        };
        due.max(self.asked + ASK).saturating_duration_since(now)
    }

    fn hear(&mut self, answer: Answer, events: &mut Vec<Event>) -> bool {
        match answer {
            Answer::Login(Ok(())) => {
                self.login_since = None;
                self.heard = Instant::now();
                let Some(session) = &mut self.session else {
                    return true;
                };
                if self.capacity.is_some() && self.cache.is_some() {
                    self.up = true;
                    events.push(Event::PathUp(self.portal as u8));
                    return true;
                }
                session.ask_capacity(CAPACITY) && session.ask_caching(CACHING)
            }
            Answer::Login(Err(why)) => {
                let portal = self.target.portals[self.portal].to_string();
                events.push(Event::LoginRefused(portal, why));
                false
            }
            Answer::Order(number @ (CAPACITY | CACHING), Ok(Some(page))) => {
                if number == CAPACITY {
                    self.capacity = Some(blocks(&page));
                } else {
                    self.cache = Some(has_cache(&page));
                }
                if self.capacity.is_some() && self.cache.is_some() {
                    self.up = true;
                    events.push(Event::PathUp(self.portal as u8));
                }
                true
            }
            Answer::Order(CAPACITY | CACHING, Err(_)) | Answer::Order(_, Err(Refusal::Session)) => {
                false
            }
            Answer::Order(number, Ok(page)) => {
                self.waiting.remove(&number);
                self.heard = Instant::now();
                events.push(Event::Done(number, page));
                true
            }
            Answer::Order(number, Err(Refusal::Target(why))) => {
                self.waiting.remove(&number);
                events.push(Event::Refused(number, why));
                true
            }
            // Nothing of any length was asked for.
            Answer::Chunk(_) => true,
        }
    }
}

impl Volume for Paths {
    fn send(&mut self, number: u64, order: &Order) {
        if let Some(session) = self.session.as_mut().filter(|_| self.up) {
            // One that is not taken shows itself by the session's end.
            if session.send(number, order) {
                self.waiting.insert(number, Instant::now());
            }
        }
    }

    fn wait(&mut self, patience: Duration, events: &mut Vec<Event>) -> io::Result<()> {
        self.look_around(events);
        let patience = patience.min(self.looks_around_in());
        let Some(session) = &mut self.session else {
            return wait_until_ready(&mut asked(&self.questions).collect::<Vec<_>>(), patience);
        };
        let alive = match session.poll() {
            None => false,
            Some(session_fd) => {
                let revents = wait_for(session_fd, &self.questions, patience)?;
                session.service(revents)
            }
        };
        let answers = session.answers();
        let mut kept = alive;
        for answer in answers {
            kept &= self.hear(answer, events);
        }
        if !kept {
            self.lose(events);
        }
        Ok(())
    }

    fn facts(&self) -> Option<Facts> {
        Some(Facts {
            blocks: self.capacity?,
            cache: self.cache?,
        })
    }

    fn ready(&self) -> bool {
        self.up
    }
}

/// A connection in the making.
fn ask(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(
        Domain::for_address(address),
        Type::STREAM,
        Some(Protocol::TCP),
    )?;
    socket.set_nonblocking(true)?;
    match socket.connect(&address.into()) {
        Err(e) if e.raw_os_error() != Some(nix::libc::EINPROGRESS) => Err(e),
        _ => Ok(socket),
    }
}

/// Whether it came about; `None`: not known yet.
fn answered(socket: &Socket) -> Option<bool> {
    let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLOUT)];
    match poll(&mut polled, PollTimeout::ZERO) {
        Ok(0) => None,
        Ok(_) => Some(matches!(socket.take_error(), Ok(None)) && socket.peer_addr().is_ok()),
        Err(_) => Some(false),
    }
}

/// Waits for a session's descriptor, or until an address answers whether it accepts connections. Answers what can be done with
/// the session.
fn wait_for(session: (i32, i32), questions: &[Question], patience: Duration) -> io::Result<i32> {
    let (fd, wanted) = session;
    session::with_descriptor(fd, |fd| {
        let flags = PollFlags::from_bits_truncate(wanted as i16);
        let session = PollFd::new(fd, flags);
        let mut polled: Vec<_> = std::iter::once(session).chain(asked(questions)).collect();
        wait_until_ready(&mut polled, patience)?;
        Ok(polled[0].revents().map_or(0, |r| i32::from(r.bits())))
    })
}

fn asked(questions: &[Question]) -> impl Iterator<Item = PollFd<'_>> {
    let sockets = questions.iter().map(|it| it.socket.as_fd());
    sockets.map(|socket| PollFd::new(socket, PollFlags::POLLOUT))
}

fn wait_until_ready(polled: &mut [PollFd<'_>], patience: Duration) -> io::Result<()> {
    let timeout = u16::try_from(patience.as_millis().max(1)).unwrap_or(20);
    match poll(polled, PollTimeout::from(timeout)) {
        Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Of READ CAPACITY (16): how many sectors there are, and bytes in a sector.
fn sectors(page: &Page) -> (u64, u64) {
    let number = |range: std::ops::Range<usize>| {
        page.0[range]
            .iter()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte))
    };
    (number(0..8).saturating_add(1), number(8..12))
}

fn blocks(page: &Page) -> u32 {
    let (count, size) = sectors(page);
    u32::try_from(count.saturating_mul(size) / BLOCK as u64).unwrap_or(u32::MAX)
}

/// Of MODE SENSE (6) without block descriptors: byte 2 of the caching page, bit 2 (WCE, SBC-3 6.5.5).
fn has_cache(page: &Page) -> bool {
    let at = 4 + usize::from(page.0[3]);
    page.0[at] & 0x3f == 8 && page.0[at + 2] & 4 != 0
}
