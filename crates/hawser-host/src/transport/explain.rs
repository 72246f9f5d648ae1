//! What `ssh` and the start script mean by what they wrote.

use std::process::ExitStatus;

use crate::client::last_words;
use crate::error::Failure;
use crate::transport::Executable;

/// `ssh(1)`: "exits with the exit status of the remote command or with 255 if an error occurred".
const SSH_ERROR: i32 = 255;

/// The error behind an `ssh` that ended before anybody spoke; `None` when it was not ssh's own.
pub(super) fn explain_end(destination: &str, status: ExitStatus, said: &str) -> Option<Failure> {
    if status.code() != Some(SSH_ERROR) {
        return None;
    }
    if let Some(advice) = host_key_advice(destination, said) {
        // The frame of at signs around the warning is for terminals.
        let lines = said.lines().filter(|line| !line.starts_with("@@@"));
        return Some(Failure::HostKey {
            advice,
            said: lines.collect::<Vec<_>>().join("\n"),
        });
    }
    let last = said.lines().last().unwrap_or_default().to_owned();
    if last.contains("Permission denied (") || last.contains("Too many authentication failures") {
        return Some(Failure::Login {
            destination: destination.to_owned(),
            said: last,
        });
    }
    Some(Failure::Unreachable {
        said: if last.is_empty() {
            format!("ssh {status} without a word")
        } else {
            last
        },
    })
}

fn host_key_advice(destination: &str, said: &str) -> Option<String> {
    if said.contains("REMOTE HOST IDENTIFICATION HAS CHANGED") {
        return Some(format!(
            "It is not the key known from earlier: if {destination} was reinstalled, remove the \
             old key as ssh says below and log in once by hand; if not, another machine may be answering \
             in its place"
        ));
    }
    said.contains("Host key verification failed").then(|| {
        format!(
            "It is not known yet: log in once by hand (`ssh {destination}`) and compare the \
             fingerprint"
        )
    })
}

/// The error behind the start script's refusal.
pub(super) fn explain_refusal(reason: &str, detail: String, said: &str) -> Failure {
    let said = last_words(said, "");
    match reason {
        "machine" => Failure::OtherMachine {
            theirs: detail,
            ours: Executable::machine().to_owned(),
        },
        "user" => Failure::NotRoot { user: detail },
        "directory" => Failure::NoDirectory { detail, said },
        "copy" => Failure::Copy { detail, said },
        _ => Failure::NotStarted {
            reason: reason.to_owned(),
            detail,
            said,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;

    use super::*;

    fn explained(said: &str) -> Failure {
        let status = ExitStatus::from_raw(SSH_ERROR << 8);
        explain_end("root@10.0.0.2", status, said).unwrap()
    }

    #[test]
    fn an_exit_status_of_the_remote_shell_is_not_taken_for_sshs() {
        let status = ExitStatus::from_raw(127 << 8);
        assert!(explain_end("x", status, "sh: not found").is_none());
    }

    #[test]
    fn ssh_silenced_by_its_configuration_still_gives_an_error_with_words() {
        let error = explained("").to_string();
        assert!(error.contains("255"), "{error}");
    }

    #[test]
    fn a_login_banner_before_the_reason_is_not_the_reason() {
        let said = "Authorised use only.\nroot@10.0.0.2: Permission denied (publickey).";
        let Failure::Login { said, .. } = explained(said) else {
            panic!("not a login error");
        };
        assert_eq!(said, "root@10.0.0.2: Permission denied (publickey).");
    }
}
