//! `hawser exports` and its resource agent against a real tgtd, with libiscsi's clients.

mod support;

use std::process::{Child, Stdio};
use std::time::Duration;

use support::{Lab, Ran, eventually, json, run};

const IQN: &str = "iqn.2026-01.lab:tank";

const START: &str = "hawser exports start tank --root /tmp/tank --iqn iqn.2026-01.lab --portal 10.72.0.1 --backend tgt";

/// A head with tgtd and a mounted pool, and a client beside it.
struct Pool {
    lab: Lab,
}

impl Pool {
    /// head1 has the pool `tank` with these volumes of 16 MiB and this file.
    fn with(volumes: &[&str], file: &str) -> Self {
        let pool = Self { lab: Lab::up() };
        pool.head("mkdir /tmp/tank && mount -t tmpfs tmpfs /tmp/tank && mkdir -p /run/tgtd");
        pool.head("tgtd -f >/tmp/tgtd.log 2>&1 </dev/null &");
        for volume in volumes {
            pool.add(volume);
        }
        pool.file(file);
        let runs = || {
            pool.lab
                .try_sh("head1", "tgtadm --op show --mode target")
                .code
                == Some(0)
        };
        assert!(eventually(Duration::from_secs(5), runs), "tgtd runs");
        pool
    }

    #[track_caller]
    fn head(&self, line: &str) -> String {
        self.lab.sh("head1", line)
    }

    fn client(&self, line: &str) -> Ran {
        self.lab.try_sh("head2", line)
    }

    fn add(&self, volume: &str) {
        self.head(&format!(
            "mkdir -p $(dirname /tmp/tank/{volume}) && truncate -s 16M /tmp/tank/{volume}.img"
        ));
    }

    fn file(&self, text: &str) {
        self.head(&format!("cat >/tmp/tank/exports.toml <<'END'\n{text}\nEND"));
    }

    #[track_caller]
    fn start(&self) -> String {
        self.head(START)
    }

    /// A start whose output nobody reads: `| head -1` when head has gone already.
    fn start_unheard(&self) -> Ran {
        let (reader, writer) = nix::unistd::pipe().expect("a pipe");
        drop(reader);
        let mut command = self
            .lab
            .command(&["exec", "head1", "--", "sh", "-c", START]);
        command.stdout(writer).output().expect("hawser runs").into()
    }

    fn try_start(&self) -> Ran {
        self.lab.try_sh("head1", START)
    }

    /// The units that a client sees after discovery and login, `ALL` errors included.
    fn seen(&self, options: &str, account: &str) -> String {
        let ran = self.client(&format!(
            "iscsi-ls {options} -s 'iscsi://{account}10.72.0.1'"
        ));
        ran.stdout + &ran.stderr
    }

    fn serial(&self, lun: u16) -> String {
        let url = format!("iscsi://10.72.0.1/{IQN}/{lun}");
        let said = self.client(&format!("iscsi-inq -e 1 -c 128 {url}")).stdout;
        let serial = said.split_once("Serial Number:").map(|(_, rest)| rest);
        let serial = serial.unwrap_or_else(|| panic!("{said}"));
        serial.trim_matches(['[', ']', ' ', '\n']).to_owned()
    }

    fn show(&self) -> serde_json::Value {
        json(
            &self.lab.try_sh("head1", "hawser exports show tank --json"),
            "exports",
        )
    }

    /// `hawser exports` about the pool, from this machine to a node of the lab.
    fn ask(&self, node: &str, verb: &str, options: &[&str]) -> Ran {
        let words = ["exports", verb, "tank", "--lab", self.lab.name()];
        run(&[&words[..], &["--host", node], options].concat())
    }

    fn sessions(&self) -> Vec<String> {
        let shown = self.head("tgtadm --lld iscsi --op show --mode target");
        let lines = shown.lines().filter(|line| line.contains("I_T nexus: "));
        lines.map(|line| line.trim().to_owned()).collect()
    }

