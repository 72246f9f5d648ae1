//! Images of machines: built once of Debian's packages, kept in a folder of the host, found by their recipe's checksum.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, UNIX_EPOCH};

use hawser_tool::{Launch, TIED, Tool};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recipe::{BOOT, Recipe, SETUP};
use super::{kernel, room, sources};
use crate::error::LabError;
use crate::lab::need_root;
use crate::lock::Lock;
use crate::name::LabName;
use crate::paths::Root;
use crate::state::State;

const FOLDER: &str = "/var/cache/hawser/images";
/// The image in its folder.
const IMAGE: &str = "root.img";
/// An image that is being built. Its holder has the lock, so what is found beside it is left of one that was killed.
const BUILDING: &str = ".building";
/// The size of a machine's disk; what is not written takes no room.
const SIZE: u64 = 4 << 30;
/// Copying half a gigabyte, on a busy host.
const COPIES: Duration = Duration::from_secs(600);
const LOOKS: Duration = Duration::from_millis(100);

/// An image, or the recipe of one that is yet to be built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ImageStatus {
    /// Its name: Debian's release and the checksum of the recipe.
    pub name: String,
    /// Whether machines that are made now have it.
    pub current: bool,
    /// Whether it has been built.
    pub built: bool,
    /// What it takes on the disk, in bytes; absent if it has not been built.
    pub bytes: Option<u64>,
    /// When it was built, seconds since 1970 UTC; absent if it has not been.
    pub since: Option<u64>,
    /// The labs whose machines have it.
    pub labs: Vec<LabName>,
}

/// What somebody who waits for an image is told, and whether they still wait.
pub struct Waiting<'a> {
    /// Told what takes long.
    pub told: &'a dyn Fn(&str),
    /// Asked meanwhile: whether the user wants to stop.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// All images, and the one that machines have that are made now.
///
/// # Errors
/// Not root; user-mode-linux is not installed; a folder cannot be read.
pub fn list() -> Result<Vec<ImageStatus>, LabError> {
    need_root()?;
    let current = Recipe::of(&kernel::version()?).name;
    let mut names = names()?;
    if !names.contains(&current) {
        names.push(current.clone());
    }
    names.sort();
    let labs = users()?;
    Ok(names
        .into_iter()
        .map(|name| status(name, &current, &labs))
        .collect())
}

/// Builds the image that machines have that are made now, unless it is there. True if it was built.
///
/// # Errors
/// Not root; what is missing on this host; what a step says.
pub fn build(waiting: &Waiting<'_>) -> Result<bool, LabError> {
    need_root()?;
    ensure(waiting).map(|(_, built)| built)
}

/// Removes the image of that name; false when there is none.
///
/// # Errors
/// Not root; a lab's machines have it; it cannot be removed.
pub fn remove(name: &str) -> Result<bool, LabError> {
    need_root()?;
    if !names()?.iter().any(|it| it == name) {
        return Ok(false);
    }
    let labs = users()?;
    let theirs: Vec<&str> = users_of(name, &labs).map(LabName::as_str).collect();
    if !theirs.is_empty() {
        return Err(LabError::Machines(format!(
            "image {name} is that of the machines of {}; take them down first",
            theirs.join(", ")
        )));
    }
    let folder = Path::new(FOLDER).join(name);
    fs::remove_dir_all(&folder).map_err(|e| LabError::io("remove", &folder, e))?;
    Ok(true)
}

/// The image that machines have that are made now, built if it has to be.
pub(crate) fn ensure(waiting: &Waiting<'_>) -> Result<(PathBuf, bool), LabError> {
    let version = kernel::version()?;
    let recipe = Recipe::of(&version);
    let image = Path::new(FOLDER).join(&recipe.name).join(IMAGE);
    if image.exists() {
        return Ok((image, false));
    }
    super::need_programs(&["mmdebstrap", "mke2fs", "depmod", "unshare", "ssh-keygen"])?;
    let modules = kernel::modules(&version)?;
    room::disk(Path::new(FOLDER), room::IMAGE, "packages of an image")?;
    let lock = Path::new(FOLDER).join("lock");
    let _held = Lock::take_within(lock, "the images of machines", COPIES)?;
    // Somebody else may have built it while this one waited.
    if image.exists() {
        return Ok((image, false));
    }
    (waiting.told)(&format!(
        "building image {}, once: two minutes or three",
        recipe.name
    ));
    let work = Path::new(FOLDER).join(BUILDING);
    remove_work(&work)?;
    let made = make(&recipe, &modules, &work, waiting);
    let made = made.and_then(|()| {
        let place = Path::new(FOLDER).join(&recipe.name);
        fs::rename(work.join("done"), &place).map_err(|e| LabError::io("rename to", &place, e))
    });
    let removed = remove_work(&work);
    made.and(removed)?;
    Ok((image, true))
}

fn remove_work(work: &Path) -> Result<(), LabError> {
    match fs::remove_dir_all(work) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => Err(LabError::io("remove", work, e)),
        _ => Ok(()),
    }
}

