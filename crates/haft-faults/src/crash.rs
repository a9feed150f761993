//! Kills workers again and again, and has what they leave looked at. It knows neither what they do nor what has to be true
//! of it: that is a [`Scenario`].
//!
//! A program that is one takes `--kills N [--seed S] [--seconds S]` and makes *worlds*, one after the other, until it has
//! killed so often. In each, *workers* do the same work, one after the other, until one comes to its end. Each is this program
//! once more. What a kill hits depends on time. A world in which something is wrong is left where it is.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Random;

/// How long all of it may take, in seconds; a world that is begun is brought to its end.
const SECONDS_DEFAULT: u64 = 3_600;
/// After so many lives in a row that came no further the next are no longer.
const FRUITLESS_MAX: u32 = 8;
/// Most workers of one world; far more than it takes.
const LIVES_MAX: u64 = 500;
/// Threads of a worker's runtime.
const THREADS: usize = 2;

const READY: &str = "ready";
const DONE: &str = "done";

/// Whatever ends the program: it is shown and nothing else.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What workers do in worlds, what has to be true of it, and what was counted over all of them.
pub trait Scenario: Default {
    /// What is killed, as the first and the last line name it.
    const NAME: &'static str;
    /// How a line begins with which a worker says that it came further, if nobody said the same before it.
    const FURTHER: &'static str;

    /// Does the work of a world until everything is done, or until it is killed. It says that it is [`ready`], and whatever
    /// the scenario wants to hear.
    fn work(world: PathBuf, life: u64) -> impl Future<Output = Result<(), Failure>>;

    /// Looks at a world in which everything is done.
    fn audit(&mut self, seen: &Seen<'_>) -> Result<(), Failure>;

    /// Returns what was counted, for the last line.
    fn counted(&self) -> String;
}

/// What there is to look at of a world.
pub struct Seen<'a> {
    /// Its directory.
    pub world: &'a Path,
    /// One in which nobody was killed.
    pub calm: &'a Path,
    /// What all its workers said, each line as often as it was said.
    pub lines: &'a [String],
}

/// Runs a program that is a scenario.
pub fn run<S: Scenario>(args: &[String]) -> ExitCode {
    let done = match args {
        [role, world, life] if role == "worker" => live::<S>(world, life),
        _ => drive::<S>(args),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}

/// Says something to whoever kills. One that does not listen any longer has killed this process.
pub fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Says that work begins: most kills come after that.
pub fn ready() -> Result<(), Failure> {
    say(READY)
}

fn live<S: Scenario>(world: &str, life: &str) -> Result<(), Failure> {
    let work = S::work(PathBuf::from(world), life.parse()?);
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_all().build()?;
    runtime.block_on(work)?;
    say(DONE)
}

/// How much is killed, and what the worlds follow from.
struct Extent {
    kills: u64,
    seed: u64,
    seconds: u64,
}

impl Extent {
    /// Reads `--kills N [--seed S] [--seconds S]`. Of options that are given twice the last one holds.
    fn parse(args: &[String]) -> Result<Self, Failure> {
        let number = |name: &str| -> Result<Option<u64>, Failure> {
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

fn drive<S: Scenario>(args: &[String]) -> Result<(), Failure> {
    let Extent { kills, seed, seconds } = Extent::parse(args)?;
    println!("crash of {}: {kills} kills, --seed {seed}", S::NAME);
    let mut scenario = S::default();
    let calm = tempfile::tempdir()?;
    let started = Instant::now();
    let Life { lines, .. } = one_life(calm.path(), 1, None)?;
    let whole = started.elapsed();
    scenario.audit(&Seen { world: calm.path(), calm: calm.path(), lines: &lines })?;
    let mut killing = Killing { random: Random::new(seed), whole, further: S::FURTHER, kills: 0 };
    let mut worlds = 0_u64;
    let end = Instant::now() + Duration::from_secs(seconds);
    while killing.kills < kills && Instant::now() < end {
        worlds += 1;
        let world = tempfile::tempdir()?;
        let lived = killing.one_world(world.path());
        let audited = lived.and_then(|lines| {
            scenario.audit(&Seen { world: world.path(), calm: calm.path(), lines: &lines })
        });
        if let Err(err) = audited {
            return Err(format!("{err}; see {}", world.keep().display()).into());
        }
    }
    println!(
        "crash of {}: {} kills in {worlds} worlds: {}; nothing lost, nothing repeated",
        S::NAME,
        killing.kills,
        scenario.counted()
    );
    Ok(())
}

/// Kills workers.
struct Killing {
    random: Random,
    /// How long a worker lives that nobody kills.
    whole: Duration,
    further: &'static str,
    kills: u64,
}

impl Killing {
    /// Lets workers live in a world until one has come to the end of the work. Returns what they said.
    fn one_world(&mut self, world: &Path) -> Result<Vec<String>, Failure> {
        let mut all_lines = Vec::new();
        let mut reached = BTreeSet::new();
        let mut fruitless = 0_u32;
        for number in 1..=LIVES_MAX {
            let Life { lines, is_killed } = one_life(world, number, Some(self.kill(fruitless)?))?;
            self.kills += u64::from(is_killed);
            let before = reached.len();
            let further = lines.iter().filter(|line| line.starts_with(self.further));
            reached.extend(further.cloned());
            fruitless = if reached.len() > before { 0 } else { (fruitless + 1).min(FRUITLESS_MAX) };
            all_lines.extend(lines);
            if !is_killed {
                return Ok(all_lines);
            }
        }
        Err(format!("{LIVES_MAX} workers did not bring the work to its end").into())
    }

    /// Most of a life is work: what comes before it is ready is hit by one kill in eight. What the lives before did takes
    /// longer to be looked up than it took to be done, and lives that are all too short to come any further would leave the
    /// work to nobody; so after one that did not the next may be twice as long.
    fn kill(&mut self, fruitless: u32) -> Result<Kill, Failure> {
        let bound = u64::try_from(self.whole.as_micros())?.saturating_mul(1 << fruitless);
        let delay = Duration::from_micros(self.random.below(bound));
        Ok(Kill { delay, is_after_ready: self.random.below(8) > 0 })
    }
}

/// When a worker is killed.
struct Kill {
    delay: Duration,
    is_after_ready: bool,
}

/// What one worker said.
struct Life {
    lines: Vec<String>,
    is_killed: bool,
}

/// Lets one worker live until it ends, or is killed.
fn one_life(world: &Path, number: u64, kill: Option<Kill>) -> Result<Life, Failure> {
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
        // The last line of a worker that was killed may be cut, and was not said then.
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
    if let Some(Kill { delay, .. }) = kill {
        std::thread::sleep(delay);
        // One that has ended by itself is no longer there to be killed.
        let _ = child.kill();
    }
    ended(&mut child, listening, lines)
}

fn ended(
    child: &mut Child,
    listening: std::thread::JoinHandle<Vec<String>>,
    mut lines: Vec<String>,
) -> Result<Life, Failure> {
    let status = child.wait()?;
    lines.extend(listening.join().map_err(|_| "the listener panicked")?);
    let is_done = lines.iter().any(|line| line == DONE);
    match status.code() {
        // A worker that said it was done had nothing more to do.
        _ if is_done => Ok(Life { lines, is_killed: false }),
        None => Ok(Life { lines, is_killed: true }),
        Some(code) => Err(format!("a worker ended with {code}: {lines:?}").into()),
    }
}
