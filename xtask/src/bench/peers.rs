//! The programs that are measured: built or found here, and started from here, always in the same way. Which of them
//! takes part in what is decided by each measurement.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, bail};
use serde_json::Value;

use crate::process::{capture, cargo};
use crate::setup;

/// A server that speaks MCP on standard input and output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Peer {
    Haft,
    Floor,
    /// The floor on the transport that the SDK offers by itself.
    PlainFloor,
    Node,
}

pub(super) const PEERS: [Peer; 4] = [Peer::Haft, Peer::Floor, Peer::PlainFloor, Peer::Node];

/// Why a peer is not there.
pub(super) const NODE_ABSENT: &str = "not installed: `cargo xtask setup`";
pub(super) const RG_ABSENT: &str = "not installed: Debian's package `ripgrep`";

/// Where everything is.
pub(super) struct Peers {
    haft: PathBuf,
    floor: PathBuf,
    /// Measures starts of commands.
    spawn: PathBuf,
    journal: PathBuf,
    snapshot: PathBuf,
    plans: PathBuf,
    python: PathBuf,
    /// Runs sessions with the scripted model.
    chats: PathBuf,
    scripted_model: PathBuf,
    tools: PathBuf,
    /// Reads pages.
    pages: PathBuf,
    /// The Python that other people's packages are installed in.
    test_python: Option<PathBuf>,
    node: Option<NodeServer>,
    /// The version that `rg` prints, if it is installed.
    rg_version: Option<String>,
    /// An empty manifest, so that none of the machine's own counts.
    manifest: PathBuf,
    state_dir: PathBuf,
}

struct NodeServer {
    node: PathBuf,
    script: PathBuf,
    version: String,
}

impl Peer {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Haft => "haft",
            Self::Floor => "floor",
            Self::PlainFloor => "floor, SDK's stdio",
            Self::Node => "Node server",
        }
    }
}

impl Peers {
    /// Builds what is ours, finds what is not, and empties the directory that all of them work in.
    pub(super) fn prepare(root: &Path, work_dir: &Path) -> anyhow::Result<Self> {
        let haft = build(root, &["--package", "haft-cli", "--bin", "haft"])?;
        let floor = build(root, &["--package", "haft-mcp", "--example", "floor"])?;
        let spawn = build(root, &["--package", "haft-sandbox", "--example", "spawn"])?;
        let journal = build(root, &["--package", "haft", "--example", "journal"])?;
        let snapshot = build(root, &["--package", "haft-snapshot", "--example", "snapshot"])?;
        let plans = build(root, &["--package", "haft-plan", "--example", "plans"])?;
        let python = build(root, &["--package", "haft-python", "--example", "warm"])?;
        let chats = build(root, &["--package", "haft-agent", "--example", "chats"])?;
        let scripted_model =
            build(root, &["--package", "haft-scripted-model", "--bin", "haft-scripted-model"])?;
        let tools = build(root, &["--package", "haft", "--example", "tool_search"])?;
        let pages = build(root, &["--package", "haft-reader", "--example", "pages"])?;
        if work_dir.exists() {
            std::fs::remove_dir_all(work_dir)
                .with_context(|| format!("cannot delete {}", work_dir.display()))?;
        }
        let state_dir = work_dir.join("state");
        std::fs::create_dir_all(&state_dir)
            .with_context(|| format!("cannot create {}", state_dir.display()))?;
        let manifest = work_dir.join("haft.toml");
        std::fs::write(&manifest, "")
            .with_context(|| format!("cannot write {}", manifest.display()))?;
        let rg_version = capture(Command::new("rg").arg("--version")).ok();
        let rg_version = rg_version.and_then(|text| text.lines().next().map(str::to_owned));
        let node = find_node(root);
        Ok(Self {
            haft,
            floor,
            spawn,
            journal,
            snapshot,
            plans,
            python,
            chats,
            scripted_model,
            tools,
            pages,
            test_python: find_test_python(root),
            node,
            rg_version,
            manifest,
            state_dir,
        })
    }

    /// Returns the command of a server for the files in `dir`, or nothing if it is not installed.
    pub(super) fn server(&self, peer: Peer, dir: &Path) -> Option<Command> {
        match peer {
            Peer::Haft => {
                let mut haft = self.haft(dir);
                haft.args(["mcp", "--allow", "bash"]);
                Some(haft)
            }
            Peer::Floor => Some(Command::new(&self.floor)),
            Peer::PlainFloor => {
                let mut floor = Command::new(&self.floor);
                floor.arg("--sdk-stdio");
                Some(floor)
            }
            Peer::Node => self.node.as_ref().map(|server| {
                let mut node = Command::new(&server.node);
                // It greets on standard error.
                node.arg(&server.script).arg(dir).stderr(Stdio::null());
                node
            }),
        }
    }

    /// Returns `haft` for the files in `dir`, cut off from the machine's own settings and state.
    pub(super) fn haft(&self, dir: &Path) -> Command {
        let mut haft = Command::new(&self.haft);
        haft.env_clear().envs(std::env::vars_os().filter(|(name, _)| name == "PATH"));
        haft.env("HOME", &self.state_dir).env("HAFT_STATE_DIR", &self.state_dir);
        haft.arg("--root").arg(dir).arg("--config").arg(&self.manifest).current_dir(dir);
        haft
    }

