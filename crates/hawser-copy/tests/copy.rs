//! Copies over loopback: what arrives is what was sent, what goes wrong is said and leaves what it
//! should.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::thread;

use hawser_copy::{CopyKey, ReceiveSpec, Receiver, SendSpec, send};
use hawser_model::copy::{CopyCipher, CopyEnd, CopyOptions, CopySink, CopySource, Stage};
use hawser_model::units::{Bytes, Nanos};

const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
const BLOCK: u64 = 4 << 20;

fn options() -> CopyOptions {
    CopyOptions {
        patience: Nanos::from_millis(3_000),
        ..CopyOptions::default()
    }
}

fn key() -> CopyKey {
    CopyKey::new([7; 32])
}

fn sink(path: &Path, replace: bool) -> CopySink {
    CopySink::Path {
        path: path.display().to_string(),
        name: "name".to_owned(),
        replace,
    }
}

fn receiver(sink: CopySink, options: CopyOptions) -> Receiver {
    try_receiver(sink, options).expect("a receiver")
}

fn try_receiver(sink: CopySink, options: CopyOptions) -> Result<Receiver, String> {
    Receiver::open(ReceiveSpec {
        sink,
        at: HERE,
        key: key(),
        options,
    })
    .map_err(|e| e.to_string())
}

fn send_spec(source: CopySource, port: u16, options: CopyOptions) -> SendSpec {
    SendSpec {
        source,
        from: HERE,
        to: HERE,
        port,
        aligned: false,
        key: key(),
        options,
    }
}

/// Both ends' reports.
fn copy(source: &Path, sink: CopySink, options: CopyOptions) -> (CopyEnd, CopyEnd) {
    let receiver = receiver(sink, options);
    let port = receiver.port();
    let receiving = receiver.start().unwrap();
    let source = CopySource::Path(source.display().to_string());
    let sending = send(send_spec(source, port, options)).expect("a sender");
    (sending.finish(), receiving.finish())
}

#[track_caller]
fn went_well(ends: &(CopyEnd, CopyEnd)) {
    assert_eq!(ends.0.failure, None);
    assert_eq!(ends.1.failure, None);
    assert_eq!(ends.0.checksum, ends.1.checksum);
}

/// Bytes that do not repeat.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 0x1234_5678_9abc_def1_u64;
    (0..length)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state as u8
        })
        .collect()
}

fn left_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_kind_of_copy_is_byte_identical() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let gcm = |cipher| CopyOptions {
        cipher: Some(cipher),
        ..options()
    };
    let manners = [
        ("plain", options()),
        ("128", gcm(CopyCipher::Aes128Gcm)),
        ("256", gcm(CopyCipher::Aes256Gcm)),
        (
            "streams",
            CopyOptions {
                streams: 5,
                chunk: 32 << 10,
                ..gcm(CopyCipher::Aes128Gcm)
            },
        ),
        (
            "unchecked",
            CopyOptions {
                checksum: false,
                streams: 2,
                ..options()
            },
        ),
    ];
    for length in [0, 1, 4096, (BLOCK + 1) as usize, 21_234_567] {
        let data = bytes(length);
        fs::write(&from, &data).unwrap();
        for (name, manner) in manners {
            let ends = copy(&from, sink(&to, true), manner);
            went_well(&ends);
            assert!(fs::read(&to).unwrap() == data, "{name}, {length} bytes");
            assert_eq!(ends.1.moved, Bytes(length as u64), "{name}");
            assert_eq!(ends.0.checksum.is_some(), manner.checksum);
            assert_eq!(ends.0.zero_copy, name == "unchecked");
            assert_eq!(left_in(folder.path()), ["from", "to"], "{name}");
        }
    }
}

#[test]
fn a_file_sent_to_nowhere_inside_the_kernel_ends() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("from");
    fs::write(&from, bytes(3_000_000)).unwrap();
    let manner = CopyOptions {
        checksum: false,
        ..options()
    };
    let ends = copy(&from, CopySink::Discard, manner);
    went_well(&ends);
    assert_eq!(ends.1.moved, Bytes(3_000_000));
}

#[test]
fn storage_is_copied_over_and_over_for_its_time_in_every_mode() {
    for cipher in [
        None,
        Some(CopyCipher::Aes128Gcm),
        Some(CopyCipher::Aes256Ctr),
        Some(CopyCipher::Aes128Cbc),
    ] {
        let manner = CopyOptions {
            cipher,
            ..options()
        };
        let storage = hawser_model::ladder::Storage::default();
        let receiver = receiver(CopySink::Scratch(storage.clone()), manner);
        let port = receiver.port();
        let receiving = receiver.start().unwrap();
        let source = CopySource::Repeated {
            storage,
            duration: Nanos::from_millis(60),
        };
        let sending = send(send_spec(source, port, manner)).expect("a sender");
        let ends = (sending.finish(), receiving.finish());
        went_well(&ends);
        assert_eq!(ends.0.moved, ends.1.moved, "{cipher:?}");
        assert!(ends.1.moved.0 >= 1 << 20, "{cipher:?}");
        let write = ends.1.stage(Stage::Write).expect("it writes");
        assert_eq!(write.bytes, ends.1.moved, "{cipher:?}");
        assert!(!ends.0.threads.is_empty() && !ends.1.threads.is_empty());
    }
}

