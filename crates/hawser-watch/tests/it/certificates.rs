//! Certificates and keys for a test, made by OpenSSL, which is also the client: another implementation than the server's.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslConnector, SslMethod, SslStream, SslVersion};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509NameBuilder};

/// A certificate and its key.
pub struct Pair {
    pub certificate: X509,
    pub key: PKey<Private>,
}

impl Pair {
    /// For this machine by this name; signed by itself or another.
    pub fn new(name: &str, signer: Option<&Pair>) -> Self {
        let group = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1).unwrap();
        let key = PKey::from_ec_key(EcKey::generate(&group).unwrap()).unwrap();
        let mut subject = X509NameBuilder::new().unwrap();
        subject.append_entry_by_text("CN", name).unwrap();
        let subject = subject.build();
        let mut made = X509::builder().unwrap();
        made.set_version(2).unwrap();
        let mut number = [0; 8];
        openssl::rand::rand_bytes(&mut number).unwrap();
        let number = BigNum::from_slice(&number).unwrap();
        made.set_serial_number(&number.to_asn1_integer().unwrap())
            .unwrap();
        made.set_subject_name(&subject).unwrap();
        let issuer = signer.map_or(subject.as_ref(), |pair| pair.certificate.subject_name());
        made.set_issuer_name(issuer).unwrap();
        made.set_not_before(&Asn1Time::days_from_now(0).unwrap())
            .unwrap();
        made.set_not_after(&Asn1Time::days_from_now(1).unwrap())
            .unwrap();
        made.set_pubkey(&key).unwrap();
        let context = made.x509v3_context(None, None);
        let names = SubjectAlternativeName::new()
            .dns(name)
            .ip("127.0.0.1")
            .build(&context);
        made.append_extension(names.unwrap()).unwrap();
        if signer.is_none() {
            let ca = BasicConstraints::new().critical().ca().build().unwrap();
            made.append_extension(ca).unwrap();
        }
        let signer = signer.map_or(&key, |pair| &pair.key);
        made.sign(signer, MessageDigest::sha256()).unwrap();
        Self {
            certificate: made.build(),
            key,
        }
    }

    /// Puts both where a configuration names them.
    pub fn put(&self, folder: &Path) {
        put(
            &folder.join("web.crt"),
            &self.certificate.to_pem().unwrap(),
            0o644,
        );
        put(
            &folder.join("web.key"),
            &self.key.private_key_to_pem_pkcs8().unwrap(),
            0o640,
        );
    }
}

/// Writes a file as a whole, with this mode: there is no moment at which it has half.
pub fn put(path: &Path, bytes: &[u8], mode: u32) {
    let new = path.with_extension("new");
    fs::write(&new, bytes).unwrap();
    fs::set_permissions(&new, fs::Permissions::from_mode(mode)).unwrap();
    fs::rename(new, path).unwrap();
}

/// A client that trusts this certificate alone, and may have one of its own.
pub fn client(trusted: &Pair, own: Option<&Pair>, newest: Option<SslVersion>) -> SslConnector {
    let mut client = SslConnector::builder(SslMethod::tls_client()).unwrap();
    client
        .cert_store_mut()
        .add_cert(trusted.certificate.clone())
        .unwrap();
    client.set_max_proto_version(newest).unwrap();
    if let Some(own) = own {
        client.set_certificate(&own.certificate).unwrap();
        client.set_private_key(&own.key).unwrap();
    }
    client.build()
}

/// Opens a connection; why not, if the server or the client refuses it.
pub fn connected(
    client: &SslConnector,
    address: SocketAddr,
    name: &str,
) -> Result<SslStream<TcpStream>, String> {
    let stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    client.connect(name, stream).map_err(|e| e.to_string())
}
