//! Starts workers and kills them, and has what they left looked at.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::Failure;
use crate::audit::{Findings, audit};
use crate::random::Random;
use crate::script::World;

/// How long all of it may take, in seconds; a world that is begun is brought to its end.
const SECONDS_DEFAULT: u64 = 3_600;
/// After so many lives in a row that came no further the next are no longer.
const FRUITLESS_MAX: u32 = 8;
/// Most workers of one world; far more than it takes.
const LIVES_MAX: u64 = 500;

/// What was counted over all worlds.
#[derive(Default)]
struct Counts {
    worlds: u64,
    kills: u64,
    in_doubt: u64,
    unmade: u64,
}

/// What one worker said.
struct Life {
    lines: Vec<String>,
    is_killed: bool,
}

/// Runs `crash_agents --kills N [--seed S] [--seconds S]`. Of options that are given twice the last one holds.
pub(crate) fn run(args: &[String]) -> Result<(), Failure> {
    let number = |name: &str| -> Result<Option<u64>, Failure> {
        let place = args.iter().rposition(|arg| arg == name);
        let value = place.and_then(|place| args.get(place + 1));
        Ok(value.map(|value| value.parse()).transpose()?)
    };
    let kills = number("--kills")?.ok_or("expected --kills N [--seed S] [--seconds S]")?;
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let seed = number("--seed")?.unwrap_or(u64::from(since_1970.subsec_nanos()));
    let seconds = number("--seconds")?.unwrap_or(SECONDS_DEFAULT);
    println!("crash of agents: {kills} kills, --seed {seed}");
    let mut random = Random(seed);
    let calm = tempfile::tempdir()?;
    let started = Instant::now();
    let life = live(calm.path(), 1, None)?;
    let whole = started.elapsed();
    audit(&World::at(calm.path()), &acknowledged(&life.lines))?;
    let mut counts = Counts::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    while counts.kills < kills && Instant::now() < end {
        counts.worlds += 1;
        let world = tempfile::tempdir()?;
        if let Err(err) = one_world(world.path(), whole, &mut random, &mut counts) {
            return Err(format!("{err}; see {}", world.keep().display()).into());
        }
    }
    let Counts { worlds, kills, in_doubt, unmade } = counts;
    println!(
        "crash of agents: {kills} kills in {worlds} worlds: {in_doubt} calls in doubt, {unmade} not made; nothing lost, \
         nothing repeated"
    );
    Ok(())
}

fn one_world(
    path: &Path,
    whole: Duration,
    random: &mut Random,
    counts: &mut Counts,
) -> Result<(), Failure> {
    let mut made = BTreeSet::new();
    let mut fruitless = 0_u32;
    for number in 1..=LIVES_MAX {
        // Most of a life is work: what comes before `ready` is hit by one kill in eight. Lives that are all too short to
        // come any further would leave the work to nobody; so after one that did not the next may be twice as long.
        let bound = u64::try_from(whole.as_micros())?.saturating_mul(1 << fruitless);
        let delay = Duration::from_micros(random.below(bound));
        let after_ready = random.below(8) > 0;
        let life = live(path, number, Some(Kill { delay, after_ready }))?;
        counts.kills += u64::from(life.is_killed);
        let before = made.len();
        made.extend(acknowledged(&life.lines));
        fruitless = if made.len() > before { 0 } else { (fruitless + 1).min(FRUITLESS_MAX) };
        if !life.is_killed {
            let Findings { in_doubt, unmade } = audit(&World::at(path), &made)?;
            counts.in_doubt += in_doubt;
            counts.unmade += unmade;
            return Ok(());
        }
    }
    Err(format!("{LIVES_MAX} workers did not bring the work to its end").into())
}

/// Returns the orders that a worker said were answered.
fn acknowledged(lines: &[String]) -> BTreeSet<u64> {
    let numbers = lines.iter().filter_map(|line| line.strip_prefix("ordered "));
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// When a worker is killed.
struct Kill {
    delay: Duration,
    after_ready: bool,
}

/// Lets one worker live until it ends, or is killed.
fn live(world: &Path, number: u64, kill: Option<Kill>) -> Result<Life, Failure> {
    let mut child = Command::new(std::env::current_exe()?)
        .arg("worker")
        .arg(world)
        .arg(number.to_string())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut out = BufReader::new(child.stdout.take().ok_or("no output")?);
    let mut lines = Vec::new();
    if kill.as_ref().is_none_or(|kill| kill.after_ready) {
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
    let is_done = lines.iter().any(|line| line == "done");
    match status.code() {
        // A worker that said it was done had nothing more to do.
        _ if is_done => Ok(Life { lines, is_killed: false }),
        None => Ok(Life { lines, is_killed: true }),
        Some(code) => Err(format!("a worker ended with {code}: {lines:?}").into()),
    }
}
