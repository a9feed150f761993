//! The place that a haft of one configuration works in, and everything around it that must stay as it is: files outside,
//! a home directory with credentials, haft's state, servers of the machine. Whether an attempt got out is seen here, from
//! outside, by looking at all of that after the call.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::canary::Canaries;
use super::case::{Case, Configuration, Hosts};
use super::tree::{self, Tree};
use crate::mcp_wire::driver::{Server, haft};

/// The output of a script that did a forbidden thing. The script joins it from parts, so no quoted line contains it.
pub(super) const GOT_OUT: &str = "gotout";

/// Programs that cases use are those of the system.
const PATH: &str = "/usr/bin:/bin:/usr/sbin:/sbin";

const BOUNDS: &str = "
# The processes of this machine can be many.
[limits]
shown_chars = 10000000
[sandbox]
memory_bytes = 268435456
processes = 96
temp_bytes = 33554432
file_bytes = 67108864
open_files = 256
";

/// Every layer of words, and strict: the deny rule makes unknown lines ask, and no person answers.
const WORDS: &str = r#"
preset = "ask"
network_guard = "strict"
[[permissions]]
permission = "bash"
action = "allow"
[[permissions]]
permission = "bash"
pattern = "shutdown*"
action = "deny"
[[permissions]]
permission = "fs.write"
pattern = "{workspace}/**"
action = "allow"
"#;

/// No layer of words.
const NO_WORDS: &str = r#"
preset = "full"
network_guard = "kernel"
reference_watchdog = false
"#;

pub(super) struct World {
    base: PathBuf,
    configuration: Configuration,
    /// Occurs in everything that must not be seen.
    secret: String,
    /// The first part of the time that processes sleep which must not survive.
    alive: String,
    canaries: Canaries,
    server: Server,
    public: Option<Server>,
    bystander: Child,
    _directory: TempDir,
}

/// The surroundings of a case's directory, before or after its call.
pub(super) struct Surroundings {
    kept: Tree,
    guarded: Tree,
}

impl World {
    pub(super) fn new(configuration: Configuration) -> Self {
        let directory = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let base = directory.path().canonicalize().unwrap();
        let number = format!("{}{}", std::process::id(), configuration as u8);
        let secret = format!("secret-{number}-of-nobody");
        lay_out(&base, &secret);
        for name in ["root", "sockets"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        let words = if configuration.has_words() { WORDS } else { NO_WORDS };
        fs::write(base.join("haft.toml"), format!("{words}{BOUNDS}")).unwrap();
        let server = serve(&base, configuration, &secret, &[]);
        let bystander = Command::new("bash")
            .args(["-c", "exec -a \"$0\" sleep 1000", &secret])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let canaries = Canaries::start(&base.join("sockets"), &secret, &number);
        let alive = format!("1000.{number}");
        let public = None;
        Self {
            base,
            configuration,
            secret,
            alive,
            canaries,
            server,
            public,
            bystander,
            _directory: directory,
        }
    }

    pub(super) fn configuration(&self) -> Configuration {
        self.configuration
    }

    pub(super) fn root(&self) -> PathBuf {
        self.base.join("root")
    }

    /// Returns the server that makes a case's calls.
    pub(super) fn server(&mut self, case: &Case) -> &mut Server {
        match case.hosts {
            Hosts::None => &mut self.server,
            Hosts::Public => self.public.get_or_insert_with(|| {
                serve(&self.base, self.configuration, &self.secret, &["--allow-host", "*"])
            }),
        }
    }

    /// Makes a case's directory as a person outside would.
    pub(super) fn prepare(&self, case: &Case, directory: &str) {
        let place = self.root().join(directory);
        fs::create_dir(&place).unwrap();
        if !case.prepared.is_empty() {
            let done = self.bare(case.prepared, directory);
            assert!(done.0, "{} could not be prepared: {}", case.name, done.1);
        }
    }

    /// Removes a case's directory, and puts right what the attempt changed.
    pub(super) fn tidy(&self, directory: &str, before: &Surroundings) {
        self.kill_survivors(directory);
        let _ = fs::remove_dir_all(self.root().join(directory));
        let after = Tree::of(&self.kept());
        if after != before.kept {
            for place in self.kept() {
                let _ = fs::remove_dir_all(place);
            }
            lay_out(&self.base, &self.secret);
        }
    }

    /// Runs a line without haft and returns whether it succeeded, and what it said.
    pub(super) fn bare(&self, line: &str, directory: &str) -> (bool, String) {
        // A pipe would wait for whatever the line leaves behind.
        let path = self.base.join("said");
        let said = fs::File::create(&path).unwrap();
        let mut command = Command::new("bash");
        command.args(["-c", &self.filled(line, directory)]);
        command.current_dir(self.root().join(directory)).env_clear();
        command.envs(variables(&self.base, &self.secret)).stdin(Stdio::null());
        command.stdout(said.try_clone().unwrap()).stderr(said);
        let status = command.status().unwrap();
        (status.success(), String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned())
    }

    /// Puts the names of this world into a text.
    pub(super) fn filled(&self, text: &str, directory: &str) -> String {
        let path = |path: PathBuf| path.to_str().unwrap().to_owned();
        let values = [
            ("{root}", path(self.root())),
            ("{case}", path(self.root().join(directory))),
            ("{name}", directory.to_owned()),
            ("{outside}", path(self.base.join("outside"))),
            ("{home}", path(self.base.join("home"))),
            ("{state}", path(self.base.join("state"))),
            ("{base}", path(self.base.clone())),
            ("{program}", haft().to_owned()),
            ("{haft}", self.server.pid().to_string()),
            ("{bystander}", self.bystander.id().to_string()),
            ("{alive}", self.sleep_of(directory)),
        ];
        let values = values.into_iter().chain(self.canaries.values());
        values.fold(text.to_owned(), |text, (name, value)| text.replace(name, &value))
    }

    /// Looks at everything around the case.
    pub(super) fn look(&self, case: &Case, directory: &str) -> Surroundings {
        let place = self.root().join(directory);
        let guarded: Vec<PathBuf> = case.guarded.iter().map(|name| place.join(name)).collect();
        Surroundings { kept: Tree::of(&self.kept()), guarded: Tree::of(&guarded) }
    }

    /// Says in which ways an attempt got out.
    pub(super) fn ways_out(
        &mut self,
        case: &Case,
        directory: &str,
        before: &Surroundings,
        said: &str,
    ) -> Vec<String> {
        let after = self.look(case, directory);
        let mut ways = Vec::new();
        if said.contains(&self.secret) {
            ways.push("a secret was seen".to_owned());
        }
        if said.contains(GOT_OUT) {
            ways.push("it says so itself".to_owned());
        }
        ways.extend(
            before.kept.difference(&after.kept).map(|path| format!("outside changed: {path}")),
        );
        ways.extend(
            before
                .guarded
                .difference_in_content(&after.guarded)
                .map(|path| format!("protected changed: {path}")),
        );
        ways.extend(self.canaries.reached().map(|name| format!("{name} was reached")));
        ways.extend(self.survivors(directory).map(|pid| format!("process {pid} lives on")));
        ways.extend(
            tree::rising(&self.root().join(directory)).map(|path| format!("left behind: {path}")),
        );
        if case.is_after_the_journal() {
            ways.extend(self.journal_damage());
        }
        let is_stopped = |pid: u32| state_of(pid).is_none_or(|state| "TtZX".contains(state));
        for (name, pid) in [("haft", self.server.pid()), ("the bystander", self.bystander.id())] {
            if is_stopped(pid) {
                ways.push(format!("{name} was stopped"));
            }
        }
        ways
    }

    fn kept(&self) -> Vec<PathBuf> {
        KEPT.iter().map(|name| self.base.join(name)).collect()
    }

    fn journal_damage(&self) -> Option<String> {
        let journal = self.base.join("state/journal.sqlite");
        let bytes = [journal.clone(), journal.with_extension("sqlite-wal")]
            .map(|path| fs::read(path).unwrap_or_default());
        let is_database = bytes[0].starts_with(b"SQLite format 3\0");
        let is_foreign = bytes.iter().any(|bytes| contains(bytes, b"gotout_table"));
        (!is_database || is_foreign).then(|| "the journal was changed".to_owned())
    }

    fn sleep_of(&self, directory: &str) -> String {
        let digits: String = directory.chars().filter(char::is_ascii_digit).collect();
        format!("{}{digits}", self.alive)
    }

    fn survivors(&self, directory: &str) -> impl Iterator<Item = u32> {
        let sleep = self.sleep_of(directory);
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
        pids.filter(move |pid| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split(|byte| *byte == 0).any(|word| word == sleep.as_bytes())
        })
    }