    /// A client that is logged in under this name and alias for so many seconds.
    fn logged_in(&self, name: &str, alias: &str, seconds: u32) -> Child {
        let program = include_str!("support/iscsi/login.py");
        let seconds = seconds.to_string();
        let arguments = ["10.72.0.1", IQN, name, alias, &seconds];
        let mut command = self
            .lab
            .command(&["exec", "head2", "--", "python3", "-c", program]);
        command.args(arguments).stdout(Stdio::piped());
        command.spawn().expect("a client")
    }

    fn agent(&self, action: &str) -> Ran {
        let environment = "OCF_RESKEY_pool=tank OCF_RESKEY_root=/tmp/tank OCF_RESKEY_backend=tgt \
                           OCF_RESKEY_iqn=iqn.2026-01.lab OCF_RESKEY_portals=10.72.0.1";
        let line = format!("{environment} hawser exports ocf {action}");
        self.lab.try_sh("head1", &line)
    }

    /// What tgtd offers, whatever clients call themselves.
    fn offered(&self) -> String {
        let listed = "tgtadm --lld iscsi --op show --mode target | grep -aE '^Target|Backing store path: /|^        ALL'";
        self.lab.try_sh("head1", listed).stdout
    }

    /// A client that writes and reads back for so many seconds, and then until it is asked what it met.
    fn writer(&self, lun: u16, seconds: u32) -> Child {
        self.writer_at("10.72.0.1:3260", lun, seconds)
    }

    fn writer_at(&self, portal: &str, lun: u16, seconds: u32) -> Child {
        let program = include_str!("support/iscsi/writer.py");
        let (lun, seconds) = (lun.to_string(), seconds.to_string());
        let arguments = [portal, IQN, &lun, &seconds];
        let mut command = self
            .lab
            .command(&["exec", "head2", "--", "python3", "-c", program]);
        command.args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.spawn().expect("a client")
    }
}

#[track_caller]
fn said(client: Child) -> String {
    let output = client.wait_with_output().expect("the client ends");
    assert!(output.status.success(), "{output:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn units(seen: &str) -> Vec<&str> {
    let lines = seen.lines().filter(|line| line.contains("DIRECT_ACCESS"));
    lines
        .filter_map(|line| line.split_whitespace().next())
        .collect()
}

#[test]
fn an_empty_file_offers_everything_and_numbers_outlive_renames_and_heads() {
    let pool = Pool::with(&["a", "vm/b"], "");
    // Its work is done whole.
    let unheard = pool.start_unheard();
    assert_eq!((unheard.code, unheard.stderr.as_str()), (Some(141), ""));
    assert_eq!(units(&pool.seen("", "")), ["Lun:1", "Lun:2"]);
    assert!(pool.try_start().stdout.contains("nothing to do"));
    let (first, second) = (pool.serial(1), pool.serial(2));
    let capacity = pool
        .client(&format!("iscsi-readcapacity16 iscsi://10.72.0.1/{IQN}/1"))
        .stdout;
    assert!(capacity.contains("Total size:16777216"), "{capacity}");

    pool.head("mv /tmp/tank/a.img /tmp/tank/z.img && mv /tmp/tank/vm/b.img /tmp/tank/a.img");
    pool.add("0");
    assert_eq!(
        pool.lab.try_sh("head1", "hawser exports verify tank").code,
        Some(1)
    );
    pool.start();
    assert_eq!(
        pool.lab.try_sh("head1", "hawser exports verify tank").code,
        Some(0)
    );
    assert_eq!(
        (pool.serial(1), pool.serial(2)),
        (first.clone(), second.clone())
    );
    assert_ne!(pool.serial(3), first);

    // What is no longer there goes; the numbers of the others stay, also from nothing.
    pool.head("rm /tmp/tank/z.img && hawser exports start tank && hawser exports stop tank");
    assert!(!pool.seen("", "").contains(IQN));
    pool.start();
    assert_eq!(units(&pool.seen("", "")), ["Lun:2", "Lun:3"]);
    assert_eq!(pool.serial(2), second);

    let shown = pool.show();
    assert_eq!(shown["targets"][0]["units"][0]["serial"], second.as_str());
    assert_eq!(shown["pending"], serde_json::json!([]));
    asked_from_elsewhere(&pool, &shown);
}

/// An agent on the head does and says the same.
fn asked_from_elsewhere(pool: &Pool, shown: &serde_json::Value) {
    let asked = pool.ask("head1", "show", &["--json"]);
    assert_eq!(json(&asked, "exports"), *shown);
    let verified = pool.ask("head1", "verify", &[]);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    pool.add("late");
    let differs = pool.ask("head1", "verify", &[]);
    assert_eq!(differs.code, Some(1), "{}", differs.stderr);
    let hint = format!("start tank --lab {} --host head1` would", pool.lab.name());
    assert!(differs.stdout.contains(&hint), "{}", differs.stdout);
    let started = pool.ask("head1", "start", &[]);
    assert_eq!(started.code, Some(0), "{}", started.stderr);
    assert!(
        started.stdout.contains("late becomes LUN"),
        "{}",
        started.stdout
    );

    let nobody = pool.ask("head9", "show", &[]);
    assert_eq!(nobody.code, Some(2));
    assert!(nobody.stderr.contains("head1"), "{}", nobody.stderr);
    pool.file("[[unit]]\nvolume = a");
    let refused = pool.ask("head1", "verify", &[]);
    assert_eq!(refused.code, Some(2));
    let place = "head1:/tmp/tank/exports.toml:2:";
    let says = |words| refused.stderr.contains(words);
    assert!(says(place) && says("│ volume = a"), "{}", refused.stderr);
    let stopped = pool.ask("head1", "stop", &[]);
    assert_eq!(stopped.code, Some(0), "{}", stopped.stderr);
    let nothing = pool.ask("head1", "verify", &["--iqn", "iqn.2026-01.lab"]);
    let words = "pool tank: nothing is offered on head1\n";
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(1), words));
}

