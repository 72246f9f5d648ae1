//! Agents over the operator's `ssh`, against a real `sshd` in a node of the test's own.

mod agent_support;

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use agent_support::{A, B, KEY, Node, Nodes, ask, eventually, flow, hawser, write};
use hawser_agent::questions::{Care, OpenSender, ReadChanges, ReadFacts, TryKnob};
use hawser_host::protocol::Ping;
use hawser_host::transport::{Executable, Ssh};
use hawser_host::{Agent, Failure, Host, HostError};
use hawser_model::knob::Knob;

/// Node `b` with an sshd, and the client's files in the scratch directory.
struct Server {
    nodes: Nodes,
    sshd: Child,
    executable: Arc<Executable>,
}

/// What is particular about a server.
#[derive(Clone, Copy, Default)]
struct Particular {
    /// Shell that runs in the node when it starts.
    mounts: &'static str,
    /// Root's `.bashrc`, which bash reads also for a command over ssh.
    bashrc: &'static str,
    /// A script that stands before the real `uname` in the path.
    uname: &'static str,
    /// Root's login shell.
    shell: Option<&'static str>,
}

impl Server {
    fn start(particular: Particular) -> Self {
        let nodes = Nodes::start_with(particular.mounts);
        let files = nodes.scratch.path().to_owned();
        // sshd gives up its rights before it reads a user's key file.
        std::fs::set_permissions(&files, PermissionsExt::from_mode(0o755)).unwrap();
        for key in ["host", "user", "impostor"] {
            run(
                "ssh-keygen",
                &["-q", "-t", "ed25519", "-N", "", "-f", key],
                &files,
            );
        }
        let shell = particular.shell.unwrap_or("/bin/bash");
        let home = files.join("root");
        std::fs::create_dir(&home).unwrap();
        write(&home, ".bashrc", particular.bashrc);
        let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
        let others = passwd.lines().filter(|line| !line.starts_with("root:"));
        let passwd = format!(
            "root:x:0:0:root:{home}:{shell}\nguest:x:4711:4711::{home}:/bin/sh\n{}\n",
            others.collect::<Vec<_>>().join("\n"),
            home = home.display(),
        );
        let passwd = write(&files, "passwd", &passwd);
        nodes
            .b
            .sh(&format!("mount --bind {} /etc/passwd", passwd.display()));
        let shims = files.join("shims");
        std::fs::create_dir(&shims).unwrap();
        if !particular.uname.is_empty() {
            let shim = write(&shims, "uname", particular.uname);
            std::fs::set_permissions(shim, PermissionsExt::from_mode(0o755)).unwrap();
        }
        let dir = files.display();
        let config = write(
            &files,
            "sshd_config",
            &format!(
                "ListenAddress {B}\nPort 2222\nHostKey {dir}/host\nAuthorizedKeysFile {dir}/user.pub\n\
                 StrictModes no\nUsePAM no\nPasswordAuthentication no\n\
                 KbdInteractiveAuthentication no\nPidFile none\nBanner {dir}/banner\n\
                 SetEnv PATH={dir}/shims:/usr/sbin:/usr/bin:/sbin:/bin\n"
            ),
        );
        write(&files, "banner", "Authorised use only.\n");
        let sshd = nodes
            .b
            .command("/usr/sbin/sshd")
            .args(["-D", "-e", "-f"])
            .arg(config)
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        eventually("sshd", Duration::from_secs(5), || {
            !nodes.b.sh("ss -Hltn sport = :2222").is_empty()
        });
        let server = Self {
            nodes,
            sshd,
            executable: Arc::new(Executable::read(Path::new(&hawser())).unwrap()),
        };
        server.know("host.pub");
        server
    }

    /// Makes a public key the one the client knows the server by.
    fn know(&self, key: &str) {
        let files = self.nodes.scratch.path();
        let key = std::fs::read_to_string(files.join(key)).unwrap();
        write(files, "known_hosts", &format!("[{B}]:2222 {key}"));
    }

    fn ssh(&self, user: &str) -> Ssh {
        let files = self.nodes.scratch.path();
        let config = write(
            files,
            "ssh_config",
            &format!(
                "Host head2\n HostName {B}\n Port 2222\n User {user}\n IdentityFile {dir}/user\n \
                 IdentitiesOnly yes\n UserKnownHostsFile {dir}/known_hosts\n \
                 GlobalKnownHostsFile /dev/null\n StrictHostKeyChecking yes\n",
                dir = files.display()
            ),
        );
        Ssh::new("head2".into(), "head2".into(), Arc::clone(&self.executable)).config(config)
    }

