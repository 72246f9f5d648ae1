//! Who is told: a program, a webhook, or a mailbox by the machine's own sendmail.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hawser_files::read_named;
use hawser_model::visible::one_line;
use hawser_tool::{Tool, ToolError};
use serde_json::Value;

use crate::web::no_others;
use crate::webhook::{Webhook, WebhookError};

/// How long one message may take.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// What takes mail on this machine, whichever mail server it has (Debian Policy, 11.6; LSB).
const SENDMAIL: &str = "/usr/sbin/sendmail";

/// A file that names a receiver has one line.
const LONGEST_FILE: u64 = 4096;

/// A line of a mail has at most 998 bytes (RFC 5322, 2.1.1); so many characters read well.
const LINE: usize = 76;

/// Who is told. Its words name no secret: a webhook's address often is one.
#[derive(Clone)]
pub enum Receiver {
    /// A program, which has the message on its standard input.
    Program(PathBuf),
    /// A server that takes what an Alertmanager sends.
    Webhook(Webhook),
    /// A mailbox.
    Mail(String),
}

/// Why a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub enum TellError {
    /// The program, or sendmail, cannot be run, fails or does not end in time.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The server did not take it.
    #[error(transparent)]
    Webhook(#[from] WebhookError),
}

impl fmt::Debug for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Receiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (kind, whom) = match self {
            Self::Program(path) => ("program", path.display().to_string()),
            Self::Webhook(webhook) => ("webhook", webhook.server().to_owned()),
            Self::Mail(address) => ("mail", address.clone()),
        };
        write!(f, "{kind} {whom}")
    }
}

impl Receiver {
    /// Reads how a user names one: a program's path, `https://` or `http://`, `mailto:`, or `@FILE` for a file that has one of
    /// them, which keeps a webhook's secret address from those who see this machine's processes.
    ///
    /// # Errors
    /// What is wrong with it, and what is allowed; a secret is not repeated.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.strip_prefix('@') {
            Some(file) => of_file(Path::new(file)),
            None => named(text),
        }
    }

    /// Delivers one message.
    ///
    /// # Errors
    /// [`TellError`]: it was not taken.
    pub fn deliver(&self, message: &Value) -> Result<(), TellError> {
        match self {
            Self::Program(path) => {
                let text = message.to_string() + "\n";
                Tool::new(path).input(text).limit(LIMIT).text()?;
            }
            Self::Webhook(webhook) => webhook.post(message)?,
            Self::Mail(address) => {
                // `-i`: a line with a dot alone ends nothing.
                let tool = Tool::new(SENDMAIL).args(["-i", "--", address]);
                tool.input(mail(address, message)).limit(LIMIT).text()?;
            }
        }
        Ok(())
    }
}

fn named(text: &str) -> Result<Receiver, String> {
    if text.starts_with("https://") || text.starts_with("http://") {
        return Webhook::parse(text).map(Receiver::Webhook);
    }
    if let Some(address) = text.strip_prefix("mailto:") {
        return match (is_mailbox(address), Path::new(SENDMAIL).is_file()) {
            (false, _) => Err("no mail address: one such as admin@example.org, or root".into()),
            (true, false) => Err(format!(
                "this machine has no {SENDMAIL}: install a mail server, or msmtp-mta"
            )),
            (true, true) => Ok(Receiver::Mail(address.to_owned())),
        };
    }
    let path = Path::new(text);
    match (path.is_absolute(), path.is_file()) {
        (false, _) => Err("no program's path from / on, https:// or http:// address, mailto: address, or @FILE with one".into()),
        (true, false) => Err(format!("there is no file {path:?}")),
        (true, true) => Ok(Receiver::Program(path.to_owned())),
    }
}

/// Reads a file that only its owner and group can read.
fn of_file(path: &Path) -> Result<Receiver, String> {
    no_others(path, "a receiver's address").map_err(|e| e.to_string())?;
    let bytes = read_named(path, LONGEST_FILE).map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&bytes);
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(line), None) => {
            named(line).map_err(|why| format!("{}: line 1: {why}", path.display()))
        }
        _ => Err(format!(
            "{}: not one line that names a receiver",
            path.display()
        )),
    }
}

/// Whether this is an address that sendmail takes for nothing else: no option, no list, no program (`|`), no file (`/`).
fn is_mailbox(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+-@".contains(c);
    let first = text.chars().next();
    first.is_some_and(|c| c.is_ascii_alphanumeric())
        && text.chars().all(plain)
        && text.matches('@').count() <= 1
        && !text.ends_with('@')
}

