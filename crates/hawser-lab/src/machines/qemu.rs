//! A machine as QEMU emulates it: Debian's own kernel on processors, a disk and network cards whose registers are those of real
//! ones. It takes no virtualisation of the host's processor (`-accel tcg`).

use std::path::Path;
use std::{fs, io};

use hawser_model::names::LinkName;
use hawser_tool::{Launch, Tool};

use super::folder;
use super::image::Boots;
use super::plan::{cards, memory};
use super::qmp::Control;
use crate::error::LabError;
use crate::paths::LabDir;
use crate::spec::{LabSpec, NodeSpec};
use crate::state::State;

/// The emulator, and what makes a disk that is a copy of another.
pub(super) const PROGRAM: &str = "qemu-system-x86_64";
pub(super) const IMAGES: &str = "qemu-img";

/// The socket of its control protocol, in the folder of its memory.
const CONTROL: &str = "control";

/// The machine's disk: what differs from the image.
const DISK: &str = "disk.qcow2";

/// Processors of a machine.
const PROCESSORS: u32 = 2;

/// What runs the machine, in the folder of its memory.
pub(super) fn program(
    dir: &LabDir,
    state: &State,
    node: &NodeSpec,
    boots: &Boots,
) -> Result<Launch, LabError> {
    make_disk(&dir.node(node.name.as_str()), &boots.image)?;
    let identity = folder::identity(state, node);
    Ok(Launch::new(PROGRAM).args(words(&state.spec, node, boots, identity)))
}

/// Makes the machine's disk at its first start: whole, or not at all.
fn make_disk(folder: &Path, image: &Path) -> Result<(), LabError> {
    let disk = folder.join(DISK);
    if disk.exists() {
        return Ok(());
    }
    let begun = folder.join(".disk.qcow2");
    let text = |path: &Path| path.display().to_string();
    let words = ["create", "-q", "-f", "qcow2", "-F", "raw", "-b"].map(str::to_owned);
    Tool::new(IMAGES)
        .args([&words[..], &[text(image), text(&begun)]].concat())
        .text()?;
    fs::rename(&begun, &disk).map_err(|e| LabError::io("rename to", &disk, e))
}

/// What a person could do to the machine: press keys, plug cables.
pub(super) struct Panel {
    /// In the order of its cards.
    cables: Vec<Cable>,
    control: Option<Control>,
    /// What QEMU did not take, as it was told last.
    refused: Option<String>,
}

struct Cable {
    link: LinkName,
    /// Whether its card was told that it has a carrier.
    told_up: bool,
}

impl Panel {
    /// That of a machine that starts: all its cards have a carrier.
    pub fn of(node: &NodeSpec) -> Self {
        let cables = node.ports.iter().map(|port| Cable {
            link: port.link.clone(),
            told_up: true,
        });
        Self {
            cables: cables.collect(),
            control: None,
            refused: None,
        }
    }

    /// Presses the keys by which the image powers off.
    pub fn power_button(&mut self) -> io::Result<()> {
        self.with(Control::press_reset_keys)
    }

    /// Gives each card the carrier that its cable has. What QEMU does not take it is told again the next time; why is said once.
    pub fn follow_cables(&mut self) {
        for nth in 0..self.cables.len() {
            let up = has_carrier(&self.cables[nth].link);
            if up == self.cables[nth].told_up {
                continue;
            }
            match self.with(|it| it.set_carrier(&card_id(nth), up)) {
                Ok(()) => self.cables[nth].told_up = up,
                Err(e) => return self.complain(&e),
            }
        }
    }

    fn complain(&mut self, error: &io::Error) {
        let said = error.to_string();
        if self.refused.as_ref() != Some(&said) {
            eprintln!("QEMU does not change a carrier: {said}");
            self.refused = Some(said);
        }
    }

    fn with(&mut self, order: impl FnOnce(&mut Control) -> io::Result<()>) -> io::Result<()> {
        let mut control = match self.control.take() {
            Some(control) => control,
            None => Control::connect(CONTROL)?,
        };
        order(&mut control)?;
        self.control = Some(control);
        Ok(())
    }
}

/// Whether a cable's end in the case has a carrier; one that is gone or down has none.
fn has_carrier(cable: &LinkName) -> bool {
    let said = fs::read_to_string(format!("/sys/class/net/{cable}/carrier"));
    said.is_ok_and(|it| it.trim() == "1")
}

