//! `cargo xtask measure`: the figures that say how hard the code is to read and to change.
//!
//! It counts and judges nothing: docs/structure.md says what each figure means and which goal it has.
//! All figures are of production code, as `syntax` reads it.

mod dependencies;
mod document;
mod figures;
mod output;

use std::path::{Path, PathBuf};

use crate::repository::Repository;
use crate::syntax::parse_production;
use crate::usage::{UsageError, unexpected_argument};
use dependencies::DependencyFigures;
use figures::WorkspaceFigures;

/// Everything that is measured in one workspace.
struct Measurement {
    workspace: WorkspaceFigures,
    dependencies: DependencyFigures,
}

/// The form in which the figures leave.
enum MeasureOutput {
    Table,
    Json,
    /// Rewrites the table between the markers of a document.
    Document(PathBuf),
    /// Lists the private functions that are used once, of the files below a path.
    SingleUse(PathBuf),
}

/// Runs `cargo xtask measure`.
pub(crate) fn run(root: &Path, arguments: &[String]) -> anyhow::Result<()> {
    let mut output = MeasureOutput::Table;
    let mut root = root.to_owned();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--json" => output = MeasureOutput::Json,
            "--write" => output = MeasureOutput::Document(value_of(argument, rest.next())?),
            "--single-use" => output = MeasureOutput::SingleUse(value_of(argument, rest.next())?),
            "--root" => root = value_of(argument, rest.next())?,
            _ => return Err(unexpected_argument("measure", argument).into()),
        }
    }
    let repository = Repository::read(&root)?;
    let measurement = || -> anyhow::Result<Measurement> {
        Ok(Measurement {
            workspace: WorkspaceFigures::of(&repository)?,
            dependencies: DependencyFigures::of(&root, &repository.packages)?,
        })
    };
    match output {
        MeasureOutput::Table => print!("{}", output::table(&measurement()?)),
        MeasureOutput::Json => println!("{:#}", output::json(&measurement()?)),
        MeasureOutput::Document(path) => document::write(&path, &measurement()?)?,
        MeasureOutput::SingleUse(path) => {
            for file in parse_production(&repository.sources)? {
                if !Path::new(&file.path).starts_with(&path) {
                    continue;
                }
                for function in figures::single_use_functions(&file) {
                    println!("{}: {} ({} lines)", file.path, function.name, function.lines);
                }
            }
        }
    }
    Ok(())
}

fn value_of(flag: &str, value: Option<&String>) -> Result<PathBuf, UsageError> {
    value.map(PathBuf::from).ok_or_else(|| UsageError(format!("`{flag}` needs a path")))
}
