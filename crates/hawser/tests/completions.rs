//! Completions with names, in the shells themselves: what they offer, that a hostile name reaches none of them, and that nobody is
//! asked over the network.

mod support;

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use support::hawser;

const CLUSTER: &str = r#"
[cluster]
name = "storage"

[[link]]
name = "ring0"
network = "10.0.1.0/24"

[[node]]
name = "head1"
ssh = "root@head1"
addresses = { ring0 = "10.0.1.1" }

[[node]]
name = "head2"
ssh = "root@head2"
addresses = { ring0 = "10.0.1.2" }
"#;

/// A folder with a cluster file, labs of which some have hostile names, the shells' scripts, and an ssh that would be noticed.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a folder"));
        fs::write(desk.path("hawser.toml"), CLUSTER).expect("written");
        for lab in [
            "demo",
            "$(touch pwned)",
            "a b",
            "`touch pwned`",
            ";touch pwned",
            "x\ny",
            "*",
        ] {
            fs::create_dir_all(desk.path("labs").join(lab)).expect("a folder");
        }
        for file in ["case one.json", "$(touch pwned).json"] {
            fs::write(desk.path(file), "").expect("written");
        }
        let bin = desk.path("bin");
        fs::create_dir(&bin).expect("a folder");
        symlink(hawser(), bin.join("hawser")).expect("linked");
        let ssh = bin.join("ssh");
        fs::write(&ssh, "#!/bin/sh\ntouch asked\n").expect("written");
        fs::set_permissions(&ssh, fs::Permissions::from_mode(0o755)).expect("a program");
        let made = desk.run("hawser", &["generate", "made"]);
        assert!(made.status.success(), "{made:?}");
        desk
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        Command::new(if program == "hawser" {
            hawser()
        } else {
            program.into()
        })
        .args(arguments)
        .current_dir(self.0.path())
        .env("PATH", path)
        .env("HOME", self.0.path())
        .env("HAWSER_LAB_DIR", self.path("labs"))
        .stdin(Stdio::null())
        .output()
        .expect("a program that runs")
    }

    /// What a script of a shell prints, a line each. It must not say anything else, nor run or ask anything.
    fn lines(&self, shell: &str, script: &str) -> Vec<String> {
        let quiet = match shell {
            "bash" => vec!["--norc", "-c", script],
            "zsh" => vec!["-f", "-c", script],
            _ => vec!["--no-config", "-c", script],
        };
        let ran = self.run(shell, &quiet);
        assert_eq!(String::from_utf8_lossy(&ran.stderr), "", "{script}");
        for trace in ["pwned", "asked"] {
            assert!(!self.path(trace).exists(), "{trace}: {script}");
        }
        let text = String::from_utf8(ran.stdout).expect("text");
        text.lines().map(str::to_owned).collect()
    }

    /// What bash offers for a line, whose last word ends in this part after one of bash's separators.
    fn bash(&self, line: &str, part: &str) -> Vec<String> {
        self.lines(
            "bash",
            &format!(
                "source made/completions/hawser; COMP_LINE={line:?}; COMP_POINT=${{#COMP_LINE}}; _hawser hawser '{part}' x; \
                 for one in \"${{COMPREPLY[@]}}\"; do echo \"$one\"; done"
            ),
        )
    }

    /// The same of zsh: `compadd` is what would show them.
    fn zsh(&self, words: &str) -> Vec<String> {
        self.lines(
            "zsh",
            &format!(
                "compadd() {{ local -a given=(${{(P)@[-1]}}); print -rl -- $given }}; _files() {{ print PATHS }}; \
                 asked() {{ source made/completions/_hawser }}; words=({words} ''); CURRENT=$#words; PREFIX=''; asked"
            ),
        )
    }

    fn fish(&self, line: &str) -> Vec<String> {
        let script = format!("source made/completions/hawser.fish; complete -C '{line}'");
        let lines = self.lines("fish", &script).into_iter();
        lines
            .map(|line| line.split('\t').next().unwrap_or_default().to_owned())
            .collect()
    }
}

