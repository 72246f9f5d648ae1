//! Agents on the nodes of a cluster.

use std::sync::Arc;

use hawser_host::transport::{Command, Executable, Ssh, Transport};
use hawser_host::{Agent, Failure, Host, HostError, Hosts, at_once};
use hawser_lab::Lab;
use hawser_model::names::HostName;
use hawser_model::topology::Reach;
use hawser_model::traffic::RunKey;
use hawser_tool::Launch;
use miette::{IntoDiagnostic, WrapErr, bail};

use super::Cluster;
use super::told::told;

impl Cluster {
    /// Starts an agent on every node, all at the same time.
    ///
    /// # Errors
    /// Every node that could not be reached, each with its reason.
    pub fn connect(&self) -> miette::Result<Hosts> {
        self.connect_and(Vec::new())
    }

    /// The same, and hosts that are reached in other ways.
    ///
    /// # Errors
    /// As [`Self::connect`].
    pub fn connect_and(&self, others: Vec<Box<dyn Transport>>) -> miette::Result<Hosts> {
        let (hosts, failed) = self.try_connect_and(others)?;
        if failed.is_empty() {
            return Ok(hosts);
        }
        let failed: Vec<String> = failed.iter().map(ToString::to_string).collect();
        bail!("{}", failed.join("\n"))
    }

    /// Starts an agent on every node that can be reached, and says of the others why not.
    ///
    /// # Errors
    /// What keeps this machine from reaching any.
    pub fn try_connect(&self) -> miette::Result<(Hosts, Vec<HostError>)> {
        self.try_connect_and(Vec::new())
    }

    fn try_connect_and(
        &self,
        others: Vec<Box<dyn Transport>>,
    ) -> miette::Result<(Hosts, Vec<HostError>)> {
        let run_key = RunKey(u64::from_ne_bytes(random()?));
        let mut transports = self.transports()?;
        transports.extend(others);
        let started = at_once(&transports, |t| Agent::connect(t.as_ref(), run_key));
        let mut hosts = Hosts::new();
        let mut failed = Vec::new();
        for result in started {
            match result {
                Ok(agent) => {
                    hosts.insert(agent.name().clone(), told(Box::new(agent)));
                }
                Err(e) => failed.push(e),
            }
        }
        Ok((hosts, failed))
    }

    /// Starts an agent on this node, the only one.
    ///
    /// # Errors
    /// Why it is not reached.
    pub fn connect_only(&self, name: &HostName) -> Result<Box<dyn Host>, HostError> {
        let failed = |words: String| {
            let source = words.into();
            Failure::Command { source }.on(name)
        };
        let (heads, errors) = self.try_connect().map_err(|e| failed(e.to_string()))?;
        heads.into_values().next().ok_or_else(|| {
            let error = errors.into_iter().next();
            error.unwrap_or_else(|| failed("not a node of the cluster".to_owned()))
        })
    }

    fn transports(&self) -> miette::Result<Vec<Box<dyn Transport>>> {
        let own = || {
            Executable::own()
                .map(Arc::new)
                .into_diagnostic()
                .wrap_err("cannot read hawser's own executable, to copy it to the nodes")
        };
        let mut executable = None;
        let mut transports: Vec<Box<dyn Transport>> = Vec::new();
        for (name, reach) in &self.nodes {
            transports.push(match reach {
                Reach::Lab(lab) => {
                    let (lab, node) = (lab.clone(), name.clone());
                    let within = self.connect_timeout;
                    // One that is not there is said to be so when it is reached.
                    let slowness = Lab::open(&lab).map_or(1, |lab| lab.slowness());
                    let command = Command::new(name.clone(), move || {
                        Lab::open(&lab)?.agent(node.as_str(), within)
                    });
                    Box::new(command.slow(slowness))
                }
                Reach::Ssh(destination) => {
                    if executable.is_none() {
                        executable = Some(own()?);
                    }
                    let executable = executable.clone().expect("just read");
                    let mut ssh = Ssh::new(name.clone(), destination.clone(), executable);
                    if let Some(config) = &self.ssh_config {
                        ssh = ssh.config(config.clone());
                    }
                    if let Some(timeout) = self.connect_timeout {
                        ssh = ssh.connect_timeout(timeout);
                    }
                    if let Some(timeout) = self.login_timeout {
                        ssh = ssh.login_timeout(timeout);
                    }
                    Box::new(ssh)
                }
            });
        }
        Ok(transports)
    }
}

/// An agent on this very machine, for the end of a copy that is here.
pub fn here(name: HostName) -> miette::Result<Box<dyn Transport>> {
    let own = std::env::current_exe()
        .into_diagnostic()
        .wrap_err("cannot find hawser's own executable")?;
    Ok(Box::new(Command::new(name, move || {
        Ok::<_, std::io::Error>(Launch::new(&own).arg("agent"))
    })))
}

/// An agent beside the switches of a lab.
pub fn beside_switches(lab: &Lab) -> miette::Result<Box<dyn Host>> {
    let name = lab.name().to_string();
    let transport = Command::new(hawser_lab::init::SWITCHES.into(), move || {
        Lab::open(&name).and_then(|lab| lab.switch_agent())
    });
    let run_key = RunKey(u64::from_ne_bytes(random()?));
    let agent = Agent::connect(&transport, run_key).map_err(|e| miette::miette!("{e}"))?;
    Ok(told(Box::new(agent)))
}

/// Bytes from the kernel's generator.
pub fn random<const N: usize>() -> miette::Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .into_diagnostic()
        .wrap_err("cannot take random bytes")?;
    Ok(bytes)
}
