//! The picture on the whole screen, which is given back as it was however this ends.

use std::fs::File;
use std::io::{self, IsTerminal, Stdout, stdin, stdout};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hawser_model::output::top::TopPicture;
use hawser_top::{Looks, Then, View, ViewInput, draw, pressed};
use hawser_watch::readers::Readers;
use hawser_watch::run::EVERY;
use miette::{IntoDiagnostic, WrapErr};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};

use super::explained;

/// How long a key is waited for before it is looked whether a signal has come.
const KEYS: Duration = Duration::from_millis(100);

/// Whether the terminal can be drawn upon.
pub fn can_draw() -> bool {
    std::env::var("TERM").is_ok_and(|term| !term.is_empty() && term != "dumb")
}

/// Shows the picture until its reader ends it; the last one.
pub fn run(readers: &Readers, ends: &AtomicBool) -> miette::Result<TopPicture> {
    let shown = Screen::open().and_then(|mut screen| {
        let outcome = screen.show(readers, ends);
        drop(screen);
        outcome
    });
    let (picture, broken) = shown
        .into_diagnostic()
        .wrap_err("cannot draw on this terminal (--plain prints lines)")?;
    match broken {
        true => readers
            .threads()
            .check()
            .into_diagnostic()
            .map(|()| picture),
        false => Ok(picture),
    }
}

/// A terminal in whose keys and lines nobody else has a say, and where its keys come from.
struct Screen(Terminal<CrosstermBackend<Stdout>>, OwnedFd);

impl Screen {
    fn open() -> io::Result<Self> {
        let before = panic::take_hook();
        // What a panic says would be on a screen that is gone with it.
        panic::set_hook(Box::new(move |what| {
            give_back();
            before(what);
        }));
        enable_raw_mode()?;
        let opened = execute!(stdout(), EnterAlternateScreen)
            .and_then(|()| Terminal::new(CrosstermBackend::new(stdout())));
        opened
            .and_then(|terminal| Ok(Self(terminal, keys()?)))
            .inspect_err(|_| give_back())
    }

    /// The last picture, and whether it ended because nobody reads the heads any more.
    fn show(&mut self, readers: &Readers, ends: &AtomicBool) -> io::Result<(TopPicture, bool)> {
        let looks = looks();
        let mut view = View::default();
        let mut newest = readers.picture();
        let mut shown = newest.clone();
        let mut read = Instant::now();
        loop {
            let broken = readers.threads().check().is_err();
            if broken || ends.load(Ordering::Relaxed) {
                return Ok((newest, broken));
            }
            if read.elapsed() >= EVERY {
                newest = readers.picture();
                read = Instant::now();
            }
            if !view.paused {
                shown.clone_from(&newest);
            }
            let size = self.0.size()?;
            let seen = ViewInput {
                picture: &shown,
                explain: &explained,
                size: (size.width, size.height),
            };
            self.0.draw(|frame| draw(frame, seen, &view, looks))?;
            let left = EVERY.saturating_sub(read.elapsed());
            if !pressed_within(self.1.as_fd(), KEYS.min(left))? || !event::poll(Duration::ZERO)? {
                continue;
            }
            if let Event::Key(key) = event::read()? {
                if key.kind == KeyEventKind::Release {
                    continue;
                }
                let (now, then) = pressed(view, key, seen);
                view = now;
                match then {
                    Then::Stay => {}
                    Then::Again => readers.again(),
                    Then::End => return Ok((newest, false)),
                }
            }
        }
    }
}

/// Where `crossterm` reads keys too.
fn keys() -> io::Result<OwnedFd> {
    match stdin().is_terminal() {
        true => stdin().as_fd().try_clone_to_owned(),
        false => Ok(File::open("/dev/tty")?.into()),
    }
}

/// Whether something can be read within so long. A terminal that is gone is an error: `crossterm` reads the end of it
/// again and again, and sees no signal meanwhile.
fn pressed_within(keys: BorrowedFd<'_>, long: Duration) -> io::Result<bool> {
    let mut keys = [PollFd::new(keys, PollFlags::POLLIN)];
    let long = PollTimeout::try_from(long).unwrap_or(PollTimeout::ZERO);
    match poll(&mut keys, long) {
        // A signal, which the caller looks for.
        Err(Errno::EINTR) => return Ok(false),
        other => other?,
    };
    let seen = keys[0].revents().unwrap_or(PollFlags::empty());
    if seen.intersects(PollFlags::POLLHUP | PollFlags::POLLERR | PollFlags::POLLNVAL) {
        return Err(io::Error::new(
            io::ErrorKind::UnexpectedEof,
            "the terminal is gone",
        ));
    }
    Ok(seen.contains(PollFlags::POLLIN))
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

/// Gives the terminal back; nobody can be told that it failed.
fn give_back() {
    let _raw = disable_raw_mode();
    let _screen = execute!(stdout(), LeaveAlternateScreen, Show);
}

/// What the terminal can show, by what its reader has said of it.
fn looks() -> Looks {
    let said = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(said);
    let locale = locale.unwrap_or_default().to_ascii_lowercase();
    Looks {
        colours: console::colors_enabled(),
        unicode: locale.contains("utf-8") || locale.contains("utf8"),
    }
}

#[cfg(test)]
mod tests {
    use nix::pty::openpty;

    use super::*;

    #[test]
    fn a_terminal_that_is_gone_ends_the_picture() {
        let pty = openpty(None, None).expect("a terminal");
        let keys = pty.slave.as_fd();
        assert!(!pressed_within(keys, Duration::ZERO).expect("it is there"));
        drop(pty.master);
        pressed_within(keys, Duration::ZERO).expect_err("it is gone");
    }
}
