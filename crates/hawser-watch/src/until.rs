//! The end of what is under way on a connection.

use std::future::Future;
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::{Instant, timeout};

use crate::locked::locked;

/// Until when what is under way on a connection may take; nothing may be under way.
#[derive(Debug, Default)]
pub struct Until(Mutex<Option<Instant>>);

impl Until {
    /// Something begins that may take so long.
    pub fn within(&self, time: Duration) {
        self.set(Some(Instant::now() + time));
    }

    /// Nothing is under way.
    pub fn open(&self) {
        self.set(None);
    }

    /// Works, unless the time is over before; it is looked at this often.
    pub async fn or_over(&self, looks: Duration, work: impl Future<Output = ()>) {
        let mut work = pin!(work);
        while !self.is_over() {
            if timeout(looks, work.as_mut()).await.is_ok() {
                return;
            }
        }
    }

    fn is_over(&self) -> bool {
        locked(&self.0).is_some_and(|until| Instant::now() >= until)
    }

    fn set(&self, until: Option<Instant>) {
        *locked(&self.0) = until;
    }
}