    fn connect(&self, ssh: &Ssh) -> Result<Agent, HostError> {
        self.nodes.a.inside(|| Agent::connect(ssh, KEY))
    }

    fn refusal(&self, ssh: &Ssh) -> HostError {
        match self.connect(ssh) {
            Ok(agent) => panic!("an agent started on {}", agent.name()),
            Err(error) => {
                println!("{error}\n");
                error
            }
        }
    }

    fn node(&self) -> &Node {
        &self.nodes.b
    }

    /// Where the start script puts our executable.
    fn copy(&self) -> String {
        format!("/run/hawser/hawser-{}", self.executable.digest)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
    }
}

fn run(program: &str, arguments: &[&str], directory: &Path) {
    let status = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .status()
        .unwrap();
    assert!(status.success(), "{program} {arguments:?}");
}

#[test]
fn the_first_login_copies_the_agent_and_the_second_finds_it() {
    let server = Server::start(Particular::default());
    let stale = format!("/run/hawser/hawser-{}", "0".repeat(64));
    server.node().sh(&format!(
        "mkdir -m 700 /run/hawser; echo old >{stale}; touch -d '1 hour ago' {stale}; \
         echo notes >/run/hawser/notes"
    ));
    let ssh = server.ssh("root");
    let mut times = Vec::new();
    for _ in 0..3 {
        let started = Instant::now();
        let mut agent = server.connect(&ssh).unwrap();
        times.push(started.elapsed());
        ask(&mut agent, &ReadFacts).unwrap();
    }
    println!(
        "connected in {times:?}, the first with {} bytes to copy",
        server.executable.size
    );
    let copy = server.copy();
    let listed = server.node().sh("ls /run/hawser");
    assert_eq!(
        listed,
        format!("{}\nnotes", copy.rsplit('/').next().unwrap())
    );
    assert_eq!(
        server.node().sh(&format!("stat -c %a {copy} /run/hawser")),
        "755\n700"
    );
}

#[test]
fn a_damaged_copy_under_our_name_is_replaced() {
    let server = Server::start(Particular::default());
    let copy = server.copy();
    server.node().sh(&format!(
        "mkdir -m 700 /run/hawser; echo 'echo not hawser' >{copy}; chmod 755 {copy}"
    ));
    drop(server.connect(&server.ssh("root")).unwrap());
    let digest = server.node().sh(&format!("sha256sum {copy}"));
    assert!(digest.starts_with(&server.executable.digest));
}

#[test]
fn nothing_but_paths_and_digests_stands_in_an_argument_list() {
    let server = Server::start(Particular::default());
    let agent = server.connect(&server.ssh("root")).unwrap();
    let arguments = server.node().sh("cat /proc/[0-9]*/cmdline | tr '\\0' ' '");
    assert!(arguments.contains("agent"));
    assert!(!arguments.contains(&KEY.0.to_string()), "{arguments}");
    drop(agent);
}

#[test]
fn a_login_shell_that_talks_does_not_disturb() {
    for shell in ["/bin/bash", "/bin/sh"] {
        let server = Server::start(Particular {
            bashrc: "echo Welcome to head2; cat /etc/os-release; seq 2000",
            shell: Some(shell),
            ..Particular::default()
        });
        let mut agent = server.connect(&server.ssh("root")).unwrap();
        ask(&mut agent, &Ping).unwrap();
    }
}

#[test]
fn a_login_shell_that_never_runs_the_command_is_shown() {
    let server = Server::start(Particular {
        bashrc: "echo This host is being rebuilt.; exit 3",
        ..Particular::default()
    });
    let words = server.refusal(&server.ssh("root")).to_string();
    assert!(
        words.contains("head2") && words.contains("This host is being rebuilt."),
        "{words}"
    );
    assert!(words.contains("exit status: 3"), "{words}");
}

#[test]
fn a_login_that_hangs_is_given_up_after_its_limit() {
    let server = Server::start(Particular {
        bashrc: "sleep 60",
        ..Particular::default()
    });
    let second = Duration::from_secs(1);
    let ssh = server.ssh("root").connect_timeout(second);
    let started = Instant::now();
    let words = server.refusal(&ssh.login_timeout(second)).to_string();
    let took = started.elapsed();
    assert!(took >= 2 * second, "{took:?}: {words}");
    // Without the limit it would be 21 s.
    assert!(took < Duration::from_secs(15), "{took:?}: {words}");
    assert!(words.contains("nothing more within 2s"), "{words}");
}

