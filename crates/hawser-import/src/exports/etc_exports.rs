//! `/etc/exports` (exports(5)).

use hawser_cluster::exports::nfs::{Client, NfsOptions};

use super::{Directory, Offered};
use crate::page::Page;
use crate::place::{Malformed, SourceLine, quoted};
use crate::source::Source;

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut open: Option<(SourceLine, String)> = None;
    for (i, line) in source.text.lines().enumerate() {
        let said = line.split('#').next().unwrap_or_default();
        let (at, mut whole) = open.take().unwrap_or((source.at(i + 1), String::new()));
        match said.strip_suffix('\\') {
            Some(part) => {
                whole.push_str(part);
                whole.push(' ');
                open = Some((at, whole));
            }
            None => {
                whole.push_str(said);
                entry(&at, &whole, offered, page)?;
            }
        }
    }
    match open {
        Some((at, _)) => Err(Malformed::new(
            &at,
            "a line that goes on at the end of the file",
            "a last line without \\",
        )),
        None => Ok(()),
    }
}

fn entry(
    at: &SourceLine,
    line: &str,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let line = line.trim();
    if line.is_empty() {
        return Ok(());
    }
    // A path with spaces stands in quotes.
    let (path, rest) = match line.strip_prefix('"') {
        Some(rest) => rest.split_once('"').ok_or_else(|| {
            Malformed::new(
                at,
                "a quotation mark that is not closed",
                "one at each end of the path",
            )
        })?,
        None => line.split_once(char::is_whitespace).unwrap_or((line, "")),
    };
    if !path.starts_with('/') {
        return Err(Malformed::new(
            at,
            quoted(path),
            "DIRECTORY CLIENT(OPTIONS) …, the directory by its whole path",
        ));
    }
    let path = plain(path);
    let path = path.as_str();
    let mut defaults = String::new();
    let mut any = false;
    // The client before, if it had no options.
    let mut bare: Option<&str> = None;
    for word in rest.split_whitespace() {
        if let Some(options) = word.strip_prefix('-') {
            defaults = options.to_owned();
            continue;
        }
        any = true;
        let (client, options) = match word.split_once('(') {
            Some((client, options)) => match options.strip_suffix(')') {
                Some(options) => (client, options),
                None => {
                    return Err(Malformed::new(
                        at,
                        quoted(word),
                        "CLIENT(OPTIONS) without spaces in it",
                    ));
                }
            },
            None => (word, ""),
        };
        if let (true, Some(before)) = (client.is_empty(), bare) {
            page.mistake(
                at,
                format!("{} for everybody", quoted(path)),
                format!(
                    "the blank before {} makes them options of all: {before}{word} is meant",
                    quoted(word)
                ),
            );
        }
        bare = Some(client).filter(|_| options.is_empty() && !word.ends_with(')'));
        let client = if client.is_empty() { "*" } else { client };
        let all: Vec<&str> = [defaults.as_str(), options]
            .into_iter()
            .filter(|o| !o.is_empty())
            .collect();
        client_of(at, path, client, &all.join(","), offered, page);
    }
    if !any {
        client_of(at, path, "*", &defaults, offered, page);
    }
    Ok(())
}

fn client_of(
    at: &SourceLine,
    path: &str,
    client: &str,
    options: &str,
    offered: &mut Offered,
    page: &mut Page,
) {
    let what = format!("{} for {}", quoted(path), quoted(client));
    // 192.0.2.0/255.255.255.0 is 192.0.2.0/24.
    let plain = match client.split_once('/') {
        Some((net, mask)) => match mask.parse().map(ipnet::ip_mask_to_prefix) {
            Ok(Ok(prefix)) => format!("{net}/{prefix}"),
            _ => client.to_owned(),
        },
        None => client.to_owned(),
    };
    if plain.parse::<Client>().is_err() {
        return page.unsaid(
            at,
            what,
            "clients are addresses, networks or *: a takeover must not wait for a name server",
        );
    }
    let kept = kept(at, path, options, page);
    offered.directories.push(Directory {
        path: path.to_owned(),
        clients: vec![plain],
        options: Some(kept),
        at: at.clone(),
    });
}

