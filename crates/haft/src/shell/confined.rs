//! Starts a process under confinement, and serves its connections to granted hosts while it runs. Then it reports the
//! enforcement, the connections and the reverted changes. The caller decides what the process may reach.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{
    ConfinementLevel, ConfinementReport, EnforcedConfinement, ErrorCode, OutboundConnection,
    ToolError,
};
use haft_policy::{DirectoryTrees, HostScope};
use haft_sandbox::proxy::{
    self, EgressDecision, EgressPolicy, Proxy, ProxyConnections, ProxyLimits, SystemHostResolver,
};
use haft_sandbox::{
    Confinement, Launcher, Network, PROXY_PORT, RevertResult, RevertedChange, SandboxCommand,
    SandboxProcess, SpawnError, worktree_directories,
};

use super::CallShell;
use crate::sandbox::{ConfineMode, DeniedPaths, Sandbox};

/// Variables that name a directory for temporary files, of which a confined command has its own.
const TEMPORARY: &[&str] = &["TEMP", "TMP", "TMPDIR"];
/// The web ports, which are the ports of a host that is granted by name. Other ports serve mail, shells and databases,
/// which a person who grants a host does not expect.
const PORTS: &[u16] = &[80, 443];

/// The access and the resources of one process, beyond those of all processes.
pub(crate) struct ProcessBounds {
    /// Directories that it can change.
    pub(crate) writable: Vec<PathBuf>,
    /// Directories and files that it can read.
    pub(crate) readable: Vec<PathBuf>,
    /// The outputs of its connection that were too long for an answer, which it can read: files, and their directory.
    pub(crate) outputs: Vec<PathBuf>,
    /// The network that it sees.
    pub(crate) network: Network,
    /// The hosts that its proxy admits, if it has one.
    pub(crate) hosts: Arc<HostScope>,
    /// The paths that rules keep from it.
    pub(crate) denied: Option<Arc<DeniedPaths>>,
    /// The memory limit in bytes, if it is below the configured limit.
    pub(crate) memory_bytes: Option<u64>,
}

/// A process that runs, and what serves it.
pub(crate) struct StartedProcess {
    /// The process.
    pub(crate) process: SandboxProcess,
    /// The proxy to its granted hosts, if it has one.
    pub(crate) proxy: Option<Proxy>,
    /// The paths that rules keep from it.
    pub(crate) denied: Option<Arc<DeniedPaths>>,
}

/// Starts a process, confined unless the operator wants none to be.
pub(crate) async fn start_process(
    launcher: &Launcher,
    sandbox: &Sandbox,
    mut command: SandboxCommand,
    bounds: ProcessBounds,
) -> Result<StartedProcess, ToolError> {
    if sandbox.confine == ConfineMode::UnsafeNever {
        let process = launcher.spawn_unconfined(command).await;
        let process = process.map_err(|err| spawn_error(&err))?;
        return Ok(StartedProcess { process, proxy: None, denied: None });
    }
    command.env.retain(|(name, _)| !TEMPORARY.iter().any(|temporary| name == temporary));
    if bounds.network == Network::Proxied {
        let http = format!("http://127.0.0.1:{PROXY_PORT}");
        let socks = format!("socks5h://127.0.0.1:{PROXY_PORT}");
        // Names of this machine mean the command's own servers, unless they were granted. Then they mean the machine's.
        let mut own = vec!["localhost", "127.0.0.1", "::1"];
        own.retain(|host| bounds.hosts.admits(host).is_none());
        let own = own.join(",");
        let values = [
            ("HTTP_PROXY", &http),
            ("HTTPS_PROXY", &http),
            ("ALL_PROXY", &socks),
            ("NO_PROXY", &own),
        ];
        // Programs differ in the spelling that they read.
        for (name, value) in values {
            command.env.push((name.into(), value.into()));
            command.env.push((name.to_lowercase().into(), value.into()));
        }
        // Node asks for the variables only if it is told to.
        command.env.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
    }
    let memory_bytes = bounds.memory_bytes(sandbox);
    let mut confinement = sandbox.confinement(bounds.writable, bounds.network);
    confinement.readable.extend(bounds.readable);
    for output in bounds.outputs {
        show_output(&mut confinement, output);
    }
    confinement.resources.memory_bytes = memory_bytes;
    if let Some(denied) = &bounds.denied {
        confinement.ruled = denied.ruled_paths();
        confinement.hidden.extend(denied.outside());
    }
    let process = launcher.spawn(command, &confinement).await;
    let mut process = process.map_err(|err| spawn_error(&err))?;
    let serve = |listener| {
        let admission = Arc::new(GrantedHosts(bounds.hosts));
        let resolver = Arc::new(SystemHostResolver);
        let upstream = sandbox.upstream.clone();
        let limits = ProxyLimits::default();
        Proxy::serve_through(listener, admission, resolver, limits, upstream).map_err(|err| {
            let message = format!("the proxy to the granted hosts could not be started: {err}");
            ToolError::new(ErrorCode::SandboxUnavailable, message)
        })
    };
    let proxy = process.listener.take().map(serve).transpose()?;
    Ok(StartedProcess { process, proxy, denied: bounds.denied })
}

