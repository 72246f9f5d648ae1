//! Open pages, and what each is sent: never more than one message at a time, and always the newest.
//!
//! A page that is behind skips what it missed. A message is one text for all pages that are sent it, so what is held for
//! pages that are slow does not grow with their number, nor with time: one that has not taken its message within
//! [`SLOWEST`] is closed, and its browser comes again. All of it without a thread a page; the sockets do not block.

use std::io::{self, ErrorKind, Read, Write};
use std::sync::Arc;
use std::time::Duration;

/// A message must be taken within so long.
pub const SLOWEST: Duration = Duration::from_secs(20);

/// A page that was sent nothing for so long is sent a line without meaning: whoever is gone is noticed.
const QUIET: Duration = Duration::from_secs(15);

/// The line without meaning.
const NOTHING: &[u8] = b":\n\n";

/// What stands before the first event.
const HEAD: &[u8] = b"retry: 3000\n\n";

/// What is sent when something is new.
#[derive(Clone, Debug)]
pub struct News {
    /// All that is shown.
    pub whole: Arc<[u8]>,
    /// What of it is new, for a page that had all before it.
    pub change: Arc<[u8]>,
}

/// Open pages.
#[derive(Debug)]
pub struct Pages<S> {
    open: Vec<Page<S>>,
    news: Option<News>,
    number: u64,
}

#[derive(Debug)]
struct Page<S> {
    socket: S,
    /// The number of the news that it was sent last.
    has: u64,
    out: Option<Out>,
    /// When it had taken its last message, or came.
    idle: Duration,
}

#[derive(Debug)]
struct Out {
    text: Arc<[u8]>,
    went: usize,
    begun: Duration,
}

impl<S> Default for Pages<S> {
    fn default() -> Self {
        Self {
            open: Vec::new(),
            news: None,
            number: 0,
        }
    }
}

impl<S: Read + Write> Pages<S> {
    /// Takes one that has just been opened. Its socket must not block.
    pub fn join(&mut self, socket: S, now: Duration) {
        let text = Arc::from(HEAD);
        self.open.push(Page {
            socket,
            has: 0,
            out: Some(Out {
                text,
                went: 0,
                begun: now,
            }),
            idle: now,
        });
    }

    /// Something is new.
    pub fn news(&mut self, news: News) {
        self.news = Some(news);
        self.number += 1;
    }

    /// Sends each page as much as it takes without waiting; one that is gone or too slow is closed. True if some have
    /// something left to take.
    pub fn push(&mut self, now: Duration) -> bool {
        let (news, number) = (self.news.as_ref(), self.number);
        self.open
            .retain_mut(|page| page.push(news, number, now).is_ok());
        self.open.iter().any(|page| page.out.is_some())
    }

    /// How many are open.
    pub fn len(&self) -> usize {
        self.open.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// How many bytes are held for them.
    pub fn held(&self) -> usize {
        let out = self.open.iter().filter_map(|page| page.out.as_ref());
        let news = self
            .news
            .iter()
            .flat_map(|news| [&news.whole, &news.change]);
        let mut all: Vec<&Arc<[u8]>> = out.map(|out| &out.text).chain(news).collect();
        all.sort_by_key(|text| text.as_ptr());
        all.dedup_by_key(|text| text.as_ptr());
        all.iter().map(|text| text.len()).sum()
    }
}

impl<S: Read + Write> Page<S> {
    fn push(&mut self, news: Option<&News>, number: u64, now: Duration) -> io::Result<()> {
        self.is_there()?;
        loop {
            let Some(mut out) = self.out.take().or_else(|| self.next(news, number, now)) else {
                return Ok(());
            };
            // What is written to a socket with TLS is gone when it is flushed.
            let went = match &out.text[out.went..] {
                [] => self.socket.flush().map(|()| None),
                rest => self.socket.write(rest).map(Some),
            };
            match went {
                Ok(None) => {
                    self.idle = now;
                    continue;
                }
                Ok(Some(0)) => return Err(ErrorKind::WriteZero.into()),
                Ok(Some(went)) => out.went += went,
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => {
                    if now.saturating_sub(out.begun) >= SLOWEST {
                        return Err(ErrorKind::TimedOut.into());
                    }
                    self.out = Some(out);
                    return Ok(());
                }
                Err(e) => return Err(e),
            }
            self.out = Some(out);
        }
    }

