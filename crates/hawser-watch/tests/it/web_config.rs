//! The web configuration file: what is taken of it, and what is said of everything else.

use std::path::Path;

use hawser_watch::web::{Clients, WebConfig, parse};
use proptest::prelude::*;

/// "secret", by `htpasswd -nbB -C 4`.
const HASH: &str = "$2y$04$7PfWOQ6mjS8pEZI4aTqM7OzUvU5nPbm3bLQ1kJ8m8xXrQ7aYwq0iW";

fn read(text: &str) -> Result<WebConfig, String> {
    parse(text, Path::new("/etc/hawser")).map_err(|wrong| wrong.to_string())
}

#[test]
fn a_file_as_exporters_have_it() {
    let config = read(&format!(
        "# for Prometheus\n---\ntls_server_config:\n  cert_file: web.crt\n  key_file: \"/etc/ssl/private/web.key\"\n  \
         min_version: TLS13\n  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: clients.crt\n\
         basic_auth_users:\n  prometheus: {HASH}\n  'you & me': '{HASH}'\n"
    ))
    .unwrap();
    assert_eq!(
        config.users.keys().collect::<Vec<_>>(),
        ["prometheus", "you & me"]
    );
    assert!(config.asks_who());
    let tls = config.tls.unwrap();
    assert_eq!(tls.cert_file, Path::new("/etc/hawser/web.crt"));
    assert_eq!(tls.key_file, Path::new("/etc/ssl/private/web.key"));
    assert!(!tls.with_tls12 && tls.with_tls13);
    let ca_file = "/etc/hawser/clients.crt".into();
    assert_eq!(
        tls.clients,
        Some(Clients {
            ca_file,
            must: true
        })
    );
    // As in the toolkit, nothing set is nothing asked.
    for nothing in [
        "",
        "{}",
        "tls_server_config:\nbasic_auth_users: {}\n",
        "tls_server_config: {}",
    ] {
        assert_eq!(read(nothing), Ok(WebConfig::default()), "{nothing}");
    }
    let tls = |more: &str| format!("tls_server_config: {{cert_file: a, key_file: b{more}}}");
    let both = read(&tls("")).unwrap().tls.unwrap();
    assert!(both.with_tls12 && both.with_tls13 && both.clients.is_none());
    let may = ", client_auth_type: VerifyClientCertIfGiven, client_ca_file: c";
    assert!(!read(&tls(may)).unwrap().asks_who());
}

#[test]
fn everything_else_is_refused_by_its_line_and_its_name() {
    let tls = "tls_server_config:\n  cert_file: a\n  key_file: b\n";
    let with = |more: &str| format!("{tls}  {more}\n");
    let dear = HASH.replace("$04$", "$15$");
    for (text, said) in [
        (
            with("cipher_suites: [TLS_AES_128_GCM_SHA256]"),
            "line 4: tls_server_config.cipher_suites: is not supported here: a watch has cert_file, key_file, min_version, max_version, client_auth_type and client_ca_file",
        ),
        (
            with("key: |\n    -----BEGIN"),
            "line 4: tls_server_config.key: is not supported here: key_file names a file with it",
        ),
        (
            with("min_version: TLS11"),
            "line 4: tls_server_config.min_version: \"TLS11\" found, TLS12 and TLS13 are allowed",
        ),
        (
            with("min_version: TLS13\n  max_version: TLS12"),
            "line 5: tls_server_config.max_version: TLS12 found, min_version is TLS13",
        ),
        (
            with("client_ca_file: c"),
            "line 4: tls_server_config.client_ca_file: needs a client_auth_type: RequireAndVerifyClientCert or VerifyClientCertIfGiven",
        ),
        (
            with("client_auth_type: RequireAndVerifyClientCert"),
            "line 4: tls_server_config.client_auth_type: needs a client_ca_file",
        ),
        (
            with("client_auth_type: RequireAnyClientCert"),
            "line 4: tls_server_config.client_auth_type: RequireAnyClientCert is not supported, it verifies nothing; NoClientCert, VerifyClientCertIfGiven and RequireAndVerifyClientCert are allowed",
        ),
        (
            with("cert_flie: a"),
            "line 4: tls_server_config.cert_flie: no such field; there are cert_file, key_file, min_version, max_version, client_auth_type and client_ca_file",
        ),
        (
            with("cert_file: c"),
            "line 4: cert_file: stands there twice",
        ),
        (
            with("min_version: [TLS12]"),
            "line 4: tls_server_config.min_version: a text is wanted",
        ),
        (
            "\ntls_server_config:\n  cert_file: a\n".into(),
            "line 2: tls_server_config.key_file: is missing",
        ),
        (
            "tls_server_config: yes\n".into(),
            "line 1: tls_server_config: a mapping of fields is wanted",
        ),
        (
            "tls_config: {}\n".into(),
            "line 1: tls_config: no such field; there are tls_server_config and basic_auth_users",
        ),
        (
            "http_server_config:\n  http2: false\n".into(),
            "line 1: http_server_config: is not supported here: a watch speaks HTTP/1.1 with headers of its own",
        ),
        (
            "rate_limit:\n  burst: 2\n".into(),
            "line 1: rate_limit: is not supported here: a watch bounds what it answers at a time by itself",
        ),
        // What may be a password is not told again.
        (
            "basic_auth_users:\n  you: hunter2\n".into(),
            "line 2: basic_auth_users.you: not a bcrypt hash such as `htpasswd -nB NAME` prints",
        ),
        (
            format!("basic_auth_users:\n  you: {dear}\n"),
            "line 2: basic_auth_users.you: its cost is 15, 14 is the most: each wrong password would take seconds",
        ),
        (
            format!("basic_auth_users:\n  'a:b': {HASH}\n"),
            "line 2: basic_auth_users.a:b: a user's name has no colon and no control character",
        ),
        (
            "basic_auth_users:\n  you:\n".into(),
            "line 2: basic_auth_users.you: a bcrypt hash is missing",
        ),
        (
            "basic_auth_users: &a {}\n".into(),
            "line 1: an anchor is not taken",
        ),
        (
            "basic_auth_users: {}\n---\na: b\n".into(),
            "line 3: a second document is not taken",
        ),
        ("- a\n".into(), "line 1: a mapping of fields is wanted"),
    ] {
        assert_eq!(read(&text).unwrap_err(), said, "{text}");
    }
    let broken = read("tls_server_config:\n  cert_file: \"a\n").unwrap_err();
    assert!(broken.contains(": not YAML: "), "{broken}");
    let deep = read(&"{a: ".repeat(5_000)).unwrap_err();
    assert!(deep.starts_with("line 1: "), "{deep}");
}

fn piece() -> impl Strategy<Value = String> {
    let known = [
        "tls_server_config:",
        "basic_auth_users:",
        "cert_file:",
        "a",
        ":",
        "\n",
        "  ",
        "- ",
        "{",
        "}",
        "[",
        "]",
        "&a ",
        "*a",
        "\"",
        "'",
        "|",
        "---",
        "!!map ",
        "? ",
        "#",
        "\t",
        "null",
    ];
    prop_oneof![
        prop::sample::select(known.to_vec()).prop_map(str::to_owned),
        any::<char>().prop_map(String::from),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_it_fall(pieces in prop::collection::vec(piece(), 0..24)) {
        let _read = read(&pieces.concat());
    }
}