fn make(
    recipe: &Recipe,
    modules: &Path,
    work: &Path,
    waiting: &Waiting<'_>,
) -> Result<(), LabError> {
    let (root, done) = (work.join("root"), work.join("done"));
    fs::create_dir_all(&done).map_err(|e| LabError::io("create the folder", &done, e))?;
    let (setup, list) = (work.join("setup"), work.join("sources.list"));
    hawser_files::replace(&setup, SETUP.as_bytes(), 0o755)?;
    hawser_files::replace(
        &list,
        sources::list(apt_files().iter().map(String::as_str)).as_bytes(),
        0o644,
    )?;
    unpack(
        &recipe.mmdebstrap(&root, &setup, &list, &apt_options()),
        &work.join("log"),
        waiting,
    )?;
    hawser_files::replace(
        &root.join("usr/local/sbin/hawser-lab-boot"),
        BOOT.as_bytes(),
        0o755,
    )?;
    let into = root.join("lib/modules");
    fs::create_dir_all(&into).map_err(|e| LabError::io("create the folder", &into, e))?;
    let version = modules
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let text = |path: &Path| path.display().to_string();
    let run = |program: &str, words: &[String]| Tool::new(program).args(words).limit(COPIES).text();
    run("cp", &["-a".to_owned(), text(modules), text(&into)])?;
    run("depmod", &["-b".to_owned(), text(&root), version])?;
    let image = done.join(IMAGE);
    File::create(&image)
        .and_then(|file| file.set_len(SIZE))
        .map_err(|e| LabError::io("create", &image, e))?;
    let words = ["-q", "-t", "ext4", "-d"].map(str::to_owned);
    run(
        "mke2fs",
        &[&words[..], &[text(&root), text(&image)]].concat(),
    )?;
    Ok(())
}

/// Runs mmdebstrap. It and all that it starts end when this program does, however that ends.
fn unpack(words: &[String], log: &Path, waiting: &Waiting<'_>) -> Result<(), LabError> {
    let file = File::create(log).map_err(|e| LabError::io("create", log, e))?;
    let mut child = Launch::new(TIED[0])
        .args(&TIED[1..])
        .args([
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child",
            "--mount-proc",
            "--",
            "mmdebstrap",
        ])
        .args(words)
        .log(file)
        .apart()
        .daemon()?;
    let failed = |e| LabError::io("wait for", "mmdebstrap", e);
    loop {
        if let Some(status) = child.try_wait().map_err(failed)? {
            return match status.success() {
                true => Ok(()),
                false => Err(LabError::Tool {
                    command: "mmdebstrap".to_owned(),
                    what: complaints(&fs::read_to_string(log).unwrap_or_default()),
                }),
            };
        }
        if (waiting.interrupted)() {
            child.kill().and_then(|()| child.wait()).map_err(failed)?;
            return Err(LabError::Interrupted);
        }
        thread::sleep(LOOKS);
    }
}

/// What mmdebstrap and apt say as an error: lines that begin with `E:`, else the last ones.
fn complaints(log: &str) -> String {
    let lines: Vec<&str> = log.lines().filter(|line| line.starts_with("E:")).collect();
    match lines.is_empty() {
        false => lines.join("; "),
        true => {
            let all: Vec<&str> = log.lines().collect();
            all[all.len().saturating_sub(3)..].join("; ")
        }
    }
}

/// The files that name this host's sources. Who has none takes Debian's.
fn apt_files() -> Vec<String> {
    let parts = fs::read_dir("/etc/apt/sources.list.d")
        .into_iter()
        .flatten()
        .flatten();
    let mut paths: Vec<PathBuf> = parts.map(|entry| entry.path()).collect();
    paths.sort();
    paths.insert(0, "/etc/apt/sources.list".into());
    let known = |path: &PathBuf| {
        path.extension()
            .is_some_and(|it| it == "list" || it == "sources")
    };
    paths
        .iter()
        .filter(|path| known(path))
        .filter_map(|path| fs::read_to_string(path).ok())
        .collect()
}

/// By which proxy this host reaches its sources. Who has no apt has none.
fn apt_options() -> Vec<String> {
    let dump = Tool::new("apt-config")
        .args(["dump"])
        .text()
        .unwrap_or_default();
    let is_proxy = |line: &&str| line.starts_with("Acquire::http") && line.contains("::Proxy");
    let lines = dump.lines().filter(is_proxy);
    lines
        .map(|line| line.trim_end_matches(';').to_owned())
        .collect()
}

fn names() -> Result<Vec<String>, LabError> {
    let entries = match fs::read_dir(FOLDER) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(LabError::io("read the folder", FOLDER, e)),
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    let is_image = |name: &String| Path::new(FOLDER).join(name).join(IMAGE).exists();
    Ok(names
        .filter(|name| !name.starts_with('.'))
        .filter(is_image)
        .collect())
}

/// The labs of machines, and their images.
fn users() -> Result<Vec<(LabName, PathBuf)>, LabError> {
    let root = Root::from_environment();
    let labs = root.labs()?.into_iter();
    let with_image = labs.filter_map(|name| {
        let state = State::load(&root.lab(&name)).ok().flatten()?;
        Some((name, state.image?))
    });
    Ok(with_image.collect())
}

fn users_of<'a>(name: &str, labs: &'a [(LabName, PathBuf)]) -> impl Iterator<Item = &'a LabName> {
    let folder = Path::new(FOLDER).join(name);
    labs.iter()
        .filter(move |(_, image)| image.starts_with(&folder))
        .map(|(lab, _)| lab)
}

fn status(name: String, current: &str, labs: &[(LabName, PathBuf)]) -> ImageStatus {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(Path::new(FOLDER).join(&name).join(IMAGE)).ok();
    let since = found.as_ref().and_then(|it| it.modified().ok());
    ImageStatus {
        current: name == current,
        built: found.is_some(),
        // Sectors of 512 bytes, whatever the file system has (stat(2)).
        bytes: found.map(|it| it.blocks() * 512),
        since: since
            .and_then(|at| at.duration_since(UNIX_EPOCH).ok())
            .map(|it| it.as_secs()),
        labs: users_of(&name, labs).cloned().collect(),
        name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_apt_complains_of_is_said_and_not_its_progress() {
        let log = "I: running apt-get update...\nE: Unable to locate package x\nI: cleanup\n";
        assert_eq!(complaints(log), "E: Unable to locate package x");
        assert_eq!(complaints("a\nb\nc\nd\n"), "b; c; d");
    }
}