/// What QEMU calls a card.
fn card_id(nth: usize) -> String {
    format!("card{nth}")
}

/// What QEMU is started with. Paths are relative to the folder of its memory: commas and colons in them would end an option, and
/// a socket's is short.
fn words(spec: &LabSpec, node: &NodeSpec, boots: &Boots, identity: [String; 3]) -> Vec<String> {
    let mut words: Vec<String> = [
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-machine",
        "q35",
        "-accel",
        // Translated code has a bound: without one it grows to a gigabyte.
        "tcg,thread=multi,tb-size=128",
        // With these two user space crashes on an emulated processor.
        "-cpu",
        "max,-svm,-la57",
        "-device",
        "virtio-rng-pci",
        // A kernel that has panicked ends.
        "-device",
        "pvpanic-pci",
        "-chardev",
        "stdio,id=console,signal=off",
        "-serial",
        "chardev:console",
        "-device",
        "virtio-blk-pci,drive=disk",
        "-virtfs",
        "local,path=../host,mount_tag=host,security_model=none,multidevs=remap",
    ]
    .map(str::to_owned)
    .into();
    let kernel = |path: &Path| path.display().to_string();
    let arguments = [
        "console=ttyS0",
        "root=/dev/vda",
        "ro",
        "quiet",
        "net.ifnames=0",
        // What an emulated processor does not need, or cannot measure on a busy host.
        "mitigations=off",
        "no_timer_check",
        "tsc=reliable",
        "systemd.show_status=0",
    ]
    .map(str::to_owned);
    for (option, value) in [
        ("-smp", PROCESSORS.to_string()),
        ("-m", format!("{}M", memory(spec, node))),
        ("-kernel", kernel(&boots.kernel)),
        ("-append", [&arguments[..], &identity].concat().join(" ")),
        (
            "-drive",
            format!("file=../{DISK},format=qcow2,if=none,id=disk"),
        ),
        ("-qmp", format!("unix:{CONTROL},server=on,wait=off")),
    ] {
        words.extend([option.to_owned(), value]);
    }
    if let Some(initrd) = &boots.initrd {
        words.extend(["-initrd".to_owned(), kernel(initrd)]);
    }
    for (nth, card) in cards(spec, node).iter().enumerate() {
        let (tap, device, address) = (&card.tap, card.card.device(), &card.address);
        words.extend([
            "-netdev".to_owned(),
            format!("tap,id=tap{nth},ifname={tap},script=no,downscript=no"),
            "-device".to_owned(),
            format!("{device},id={},netdev=tap{nth},mac={address}", card_id(nth)),
        ]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::card::Card;
    use super::super::plan::identity;
    use super::*;

    #[test]
    fn each_link_has_the_card_that_it_names_on_its_own_tap() {
        let mut spec = LabSpec::default();
        spec.links[1].card = Card::E1000e;
        let head2 = spec.node("head2").unwrap();
        let boots = Boots {
            kernel: "/i/vmlinuz".into(),
            image: "/i/root.img".into(),
            initrd: Some("/i/initrd".into()),
        };
        let words = words(&spec, head2, &boots, identity("t", &head2.name, "0123"));
        let after = |option: &str| {
            let pairs = words.windows(2).filter(move |it| it[0] == option);
            pairs.map(|it| it[1].as_str()).collect::<Vec<_>>()
        };
        assert_eq!(
            after("-device")[3..],
            [
                "vmxnet3,id=card0,netdev=tap0,mac=02:68:77:00:02:00",
                "e1000e,id=card1,netdev=tap1,mac=02:68:77:01:02:00",
                "virtio-net-pci,id=card2,netdev=tap2,mac=02:68:77:ff:02:00",
            ]
        );
        assert_eq!(
            after("-netdev")[1],
            "tap,id=tap1,ifname=t-ring1,script=no,downscript=no"
        );
        assert_eq!(after("-kernel"), ["/i/vmlinuz"]);
        assert_eq!(after("-initrd"), ["/i/initrd"]);
        let arguments = after("-append")[0];
        assert!(arguments.ends_with("systemd.hostname=head2 hawser.lab=t"));
    }
}
