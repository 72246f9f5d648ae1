//! A machine as user-mode Linux: its kernel is a program of the host.

use hawser_tool::Launch;
use nix::sys::wait::WaitStatus;

use super::folder;
use super::image::Boots;
use super::plan::{cards, is_head, memory};
use super::preload;
use super::serial::Plug;
use crate::cluster::ShelfSpec;
use crate::error::LabError;
use crate::paths::LabDir;
use crate::spec::{LabSpec, NodeSpec};
use crate::state::State;

/// The kernel's name for itself in its folder of sockets.
pub(super) const UMID: &str = "machine";

/// What the kernel is called as a program. It runs that in its own place when it is to boot again (`main`, arch/um/os-Linux/main.c),
/// so its end says what was asked for: this program fails, a kernel that was powered off ends well.
const AGAIN: &str = "/bin/false";
const ENDS_FOR_REBOOT: i32 = 1;

/// Whether a kernel that ended so is to boot again.
pub(super) fn asks_for_reboot(ended: WaitStatus) -> bool {
    matches!(ended, WaitStatus::Exited(_, ENDS_FOR_REBOOT))
}

/// What runs the machine, in the folder of its memory.
pub(super) fn program(
    dir: &LabDir,
    state: &State,
    node: &NodeSpec,
    boots: &Boots,
    serial: &[Plug],
) -> Result<Launch, LabError> {
    let memory = folder::memory(dir, node.name.as_str());
    let image = boots.image.display().to_string();
    let identity = folder::identity(state, node);
    Ok(Launch::new(&boots.kernel)
        .called(AGAIN)
        .args(words(&state.spec, node, &image, identity))
        .args(serial_lines(serial))
        .envs([("LD_PRELOAD", preload::put(&memory)?), ("TMPDIR", memory)]))
}

/// What the kernel is started with. Paths are relative to the folder of its memory, since the sockets in it have
/// short names only (108 bytes, unix(7)).
fn words(spec: &LabSpec, node: &NodeSpec, image: &str, identity: [String; 3]) -> Vec<String> {
    let mut words = vec![
        format!("umid={UMID}"),
        "uml_dir=.".to_owned(),
        format!("mem={}M", memory(spec, node)),
        // The machine sees nothing else of the host. Linux 6.12 refuses a relative path there ("bad file descriptor"), and the
        // folder's absolute path may contain blanks.
        "hostfs=/proc/self/cwd/../host".to_owned(),
        format!("ubd0=../disk.cow,{image}"),
        "root=/dev/ubda".to_owned(),
        "ro".to_owned(),
        "con=null".to_owned(),
        "con0=null,fd:1".to_owned(),
    ];
    words.extend(identity);
    words.extend(shelves(spec, node));
    for (nth, card) in cards(spec, node).iter().enumerate() {
        let mtu = card.mtu.map_or(String::new(), |it| format!(",mtu={it}"));
        words.push(format!(
            "vec{nth}:transport=tap,ifname={},depth=128,gro=1{mtu},mac={}",
            card.tap, card.address
        ));
    }
    words
}

/// Its serial lines, each one of the descriptors that it inherits.
fn serial_lines(plugs: &[Plug]) -> impl Iterator<Item = String> {
    let numbers = plugs.iter().map(Plug::number).enumerate();
    numbers.map(|(nth, number)| format!("ssl{nth}=fd:{number}"))
}

/// The shelves, which several kernels write to (`c`), as the disks that they are: without `d` the kernel takes a file that
/// begins as its own copies do for one, and opens what that names. Their serial numbers are their names.
///
/// A unit of a shelf machine is a disk of that alone.
fn shelves(spec: &LabSpec, node: &NodeSpec) -> Vec<String> {
    let shelves = spec.cluster.iter().flat_map(|cluster| &cluster.shelves);
    let shelves = shelves.filter(|shelf| match &shelf.unit {
        Some(unit) => unit.machine == node.name,
        None => is_head(spec, node),
    });
    let word = |(nth, shelf): (usize, &ShelfSpec)| {
        let name = &shelf.name;
        format!("ubd{}dc=../../../shelves/{name},,{name}", nth + 1)
    };
    shelves.enumerate().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::super::plan::identity;
    use super::*;

    #[test]
    fn a_machine_has_a_card_for_each_link_and_one_to_its_case() {
        let spec = LabSpec::default();
        let head2 = spec.node("head2").unwrap();
        let words = words(
            &spec,
            head2,
            "/i/root.img",
            identity("t", &head2.name, "0123"),
        );
        let cards: Vec<&String> = words.iter().filter(|it| it.starts_with("vec")).collect();
        assert_eq!(
            cards,
            [
                "vec0:transport=tap,ifname=t-ring0,depth=128,gro=1,mac=02:68:77:00:02:00",
                "vec1:transport=tap,ifname=t-ring1,depth=128,gro=1,mac=02:68:77:01:02:00",
                "vec2:transport=tap,ifname=hawser-console,depth=128,gro=1,mac=02:68:77:ff:02:00",
            ]
        );
        assert!(words.contains(&"ubd0=../disk.cow,/i/root.img".to_owned()));
    }

    #[test]
    fn heads_of_a_cluster_have_more_memory_and_the_shelves_and_the_client_has_not() {
        let text = include_str!("../../../../examples/lab/machines.toml");
        let file = hawser_model::cluster_file::parse_complete(text, "machines.toml").unwrap();
        let spec = LabSpec::of_cluster(&file, text, crate::Kind::Uml).unwrap();
        let words = |node: &str| {
            let node = spec.node(node).unwrap();
            let words = super::words(
                &spec,
                node,
                "/i/root.img",
                identity("t", &node.name, "0123"),
            );
            let wanted = words
                .iter()
                .filter(|it| it.starts_with("ubd") || it.starts_with("mem="));
            wanted.cloned().collect::<Vec<_>>()
        };
        let shelves = [
            "ubd1dc=../../../shelves/vmpool01,,vmpool01",
            "ubd2dc=../../../shelves/vmpool02,,vmpool02",
        ];
        let disk = "ubd0=../disk.cow,/i/root.img";
        assert_eq!(words("head2"), ["mem=768M", disk, shelves[0], shelves[1]]);
        assert_eq!(words("client1"), ["mem=512M", disk]);
    }
}
