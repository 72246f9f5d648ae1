//! The golden clusters: a cluster file each, and beside it what is made of it.

use std::fs;
use std::path::{Path, PathBuf};

use hawser_cluster::numbering::Numbering;
use hawser_model::cluster_file::{ClusterFile, parse_complete};

/// A golden cluster.
pub struct Golden {
    pub name: &'static str,
    pub file: ClusterFile,
}

/// Those whose file is an example, and those with a file of their own.
pub const NAMES: [&str; 5] = [
    "zfs-appliance",
    "lab",
    "three-heads",
    "three-nodes",
    "without-fencing",
];

impl Golden {
    pub fn all() -> Vec<Self> {
        NAMES.map(Self::named).into()
    }

    pub fn named(name: &'static str) -> Self {
        let own = folder(name).join("hawser.toml");
        let example = root().join("../../examples").join(name).join("hawser.toml");
        let path = if own.exists() { own } else { example };
        let text = fs::read_to_string(&path).unwrap();
        let file = parse_complete(&text, &path.display().to_string());
        let file = file.unwrap_or_else(|errors| panic!("{errors}"));
        Self { name, file }
    }

    pub fn numbering(&self) -> Numbering {
        Numbering::of(&self.file, None)
    }

    /// Compares with the golden file, or writes it anew with `HAWSER_REGENERATE=1`.
    #[track_caller]
    pub fn check(&self, file: &str, made: &str) {
        compare(&folder(self.name).join(file), made);
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn folder(name: &str) -> PathBuf {
    root().join("goldens").join(name)
}

/// Compares `made` with the file at `path`, or writes it there.
#[track_caller]
pub fn compare(path: &Path, made: &str) {
    if std::env::var_os("HAWSER_REGENERATE").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, made).unwrap();
    }
    let golden = fs::read_to_string(path).unwrap_or_default();
    assert!(
        golden == made,
        "{} is not what is made now.\nHAWSER_REGENERATE=1 cargo test -p hawser-cluster writes it anew; \
         a person reads the difference.\n--- made now ---\n{made}",
        path.display()
    );
}
