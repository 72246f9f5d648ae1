//! The page around everything: head, style, sections, figures, the line at its end.

use std::fmt::Display;

use hawser_model::shell;

use crate::markup::Markup;

/// Nothing is loaded and nothing runs, whatever a browser thinks it finds in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A page under construction.
pub struct Page {
    markup: Markup,
    figures: usize,
    /// When what it shows was recorded, if that is known.
    recorded: Option<String>,
    version: String,
}

/// What a page is derived from, and so what derives it again.
pub enum Source<'a> {
    /// A case file of this name.
    Case(&'a str),
    /// The heads' logs.
    Logs,
    /// What a verb printed, in a file of this name: no case.
    Printed(&'a str),
}

impl Page {
    /// Everything up to the title.
    pub fn new(title: &str, recorded: u64, version: &str) -> Self {
        Self::begun(title, Some(moment(recorded)), version)
    }

    /// The same of what does not say when it was recorded.
    pub fn untimed(title: &str, version: &str) -> Self {
        Self::begun(title, None, version)
    }

    fn begun(title: &str, recorded: Option<String>, version: &str) -> Self {
        let mut m = Markup::default();
        begin(&mut m, title, |m| {
            m.empty(
                "meta",
                &[
                    ("http-equiv", &"Content-Security-Policy"),
                    ("content", &POLICY),
                ],
            );
            m.node("style", &[], |m| m.literal(include_str!("style.css")));
        });
        m.node("header", &[], |m| {
            m.leaf("h1", &[], title);
            if let Some(recorded) = &recorded {
                m.leaf("p", &[("class", &"muted")], format_args!("{recorded} UTC"));
            }
        });
        Self {
            markup: m,
            figures: 0,
            recorded,
            version: version.to_owned(),
        }
    }

    /// A sentence or two right below the title.
    pub fn lead(&mut self, text: impl Display) {
        self.markup.leaf("p", &[("class", &"lead")], text);
    }

    /// A section with a heading.
    pub fn section(&mut self, heading: &str, inside: impl FnOnce(&mut Section<'_>)) {
        self.markup.literal("<section>");
        self.markup.leaf("h2", &[], heading);
        inside(&mut Section { page: self });
        self.markup.literal("</section>");
    }

    /// The whole text.
    pub fn finish(self, source: Source<'_>) -> String {
        let (how, what, again) = match source {
            Source::Case(file) => (
                "Recorded",
                format!("the case file {file}"),
                format!("hawser explain {}", shell::word(file)),
            ),
            Source::Logs => (
                "Read",
                "the logs of the heads".to_owned(),
                "hawser explain --logs FOLDER".to_owned(),
            ),
            Source::Printed(file) => (
                "Drawn",
                format!("what is printed in {file}"),
                format!("hawser report {}", shell::word(file)),
            ),
        };
        let recorded = self
            .recorded
            .map(|at| format!(" {at} UTC"))
            .unwrap_or_default();
        let mut m = self.markup;
        m.node("footer", &[], |m| {
            m.text(format_args!(
                "{how}{recorded} by Hawser {}. Everything on this page is derived from {what}; ",
                self.version
            ));
            m.leaf("code", &[], again);
            m.text(" derives it again, offline.");
        });
        end(m)
    }
}

/// A page that is made in one go; `head` adds to its head.
pub fn document(
    title: &str,
    head: impl FnOnce(&mut Markup),
    body: impl FnOnce(&mut Markup),
) -> String {
    let mut m = Markup::default();
    begin(&mut m, title, head);
    body(&mut m);
    end(m)
}

fn begin(m: &mut Markup, title: &str, head: impl FnOnce(&mut Markup)) {
    m.literal("<!DOCTYPE html>\n<html lang=\"en\">");
    m.node("head", &[], |m| {
        m.empty("meta", &[("charset", &"utf-8")]);
        m.empty(
            "meta",
            &[
                ("name", &"viewport"),
                ("content", &"width=device-width, initial-scale=1"),
            ],
        );
        m.empty(
            "meta",
            &[("name", &"color-scheme"), ("content", &"light dark")],
        );
        m.leaf("title", &[], title);
        head(m);
    });
    m.literal("<body><main>");
}

fn end(mut m: Markup) -> String {
    m.literal("</main></body></html>\n");
    m.into_string()
}

/// A section of a page.
pub struct Section<'a> {
    page: &'a mut Page,
}

impl Section<'_> {
    /// What is in it, as markup.
    pub fn markup(&mut self) -> &mut Markup {
        &mut self.page.markup
    }

    /// A paragraph.
    pub fn paragraph(&mut self, text: impl Display) {
        self.page.markup.leaf("p", &[], text);
    }

    /// A paragraph in small letters.
    pub fn remark(&mut self, text: impl Display) {
        self.page.markup.leaf("p", &[("class", &"muted")], text);
    }

    /// A heading within.
    pub fn heading(&mut self, text: impl Display) {
        self.page.markup.leaf("h3", &[], text);
    }

    /// A picture as wide as the page and `height` pixels high. Title and description are for
    /// those who cannot see it; `inside` draws with shares of the width.
    pub fn picture(
        &mut self,
        title: impl Display,
        description: impl Display,
        height: u32,
        inside: impl FnOnce(&mut Markup),
    ) {
        self.page.figures += 1;
        let number = self.page.figures;
        let (title_id, text_id) = (format!("t{number}"), format!("d{number}"));
        let labels = format!("{title_id} {text_id}");
        self.page.markup.node(
            "svg",
            &[
                ("role", &"img"),
                ("aria-labelledby", &labels),
                ("width", &"100%"),
                ("height", &height),
            ],
            |m| {
                m.leaf("title", &[("id", &title_id)], title);
                m.leaf("desc", &[("id", &text_id)], description);
                inside(m);
            },
        );
    }
}

/// A time of day, UTC, from seconds since 1970: `2026-11-21 20:15:03`.
pub fn moment(seconds: u64) -> String {
    hawser_model::date::utc_seconds(seconds)
        .replace('T', " ")
        .trim_end_matches('Z')
        .to_owned()
}