/// A path with the octal codes of exports(5) written out: `\040` is a blank.
fn plain(path: &str) -> String {
    let mut out = Vec::with_capacity(path.len());
    let bytes = path.as_bytes();
    let mut i = 0;
    while i < bytes.len() {
        let code = bytes.get(i + 1..i + 4).filter(|_| bytes[i] == b'\\');
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        match code.and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte);
                i += 4;
            }
            None => {
                out.push(bytes[i]);
                i += 1;
            }
        }
    }
    String::from_utf8(out).unwrap_or_else(|_| path.to_owned())
}

/// The options that `exports.toml` takes.
fn kept(at: &SourceLine, path: &str, options: &str, page: &mut Page) -> String {
    let (common, flavours) = by_flavour(options);
    // exports(5): read-only unless it says otherwise.
    let writes = |options: &[&str]| {
        let last = options
            .iter()
            .rfind(|option| matches!(**option, "rw" | "ro"));
        last.is_some_and(|option| *option == "rw")
    };
    let whole = |own: &[&str]| writes(&[&common[..], own].concat());
    let mut all: Vec<bool> = flavours.iter().map(|(_, own)| whole(own)).collect();
    if flavours.is_empty() {
        all.push(writes(&common));
    }
    let alike = all.windows(2).all(|pair| pair[0] == pair[1]);
    let mut kept = vec![match all[..] {
        [true, ..] if alike => "rw".to_owned(),
        _ => "ro".to_owned(),
    }];
    if !alike {
        page.unsaid(
            at,
            format!("rw of {} by how a client says who it is", quoted(path)),
            "exports.toml has one for all of `sec`: ro, so that nobody may more than before",
        );
    }
    for option in common {
        match option {
            "rw" | "ro" => {}
            _ if option.starts_with("fsid=") => page.changed(
                at,
                format!("{option} of {}", quoted(path)),
                "Hawser gives each directory a number of its own, the same on every head: clients mount it again",
            ),
            _ if NfsOptions::written(option).is_ok() => kept.push(option.to_owned()),
            _ => page.unsaid(at, format!("option {} of {}", quoted(option), quoted(path)), "exports.toml does not take it"),
        }
    }
    let mut sec: Vec<&str> = Vec::new();
    for (names, own) in &flavours {
        for name in names
            .split(':')
            .filter(|name| !sec.contains(name))
            .collect::<Vec<_>>()
        {
            match NfsOptions::written(&format!("sec={name}")) {
                Ok(_) => sec.push(name),
                Err(_) => page.unsaid(
                    at,
                    format!("sec={} of {}", quoted(name), quoted(path)),
                    "exports.toml does not take it",
                ),
            }
        }
        for option in own.iter().filter(|option| !matches!(**option, "rw" | "ro")) {
            let what = format!(
                "{} of {} by how a client says who it is",
                quoted(option),
                quoted(path)
            );
            match flavours.len() {
                1 => kept.push((*option).to_owned()),
                _ => page.unsaid(at, what, "exports.toml has one for all of `sec`"),
            }
        }
    }
    if !sec.is_empty() {
        kept.push(format!("sec={}", sec.join(":")));
    }
    kept.join(",")
}

/// Options for all, and those that hold for a list of flavours: behind `sec=` the ones that depend on it hold for that
/// list (exports(5)).
fn by_flavour(options: &str) -> (Vec<&str>, Vec<(&str, Vec<&str>)>) {
    const DEPENDS: [&str; 6] = [
        "ro",
        "rw",
        "root_squash",
        "no_root_squash",
        "all_squash",
        "no_all_squash",
    ];
    let mut common = Vec::new();
    let mut flavours: Vec<(&str, Vec<&str>)> = Vec::new();
    for option in options.split(',').map(str::trim).filter(|o| !o.is_empty()) {
        match (option.strip_prefix("sec="), flavours.last_mut()) {
            (Some(names), _) => flavours.push((names, Vec::new())),
            (None, Some((_, own))) if DEPENDS.contains(&option) => own.push(option),
            (None, _) => common.push(option),
        }
    }
    (common, flavours)
}
