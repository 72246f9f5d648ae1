//! The draft's text, with comments for whoever goes on with it.

use std::fmt::Write as _;

use hawser_model::visible::one_line;

use super::Sketch;
use super::bmc::Bmc;
use super::links::Link;
use super::nodes::Node;
use super::pool_text;
use crate::write::{key, quoted};

/// The file's text.
pub(super) fn text(sketch: &Sketch) -> String {
    let names: Vec<&str> = sketch.nodes.iter().map(|node| node.name.as_str()).collect();
    let mut out = format!(
        "# Made by `hawser init` from what these heads show: {}.\n\
         # From now on this file counts: read it, and fill in or remove what is commented out. `hawser plan` says what would\n\
         # be done; docs/cluster-file.md has every key.\n",
        names.join(", ")
    );
    // Writing into a String cannot fail.
    let _ = write(&mut out, sketch);
    out
}

type Written = std::fmt::Result;

fn write(out: &mut String, sketch: &Sketch) -> Written {
    writeln!(out, "\n[cluster]\nname = {}", quoted(&sketch.name))?;
    links(out, &sketch.links)?;
    for it in &sketch.nodes {
        node(out, it)?;
    }
    fencing(out, &sketch.nodes)?;
    pool_text::pools(out, &sketch.pools, &sketch.links)
}

/// A comment behind a value.
fn comment(text: &str) -> String {
    format!("   # {}", one_line(text))
}

fn links(out: &mut String, links: &[Link]) -> Written {
    if links.is_empty() {
        return out.write_str(
            "\n# No network joins the heads. Give them one, or better two that fail apart, and write each as\n\
             # [[link]]\n# name = \"ring0\"\n# network = \"10.77.1.0/24\"\n",
        );
    }
    // Never reordered: their order is their number in Corosync.
    let mixed = links.iter().any(|link| link.san) && links.iter().any(|link| !link.san);
    for link in links {
        writeln!(out, "\n[[link]]\nname = {}", quoted(&link.name))?;
        if link.san {
            let guessed = match link.guessed {
                true => comment("guessed by the name of its ports"),
                false => String::new(),
            };
            writeln!(out, "role = [\"san\", \"heartbeat\"]{guessed}")?;
        }
        writeln!(out, "network = \"{}\"", link.network)?;
        if let Some(mtu) = link.mtu {
            writeln!(out, "mtu = {}", mtu.0)?;
        }
        if let Some(speed) = link.speed {
            writeln!(out, "speed = \"{speed}\"")?;
        }
        match &link.switch {
            Some(switch) => writeln!(out, "switch = {}{}", quoted(switch), comment("by LLDP"))?,
            None => writeln!(out, "# switch = \"…\"")?,
        }
        if mixed {
            let priority = if link.san { 10 } else { 20 };
            writeln!(out, "priority = {priority}")?;
        }
    }
    Ok(())
}

fn node(out: &mut String, node: &Node) -> Written {
    writeln!(out, "\n[[node]]\nname = {}", quoted(&node.name))?;
    if let Some(ssh) = &node.ssh {
        writeln!(out, "ssh = {}", quoted(ssh))?;
    }
    if !node.addresses.is_empty() {
        writeln!(out, "\n[node.addresses]")?;
        for (link, ip, port) in &node.addresses {
            let on = match link == port {
                true => String::new(),
                false => comment(port),
            };
            writeln!(out, "{} = \"{ip}\"{on}", key(link))?;
        }
    }
    bmc(out, &node.bmc)
}

fn bmc(out: &mut String, bmc: &Bmc) -> Written {
    let password = quoted(&format!("file:{}", bmc.password));
    if let (Some(address), Some(user)) = (&bmc.address, &bmc.user) {
        writeln!(out, "\n[node.bmc]\naddress = {}", quoted(address))?;
        writeln!(out, "username = {}", quoted(user))?;
        writeln!(
            out,
            "password = {password}{}",
            comment("on the machine that runs hawser, mode 0600")
        )?;
        return match bmc.cipher {
            Some(cipher) => writeln!(
                out,
                "cipher = {cipher}{}",
                comment("it does not speak 17, ipmitool's own")
            ),
            None => Ok(()),
        };
    }
    if let Some(what) = &bmc.guest_of {
        return writeln!(
            out,
            "\n# {} is a virtual machine ({}): what cuts its power is a [[fencing.device]], see below.",
            bmc.node,
            one_line(what)
        );
    }
    let known = |value: &Option<String>| quoted(value.as_deref().unwrap_or("…"));
    writeln!(
        out,
        "\n# What cuts {}'s power. Without it, or a [[fencing.device]], no cluster is built.\n# [node.bmc]",
        bmc.node
    )?;
    writeln!(out, "# address = {}", known(&bmc.address))?;
    writeln!(out, "# username = {}", known(&bmc.user))?;
    writeln!(out, "# password = {password}")
}

fn fencing(out: &mut String, nodes: &[Node]) -> Written {
    if let [first, _] = nodes {
        writeln!(
            out,
            "\n# Of two heads that cannot see each other, {0} wins: the shot at it waits.\n[fencing]\ndelay = {{ {1} = \"5s\" }}",
            first.name,
            key(&first.name)
        )?;
    }
    if nodes
        .iter()
        .all(|node| node.bmc.guest_of.is_none() || node.bmc.is_whole())
    {
        return Ok(());
    }
    let ports: Vec<String> = nodes
        .iter()
        .map(|node| format!("{} = {}", key(&node.name), quoted(&node.name)))
        .collect();
    writeln!(
        out,
        "\n# The heads are virtual machines: their hypervisor cuts their power, by the agent for it (fence_virsh, fence_pve,\n\
         # fence_vmware_rest, …).\n# [[fencing.device]]\n# name = \"hypervisor\"\n# agent = \"fence_virsh\"\n# ports = {{ {} }}\n\
         # options = {{ ip = \"…\", username = \"…\" }}\n# secrets = {{ password = \"file:{}/hypervisor\" }}",
        ports.join(", "),
        super::head::SECRETS
    )
}