/// Lets a process read a file or directory in a place that is hidden from it. A place that no grant contains does not exist for the
/// process, so it needs no cover then. If a grant contains it, it stays hidden with all that is in it.
fn show_output(confinement: &mut Confinement, output: PathBuf) {
    let Confinement { readable, writable, hidden, .. } = confinement;
    let is_around = |place: &PathBuf| output.starts_with(place);
    let is_granted = |place: &PathBuf| {
        readable.iter().chain(&*writable).any(|granted| place.starts_with(granted))
    };
    if hidden.iter().any(|place| is_around(place) && is_granted(place)) {
        return;
    }
    hidden.retain(|place| !is_around(place));
    readable.push(output);
}

impl CallShell {
    /// Starts a command as confined as the call has to be.
    pub(super) async fn start(
        &self,
        command: SandboxCommand,
        trees: &DirectoryTrees,
    ) -> Result<StartedProcess, ToolError> {
        let parts = &self.connection.shared.parts;
        let network = if parts.allow_network && self.hosts.is_unrestricted() {
            Network::Host
        } else if self.hosts.is_empty() {
            Network::Loopback
        } else {
            Network::Proxied
        };
        let only_read = if self.changes_files { [].as_slice() } else { &trees.writable };
        // An answer that was cut names its sidecar, for commands too.
        let outputs = match self.reads_sidecars {
            true => self.connection.sidecars.readable_paths(),
            false => Vec::new(),
        };
        let bounds = ProcessBounds {
            writable: self.writable(trees),
            readable: [trees.readable.as_slice(), only_read, self.outside.readable.as_slice()]
                .into_iter()
                .chain((!self.changes_files).then_some(self.outside.writable.as_slice()))
                .flatten()
                .cloned()
                .collect(),
            outputs,
            network,
            hosts: Arc::clone(&self.hosts),
            denied: self.denied.clone(),
            memory_bytes: None,
        };
        start_process(&parts.launcher, &parts.sandbox, command, bounds).await
    }

    /// Returns the directories that the command can change: the allowed part of the roots, and for a linked worktree the
    /// directory of its repository.
    pub(super) fn writable(&self, trees: &DirectoryTrees) -> Vec<PathBuf> {
        if !self.changes_files {
            return Vec::new();
        }
        let mut directories = trees.writable.clone();
        directories.extend_from_slice(&self.outside.writable);
        // Only the file in a root counts, because the operator chose the root. Tools can write files further down.
        let roots = self.connection.shared.parts.roots.paths();
        let linked: Vec<_> = roots
            .iter()
            .filter(|root| trees.writable.contains(root))
            .filter_map(|root| worktree_directories(root).ok().flatten())
            .collect();
        for directory in linked.into_iter().map(|worktree| worktree.common_dir) {
            if !directories.iter().any(|known| directory.starts_with(known)) {
                directories.push(directory);
            }
        }
        directories
    }
}

impl ProcessBounds {
    /// Returns the memory limit of the process in bytes, which is never above the configured limit.
    pub(crate) fn memory_bytes(&self, sandbox: &Sandbox) -> u64 {
        let configured = sandbox.resources.memory_bytes;
        self.memory_bytes.map_or(configured, |asked| asked.min(configured))
    }
}

impl StartedProcess {
    /// Returns the report about the confinement of the process, after its end.
    pub(super) async fn finish(self) -> ConfinementReport {
        let connections = match self.proxy {
            Some(proxy) => Some(proxy.finish().await),
            None => None,
        };
        let control = &self.process.control;
        let mut report =
            confined_report(&self.process.enforcement, control.reverted_changes(), connections);
        if let Some(denied) = &self.denied {
            denied.report(&self.process.denied, &mut report);
            denied.report_appeared(control.appeared_paths(), &mut report);
        }
        report
    }
}

