//! `/etc/exports` (exports(5)).

use hawser_cluster::exports::nfs::{Client, NfsOptions};

use super::{Directory, Offered};
use crate::page::Page;
use crate::place::{Malformed, Place, quoted};
use crate::source::Source;

/// Reads the file.
pub(crate) fn read(
    source: &Source,
    offered: &mut Offered,
    page: &mut Page,
) -> Result<(), Malformed> {
    let mut open: Option<(Place, String)> = None;
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

fn entry(at: &Place, line: &str, offered: &mut Offered, page: &mut Page) -> Result<(), Malformed> {
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
    let mut defaults = String::new();
    let mut any = false;
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
    at: &Place,
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
    // exports(5): read-only unless it says otherwise.
    let mut kept: Vec<String> = Vec::new();
    let writes = options
        .split(',')
        .map(str::trim)
        .rfind(|option| matches!(*option, "rw" | "ro"));
    kept.push(writes.unwrap_or("ro").to_owned());
    for option in options.split(',').map(str::trim).filter(|o| !o.is_empty()) {
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
    offered.directories.push(Directory {
        path: path.to_owned(),
        clients: vec![plain],
        options: Some(kept.join(",")),
        at: at.clone(),
    });
}
