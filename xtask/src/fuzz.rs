//! Builds the fuzz targets of `fuzz/` on the stable toolchain and runs each for a bounded time.
//!
//! libFuzzer needs nothing but the coverage counters that LLVM's sancov pass puts in; asking for
//! that pass by its own flags spares a nightly toolchain and cargo-fuzz. It gives up the
//! sanitizers, which need nightly and find little in code without `unsafe`. Committed seeds are in
//! `fuzz/seeds/<target>`; the corpus that grows from them stays under `target/fuzz`.

#[cfg(test)]
mod tests;

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, ensure};

use crate::files;
use crate::process::{capture, cargo, run as run_program};
use crate::usage::{UsageError, unexpected_argument};

const SECONDS_DEFAULT: u64 = 20;
/// One input that takes longer is a finding, as a crash is.
const INPUT_SECONDS_MAX: u64 = 10;
const MEMORY_MIB_MAX: u64 = 2_048;
/// libFuzzer's last words hold the panic, the input and where it was written.
const CRASH_LINES_MAX: usize = 60;

const RUSTFLAGS: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    // One unit keeps the counters of a function together.
    "-Ccodegen-units=1",
];

/// The targets and the time that the command line selects.
struct FuzzRequest {
    seconds: u64,
    targets: Vec<String>,
}

/// Runs `cargo xtask fuzz`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let manifest = root.join("fuzz").join("Cargo.toml");
    let declared = declared_targets(&files::read(&manifest)?)?;
    let FuzzRequest { seconds, targets } = parse(arguments, declared)?;

    let version = capture(cargo().arg("-vV"))?;
    let host = version
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .context("`cargo -vV` does not name the host")?;
    let target_dir = root.join("target").join("fuzz");
    let mut build = cargo();
    build.current_dir(root).args(["build", "--quiet", "--release", "--manifest-path"]);
    build.arg(manifest).arg("--target-dir").arg(&target_dir);
    // Naming the host as target keeps the flags away from build scripts and procedural macros.
    build.args(["--target", host]).env("RUSTFLAGS", RUSTFLAGS.join(" "));
    run_program(build.env_remove("CARGO_ENCODED_RUSTFLAGS"))?;

    for target in &targets {
        let [corpus, artifacts] =
            ["corpus", "artifacts"].map(|name| target_dir.join(name).join(target));
        files::create_dir(&corpus)?;
        files::create_dir(&artifacts)?;
        let mut command = Command::new(target_dir.join(host).join("release").join(target));
        command.current_dir(root).arg(&corpus);
        let seeds = root.join("fuzz").join("seeds").join(target);
        if seeds.is_dir() {
            command.arg(seeds);
        }
        command.arg(format!("-artifact_prefix={}/", artifacts.display()));
        command.arg(format!("-max_total_time={seconds}"));
        command.arg(format!("-timeout={INPUT_SECONDS_MAX}"));
        command.arg(format!("-rss_limit_mb={MEMORY_MIB_MAX}"));

        let started = Instant::now();
        let output =
            command.output().with_context(|| format!("cannot start fuzz target {target}"))?;
        let log = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "{}", describe_crash(target, &log));
        let FuzzProgress { runs, coverage_first, coverage_last } =
            read_progress(&log).with_context(|| {
                format!(
                    "fuzz target {target} reports no coverage; is the sancov pass still in RUSTFLAGS?"
                )
            })?;
        let time = started.elapsed().as_secs_f64();
        println!(
            "fuzz: {target}: {runs} runs in {time:.0} s, coverage {coverage_first} -> {coverage_last}"
        );
    }
    Ok(())
}

/// Returns the names of the `[[bin]]` sections of a manifest.
pub(crate) fn declared_targets(manifest: &str) -> anyhow::Result<Vec<String>> {
    let manifest: toml::Table = manifest.parse().context("fuzz/Cargo.toml is not TOML")?;
    let binaries = manifest.get("bin").and_then(toml::Value::as_array);
    let names = binaries.into_iter().flatten().filter_map(|binary| binary.get("name")?.as_str());
    Ok(names.map(str::to_owned).collect())
}

/// Reads the command line. Without the name of a target it selects all that are declared.
fn parse(arguments: &[String], declared: Vec<String>) -> anyhow::Result<FuzzRequest> {
    let mut request = FuzzRequest { seconds: SECONDS_DEFAULT, targets: Vec::new() };
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            let value = arguments.next().map(String::as_str).unwrap_or_default();
            let seconds = value.parse().ok().filter(|&seconds| seconds > 0);
            request.seconds = seconds.ok_or_else(|| {
                UsageError(format!("--seconds takes a number from 1 up, not `{value}`"))
            })?;
        } else if argument.starts_with('-') {
            return Err(unexpected_argument("fuzz", argument).into());
        } else {
            request.targets.push(argument.clone());
        }
    }
    ensure!(
        !declared.is_empty(),
        "fuzz/Cargo.toml declares no target; add a [[bin]] for each fuzz/fuzz_targets/*.rs"
    );
    if let Some(unknown) = request.targets.iter().find(|name| !declared.contains(name)) {
        let known = declared.join(", ");
        return Err(UsageError(format!("no fuzz target `{unknown}`; there are {known}")).into());
    }
    if request.targets.is_empty() {
        request.targets = declared;
    }
    Ok(request)
}

#[derive(Debug, PartialEq, Eq)]
struct FuzzProgress {
    runs: u64,
    coverage_first: u64,
    coverage_last: u64,
}

/// Reads libFuzzer's log, whose lines look like `#1234 NEW cov: 56 ft: 78 corp: …`.
///
/// Returns nothing when no line has coverage: then the target ran blind.
fn read_progress(log: &str) -> Option<FuzzProgress> {
    let mut progress: Option<FuzzProgress> = None;
    for line in log.lines() {
        let Some((runs, rest)) =
            line.strip_prefix('#').and_then(|line| line.split_once(char::is_whitespace))
        else {
            continue;
        };
        let coverage = rest.split_once("cov: ").and_then(|(_, rest)| rest.split_once(' '));
        let (Ok(runs), Some((coverage, _))) = (runs.parse(), coverage) else { continue };
        let Ok(coverage) = coverage.parse() else { continue };
        let coverage_first = progress.map_or(coverage, |progress| progress.coverage_first);
        progress = Some(FuzzProgress { runs, coverage_first, coverage_last: coverage });
    }
    progress
}

fn describe_crash(target: &str, log: &str) -> String {
    let written =
        log.lines().find_map(|line| line.split_once("Test unit written to ")).map(|(_, path)| path);
    let lines: Vec<&str> = log.lines().collect();
    let tail = lines.get(lines.len().saturating_sub(CRASH_LINES_MAX)..).unwrap_or_default();
    let input = written.map_or("it died without naming one".to_owned(), |path| {
        format!("{path}\nonce mended, keep that file under fuzz/seeds/{target}")
    });
    format!("{}\nfuzz target {target} failed; the input: {input}", tail.join("\n"))
}
