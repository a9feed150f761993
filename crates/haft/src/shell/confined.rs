//! Starting a command under the call's confinement, serving its way to granted hosts while it runs, and saying
//! afterwards what was enforced, what it connected to and what was undone.

use std::net::TcpListener;
use std::sync::Arc;

use haft_contract::{Confined, Connection, Enforced, ErrorCode, Level, ToolError};
use haft_policy::HostScope;
use haft_sandbox::proxy::{self, Admission, Admitted, Limits, Proxy, SystemResolver};
use haft_sandbox::{
    Command, Network, PROXY_PORT, Process, Remedy, SpawnError, Undone, worktree_directories,
};

use super::CallShell;
use crate::sandbox::Confine;

/// Variables that name a directory for temporary files, of which a confined command has its own.
const TEMPORARY: &[&str] = &["TEMP", "TMP", "TMPDIR"];

/// A command that runs, and what serves it.
pub(super) struct Started {
    pub(super) process: Process,
    proxy: Option<Proxy>,
}

impl CallShell {
    /// Starts a command as confined as the call has to be.
    pub(super) async fn start(&self, mut command: Command) -> Result<Started, ToolError> {
        let parts = &self.environment.shared.parts;
        if parts.sandbox.confine == Confine::UnsafeNever {
            let process = parts.launcher.spawn_unconfined(command).await;
            return Ok(Started { process: process.map_err(|err| spawn_error(&err))?, proxy: None });
        }
        let network = if parts.allow_network {
            Network::Host
        } else if self.hosts.is_empty() {
            Network::Loopback
        } else {
            Network::Proxied
        };
        command.env.retain(|(name, _)| !TEMPORARY.iter().any(|temporary| name == temporary));
        if network == Network::Proxied {
            command.env.extend(proxy_variables());
        }
        let confinement = parts.sandbox.confinement(self.writable(), network);
        let process = parts.launcher.spawn(command, &confinement).await;
        let mut process = process.map_err(|err| spawn_error(&err))?;
        let proxy = process.take_listener().map(|listener| self.serve(listener)).transpose()?;
        Ok(Started { process, proxy })
    }

    /// Returns the directories that the command can change: the roots, and for one that is a linked worktree what git
    /// keeps of it elsewhere.
    fn writable(&self) -> Vec<std::path::PathBuf> {
        let mut directories = self.environment.shared.parts.roots.paths();
        let linked: Vec<_> = directories
            .iter()
            .filter_map(|root| worktree_directories(root).ok().flatten())
            .collect();
        for directory in linked.into_iter().map(|worktree| worktree.common_dir) {
            if !directories.iter().any(|known| directory.starts_with(known)) {
                directories.push(directory);
            }
        }
        directories
    }

    fn serve(&self, listener: TcpListener) -> Result<Proxy, ToolError> {
        let admission = Arc::new(GrantedHosts(Arc::clone(&self.hosts)));
        let resolver = Arc::new(SystemResolver);
        Proxy::serve(listener, admission, resolver, Limits::default()).map_err(|err| {
            let message = format!("the proxy to the granted hosts could not be started: {err}");
            ToolError::new(ErrorCode::SandboxUnavailable, message)
        })
    }
}

impl Started {
    /// Returns what happened around the command, after its end.
    pub(super) async fn conclude(self) -> Confined {
        let mut confined = Confined::new(enforced(&self.process.enforced()));
        confined.undone = self.process.undone().iter().map(undone).collect();
        if let Some(proxy) = self.proxy {
            let made = proxy.finish().await;
            let asked_for = made.admitted + made.refused + made.failed;
            let listed = u64::try_from(made.recorded.len()).unwrap_or(u64::MAX);
            confined.connections_unlisted = asked_for.saturating_sub(listed);
            confined.connections = made.recorded.into_iter().map(connection).collect();
        }
        confined
    }
}

/// The hosts of one call, as its proxy asks for them.
struct GrantedHosts(Arc<HostScope>);

impl Admission for GrantedHosts {
    fn admits(&self, host: &str, _port: u16) -> Admitted {
        match self.0.admits(host) {
            None => Admitted::No,
            Some(grant) if grant.as_such => Admitted::AnyAddress,
            Some(_) => Admitted::ByName,
        }
    }
}

/// Returns the variables that tell programs where the proxy is, in the spellings that are in use.
fn proxy_variables() -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
    let http = format!("http://127.0.0.1:{PROXY_PORT}");
    let socks = format!("socks5h://127.0.0.1:{PROXY_PORT}");
    let own = "localhost,127.0.0.1,::1".to_owned();
    let values =
        [("HTTP_PROXY", &http), ("HTTPS_PROXY", &http), ("ALL_PROXY", &socks), ("NO_PROXY", &own)];
    values
        .into_iter()
        .flat_map(|(name, value)| {
            [name.to_owned(), name.to_lowercase()].map(|name| (name.into(), value.into()))
        })
        // Node asks for the variables only if it is told to.
        .chain([("NODE_USE_ENV_PROXY".into(), "1".into())])
        .collect()
}

fn connection(made: proxy::Connection) -> Connection {
    let (admitted, detail) = match made.outcome {
        proxy::Outcome::Admitted { address } => (true, address.to_string()),
        proxy::Outcome::Refused { reason } | proxy::Outcome::Failed { reason } => (false, reason),
    };
    Connection { host: made.host, port: made.port, admitted, detail }
}

fn undone(undone: &Undone) -> String {
    let Undone { path, pattern, how } = undone;
    let path = path.display();
    let became = match how {
        Remedy::Quarantined(place) => format!("was moved to {}", place.display()),
        Remedy::Restored => "is as it was before the command".to_owned(),
        Remedy::Removed => "was removed".to_owned(),
        Remedy::Failed(why) => format!("could not be put right, {why}: check it before you go on"),
    };
    format!("{path} is protected by {pattern:?} and {became}")
}

fn spawn_error(err: &SpawnError) -> ToolError {
    match err {
        SpawnError::Unenforceable { .. } => {
            let message = format!(
                "{err}; see haft doctor for what is missing, or run haft with --unsafe-no-sandbox to do without"
            );
            ToolError::new(ErrorCode::SandboxUnavailable, message)
        }
        err => ToolError::new(ErrorCode::ProcessSpawnFailed, err.to_string()),
    }
}

fn enforced(from: &haft_sandbox::Enforced) -> Enforced {
    let level = |level: haft_sandbox::Level| match level {
        haft_sandbox::Level::Kernel => Level::Kernel,
        haft_sandbox::Level::Cooperative => Level::Cooperative,
        haft_sandbox::Level::None => Level::None,
    };
    Enforced {
        filesystem: level(from.filesystem),
        network: level(from.network),
        processes: level(from.processes),
        system_calls: level(from.system_calls),
        resources: level(from.resources),
    }
}