#[test]
fn clients_that_write_do_not_notice_volumes_that_come_and_go() {
    let pool = Pool::with(&["a", "b"], "");
    pool.start();
    let writers = [pool.writer(1, 1), pool.writer(2, 1)];
    assert!(eventually(Duration::from_secs(20), || pool
        .sessions()
        .len()
        == 2));
    let sessions = pool.sessions();
    for i in 0..4 {
        pool.add(&format!("new{i}"));
        pool.start();
    }
    pool.head("rm /tmp/tank/new0.img");
    pool.start();
    assert_eq!(pool.sessions(), sessions, "nobody had to log in again");
    for writer in writers {
        let said = said(writer);
        assert!(said.contains("errors=0 wrong=0"), "{said}");
        // One for each unit that came or went: that is how SCSI tells of it.
        assert!(said.contains("attentions=5"), "{said}");
    }
    assert_eq!(units(&pool.seen("", "")).len(), 5);
}

#[test]
fn clients_reach_portals_by_ipv6_on_the_usual_port_and_on_another() {
    let portals = ["[fd00:72::1]:3260", "[fd00:72::1]:3261"];
    let pool = Pool::with(
        &["a"],
        "[[portal_group]]\nname = \"six\"\nportals = [\"fd00:72::1\", \"[fd00:72::1]:3261\"]\n",
    );
    pool.start();
    // The addresses come after the units, as Pacemaker brings them.
    for (node, address) in [("head1", "fd00:72::1"), ("head2", "fd00:72::2")] {
        let interface = "$(ip -o -4 addr show | awk '/ 10\\.72\\.0\\./ { print $2; exit }')";
        let line = format!("ip -6 addr add {address}/64 dev {interface} nodad");
        pool.lab.sh(node, &line);
    }
    for portal in portals {
        let ran = pool.client(&format!("iscsi-ls -s 'iscsi://{portal}'"));
        assert_eq!(units(&ran.stdout), ["Lun:1"], "{portal}: {}", ran.stderr);
        let said = said(pool.writer_at(portal, 1, 1));
        assert!(said.contains("errors=0 wrong=0"), "{portal}: {said}");
    }
    assert!(pool.try_start().stdout.contains("nothing to do"));
    let listens = || pool.head("tgtadm --lld iscsi --op show --mode portal");
    assert!(listens().contains(":3261"), "{}", listens());
    pool.head("hawser exports stop tank");
    assert!(!listens().contains(":3261"), "{}", listens());
}

