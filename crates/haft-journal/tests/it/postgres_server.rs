//! A PostgreSQL server for one test, or for all tests of one process that only want a database of their own. Its files lie
//! in a directory for temporary files and go with the process that started it, however that ends. A machine without
//! the server's programs fails these tests; nothing is skipped.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, OnceLock};

use haft_journal::{Journal, PostgresJournal};

/// Starts and ends the server on orders. When the orders end, it ends the server and removes its files.
const GUARDIAN: &str = r#"
directory=$1; shift
while read -r order; do
    case $order in
        start) "$@" </dev/null & server=$! ;;
        crash) kill -QUIT "$server"; wait "$server"; echo 'the server is down' >&2 ;;
    esac
done
kill -QUIT "$server"; wait "$server"; rm -rf "$directory"
"#;

/// The settings of a server beside its files and ports. It has little memory, and does not wait for the disk: rows
/// survive the death of its processes without that.
const SETTINGS: &str = "\
listen_addresses = '127.0.0.1'
fsync = off
shared_buffers = 16MB
max_connections = 60
autovacuum = off
log_min_messages = log
";

/// A running server.
pub(crate) struct Server {
    port: u16,
    orders: Mutex<ChildStdin>,
    told: Mutex<Receiver<String>>,
    guardian: Child,
    databases: AtomicU32,
}

impl Server {
    /// Returns the server that all tests of this process share.
    pub(crate) fn shared() -> &'static Self {
        static SERVER: OnceLock<Server> = OnceLock::new();
        SERVER.get_or_init(|| Self::start(""))
    }

    /// Starts a server with more settings, one a line.
    pub(crate) fn start(settings: &str) -> Self {
        Self::start_with(settings, |_| {})
    }

    /// Starts a server in whose directory something was put first.
    pub(crate) fn start_with(settings: &str, prepare: impl FnOnce(&Path)) -> Self {
        let directory = tempfile::Builder::new().prefix("haft-postgres-").tempdir().unwrap();
        let data = directory.path().join("data");
        copy(&template(), &data);
        let port = free_port();
        let ours = format!(
            "{SETTINGS}port = {port}\nunix_socket_directories = '{}'\n{settings}\n",
            directory.path().display()
        );
        std::fs::write(data.join("postgresql.auto.conf"), ours).unwrap();
        prepare(&data);
        give_away(directory.path());

        let mut server = vec![program("postgres").into_os_string(), "-D".into(), data.into()];
        server.splice(0..0, as_user());
        let mut guardian = Command::new("sh")
            .args(["-c", GUARDIAN, "guardian"])
            .arg(directory.keep())
            .args(server)
            .current_dir("/")
            .env("LC_ALL", "C")
            // A signal from the terminal ends the tests. It must not end the guardian before it has tidied up.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (lines, told) = channel();
        let stderr = BufReader::new(guardian.stderr.take().unwrap());
        // Reads until the log is closed: a server whose log is full stands still.
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        let server = Self {
            port,
            orders: Mutex::new(guardian.stdin.take().unwrap()),
            told: Mutex::new(told),
            guardian,
            databases: AtomicU32::new(0),
        };
        server.order("start", "ready to accept connections");
        server
    }

    /// Ends all processes of the server at once, as a crash does.
    pub(crate) fn crash(&self) {
        self.order("crash", "the server is down");
    }

    /// Starts the server again.
    pub(crate) fn restart(&self) {
        self.order("start", "ready to accept connections");
    }

    /// Gives an order and waits until the answer was told.
    fn order(&self, order: &str, answer: &str) {
        writeln!(self.orders.lock().unwrap(), "{order}").unwrap();
        let mut told = Vec::new();
        for line in self.told.lock().unwrap().iter() {
            let is_answer = line.contains(answer);
            told.push(line);
            if is_answer {
                return;
            }
        }
        panic!("the server did not {order}:\n{}", told.join("\n"));
    }

    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Creates a database and returns its name.
    pub(crate) fn database(&self) -> String {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.ask("postgres", &format!("CREATE DATABASE {name}"));
        name
    }

    /// Creates a database and returns the URL of it.
    pub(crate) fn url(&self) -> String {
        self.url_of(&self.database())
    }

    pub(crate) fn url_of(&self, database: &str) -> String {
        format!("postgres://haft@127.0.0.1:{}/{database}", self.port)
    }

    /// Executes statements and returns the rows, one a line, columns apart by `|`.
    pub(crate) fn ask(&self, database: &str, statements: &str) -> String {
        let output = self.psql(database, statements).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Begins to execute statements.
    pub(crate) fn begin(&self, database: &str, statements: &str) -> Child {
        self.psql(database, statements).stdout(Stdio::null()).spawn().unwrap()
    }

    fn psql(&self, database: &str, statements: &str) -> Command {
        let mut command = Command::new(program("psql"));
        command
            .args(["--no-psqlrc", "--quiet", "--tuples-only", "--no-align"])
            .args(["--set", "ON_ERROR_STOP=1"])
            .args([&self.url_of(database), "--command", statements]);
        command
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Closing this ends the orders.
        let orders = std::mem::replace(self.orders.get_mut().unwrap(), no_orders());
        drop(orders);
        self.guardian.wait().unwrap();
    }
}

