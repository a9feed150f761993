//! Measures the cost of starting a command and waiting for its end: bare, supervised, confined, confined
//! in a large root without and with rules that deny paths, and confined by bubblewrap with the same namespaces. The variants take turns in one process, so that
//! other load on the machine affects all of them. It prints one sample per line,
//! `entrant<TAB>nanoseconds`, and judges nothing.
//!
//! Arguments: ROOT (a directory to work in), HEAP_MIB (memory of this process), AT_ONCE (commands
//! that run at the same time), ROUNDS, and optionally the path of `bwrap`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_sandbox::{
    Confinement, Launcher, Mechanisms, Network, PathAccess, PathRules, ProcessExit, ProtectedPaths,
    ResourceLimits, Root, RuledPaths, SandboxCommand,
};

fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    haft_sandbox::helper::run_if_requested();
    measure()
}

type Failure = Box<dyn Error + Send + Sync>;

const SYSTEM: [&str; 7] = ["/bin", "/etc", "/lib", "/lib64", "/opt", "/sbin", "/usr"];

/// The files of the large root: so many directories with so many files each.
const LARGE_ROOT: (usize, usize) = (100, 50);

/// The resources that all variants need.
struct Setting {
    root: Root,
    launcher: Launcher,
    confinement: Confinement,
    /// To the large root.
    large: Confinement,
    /// To the same root, where a rule denies the files of one name.
    denied: Confinement,
    bwrap: Option<PathBuf>,
}

/// A rule that denies every file called `.env`.
#[derive(Debug)]
struct NoEnv;

impl PathRules for NoEnv {
    fn access(&self, path: &Path) -> PathAccess {
        let is_denied = path.iter().any(|name| name == ".env");
        if is_denied { PathAccess::Nothing } else { PathAccess::Full }
    }

    fn access_beneath(&self, directory: &Path) -> PathAccess {
        self.access(directory)
    }

    fn may_concern(&self, name: &[u8]) -> bool {
        name == b".env"
    }

    fn picks_all(&self) -> bool {
        false
    }

    fn picks_all_in(&self, _: &Path) -> bool {
        false
    }

    fn names_key(&self) -> &str {
        ".env"
    }

    fn depends_on_place(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy)]
enum Entrant {
    Bare,
    Supervised,
    Confined,
    Large,
    Denied,
    Bubblewrap,
}

const ENTRANTS: [Entrant; 6] = [
    Entrant::Bare,
    Entrant::Supervised,
    Entrant::Confined,
    Entrant::Large,
    Entrant::Denied,
    Entrant::Bubblewrap,
];

impl Entrant {
    fn name(self) -> &'static str {
        match self {
            Entrant::Bare => "bare",
            Entrant::Supervised => "supervised",
            Entrant::Confined => "confined",
            Entrant::Large => "5,000 files",
            Entrant::Denied => "5,000 files, denied paths",
            Entrant::Bubblewrap => "bwrap",
        }
    }
}

fn measure() -> Result<(), Failure> {
    let args: Vec<_> = std::env::args_os().skip(1).collect();
    let [root, heap_mib, at_once, rounds, bwrap @ ..] = args.as_slice() else {
        return Err("expected ROOT HEAP_MIB AT_ONCE ROUNDS [BWRAP]".into());
    };
    let number = |text: &std::ffi::OsString| -> Result<usize, Failure> {
        Ok(text.to_str().ok_or("a number is no text")?.parse()?)
    };
    let directory = PathBuf::from(root).canonicalize()?;
    let large = directory.join("large");
    lay_out(&large)?;
    let rules: Arc<dyn PathRules> = Arc::new(NoEnv);
    let ruled = RuledPaths { roots: vec![large.clone()], rules: Some(rules) };
    let large = confinement(large);
    let heap = touched(number(heap_mib)? * 1024 * 1024);
    let (at_once, rounds) = (number(at_once)?, number(rounds)?);
    let setting = Arc::new(Setting {
        root: Root::open(&directory)?,
        launcher: Launcher::new(std::env::current_exe()?),
        denied: Confinement { ruled, ..large.clone() },
        large,
        confinement: confinement(directory),
        bwrap: bwrap.first().map(PathBuf::from),
    });
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let measured = runtime.block_on(rounds_of(&setting, at_once, rounds));
    drop(heap);
    measured
}