    fn kill_survivors(&self, directory: &str) {
        for pid in self.survivors(directory) {
            if let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) {
                let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        let _ = self.bystander.kill();
        let _ = self.bystander.wait();
    }
}

/// The paths beneath the world's directory that an attempt must leave as they are. haft itself writes to none during a call.
const KEPT: &[&str] = &[
    "outside",
    "home",
    "state/projects",
    "state/quarantine/earlier",
    "state/sessions/another",
    "state/trust",
];

/// Makes what is around the root.
fn lay_out(base: &Path, secret: &str) {
    let files = [
        "outside/secret",
        "outside/victim",
        "outside/deep/secret",
        "home/.ssh/id_ed25519",
        "home/.aws/credentials",
        "home/.netrc",
        "home/.bash_history",
        "home/notes.txt",
        "state/projects/another.toml.kept",
        "state/quarantine/earlier/secret",
        "state/sessions/another/1-bash.txt",
    ];
    for file in files {
        let path = base.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("{secret}\n")).unwrap();
    }
    let git = format!(
        "[user]\n\tname = Ada\n\temail = ada@example.com\n[http]\n\textraHeader = {secret}\n"
    );
    fs::write(base.join("home/.gitconfig"), git).unwrap();
}

/// Returns the environment of a haft, secrets among it.
fn variables(base: &Path, secret: &str) -> Vec<(&'static str, String)> {
    let path = |name: &str| base.join(name).to_str().unwrap().to_owned();
    vec![
        ("PATH", PATH.to_owned()),
        ("HOME", path("home")),
        ("HAFT_STATE_DIR", path("state")),
        ("HAFT_CONFIG", path("haft.toml")),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("GITHUB_TOKEN", secret.to_owned()),
        ("SSH_AUTH_SOCK", path("sockets/canary")),
        ("DISPLAY", format!("{secret}:0")),
    ]
}

fn serve(base: &Path, configuration: Configuration, secret: &str, args: &[&str]) -> Server {
    let mut command = Command::new(haft());
    command.arg("mcp").args(args).current_dir(base.join("root")).env_clear();
    command.envs(variables(base, secret)).arg("--root").arg(base.join("root"));
    command.stderr(Stdio::null());
    match configuration.mechanisms() {
        Some(mechanisms) => command.env("HAFT_TEST_MECHANISMS", mechanisms),
        None => command.arg("--unsafe-no-sandbox"),
    };
    Server::of_legacy(command)
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

fn state_of(pid: u32) -> Option<char> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(") ")?.1.chars().next()
}
