//! Kills processes that ask and processes that answer, and checks each time that no call executed without a valid answer, that
//! none executed twice, and that none waits for ever.
//!
//! `crash_asks --kills N [--seed S] [--seconds S]` makes *worlds*, one after the other. In each, one process makes calls that
//! need an answer, and two others answer them: they allow, reject and edit. All three are killed at random moments and started
//! again, until all calls are answered. The seed decides the answers and the times of the kills; what a kill hits depends on
//! timing. A world with a fault is kept.

mod answerer;
mod asker;
mod audit;
mod world;

use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use haft_faults::SeededRandom;

use world::{Counts, World};

/// Whatever ends the program: it is printed and nothing else.
type CrashFailure = Box<dyn std::error::Error + Send + Sync>;

/// Default time for the whole run, in seconds; a world that has begun is completed.
const SECONDS_DEFAULT: u64 = 3_600;
/// Processes that answer at the same time.
const ANSWERERS: usize = 2;
/// Longest life of a process before it is killed, in milliseconds.
const LIFE_MS_MAX: u64 = 400;
/// Time after which a world in which no call is answered any more has a fault, in milliseconds.
const STALL_MS_MAX: u64 = 60_000;
/// After so many kills in one world, the processes live until all is answered.
const KILLS_OF_WORLD_MAX: u64 = 40;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ended = match args.first().map(String::as_str) {
        Some("ask") => asker::run(&args),
        Some("answer") => answerer::run(&args),
        _ => drive(&args),
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            eprintln!("error: {err}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the value of an option.
fn option(args: &[String], name: &str) -> Result<Option<u64>, CrashFailure> {
    let place = args.iter().rposition(|arg| arg == name);
    let value = place.and_then(|place| args.get(place + 1));
    Ok(value.map(|value| value.parse()).transpose()?)
}

fn drive(args: &[String]) -> Result<(), CrashFailure> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let kills = option(args, "--kills")?.ok_or("expected --kills N [--seed S] [--seconds S]")?;
    let seed = option(args, "--seed")?.unwrap_or(u64::from(since_1970.subsec_nanos()));
    let seconds = option(args, "--seconds")?.unwrap_or(SECONDS_DEFAULT);
    println!("crash of asks: {kills} kills, --seed {seed}");
    let mut random = SeededRandom::new(seed);
    let mut counts = Counts::default();
    let end = Instant::now() + Duration::from_secs(seconds);
    while counts.kills < kills && Instant::now() < end {
        let directory = tempfile::tempdir()?;
        let world = World::at(directory.path());
        let lived = live(&world, &mut random, &mut counts);
        if let Err(err) = lived.and_then(|()| audit::audit(&world, &mut counts)) {
            return Err(format!("{err}; see {}", directory.keep().display()).into());
        }
        counts.worlds += 1;
    }
    println!("crash of asks: {counts}; nothing executed unasked, nothing twice");
    Ok(())
}

/// One process of a world, and when it is killed.
struct Life {
    child: Child,
    ends: Instant,
}

/// Lets processes live and die until all calls of a world are answered.
fn live(world: &World, random: &mut SeededRandom, counts: &mut Counts) -> Result<(), CrashFailure> {
    let (mut kills, mut life) = (0, 0);
    let mut start = |role: &str, kills: u64, random: &mut SeededRandom| {
        life += 1;
        // At the end, processes live until all is answered.
        let is_last = kills >= KILLS_OF_WORLD_MAX;
        let lives_ms = if is_last { STALL_MS_MAX } else { random.below(LIFE_MS_MAX) };
        let child = Command::new(std::env::current_exe()?)
            .arg(role)
            .arg(world.directory())
            .arg(life.to_string())
            .arg(random.below(u64::MAX).to_string())
            .stdin(Stdio::null())
            .spawn()?;
        let ends = Instant::now() + Duration::from_millis(lives_ms);
        Ok::<Life, CrashFailure>(Life { child, ends })
    };
    let mut asker = start("ask", kills, random)?;
    let mut answerers = Vec::new();
    for _ in 0..ANSWERERS {
        answerers.push(start("answer", kills, random)?);
    }
    let begun = Instant::now();
    let ended = loop {
        std::thread::sleep(Duration::from_millis(1));
        if let Some(status) = asker.child.try_wait()? {
            break match status.code() {
                Some(0) => Ok(()),
                code => Err(format!("the process that asks ended with {code:?}").into()),
            };
        }
        if begun.elapsed() > Duration::from_millis(STALL_MS_MAX) * 3 {
            break Err("calls wait for ever".into());
        }
        if Instant::now() >= asker.ends {
            asker.child.kill()?;
            asker.child.wait()?;
            (kills, counts.kills) = (kills + 1, counts.kills + 1);
            counts.askers_killed += 1;
            asker = start("ask", kills, random)?;
        }
        for answerer in &mut answerers {
            if Instant::now() >= answerer.ends || answerer.child.try_wait()?.is_some() {
                if answerer.child.try_wait()?.is_none() {
                    (kills, counts.kills) = (kills + 1, counts.kills + 1);
                }
                // One that has ended by itself cannot be killed.
                let _ = answerer.child.kill();
                answerer.child.wait()?;
                *answerer = start("answer", kills, random)?;
            }
        }
    };
    for mut life in answerers.into_iter().chain([asker]) {
        let _ = life.child.kill();
        life.child.wait()?;
    }
    ended
}
