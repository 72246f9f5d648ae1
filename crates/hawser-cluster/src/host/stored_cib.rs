//! The CIB that a head keeps while its Pacemaker does not run. Pacemaker starts with it, and a head that joins a cluster
//! brings it along: of the CIBs of all members the newest counts (Pacemaker's `controld_join_dc.c`, `do_dc_join_filter_offer`),
//! by numbers that each cluster counts for itself.

use std::ffi::OsStr;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use hawser_files::{Expected, FileError, Folder};
use serde::{Deserialize, Serialize};

use super::{NodeError, inventory};
use crate::xml::Element;

/// Where Pacemaker keeps it.
pub(super) const FOLDER: &str = "/var/lib/pacemaker/cib";

/// Its file there. When it is gone, Pacemaker takes the newest of the older ones beside it (`cib-NUMBER.raw`).
pub(super) const NAME: &str = "cib.xml";

/// Where it goes when it is another cluster's, with a number behind it.
const ASIDE: &str = "cib.old-";

/// Larger ones are not read: Pacemaker's own limit of a message is 4 MiB, compressed (`PCMK_ipc_buffer`).
const LIMIT: u64 = 64 << 20;

/// So many folders of old ones there may be.
const OLD: u32 = 1000;

/// Whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredCib {
    /// The cluster's name, which Pacemaker writes into it; none: it has none.
    pub cluster: Option<String>,
    /// The nodes that it knows, by name.
    pub nodes: Vec<String>,
}

impl StoredCib {
    /// What a CIB says of itself.
    pub(crate) fn of(cib: &Element) -> Option<Self> {
        let configuration = cib.first("configuration")?;
        let of = |section: &str| configuration.first(section).into_iter();
        let sets = of("crm_config").flat_map(|config| config.all("cluster_property_set"));
        let mut pairs = sets.flat_map(|set| set.all("nvpair"));
        let cluster = pairs
            .find(|pair| pair.get("name") == Some("cluster-name"))
            .and_then(|pair| pair.get("value"));
        let nodes = of("nodes").flat_map(|nodes| nodes.all("node"));
        Some(Self {
            cluster: cluster.map(str::to_owned),
            nodes: nodes
                .filter_map(|node| node.get("uname").map(str::to_owned))
                .collect(),
        })
    }
}

/// What Pacemaker would start with; none while it runs, and when there is nothing that can be read.
pub(super) fn look() -> Option<StoredCib> {
    match runs() {
        true => None,
        false => look_in(&Folder::open(Path::new(FOLDER)).ok()?),
    }
}

fn runs() -> bool {
    ["pacemakerd", "pacemaker-based"]
        .into_iter()
        .any(inventory::runs)
}

fn look_in(folder: &Folder) -> Option<StoredCib> {
    let expected = Expected {
        owner: folder.about(OsStr::new(NAME)).ok()??.uid(),
        limit: LIMIT,
        private: false,
    };
    let text = folder.read_text(OsStr::new(NAME), expected).ok()??;
    StoredCib::of(&Element::parse(&text, "the stored CIB").ok()?)
}

/// Moves it, and the older ones beside it, into a folder of their own. It is no error if there is none any more.
pub(super) fn set_aside(known: &StoredCib) -> Result<(), NodeError> {
    let folder = match Folder::open(Path::new(FOLDER)) {
        Ok(folder) => folder,
        Err(_) if !Path::new(FOLDER).exists() => return Ok(()),
        Err(e) => return Err(e.into()),
    };
    if runs() {
        return Err(NodeError::Pacemaker);
    }
    set_aside_in(&folder, known)
}

fn set_aside_in(folder: &Folder, known: &StoredCib) -> Result<(), NodeError> {
    if folder.about(OsStr::new(NAME))?.is_none() {
        return Ok(());
    }
    if look_in(folder).as_ref() != Some(known) {
        return Err(NodeError::OtherCib(format!("{FOLDER}/{NAME}")));
    }
    let new = beside(folder)?;
    // A run that is killed leaves the file itself to the next one.
    let (last, first): (Vec<_>, Vec<_>) =
        folder.names()?.into_iter().partition(|name| name == NAME);
    for name in first.iter().chain(&last) {
        folder.give(name, &new)?;
    }
    new.sync()?;
    Ok(folder.sync()?)
}

/// A new folder beside this one, for who may enter this one.
fn beside(folder: &Folder) -> Result<Folder, FileError> {
    let above = folder.up()?;
    let mut taken = None;
    for number in 1..=OLD {
        let name = format!("{ASIDE}{number}");
        match above.create_folder(OsStr::new(&name), folder) {
            Err(exists @ FileError::Exists { .. }) => taken = Some(exists),
            other => return other,
        }
    }
    Err(taken.unwrap_or_else(|| FileError::Exists {
        path: above.path().join(ASIDE),
    }))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const OLD_ONE: &str = r#"<cib epoch="900" admin_epoch="0"><configuration><crm_config>
        <cluster_property_set id="cib-bootstrap-options"><nvpair id="a" name="cluster-name" value="archive"/>
        </cluster_property_set></crm_config><nodes><node id="1" uname="vault1"/><node id="2" uname="vault2"/></nodes>
        <resources/><constraints/></configuration></cib>"#;

    fn old_one() -> StoredCib {
        StoredCib {
            cluster: Some("archive".into()),
            nodes: vec!["vault1".into(), "vault2".into()],
        }
    }

    #[test]
    fn a_cib_of_another_cluster_goes_beside_with_all_older_ones() {
        let all = tempfile::tempdir().unwrap();
        let at = |name: &str| all.path().join(name);
        fs::create_dir(at("cib")).unwrap();
        fs::create_dir(at("cib.old-1")).unwrap();
        let write = |name: &str, text: &str| fs::write(at("cib").join(name), text).unwrap();
        write(NAME, OLD_ONE);
        write("cib.xml.sig", "0123");
        write("cib-12.raw", OLD_ONE);
        let folder = Folder::open(&at("cib")).unwrap();
        assert_eq!(look_in(&folder), Some(old_one()));
        set_aside_in(&folder, &old_one()).unwrap();
        assert_eq!(folder.names().unwrap().len(), 0);
        let mut moved = Folder::open(&at("cib.old-2")).unwrap().names().unwrap();
        moved.sort();
        assert_eq!(moved, ["cib-12.raw", NAME, "cib.xml.sig"]);
        assert_eq!(
            fs::read_to_string(at("cib.old-2/cib.xml")).unwrap(),
            OLD_ONE
        );
        assert_eq!(look_in(&folder), None);
        set_aside_in(&folder, &old_one()).unwrap();
        assert!(!at("cib.old-3").exists());
    }

    #[test]
    fn a_cib_that_became_another_one_stays() {
        let all = tempfile::tempdir().unwrap();
        fs::write(all.path().join(NAME), OLD_ONE.replace("vault2", "head2")).unwrap();
        let folder = Folder::open(all.path()).unwrap();
        let refused = set_aside_in(&folder, &old_one()).unwrap_err();
        assert!(matches!(refused, NodeError::OtherCib(_)), "{refused}");
        assert!(all.path().join(NAME).exists());
    }

    #[test]
    fn what_cannot_be_read_is_nobodys() {
        let all = tempfile::tempdir().unwrap();
        let folder = Folder::open(all.path()).unwrap();
        for text in ["", "<cib", "<other/>", "<cib><status/></cib>"] {
            fs::write(all.path().join(NAME), text).unwrap();
            assert_eq!(look_in(&folder), None, "{text}");
        }
    }
}