/// A mail about one message.
fn mail(to: &str, message: &Value) -> String {
    let alert = &message["alerts"][0];
    let word = |value: &Value| one_line(value.as_str().unwrap_or_default()).into_owned();
    let (labels, notes) = (&alert["labels"], &alert["annotations"]);
    let has = word(&notes["change"]);
    let [code, severity, cluster, place] =
        ["alertname", "severity", "cluster", "where"].map(|label| word(&labels[label]));
    let head = word(&notes["told_by"]);
    let subject = format!("[{cluster}] {has}: {severity} {code} {place}");
    let subject = subject.trim_end();
    let ascii = |c: char| if c.is_ascii() { c } else { '?' };
    let subject: String = subject.chars().map(ascii).take(200).collect();
    let mut text = format!(
        "To: {to}\nSubject: {subject}\nAuto-Submitted: auto-generated\nMIME-Version: 1.0\n\
         Content-Type: text/plain; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n"
    );
    let mut paragraphs = vec![
        word(&notes["summary"]),
        word(&notes["description"]),
        format!("Began: {}.", word(&alert["startsAt"])),
    ];
    if has == "ended" {
        paragraphs.push(format!("Ended: {}.", word(&alert["endsAt"])));
    }
    if !head.is_empty() {
        paragraphs.push(format!("Told by the watch of {head}."));
    }
    paragraphs.push(format!(
        "What this is, and what to do: hawser explain {code}"
    ));
    for paragraph in paragraphs.iter().filter(|it| !it.is_empty()) {
        for line in textwrap::wrap(paragraph, LINE) {
            text += &line;
            text.push('\n');
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::changes::Change;
    use crate::tell::{Whose, message, test_alarm};

    #[test]
    fn a_program_has_the_message_on_its_standard_input() {
        let folder = tempfile::tempdir().unwrap();
        let (program, got) = (folder.path().join("tell"), folder.path().join("got"));
        fs::write(
            &program,
            format!("#!/bin/sh\nexec cat > {}\n", got.display()),
        )
        .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let receiver = Receiver::parse(program.to_str().unwrap()).unwrap();
        receiver.deliver(&json!({"a": 1})).unwrap();
        assert_eq!(fs::read_to_string(&got).unwrap(), "{\"a\":1}\n");
        let fails = Receiver::parse("/bin/false").unwrap();
        assert!(fails.deliver(&json!(0)).is_err());
    }

    #[test]
    fn a_secret_address_stands_in_a_file_that_others_cannot_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("webhook");
        fs::write(&path, "https://hooks.example.org/T0/secret\n").unwrap();
        let named = format!("@{}", path.display());
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let why = Receiver::parse(&named).unwrap_err();
        assert!(
            why.contains("chmod o=") && !why.contains("secret,"),
            "{why}"
        );
        fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
        let receiver = Receiver::parse(&named).unwrap();
        assert_eq!(receiver.to_string(), "webhook hooks.example.org");
        for (text, part) in [
            ("", "not one line"),
            ("a\nb\n", "not one line"),
            ("relative\n", "line 1"),
        ] {
            fs::write(&path, text).unwrap();
            let why = Receiver::parse(&named).unwrap_err();
            assert!(why.contains(part), "{why}");
        }
    }

    #[test]
    fn what_sendmail_could_take_for_something_else_is_no_address() {
        for good in ["root", "admin@example.org", "a.b+c-d_e@x-y.example"] {
            assert!(is_mailbox(good), "{good}");
        }
        for bad in [
            "", "-bs", "a b", "|sh", "/etc/x", "a@b@c", "a@", "a,b", "a\nb", "@b", "ä@b",
        ] {
            assert!(!is_mailbox(bad), "{bad}");
        }
    }

    fn of_place(words: &str) -> String {
        let mut alarm = test_alarm(1_700_000_000);
        alarm.place.object = Some(words.to_owned());
        alarm.text = words.to_owned();
        let whose = Whose {
            cluster: words.to_owned(),
            head: words.to_owned(),
        };
        mail(
            "root",
            &message(&Change::Ended(alarm), &whose, 1_700_000_060),
        )
    }

    #[test]
    fn a_mail_says_it_in_its_subject_and_in_short_lines() {
        let text = of_place("a pool");
        assert!(
            text.contains("\nSubject: [a pool] ended: note test-alarm a pool\n"),
            "{text}"
        );
        assert!(text.contains("\nBegan: 2023-11-14T22:13:20Z.\n"), "{text}");
        assert!(text.contains("\nEnded: 2023-11-14T22:14:20Z.\n"), "{text}");
        assert!(text.contains("\nTold by the watch of a pool.\n"), "{text}");
    }

    proptest! {
        #[test]
        fn no_name_adds_a_header_or_a_long_line(words in any::<String>()) {
            let text = of_place(&words);
            let (head, body) = text.split_once("\n\n").unwrap();
            prop_assert_eq!(head.lines().count(), 6);
            prop_assert!(head.is_ascii());
            prop_assert!(text.lines().all(|line| line.len() <= 998));
            prop_assert!(!body.chars().any(|c| c.is_control() && c != '\n'));
        }
    }
}
