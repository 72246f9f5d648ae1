//! The threads of a watch, each of which lasts as long as the watch does.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Threads of which none ends by itself. Without one of them a watch is blind or mute although it goes on: who runs it ends it then,
/// so that it is started again.
#[derive(Debug, Default)]
pub struct Threads(Vec<JoinHandle<()>>);

/// One has ended.
#[derive(Debug, thiserror::Error)]
#[error("the thread `{0}` has ended: this is a defect of hawser")]
pub struct Ended(String);

impl Threads {
    /// One more.
    ///
    /// # Errors
    /// There is no thread to be had.
    pub fn start(&mut self, name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
        let thread = Builder::new().name(name.to_owned()).spawn(work)?;
        self.0.push(thread);
        Ok(())
    }

    /// That all of them last.
    ///
    /// # Errors
    /// One has ended.
    pub fn check(&self) -> Result<(), Ended> {
        match self.0.iter().find(|thread| thread.is_finished()) {
            None => Ok(()),
            Some(ended) => {
                let name = ended.thread().name();
                Err(Ended(name.unwrap_or_default().to_owned()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::thread;
    use std::time::Duration;

    use super::*;

    #[test]
    fn one_that_panics_is_named_and_those_that_last_are_well() {
        let mut threads = Threads::default();
        let (lasts, until) = channel::<()>();
        threads.start("look", move || _ = until.recv()).unwrap();
        threads.check().unwrap();
        threads.start("tell", || panic!("as planted")).unwrap();
        let ended = loop {
            match threads.check() {
                Ok(()) => thread::sleep(Duration::from_millis(1)),
                Err(ended) => break ended.to_string(),
            }
        };
        assert!(ended.starts_with("the thread `tell` has ended"), "{ended}");
        drop(lasts);
    }
}
