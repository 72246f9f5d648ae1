//! Reading a unit in order with so many requests in flight: how fast the target is, by itself. Nothing is
//! ever written.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use hawser_client::target::Target;

use super::session::{Answer, Refusal, Session};
use super::{sectors, wait_for};

/// Bytes of one request: what the sockets of a ladder are given too.
const REQUEST: usize = 128 << 10;

/// The rate is said in slices of this time.
const SLICE: Duration = Duration::from_millis(50);

/// The target answers something within so long, or never.
const HUNG: Duration = Duration::from_secs(3);

/// Tells its session from those of the writers.
const READER: u8 = u8::MAX;

/// What the first questions are called.
const CAPACITY: u64 = 0;

/// Reads for a time, from the start again at the end, and writes a line a slice: its nanoseconds and its
/// bytes. Ends when nobody reads the lines any more.
pub fn read(target: &Target, depth: u32, time: Duration, lines: impl Write) -> Result<(), String> {
    let portal = *target.portals.first().ok_or("no address was named")?;
    let begun = |e: String| format!("{portal}: {}", e.trim_end());
    // What libiscsi says of an address that nobody answers at is of its own reconnecting.
    TcpStream::connect_timeout(&portal, HUNG).map_err(|e| begun(format!("connect: {e}")))?;
    let session =
        Session::login(target, (std::process::id(), READER), &portal.to_string()).map_err(begun)?;
    Reader {
        session,
        unit: None,
        next: 0,
        heard: Instant::now(),
    }
    .work(depth, time, lines)
    .map_err(begun)
}

/// The sizes of a unit.
struct Unit {
    sectors: u64,
    sector: u64,
    request: usize,
}

struct Reader {
    session: Session,
    unit: Option<Unit>,
    /// The sector after the last one that was asked for.
    next: u64,
    heard: Instant,
}

impl Reader {
    fn work(&mut self, depth: u32, time: Duration, lines: impl Write) -> Result<(), String> {
        while self.unit.is_none() {
            for answer in self.answers()? {
                self.meet(answer)?;
            }
        }
        let request = self.unit.as_ref().map_or(REQUEST, |unit| unit.request);
        for _ in 0..depth {
            self.ask(vec![0; request].into())?;
        }
        self.measure(time, lines)
    }

    fn measure(&mut self, time: Duration, mut lines: impl Write) -> Result<(), String> {
        let begun = Instant::now();
        let (mut since, mut bytes) = (begun, 0);
        loop {
            for answer in self.answers()? {
                if let Answer::Chunk(read) = answer {
                    let buffer = read.map_err(refused)?;
                    bytes += buffer.len();
                    self.ask(buffer)?;
                }
            }
            let now = Instant::now();
            let over = now - begun >= time;
            if now - since >= SLICE || over {
                let line = writeln!(lines, "{} {bytes}", (now - since).as_nanos());
                match line.and_then(|()| lines.flush()) {
                    Err(e) if e.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                    said => said.map_err(|e| format!("write a line: {e}"))?,
                }
                (since, bytes) = (now, 0);
            }
            if over {
                return Ok(());
            }
        }
    }

    /// What was answered since the last time; waits for the next answer.
    fn answers(&mut self) -> Result<Vec<Answer>, String> {
        let session = self.session.poll().ok_or("the connection is gone")?;
        let revents = wait_for(session, &[], SLICE).map_err(|e| format!("poll: {e}"))?;
        let alive = self.session.service(revents);
        let answers = self.session.answers();
        if !answers.is_empty() {
            self.heard = Instant::now();
        } else if !alive {
            return Err("the target ended the connection".to_owned());
        } else if self.heard.elapsed() > HUNG {
            return Err(format!("no answer within {} s", HUNG.as_secs()));
        }
        Ok(answers)
    }

    /// Before the first read: the login, then the unit's size.
    fn meet(&mut self, answer: Answer) -> Result<(), String> {
        match answer {
            Answer::Login(Ok(())) => match self.session.ask_capacity(CAPACITY) {
                true => Ok(()),
                false => Err("the session takes no request".to_owned()),
            },
            Answer::Login(Err(why)) => Err(why),
            Answer::Order(_, page) => {
                let Some(page) = page.map_err(refused)? else {
                    return Ok(());
                };
                let (sectors, sector) = sectors(&page);
                if !(512..=REQUEST as u64).contains(&sector) {
                    return Err(format!("blocks of {sector} bytes"));
                }
                // A unit smaller than a request is read whole.
                let request = (sectors.saturating_mul(sector)).min(REQUEST as u64);
                self.unit = Some(Unit {
                    sectors,
                    sector,
                    request: (request / sector * sector) as usize,
                });
                Ok(())
            }
            Answer::Chunk(_) => Ok(()),
        }
    }

    fn ask(&mut self, buffer: Box<[u8]>) -> Result<(), String> {
        let unit = self.unit.as_ref().ok_or("the unit's size is not known")?;
        let sectors = buffer.len() as u64 / unit.sector;
        if self.next + sectors > unit.sectors {
            self.next = 0;
        }
        let taken = self.session.read(self.next, unit.sector as u32, buffer);
        self.next += sectors;
        match taken {
            true => Ok(()),
            false => Err("the session takes no request".to_owned()),
        }
    }
}

fn refused(why: Refusal) -> String {
    match why {
        Refusal::Target(why) => why,
        Refusal::Session => "the session has ended".to_owned(),
    }
}