/// Returns a port for a server that goes away and comes back. The kernel gives it to no program that asks for any port, to
/// listen or to connect. A client that knocks at a closed port of that range may even reach itself.
fn free_port() -> u16 {
    const FIRST: u16 = 1024;
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
    let given: u16 = range.split_whitespace().next().unwrap().parse().unwrap();
    assert!(given > FIRST, "the kernel gives away every port");
    let any = || FIRST + u16::try_from(random() % u64::from(given - FIRST)).unwrap();
    std::iter::repeat_with(any)
        .find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok())
        .unwrap()
}

fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

/// Returns the beginning of a pipe that leads nowhere.
fn no_orders() -> ChildStdin {
    let mut nothing = Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let stdin = nothing.stdin.take().unwrap();
    nothing.wait().unwrap();
    stdin
}

/// Returns the data directory that all servers begin with, made once for all test processes.
fn template() -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join("postgres-template");
    let lock = std::fs::File::create(place.with_extension("lock")).unwrap();
    lock.lock().unwrap();
    let version = run(Command::new(program("postgres")).arg("--version"));
    let finished = place.join("finished");
    if std::fs::read_to_string(&finished).is_ok_and(|found| found == version) {
        return place.join("data");
    }
    if place.exists() {
        std::fs::remove_dir_all(&place).unwrap();
    }
    std::fs::create_dir(&place).unwrap();
    let made = tempfile::Builder::new().prefix("haft-postgres-").tempdir().unwrap();
    give_away(made.path());
    let mut command = vec![program("initdb").into_os_string()];
    command.splice(0..0, as_user());
    run(Command::new(&command[0])
        .args(&command[1..])
        .args(["--auth=trust", "--username=haft", "--encoding=UTF8", "--no-locale"])
        .args(["--no-sync", "--wal-segsize=1", "--pgdata"])
        .arg(made.path().join("data"))
        .current_dir("/"));
    copy(&made.path().join("data"), &place.join("data"));
    std::fs::write(finished, version).unwrap();
    place.join("data")
}

/// Returns the path of one of the server's programs.
fn program(name: &str) -> PathBuf {
    let told = std::env::var_os("HAFT_TEST_POSTGRES").map(PathBuf::from);
    let installed = || {
        let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
        let newest =
            versions.filter_map(|version| Some(version.ok()?.path())).max_by_key(|path| {
                path.file_name().and_then(|name| name.to_str()?.parse::<u32>().ok())
            })?;
        Some(newest.join("bin"))
    };
    let path = told.or_else(installed).map(|directory| directory.join(name));
    path.filter(|path| path.is_file()).unwrap_or_else(|| {
        panic!("there is no `{name}` of PostgreSQL here: `cargo xtask setup` installs it")
    })
}

fn is_root() -> bool {
    run(Command::new("id").arg("-u")).trim() == "0"
}

/// The server refuses to work for root, so another user runs it.
fn as_user() -> Vec<std::ffi::OsString> {
    let nobody = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"];
    if is_root() { nobody.map(Into::into).into() } else { Vec::new() }
}

/// Gives files to the server, which alone may read them.
fn give_away(path: &Path) {
    if is_root() {
        run(Command::new("chown").args(["-R", "nobody:nogroup"]).arg(path));
    }
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
}

fn copy(from: &Path, to: &Path) {
    run(Command::new("cp").args(["-a", "--reflink=auto"]).args([from, to]));
}

fn run(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|err| panic!("{command:?}: {err}"));
    assert!(
        output.status.success(),
        "{command:?}:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

/// Returns a journal in a new database, for tests that run on every store.
pub(crate) fn journal() -> Arc<dyn Journal> {
    let url = Server::shared().url();
    let connect = async move { PostgresJournal::connect(&url).await.unwrap() };
    let runtime = tokio::runtime::Handle::current();
    Arc::new(tokio::task::block_in_place(|| runtime.block_on(connect)))
}
