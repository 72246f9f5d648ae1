//! A lab as an operator has it: a real sshd on each head, and a machine beside the cluster with a key
//! for them, from which `hawser` is run.

use super::{Lab, Ran};

/// The machine beside the cluster; the layout names it as a client.
pub const OPS: &str = "ops";

/// Two nodes, the first link IPv6 alone, and a machine beside them.
pub const TWO_LINKS: &str = r#"
[[link]]
name = "ring0"
ipv4 = "none"
[[link]]
name = "ring1"
[[node]]
name = "head1"
[[node]]
name = "head2"
[[client]]
name = "ops"
"#;

/// A lab of this layout with an sshd on `head1` and `head2`, which `ops` reaches by these names as .1 and .2
/// of `network`, written as far as its last dot.
pub fn lab_with_sshd(layout: &str, network: &str) -> Lab {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), layout).expect("it takes the layout");
    let lab = Lab::up_with(&["--file", file.path().to_str().unwrap()]);
    lab.sh(OPS, "umask 077; ssh-keygen -q -t ed25519 -N '' -f /tmp/key");
    let public = lab.sh(OPS, "cat /tmp/key.pub");
    let mut config = String::new();
    for (head, address) in [("head1", 1), ("head2", 2)] {
        lab.sh(
            head,
            &format!(
                "umask 077; mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f /run/host_key; \
                 echo '{}' >/run/authorized; /usr/sbin/sshd -f /dev/null -h /run/host_key \
                 -o AuthorizedKeysFile=/run/authorized -o PidFile=none",
                public.trim()
            ),
        );
        let host_key = lab.sh(head, "cat /run/host_key.pub");
        lab.sh(
            OPS,
            &format!("echo '{head} {}' >>/tmp/known_hosts", host_key.trim()),
        );
        config += &format!("Host {head}\n HostName {network}{address}\n HostKeyAlias {head}\n");
    }
    config += "Host *\n User root\n IdentityFile /tmp/key\n UserKnownHostsFile /tmp/known_hosts\n";
    write(&lab, "/tmp/ssh_config", &config);
    lab
}

/// Writes a file on `ops`.
pub fn write(lab: &Lab, path: &str, text: &str) {
    lab.sh(OPS, &format!("cat >{path} <<'END'\n{text}END"));
}

/// Runs `hawser VERB OPTIONS` on `ops`.
pub fn from_ops(lab: &Lab, verb: &str, options: &str) -> Ran {
    lab.try_sh(OPS, &line(verb, options))
}

/// That as a line of shell.
pub fn line(verb: &str, options: &str) -> String {
    format!("/run/hawser/lab/hawser {verb} --ssh-config /tmp/ssh_config {options}")
}

/// Whether an agent or its guard runs on `head`. The brackets keep the pattern from finding the shell it is in.
pub fn agent_runs(lab: &Lab, head: &str) -> bool {
    let found = lab.try_sh(head, "pgrep -f '[h]awser.* agent'");
    !found.stdout.is_empty()
}