/// Returns the report about the confinement of a process, its reverted changes and its connections.
pub(crate) fn confined_report(
    in_force: &haft_sandbox::Enforcement,
    put_right: &[RevertedChange],
    connections: Option<ProxyConnections>,
) -> ConfinementReport {
    let level = |level: haft_sandbox::EnforcementLevel| match level {
        haft_sandbox::EnforcementLevel::Kernel => ConfinementLevel::Kernel,
        haft_sandbox::EnforcementLevel::Cooperative => ConfinementLevel::Cooperative,
        haft_sandbox::EnforcementLevel::None => ConfinementLevel::None,
    };
    let mut confined = ConfinementReport::new(EnforcedConfinement {
        filesystem: level(in_force.filesystem),
        network: level(in_force.network),
        processes: level(in_force.processes),
        system_calls: level(in_force.system_calls),
        resources: level(in_force.resources),
    });
    confined.undone = put_right.iter().map(protected_change_text).collect();
    if let Some(made) = connections {
        let asked_for = made.admitted + made.refused + made.failed;
        let listed = u64::try_from(made.recorded.len()).unwrap_or(u64::MAX);
        confined.connections_unlisted = asked_for.saturating_sub(listed);
        let outbound = |made: proxy::ProxyConnection| {
            let (admitted, detail) = match made.outcome {
                proxy::ProxyOutcome::Admitted { address } => (true, address.to_string()),
                proxy::ProxyOutcome::Refused { reason }
                | proxy::ProxyOutcome::Failed { reason } => (false, reason),
            };
            OutboundConnection { host: made.host, port: made.port, admitted, detail }
        };
        confined.connections = made.recorded.into_iter().map(outbound).collect();
    }
    confined
}

/// The hosts of one call, as its proxy asks for them.
pub(crate) struct GrantedHosts(pub(crate) Arc<HostScope>);

impl EgressPolicy for GrantedHosts {
    fn admits(&self, host: &str, port: u16) -> EgressDecision {
        match self.0.admits(host) {
            None => EgressDecision::No,
            Some(grant) if grant.allows_private_addresses => EgressDecision::AnyAddress,
            Some(_) if PORTS.contains(&port) => EgressDecision::ByName,
            Some(_) => EgressDecision::OtherPorts(PORTS),
        }
    }

    fn admits_address(&self, host: &str, address: IpAddr) -> bool {
        self.0.admits_address(host, address)
    }
}

/// Returns one sentence about a change at a protected path and its result.
pub(crate) fn protected_change_text(undone: &RevertedChange) -> String {
    let RevertedChange { path, pattern, result: how } = undone;
    let path = path.display();
    let became = match how {
        RevertResult::Quarantined(place) => format!("was moved to {}", place.display()),
        RevertResult::Restored => "is as it was before the command".to_owned(),
        RevertResult::Removed => "was removed".to_owned(),
        RevertResult::Failed(why) => {
            format!("could not be put right, {why}: check it before you go on")
        }
    };
    if pattern.is_empty() {
        return format!(
            "{path} could not be searched for protected paths, because it is beyond a limit, and {became}"
        );
    }
    format!("{path} is protected by {pattern:?} and {became}")
}

/// Returns the error of a process that did not start. It says so if the kernel cannot confine the process.
fn spawn_error(err: &SpawnError) -> ToolError {
    match err {
        SpawnError::Unenforceable { .. } => {
            let message = format!(
                "{err}; the command was not started, because commands run only as confined as they have to be"
            );
            ToolError::new(ErrorCode::SandboxUnavailable, message)
        }
        err => ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::{NetRequirement, PatternVariables, RequirementSet, ToolId};
    use haft_policy::{Capabilities, Conditions, RuleSet};

    use super::*;

    fn granted(hosts: &[&str]) -> GrantedHosts {
        let variables = PatternVariables::default();
        let capabilities = |hosts: &[&str]| {
            let hosts = hosts.iter().map(|&host| host.to_owned()).collect();
            let net = NetRequirement { hosts };
            let requires = RequirementSet { net, ..RequirementSet::default() };
            Capabilities::compile(&requires, &variables).unwrap()
        };
        let rules = RuleSet::compile([], &variables, Conditions::default()).unwrap();
        let bash = ToolId::parse("bash").unwrap();
        let scope = HostScope::of_commands(&bash, &capabilities(&[]), &capabilities(hosts), &rules);
        GrantedHosts(Arc::new(scope))
    }

    #[test]
    fn a_host_by_name_is_granted_at_the_ports_of_the_web() {
        let granted = granted(&["*.example.org", "localhost", "10.0.0.1"]);
        let check = |host: &str, port: u16, expect: EgressDecision| {
            assert_eq!(granted.admits(host, port), expect, "{host}:{port}");
        };
        check("a.example.org", 443, EgressDecision::ByName);
        check("a.example.org", 80, EgressDecision::ByName);
        check("a.example.org", 22, EgressDecision::OtherPorts(PORTS));
        check("a.example.org", 8080, EgressDecision::OtherPorts(PORTS));
        check("localhost", 5432, EgressDecision::AnyAddress);
        check("10.0.0.1", 5432, EgressDecision::AnyAddress);
        check("example.com", 22, EgressDecision::No);
        check("example.com", 443, EgressDecision::No);
    }
}
