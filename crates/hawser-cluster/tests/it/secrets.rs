//! Passwords reach the agents through files that only root reads, and no command line ever.

use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use hawser_cluster::cib::secrets::{Content, Handed, as_parameter, through_ipmitool};
use hawser_model::cluster_file::SecretRef;

/// The files of a secret, under `folder` instead of `/`, the secret being `hunter2`.
fn lay_out(handed: &Handed, folder: &Path) {
    let root = folder.to_str().unwrap();
    for file in &handed.files {
        let path = format!("{root}{}", file.path);
        fs::create_dir_all(Path::new(&path).parent().unwrap()).unwrap();
        let text = match &file.content {
            Content::Text(text) => text.replace("/etc/", &format!("{root}/etc/")),
            Content::Secret(_) => "hunter2\n".into(),
            Content::SecretMd5(_) => continue,
        };
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(file.mode)).unwrap();
    }
}

/// A program on `PATH` that writes its command line into a file and says that the power is on.
fn recorder(folder: &Path, name: &str) -> String {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin).unwrap();
    let record = folder.join("arguments");
    let script = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$@\" > {}\necho Chassis Power is on\n",
        record.display()
    );
    fs::write(bin.join(name), script).unwrap();
    fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), std::env::var("PATH").unwrap())
}

#[test]
fn fence_ipmilan_asks_for_the_status_without_the_password_on_any_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let secret = SecretRef::Env("BMC".into());
    let handed = through_ipmitool("fence-head1", &secret);
    lay_out(&handed, folder.path());
    let path = recorder(folder.path(), "ipmitool");
    let wrapper = format!("{}{}", folder.path().display(), handed.value);
    let parameters = format!(
        "action=status\nip=192.0.2.1\nusername=hawser user\nlanplus=1\ncipher=3\n{}={wrapper}\n",
        handed.parameter
    );
    let mut agent = Command::new("fence_ipmilan")
        .env("PATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("fence-agents is not installed: packaging/setup lab");
    agent
        .stdin
        .take()
        .unwrap()
        .write_all(parameters.as_bytes())
        .unwrap();
    let output = agent.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let arguments = fs::read_to_string(folder.path().join("arguments")).unwrap();
    let arguments: Vec<&str> = arguments.lines().collect();
    assert!(
        !arguments.contains(&"-P") && !arguments.contains(&""),
        "{arguments:?}"
    );
    let file = arguments
        .iter()
        .position(|argument| *argument == "-f")
        .unwrap();
    assert_eq!(
        fs::read_to_string(arguments[file + 1]).unwrap(),
        "hunter2\n"
    );
    // The rest arrives as the agent meant it, a blank in a name included.
    assert!(arguments.contains(&"hawser user"), "{arguments:?}");
    assert!(
        arguments.ends_with(&["chassis", "power", "status"]),
        "{arguments:?}"
    );
}

#[test]
fn another_agent_reads_its_password_from_a_command() {
    let folder = tempfile::tempdir().unwrap();
    let handed = as_parameter("fence-a", "password", &SecretRef::Env("BMC".into()));
    lay_out(&handed, folder.path());
    assert_eq!(handed.parameter, "password_script");
    let command = handed
        .value
        .replace("/etc/", &format!("{}/etc/", folder.path().display()));
    // What fence-agents' `lib/fencing.py` does with it.
    let read = "import os, sys; print(os.popen(sys.argv[1]).read().rstrip())";
    let output = Command::new("python3")
        .args(["-c", read, &command])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "hunter2\n");
}

#[test]
fn a_parameter_without_a_script_goes_through_pacemakers_own_secrets() {
    let handed = as_parameter("pdu", "community", &SecretRef::Env("PDU".into()));
    assert_eq!(
        (handed.parameter.as_str(), handed.value.as_str()),
        ("community", "lrm://")
    );
    assert!(handed.needs_cibsecrets);
    let paths: Vec<&str> = handed.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "/var/lib/pacemaker/lrm/secrets/pdu/community",
            "/var/lib/pacemaker/lrm/secrets/pdu/community.sign"
        ]
    );
    assert!(handed.files.iter().all(|file| file.mode == 0o600));
}
