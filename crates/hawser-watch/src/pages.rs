//! An open page, and what it is sent: one message after the other, and always the newest.
//!
//! A page that is behind skips what it missed. A message is one text for all pages that are sent it, so what is held for
//! pages that are slow does not grow with their number, nor with time: one that has not taken its message within
//! [`SLOWEST`] is closed, and its browser comes again.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use futures_util::stream::{Stream, unfold};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::timeout;

use crate::until::Until;

/// Pages that are open at the same time; more are turned away, and come again.
pub const PAGES: usize = 256;

/// A message must be taken within so long.
const SLOWEST: Duration = Duration::from_secs(20);

/// A page that was sent nothing for so long is sent a line without meaning: whoever is gone is noticed.
const QUIET: Duration = Duration::from_secs(15);

/// The line without meaning.
const NOTHING: &[u8] = b":\n\n";

/// What stands before the first event.
const HEAD: &[u8] = b"retry: 3000\n\n";

/// What is sent when something is new.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// How many were made, this among them.
    pub number: u64,
    /// All that is shown.
    pub whole: Bytes,
    /// What of it is new, for a page that had all before it.
    pub change: Bytes,
}

/// What a page is sent from now on. `newest` makes the news of this moment, when `versions` has changed; the place among
/// those that are open is free when this is dropped.
pub fn events(
    mut versions: watch::Receiver<u64>,
    newest: impl Fn() -> News,
    until: Arc<Until>,
    place: OwnedSemaphorePermit,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    // It has seen nothing yet.
    versions.mark_changed();
    let page = Page {
        versions,
        newest,
        until,
        has: None,
        _place: place,
    };
    unfold(page, |mut page| async move {
        let text = page.next().await;
        Some((Ok(text), page))
    })
}

struct Page<N> {
    versions: watch::Receiver<u64>,
    newest: N,
    until: Arc<Until>,
    /// The number of the news that it was sent last, 0 before; nothing was sent at all.
    has: Option<u64>,
    _place: OwnedSemaphorePermit,
}

impl<N: Fn() -> News> Page<N> {
    /// Waits for the next message. It is asked for when there is room for it.
    async fn next(&mut self) -> Bytes {
        let text = match self.has {
            None => {
                self.has = Some(0);
                Bytes::from_static(HEAD)
            }
            Some(has) => {
                self.until.open();
                match timeout(QUIET, self.versions.changed()).await {
                    Ok(_) => {
                        let news = (self.newest)();
                        let followed = has > 0 && has + 1 == news.number;
                        self.has = Some(news.number);
                        if followed { news.change } else { news.whole }
                    }
                    Err(_) => Bytes::from_static(NOTHING),
                }
            }
        };
        self.until.within(SLOWEST);
        text
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;

    use futures_util::StreamExt;
    use tokio::sync::Semaphore;

    use super::*;

    /// A page that was opened, and what is put on the board.
    struct Opened {
        board: watch::Sender<u64>,
        until: Arc<Until>,
        stream: Pin<Box<dyn Stream<Item = Result<Bytes, Infallible>>>>,
        places: Arc<Semaphore>,
    }

    impl Opened {
        fn new() -> Self {
            let (board, until) = (watch::Sender::new(0), Arc::new(Until::default()));
            let places = Arc::new(Semaphore::new(1));
            let place = Arc::clone(&places).try_acquire_owned().unwrap();
            let now = board.subscribe();
            let newest = move || {
                let number = *now.borrow();
                let text = |kind| Bytes::from(format!("{kind}{number}"));
                News {
                    number,
                    whole: text("whole"),
                    change: text("change"),
                }
            };
            let stream = events(board.subscribe(), newest, Arc::clone(&until), place);
            let stream = Box::pin(stream);
            Self {
                board,
                until,
                stream,
                places,
            }
        }

        fn put(&self) {
            self.board.send_modify(|version| *version += 1);
        }

        async fn next(&mut self) -> String {
            let text = self.stream.next().await.unwrap().unwrap();
            String::from_utf8(text.to_vec()).unwrap()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_gets_the_whole_once_and_then_what_is_new() {
        let mut page = Opened::new();
        page.put();
        assert_eq!(page.next().await, "retry: 3000\n\n");
        assert_eq!(page.next().await, "whole1");
        page.put();
        assert_eq!(page.next().await, "change2");
        let begun = tokio::time::Instant::now();
        assert_eq!(page.next().await, ":\n\n");
        assert_eq!(begun.elapsed(), QUIET);
        page.put();
        assert_eq!(page.next().await, "change3");
        // It takes one message while two are made.
        page.put();
        page.put();
        assert_eq!(page.next().await, "whole5");
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_may_wait_for_ever_and_take_its_message_for_as_long_as_it_says() {
        let mut page = Opened::new();
        let over = |until: Arc<Until>| async move {
            let begun = tokio::time::Instant::now();
            let ever = std::future::pending();
            let day = Duration::from_secs(86_400);
            let ended = timeout(day, until.or_over(Duration::from_secs(1), ever)).await;
            ended.is_ok().then(|| begun.elapsed())
        };
        page.next().await;
        assert_eq!(over(Arc::clone(&page.until)).await, Some(SLOWEST));
        page.next().await;
        // It has taken that, and nothing is new.
        let waits = tokio::time::timeout(Duration::from_secs(1), page.stream.next()).await;
        assert!(waits.is_err());
        assert_eq!(over(Arc::clone(&page.until)).await, None);
    }

    #[tokio::test]
    async fn a_page_that_is_closed_leaves_its_place() {
        let page = Opened::new();
        assert_eq!(page.places.available_permits(), 0);
        let places = Arc::clone(&page.places);
        drop(page);
        assert_eq!(places.available_permits(), 1);
    }
}
