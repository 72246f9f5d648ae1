//! Which two hosts a copy is between, and which way the data goes.

use std::fmt;
use std::net::IpAddr;

use hawser_coordinator::copy::Route;
use hawser_coordinator::discover::discover;
use hawser_host::Hosts;
use hawser_model::names::{HostName, LinkName};
use hawser_model::topology::{Reach, Topology};
use miette::{bail, miette};

use super::Args;
use crate::cluster::{self, Cluster, Which};

/// What this machine is called when it is an end of a copy.
const HERE: &str = "here";

/// `HOST:PATH` or `PATH`.
pub(super) struct Spot {
    pub(super) host: Option<String>,
    pub(super) path: String,
}

impl Spot {
    /// A colon before any slash belongs to a host, as `scp` has it.
    pub(super) fn parse(text: &str) -> miette::Result<Self> {
        let here = |path: &str| Self {
            host: None,
            path: path.to_owned(),
        };
        if text.starts_with("memory:") {
            return Ok(here(text));
        }
        match text.split_once(':') {
            Some((host, _)) if host.contains('/') => Ok(here(text)),
            Some(("", _)) => bail!("{text}: no host before the colon"),
            Some((host, _)) if host.starts_with('-') => {
                bail!("{text}: `{host}` is not a host")
            }
            Some((host, path)) => Ok(Self {
                host: Some(host.to_owned()),
                path: path.to_owned(),
            }),
            None => Ok(here(text)),
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Some(host) => write!(f, "{host}:{}", self.path),
            None => f.write_str(&self.path),
        }
    }
}

/// The two hosts.
pub(super) struct Ends {
    pub(super) from: HostName,
    pub(super) to: HostName,
    /// Those that are reached from here.
    cluster: Cluster,
    /// One of them is this machine.
    here: bool,
}

impl Ends {
    pub(super) fn find(args: &Args, from: &Spot, to: &Spot) -> miette::Result<Self> {
        if from.host.is_none() && to.host.is_none() {
            bail!(
                help = "write HOST:PATH for one of them",
                "{from} and {to} are both here: a copy goes to another host"
            );
        }
        let named = args.lab.is_some() || args.file.is_some();
        let here = from.host.is_none() || to.host.is_none();
        if here && args.lab.is_some() {
            let spot = if from.host.is_none() { from } else { to };
            bail!(
                help = "a node sees the files of this machine, except /etc, /var, /run, /tmp and /dev/shm",
                "{spot}: this machine is on no link of the lab; write NODE:{}",
                spot.path
            );
        }
        let name = |spot: &Spot| -> HostName {
            let host = spot.host.as_deref().unwrap_or(HERE);
            match named {
                true => host.into(),
                false => host.rsplit('@').next().unwrap_or(host).into(),
            }
        };
        let (from_name, to_name) = (name(from), name(to));
        if from_name == to_name {
            bail!("{from} and {to} are on the same host");
        }
        let cluster = if named {
            let which = Which::named(args.file.clone(), args.lab.clone(), args.ssh_config.clone());
            let mut cluster = which.cluster()?;
            for end in [&from_name, &to_name] {
                let known = cluster.nodes.iter().any(|(name, _)| name == end);
                if !known && (end.as_str() != HERE || !here) {
                    let names: Vec<&str> = cluster.nodes.iter().map(|(n, _)| n.as_str()).collect();
                    bail!("no node is called {end}; there are {}", names.join(", "));
                }
            }
            cluster
                .nodes
                .retain(|(name, _)| *name == from_name || *name == to_name);
            cluster
        } else {
            let reached = |spot: &Spot, name: &HostName| {
                let destination = spot.host.clone()?;
                Some((name.clone(), Reach::Ssh(destination)))
            };
            let nodes = [reached(from, &from_name), reached(to, &to_name)];
            Cluster::of_nodes(
                nodes.into_iter().flatten().collect(),
                args.ssh_config.clone(),
            )
        };
        Ok(Self {
            from: from_name,
            to: to_name,
            cluster,
            here,
        })
    }

    /// Starts an agent at both ends.
    pub(super) fn connect(&self) -> miette::Result<Hosts> {
        let here = match self.here {
            true => vec![cluster::here(HERE.into())?],
            false => Vec::new(),
        };
        self.cluster.connect_and(here)
    }

    /// The link that was asked for, or the first that both hosts are on.
    pub(super) fn route(&self, agents: &mut Hosts, link: Option<&str>) -> miette::Result<Route> {
        let known = self.cluster.topology.as_ref();
        if let Some(route) = known.and_then(|t| self.on(t, link)) {
            return Ok(route);
        }
        let facts = hawser_coordinator::check::facts(agents).map_err(|e| miette!("{e}"))?;
        let hosts: Vec<_> = facts
            .iter()
            // How they are reached does not matter for the links they share.
            .map(|(name, facts)| (name.clone(), Reach::Ssh(name.to_string()), facts))
            .collect();
        let found = discover(&hosts);
        self.on(&found, link).ok_or_else(|| {
            let mut links: Vec<&LinkName> = found.links.iter().map(|l| &l.name).collect();
            links.extend(known.iter().flat_map(|t| &t.links).map(|l| &l.name));
            let links: Vec<&str> = links.into_iter().map(LinkName::as_str).collect();
            match link {
                Some(link) => miette!(
                    "--link {link}: not a link of both {} and {}; there are {}",
                    self.from,
                    self.to,
                    links.join(", ")
                ),
                None => miette!(
                    help = "give both hosts an address in one network, or name a host between them as SRC",
                    "{} and {} have no network in common",
                    self.from,
                    self.to
                ),
            }
        })
    }

    fn on(&self, topology: &Topology, link: Option<&str>) -> Option<Route> {
        let address = |host: &HostName, link: &LinkName| -> Option<IpAddr> {
            topology.node(host)?.addresses.get(link).copied()
        };
        // Who wants a null-modem cable names it.
        let usable = topology
            .links
            .iter()
            .filter(|l| !l.serial || link.is_some());
        let mut links = usable.map(|l| &l.name);
        links.find_map(|name| {
            let wanted = link.is_none_or(|link| name.as_str() == link);
            let route = Route {
                link: name.clone(),
                from: address(&self.from, name)?,
                to: address(&self.to, name)?,
            };
            wanted.then_some(route)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_paths_are_told_apart_as_scp_does() {
        let parsed = |text: &str| {
            let spot = Spot::parse(text).unwrap();
            (spot.host, spot.path)
        };
        let host = |h: &str| Some(h.to_owned());
        assert_eq!(parsed("head2:/srv/x"), (host("head2"), "/srv/x".into()));
        assert_eq!(parsed("root@h:x:y"), (host("root@h"), "x:y".into()));
        assert_eq!(parsed("./a:b"), (None, "./a:b".into()));
        assert_eq!(parsed("/a"), (None, "/a".into()));
        assert_eq!(parsed("memory:1G"), (None, "memory:1G".into()));
        assert_eq!(
            parsed("head1:memory:1G"),
            (host("head1"), "memory:1G".into())
        );
        assert!(Spot::parse(":/x").is_err());
        assert!(Spot::parse("-oProxyCommand=x:/y").is_err());
    }
}
