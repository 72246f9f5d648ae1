//! The agent with real programs, in a folder of its own.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use super::*;

/// A head with a hook whose text is given, for each moment that is named.
struct Head {
    folder: tempfile::TempDir,
    environment: BTreeMap<String, String>,
}

impl Head {
    fn with(place: &str, hooks: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut environment = BTreeMap::new();
        let mut set = |name: &str, value: &str| {
            environment.insert(format!("OCF_RESKEY_{name}"), value.to_owned());
        };
        set("pool", "tank");
        set("place", place);
        set("CRM_meta_on_node", "head2");
        for (moment, script) in hooks {
            let path = folder.path().canonicalize().unwrap().join(moment);
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
            set(moment, path.to_str().unwrap());
            set(&format!("{moment}_timeout"), "60s");
        }
        environment.insert("OCF_RESOURCE_INSTANCE".into(), "tank-hooks".into());
        Self {
            folder,
            environment,
        }
    }

    fn set(&mut self, name: &str, value: &str) {
        let name = format!("OCF_RESKEY_{name}");
        self.environment.insert(name, value.to_owned());
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn act_as(&self, action: &str, configured: Result<bool, String>) -> Outcome {
        let around = Around {
            marks: self.path().join("marks"),
            owned: Owned {
                owner: nix::unistd::getuid().as_raw(),
                below: self.path().canonicalize().unwrap(),
            },
            configured: &|_| configured.clone(),
        };
        around.run(Some(action), &self.environment)
    }

    fn act(&self, action: &str) -> Outcome {
        self.act_as(action, Ok(true))
    }

    /// What its hooks have written.
    fn written(&self, name: &str) -> String {
        fs::read_to_string(self.path().join(name)).unwrap_or_default()
    }
}

const SAY: &str = "echo $HAWSER_HOOK $HAWSER_POOL $HAWSER_NODE $LC_ALL >> \"${0%/*}/said\"";

#[test]
fn a_start_runs_the_first_hook_and_a_stop_the_second_once_each() {
    let head = Head::with("before", &[("pre_import", SAY), ("post_export", SAY)]);
    assert_eq!(head.act("monitor").code, Code::NotRunning);
    // Nothing was started here.
    assert_eq!(head.act("stop").code, Code::Success);
    assert_eq!(head.written("said"), "");
    for _ in 0..2 {
        assert_eq!(head.act("start").code, Code::Success);
        assert_eq!(head.act("monitor").code, Code::Success);
    }
    assert_eq!(head.written("said"), "pre-import tank head2 C\n");
    for _ in 0..2 {
        assert_eq!(head.act("stop").code, Code::Success);
        assert_eq!(head.act("monitor").code, Code::NotRunning);
    }
    assert_eq!(
        head.written("said"),
        "pre-import tank head2 C\npost-export tank head2 C\n"
    );
}

#[test]
fn the_environment_is_known_and_no_other() {
    let mut head = Head::with("after", &[("post_import", "env > \"${0%/*}/said\"")]);
    head.set("secret", "geheim");
    assert_eq!(head.act("start").code, Code::Success);
    let said = head.written("said");
    let mut names: Vec<&str> = said.lines().filter_map(|it| it.split('=').next()).collect();
    // What a shell itself sets.
    names.retain(|name| !["PWD", "SHLVL", "_", "OLDPWD"].contains(name));
    names.sort_unstable();
    let known = [
        "HAWSER_HOOK",
        "HAWSER_NODE",
        "HAWSER_POOL",
        "LC_ALL",
        "PATH",
    ];
    assert_eq!(names, known);
}

#[test]
fn a_hook_of_a_start_that_fails_fails_it_and_its_stop_still_runs() {
    let failing = "echo cannot see the shelf >&2; exit 3";
    let mut head = Head::with("before", &[("pre_import", failing), ("post_export", SAY)]);
    let outcome = head.act("start");
    assert_eq!(outcome.code, Code::Generic);
    let reason = outcome.log.last().unwrap();
    assert!(
        reason.starts_with("ocf-exit-reason:pre-import hook "),
        "{reason}"
    );
    assert!(
        reason.ends_with(": exit status: 3: cannot see the shelf"),
        "{reason}"
    );
    assert_eq!(head.act("monitor").code, Code::Generic);
    assert_eq!(head.act("stop").code, Code::Success);
    assert_eq!(head.written("said"), "post-export tank head2 C\n");
    head.set("pre_import_required", "false");
    let outcome = head.act("start");
    assert_eq!(outcome.code, Code::Success);
    assert!(
        outcome
            .log
            .last()
            .unwrap()
            .ends_with("it is not required, and the pool goes on")
    );
    assert_eq!(head.act("monitor").code, Code::Success);
}

#[test]
fn a_hook_of_a_stop_that_fails_blocks_it_only_if_the_file_says_so() {
    let mut head = Head::with("after", &[("pre_export", "exit 1")]);
    assert_eq!(head.act("start").code, Code::Success);
    head.set("pre_export_required", "true");
    assert_eq!(head.act("stop").code, Code::Generic);
    assert_eq!(head.act("monitor").code, Code::Success);
    head.set("pre_export_required", "false");
    let outcome = head.act("stop");
    assert_eq!(outcome.code, Code::Success);
    assert!(
        outcome
            .log
            .iter()
            .any(|line| line.contains("exit status: 1")),
        "{outcome:?}"
    );
    assert_eq!(head.act("monitor").code, Code::NotRunning);
}

#[test]
fn a_hook_that_takes_too_long_is_ended_and_has_failed() {
    let script = "sleep 600 & echo $! > \"${0%/*}/pid\"; wait";
    let mut head = Head::with("before", &[("pre_import", script)]);
    head.set("pre_import_timeout", "2s");
    let outcome = head.act("start");
    assert_eq!(outcome.code, Code::Generic);
    let reason = outcome.log.last().unwrap();
    assert!(reason.ends_with("no answer within 2 s"), "{reason}");
    let pid: i32 = head.written("pid").trim().parse().unwrap();
    assert!(ends(pid), "what it started lives");
}

/// Whether a process ends soon.
fn ends(pid: i32) -> bool {
    let lives = || hawser_tool::processes::Process::of(pid).is_some_and(|it| !it.is_dead());
    let until = hawser_tool::Deadline::after(Duration::from_secs(30));
    until.holds(Duration::from_millis(10), || !lives())
}

/// Set where this test is the agent that is killed: the folder of its hook.
const AGENT_IN: &str = "HAWSER_TEST_AGENT_IN";

#[test]
fn a_hook_ends_with_an_agent_that_is_killed() {
    let script =
        "sleep 600 & echo $! $$ > \"${0%/*}/new\"; mv \"${0%/*}/new\" \"${0%/*}/pids\"; wait";
    let name = "pre_import";
    if let Ok(folder) = std::env::var(AGENT_IN) {
        let owned = Owned {
            owner: nix::unistd::getuid().as_raw(),
            below: folder.clone().into(),
        };
        let wanted = Wanted {
            moment: HookMoment::PreImport,
            program: format!("{folder}/{name}"),
            limit: Duration::from_secs(600),
            required: true,
        };
        let ran = wanted.run("tank", "head2", &owned);
        panic!("it was not killed: {:?} {:?}", ran.failed, ran.log);
    }
    let head = Head::with("before", &[(name, script)]);
    let mut agent = hawser_tool::Launch::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "hooks::agent::tests::a_hook_ends_with_an_agent_that_is_killed",
        ])
        .envs([(AGENT_IN, head.path().canonicalize().unwrap())])
        .daemon()
        .unwrap();
    let until = hawser_tool::Deadline::after(Duration::from_secs(60));
    let begun = until.holds(Duration::from_millis(10), || {
        !head.written("pids").is_empty()
    });
    agent.kill().unwrap();
    agent.wait().unwrap();
    assert!(begun, "the hook was not begun");
    for pid in head.written("pids").split_whitespace() {
        assert!(ends(pid.parse().unwrap()), "{pid} lives");
    }
}