/// Makes the files of the large root.
fn lay_out(root: &Path) -> std::io::Result<()> {
    let (directories, files) = LARGE_ROOT;
    for directory in 0..directories {
        let directory = root.join(format!("directory-{directory}"));
        std::fs::create_dir_all(&directory)?;
        for file in 0..files {
            std::fs::write(directory.join(format!("file-{file}.txt")), "x")?;
        }
    }
    std::fs::write(root.join(".env"), "x")?;
    std::fs::write(root.join("directory-1/.env"), "x")
}

/// Returns memory that is resident, because every page has been written to.
fn touched(bytes: usize) -> Vec<u8> {
    let mut heap = vec![0; bytes];
    heap.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    std::hint::black_box(heap)
}

fn confinement(root: PathBuf) -> Confinement {
    Confinement {
        writable: vec![root],
        readable: SYSTEM.map(PathBuf::from).to_vec(),
        hidden: vec![PathBuf::from("/etc/shadow")],
        protected: ProtectedPaths::builtin(),
        ruled: RuledPaths::default(),
        home: PathBuf::from("/home/you"),
        network: Network::Loopback,
        resources: ResourceLimits::default(),
        mechanisms: Mechanisms::ALL,
    }
}

async fn rounds_of(setting: &Arc<Setting>, at_once: usize, rounds: usize) -> Result<(), Failure> {
    // The round before the first one warms up.
    for round in 0..=rounds {
        for turn in 0..ENTRANTS.len() {
            let Some(entrant) = ENTRANTS.get((round + turn) % ENTRANTS.len()) else { continue };
            let samples = turns(setting, *entrant, at_once).await?;
            for sample in samples.into_iter().filter(|_| round > 0) {
                println!("{}\t{}", entrant.name(), sample.as_nanos());
            }
        }
    }
    Ok(())
}

async fn turns(
    setting: &Arc<Setting>,
    entrant: Entrant,
    at_once: usize,
) -> Result<Vec<Duration>, Failure> {
    let running: Vec<_> =
        (0..at_once).map(|_| tokio::spawn(turn(Arc::clone(setting), entrant))).collect();
    let mut samples = Vec::new();
    for task in running {
        samples.extend(task.await??);
    }
    Ok(samples)
}

/// Runs `true` once; returns `None` if the variant is not available.
async fn turn(setting: Arc<Setting>, entrant: Entrant) -> Result<Option<Duration>, Failure> {
    let begin = Instant::now();
    match entrant {
        Entrant::Bare => plain(std::process::Command::new("true")).await?,
        Entrant::Supervised | Entrant::Confined | Entrant::Large | Entrant::Denied => {
            launched(&setting, entrant).await?
        }
        Entrant::Bubblewrap => match &setting.bwrap {
            Some(bwrap) => plain(bubblewrap(bwrap, &setting.confinement)).await?,
            None => return Ok(None),
        },
    }
    Ok(Some(begin.elapsed()))
}

async fn launched(setting: &Setting, entrant: Entrant) -> Result<(), Failure> {
    let directory = match entrant {
        Entrant::Large | Entrant::Denied => "large",
        Entrant::Bare | Entrant::Supervised | Entrant::Confined | Entrant::Bubblewrap => "",
    };
    let directory = setting.root.open_dir(directory.as_ref())?;
    let command = SandboxCommand::new("true", directory).env("PATH", "/usr/bin:/bin");
    let launcher = &setting.launcher;
    let mut process = match entrant {
        Entrant::Confined => launcher.spawn(command, &setting.confinement).await?,
        Entrant::Large => launcher.spawn(command, &setting.large).await?,
        Entrant::Denied => launcher.spawn(command, &setting.denied).await?,
        Entrant::Bare | Entrant::Supervised | Entrant::Bubblewrap => {
            launcher.spawn_unconfined(command).await?
        }
    };
    let exit = process.control.wait().await?;
    if exit == ProcessExit::Code(0) {
        Ok(())
    } else {
        Err(format!("true ended so: {exit:?}").into())
    }
}

fn bubblewrap(bwrap: &PathBuf, confinement: &Confinement) -> std::process::Command {
    let mut command = std::process::Command::new(bwrap);
    command.args(["--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL"]);
    for directory in &confinement.readable {
        command.arg("--ro-bind-try").arg(directory).arg(directory);
    }
    command.args(["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/home"]);
    for directory in &confinement.writable {
        command.arg("--bind").arg(directory).arg(directory).arg("--chdir").arg(directory);
    }
    command.arg("true");
    command
}

/// Runs a command with the standard library on a thread that may block.
async fn plain(mut command: std::process::Command) -> Result<(), Failure> {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let status = tokio::task::spawn_blocking(move || command.status()).await??;
    if status.success() { Ok(()) } else { Err(format!("it ended so: {status}").into()) }
}
