//! A home of one user, with copies of the packages that the user may read, and the ways to use haft there.

use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_clients::client;

/// A user who is not root and owns no files of the machine.
const OTHER_USER: u32 = 65_534;

const NOTEBOOK: &str =
    r##"{"nbformat": 4, "cells": [{"cell_type": "markdown", "source": ["# Sales"]}]}"##;

/// Returns the directory of the packages.
pub(crate) fn packages() -> PathBuf {
    let packages = std::env::var_os("HAFT_TEST_PACKAGES");
    packages.expect("run `cargo xtask test packages`, which makes the packages").into()
}

/// Returns the directory of the programs that install packages.
pub(crate) fn tools() -> PathBuf {
    client("HAFT_TEST_PACKAGE_TOOLS")
}

/// Runs a command, which must succeed, and returns its standard output.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output();
    let output = output.unwrap_or_else(|err| panic!("{command:?}: {err}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}: {}\n{stdout}\n{stderr}", output.status);
    stdout
}

/// The place of one user.
pub(crate) struct PackageStage {
    directory: TempDir,
    /// The user, unless it is the one who runs the tests.
    user: Option<u32>,
}

impl PackageStage {
    /// Returns the place of the user who runs the tests.
    pub(crate) fn new() -> Self {
        Self::of(None)
    }

    /// Returns a place for each user as which packages can be tried here.
    pub(crate) fn for_each_user() -> Vec<Self> {
        let other = is_root().then(|| Self::of(Some(OTHER_USER)));
        std::iter::once(Self::new()).chain(other).collect()
    }

    fn of(user: Option<u32>) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let stage = Self { directory, user };
        for name in ["home", "work", "packages"] {
            std::fs::create_dir(stage.path(name)).unwrap();
        }
        std::fs::write(stage.path("work/a.ipynb"), NOTEBOOK).unwrap();
        for name in ["", "home", "work", "work/a.ipynb", "packages"] {
            chown(stage.path(name), user, user).unwrap();
        }
        stage
    }

    /// Returns a path of this place.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        let directory = self.directory.path().canonicalize().unwrap();
        if relative.is_empty() { directory } else { directory.join(relative) }
    }

    pub(crate) fn home(&self) -> PathBuf {
        self.path("home")
    }

    /// Returns the user's copy of the package whose name ends so on this processor.
    pub(crate) fn package(&self, on_x86_64: &str, on_aarch64: &str) -> PathBuf {
        let end = if cfg!(target_arch = "x86_64") { on_x86_64 } else { on_aarch64 };
        let found = std::fs::read_dir(packages()).unwrap().map(|entry| entry.unwrap().path());
        let found: Vec<PathBuf> =
            found.filter(|path| path.to_string_lossy().ends_with(end)).collect();
        let [package] = found.as_slice() else { panic!("{end}: {found:?}") };
        self.copy(package)
    }

    /// Copies a file, with its mode, and returns the user's copy.
    pub(crate) fn copy(&self, file: &Path) -> PathBuf {
        let copy = self.path("packages").join(file.file_name().unwrap());
        std::fs::copy(file, &copy).unwrap_or_else(|err| panic!("{}: {err}", file.display()));
        chown(&copy, self.user, self.user).unwrap();
        copy
    }

    /// Returns a command of the user, in the user's working directory and without the environment of the tests.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = match self.user {
            None => Command::new(program),
            Some(user) => {
                let mut command = Command::new("setpriv");
                let (user, group) = (format!("--reuid={user}"), format!("--regid={user}"));
                command.args([&user, &group, "--clear-groups", "--"]).arg(program);
                command
            }
        };
        command.current_dir(self.path("work")).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin");
        command.env("HOME", self.home()).env("TZ", "UTC").env("LANG", "C.UTF-8");
        command
    }

    /// Makes calls with an installed haft that need each of the three programs.
    pub(crate) fn use_haft(&self, haft: &Path) {
        self.use_haft_with(|| self.command(haft));
    }

    /// Makes calls that need each of the three programs. `haft` returns a new command that starts haft.
    pub(crate) fn use_haft_with(&self, haft: impl Fn() -> Command) {
        let version = run(haft().arg("--version"));
        assert_eq!(version, concat!("haft ", env!("CARGO_PKG_VERSION"), "\n"));
        // haft executes itself again to confine a command.
        let answer = call(haft(), "bash", &json!({"cmd": "echo \"$((6 * 7))\""}));
        assert_eq!(answer["data"]["output"], "42\n", "{answer}");
        assert_eq!(answer["metadata"]["enforced"]["filesystem"], "kernel", "{answer}");
        // haft-reader turns the notebook into text.
        let answer = call(haft(), "view", &json!({"path": "a.ipynb"}));
        assert!(answer.to_string().contains("# Sales"), "{answer}");
        // haft-agent speaks with editors.
        let answer = self.initialize_acp(haft());
        assert_eq!(answer["result"]["protocolVersion"], 1, "{answer}");
    }

    fn initialize_acp(&self, mut haft: Command) -> Value {
        let request = json!({
            "jsonrpc": "2.0", "id": 0, "method": "initialize",
            "params": {"protocolVersion": 1, "clientCapabilities": {}},
        });
        haft.arg("acp").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = haft.spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        writeln!(input, "{request}").unwrap();
        drop(input);
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let line = text.lines().next();
        let line = line
            .unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&output.stderr)));
        serde_json::from_str(line).unwrap()
    }
}

/// Returns the envelope of a call.
fn call(mut haft: Command, tool: &str, input: &Value) -> Value {
    let text = run(haft.args(["call", "--json", tool]).arg(input.to_string()));
    serde_json::from_str(&text).unwrap_or_else(|err| panic!("{err}: {text}"))
}

/// Returns whether root runs the tests.
pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").unwrap().uid() == 0
}

/// A directory that is served as static files, as a registry serves its index.
pub(crate) struct ServedDirectory {
    server: std::process::Child,
    pub(crate) address: String,
}

impl ServedDirectory {
    pub(crate) fn new(directory: &Path) -> Self {
        use std::io::BufRead as _;
        let mut python = Command::new(client("HAFT_TEST_PYTHON"));
        python.args(["-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "--directory"]);
        python.arg(directory).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = python.spawn().unwrap();
        let mut line = String::new();
        std::io::BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
        // Serving HTTP on 127.0.0.1 port 40211 (http://127.0.0.1:40211/) ...
        let address = line.split(['(', ')']).nth(1).unwrap_or_else(|| panic!("{line}"));
        Self { server, address: address.trim_end_matches('/').to_owned() }
    }
}

impl Drop for ServedDirectory {
    fn drop(&mut self) {
        // A server that ended already is no failure.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
