//! A PostgreSQL server and a Temporal server for one test, on files that survive their death. Both end with the thread that
//! started them. A machine without their programs fails the tests; nothing is skipped.

use std::ffi::OsString;
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The longest time until a server answers.
const READY_MAX: Duration = Duration::from_secs(60);

/// A server that can be killed and started again.
pub(crate) struct Server {
    command: Vec<OsString>,
    log: PathBuf,
    port: u16,
    /// The directory of a server that refuses to work for root.
    owned: Option<PathBuf>,
    process: Option<Child>,
}

impl Server {
    /// Starts PostgreSQL with an empty database, whose files lie in a new directory below `world`.
    pub(crate) fn postgres(world: &Path) -> Self {
        let (directory, port) = (world.join("postgres"), free_port());
        fs::create_dir(&directory).unwrap();
        run(&mut tied(
            Some(&directory),
            [program("HAFT_TEST_POSTGRES", "initdb").into_os_string()]
                .into_iter()
                .chain(
                    [
                        "--auth=trust",
                        "--username=haft",
                        "--encoding=UTF8",
                        "--no-locale",
                        "--no-sync",
                    ]
                    .map(Into::into),
                )
                .chain(["--pgdata".into(), directory.join("data").into()])
                .collect(),
        ));
        let settings = format!(
            "listen_addresses = '127.0.0.1'\nport = {port}\nunix_socket_directories = ''\nfsync = off\nmax_connections = 100\n"
        );
        fs::write(directory.join("data/postgresql.auto.conf"), settings).unwrap();
        let command = vec![
            program("HAFT_TEST_POSTGRES", "postgres").into(),
            "-D".into(),
            directory.join("data").into(),
        ];
        let log = world.join("postgres.log");
        let mut server = Self { command, log, port, owned: Some(directory), process: None };
        server.start();
        server
    }

    /// Starts Temporal, whose database is a file below `world`.
    pub(crate) fn temporal(world: &Path) -> Self {
        let port = free_port();
        let program = std::env::var_os("HAFT_TEST_TEMPORAL").map(PathBuf::from).expect(
            "HAFT_TEST_TEMPORAL names no program temporal: `cargo xtask fleet` installs it",
        );
        let mut command: Vec<OsString> = vec![program.into()];
        command.extend(
            [
                "server",
                "start-dev",
                "--headless",
                "--log-level",
                "error",
                "--ip",
                "127.0.0.1",
                "--port",
            ]
            .map(Into::into),
        );
        command.extend([
            port.to_string().into(),
            "--db-filename".into(),
            world.join("temporal.db").into(),
        ]);
        let log = world.join("temporal.log");
        let mut server = Self { command, log, port, owned: None, process: None };
        server.start();
        server
    }

    /// Returns where the server listens.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Kills the server, starts it again and waits until it answers.
    pub(crate) fn crash(&mut self) {
        let mut process = self.process.take().unwrap();
        // The processes of PostgreSQL that serve clients notice the death of the first one and end.
        process.kill().unwrap();
        process.wait().unwrap();
        self.start();
    }

    fn start(&mut self) {
        let until = Instant::now() + READY_MAX;
        loop {
            let log = fs::OpenOptions::new().create(true).append(true).open(&self.log).unwrap();
            let mut command = tied(self.owned.as_deref(), self.command.clone());
            command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
            let mut process = command.spawn().unwrap();
            while process.try_wait().unwrap().is_none() {
                if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                    self.process = Some(process);
                    return;
                }
                assert!(
                    Instant::now() < until,
                    "{:?} does not answer: {:?}",
                    self.command,
                    fs::read_to_string(&self.log)
                );
                std::thread::sleep(Duration::from_millis(20));
            }
            // The processes of a killed server hold its files for a moment.
            assert!(
                Instant::now() < until,
                "{:?} ended: {:?}",
                self.command,
                fs::read_to_string(&self.log)
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

/// Returns a command that ends with this thread. PostgreSQL refuses to work for root, so another user runs it and has its files.
fn tied(owned: Option<&Path>, command: Vec<OsString>) -> Command {
    let mut tied = Command::new("setpriv");
    tied.arg("--pdeathsig=KILL").current_dir("/").env("LC_ALL", "C");
    if let Some(directory) = owned
        && run(Command::new("id").arg("-u")).trim() == "0"
    {
        run(Command::new("chown").args(["-R", "nobody:nogroup"]).arg(directory));
        fs::set_permissions(directory, PermissionsExt::from_mode(0o700)).unwrap();
        tied.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
    }
    tied.args(command);
    tied
}

/// Returns the path of a program in the directory that a variable names, or in that of Debian.
fn program(variable: &str, name: &str) -> PathBuf {
    let named = std::env::var_os(variable).map(PathBuf::from);
    let installed = || {
        let versions = fs::read_dir("/usr/lib/postgresql").ok()?;
        versions.filter_map(|version| Some(version.ok()?.path().join("bin"))).max()
    };
    let path = named.or_else(installed).map(|directory| directory.join(name));
    path.filter(|path| path.is_file())
        .unwrap_or_else(|| panic!("there is no {name} here: `cargo xtask fleet` installs it"))
}

/// Returns a port that the kernel gives to no program that asks for any port.
fn free_port() -> u16 {
    use std::hash::{BuildHasher, Hasher, RandomState};
    let random = || RandomState::new().build_hasher().finish();
    let any = || 10_000 + u16::try_from(random() % 20_000).unwrap();
    std::iter::repeat_with(any)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

/// Runs a command that must succeed and returns what it printed.
pub(crate) fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|err| panic!("{command:?}: {err}"));
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {error}");
    String::from_utf8(output.stdout).unwrap()
}
