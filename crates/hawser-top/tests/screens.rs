//! The screen of saved pictures, in several sizes, and what names in them may not do to it.
//!
//! `tests/screens/` has each screen as text; `UPDATE_CASES=1 cargo test -p hawser-top --test screens` writes them again, for
//! a person to read the difference.

mod pictures;

use std::path::Path;

use hawser_model::output::top::TopPicture;
use hawser_model::visible::is_hidden;
use hawser_top::{Looks, Then, View, ViewInput, draw, pressed};
use pictures::{dead_head, degraded, healthy, hostile, planted};
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::style::Color;

const SIZES: [(u16, u16); 4] = [(80, 24), (100, 30), (200, 50), (40, 12)];

const LOOKS: Looks = Looks {
    colours: true,
    unicode: true,
};

fn explain(code: &str) -> Option<String> {
    let page = "link-down\n\nThe port has no carrier.\n\n  A cable, or the port of the switch.";
    (code == "link-down").then(|| page.to_owned())
}

fn seen(picture: &TopPicture, size: (u16, u16)) -> ViewInput<'_> {
    ViewInput {
        picture,
        explain: &explain,
        size,
    }
}

fn screen_of(picture: &TopPicture, view: &View, size: (u16, u16), looks: Looks) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let drawn = terminal.draw(|frame| draw(frame, seen(picture, size), view, looks));
    drawn.unwrap().buffer.clone()
}

fn screen(picture: &TopPicture, size: (u16, u16)) -> Buffer {
    screen_of(picture, &View::default(), size, LOOKS)
}

/// The screen as text: without the second half of a character of two columns, and without blanks at the end.
fn text(buffer: &Buffer) -> String {
    let row = |y: u16| {
        let mut row = String::new();
        let mut skip = 0;
        for x in 0..buffer.area.width {
            let symbol = buffer[(x, y)].symbol();
            if skip == 0 {
                row.push_str(symbol);
                skip = textwrap::core::display_width(symbol).max(1);
            }
            skip -= 1;
        }
        row.trim_end().to_owned() + "\n"
    };
    (0..buffer.area.height).map(row).collect()
}

#[track_caller]
fn held_against(name: &str, now: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/screens");
    let file = folder.join(name).with_extension("txt");
    if std::env::var_os("UPDATE_CASES").is_some() {
        std::fs::write(&file, now).unwrap();
    }
    let saved = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        saved == now,
        "{} is another one now:\n{now}",
        file.display()
    );
}

/// Types keys: one letter each, `\t` for Tab and `\n` for Enter.
fn typed(picture: &TopPicture, size: (u16, u16), keys: &str) -> View {
    keys.chars().fold(View::default(), |view, c| {
        let code = match c {
            '\t' => KeyCode::Tab,
            '\n' => KeyCode::Enter,
            c => KeyCode::Char(c),
        };
        let (view, then) = pressed(view, KeyEvent::from(code), seen(picture, size));
        assert_eq!(then, Then::Stay, "{c:?}");
        view
    })
}

#[test]
fn screens_of_all_sizes() {
    let all = [
        ("healthy", healthy()),
        ("degraded", degraded()),
        ("dead-head", dead_head()),
        ("hostile", hostile()),
    ];
    for (name, picture) in all {
        for size in SIZES {
            let (columns, rows) = size;
            held_against(
                &format!("{name}-{columns}x{rows}"),
                &text(&screen(&picture, size)),
            );
        }
    }
}

#[test]
fn an_alarm_is_explained_by_enter() {
    let picture = degraded();
    let size = (80, 24);
    let view = typed(&picture, size, "\n");
    let shown = text(&screen_of(&picture, &view, size, LOOKS));
    held_against("alarm-80x24", &shown);
    // The second alarm has no page, and is chosen by a key.
    let view = typed(&picture, size, "j\n");
    let shown = text(&screen_of(&picture, &view, size, LOOKS));
    assert!(shown.contains("Alarm heartbeat-link-lossy"), "{shown}");
    assert!(
        shown.contains("since 18:18:55 or before, 4 times"),
        "{shown}"
    );
    let help = typed(&picture, size, "?");
    held_against(
        "help-80x24",
        &text(&screen_of(&picture, &help, size, LOOKS)),
    );
}

#[test]
fn each_part_has_the_screen_to_itself_where_it_is_small() {
    let picture = degraded();
    let size = (40, 6);
    for (tabs, there) in [
        (0, "link-down"),
        (1, "head1"),
        (2, "ring0"),
        (3, "vmpool01"),
        (4, "head1"),
        (5, "2026-11-25 03:14:12"),
    ] {
        let view = typed(&picture, size, &"\t".repeat(tabs));
        let shown = text(&screen_of(&picture, &view, size, LOOKS));
        assert!(shown.contains(there), "{tabs}: {shown}");
    }
}

#[test]
fn a_row_that_is_chosen_is_on_the_screen_and_stays_chosen_when_others_come() {
    let mut picture = degraded();
    let many = (0..100).map(|n| {
        let mut alarm = picture.alarms[1].clone();
        alarm.place.object = Some(format!("thing {n}"));
        alarm.text = format!("trouble {n}");
        alarm
    });
    picture.alarms = many.collect();
    let size = (80, 24);
    let view = typed(&picture, size, &"j".repeat(57));
    assert!(text(&screen_of(&picture, &view, size, LOOKS)).contains("trouble 57"));
    picture.alarms.remove(3);
    let shown = text(&screen_of(&picture, &view, size, LOOKS));
    let chosen = shown.lines().find(|line| line.starts_with('>')).unwrap();
    assert!(chosen.contains("trouble 57"), "{shown}");
    // If it is gone, the one that is at its place now.
    let at = picture.alarms.iter().position(|a| a.text == "trouble 57");
    picture.alarms.remove(at.unwrap());
    let shown = text(&screen_of(&picture, &view, size, LOOKS));
    let chosen = shown.lines().find(|line| line.starts_with('>')).unwrap();
    assert!(chosen.contains("trouble 59"), "{shown}");
}

