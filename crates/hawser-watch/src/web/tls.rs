//! TLS by rustls, with the AWS-LC that does AES elsewhere in this program. A build without it has no TLS, and says so.

#[cfg(feature = "aws-lc")]
pub use with::{Tls, validities};
#[cfg(not(feature = "aws-lc"))]
pub use without::{Tls, validities};

/// A file that is not what it is named for, and why.
#[derive(Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The certificates.
    Certificate(String),
    /// The key.
    Key(String),
    /// Who signs clients' certificates.
    Clients(String),
}

/// The files of a `tls_server_config`, read.
pub struct Files {
    /// The certificates, the server's own first, as PEM.
    pub certificates: Vec<u8>,
    /// Its key, as PEM.
    pub key: Vec<u8>,
    /// Who signs clients' certificates, as PEM.
    pub clients: Option<Vec<u8>>,
}

#[cfg(feature = "aws-lc")]
mod with {
    use std::io;
    use std::sync::Arc;

    use rustls::crypto::aws_lc_rs::default_provider;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use rustls::server::WebPkiClientVerifier;
    use rustls::version::{TLS12, TLS13};
    use rustls::{RootCertStore, ServerConfig, SupportedProtocolVersion};
    use tokio::net::TcpStream;
    use tokio_rustls::TlsAcceptor;
    use tokio_rustls::server::TlsStream;

    use super::super::config::TlsConfig;
    use super::{Files, Misfit};

    /// What one connection may have waiting to be sent, in bytes: a page that is slow holds no more.
    const BUFFER: usize = 16 << 10;

    /// How TLS is spoken.
    #[derive(Clone)]
    pub struct Tls(Arc<ServerConfig>);

    impl Tls {
        /// As this part of a configuration and its files say.
        ///
        /// # Errors
        /// The file that is not what it should be.
        pub fn new(config: &TlsConfig, files: &Files) -> Result<Self, Misfit> {
            let provider = Arc::new(default_provider());
            let versions: Vec<&'static SupportedProtocolVersion> =
                [(config.with_tls12, &TLS12), (config.with_tls13, &TLS13)]
                    .into_iter()
                    .filter_map(|(spoken, version)| spoken.then_some(version))
                    .collect();
            let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
                .with_protocol_versions(&versions)
                .map_err(|e| Misfit::Certificate(e.to_string()))?;
            let builder = match (&config.clients, &files.clients) {
                (Some(clients), Some(signers)) => {
                    let misfit = |e: String| Misfit::Clients(e);
                    let mut roots = RootCertStore::empty();
                    for signer in certificates(signers).map_err(misfit)? {
                        roots.add(signer).map_err(|e| misfit(e.to_string()))?;
                    }
                    let roots = Arc::new(roots);
                    let mut verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                    if !clients.must {
                        verifier = verifier.allow_unauthenticated();
                    }
                    let verifier = verifier.build().map_err(|e| misfit(e.to_string()))?;
                    builder.with_client_cert_verifier(verifier)
                }
                _ => builder.with_no_client_auth(),
            };
            let own = certificates(&files.certificates).map_err(Misfit::Certificate)?;
            let key = PrivateKeyDer::from_pem_slice(&files.key);
            let key =
                key.map_err(|_| Misfit::Key("no private key in PEM without a passphrase".into()))?;
            let config = builder.with_single_cert(own, key);
            let mut config = config
                .map_err(|e| Misfit::Key(format!("does not go with the certificate: {e}")))?;
            config.alpn_protocols = vec![b"http/1.1".to_vec()];
            Ok(Self(Arc::new(config)))
        }

        /// Makes the handshake with whoever has just come.
        pub(crate) async fn accept(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
            let acceptor = TlsAcceptor::from(Arc::clone(&self.0));
            let bounded =
                acceptor.accept_with(stream, |session| session.set_buffer_limit(Some(BUFFER)));
            bounded.await
        }
    }

    /// From when and until when each certificate of a file is valid.
    pub fn validities(pem: &[u8]) -> Vec<(u64, u64)> {
        let all = certificates(pem).unwrap_or_default();
        all.iter()
            .filter_map(|it| hawser_kernel::validity(it))
            .collect()
    }

    fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        match all {
            Ok(all) if all.is_empty() => Err("no certificate in PEM".into()),
            Ok(all) => Ok(all),
            Err(e) => Err(e.to_string()),
        }
    }
}

#[cfg(not(feature = "aws-lc"))]
mod without {
    use std::io;

    use tokio::net::TcpStream;

    use super::super::config::TlsConfig;
    use super::{Files, Misfit};

    /// Of none anything is known.
    pub fn validities(_: &[u8]) -> Vec<(u64, u64)> {
        Vec::new()
    }

    /// There is none.
    #[derive(Clone)]
    pub enum Tls {}

    impl Tls {
        /// Refuses.
        ///
        /// # Errors
        /// Always.
        pub fn new(_: &TlsConfig, _: &Files) -> Result<Self, Misfit> {
            Err(Misfit::Certificate(
                "this hawser was built without TLS (feature aws-lc)".into(),
            ))
        }

        pub(crate) async fn accept(&self, _: TcpStream) -> io::Result<TcpStream> {
            match *self {}
        }
    }
}
