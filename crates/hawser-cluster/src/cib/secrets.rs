//! How a fence agent gets its secret, with neither the CIB nor any command line holding it.
//!
//! Every user of group `haclient` may read the CIB, and every user may read `/proc/PID/cmdline`.
//! There are three ways, all with unmodified agents:
//!
//! - The IPMI agents hand the password to `ipmitool -P`, whatever way they got it, so they get none:
//!   `ipmitool_path` names a wrapper that takes the empty `-P` away and lets ipmitool read a file.
//! - Parameters with a `_script` sibling (`password_script` in fence-agents' `lib/fencing.py`) get a
//!   command whose output is the secret.
//! - Any other parameter is written `lrm://`, and Pacemaker's executor and fencer put in its place
//!   what is in `/var/lib/pacemaker/lrm/secrets/DEVICE/PARAMETER`, if the MD5 sum beside it matches
//!   (Pacemaker's `cib_secrets.c`; needs a build with the feature `cibsecrets`).

use hawser_model::cluster_file::SecretRef;
pub use hawser_model::host::SECRET_DIRECTORY;

/// Where wrappers are on the nodes.
pub const WRAPPER_DIRECTORY: &str = "/etc/hawser/ipmitool";

/// Pacemaker's own directory of secrets (`PCMK__CIB_SECRETS_DIR`).
pub const PACEMAKER_SECRETS: &str = "/var/lib/pacemaker/lrm/secrets";

/// The value that Pacemaker replaces.
pub const PACEMAKER_MAGIC: &str = "lrm://";

/// Parameters that have a `_script` sibling (fence-agents, `lib/fencing.py`).
const WITH_SCRIPT: &[&str] = &["password", "passwd", "snmp_priv_passwd"];

/// A file that must be on every node before a device is used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeFile {
    /// Its path.
    pub path: String,
    /// Its mode.
    pub mode: u32,
    /// What is in it.
    pub content: Content,
}

/// What is in a file. A secret is named here, never held.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Content {
    /// This text.
    Text(String),
    /// The secret, followed by a newline.
    Secret(SecretRef),
    /// The MD5 sum of the secret, in hexadecimal (Pacemaker's `.sign` files).
    SecretMd5(SecretRef),
}

/// A secret parameter as it stands in the CIB, and the files behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handed {
    /// The parameter's name in the CIB.
    pub parameter: String,
    /// Its value in the CIB.
    pub value: String,
    /// What must be on the nodes.
    pub files: Vec<NodeFile>,
    /// True when Pacemaker must have been built with `cibsecrets`.
    pub needs_cibsecrets: bool,
}

/// Hands a password to an IPMI agent through a wrapper of ipmitool.
pub fn through_ipmitool(device: &str, secret: &SecretRef) -> Handed {
    let file = format!("{SECRET_DIRECTORY}/{device}");
    let wrapper = format!("{WRAPPER_DIRECTORY}/{device}");
    let script = format!(
        "#!/bin/sh\n\
         # Made by hawser. fence_ipmilan puts the password on ipmitool's command line, where\n\
         # everybody can read it; this takes its -P away and has ipmitool read the file.\n\
         for argument do\n\
         \x20   shift\n\
         \x20   case $previous in -P) previous=; continue ;; esac\n\
         \x20   previous=$argument\n\
         \x20   [ \"$argument\" = -P ] || set -- \"$@\" \"$argument\"\n\
         done\n\
         exec ipmitool -f {file} \"$@\"\n"
    );
    let files = vec![
        NodeFile {
            path: file,
            mode: 0o600,
            content: Content::Secret(secret.clone()),
        },
        NodeFile {
            path: wrapper.clone(),
            mode: 0o700,
            content: Content::Text(script),
        },
    ];
    Handed {
        parameter: "ipmitool_path".into(),
        value: wrapper,
        files,
        needs_cibsecrets: false,
    }
}

/// Hands a secret parameter to any other agent.
pub fn as_parameter(device: &str, parameter: &str, secret: &SecretRef) -> Handed {
    if WITH_SCRIPT.contains(&parameter) {
        let path = format!("{SECRET_DIRECTORY}/{device}-{parameter}");
        let value = format!("cat {path}");
        let content = Content::Secret(secret.clone());
        return Handed {
            parameter: format!("{parameter}_script"),
            value,
            files: vec![NodeFile {
                path,
                mode: 0o600,
                content,
            }],
            needs_cibsecrets: false,
        };
    }
    let path = format!("{PACEMAKER_SECRETS}/{device}/{parameter}");
    let sum = NodeFile {
        path: format!("{path}.sign"),
        mode: 0o600,
        content: Content::SecretMd5(secret.clone()),
    };
    let content = Content::Secret(secret.clone());
    Handed {
        parameter: parameter.to_owned(),
        value: PACEMAKER_MAGIC.into(),
        files: vec![
            NodeFile {
                path,
                mode: 0o600,
                content,
            },
            sum,
        ],
        needs_cibsecrets: true,
    }
}