/// Whether a cell's character is one of the shapes.
fn is_shape(symbol: &str) -> bool {
    ["●", "○", "▲", "■"].contains(&symbol)
}

#[test]
fn a_colour_is_never_alone_and_none_is_used_where_none_is_wanted() {
    for picture in [healthy(), degraded(), dead_head()] {
        let buffer = screen(&picture, (100, 30));
        for y in 0..buffer.area.height {
            let row: Vec<_> = (0..buffer.area.width).map(|x| &buffer[(x, y)]).collect();
            let coloured = row.iter().any(|cell| cell.fg != Color::Reset);
            assert!(!coloured || row.iter().any(|cell| is_shape(cell.symbol())));
        }
        let plain = Looks {
            colours: false,
            unicode: true,
        };
        let plain = screen_of(&picture, &View::default(), (100, 30), plain);
        let mut cells = plain.content.iter();
        assert!(cells.all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset));
        assert_eq!(text(&plain), text(&buffer));
    }
}

#[test]
fn a_terminal_without_unicode_gets_none() {
    let ascii = Looks {
        colours: false,
        unicode: false,
    };
    for size in SIZES {
        let shown = text(&screen_of(&degraded(), &View::default(), size, ascii));
        assert!(shown.is_ascii(), "{shown}");
        assert!(shown.contains("X error link-down"), "{shown}");
    }
}

fn words() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        prop::sample::select(vec![
            "\u{1b}[2J",
            "\u{1b}]0;x\u{7}",
            "\n",
            "\r\n",
            "\u{202e}",
            "\u{0}",
            "\u{9b}31m",
            "\u{fe0f}",
            "東京",
            "e\u{301}\u{301}",
            "👩\u{200d}👩",
            "\u{1100}\u{1161}",
            "\t",
            " ",
            "● ■",
        ])
        .prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..9).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever a head says, and however small the screen: nothing leaves its row, and every key can be pressed.
    #[test]
    fn nothing_that_a_head_says_moves_the_cursor(
        words in words(),
        width in 0..120u16,
        height in 0..40u16,
        keys in prop::collection::vec(prop::sample::select(b"\t\njjjkGg? lh".to_vec()), 0..12),
    ) {
        let picture = planted(&words);
        let size = (width, height);
        let keys: String = keys.into_iter().map(char::from).collect();
        let view = typed(&picture, size, &keys);
        let buffer = screen_of(&picture, &view, size, LOOKS);
        for cell in &buffer.content {
            prop_assert!(!cell.symbol().chars().any(is_hidden), "{:?}", cell.symbol());
        }
    }
}

#[test]
fn keys() {
    let picture = degraded();
    let seen = seen(&picture, (80, 24));
    let press = |view: View, code, modifiers| pressed(view, KeyEvent::new(code, modifiers), seen);
    let none = KeyModifiers::NONE;
    for (code, modifiers) in [
        (KeyCode::Char('q'), none),
        (KeyCode::F(10), none),
        (KeyCode::Char('c'), KeyModifiers::CONTROL),
    ] {
        assert_eq!(press(View::default(), code, modifiers).1, Then::End);
    }
    assert_eq!(
        press(View::default(), KeyCode::Char('r'), none).1,
        Then::Again
    );
    assert_eq!(
        press(View::default(), KeyCode::Char('c'), none).1,
        Then::Stay
    );
    let (view, _) = press(View::default(), KeyCode::Char(' '), none);
    assert!(view.paused);
    assert!(!press(view, KeyCode::Char(' '), none).0.paused);
    // Tab goes round, and Shift-Tab back.
    let mut view = View::default();
    for _ in 0..6 {
        view = press(view, KeyCode::Tab, none).0;
    }
    assert_eq!(view, View::default());
    let back = press(view, KeyCode::BackTab, KeyModifiers::SHIFT).0;
    assert_eq!(press(back, KeyCode::Tab, none).0, View::default());
    // What covers the picture goes with Esc, and with the key that brought it.
    for key in [KeyCode::Char('?'), KeyCode::Enter] {
        let (view, _) = press(View::default(), key, none);
        assert!(view.over.is_some());
        assert!(press(view.clone(), KeyCode::Esc, none).0.over.is_none());
        assert!(press(view, key, none).0.over.is_none());
    }
    // In a part without rows there is nothing to open.
    let healthy = healthy();
    let empty = ViewInput {
        picture: &healthy,
        ..seen
    };
    let (view, _) = pressed(View::default(), KeyEvent::from(KeyCode::Enter), empty);
    assert!(view.over.is_none());
}

#[test]
fn a_text_is_scrolled_no_further_than_its_end() {
    let picture = degraded();
    let size = (40, 8);
    let top = typed(&picture, size, "\n");
    let end = typed(&picture, size, &format!("\n{}", "j".repeat(99)));
    assert_eq!(end, typed(&picture, size, "\nG"));
    assert_ne!(end, top);
    assert!(text(&screen_of(&picture, &end, size, LOOKS)).contains("the port of the switch."));
    assert_eq!(typed(&picture, size, "\nGg"), top);
}
