//! Kills workers repeatedly, and lets a [`CrashScenario`] check the state that they leave. The
//! scenario defines their work and the conditions that must be true.
//!
//! A program built with this takes `--kills N [--seed S] [--seconds S]`. It creates *worlds*, one
//! after the other, until it has killed that many workers. In each world, *workers* do the same
//! work, one after the other, until one completes it. Each worker is a new process of this program.
//! The effect of a kill depends on timing. A world with an error is kept on disk.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::SeededRandom;

/// Default time for the whole run, in seconds; a world that has begun is completed.
const SECONDS_DEFAULT: u64 = 3_600;
/// Consecutive lives without progress after which lives are no longer extended.
const FRUITLESS_MAX: u32 = 8;
/// Maximum number of workers in one world; far more than needed.
const LIVES_MAX: u64 = 500;
/// Threads of a worker's runtime.
const THREADS: usize = 2;

const READY: &str = "ready";
const DONE: &str = "done";

/// An error that ends the program; it is only printed.
pub type CrashTestError = Box<dyn std::error::Error + Send + Sync>;

/// The work of workers, the conditions that must be true of it, and the counts over all worlds.
pub trait CrashScenario: Default {
    /// The name in the first and last line of the output.
    const NAME: &'static str;
    /// The prefix of a line with which a worker reports progress, if no earlier line was the same.
    const PROGRESS_PREFIX: &'static str;

    /// Does the work of a world until everything is done or the process is killed. It calls
    /// [`report_ready`], and prints any lines that the scenario needs.
    fn work(world: PathBuf, life: u64) -> impl Future<Output = Result<(), CrashTestError>>;

    /// Checks a world in which all work is done.
    fn audit(&mut self, seen: &FinishedWorld<'_>) -> Result<(), CrashTestError>;

    /// Returns the counts, for the last line.
    fn summary(&self) -> String;
}

/// A world to check.
pub struct FinishedWorld<'a> {
    /// Its directory.
    pub world: &'a Path,
    /// A world in which no worker was killed.
    pub undisturbed: &'a Path,
    /// The lines of all its workers, including repeated ones.
    pub lines: &'a [String],
}

