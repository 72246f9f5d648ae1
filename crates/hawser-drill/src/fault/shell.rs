//! Faults that a line of shell in a head makes, shows and takes back.

use hawser_model::names::HostName;

use super::Fault;
use crate::error::DrillError;
use crate::stage::Stage;

/// A fault of lines.
pub struct Lines {
    /// Its name in records.
    pub name: &'static str,
    /// The head.
    pub head: HostName,
    /// What else it hits.
    pub object: String,
    /// Makes it.
    pub make: String,
    /// Succeeds, with words, when it is there.
    pub show: String,
    /// Takes it back; succeeds when it was not there.
    pub heal: String,
}

impl Lines {
    /// Nothing can be unmounted: `umount` says that the target is busy, whatever is killed. (What really
    /// keeps a file system busy, its agent finds and kills.)
    pub fn busy_pool(head: &HostName, directory: &str) -> Self {
        let (kept, busy) = ("/run/drill-umount", "/run/drill-busy");
        Self {
            name: "pool-will-not-stop",
            head: head.clone(),
            object: directory.to_owned(),
            make: format!(
                "umount=$(command -v umount); cp $umount {kept} && printf '#!/bin/sh\\necho \"umount: target \
                 is busy.\" >&2; exit 32\\n' > {busy} && chmod 755 {busy} && mount --bind {busy} $umount"
            ),
            show: format!(
                "cmp -s {busy} $(command -v umount) && echo 'umount says that it is busy'"
            ),
            heal: format!(
                "[ ! -e {kept} ] || {{ {kept} $(command -v umount); rm -f {kept} {busy}; }}; true"
            ),
        }
    }

    /// No room left where Pacemaker keeps its configuration. A node's own `/var` is the machine's disk,
    /// which is not filled: a small file system is laid over the folder.
    pub fn full_var(head: &HostName) -> Self {
        let place = "/var/lib/pacemaker";
        Self {
            name: "full-var",
            head: head.clone(),
            object: place.to_owned(),
            make: format!(
                "mkdir -p /run/drill && mount -t tmpfs -o mode=755,size=1m drill /run/drill && cp -a {place}/. \
                 /run/drill/ 2>/dev/null; dd if=/dev/zero of=/run/drill/full bs=4k 2>/dev/null; chown \
                 --reference={place} /run/drill; mount --move /run/drill {place} 2>/dev/null || \
                 {{ mount --bind /run/drill {place} && umount /run/drill; }}"
            ),
            show: format!(
                "df -k {place} | awk 'END {{ if ($4 != 0) exit 1; print \"no room left in {place}\" }}'"
            ),
            heal: format!(
                "umount {place} 2>/dev/null; umount /run/drill 2>/dev/null; rmdir /run/drill 2>/dev/null; true"
            ),
        }
    }
}

impl Fault for Lines {
    fn name(&self) -> &'static str {
        self.name
    }

    fn hosts(&self) -> Vec<HostName> {
        vec![self.head.clone()]
    }

    fn object(&self) -> Option<String> {
        Some(self.object.clone())
    }

    fn make(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        stage.shell(self.head.as_str(), &self.make).map(drop)
    }

    fn evidence(&self, stage: &Stage<'_>) -> Result<Option<String>, DrillError> {
        let said = stage.shell(self.head.as_str(), &self.show).ok();
        Ok(said.map(|words| words.trim().to_owned()))
    }

    fn heal(&self, stage: &Stage<'_>) -> Result<(), DrillError> {
        // What lies on a pool has gone with it to another head.
        let running = stage.lab()?.running();
        for head in stage.heads.iter().filter(|head| running.contains(head)) {
            stage.shell(head.as_str(), &self.heal)?;
        }
        Ok(())
    }
}
