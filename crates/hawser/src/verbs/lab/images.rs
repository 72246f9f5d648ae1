//! `hawser lab images`: what machines boot from.

use hawser_lab::machines::image::{self, Content, Held, ImageStatus, Waiting};
use hawser_lab::{Interrupt, Kind, LabError};

use super::args::Images;
use crate::output::{complain, say};
use crate::render::table::{Align, Table};

/// Runs it.
pub(super) fn run(what: Images) -> Result<(), LabError> {
    match what {
        Images::List { json } => {
            let images = image::list()?;
            super::print(json, &images, || list(&images))
        }
        Images::Build { zfs, qemu, release } => {
            let of = Content {
                kind: if qemu { Kind::Qemu } else { Kind::Uml },
                release: release.into(),
                zfs,
            };
            let interrupt = Interrupt::hold()?;
            let waiting = Waiting {
                told: &|what| complain!("{what}"),
                interrupted: &|| interrupt.requested(),
            };
            match image::build(of, &waiting)? {
                true => say!("the image is built"),
                false => say!("the image was built already"),
            }
            Ok(())
        }
        Images::Remove { name } => {
            match image::remove(&name)? {
                true => say!("{name} is removed"),
                false => complain!("there is no image {name}"),
            }
            Ok(())
        }
    }
}

fn list(images: &[ImageStatus]) -> String {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Left]);
    for image in images {
        let size = image.bytes.map_or("not built".to_owned(), |bytes| {
            format!("{} MiB", bytes >> 20)
        });
        let labs: Vec<&str> = image.labs.iter().map(|lab| lab.as_str()).collect();
        let of = image
            .release
            .map_or(String::new(), |it| format!(" of {}", it.suite()));
        let new = match image.of {
            Held::Debian => format!("what new machines{of} have"),
            Held::DebianWithZfs => format!("what new machines{of} with ZFS have"),
            Held::DebianForQemu => format!("what new machines{of} in QEMU have"),
            Held::ZfsModules => "ZFS's modules for that".to_owned(),
            Held::Kernel => "the kernel of new machines of user-mode Linux".to_owned(),
        };
        let what = match (image.current, labs.is_empty()) {
            (true, true) => new,
            (true, false) => format!("{new}, and those of {}", labs.join(", ")),
            (false, true) => "no lab's".to_owned(),
            (false, false) => format!("the machines of {}", labs.join(", ")),
        };
        table.row([image.name.as_str(), &size, &what]);
    }
    table.lines("").join("\n") + "\n"
}
