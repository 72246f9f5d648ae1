//! Who looks at a node from outside.

use std::fs;
use std::io;

use hawser_host::site::{HostLook, Watcher};
use hawser_model::mountinfo;
use hawser_model::names::HostName;

use super::LabSite;

/// Looks at a node from outside: what the kernel says of its mounts, whatever the node itself does.
pub(super) struct FromOutside<'a> {
    site: &'a LabSite,
    host: &'a HostName,
    /// Its first process, while that is known.
    process: Option<i32>,
}

impl<'a> FromOutside<'a> {
    /// Who looks at this one.
    pub(super) fn of(site: &'a LabSite, host: &'a HostName) -> Self {
        let process = None;
        Self {
            site,
            host,
            process,
        }
    }
}

impl Watcher for FromOutside<'_> {
    fn look(&mut self) -> HostLook {
        if let Some(places) = self.process.and_then(|process| mounts(process).ok()) {
            return mounted(places);
        }
        // It is off, or on again as another process.
        let Ok(lab) = self.site.lab() else {
            return HostLook::Off;
        };
        self.process = lab.process(self.host.as_str()).ok();
        match self.process.map(mounts) {
            Some(Ok(places)) => mounted(places),
            _ => HostLook::Off,
        }
    }
}

fn mounted(places: Vec<String>) -> HostLook {
    HostLook::Mounts {
        places,
        engine_since: None,
        nfs_grace: None,
    }
}

/// The places that something is mounted on. Of a dead process it is an error.
fn mounts(process: i32) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{process}/mountinfo"))?;
    if text.is_empty() {
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(mountinfo::mounted(&text).map(|it| it.place).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mounted_is_read_from_the_kernel_and_of_nobody_it_is_an_error() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(mounts(own).unwrap().iter().any(|place| place == "/"));
        assert!(mounts(i32::MAX).is_err());
    }
}
