//! Working for somebody else, over pipes: what to do comes on standard input, the history and all else goes to
//! standard output. Nothing is written on this host, and nothing of this program outlives whoever started it.

use std::fs;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, TryRecvError, channel};
use std::thread;
use std::time::Duration;

use clap::Parser;
use hawser_client::history::Log;
use hawser_client::report::{SILENCE_S, Told, Word, preamble};

use super::{TOLD, WorkArgs, work};

/// The words of `run`, as they come on standard input.
#[derive(Parser)]
#[command(name = "hawser-client", no_binary_name = true)]
struct Words {
    #[command(flatten)]
    work: WorkArgs,
}

/// Obeys. The words come first, one a line, until an empty line; then the secret, when they name a user.
pub fn obey() -> Result<ExitCode, String> {
    remove_own_copy();
    let said = |e: io::Error| format!("write to standard output: {e}");
    writeln!(io::stdout(), "{}", preamble()).map_err(said)?;
    let lines = lines();
    let next = || match lines.recv_timeout(Duration::from_secs(SILENCE_S)) {
        Ok(line) => Ok(line),
        Err(_) => Err("nobody says what to do".to_owned()),
    };
    let mut words = Vec::new();
    loop {
        let word = next()?;
        if word.is_empty() {
            break;
        }
        words.push(word);
    }
    let args = Words::try_parse_from(words).map_err(|e| e.render().to_string())?;
    let secret = match args.work.chap_user {
        Some(_) => Some(next()?),
        None => None,
    };
    let (tell, told) = channel();
    let telling = thread::spawn(move || pass_on(&told));
    let log = Arc::new(Log::report(tell));
    let clock = Arc::clone(&log);
    // Ends with the process.
    thread::spawn(move || listen(&lines, &clock));
    let outcome = work(&args.work, &log, secret, || log.say(Word::Writing));
    log.say(match &outcome {
        Ok(read_back) => Word::Ended {
            read_back: *read_back,
        },
        Err(why) => Word::Failed(why.clone()),
    });
    let _nobody_listens_any_more = telling.join();
    Ok(ExitCode::from(match outcome {
        Ok(true) => 0,
        Ok(false) => 1,
        Err(_) => 2,
    }))
}

/// The lines of standard input; the channel closes where that ends.
fn lines() -> Receiver<String> {
    let (put, take) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            if put.send(line).is_err() {
                break;
            }
        }
    });
    take
}

/// Hears whoever started it, and ends when that is gone.
fn listen(lines: &Receiver<String>, log: &Log) {
    loop {
        match lines.recv_timeout(Duration::from_secs(SILENCE_S)) {
            Ok(line) => match Told::parse(&line) {
                Some(Told::Stop) => TOLD.store(true, Ordering::Relaxed),
                Some(Told::Clock(question)) => log.say(Word::Clock {
                    question,
                    at_us: log.now_us(),
                }),
                Some(Told::Alive) | None => {}
            },
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                std::process::exit(2)
            }
        }
    }
}

/// Writes what is said to standard output, up to the last word. When nobody reads any more, all ends.
fn pass_on(words: &Receiver<Word>) {
    let mut out = BufWriter::new(io::stdout());
    let mut next = words.recv().ok();
    while let Some(word) = next {
        let last = matches!(word, Word::Ended { .. } | Word::Failed(_));
        let mut written = writeln!(out, "{word}");
        next = match words.try_recv() {
            Ok(word) => Some(word),
            Err(TryRecvError::Disconnected) => None,
            Err(TryRecvError::Empty) => {
                written = written.and_then(|()| out.flush());
                match last {
                    true => None,
                    false => words.recv().ok(),
                }
            }
        };
        if written.is_err() {
            std::process::exit(2);
        }
    }
}

/// A copy that was sent here for this run alone (`hawser-DIGEST` in a folder `hawser`) goes from the disk as
/// soon as it runs: what is killed cleans nothing up.
fn remove_own_copy() {
    let Ok(own) = fs::read_link("/proc/self/exe") else {
        return;
    };
    if is_copy(&own) {
        // One that stays costs a little room, nothing else.
        let _stays = fs::remove_file(own);
    }
}

fn is_copy(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    let digest = name.and_then(|name| name.strip_prefix("hawser-"));
    path.parent()
        .is_some_and(|folder| folder.ends_with("hawser"))
        && digest.is_some_and(|it| it.len() == 64 && it.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_copy_that_was_sent_is_removed() {
        let digest = "ab".repeat(32);
        assert!(is_copy(Path::new(&format!("/run/hawser/hawser-{digest}"))));
        assert!(!is_copy(Path::new("/usr/local/sbin/hawser-client")));
        assert!(!is_copy(Path::new(&format!("/root/hawser-{digest}"))));
        assert!(!is_copy(Path::new("/run/hawser/hawser-client")));
    }
}