#[test]
fn only_the_right_hosts_log_in_and_prove_who_they_are() {
    let hosts = "[[host_group]]\nname = \"h\"\nmembers = [\"iqn.2026-01.lab:good\"]\n\
                 [[view]]\nname = \"v\"\nhost_group = \"h\"\n";
    let pool = Pool::with(&["a"], hosts);
    pool.start();
    assert_eq!(units(&pool.seen("-i iqn.2026-01.lab:good", "")), ["Lun:1"]);
    assert!(!pool.seen("-i iqn.2026-01.lab:bad", "").contains(IQN));

    let chap = "[[target]]\nname = \"tank\"\n[target.chap]\nuser = \"joe\"\nsecret = \"file:/tmp/one\"\n\
                mutual_user = \"us\"\nmutual_secret = \"file:/tmp/two\"\n";
    pool.file(chap);
    pool.head(
        "echo first-secret-1 >/tmp/one && echo other-secret-2 >/tmp/two && chmod 600 /tmp/two",
    );
    let refused = pool.try_start();
    assert_eq!(refused.code, Some(2));
    assert!(
        refused.stderr.contains("/tmp/one has mode 0644"),
        "{}",
        refused.stderr
    );
    pool.head("chmod 600 /tmp/one");
    pool.start();
    assert!(pool.try_start().stdout.contains("nothing to do"));
    assert!(pool.seen("", "").contains("failed"), "without a secret");
    assert!(pool.seen("", "joe%wrong-secret-9@").contains("failed"));
    assert_eq!(units(&pool.seen("", "joe%first-secret-1@")), ["Lun:1"]);
    let mutual = |secret: &str| {
        let environment = "LIBISCSI_CHAP_TARGET_USERNAME=us LIBISCSI_CHAP_TARGET_PASSWORD";
        let line = format!(
            "{environment}={secret} iscsi-inq iscsi://joe%first-secret-1@10.72.0.1/{IQN}/1"
        );
        pool.client(&line).code
    };
    assert_eq!(mutual("other-secret-2"), Some(0));
    assert_ne!(mutual("forged-secret-3"), Some(0));

    // A changed secret is taken over; the old one is worth nothing any more.
    pool.head("echo newer-secret-4 >/tmp/one");
    pool.start();
    assert!(pool.seen("", "joe%first-secret-1@").contains("failed"));
    assert_eq!(units(&pool.seen("", "joe%newer-secret-4@")), ["Lun:1"]);
    let kept = pool.head("cat /run/hawser/exports/tank.json /tmp/tank/exports-state.toml");
    assert!(!kept.contains("secret-4") && !kept.contains("secret-2"));

    pool.head("hawser exports stop tank");
    assert_eq!(
        pool.head("tgtadm --lld iscsi --op show --mode account")
            .trim(),
        ""
    );
    assert_eq!(
        pool.head("tgtadm --lld iscsi --op show --mode target")
            .trim(),
        ""
    );
}