    /// The next message, if there is one.
    fn next(&mut self, news: Option<&News>, number: u64, now: Duration) -> Option<Out> {
        let text = match news {
            Some(news) if self.has < number => {
                let followed = self.has > 0 && self.has + 1 == number;
                self.has = number;
                Arc::clone(if followed { &news.change } else { &news.whole })
            }
            _ if now.saturating_sub(self.idle) >= QUIET => Arc::from(NOTHING),
            _ => return None,
        };
        Some(Out {
            text,
            went: 0,
            begun: now,
        })
    }

    /// Whoever has an open page has nothing more to say: what comes is thrown away, its end is the page's.
    fn is_there(&mut self) -> io::Result<()> {
        match self.socket.read(&mut [0; 512]) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(()),
            Err(e) => Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::rc::Rc;

    use super::*;

    /// A browser that takes so many bytes each time it is asked.
    #[derive(Clone)]
    struct Browser {
        takes: usize,
        got: Rc<RefCell<Vec<u8>>>,
        left: Rc<RefCell<usize>>,
        gone: bool,
    }

    impl Browser {
        fn new(takes: usize) -> Self {
            Self {
                takes,
                got: Rc::default(),
                left: Rc::default(),
                gone: false,
            }
        }

        fn text(&self) -> String {
            String::from_utf8(self.got.borrow().clone()).unwrap()
        }
    }

    impl Read for Browser {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            // Once a round: from now on it takes as much again.
            *self.left.borrow_mut() = self.takes;
            match self.gone {
                true => Ok(0),
                false => Err(ErrorKind::WouldBlock.into()),
            }
        }
    }

    impl Write for Browser {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut left = self.left.borrow_mut();
            let takes = bytes.len().min(*left);
            if takes == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            *left -= takes;
            self.got.borrow_mut().extend(&bytes[..takes]);
            Ok(takes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn news(number: u64, length: usize) -> News {
        let text = |kind: &str| {
            let text = format!("{kind}{number} ");
            Arc::from(text.repeat(length).into_bytes())
        };
        News {
            whole: text("whole"),
            change: text("change"),
        }
    }

    fn second(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    #[test]
    fn a_page_gets_the_whole_once_and_then_what_is_new() {
        let (mut pages, browser) = (Pages::default(), Browser::new(1000));
        pages.news(news(1, 1));
        pages.join(browser.clone(), second(0));
        assert!(!pages.push(second(0)));
        pages.news(news(2, 1));
        assert!(!pages.push(second(1)));
        assert!(!pages.push(second(2)));
        assert_eq!(browser.text(), "retry: 3000\n\nwhole1 change2 ");
        assert!(!pages.push(second(16)));
        assert!(browser.text().ends_with("change2 :\n\n"));
    }

    #[test]
    fn a_page_that_is_behind_gets_the_whole_of_the_newest_and_nothing_in_between() {
        let (mut pages, browser) = (Pages::default(), Browser::new(4));
        pages.join(browser.clone(), second(0));
        for n in 1..=9 {
            pages.news(news(n, 4));
            assert!(pages.push(second(n)));
        }
        for n in 10..20 {
            pages.push(second(n));
        }
        let (fourth, ninth) = ("whole4 ".repeat(4), "whole9 ".repeat(4));
        assert_eq!(browser.text(), format!("retry: 3000\n\n{fourth}{ninth}"));
    }

    #[test]
    fn one_that_takes_nothing_is_closed_and_so_is_one_that_is_gone() {
        let mut pages = Pages::default();
        pages.join(Browser::new(0), second(0));
        let mut gone = Browser::new(1000);
        gone.gone = true;
        pages.join(gone, second(0));
        pages.join(Browser::new(1), second(0));
        pages.news(news(1, 100));
        pages.push(second(1));
        assert_eq!(pages.len(), 2);
        for n in 2..=20 {
            pages.push(second(n));
        }
        assert_eq!(pages.len(), 1);
        // A byte a second is too slow for a message that is longer than that.
        for n in 21..60 {
            pages.push(second(n));
        }
        assert!(pages.is_empty());
    }

    #[test]
    fn two_hundred_slow_pages_hold_no_more_than_the_messages_of_their_time() {
        let mut pages = Pages::default();
        let length = news(1_000, 5_000).whole.len() + news(1_000, 5_000).change.len();
        let mut held = 0;
        for n in 1..300 {
            // A few come each second, and none takes a whole message in its time.
            for _ in 0..20 {
                if pages.len() < 200 {
                    pages.join(Browser::new(7), second(n));
                }
            }
            pages.news(news(n, 5_000));
            pages.push(second(n));
            held = held.max(pages.held());
        }
        assert!(pages.len() <= 200);
        let bound = length * (SLOWEST.as_secs() as usize + 2);
        assert!(held <= bound, "{held} of {bound}");
    }
}
