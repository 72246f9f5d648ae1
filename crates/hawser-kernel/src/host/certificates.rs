//! For how long certificates are valid, and those by which a host speaks with a quorum device.

use std::fs;
use std::time::{Duration, SystemTime};

use hawser_model::host::{CertificateFacts, CertificateUser};
use hawser_tool::Tool;
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::time::Time;

/// Where corosync-qdevice-net-certutil keeps keys and certificates, as a database of NSS.
const DATABASE: &str = "/etc/corosync/qdevice/net/nssdb";

/// What it calls the cluster's certificate and that of its signer, the server (`CLUSTER_NICKNAME`, `CA_NICKNAME`).
const NAMES: [&str; 2] = ["Cluster Cert", "QNet CA"];

/// certutil(1) reads a file of some kilobytes.
const LIMIT: Duration = Duration::from_secs(2);

/// From when and until when a certificate in DER is valid, in seconds since 1970 UTC; none of what is no certificate.
pub fn validity(der: &[u8]) -> Option<(u64, u64)> {
    let certificate = Certificate::from_der(der).ok()?;
    let validity = certificate.tbs_certificate().validity();
    Some((seconds(validity.not_before), seconds(validity.not_after)))
}

/// Who reads those of a quorum device, by a program when its database has changed.
#[derive(Debug, Default)]
pub struct CertificateReader {
    last: Option<(SystemTime, Vec<CertificateFacts>)>,
}

impl CertificateReader {
    /// Those that are there; a host without a quorum device, or one that speaks no TLS with it, has none.
    pub fn read(&mut self) -> Vec<CertificateFacts> {
        self.of(DATABASE)
    }

    fn of(&mut self, database: &str) -> Vec<CertificateFacts> {
        let changed = fs::metadata(format!("{database}/cert9.db")).and_then(|it| it.modified());
        let Ok(changed) = changed else {
            self.last = None;
            return Vec::new();
        };
        let known = self.last.take().filter(|(at, _)| *at == changed);
        let (_, all) = self.last.insert(known.unwrap_or_else(|| {
            let all = NAMES.iter().filter_map(|name| asked(database, name));
            (changed, all.collect())
        }));
        all.clone()
    }
}

fn asked(database: &str, name: &str) -> Option<CertificateFacts> {
    let place = format!("sql:{database}");
    let arguments = ["-L", "-r", "-d", &place, "-n", name];
    let said = Tool::new("certutil").args(arguments).limit(LIMIT).output();
    let (not_before, not_after) = validity(&said.ok()?.stdout)?;
    Some(CertificateFacts {
        file: format!("{database} ({name})"),
        user: CertificateUser::QuorumDevice,
        not_before,
        not_after,
        read_at: 0,
    })
}

fn seconds(time: Time) -> u64 {
    time.to_unix_duration().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_time_are_read_and_no_other() {
        let time = |tag: u8, text: &str| {
            let length = u8::try_from(text.len()).expect("a short text");
            let der = [&[tag, length], text.as_bytes()].concat();
            Time::from_der(&der).ok().map(seconds)
        };
        let utc = |text: &str| time(0x17, text);
        let general = |text: &str| time(0x18, text);
        assert_eq!(utc("261118110640Z"), Some(1_795_000_000));
        assert_eq!(general("20261118110640Z"), Some(1_795_000_000));
        assert_eq!(general("20500101000000Z"), Some(2_524_608_000));
        for wrong in [
            "2611181106Z",
            "261118110640",
            "26111811064xZ",
            "26131811064\u{e9}",
            "",
        ] {
            assert_eq!(utc(wrong), None, "{wrong}");
        }
        assert_eq!(general("20261318110640Z"), None);
    }

    #[test]
    fn what_is_no_certificate_has_no_validity() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 0x80],
            &[0x30, 0x84, 0xff, 0xff, 0xff, 0xff],
            b"\x30\x02\x30\x00",
        ] {
            assert_eq!(validity(bytes), None);
        }
    }

    #[test]
    fn those_of_a_quorum_device_are_read_when_they_change() {
        if Tool::new("certutil").args(["-H"]).output().is_err() {
            println!("skipped: certutil is not installed (libnss3-tools)");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let database = folder.path().to_str().unwrap();
        let certutil = |arguments: &[&str]| {
            let place = format!("sql:{database}");
            let tool = Tool::new("certutil").args(["-d", &place]).args(arguments);
            tool.text().unwrap();
        };
        let mut reader = CertificateReader::default();
        assert_eq!(reader.of(database), []);
        let noise = folder.path().join("noise");
        fs::write(&noise, [7; 64]).unwrap();
        certutil(&["-N", "--empty-password"]);
        assert_eq!(reader.of(database), []);
        let made = [
            "-S",
            "-x",
            "-n",
            "Cluster Cert",
            "-s",
            "CN=lab",
            "-t",
            "C,,",
            "-v",
            "2",
            "-m",
            "7",
            "-z",
            noise.to_str().unwrap(),
        ];
        certutil(&made);
        let found = reader.of(database);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].file, format!("{database} (Cluster Cert)"));
        // Two months, whichever they are.
        let days = (found[0].not_after - found[0].not_before) / 86_400;
        assert!((59..=62).contains(&days), "{days}");
        assert_eq!(reader.of(database), found);
    }
}