    /// Returns the command of a server for the files in `dir` that listens and prints its address.
    pub(super) fn http_server(&self, peer: Peer, dir: &Path) -> Option<Command> {
        match peer {
            Peer::Haft => {
                let mut haft = self.haft(dir);
                haft.args(["serve", "--no-token", "--listen", "127.0.0.1:0"]);
                Some(haft)
            }
            Peer::Floor => {
                let mut floor = Command::new(&self.floor);
                floor.arg("--http");
                Some(floor)
            }
            Peer::PlainFloor | Peer::Node => None,
        }
    }

    /// Returns `rg` that looks at what haft looks at in `dir`, or nothing if it is not installed.
    pub(super) fn rg(&self, dir: &Path) -> Option<Command> {
        self.rg_version.as_ref()?;
        let mut rg = Command::new("rg");
        rg.args(["--no-config", "--no-ignore-parent", "--no-ignore-global", "--color=never"]);
        // With anything but a device as its input it would search that.
        rg.current_dir(dir).stdin(Stdio::null());
        Some(rg)
    }

    /// Returns the versions of what is not ours.
    pub(super) fn versions(&self) -> Vec<String> {
        let node = self.node.as_ref().map(|server| format!("Node {}", server.version));
        let rg = self.rg_version.clone();
        [
            node.unwrap_or_else(|| format!("Node server {NODE_ABSENT}")),
            rg.unwrap_or_else(|| format!("rg {RG_ABSENT}")),
        ]
        .into()
    }

    /// Returns the program that measures starts of commands.
    pub(super) fn spawn_program(&self) -> &Path {
        &self.spawn
    }

    /// Returns the program that measures the journal.
    pub(super) fn journal_program(&self) -> &Path {
        &self.journal
    }

    /// Returns the program that measures records of a workspace.
    pub(super) fn snapshot_program(&self) -> &Path {
        &self.snapshot
    }

    /// Returns the program that measures plans.
    pub(super) fn plans_program(&self) -> &Path {
        &self.plans
    }

    /// Returns the program that measures Python tools.
    pub(super) fn python_program(&self) -> &Path {
        &self.python
    }

    /// Returns the program that measures sessions.
    pub(super) fn chats_program(&self) -> &Path {
        &self.chats
    }

    /// Returns the program that is a scripted model.
    pub(super) fn model_program(&self) -> &Path {
        &self.scripted_model
    }

    /// Returns the program that measures finding tools.
    pub(super) fn tools_program(&self) -> &Path {
        &self.tools
    }

    /// Returns the program that reads pages.
    pub(super) fn pages_program(&self) -> &Path {
        &self.pages
    }

    /// Returns the Python that other people's packages are installed in, if it is there.
    pub(super) fn test_python(&self) -> Option<&Path> {
        self.test_python.as_deref()
    }

    /// Returns the size of a program of ours.
    pub(super) fn binary_bytes(&self, peer: Peer) -> anyhow::Result<Option<u64>> {
        let path = match peer {
            Peer::Haft => &self.haft,
            Peer::Floor => &self.floor,
            Peer::PlainFloor | Peer::Node => return Ok(None),
        };
        let metadata =
            path.metadata().with_context(|| format!("cannot look at {}", path.display()));
        metadata.map(|metadata| Some(metadata.len()))
    }
}

/// Builds one program in release mode and returns where it is.
fn build(root: &Path, target: &[&str]) -> anyhow::Result<PathBuf> {
    eprintln!("building {}", target.join(" "));
    let mut build = cargo();
    build.current_dir(root).args(["build", "--release", "--quiet"]).args(target);
    let messages = capture(build.arg("--message-format=json-render-diagnostics"))?;
    let mut executables = messages.lines().filter_map(executable);
    match executables.next_back() {
        Some(path) => Ok(path),
        None => bail!("`cargo build {}` says of no program where it is", target.join(" ")),
    }
}

fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
}

/// Returns the official server, unless it can be neither found nor installed.
fn find_node(root: &Path) -> Option<NodeServer> {
    let clients = match setup::ensure_all(root) {
        Ok(clients) => clients,
        Err(err) => {
            eprintln!("the Node server does not take part: {err:#}");
            return None;
        }
    };
    let variables = clients.variables();
    let path = |wanted: &str| {
        let found = variables.iter().find(|(name, _)| *name == wanted);
        found.map(|(_, path)| path.to_path_buf())
    };
    let node = path("HAFT_TEST_NODE")?;
    let script = path("HAFT_TEST_NODE_FILESYSTEM_SERVER")?;
    let version = capture(Command::new(&node).arg("--version")).ok()?.trim().to_owned();
    Some(NodeServer { node, script, version })
}

/// Returns the Python of the set-up, unless it can be neither found nor installed; what is wrong is said elsewhere.
fn find_test_python(root: &Path) -> Option<PathBuf> {
    let clients = setup::ensure_all(root).ok()?;
    let variables = clients.variables();
    let found = variables.iter().find(|(name, _)| *name == "HAFT_TEST_PYTHON");
    found.map(|(_, path)| path.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_executable_is_taken_from_what_cargo_says() {
        for (message, expect) in [
            (r#"{"reason":"compiler-artifact","executable":"/there/haft"}"#, Some("/there/haft")),
            (r#"{"reason":"compiler-artifact","executable":null}"#, None),
            (r#"{"reason":"build-finished","success":true}"#, None),
            ("warning: not JSON", None),
        ] {
            assert_eq!(executable(message), expect.map(PathBuf::from), "{message}");
        }
    }
}