#[test]
fn a_changed_and_an_unknown_host_key_are_refused_with_advice() {
    let server = Server::start(Particular::default());
    server.know("impostor.pub");
    let ssh = server.ssh("root");
    let error = server.refusal(&ssh);
    assert!(matches!(*error.failure, Failure::HostKey { .. }), "{error}");
    let words = error.to_string();
    assert!(words.contains("reinstalled"), "{words}");
    assert!(words.contains("IDENTIFICATION HAS CHANGED"), "{words}");
    assert!(words.contains("known_hosts"), "{words}");

    write(server.nodes.scratch.path(), "known_hosts", "");
    let error = server.refusal(&ssh);
    assert!(matches!(*error.failure, Failure::HostKey { .. }), "{error}");
    assert!(error.to_string().contains("log in once by hand"), "{error}");
    assert_eq!(server.node().sh("ls /run/hawser 2>/dev/null || true"), "");
}

#[test]
fn a_key_that_is_not_accepted_is_a_login_error() {
    let server = Server::start(Particular::default());
    let files = server.nodes.scratch.path();
    let ssh = server
        .ssh("root")
        .option(format!("IdentityFile={}", files.join("impostor").display()));
    std::fs::remove_file(files.join("user")).unwrap();
    let error = server.refusal(&ssh);
    assert!(matches!(*error.failure, Failure::Login { .. }), "{error}");
}

#[test]
fn a_host_that_is_not_there_is_an_error_within_the_connect_timeout() {
    let server = Server::start(Particular::default());
    let refused = server.refusal(&server.ssh("root").option("Port=2223".into()));
    assert!(
        matches!(*refused.failure, Failure::Unreachable { .. }),
        "{refused}"
    );
    assert!(
        refused.to_string().contains("Connection refused"),
        "{refused}"
    );

    // An address that never answers: its neighbour entry leads nowhere.
    server
        .nodes
        .a
        .sh("ip neigh add 10.78.0.9 lladdr 02:00:00:00:00:09 dev ring0");
    let ssh = server
        .ssh("root")
        .option("HostName=10.78.0.9".into())
        .connect_timeout(Duration::from_secs(2));
    let started = Instant::now();
    let silent = server.refusal(&ssh);
    assert!(
        matches!(*silent.failure, Failure::Unreachable { .. }),
        "{silent}"
    );
    assert!(
        silent.to_string().contains("head2: not reached: "),
        "{silent}"
    );
    assert!(silent.to_string().contains("timed out"), "{silent}");
    assert!(
        started.elapsed() < Duration::from_secs(30),
        "{:?}",
        started.elapsed()
    );
}

#[test]
fn another_machine_is_an_error_that_names_both() {
    let server = Server::start(Particular {
        uname: "#!/bin/sh\necho aarch64\n",
        ..Particular::default()
    });
    let error = server.refusal(&server.ssh("root"));
    let Failure::OtherMachine { theirs, ours, .. } = &*error.failure else {
        panic!("{error}");
    };
    assert_eq!(
        (theirs.as_str(), ours.as_str()),
        ("aarch64", Executable::machine())
    );
}

#[test]
fn a_login_that_is_not_roots_is_an_error_that_says_so() {
    let server = Server::start(Particular::default());
    let error = server.refusal(&server.ssh("guest"));
    let Failure::NotRoot { user, .. } = &*error.failure else {
        panic!("{error}");
    };
    assert_eq!(user, "guest");
}

#[test]
fn a_run_that_is_mounted_noexec_is_left_for_var_lib() {
    let server = Server::start(Particular {
        mounts: "mount -o remount,noexec /run;",
        ..Particular::default()
    });
    drop(server.connect(&server.ssh("root")).unwrap());
    let copies = server.node().sh("ls /var/lib/hawser");
    assert_eq!(copies, format!("hawser-{}", server.executable.digest));
    assert_eq!(server.node().sh("ls -A /run/hawser"), "");
}

#[test]
fn no_place_for_the_agent_is_an_error_that_names_the_places() {
    let server = Server::start(Particular {
        mounts: "mount -o remount,noexec /run; mount -o remount,ro /var/lib;",
        ..Particular::default()
    });
    let error = server.refusal(&server.ssh("root"));
    assert!(
        matches!(*error.failure, Failure::NoDirectory { .. }),
        "{error}"
    );
    let words = error.to_string();
    assert!(
        words.contains("/run/hawser") && words.contains("Read-only file system"),
        "{words}"
    );
}

#[test]
fn a_full_file_system_is_an_error_and_leaves_nothing_behind() {
    let server = Server::start(Particular {
        mounts: "mount -o remount,size=1m /run;",
        ..Particular::default()
    });
    let error = server.refusal(&server.ssh("root"));
    assert!(matches!(*error.failure, Failure::Copy { .. }), "{error}");
    assert!(error.to_string().contains("No space left"), "{error}");
    assert_eq!(server.node().sh("ls -A /run/hawser"), "");
}

