//! Shared by the tests of processes: a launcher with a directory to start in, and a way to find
//! processes by a token in their arguments.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_sandbox::{
    Confinement, Launcher, Mechanisms, Network, ProcessExit, ProtectedPaths, ResourceLimits, Root,
    RuledPaths, SandboxCommand, SandboxProcess,
};
use tempfile::TempDir;

/// Maximum duration of a whole command in a test, in milliseconds.
const RUN_MS_MAX: u64 = 60_000;

/// Maximum number of checks of a condition, and the pause between them.
const LOOKS_MAX: u32 = 6_000;
const LOOK_MS: u64 = 5;

pub(crate) struct Fixture {
    pub(crate) root: Root,
    pub(crate) launcher: Launcher,
    directory: TempDir,
}

impl Fixture {
    pub(crate) const HELPER: &str = env!("CARGO_BIN_EXE_haft-sandbox-helper");

    pub(crate) fn new() -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::open(directory.path()).unwrap();
        Fixture { root, launcher: Launcher::new(Fixture::HELPER.into()), directory }
    }

    pub(crate) fn with_helper(self, helper: PathBuf) -> Fixture {
        Fixture { launcher: Launcher::new(helper), ..self }
    }

    pub(crate) fn with_control_groups(self) -> Fixture {
        Fixture { launcher: self.launcher.clone().with_control_groups(), ..self }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub(crate) fn bare_command(&self, program: &str) -> SandboxCommand {
        SandboxCommand::new(program, self.root.open_dir(Path::new("")).unwrap())
    }

    pub(crate) fn command(&self, program: &str) -> SandboxCommand {
        self.bare_command(program).env("PATH", "/usr/bin:/bin")
    }

    pub(crate) async fn start(&self, script: &str) -> SandboxProcess {
        self.launcher.spawn_unconfined(self.command("bash").args(["-c", script])).await.unwrap()
    }

    pub(crate) async fn run(&self, script: &str) -> (String, ProcessExit) {
        self.finish(self.command("bash").args(["-c", script])).await
    }

    /// Runs a command to its end and returns its whole output.
    pub(crate) async fn finish(&self, command: SandboxCommand) -> (String, ProcessExit) {
        self.drain(async || self.launcher.spawn_unconfined(command).await.unwrap()).await
    }

    /// Returns a confinement to the fixture's directory and the system's directories.
    pub(crate) fn confinement(&self) -> Confinement {
        let system = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt"];
        Confinement {
            writable: vec![self.directory.path().to_path_buf()],
            readable: system.iter().map(PathBuf::from).collect(),
            hidden: Vec::new(),
            protected: ProtectedPaths::empty(),
            ruled: RuledPaths::default(),
            home: PathBuf::from("/home/you"),
            network: Network::Loopback,
            resources: ResourceLimits::default(),
            mechanisms: Mechanisms::ALL,
        }
    }

    pub(crate) async fn start_confined(
        &self,
        confinement: &Confinement,
        script: &str,
    ) -> SandboxProcess {
        let command = self.command("bash").args(["-c", script]);
        self.launcher.spawn(command, confinement).await.unwrap()
    }

    /// Runs a script confined to its end and returns its whole output.
    pub(crate) async fn run_confined(
        &self,
        confinement: &Confinement,
        script: &str,
    ) -> (String, ProcessExit) {
        self.drain(async || self.start_confined(confinement, script).await).await
    }

    async fn drain(&self, start: impl AsyncFnOnce() -> SandboxProcess) -> (String, ProcessExit) {
        let whole = async { self.read_all(start().await).await };
        tokio::time::timeout(Duration::from_millis(RUN_MS_MAX), whole).await.expect("it hangs")
    }

    /// Waits for the end of a command and returns its whole output.
    pub(crate) async fn read_all(&self, mut process: SandboxProcess) -> (String, ProcessExit) {
        let (mut output, mut buffer) = (Vec::new(), vec![0; 65_536]);
        loop {
            match process.output.read(&mut buffer).await.unwrap() {
                0 => break,
                count => output.extend_from_slice(&buffer[..count]),
            }
        }
        (String::from_utf8(output).unwrap(), process.control.wait().await.unwrap())
    }
}

/// A number of seconds that no other process on the machine sleeps for.
pub(crate) struct Token(String);

impl Token {
    pub(crate) fn new() -> Token {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Token(format!("1000.{}{count:03}", std::process::id()))
    }

    pub(crate) fn from(text: &str) -> Token {
        Token(text.to_owned())
    }

    /// Returns how many processes have the token as an argument.
    pub(crate) fn living(&self) -> usize {
        let has_token = |entry: &std::fs::DirEntry| {
            // A process that ended meanwhile has no arguments.
            let arguments = std::fs::read(entry.path().join("cmdline")).unwrap_or_default();
            arguments.split(|byte| *byte == 0).any(|argument| argument == self.0.as_bytes())
        };
        std::fs::read_dir("/proc").unwrap().flatten().filter(has_token).count()
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Waits until a condition is true, and fails if it never is.
pub(crate) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    for _ in 0..LOOKS_MAX {
        if condition() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(LOOK_MS)).await;
    }
    panic!("waited in vain for {what}");
}
