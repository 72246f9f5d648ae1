//! The screen: a headline, the parts below each other or in two columns, and the keys.

use hawser_model::output::top::{Answers, TopPicture};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Modifier;
use ratatui::text::Line;

use crate::heights::heights;
use crate::ink::{Ink, Looks, Piece, line, name, padded, piece, shape, width};
use crate::more::covering;
use crate::rows::{Room, Row, rows};
use crate::view::{Part, View, ViewInput};
use crate::words;

/// From this width on the parts stand in two columns.
const TWO_COLUMNS: u16 = 150;

/// Which parts are left and right of each other there.
const LEFT: &[Part] = &[Part::Heads, Part::Links, Part::Pools];
const RIGHT: &[Part] = &[Part::Alarms, Part::IfLost, Part::Incidents];

/// The keys that are named at the foot, the most needed first.
const FOOT: [&str; 7] = [
    "q end",
    "? keys",
    "Tab part",
    "Enter more",
    "Space pause",
    "r read again",
    "arrows move",
];

/// Draws a picture as its reader sees it.
pub fn draw(frame: &mut Frame<'_>, seen: ViewInput<'_>, view: &View, looks: Looks) {
    let area = frame.area();
    let seen = ViewInput {
        size: (area.width, area.height),
        ..seen
    };
    let mut y = area.y;
    let mut put = |frame: &mut Frame<'_>, line: Line<'static>| {
        if y < area.bottom() {
            frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
        }
        y += 1;
    };
    put(frame, headline(seen.picture, view, area.width, looks));
    let body = Rect {
        y: area.y + area.height.min(1),
        height: body(seen.size) as u16,
        ..area
    };
    match covering(seen, view) {
        Some((title, text, above)) => cover(frame, body, &title, &text, above, looks),
        None => parts(frame, body, seen.picture, view, looks),
    }
    if area.height > 2 {
        let rect = Rect::new(area.x, area.bottom() - 1, area.width, 1);
        frame.render_widget(foot(area.width, looks), rect);
    }
}

/// How many rows are between the headline and the foot.
pub fn body(size: (u16, u16)) -> usize {
    match size.1 {
        0 | 1 => 0,
        2 => 1,
        height => usize::from(height) - 2,
    }
}

fn headline(picture: &TopPicture, view: &View, columns: u16, looks: Looks) -> Line<'static> {
    let heads = picture.heads.iter();
    let answer = heads.filter(|head| head.answers == Answers::Yes).count();
    let name = match picture.cluster.as_str() {
        "" => "hosts".to_owned(),
        cluster => name(cluster, usize::from(columns), looks),
    };
    let time = words::moment(picture.now, picture.now);
    let end = match view.paused {
        true => format!("PAUSED at {time} UTC"),
        false => format!("{time} UTC"),
    };
    let mut pieces = vec![
        piece(Ink::Bold, format!("{name}  ")),
        shape(picture.light(), looks),
        piece(Ink::Bold, format!(" {}", words::headline(picture))),
        piece(
            Ink::Plain,
            format!("  {answer} of {} heads answer", picture.heads.len()),
        ),
    ];
    if let Some(why) = &picture.look.problem {
        pieces.push(piece(
            Ink::Plain,
            format!("  no view of the cluster: {why}"),
        ));
    }
    let end = piece(Ink::Plain, end);
    between(pieces, end, columns, looks)
}

/// Pieces from the left, and one that stands at the right and is never cut for them.
fn between(left: Vec<Piece>, right: Piece, columns: u16, looks: Looks) -> Line<'static> {
    let columns = usize::from(columns);
    let right_width = width(std::slice::from_ref(&right));
    let room = columns.saturating_sub(right_width + 1);
    let mut whole = line(&left, room, looks);
    let blank = columns.saturating_sub(whole.width() + right_width);
    whole.spans.push(" ".repeat(blank).into());
    whole.spans.extend(line(&[right], columns, looks).spans);
    whole
}

fn foot(columns: u16, looks: Looks) -> Line<'static> {
    let mut text = String::new();
    for key in FOOT {
        let longer = match text.is_empty() {
            true => key.to_owned(),
            false => format!("{text}  {key}"),
        };
        if longer.len() > usize::from(columns) {
            break;
        }
        text = longer;
    }
    line(&[piece(Ink::Dim, text)], usize::from(columns), looks)
}

/// A text that covers the picture.
fn cover(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &str,
    text: &[String],
    above: usize,
    looks: Looks,
) {
    let room = usize::from(area.height).saturating_sub(1);
    let last = (above + room).min(text.len());
    let place = match text.len() > room {
        true => format!("  {}-{last} of {}", above + 1, text.len()),
        false => String::new(),
    };
    let title = [piece(Ink::Bold, title), piece(Ink::Dim, place)];
    let lines = text
        .iter()
        .skip(above)
        .map(|text| vec![piece(Ink::Plain, text)]);
    let lines = std::iter::once(title.to_vec()).chain(lines);
    for (y, pieces) in (area.y..area.bottom()).zip(lines) {
        let line = line(&pieces, usize::from(area.width), looks);
        frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
    }
}

