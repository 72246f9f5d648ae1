//! What a key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use crate::more::covering;
use crate::view::{Over, View, ViewInput};

/// So many rows are a page.
const PAGE: isize = 10;

/// What comes of a key, beside the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Nothing.
    Stay,
    /// The heads are asked for all again.
    Again,
    /// It ends.
    End,
}

/// Where the reader stands after a key.
pub fn pressed(mut view: View, key: KeyEvent, seen: ViewInput<'_>) -> (View, Then) {
    let control = key.modifiers.contains(KeyModifiers::CONTROL);
    let then = match key.code {
        KeyCode::Char('c' | 'C') if control => Then::End,
        _ if control || key.modifiers.contains(KeyModifiers::ALT) => Then::Stay,
        KeyCode::Char('q' | 'Q') | KeyCode::F(10) => Then::End,
        KeyCode::Char('r' | 'R') => Then::Again,
        KeyCode::Char(' ') => {
            view.paused = !view.paused;
            Then::Stay
        }
        KeyCode::Char('?' | 'h' | 'H') | KeyCode::F(1) => {
            view.over = match view.over {
                Some(Over::Help(_)) => None,
                _ => Some(Over::Help(0)),
            };
            Then::Stay
        }
        KeyCode::Esc => {
            view.over = None;
            Then::Stay
        }
        KeyCode::Enter => {
            let nothing = view.chosen(seen.picture, view.part).is_none();
            view.over = match view.over {
                None if !nothing => Some(Over::More(0)),
                _ => None,
            };
            Then::Stay
        }
        KeyCode::Tab | KeyCode::Right | KeyCode::Char('l') => {
            view.over = None;
            view.part = view.part.next();
            Then::Stay
        }
        KeyCode::BackTab | KeyCode::Left => {
            view.over = None;
            view.part = view.part.before();
            Then::Stay
        }
        KeyCode::Down | KeyCode::Char('j' | 'J') => moved(&mut view, seen, 1),
        KeyCode::Up | KeyCode::Char('k' | 'K') => moved(&mut view, seen, -1),
        KeyCode::PageDown => moved(&mut view, seen, PAGE),
        KeyCode::PageUp => moved(&mut view, seen, -PAGE),
        KeyCode::Home | KeyCode::Char('g') => moved(&mut view, seen, isize::MIN),
        KeyCode::End | KeyCode::Char('G') => moved(&mut view, seen, isize::MAX),
        _ => Then::Stay,
    };
    (view, then)
}

/// So many rows on, in what covers the picture or among the rows of the part.
fn moved(view: &mut View, seen: ViewInput<'_>, by: isize) -> Then {
    let from = |at: usize, last: usize| match by {
        isize::MIN => 0,
        isize::MAX => last,
        by => at.saturating_add_signed(by).min(last),
    };
    if let Some((_, lines, above)) = covering(seen, view) {
        let shown = crate::screen::body(seen.size).saturating_sub(1);
        let last = lines.len().saturating_sub(shown);
        match &mut view.over {
            Some(Over::Help(at) | Over::More(at)) => *at = from(above, last),
            None => {}
        }
        return Then::Stay;
    }
    if let Some(at) = view.chosen(seen.picture, view.part) {
        view.choose(seen.picture, from(at, usize::MAX));
    }
    Then::Stay
}
