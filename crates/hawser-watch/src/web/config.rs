//! The web configuration of Prometheus' exporters (exporter-toolkit, `docs/web-configuration.md`), as far as a watch has it.
//! Pure. A field that is known there and not here is refused by its name: nothing that an operator asks for is left out
//! in silence.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use bcrypt::HashParts;

use super::yaml::{self, What, YamlNode};

/// A hash may cost so much, as a power of two: one check with it takes about a second.
pub const DEAREST: u32 = 14;

/// What a web configuration says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebConfig {
    /// How TLS is spoken; absent: it is not.
    pub tls: Option<TlsConfig>,
    /// The bcrypt hash of each user's password. Empty: nobody is asked for one.
    pub users: BTreeMap<String, String>,
}

/// `tls_server_config`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsConfig {
    /// The certificates, the server's own first.
    pub cert_file: PathBuf,
    /// Its key.
    pub key_file: PathBuf,
    /// TLS 1.2 is spoken too.
    pub with_tls12: bool,
    /// TLS 1.3 is spoken too.
    pub with_tls13: bool,
    /// Who signs clients' certificates, if they are asked for one.
    pub clients: Option<Clients>,
}

/// `client_ca_file` and `client_auth_type`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clients {
    /// Who signs them.
    pub ca_file: PathBuf,
    /// A client without one is turned away.
    pub must: bool,
}

impl WebConfig {
    /// Whether whoever asks has to show who it is.
    pub fn asks_who(&self) -> bool {
        let certificate = self.tls.as_ref().and_then(|tls| tls.clients.as_ref());
        !self.users.is_empty() || certificate.is_some_and(|clients| clients.must)
    }
}

/// What is wrong with a configuration: where, in which field, what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// From 1.
    pub line: usize,
    /// With the names of those around it.
    pub field: Option<String>,
    /// In words.
    pub what: String,
}

impl Wrong {
    pub(super) fn new(line: usize, field: Option<String>, what: String) -> Self {
        Self { line, field, what }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        if let Some(field) = &self.field {
            write!(f, "{field}: ")?;
        }
        f.write_str(&self.what)
    }
}

const PARTS: &str = "tls_server_config and basic_auth_users";
const TLS_FIELDS: &str =
    "cert_file, key_file, min_version, max_version, client_auth_type and client_ca_file";

/// Reads a configuration whose file is in this folder.
///
/// # Errors
/// The first thing in it that is wrong or not supported.
pub fn parse(text: &str, folder: &Path) -> Result<WebConfig, Wrong> {
    let mut config = WebConfig::default();
    for (name, node) in fields(yaml::parse(text)?, None)? {
        match name.as_str() {
            "tls_server_config" => config.tls = tls(node, folder)?,
            "basic_auth_users" => config.users = users(node)?,
            "http_server_config" => {
                return Err(refused(
                    &name,
                    &node,
                    "a watch speaks HTTP/1.1 with headers of its own",
                ));
            }
            "rate_limit" => {
                return Err(refused(
                    &name,
                    &node,
                    "a watch bounds what it answers at a time by itself",
                ));
            }
            _ => {
                let what = format!("no such field; there are {PARTS}");
                return Err(Wrong::new(node.line, Some(name), what));
            }
        }
    }
    Ok(config)
}

fn tls(node: YamlNode, folder: &Path) -> Result<Option<TlsConfig>, Wrong> {
    const PART: &str = "tls_server_config";
    let line = node.line;
    let mut all = BTreeMap::new();
    for (name, node) in fields(node, Some(PART))? {
        let field = format!("{PART}.{name}");
        match name.as_str() {
            "cert_file" | "key_file" | "client_ca_file" | "client_auth_type" | "min_version"
            | "max_version" => {
                let line = node.line;
                if let Some(text) = text(node, &field)? {
                    all.insert(name, (line, text));
                }
            }
            "cert" | "key" | "client_ca" => {
                return Err(refused(
                    &field,
                    &node,
                    &format!("{name}_file names a file with it"),
                ));
            }
            "client_allowed_sans"
            | "cipher_suites"
            | "prefer_server_cipher_suites"
            | "curve_preferences" => {
                return Err(refused(&field, &node, &format!("a watch has {TLS_FIELDS}")));
            }
            _ => {
                let what = format!("no such field; there are {TLS_FIELDS}");
                return Err(Wrong::new(node.line, Some(field), what));
            }
        }
    }
    if all.is_empty() {
        return Ok(None);
    }
    let mut path = |name: &str| {
        let (_, path) = all
            .remove(name)
            .ok_or_else(|| Wrong::new(line, Some(format!("{PART}.{name}")), "is missing".into()))?;
        Ok::<_, Wrong>(folder.join(path))
    };
    let (cert_file, key_file) = (path("cert_file")?, path("key_file")?);
    let oldest = version(all.remove("min_version"), "min_version")?.unwrap_or(12);
    let newest = all.remove("max_version");
    let newest_line = newest.as_ref().map_or(line, |(line, _)| *line);
    let newest = version(newest, "max_version")?.unwrap_or(13);
    if oldest > newest {
        let what = format!("TLS{newest} found, min_version is TLS{oldest}");
        let field = format!("{PART}.max_version");
        return Err(Wrong::new(newest_line, Some(field), what));
    }
    let ca_file = all.remove("client_ca_file");
    Ok(Some(TlsConfig {
        cert_file,
        key_file,
        with_tls12: oldest == 12,
        with_tls13: newest == 13,
        clients: clients(all.remove("client_auth_type"), ca_file, folder)?,
    }))
}

