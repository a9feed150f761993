//! Set-up, test, tidy, bench, fuzz, packages and generated files: the one command line that a person and CI share.
//!
//! Each command is one file and one row of `COMMANDS`. Nothing here is part of haft itself, and no
//! crate of haft depends on it.

mod bench;
mod ci;
mod crash;
mod elf;
mod files;
mod fleet;
mod fuzz;
mod generated;
mod limits;
mod markers;
mod measure;
mod package;
mod picture;
mod process;
mod repository;
mod rubric;
mod rust_text;
mod setup;
mod simulate;
mod site;
mod soak;
mod spec;
mod syntax;
mod test;
mod tidy;
mod usage;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;

use usage::{UsageError, unexpected_argument};

/// One subcommand of `cargo xtask`.
struct XtaskCommand {
    name: &'static str,
    /// The arguments that may follow the name.
    arguments: &'static str,
    summary: &'static str,
    run: fn(&Path, &[String]) -> anyhow::Result<()>,
}

const COMMANDS: &[XtaskCommand] = &[
    command("ci", "", "Run everything that CI runs, the tests last", ci::run),
    command(
        "test",
        "[FILTER…]",
        "Install what the tests need, then run them all or those that match",
        test::run,
    ),
    command("setup", "", "Install what the tests need and stop there", setup::run),
    command(
        "tidy",
        "[--lower | --prose [PATH…]]",
        "Check rules that the compiler does not know; lower the allowances for prose, or list what they cover",
        tidy::run,
    ),
    command(
        "measure",
        "[--json | --write FILE] [--root DIR]",
        "Print how long, repetitive and entangled the code is, or write that into a document",
        measure::run,
    ),
    command(
        "package",
        "[--target TARGET…] [--profile NAME] [--programs DIR…] [--out DIR]",
        "Build haft for every platform and make all packages, or make them of programs that are built",
        package::run,
    ),
    command(
        "bench",
        "[--quick] [NAME…]",
        "Measure haft beside its peers and write docs/benchmarks.md",
        bench::run,
    ),
    command(
        "crash",
        "[--kills N] [--agents N] [--seed S] [--seconds S]",
        "Kill haft again and again and look each time whether it kept its word (default 500 kills; a tenth as many more hit plans, and agents)",
        crash::run,
    ),
    command(
        "fuzz",
        "[--seconds N] [TARGET…]",
        "Run the fuzz targets, each for a bounded time (default 20 s)",
        fuzz::run,
    ),
    command(
        "fleet",
        "[--kills N]",
        "Build haft-temporal and test it on a real Temporal and PostgreSQL (default 12 kills)",
        fleet::run,
    ),
    command(
        "simulate",
        "fleet [--seed S] [--workers N] [--calls N]",
        "Simulate a fleet that fails in all ways, in virtual time, and check the promises of the journal (default 1,000 workers and a million calls)",
        simulate::run,
    ),
    command(
        "soak",
        "",
        "Run kills, fuzz targets and shell lines at length; the fuzz targets alone take 10 minutes each",
        soak::run,
    ),
    command(
        "rubric",
        "[--write]",
        "Make the bad calls of the rubric and check what a model reads, or accept the answers as they are",
        rubric::run,
    ),
    command(
        "spec",
        "",
        "Check the table of the specifications' requirements, and run the tests that it names",
        spec::run,
    ),
    command(
        "picture",
        "",
        "Run the session of docs/session.txt and draw it into docs/session.svg",
        picture::run,
    ),
    command(
        "site",
        "",
        "Make the documentation a site that can be searched, in target/site/book, and check its links",
        site::run,
    ),
    command(
        "generated",
        "[--check]",
        "Write the generated files, or check that they are up to date",
        generated::run,
    ),
];

const fn command(
    name: &'static str,
    arguments: &'static str,
    summary: &'static str,
    run: fn(&Path, &[String]) -> anyhow::Result<()>,
) -> XtaskCommand {
    XtaskCommand { name, arguments, summary, run }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) if err.is::<UsageError>() => {
            eprintln!("error: {err}\n\nhint: `cargo xtask help` lists the commands");
            ExitCode::from(2)
        }
        Err(err) => {
            eprintln!("error: {err:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(arguments: &[String]) -> anyhow::Result<()> {
    let (name, rest) = match arguments.split_first() {
        Some((name, rest)) if !["help", "--help", "-h"].contains(&name.as_str()) => (name, rest),
        _ => {
            print!("{}", help());
            return Ok(());
        }
    };
    let command = COMMANDS
        .iter()
        .find(|command| command.name == name)
        .ok_or_else(|| UsageError(format!("there is no command `{name}`")))?;
    if command.arguments.is_empty() && !rest.is_empty() {
        return Err(unexpected_argument(name, &rest[0]).into());
    }
    (command.run)(&root()?, rest)
}

fn help() -> String {
    let mut text = String::from("Usage: cargo xtask COMMAND\n\nCommands:\n");
    let usage = |command: &XtaskCommand| format!("{} {}", command.name, command.arguments);
    let width =
        COMMANDS.iter().map(|command| usage(command).chars().count()).max().unwrap_or_default();
    for command in COMMANDS {
        text.push_str(&format!("  {:<width$}  {}\n", usage(command), command.summary));
    }
    text
}

/// Returns the root of the workspace, whatever directory inside it the command was started in.
fn root() -> anyhow::Result<PathBuf> {
    // Cargo sets the variable at run time; the value compiled in would be wrong in a checkout that
    // was moved or that shares its target directory with another.
    let manifest_dir = std::env::var_os("CARGO_MANIFEST_DIR")
        .context("CARGO_MANIFEST_DIR is not set; start this as `cargo xtask`")?;
    let root = Path::new(&manifest_dir).parent().context("xtask has no parent directory")?;
    Ok(root.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_listed_once_in_help() {
        let help = help();
        for command in COMMANDS {
            let rows =
                help.lines().filter(|line| line.trim_start().starts_with(command.name)).count();
            assert_eq!(rows, 1, "{}\n{help}", command.name);
        }
    }

    #[test]
    fn nonsense_is_a_usage_error() {
        for arguments in [
            &["frobnicate"][..],
            &["tidy", "extra"],
            &["fuzz", "--seconds", "x"],
            &["fuzz", "--y"],
            &["crash", "--kills"],
            &["simulate"],
            &["simulate", "plans"],
        ] {
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let err = dispatch(&arguments).expect_err("a bad command line is refused");
            assert!(err.is::<UsageError>(), "{err:#}");
        }
    }
}
