//! Simulates fleets in virtual time and checks the promises of the journal: `[--seed S] [--workers N] [--calls N]`. The calls are made in
//! histories of a bounded size, each with the next seed. A failure prints the command that repeats it.

use std::process::ExitCode;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use haft_faults::fleet::{
    FleetCounts, FleetFailure, FleetOptions, HISTORY_CALLS_MAX, simulate_fleet,
};

const WORKERS_DEFAULT: usize = 1_000;
const CALLS_DEFAULT: usize = 1_000_000;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options = match parse(&args) {
        Ok(options) => options,
        Err(err) => {
            eprintln!("error: {err}");
            return ExitCode::from(2);
        }
    };
    match run(options) {
        Ok(()) => ExitCode::SUCCESS,
        Err(FleetFailure { options, at_ms, reason }) => {
            let FleetOptions { seed, workers, calls, .. } = options;
            eprintln!(
                "error: seed {seed} fails after {at_ms} virtual ms: {reason}\n\n\
                 hint: cargo xtask simulate fleet --seed {seed} --workers {workers} --calls {calls}"
            );
            ExitCode::FAILURE
        }
    }
}

/// Reads the command line. Without a seed, each run takes other histories.
fn parse(args: &[String]) -> Result<FleetOptions, String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut options = FleetOptions {
        seed: since.as_secs(),
        workers: WORKERS_DEFAULT,
        calls: CALLS_DEFAULT,
        broken_rule: None,
    };
    for pair in args.chunks(2) {
        let [name, value] = pair else { return Err(format!("{} has no value", pair.join(" "))) };
        let number =
            value.parse::<u64>().map_err(|_| format!("{name} takes a number, not {value}"))?;
        let count = usize::try_from(number).ok().filter(|count| *count > 0);
        let count = count.ok_or_else(|| format!("{name} takes a number from 1 up, not {value}"));
        match name.as_str() {
            "--seed" => options.seed = number,
            "--workers" => options.workers = count?,
            "--calls" => options.calls = count?,
            _ => return Err(format!("expected --seed, --workers or --calls, found {name}")),
        }
    }
    Ok(options)
}

/// Simulates one history after the other.
fn run(options: FleetOptions) -> Result<(), FleetFailure> {
    let started = Instant::now();
    let mut counts = FleetCounts::default();
    let mut left = options.calls;
    let mut seed = options.seed;
    while left > 0 {
        let calls = left.min(HISTORY_CALLS_MAX);
        let history = simulate_fleet(FleetOptions { seed, calls, ..options })?;
        println!("fleet: seed {seed}: {history}");
        counts.add_history(&history);
        left -= calls;
        seed = seed.wrapping_add(1);
    }
    println!(
        "fleet: {} workers: {counts}; no promise was broken, in {:.1} s",
        options.workers,
        started.elapsed().as_secs_f64()
    );
    Ok(())
}