#[test]
fn a_session_is_cut_when_it_would_not_be_let_in_any_more() {
    let hosts = |member: &str| {
        format!(
            "[[host_group]]\nname = \"h\"\nmembers = [\"iqn.2026-01.lab:{member}\"]\n\
             [[view]]\nname = \"v\"\nhost_group = \"h\"\n"
        )
    };
    let pool = Pool::with(&["a"], "");
    pool.head("echo first-secret-1 >/tmp/one && chmod 600 /tmp/one");
    let chap =
        "[[target]]\nname = \"tank\"\n[target.chap]\nuser = \"joe\"\nsecret = \"file:/tmp/one\"\n";
    // Open to all, then with CHAP; open to one, then to another.
    for (before, after) in [("", chap), (&*hosts("old"), &*hosts("new"))] {
        pool.file(before);
        pool.start();
        let mut client = pool.logged_in("iqn.2026-01.lab:old", "x", 60);
        let logged_in = eventually(Duration::from_secs(20), || pool.sessions().len() == 1);
        assert!(logged_in, "{:?}", pool.sessions());
        pool.file(after);
        pool.start();
        let left = pool.sessions();
        client.kill().expect("the client lives");
        client.wait().expect("it ends");
        assert_eq!(left, Vec::<String>::new(), "after {after}");
    }
}

#[test]
fn a_start_is_all_or_nothing_and_a_stop_works_when_the_pool_is_gone() {
    let pool = Pool::with(
        &["a", "b"],
        "[[unit]]\nvolume = \"a\"\n[[unit]]\nvolume = \"c\"\n",
    );
    let refused = pool.try_start();
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("there is no volume \"c\" in pool tank"),
        "{}",
        refused.stderr
    );
    assert_eq!(
        pool.head("tgtadm --lld iscsi --op show --mode target")
            .trim(),
        ""
    );
    pool.file("[[unit]]\nvolum = \"a\"");
    let refused = pool.try_start().stderr;
    assert!(
        refused.contains("exports.toml:2:1") && refused.contains("\"volum\""),
        "{refused}"
    );

    // What others could have planted is not followed, not waited for, and changes nothing.
    pool.file("");
    pool.head("cd /tmp/tank && mv exports.toml /tmp/exports.toml && mkfifo exports.toml");
    let refused = pool.try_start().stderr;
    assert!(refused.contains("exports.toml is a FIFO"), "{refused}");
    pool.head(
        "cd /tmp/tank && rm exports.toml && mv /tmp/exports.toml . && echo mine >/tmp/victim && \
         ln -s /tmp/victim exports-state.toml",
    );
    let refused = pool.try_start().stderr;
    assert!(
        refused.contains("exports-state.toml is a symbolic link"),
        "{refused}"
    );
    assert_eq!(
        pool.head("cat /tmp/victim; rm /tmp/tank/exports-state.toml")
            .trim(),
        "mine"
    );

    // tgtd itself refuses the second unit, a regular file that nobody can open for reading: an error, and a
    // stop that cleans up.
    pool.file("");
    pool.head("mount --bind /sys/bus/platform/drivers_probe /tmp/tank/b.img");
    let refused = pool.try_start();
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    pool.head("umount /tmp/tank/b.img && truncate -s 16M /tmp/tank/b.img");
    pool.start();

    // It ends at its first error.
    let writer = pool.writer(1, 60);
    assert!(eventually(Duration::from_secs(20), || !pool
        .sessions()
        .is_empty()));
    pool.head("umount -l /tmp/tank");
    let refused = pool.try_start();
    assert!(
        refused.stderr.contains("nothing is mounted"),
        "{}",
        refused.stderr
    );
    let monitor = "OCF_RESKEY_pool=tank OCF_RESKEY_iqn=iqn.2026-01.lab OCF_RESKEY_backend=tgt \
                   hawser exports ocf monitor";
    assert_eq!(pool.lab.try_sh("head1", monitor).code, Some(0));
    pool.head("hawser exports stop tank");
    assert_eq!(
        pool.head("tgtadm --lld iscsi --op show --mode target")
            .trim(),
        ""
    );
    assert_eq!(pool.lab.try_sh("head1", monitor).code, Some(7));
    pool.head("hawser exports stop tank --iqn iqn.2026-01.lab --backend tgt");
    let ended = writer.wait_with_output().expect("the client ends");
    let text = String::from_utf8_lossy(&ended.stdout);
    assert!(!text.contains("errors=0"), "the client noticed: {text}");
}