type Given = Option<(usize, String)>;

/// 12 or 13.
fn version(given: Given, name: &str) -> Result<Option<u8>, Wrong> {
    let Some((line, text)) = given else {
        return Ok(None);
    };
    match text.as_str() {
        "TLS12" => Ok(Some(12)),
        "TLS13" => Ok(Some(13)),
        other => {
            let what = format!("{other:?} found, TLS12 and TLS13 are allowed");
            Err(Wrong::new(
                line,
                Some(format!("tls_server_config.{name}")),
                what,
            ))
        }
    }
}

fn clients(kind: Given, ca_file: Given, folder: &Path) -> Result<Option<Clients>, Wrong> {
    let wrong = |line, name: &str, what: String| {
        Err(Wrong::new(
            line,
            Some(format!("tls_server_config.{name}")),
            what,
        ))
    };
    let allowed =
        "NoClientCert, VerifyClientCertIfGiven and RequireAndVerifyClientCert are allowed";
    let (line, must) = match kind {
        None => (0, None),
        Some((line, kind)) => match kind.as_str() {
            "NoClientCert" => (line, None),
            "VerifyClientCertIfGiven" => (line, Some(false)),
            "RequireAndVerifyClientCert" => (line, Some(true)),
            "RequestClientCert" | "RequireAnyClientCert" | "RequireClientCert" => {
                let what = format!("{kind} is not supported, it verifies nothing; {allowed}");
                return wrong(line, "client_auth_type", what);
            }
            other => {
                return wrong(
                    line,
                    "client_auth_type",
                    format!("{other:?} found, {allowed}"),
                );
            }
        },
    };
    match (must, ca_file) {
        (None, None) => Ok(None),
        (None, Some((line, _))) => wrong(
            line,
            "client_ca_file",
            "needs a client_auth_type: RequireAndVerifyClientCert or VerifyClientCertIfGiven"
                .into(),
        ),
        (Some(_), None) => wrong(line, "client_auth_type", "needs a client_ca_file".into()),
        (Some(must), Some((_, path))) => Ok(Some(Clients {
            ca_file: folder.join(path),
            must,
        })),
    }
}

fn users(node: YamlNode) -> Result<BTreeMap<String, String>, Wrong> {
    const PART: &str = "basic_auth_users";
    let mut users = BTreeMap::new();
    for (name, node) in fields(node, Some(PART))? {
        let field = format!("{PART}.{name}");
        let line = node.line;
        // What stands there is told to nobody: it may be a password.
        let wrong = |what: String| Err(Wrong::new(line, Some(field.clone()), what));
        if name.contains(':') || name.chars().any(char::is_control) {
            return wrong("a user's name has no colon and no control character".into());
        }
        let Some(hash) = text(node, &field)? else {
            return wrong("a bcrypt hash is missing".into());
        };
        match HashParts::from_str(&hash).map(|hash| hash.get_cost()) {
            Err(_) => return wrong("not a bcrypt hash such as `htpasswd -nB NAME` prints".into()),
            Ok(cost) if cost > DEAREST => {
                return wrong(format!(
                    "its cost is {cost}, {DEAREST} is the most: each wrong password would take seconds"
                ));
            }
            Ok(_) => drop(users.insert(name, hash)),
        }
    }
    Ok(users)
}

/// The fields of a mapping; none of one with nothing in it.
fn fields(node: YamlNode, of: Option<&str>) -> Result<Vec<(String, YamlNode)>, Wrong> {
    match node.what {
        What::Nothing => Ok(Vec::new()),
        What::Mapping(all) => Ok(all),
        What::Text(_) | What::List => {
            let what = "a mapping of fields is wanted".to_owned();
            Err(Wrong::new(node.line, of.map(str::to_owned), what))
        }
    }
}

fn text(node: YamlNode, field: &str) -> Result<Option<String>, Wrong> {
    match node.what {
        What::Nothing => Ok(None),
        What::Text(text) if text.is_empty() => Ok(None),
        What::Text(text) => Ok(Some(text)),
        What::Mapping(_) | What::List => {
            let what = "a text is wanted".to_owned();
            Err(Wrong::new(node.line, Some(field.to_owned()), what))
        }
    }
}

fn refused(field: &str, node: &YamlNode, instead: &str) -> Wrong {
    let what = format!("is not supported here: {instead}");
    Wrong::new(node.line, Some(field.to_owned()), what)
}
