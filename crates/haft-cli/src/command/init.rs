//! `haft init`: a manifest to start from, with everything that can be said in it.

use std::fs::OpenOptions;
use std::io::{self, Write};

use clap::Args;
use haft::{Clock, SystemClock};
use serde::Serialize;

use crate::cli::SettingArgs;
use crate::error::{CommandError, Status};
use crate::manifest::{FILE_NAME, ManifestFile};
use crate::state::State;
use crate::trust::Trust;
use crate::{output, quote, settings};

/// What is written.
pub(crate) const TEMPLATE: &str = include_str!("../haft.toml.template");

/// Write a haft.toml to start from
///
/// It says everything that can be said in a manifest, in comments, and holds for this directory and those below it.
/// What was written is trusted; after a change, haft trust makes it so again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft init
  haft init --root ~/src/project")]
pub(crate) struct InitArgs {}

#[derive(Serialize)]
struct Answer<'a> {
    path: &'a std::path::Path,
}

/// Runs the command.
pub(crate) fn run(
    _: &InitArgs,
    setting_args: &SettingArgs,
    state: &State,
) -> Result<Status, CommandError> {
    let directory = match &setting_args.root {
        Some(root) => root.clone(),
        None => settings::working_directory()?,
    };
    let path = directory.join(FILE_NAME);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path)
        .and_then(|mut file| file.write_all(TEMPLATE.as_bytes()));
    written.map_err(|err| match err.kind() {
        io::ErrorKind::AlreadyExists => {
            CommandError::usage(format!("{} exists already and is left as it is", path.display()))
                .hint(format!("mv {0} {0}.old && haft init", quote::shell(&path.to_string_lossy())))
        }
        _ => CommandError::usage(format!("{} cannot be written: {err}", path.display())),
    })?;
    let file = ManifestFile::read(&path)?;
    Trust::new(state.trust()).grant(&file, SystemClock.now_ms())?;
    if setting_args.json {
        output::json(&Answer { path: file.path() })?;
    } else {
        output::data(&output::visible(&format!("wrote {}", file.path().display())))?;
    }
    Ok(Status::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every line that starts with `#` and no space is an example: it must be valid once it is no comment any more.
    #[test]
    fn the_template_and_all_of_its_examples_can_be_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(FILE_NAME);
        let examples: Vec<&str> = TEMPLATE
            .lines()
            .map(|line| {
                line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
            })
            .collect();
        for text in [TEMPLATE.to_owned(), examples.join("\n")] {
            std::fs::write(&path, &text).unwrap();
            let parsed = ManifestFile::read(&path).unwrap().parse();
            assert!(parsed.is_ok(), "{}\n{text}", parsed.unwrap_err().message);
        }
        let manifest = ManifestFile::read(&path).unwrap().parse().unwrap();
        assert!(manifest.allow_network.is_some() && !manifest.requires.is_empty());
        assert!(!manifest.permissions.is_empty() && manifest.tools.is_some());
    }
}