fn installed(shell: &str) -> bool {
    let there = Path::new("/usr/bin").join(shell).exists();
    if !there {
        println!("skipped: no {shell} here");
    }
    there
}

fn has(offered: &[String], wanted: &[&str]) {
    for name in wanted {
        assert!(offered.iter().any(|it| it == name), "{name}: {offered:?}");
    }
}

#[test]
fn bash_offers_names() {
    let desk = Desk::new();
    has(
        &desk.bash("hawser standby ", ""),
        &["head1", "head2", "--lab"],
    );
    assert_eq!(desk.bash("hawser standby head2", "head2"), ["head2"]);
    assert_eq!(desk.bash("hawser check --lab ", ""), ["demo"]);
    // bash takes the sign for the end of a word.
    assert_eq!(desk.bash("hawser check --lab=d", "d"), ["demo"]);
    assert_eq!(desk.bash("hawser check --lab=", ""), ["demo"]);
    has(&desk.bash("hawser drill power", "power"), &["power-cut"]);
    assert_eq!(
        desk.bash("hawser explain half-d", "half-d"),
        ["half-duplex"]
    );
    has(&desk.bash("hawser incident show ", ""), &["last"]);
    assert_eq!(
        desk.bash("hawser ladder --from head1 --to head", "head"),
        ["head1", "head2"]
    );
    assert_eq!(desk.bash("hawser ladder --link ", ""), ["ring0"]);
    has(&desk.bash("hawser st", "st"), &["status", "standby"]);
    // A verb that the help does not show is not offered.
    assert_eq!(desk.bash("hawser gen", "gen"), [""; 0]);
    // Of the file that is named, not of the one that lies here.
    fs::write(desk.path("other.toml"), CLUSTER.replace("head", "node")).expect("written");
    assert_eq!(
        desk.bash("hawser -v standby -f other.toml n", "n"),
        ["node1", "node2"]
    );
}

#[test]
fn bash_itself_completes_paths_and_reads_them_as_they_are() {
    let desk = Desk::new();
    let files = desk.bash("hawser report ", "");
    has(
        &files,
        &["case one.json", "$(touch pwned).json", "hawser.toml"],
    );
    has(
        &desk.bash("hawser explain c", "c"),
        &["case one.json", "carrier-flaps"],
    );
    // A name is no path.
    assert_eq!(desk.bash("hawser standby haw", "haw"), [""; 0]);
}

#[test]
fn a_file_that_is_damaged_or_never_ends_has_no_names_and_says_nothing() {
    let desk = Desk::new();
    for line in [
        "hawser standby -f /dev/zero h",
        "hawser standby -f . h",
        "hawser standby -f none.toml h",
    ] {
        assert_eq!(desk.bash(line, "h"), [""; 0], "{line}");
    }
    fs::write(
        desk.path("hawser.toml"),
        "[[node]]\nname = \"$(touch pwned)\"\n",
    )
    .expect("written");
    let offered = desk.bash("hawser standby ", "");
    assert!(offered.iter().all(|it| it.starts_with('-')), "{offered:?}");
    for line in [
        "",
        "hawser",
        "hawser 'x",
        "hawser standby \\",
        "hawser nothing ",
        "other x",
    ] {
        desk.bash(line, "");
    }
}

#[test]
fn zsh_offers_names() {
    if !installed("zsh") {
        return;
    }
    let desk = Desk::new();
    has(&desk.zsh("hawser standby"), &["head1", "head2"]);
    assert_eq!(desk.zsh("hawser check --lab"), ["demo"]);
    let offered = desk.zsh("hawser explain");
    has(&offered, &["half-duplex", "PATHS"]);
}

#[test]
fn fish_offers_names() {
    if !installed("fish") {
        return;
    }
    let desk = Desk::new();
    assert_eq!(desk.fish("hawser standby h"), ["head1", "head2"]);
    assert_eq!(desk.fish("hawser check --lab "), ["demo"]);
    has(&desk.fish("hawser explain half-"), &["half-duplex"]);
    has(&desk.fish("hawser report c"), &["case one.json"]);
}
