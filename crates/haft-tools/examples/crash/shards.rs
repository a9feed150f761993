//! Splits the kills among drivers, one a processor, and adds up what they counted. A driver is a separate process, so
//! that it waits only for its own orphans.

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime};

use haft_faults::SeededRandom;

use crate::Failure;
use crate::children;
use crate::counts::Counts;
use crate::driver::Driver;
use crate::world::World;

const USAGE: &str = "usage: crash --kills N [--seed S] [--seconds S]";
/// Workers that are killed in one world before the next one begins.
const KILLS_OF_WORLD: u64 = 40;

/// The work of one driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    seed: u64,
    kills: u64,
    seconds: u64,
}

impl Extent {
    /// Reads the arguments of a driver.
    pub(crate) fn from_args(args: &[String]) -> Result<Self, Failure> {
        let [_, seed, kills, seconds] = args else { return Err(USAGE.into()) };
        Ok(Self { seed: seed.parse()?, kills: kills.parse()?, seconds: seconds.parse()? })
    }

    fn parse(args: &[String]) -> Result<Self, Failure> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?;
        let mut extent = Self { seed: now.as_secs(), kills: 500, seconds: 3_600 };
        let mut args = args.iter();
        while let Some(name) = args.next() {
            let value = args.next().ok_or(USAGE)?.parse().map_err(|_| USAGE)?;
            match name.as_str() {
                "--kills" => extent.kills = value,
                "--seed" => extent.seed = value,
                "--seconds" => extent.seconds = value,
                _ => return Err(USAGE.into()),
            }
        }
        Ok(extent)
    }
}

/// Has all drivers do their part, and prints what came of it.
pub(crate) fn run(args: &[String]) -> Result<ExitCode, Failure> {
    let extent = Extent::parse(args)?;
    let started = Instant::now();
    let drivers = std::thread::available_parallelism()?.get() as u64;
    println!("crash: {} kills, --seed {}, {drivers} drivers", extent.kills, extent.seed);
    let shares = (0..drivers).map(|driver| Extent {
        seed: SeededRandom::from_seeds(extent.seed, driver).number(),
        kills: extent.kills / drivers + u64::from(driver < extent.kills % drivers),
        seconds: extent.seconds,
    });
    let children = shares.map(spawn).collect::<Result<Vec<Child>, Failure>>()?;
    let mut counts = Counts::default();
    let mut wrong = String::new();
    for mut child in children {
        let output = child.stdout.take().ok_or("a driver without an output")?;
        for line in BufReader::new(output).lines() {
            let line = line?;
            match line.split_once(' ') {
                Some(("counts", json)) => counts.merge(&Counts::from_json(json)?),
                _ => writeln!(wrong, "{line}")?,
            }
        }
        if !child.wait()?.success() {
            wrong += "a driver failed\n";
        }
    }
    println!("{counts}crash: {:.1} s", started.elapsed().as_secs_f64());
    if wrong.is_empty() {
        println!("crash: nothing lost, nothing silently repeated");
        return Ok(ExitCode::SUCCESS);
    }
    println!("crash: WRONG\n{wrong}");
    Ok(ExitCode::FAILURE)
}

fn spawn(extent: Extent) -> Result<Child, Failure> {
    let Extent { seed, kills, seconds } = extent;
    let mut command = Command::new(std::env::current_exe()?);
    command.args(["driver", &seed.to_string(), &kills.to_string(), &seconds.to_string()]);
    Ok(command.stdout(Stdio::piped()).spawn()?)
}

/// Returns where a world lies: every second one in memory, where a sync takes no time and kills strike elsewhere.
fn place(seed: u64) -> PathBuf {
    let memory = Path::new("/dev/shm");
    match SeededRandom::from_seeds(seed, 1).one_in(2) && memory.is_dir() {
        true => memory.to_owned(),
        false => std::env::temp_dir(),
    }
}

/// Drives one world after the other until there were enough kills, the time is over, or something is wrong.
pub(crate) fn drive(extent: &Extent) -> Result<(), Failure> {
    children::adopt_orphans()?;
    let end = Instant::now() + Duration::from_secs(extent.seconds);
    let mut random = SeededRandom::new(extent.seed);
    let mut left = extent.kills;
    while left > 0 && Instant::now() < end {
        let seed = random.number();
        let kills = left.min(KILLS_OF_WORLD);
        left -= kills;
        let directory = tempfile::Builder::new().prefix("haft-crash-").tempdir_in(place(seed))?;
        let mut driver = Driver::new(World::at(directory.path()), seed)?;
        driver.drive(kills)?;
        println!("counts {}", driver.counts.to_json()?);
        if !driver.wrong.is_empty() {
            println!("world seed {seed}, left in {}", directory.keep().display());
            driver.wrong.iter().for_each(|wrong| println!("  {wrong}"));
            return Ok(());
        }
    }
    Ok(())
}