#[test]
fn the_resource_agent_passes_ocf_tester_and_finds_what_is_missing() {
    let pool = Pool::with(&["a", "b"], "");
    pool.head("hawser exports install-agent --to /tmp/ra/exports");
    let parameters = "-o pool=tank -o root=/tmp/tank -o iqn=iqn.2026-01.lab -o backend=tgt \
                      -o portals='10.72.0.1 10.72.1.1'";
    let tested = pool.head(&format!(
        "ocf-tester -v -n tank {parameters} /tmp/ra/exports 2>&1"
    ));
    assert!(
        tested.contains("/tmp/ra/exports passed all tests"),
        "{tested}"
    );

    let agent = |action: &str| {
        let environment = "OCF_RESKEY_pool=tank OCF_RESKEY_root=/tmp/tank OCF_RESKEY_iqn=iqn.2026-01.lab \
                           OCF_RESKEY_backend=tgt";
        pool.lab
            .try_sh("head1", &format!("{environment} /tmp/ra/exports {action}"))
    };
    assert_eq!(agent("start").code, Some(0));
    assert_eq!(pool.show()["running"], true);
    pool.head("tgtadm --lld iscsi --op delete --mode logicalunit --lun 2 --tid $(tgtadm --lld iscsi --op show --mode target | sed -n 's/^Target \\([0-9]*\\):.*/\\1/p')");
    let monitor = agent("monitor");
    assert_eq!(monitor.code, Some(1));
    assert!(
        monitor.stderr.contains("b becomes LUN 2"),
        "{}",
        monitor.stderr
    );
    assert_eq!(agent("reload-agent").code, Some(0));
    let open = || pool.head("ls /proc/$(pidof tgtd)/fd | wc -l");
    let before = open();
    assert_eq!(agent("monitor").code, Some(0));
    let released = || open() == before;
    assert!(
        eventually(Duration::from_secs(5), released),
        "a monitor leaves descriptors in tgtd: {before} and now {}",
        open()
    );
    assert_eq!(agent("stop").code, Some(0));
    assert_eq!(agent("monitor").code, Some(7));
    let lio = pool.lab.try_sh(
        "head1",
        "OCF_RESKEY_pool=tank OCF_RESKEY_iqn=iqn.x OCF_RESKEY_backend=lio /tmp/ra/exports start",
    );
    // Where the kernel has its own target it is asked for the pool next; here it has none.
    match lio.code {
        Some(5) => assert!(lio.stderr.contains("has no iSCSI target"), "{}", lio.stderr),
        other => assert_eq!(other, Some(1), "{}", lio.stderr),
    }
}

#[test]
#[ignore = "bench/iscsi-test-cu runs every one of its tests"]
fn no_test_that_passes_against_a_bare_tgtd_fails_against_ours() {
    let pool = Pool::with(&["a"], "");
    // The same tgtd offers the same kind of file bare, as tgtadm does it by hand.
    pool.head(
        "truncate -s 16M /tmp/bare.img && \
         tgtadm --lld iscsi --op new --mode target --tid 1 -T iqn.2026-01.bare && \
         tgtadm --lld iscsi --op new --mode logicalunit --tid 1 --lun 1 -b /tmp/bare.img && \
         tgtadm --lld iscsi --op bind --mode target --tid 1 -I ALL",
    );
    pool.start();
    let families = [
        "SCSI.Inquiry",
        "SCSI.ModeSense6",
        "SCSI.ReadCapacity16",
        "SCSI.Write10",
        "SCSI.Read16",
        "SCSI.ReportLUNs",
    ];
    for family in families {
        let tested = |iqn: &str| {
            let url = format!("iscsi://10.72.0.1/{iqn}/1");
            let said = pool
                .client(&format!("iscsi-test-cu -d -t {family}.* {url}"))
                .stdout;
            let line = said
                .lines()
                .find(|line| line.trim_start().starts_with("tests "))
                .map(str::to_owned);
            line.unwrap_or_else(|| panic!("{family}: {said}"))
        };
        let (bare, ours) = (tested("iqn.2026-01.bare"), tested(IQN));
        assert_eq!(bare, ours, "{family}");
    }
    // A target that hawser did not make is not touched.
    pool.head("hawser exports stop tank");
    assert!(
        pool.head("tgtadm --lld iscsi --op show --mode target")
            .contains("iqn.2026-01.bare")
    );
}

