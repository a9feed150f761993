//! The programs that are measured: built or found here, and started from here, always in the same way. Which of them
//! takes part in what is decided by each measurement.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Context as _;
use serde_json::Value;

use crate::process::{capture, cargo};
use crate::{files, setup};

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
    /// The programs that haft starts beside itself.
    companions: [PathBuf; 2],
    floor: PathBuf,
    /// Measures starts of commands.
    pub(super) spawn: PathBuf,
    pub(super) journal: PathBuf,
    /// Measures records of a workspace.
    pub(super) snapshot: PathBuf,
    pub(super) plans: PathBuf,
    /// Measures Python tools.
    pub(super) python: PathBuf,
    /// Runs sessions with the scripted model.
    pub(super) chats: PathBuf,
    pub(super) scripted_model: PathBuf,
    /// Measures finding tools.
    pub(super) tools: PathBuf,
    /// Reads pages.
    pub(super) pages: PathBuf,
    /// The Python that other people's packages are installed in.
    pub(super) test_python: Option<PathBuf>,
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
        files::remove_dir(work_dir)?;
        let (state_dir, manifest) = (work_dir.join("state"), work_dir.join("haft.toml"));
        files::create_dir(&state_dir)?;
        files::write(&manifest, "")?;
        let clients = setup::ensure_all(root)
            .inspect_err(|err| eprintln!("the Node server does not take part: {err:#}"));
        let mut client_paths = clients.into_iter().flatten();
        // The variables come in this order.
        let mut client =
            |wanted| client_paths.find(|(name, _)| *name == wanted).map(|(_, path)| path);
        let test_python = client("HAFT_TEST_PYTHON");
        let node = client("HAFT_TEST_NODE").zip(client("HAFT_TEST_NODE_FILESYSTEM_SERVER"));
        let node = node.and_then(|(node, script)| {
            let version = capture(Command::new(&node).arg("--version")).ok()?.trim().to_owned();
            Some(NodeServer { node, script, version })
        });
        let rg_version = capture(Command::new("rg").arg("--version")).ok();
        Ok(Self {
            haft: build(root, "haft-cli", "--bin", "haft")?,
            companions: [
                build(root, "haft-cli", "--bin", "haft-agent")?,
                build(root, "haft-cli", "--bin", "haft-reader")?,
            ],
            floor: build(root, "haft-mcp", "--example", "floor")?,
            spawn: build(root, "haft-sandbox", "--example", "spawn")?,
            journal: build(root, "haft", "--example", "journal")?,
            snapshot: build(root, "haft-snapshot", "--example", "snapshot")?,
            plans: build(root, "haft-plan", "--example", "plans")?,
            python: build(root, "haft-python", "--example", "warm")?,
            chats: build(root, "haft-agent", "--example", "chats")?,
            scripted_model: build(root, "haft-scripted-model", "--bin", "haft-scripted-model")?,
            tools: build(root, "haft", "--example", "tool_search")?,
            pages: build(root, "haft-reader", "--example", "pages")?,
            test_python,
            node,
            rg_version: rg_version.and_then(|text| text.lines().next().map(str::to_owned)),
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
        haft.env("HAFT_CONFIG", &self.manifest).arg("--root").arg(dir).current_dir(dir);
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

    /// Returns the programs that are installed together.
    pub(super) fn programs(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.haft).chain(&self.companions).map(PathBuf::as_path)
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
fn build(root: &Path, package: &str, kind: &str, name: &str) -> anyhow::Result<PathBuf> {
    let target = ["--package", package, kind, name];
    eprintln!("building {}", target.join(" "));
    let mut build = cargo();
    build.current_dir(root).args(["build", "--release", "--quiet"]).args(target);
    let messages = capture(build.arg("--message-format=json-render-diagnostics"))?;
    let executable = messages.lines().filter_map(executable).next_back();
    executable.with_context(|| {
        format!("`cargo build {}` says of no program where it is", target.join(" "))
    })
}

fn executable(message: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    message.get("executable")?.as_str().map(PathBuf::from)
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