#[test]
fn an_agent_ends_with_its_ssh_connection_in_the_middle_of_a_send() {
    let server = Server::start(Particular::default());
    let ssh = server.ssh("root");
    let mut agent = server.connect(&ssh).unwrap();
    let pid = agent.pid();
    let mut spec = flow(1, Duration::from_secs(60));
    (spec.source, spec.destination, spec.receiver) = (B, A, A);
    let port = ask(&mut agent, &OpenSender(spec.clone())).unwrap();
    thread::scope(|scope| {
        let sending =
            scope.spawn(|| ask(&mut agent, &agent_support::run(&spec, 9, Care::None)).unwrap_err());
        eventually("traffic", Duration::from_secs(5), || {
            let sent = server.node().sh("nstat -asz UdpOutDatagrams | tail -1");
            sent.split_whitespace().nth(1).is_some_and(|n| n != "0")
        });
        assert!(server.node().runs(pid) && server.node().udp_port_open(port));
        kill_own_ssh(server.nodes.scratch.path());
        let gone = eventually("the agent's end", Duration::from_secs(3), || {
            !server.node().runs(pid)
        });
        println!("agent gone {gone:?} after ssh was killed in the middle of a send");
        assert!(!server.node().udp_port_open(port));
        let error = sending.join().unwrap();
        assert!(matches!(*error.failure, Failure::Ended { .. }), "{error}");
    });
}

/// What of the control link a trial changes, as `ip`, `tc` and `ethtool` show it.
const CONTROL_LINK: &str = "ip -d link show ring0; tc qdisc show dev ring0; ethtool -k ring0; ls /var/lib/hawser 2>/dev/null || true";

#[test]
#[ignore = "tune_ssh.rs cuts a tune's cable, and agent_killed.rs has a guard take changes back"]
fn a_change_that_cuts_off_its_own_coordinator_comes_back_by_itself_and_an_idle_agent_stays() {
    let server = Server::start(Particular::default());
    let before = server.node().sh(CONTROL_LINK);
    let interface = || "ring0".into();
    let turn = |knob, value: &str| TryKnob {
        knob,
        value: value.to_owned(),
    };
    let mut idle = server.nodes.a.agent("head1");
    let mut cut_off = server.connect(&server.ssh("root")).unwrap();
    ask(&mut cut_off, &ReadFacts).unwrap();
    let pid = cut_off.pid();
    let mtu = Knob::Mtu {
        interface: interface(),
    };
    ask(&mut cut_off, &turn(mtu, "1400")).unwrap();
    let offload = Knob::Offload {
        interface: interface(),
        feature: "tx-checksum-ip-generic".into(),
    };
    ask(&mut cut_off, &turn(offload, "off")).unwrap();
    thread::sleep(Duration::from_secs(6));
    assert!(server.node().runs(pid), "idle, and still there");
    assert_ne!(server.node().sh(CONTROL_LINK), before);

    // A queue for no packet at all: nothing that this node sends arrives any more. Neither side
    // closes anything.
    let queue = Knob::Qdisc {
        interface: interface(),
    };
    let started = Instant::now();
    let error = ask(&mut cut_off, &turn(queue, "pfifo limit 0")).unwrap_err();
    println!("the coordinator: {error}");
    assert!(
        server
            .node()
            .sh("tc qdisc show dev ring0")
            .contains("limit 0p")
    );
    eventually("the agent's end", Duration::from_secs(60), || {
        !server.node().runs(pid)
    });
    eventually("the link is back", Duration::from_secs(10), || {
        server.node().sh(CONTROL_LINK) == before
    });
    println!("back {:?} after it was cut", started.elapsed());
    assert!(ask(&mut cut_off, &Ping).is_err());
    ask(&mut idle, &Ping).unwrap();
    let mut again = server.connect(&server.ssh("root")).unwrap();
    let changes = ask(&mut again, &ReadChanges).unwrap().changes;
    assert_eq!(changes, [], "over the very link");
}

/// Kills the `ssh` that this test started: the one with its configuration file.
fn kill_own_ssh(files: &Path) {
    let own = files.join("ssh_config").display().to_string();
    let mut killed = 0;
    for process in hawser_tool::processes::all().unwrap() {
        let arguments = String::from_utf8_lossy(&process.command_line()).into_owned();
        if arguments.starts_with("ssh\0") && arguments.contains(&own) {
            run("kill", &["-9", &process.pid.to_string()], files);
            killed += 1;
        }
    }
    assert_eq!(killed, 1);
}