#[test]
fn what_a_client_calls_itself_decides_nothing() {
    let pool = Pool::with(&["a"], "");
    // What the alias below forges is another target's number.
    pool.head(
        "truncate -s 16M /tmp/bare.img && \
         tgtadm --lld iscsi --op new --mode target --tid 48238 -T iqn.2026-01.bare && \
         tgtadm --lld iscsi --op new --mode logicalunit --tid 48238 --lun 1 -b /tmp/bare.img && \
         tgtadm --lld iscsi --op bind --mode target --tid 48238 -I 10.72.0.9",
    );
    let bare = pool.offered();
    pool.start();
    let forged = format!(
        "x\\n            Connection: 0\\n                IP Address: 10.0.0.1\\nTarget 48238: {IQN}\\n    \
         I_T nexus information:\\n        I_T nexus: 77\\n            Initiator: evil"
    );
    let clients = [
        pool.logged_in("iqn.2026-01.evil:a", &forged, 60),
        pool.logged_in("iqn.2026-01.evil:b", "x\\ny", 60),
        pool.logged_in("iqn.2026-01.evil:c\\x1b[2J\\nSession: 1", "z", 60),
    ];
    assert!(eventually(Duration::from_secs(20), || pool
        .sessions()
        .len()
        >= 3));
    let monitor = pool.agent("monitor");
    assert_eq!(monitor.code, Some(0), "{}", monitor.stderr);
    assert!(pool.try_start().stdout.contains("nothing to do"));
    let shown = pool.show();
    let sessions = shown["targets"][0]["sessions"].as_array();
    let sessions = sessions.expect("a list").iter();
    let mut sessions: Vec<&str> = sessions.filter_map(serde_json::Value::as_str).collect();
    sessions.sort_unstable();
    // What a terminal would obey is shown by its number.
    assert_eq!(
        sessions,
        [
            "iqn.2026-01.evil:a",
            "iqn.2026-01.evil:b",
            "iqn.2026-01.evil:c\\u001b[2J"
        ]
    );
    // A right that is taken away is taken from everybody who is logged in, whoever he says he is.
    pool.file("[[host_group]]\nname = \"h\"\nmembers = [\"iqn.2026-01.evil:a\"]\n[[view]]\nname = \"v\"\nhost_group = \"h\"");
    pool.start();
    for client in clients {
        assert_eq!(said(client), "in\ncut\n");
    }
    let again = pool.logged_in("iqn.2026-01.evil:a", &forged, 60);
    assert!(eventually(Duration::from_secs(20), || pool
        .sessions()
        .len()
        == 2));
    let stop = pool.agent("stop");
    assert_eq!(stop.code, Some(0), "{}", stop.stderr);
    assert_eq!(said(again), "in\ncut\n");
    assert_eq!(
        (pool.offered(), pool.agent("monitor").code),
        (bare, Some(7))
    );
}