/// Runs the program of a scenario.
pub fn run<S: CrashScenario>(args: &[String]) -> ExitCode {
    match run_role::<S>(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}

/// Prints a line to the killing process. If that no longer listens, it has killed this process.
pub fn print_line(line: &str) -> Result<(), CrashTestError> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Reports that work begins: most kills come after that.
pub fn report_ready() -> Result<(), CrashTestError> {
    print_line(READY)
}

/// The number of kills, and the seed of the worlds.
struct CrashTestOptions {
    kills: u64,
    seed: u64,
    seconds: u64,
}

impl CrashTestOptions {
    /// Parses `--kills N [--seed S] [--seconds S]`. If an option is repeated, the last value
    /// counts.
    fn parse(args: &[String]) -> Result<Self, CrashTestError> {
        let number = |name: &str| -> Result<Option<u64>, CrashTestError> {
            let place = args.iter().rposition(|arg| arg == name);
            let value = place.and_then(|place| args.get(place + 1));
            Ok(value.map(|value| value.parse()).transpose()?)
        };
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
        Ok(Self {
            kills: number("--kills")?.ok_or("expected --kills N [--seed S] [--seconds S]")?,
            seed: number("--seed")?.unwrap_or(u64::from(since_1970.subsec_nanos())),
            seconds: number("--seconds")?.unwrap_or(SECONDS_DEFAULT),
        })
    }
}

/// Does a worker's work, or kills workers.
fn run_role<S: CrashScenario>(args: &[String]) -> Result<(), CrashTestError> {
    if let [role, world, life] = args
        && role == "worker"
    {
        let work = S::work(PathBuf::from(world), life.parse()?);
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(THREADS).enable_all().build()?;
        runtime.block_on(work)?;
        return print_line(DONE);
    }
    let CrashTestOptions { kills, seed, seconds } = CrashTestOptions::parse(args)?;
    println!("crash of {}: {kills} kills, --seed {seed}", S::NAME);
    let mut scenario = S::default();
    let calm = tempfile::tempdir()?;
    let undisturbed = calm.path();
    let started = Instant::now();
    let WorkerOutput { lines, .. } = run_worker_process(undisturbed, 1, None)?;
    let whole_us = u64::try_from(started.elapsed().as_micros())?;
    scenario.audit(&FinishedWorld { world: undisturbed, undisturbed, lines: &lines })?;
    let mut random = SeededRandom::new(seed);
    let (mut killed, mut worlds) = (0_u64, 0_u64);
    let end = Instant::now() + Duration::from_secs(seconds);
    while killed < kills && Instant::now() < end {
        worlds += 1;
        let world = tempfile::tempdir()?;
        let (mut all_lines, mut reached) = (Vec::new(), BTreeSet::new());
        let (mut lives, mut fruitless) = (0, 0_u32);
        // Workers live one after the other, until one completes the work.
        let lived: Result<(), CrashTestError> = loop {
            lives += 1;
            if lives > LIVES_MAX {
                break Err(format!("{LIVES_MAX} workers did not bring the work to its end").into());
            }
            // Most kills hit the work; one kill in eight hits the time before a worker is ready.
            // Replaying earlier lives takes longer than living them, so lives that are always too
            // short would never make progress. Therefore, after a life without progress the next
            // one may be twice as long.
            let bound_us = whole_us.saturating_mul(1 << fruitless);
            let delay = Duration::from_micros(random.below(bound_us));
            let kill = WorkerKillTime { delay, is_after_ready: random.below(8) > 0 };
            let WorkerOutput { lines, is_killed } =
                match run_worker_process(world.path(), lives, Some(kill)) {
                    Ok(output) => output,
                    Err(err) => break Err(err),
                };
            killed += u64::from(is_killed);
            let before = reached.len();
            let further = lines.iter().filter(|line| line.starts_with(S::PROGRESS_PREFIX));
            reached.extend(further.cloned());
            fruitless = if reached.len() > before { 0 } else { (fruitless + 1).min(FRUITLESS_MAX) };
            all_lines.extend(lines);
            if !is_killed {
                break Ok(());
            }
        };
        let seen = FinishedWorld { world: world.path(), undisturbed, lines: &all_lines };
        if let Err(err) = lived.and_then(|()| scenario.audit(&seen)) {
            return Err(format!("{err}; see {}", world.keep().display()).into());
        }
    }
    println!(
        "crash of {}: {killed} kills in {worlds} worlds: {}; nothing lost, nothing repeated",
        S::NAME,
        scenario.summary()
    );
    Ok(())
}

/// The time at which a worker is killed.
struct WorkerKillTime {
    delay: Duration,
    is_after_ready: bool,
}

/// The output of one worker.
struct WorkerOutput {
    lines: Vec<String>,
    is_killed: bool,
}

/// Runs one worker until it ends or is killed.
fn run_worker_process(
    world: &Path,
    number: u64,
    kill: Option<WorkerKillTime>,
) -> Result<WorkerOutput, CrashTestError> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("worker")
        .arg(world)
        .arg(number.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut out = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut lines = Vec::new();
    if kill.as_ref().is_none_or(|kill| kill.is_after_ready) {
        let mut line = String::new();
        out.read_line(&mut line)?;
        lines.push(line.trim_end().to_owned());
    }
    let listening = std::thread::spawn(move || {
        // The last line of a killed worker may be truncated, so it is ignored.
        let mut lines = Vec::new();
        let mut line = String::new();
        while out.read_line(&mut line).is_ok_and(|bytes| bytes > 0) {
            if line.ends_with('\n') {
                lines.push(line.trim_end().to_owned());
            }
            line.clear();
        }
        lines
    });
    if let Some(WorkerKillTime { delay, .. }) = kill {
        std::thread::sleep(delay);
        // A worker that has already ended cannot be killed.
        let _ = child.kill();
    }
    let status = child.wait()?;
    lines.extend(listening.join().map_err(|_| "the listener panicked")?);
    let is_done = lines.iter().any(|line| line == DONE);
    match status.code() {
        // A worker that reported completion had nothing more to do.
        _ if is_done => Ok(WorkerOutput { lines, is_killed: false }),
        None => Ok(WorkerOutput { lines, is_killed: true }),
        Some(code) => Err(format!("a worker ended with {code}: {lines:?}").into()),
    }
}
