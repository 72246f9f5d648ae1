//! A server that takes what an Alertmanager sends: an HTTP POST of its JSON.

use serde_json::Value;
use ureq::Agent;
use ureq::http::Uri;

use crate::receiver::LIMIT;

/// A server, and where it takes messages.
#[derive(Clone)]
pub struct Webhook {
    address: Uri,
    agent: Agent,
}

/// Why it did not take one. None of these words has the address.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// It was not reached, did not answer, or is not who it should be.
    #[error("{server}: {why}")]
    Away {
        /// Its name.
        server: String,
        /// Why.
        why: String,
    },
    /// It answered that it does not.
    #[error("{server} answered {status}")]
    Refused {
        /// Its name.
        server: String,
        /// Its HTTP status.
        status: u16,
    },
}

impl Webhook {
    /// Reads its address.
    ///
    /// # Errors
    /// What is wrong with it; it is not repeated.
    pub fn parse(text: &str) -> Result<Self, String> {
        let address: Uri = text
            .parse()
            .map_err(|e| format!("no address of a server: {e}"))?;
        let authority = address.authority().map_or("", |it| it.as_str());
        if authority.contains('@') {
            return Err(
                "a password in an address is not sent: use a program, or an address with a token"
                    .into(),
            );
        }
        let agent = agent(address.scheme_str() == Some("https"))?;
        Ok(Self { address, agent })
    }

    /// The server's name and port.
    pub fn server(&self) -> &str {
        self.address.authority().map_or("", |it| it.as_str())
    }

    /// Sends a message.
    ///
    /// # Errors
    /// [`WebhookError`]: it was not taken.
    pub fn post(&self, message: &Value) -> Result<(), WebhookError> {
        let request = self.agent.post(&self.address);
        let request = request.header("Content-Type", "application/json");
        let server = || self.server().to_owned();
        let answer = request.send(message.to_string());
        let status = answer.map_err(|e| WebhookError::Away {
            server: server(),
            why: e.to_string(),
        })?;
        match status.status() {
            status if status.is_success() => Ok(()),
            status => Err(WebhookError::Refused {
                server: server(),
                status: status.as_u16(),
            }),
        }
    }
}

fn agent(tls: bool) -> Result<Agent, String> {
    let config = Agent::config_builder()
        .timeout_global(Some(LIMIT))
        // Where it leads to is not where somebody wanted messages to go.
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(concat!("hawser/", env!("CARGO_PKG_VERSION")));
    let config = match tls {
        true => config.tls_config(secure::tls()?),
        false => config,
    };
    Ok(config.build().new_agent())
}

#[cfg(feature = "aws-lc")]
mod secure {
    use std::fs;
    use std::sync::Arc;

    use rustls::crypto::aws_lc_rs::default_provider;
    use ureq::tls::{PemItem, RootCerts, TlsConfig, parse_pem};

    /// The signers that this machine trusts, where Debian and Red Hat keep them (`update-ca-certificates`,
    /// `update-ca-trust`): a company's own is among them.
    const SIGNERS: [&str; 2] = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/tls/certs/ca-bundle.crt",
    ];

    pub(super) fn tls() -> Result<TlsConfig, String> {
        let pem = SIGNERS.iter().find_map(|path| fs::read(path).ok());
        let pem = pem.ok_or_else(|| {
            let [debian, red_hat] = SIGNERS;
            format!("neither {debian} nor {red_hat} says which signers this machine trusts: install ca-certificates")
        })?;
        let signers = parse_pem(&pem).filter_map(|item| match item {
            Ok(PemItem::Certificate(signer)) => Some(signer),
            _ => None,
        });
        let signers: Vec<_> = signers.collect();
        Ok(TlsConfig::builder()
            .root_certs(RootCerts::new_with_certs(&signers))
            .unversioned_rustls_crypto_provider(Arc::new(default_provider()))
            .build())
    }
}

#[cfg(not(feature = "aws-lc"))]
mod secure {
    pub(super) fn tls() -> Result<ureq::tls::TlsConfig, String> {
        Err("this hawser was built without TLS (feature aws-lc): use http://, or a program".into())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread;

    use serde_json::json;

    use super::*;

    /// A server that answers one request so, and gives what it was sent.
    fn server(answer: &'static str) -> (String, thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/hook/secret", listener.local_addr().unwrap());
        let serves = thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut sent = Vec::new();
            while !sent.ends_with(b"}") {
                let mut part = [0; 4096];
                match stream.read(&mut part).unwrap() {
                    0 => break,
                    n => sent.extend_from_slice(&part[..n]),
                }
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(sent).unwrap()
        });
        (address, serves)
    }

    #[test]
    fn a_message_is_posted_as_json_and_only_a_success_counts() {
        let (address, serves) = server("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");
        Webhook::parse(&address)
            .unwrap()
            .post(&json!({"version": "4"}))
            .unwrap();
        let sent = serves.join().unwrap().to_lowercase();
        assert!(sent.starts_with("post /hook/secret http/1.1\r\n"), "{sent}");
        assert!(
            sent.contains("\r\ncontent-type: application/json\r\n"),
            "{sent}"
        );
        assert!(sent.ends_with("\r\n\r\n{\"version\":\"4\"}"), "{sent}");
        for answer in [
            "HTTP/1.1 500 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "nonsense\r\n\r\n",
        ] {
            let (address, serves) = server(answer);
            let failed = Webhook::parse(&address).unwrap().post(&json!({}));
            let why = failed.unwrap_err().to_string();
            assert!(!why.contains("secret"), "{why}");
            serves.join().unwrap();
        }
    }

    #[test]
    fn who_is_away_fails_and_a_password_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}/secret", listener.local_addr().unwrap());
        drop(listener);
        let why = Webhook::parse(&address)
            .unwrap()
            .post(&json!({}))
            .unwrap_err();
        assert!(!why.to_string().contains("secret"), "{why}");
        for wrong in ["https://", "http://a b/", "https://user:word@host/"] {
            let why = Webhook::parse(wrong).map(|_| ()).unwrap_err();
            assert!(!why.contains("word@"), "{why}");
        }
    }
}