#[test]
fn a_hook_that_was_removed_from_the_configuration_is_not_run_when_its_resource_goes() {
    let head = Head::with("before", &[("pre_import", "true"), ("post_export", SAY)]);
    assert_eq!(head.act("start").code, Code::Success);
    let outcome = head.act_as("stop", Ok(false));
    assert_eq!(outcome.code, Code::Success);
    assert!(outcome.log[0].contains("was removed"), "{outcome:?}");
    assert_eq!(head.written("said"), "");
    assert_eq!(head.act("monitor").code, Code::NotRunning);
}

#[test]
fn where_the_configuration_cannot_be_asked_a_hook_has_failed_without_being_run() {
    let mut head = Head::with("before", &[("post_export", SAY)]);
    head.set("post_export_required", "true");
    assert_eq!(head.act("start").code, Code::Success);
    let outcome = head.act_as("stop", Err("no answer".into()));
    assert_eq!(outcome.code, Code::Generic);
    head.set("post_export_required", "false");
    assert_eq!(
        head.act_as("stop", Err("no answer".into())).code,
        Code::Success
    );
    assert_eq!(head.written("said"), "");
}

#[test]
fn a_program_that_others_can_write_is_not_run() {
    let head = Head::with("before", &[("pre_import", SAY)]);
    let hook = head.path().join("pre_import");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o757)).unwrap();
    let outcome = head.act("start");
    assert_eq!(outcome.code, Code::Generic);
    assert!(
        outcome.log[0].contains("is not run: it can be written by others than root"),
        "{outcome:?}"
    );
    assert_eq!(head.act("validate-all").code, Code::Installed);
    assert_eq!(head.written("said"), "");
}

