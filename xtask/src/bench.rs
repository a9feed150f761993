//! Measures haft beside its peers and writes `docs/benchmarks.md`.
//!
//! Peers of one measurement take turns in one run, so that whatever else the machine does meets all of them; what
//! counts is their ratio. Nothing here fails because something is slow: the figures are printed and people judge.

mod agents;
mod bash;
mod calls;
mod extract;
mod http;
mod journal;
mod machine;
mod memory;
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
    Measurement { name: "memory", run: memory::measure },
    Measurement { name: "size", run: size::measure },
];

/// How often turns are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Full,
    /// Enough to see that everything runs and roughly how fast.
    Quick,
}

/// The measurements that the command line selects.
struct BenchRequest {
    pace: Pace,
    measurements: Vec<&'static Measurement>,
}

impl BenchRequest {
    /// Returns whether the figures are worth keeping.
    fn is_whole(&self) -> bool {
        self.pace == Pace::Full && self.measurements.len() == MEASUREMENTS.len()
    }
}

/// The input of every measurement.
struct Bench {
    root: PathBuf,
    peers: Peers,
    /// Lies below `target`, empty at first and deleted in the end.
    work_dir: PathBuf,
    /// Lies below `target` and is kept for the next time.
    kept_dir: PathBuf,
    pace: Pace,
}

impl Bench {
    /// Returns how many rounds to make, given how many a whole run makes.
    fn rounds(&self, full: usize) -> usize {
        match self.pace {
            Pace::Full => full,
            Pace::Quick => full.div_ceil(10),
        }
    }

    /// Returns a new directory for the files of one measurement.
    fn make_dir(&self, name: &str) -> anyhow::Result<PathBuf> {
        let dir = self.work_dir.join(name);
        std::fs::create_dir_all(&dir)
            .with_context(|| format!("cannot create {}", dir.display()))?;
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
        pace: request.pace,
    };
    let machine = Machine::look(&bench.peers)?;
    let sections = measure(&bench, &request.measurements);
    std::fs::remove_dir_all(&bench.work_dir)
        .with_context(|| format!("cannot delete {}", bench.work_dir.display()))?;
    let sections = sections?;
    println!("{}", report::targets(&sections));
    if request.is_whole() {
        let path = root.join(DOCUMENT);
        std::fs::write(&path, report::document(&machine, &sections))
            .with_context(|| format!("cannot write {}", path.display()))?;
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
    let mut request = BenchRequest { pace: Pace::Full, measurements: Vec::new() };
    for argument in arguments {
        if argument == "--quick" {
            request.pace = Pace::Quick;
        } else if argument.starts_with('-') {
            return Err(unexpected_argument("bench", argument));
        } else {
            let found = MEASUREMENTS.iter().find(|measurement| measurement.name == argument);
            request.measurements.push(found.ok_or_else(|| unknown(argument))?);
        }
    }
    if request.measurements.is_empty() {
        request.measurements = MEASUREMENTS.iter().collect();
    }
    Ok(request)
}

fn unknown(name: &str) -> UsageError {
    let names: Vec<&str> = MEASUREMENTS.iter().map(|measurement| measurement.name).collect();
    UsageError(format!("nothing to measure is called `{name}`; there is {}", names.join(", ")))
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
            assert_eq!(request.is_whole(), whole, "{arguments:?}");
        }
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for arguments in [&["--quik"][..], &["reed"], &["grep", "-x"]] {
            assert!(request(arguments).is_err(), "{arguments:?}");
        }
    }
}