fn parts(frame: &mut Frame<'_>, area: Rect, picture: &TopPicture, view: &View, looks: Looks) {
    if area.width < TWO_COLUMNS {
        return column(frame, area, picture, view, looks, &Part::ALL);
    }
    let left = Rect {
        width: area.width / 2 - 1,
        ..area
    };
    let right = Rect {
        x: area.x + area.width / 2 + 1,
        width: area.width - area.width / 2 - 1,
        ..area
    };
    column(frame, left, picture, view, looks, LEFT);
    column(frame, right, picture, view, looks, RIGHT);
}

/// Parts below each other: all that is known of them where there is room, else what matters.
fn column(
    frame: &mut Frame<'_>,
    area: Rect,
    picture: &TopPicture,
    view: &View,
    looks: Looks,
    parts: &[Part],
) {
    let height = usize::from(area.height);
    let made = |whole: bool| {
        let room = Room {
            // One for the sign of the row that is chosen.
            width: usize::from(area.width).saturating_sub(1),
            whole,
            looks,
        };
        let all = parts.iter().map(|part| rows(picture, *part, room));
        all.collect::<Vec<_>>()
    };
    // A blank row between them, where there is room.
    let needs = |rows: &[Vec<Row>], blank: usize| {
        let needs = rows.iter().map(|rows| rows.len() + 1 + blank);
        needs.collect::<Vec<usize>>()
    };
    let whole = made(true);
    let fits = |rows: &[Vec<Row>], blank| needs(rows, blank).iter().sum::<usize>() <= height;
    let (rows, blank) = match fits(&whole, 0) {
        true => {
            let blank = usize::from(fits(&whole, 1));
            (whole, blank)
        }
        false => (made(false), 0),
    };
    let first = parts.iter().position(|part| *part == view.part);
    let given = heights(&needs(&rows, blank), first.unwrap_or(0), height);
    let mut y = area.y;
    for ((part, rows), given) in parts.iter().zip(&rows).zip(given) {
        let rect = Rect {
            y,
            height: given as u16,
            ..area
        };
        y += given as u16;
        one(frame, rect, *part, rows, picture, view, looks);
    }
}

fn one(
    frame: &mut Frame<'_>,
    area: Rect,
    part: Part,
    rows: &[Row],
    picture: &TopPicture,
    view: &View,
    looks: Looks,
) {
    let room = usize::from(area.height).saturating_sub(1);
    let chosen = view.chosen(picture, part);
    let row_of = |nth: usize| {
        let mut keyed = (0..rows.len()).filter(|at| rows[*at].key.is_some());
        keyed.nth(nth).unwrap_or(0)
    };
    let at = chosen.map_or(0, row_of);
    // What belongs to the row is shown with it, if there is room.
    let its = rows[(at + 1).min(rows.len())..].iter();
    let its = its
        .take_while(|row| row.key.is_none() && chosen.is_some())
        .count();
    let above = (at + 1 + its).saturating_sub(room).min(at);
    let last = (above + room).min(rows.len());
    let is_cut = rows.len() > room;
    let focused = part == view.part;
    let sign = match (focused, looks.unicode) {
        (true, true) => "▶",
        (true, false) => ">",
        (false, _) => " ",
    };
    let place = match is_cut && room > 0 {
        true => format!("  rows {}-{last} of {}", above + 1, rows.len()),
        false => String::new(),
    };
    let title = vec![
        piece(Ink::Plain, sign),
        piece(Ink::Bold, part.title()),
        piece(Ink::Dim, place),
    ];
    let shown = rows.iter().enumerate().skip(above).take(room);
    let lines = shown.map(|(number, row)| {
        let is_chosen = focused && chosen.is_some() && number == at;
        let mut pieces = vec![piece(Ink::Bold, if is_chosen { ">" } else { " " })];
        pieces.extend(row.pieces.iter().cloned());
        (pieces, is_chosen)
    });
    let lines = std::iter::once((title, false)).chain(lines);
    for (y, (mut pieces, is_chosen)) in (area.y..area.bottom()).zip(lines) {
        let columns = usize::from(area.width);
        if is_chosen {
            let blank = columns.saturating_sub(width(&pieces));
            pieces.push(piece(Ink::Plain, padded("", blank)));
        }
        let mut line = line(&pieces, columns, looks);
        if is_chosen {
            line = line.style(Modifier::REVERSED);
        }
        frame.render_widget(line, Rect::new(area.x, y, area.width, 1));
    }
}
