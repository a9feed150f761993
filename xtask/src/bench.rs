//! Measures haft beside its peers and writes `docs/benchmarks.md`.
//!
//! Peers of one measurement take turns in one run, so that whatever else the machine does meets all of them; what
//! counts is their ratio. Nothing here fails because something is slow: the figures are printed and people judge.

mod agents;
mod bash;
mod calls;
mod extract;
mod growth;
mod http;
mod journal;
mod machine;
mod memory;
mod packages;
mod peers;
mod plans;
mod python;
mod report;
mod samples;
mod sandbox;
mod search;
mod server;
mod size;
mod snapshot;
mod start;
mod tools;
mod tree;
mod turns;

use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::machine::Machine;
use self::peers::Peers;
use self::report::ReportSection;
use crate::files;
use crate::process::{cargo, run as run_program};
use crate::usage::{UsageError, unexpected_argument};

const DOCUMENT: &str = "docs/benchmarks.md";

/// One row of the table of measurements.
struct Measurement {
    name: &'static str,
    run: fn(&Bench) -> anyhow::Result<ReportSection>,
}

const MEASUREMENTS: &[Measurement] = &[
    Measurement { name: "start", run: start::measure },
    Measurement { name: "read", run: calls::measure_read },
    Measurement { name: "write", run: calls::measure_write },
    Measurement { name: "grep", run: search::measure_grep },
    Measurement { name: "glob", run: search::measure_glob },
    Measurement { name: "bash", run: bash::measure },
    Measurement { name: "sandbox", run: sandbox::measure },
    Measurement { name: "journal", run: journal::measure },
    Measurement { name: "snapshot", run: snapshot::measure },
    Measurement { name: "plans", run: plans::measure },
    Measurement { name: "python", run: python::measure },
    Measurement { name: "agents", run: agents::measure },
    Measurement { name: "tools", run: tools::measure },
    Measurement { name: "extract", run: extract::measure },
    Measurement { name: "http", run: http::measure },
    Measurement { name: "growth", run: growth::measure },
    Measurement { name: "memory", run: memory::measure },
    Measurement { name: "size", run: size::measure },
    Measurement { name: "packages", run: packages::measure },
];

/// The measurements that the command line selects.
struct BenchRequest {
    is_quick: bool,
    measurements: Vec<&'static Measurement>,
    /// Whether the figures are worth keeping.
    is_whole: bool,
}

/// The input of every measurement.
struct Bench {
    root: PathBuf,
    peers: Peers,
    /// Lies below `target`, empty at first and deleted in the end.
    work_dir: PathBuf,
    /// Lies below `target` and is kept for the next time.
    kept_dir: PathBuf,
    /// Few rounds are enough to see that everything runs and roughly how fast.
    is_quick: bool,
}

impl Bench {
    /// Returns how many rounds to make, given how many a whole run makes.
    fn rounds(&self, full: usize) -> usize {
        if self.is_quick { full.div_ceil(10) } else { full }
    }

    /// Returns a new directory for the files of one measurement.
    fn make_dir(&self, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self.work_dir.join(name);
        files::create_dir(&dir)?;
        Ok(dir)
    }
}

/// Runs `cargo xtask bench`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let request = parse(arguments)?;
    // The time that the client itself takes is part of every figure, so it is compiled as its peers are.
    if cfg!(debug_assertions) {
        let mut optimised = cargo();
        optimised.current_dir(root).args(["run", "--quiet", "--release", "--package", "xtask"]);
        return run_program(optimised.args(["--", "bench"]).args(arguments));
    }
    let target_dir = root.join("target").join("bench");
    let bench = Bench {
        root: root.to_owned(),
        work_dir: target_dir.join("work"),
        kept_dir: target_dir.join("kept"),
        peers: Peers::prepare(root, &target_dir.join("work"))?,
        is_quick: request.is_quick,
    };
    let machine = Machine::look(&bench.peers)?;
    let sections = measure(&bench, &request.measurements);
    files::remove_dir(&bench.work_dir)?;
    let sections = sections?;
    println!("{}", report::targets(&sections));
    if request.is_whole {
        files::write(&root.join(DOCUMENT), report::document(&machine, &sections))?;
        println!("wrote {DOCUMENT}");
    }
    Ok(())
}

fn measure(bench: &Bench, measurements: &[&Measurement]) -> anyhow::Result<Vec<ReportSection>> {
    let mut sections = Vec::new();
    for measurement in measurements {
        eprintln!("measuring {}", measurement.name);
        let section = (measurement.run)(bench)
            .with_context(|| format!("cannot measure {}", measurement.name))?;
        println!("{section}");
        sections.push(section);
    }
    Ok(sections)
}

fn parse(arguments: &[String]) -> Result<BenchRequest, UsageError> {
    let (mut is_quick, mut measurements) = (false, Vec::new());
    for argument in arguments {
        if argument == "--quick" {
            is_quick = true;
        } else if argument.starts_with('-') {
            return Err(unexpected_argument("bench", argument));
        } else if let Some(found) = MEASUREMENTS.iter().find(|known| known.name == argument) {
            measurements.push(found);
        } else {
            let names: Vec<&str> = MEASUREMENTS.iter().map(|known| known.name).collect();
            let names = names.join(", ");
            let message = format!("nothing to measure is called `{argument}`; there is {names}");
            return Err(UsageError(message));
        }
    }
    if measurements.is_empty() {
        measurements = MEASUREMENTS.iter().collect();
    }
    let is_whole = !is_quick && measurements.len() == MEASUREMENTS.len();
    Ok(BenchRequest { is_quick, measurements, is_whole })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(arguments: &[&str]) -> Result<BenchRequest, UsageError> {
        parse(&arguments.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn only_a_whole_run_is_kept() {
        for (arguments, measurements, whole) in [
            (&[][..], MEASUREMENTS.len(), true),
            (&["--quick"], MEASUREMENTS.len(), false),
            (&["grep"], 1, false),
            (&["grep", "--quick", "read"], 2, false),
        ] {
            let request = request(arguments).expect("the arguments are known");
            assert_eq!(request.measurements.len(), measurements, "{arguments:?}");
            assert_eq!(request.is_whole, whole, "{arguments:?}");
        }
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for arguments in [&["--quik"][..], &["reed"], &["grep", "-x"]] {
            assert!(request(arguments).is_err(), "{arguments:?}");
        }
    }
}