#[test]
fn an_offer_without_an_end_is_refused_where_there_is_one() {
    let folder = tempfile::tempdir().unwrap();
    let receiver = receiver(sink(&folder.path().join("to"), false), options());
    let port = receiver.port();
    let receiving = receiver.start().unwrap();
    let source = CopySource::Repeated {
        storage: hawser_model::ladder::Storage::default(),
        duration: Nanos::from_millis(60),
    };
    let sending = send(send_spec(source, port, options())).expect("a sender");
    let ends = (sending.finish(), receiving.finish());
    let failure = ends.1.failure.expect("it is refused").error;
    assert!(failure.contains("without an end"), "{failure}");
    assert_eq!(left_in(folder.path()), Vec::<String>::new());
}

#[test]
fn a_sparse_file_stays_sparse_and_holes_cost_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let file = File::create(&from).unwrap();
    let size = 40 * BLOCK + 12_345;
    file.set_len(size).unwrap();
    for at in [1 << 20, 7 * BLOCK - 4096, 30 * BLOCK + 8192] {
        file.write_all_at(&bytes(65_536), at).unwrap();
    }
    for cipher in [None, Some(CopyCipher::Aes256Gcm)] {
        let ends = copy(
            &from,
            sink(&to, true),
            CopyOptions {
                cipher,
                streams: 3,
                ..options()
            },
        );
        went_well(&ends);
        assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
        let used = |path: &Path| fs::metadata(path).unwrap().blocks() * 512;
        assert!(used(&to) <= used(&from) + 3 * 4096, "{}", used(&to));
        assert_eq!(ends.1.moved, Bytes(3 * 65_536));
        assert_eq!(ends.1.moved + ends.1.holes, Bytes(size));
    }
}

#[test]
fn memory_to_nowhere_measures_each_stage() {
    // A fast machine copies 64 MiB between two samples.
    let size = 512 << 20;
    let options = CopyOptions {
        cipher: Some(CopyCipher::Aes128Gcm),
        ..options()
    };
    let receiver = receiver(CopySink::Discard, options);
    let port = receiver.port();
    let receiving = receiver.start().unwrap();
    let sending = send(send_spec(CopySource::Memory(Bytes(size)), port, options)).unwrap();
    let ends = (sending.finish(), receiving.finish());
    went_well(&ends);
    for stage in [Stage::Read, Stage::Checksum, Stage::Cipher, Stage::Send] {
        let time = ends.0.stage(stage).unwrap();
        assert!(
            time.bytes == Bytes(size) && !time.busy.is_zero(),
            "{time:?}"
        );
        assert!(time.busy <= ends.0.elapsed);
    }
    for stage in [Stage::Receive, Stage::Decipher, Stage::Verify] {
        assert!(!ends.1.stage(stage).unwrap().busy.is_zero());
    }
    assert!(ends.0.samples.len() >= 2);
    assert_eq!(ends.0.samples.last().unwrap().bytes, Bytes(size));
    assert_eq!(ends.0.tcp.len(), 1);
    assert!(ends.0.tcp[0].segments_out > 0);
}

#[test]
fn foreign_connections_are_refused_and_the_copy_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, bytes(100_000)).unwrap();
    let receiver = receiver(sink(&to, false), options());
    let port = receiver.port();
    let receiving = receiver.start().unwrap();
    let mut foreign = TcpStream::connect((HERE, port)).unwrap();
    foreign.write_all(&[0; 200]).unwrap();
    // The answer to a wrong greeting is the end of the connection.
    assert!(!matches!(foreign.read(&mut [0; 8]), Ok(1..)));
    let other_key = SendSpec {
        key: CopyKey::new([8; 32]),
        ..send_spec(
            CopySource::Path(from.display().to_string()),
            port,
            options(),
        )
    };
    let refused = send(other_key).unwrap().finish().failure.unwrap();
    assert!(
        refused.error.contains("closed the connection") || refused.error.contains("be let in by")
    );
    let source = CopySource::Path(from.display().to_string());
    let sent = send(send_spec(source, port, options())).unwrap().finish();
    let received = receiving.finish();
    assert_eq!((sent.failure, received.failure), (None, None));
    assert_eq!(received.foreign, 2);
    assert!(fs::read(&from).unwrap() == fs::read(&to).unwrap());
}