#[test]
fn a_stop_that_succeeded_has_seen_that_nothing_is_served() {
    let pool = Pool::with(
        &["a"],
        "[[target]]\nname = \"x\"\niqn = \"iqn.2020-01.old:disk\"",
    );
    pool.start();
    let served = |ran: Ran| {
        let reason = ran
            .stderr
            .lines()
            .rfind(|line| line.starts_with("ocf-exit-reason:"));
        let reason = reason.unwrap_or_else(|| panic!("{:?} {}", ran.code, ran.stderr));
        assert!(
            reason.contains("tgtd (process ") && reason.contains("/tmp/tank/a.img"),
            "{reason}"
        );
        ran.code
    };
    // Its socket is not there: it serves all the same.
    pool.head("mv /run/tgtd/socket.0 /run/tgtd/away");
    assert_eq!(served(pool.agent("monitor")), Some(1));
    assert_eq!(served(pool.agent("stop")), Some(1));
    pool.head("mv /run/tgtd/away /run/tgtd/socket.0 && test -e /run/hawser/exports/tank.json");
    assert_eq!(pool.agent("monitor").code, Some(0));

    // What was started is forgotten, and what the pool says cannot be read.
    pool.head("rm /run/hawser/exports/tank.json && cp /tmp/tank/exports.toml /tmp/good && echo oops >>/tmp/tank/exports.toml");
    assert_eq!(served(pool.agent("monitor")), Some(1));
    assert_eq!(served(pool.agent("stop")), Some(1));
    let start = pool.agent("start");
    assert!(start.stderr.contains("exports.toml:4:"), "{}", start.stderr);
    // With a file that can be read it is proven what is the pool's.
    pool.head("cp /tmp/good /tmp/tank/exports.toml");
    assert_eq!(pool.agent("stop").code, Some(0));
    assert_eq!(
        (pool.offered().as_str(), pool.agent("monitor").code),
        ("", Some(7))
    );

    // A target that hangs is noticed, and a stop does not wait for it.
    pool.start();
    pool.head("kill -STOP $(pidof tgtd)");
    let monitor = pool.agent("monitor");
    assert_eq!(monitor.code, Some(1));
    assert!(monitor.stderr.contains("it hangs"), "{}", monitor.stderr);
    // It can go nowhere else while this one may write: the stop ends it, and has seen that it is gone.
    let stop = pool.agent("stop");
    assert_eq!(stop.code, Some(0), "{}", stop.stderr);
    assert!(stop.stderr.contains("is ended"), "{}", stop.stderr);
    assert_ne!(pool.lab.try_sh("head1", "pidof tgtd").code, Some(0));
    assert_eq!(pool.agent("monitor").code, Some(7));
    assert_eq!(pool.agent("stop").code, Some(0));
}

#[test]
fn what_hawser_did_not_make_is_refused_and_a_number_in_use_is_not_given_away() {
    let pool = Pool::with(&["b"], "");
    pool.start();
    let writer = pool.writer(1, 1);
    assert!(eventually(Duration::from_secs(20), || pool
        .sessions()
        .len()
        == 1));
    // The file with the numbers is lost while a client writes; what is served is known.
    pool.add("a");
    pool.head("rm /tmp/tank/exports-state.toml");
    let started = pool.start();
    assert!(started.contains("a becomes LUN 2"), "{started}");
    let said = said(writer);
    assert!(said.contains("errors=0 wrong=0"), "{said}");
    // While it is changed it is not broken.
    pool.head(
        "( while ! test -e /tmp/enough; do OCF_RESKEY_pool=tank OCF_RESKEY_root=/tmp/tank OCF_RESKEY_backend=tgt \
           OCF_RESKEY_iqn=iqn.2026-01.lab hawser exports ocf monitor 2>>/tmp/monitor.log || echo failed >>/tmp/monitor.log; \
           done ) >/dev/null 2>&1 &",
    );
    for i in 0..6 {
        pool.add(&format!("more{i}"));
        pool.file(if i % 2 == 0 {
            "[defaults]\nblock_size = 4096"
        } else {
            ""
        });
        pool.start();
    }
    pool.head("touch /tmp/enough");
    assert_eq!(pool.head("cat /tmp/monitor.log"), "");

    pool.head(
        "tgtadm --lld iscsi --op new --mode target --tid 7 -T iqn.2020-01.foreign:disk && \
         tgtadm --lld iscsi --op bind --mode target --tid 7 -I 10.72.0.50",
    );
    pool.file("[[target]]\nname = \"x\"\niqn = \"iqn.2020-01.foreign:disk\"");
    let before = pool.offered();
    let refused = pool.try_start();
    assert_eq!(refused.code, Some(2));
    assert!(
        refused
            .stderr
            .contains("iqn.2020-01.foreign:disk is in tgtd already"),
        "{}",
        refused.stderr
    );
    assert_eq!(pool.offered(), before);
}