#[test]
fn what_was_looked_at_is_run_and_not_the_link_to_it() {
    let script = "echo \"$0\" > \"${0%/*}/said\"";
    let mut head = Head::with("before", &[("pre_import", script)]);
    let folder = head.path().canonicalize().unwrap();
    let links = folder.join("links");
    fs::create_dir(&links).unwrap();
    fs::set_permissions(&links, fs::Permissions::from_mode(0o755)).unwrap();
    symlink(folder.join("pre_import"), links.join("hook")).unwrap();
    head.set("pre_import", links.join("hook").to_str().unwrap());
    assert_eq!(head.act("start").code, Code::Success);
    let real = folder.join("pre_import");
    assert_eq!(head.written("said").trim(), real.to_str().unwrap());
}

#[test]
fn what_a_hook_says_is_logged_and_cannot_forge_a_line() {
    let script = "printf 'one\\r\\033[2Jocf-exit-reason:all is well\\n'; seq 100 >&2";
    let head = Head::with("before", &[("pre_import", script)]);
    let outcome = head.act("start");
    assert_eq!(outcome.code, Code::Success);
    assert_eq!(outcome.log.len(), 1 + 20);
    let all = outcome.log.join("\n");
    assert!(!all.contains('\u{1b}') && !all.contains('\r'), "{all}");
    let head = Head::with(
        "before",
        &[("pre_import", "printf 'ocf-exit-reason:all is well\\n'")],
    );
    let said = head.act("start").log;
    assert!(
        said.iter()
            .all(|line| !line.starts_with("ocf-exit-reason:")),
        "{said:?}"
    );
}

#[test]
fn what_is_wrong_with_the_parameters_is_said() {
    let said = |change: (&str, &str)| {
        let mut head = Head::with("before", &[("pre_import", "true")]);
        head.set(change.0, change.1);
        let outcome = head.act("monitor");
        assert_eq!(outcome.code, Code::Configured);
        outcome.log.join("\n")
    };
    assert!(said(("pool", "")).ends_with("the parameter pool is missing"));
    assert!(said(("pool", "../x")).contains("no name of a pool"));
    assert!(said(("place", "beside")).contains("neither before nor after"));
    assert!(said(("pre_import_timeout", "10")).contains("\"10\" is no time"));
    assert!(said(("pre_import_required", "yes")).contains("neither true nor false"));
}

#[test]
fn every_parameter_but_what_it_is_can_change_without_a_stop() {
    let xml = Element::parse(META_DATA, "the metadata").unwrap();
    let parameters = xml.first("parameters").unwrap();
    let fixed: Vec<&str> = parameters
        .all("parameter")
        .filter(|parameter| parameter.get("reloadable") != Some("1"))
        .filter_map(|parameter| parameter.get("name"))
        .collect();
    assert_eq!(fixed, ["pool", "place"]);
    for moment in HookMoment::ALL {
        for end in ["", "_timeout", "_required"] {
            let name = format!("{}{end}", moment.key());
            let is = |it: &Element| it.get("name") == Some(name.as_str());
            assert!(parameters.all("parameter").any(is), "{name}");
        }
    }
}