/// Passes bytes on until `limit` have come, then cuts; flips a bit at `flip`.
fn relay(to: u16, limit: usize, flip: Option<usize>) -> u16 {
    let listener = TcpListener::bind((HERE, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let (mut near, _) = listener.accept().unwrap();
        let mut far = TcpStream::connect((HERE, to)).unwrap();
        let (mut back_from, mut back_to) = (far.try_clone().unwrap(), near.try_clone().unwrap());
        thread::spawn(move || {
            // An end that closes is to be seen by the other, as on a real path.
            let _ = std::io::copy(&mut back_from, &mut back_to);
            let _ = back_to.shutdown(std::net::Shutdown::Both);
        });
        let (mut buffer, mut passed) = (vec![0; 65_536], 0);
        while let Ok(count @ 1..) = near.read(&mut buffer) {
            if let Some(at) = flip.filter(|at| (passed..passed + count).contains(at)) {
                buffer[at - passed] ^= 1;
            }
            if far.write_all(&buffer[..count]).is_err() {
                return;
            }
            passed += count;
            if passed >= limit {
                break;
            }
        }
        let _ = (
            near.shutdown(std::net::Shutdown::Both),
            far.shutdown(std::net::Shutdown::Both),
        );
    });
    port
}

#[test]
fn a_copy_that_broke_goes_on_with_what_was_verified() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let data = bytes(10 * BLOCK as usize);
    fs::write(&from, &data).unwrap();
    let path = from.display().to_string();

    let broken = receiver(sink(&to, false), options());
    let port = relay(broken.port(), 6 * BLOCK as usize, None);
    let receiving = broken.start().unwrap();
    let spec = send_spec(CopySource::Path(path.clone()), port, options());
    assert!(send(spec).unwrap().finish().failure.unwrap().connection);
    assert!(receiving.finish().failure.unwrap().connection);
    assert_eq!(
        left_in(folder.path()),
        [".to.hawser-part", ".to.hawser-state", "from"]
    );

    // Damage to what lies there and a change of the source are both noticed.
    let part = File::options()
        .write(true)
        .open(folder.path().join(".to.hawser-part"))
        .unwrap();
    part.write_all_at(b"damage", 10).unwrap();
    let mut data = data;
    data[BLOCK as usize + 5] ^= 1;
    fs::write(&from, &data).unwrap();

    let ends = copy(&from, sink(&to, false), options());
    went_well(&ends);
    assert!(fs::read(&to).unwrap() == data);
    assert_eq!(ends.0.kept, ends.1.kept);
    // Five blocks were complete at least; two of those had to come again.
    assert!(
        (3 * BLOCK..=4 * BLOCK).contains(&ends.0.kept.0),
        "{:?}",
        ends.0.kept
    );
    assert_eq!(ends.0.moved.0 + ends.0.kept.0, data.len() as u64);
    assert_eq!(left_in(folder.path()), ["from", "to"]);
}

#[test]
fn a_flipped_bit_on_the_way_is_an_error_and_puts_nothing_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::write(&from, bytes(2 * BLOCK as usize)).unwrap();
    for (cipher, words) in [
        (None, "checksum of bytes 0 to 4194304"),
        (Some(CopyCipher::Aes128Gcm), "cipher, stream 0"),
    ] {
        let options = CopyOptions {
            cipher,
            ..options()
        };
        let receiver = receiver(sink(&to, false), options);
        let port = relay(receiver.port(), usize::MAX, Some(1_000_000));
        let receiving = receiver.start().unwrap();
        let source = CopySource::Path(from.display().to_string());
        let sent = send(send_spec(source, port, options)).unwrap().finish();
        let failure = receiving.finish().failure.unwrap();
        assert!(failure.error.contains(words), "{}", failure.error);
        assert!(!failure.connection && sent.failure.unwrap().connection);
        assert_eq!(left_in(folder.path()), ["from"]);
    }
}

#[test]
fn what_cannot_be_done_is_said_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    fs::write(&there, "x").unwrap();
    let error = |sink: CopySink| try_receiver(sink, options()).unwrap_err();
    assert!(error(sink(&there, false)).contains("exists; --force replaces it"));
    let missing = folder.path().join("no/such/place");
    assert!(error(sink(&missing, false)).starts_with("write into "));
    assert!(error(sink(Path::new("/dev/null"), true)).contains("is a character device"));
    // In a folder the file is called as its source.
    fs::write(folder.path().join("name"), "x").unwrap();
    assert!(error(sink(folder.path(), false)).contains("/name exists"));

    let refuse = |source: &Path| {
        let source = CopySource::Path(source.display().to_string());
        send(send_spec(source, 1, options()))
            .unwrap_err()
            .to_string()
    };
    assert!(refuse(&missing).contains("No such file"));
    assert!(refuse(folder.path()).contains("is a directory"));
    let streams = CopyOptions {
        streams: 0,
        ..options()
    };
    assert!(try_receiver(CopySink::Discard, streams).is_err());
}
