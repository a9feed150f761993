//! `haft init`: writes a manifest to start from, with every setting in comments.

use std::fs::OpenOptions;
use std::io::{self, Write};

use clap::Args;
use serde::Serialize;

use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::TrustStore;
use haft_app::manifest::{FILE_NAME, ManifestFile};
use haft_app::quote;

/// The text of the new manifest.
pub(crate) const TEMPLATE: &str = include_str!("../haft.toml.template");

/// Write a haft.toml to start from
///
/// The file lists every setting of a manifest in comments, and holds for this directory and those below it. haft trusts the
/// new file; after a change, haft trust trusts it again.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft init
  haft init --root ~/src/project")]
pub(crate) struct InitArgs {}

#[derive(Serialize)]
struct InitReport<'a> {
    path: &'a std::path::Path,
}

/// Runs the command.
pub(crate) fn run(_: &InitArgs, cx: &CliContext) -> CommandResult {
    let directory = match &cx.setting_args.root {
        Some(root) => root.clone(),
        None => cx.host.working_directory()?,
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
    TrustStore::new(cx.host.state().trust()).grant(&file, cx.host.now_ms())?;
    cx.print_answer(&InitReport { path: file.path() }, || {
        format!("wrote {}", file.path().display())
    })?;
    Ok(CommandStatus::Done)
}

#[cfg(test)]
mod tests {
    use haft_app::manifest::setting::{SETTINGS, Widens};

    use super::*;

    /// Returns whether a table has a key as settings declare it: `[]` stands for any item, and `*` for any entry.
    fn has_key(value: &toml::Value, key: &str) -> bool {
        let (name, rest) = key.split_once('.').unwrap_or((key, ""));
        let (name, is_list) = name.strip_suffix("[]").map_or((name, false), |name| (name, true));
        let inside = |value: &toml::Value| rest.is_empty() || has_key(value, rest);
        let Some(table) = value.as_table() else { return false };
        match (name, table.get(name)) {
            ("*", _) => table.values().any(inside),
            (_, Some(found)) if is_list => {
                found.as_array().is_some_and(|items| items.iter().any(inside))
            }
            (_, Some(found)) => inside(found),
            (_, None) => false,
        }
    }

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
        let table: toml::Value = toml::from_str(&examples.join("\n")).unwrap();
        let missing = SETTINGS.iter().filter(|setting| !matches!(setting.widens, Widens::OfEntry));
        let missing = missing.filter_map(|setting| setting.key);
        let missing: Vec<&str> = missing.filter(|key| !has_key(&table, key)).collect();
        assert_eq!(missing, [""; 0], "the template has no example of these settings");
        let manifest = ManifestFile::read(&path).unwrap().parse().unwrap();
        assert!(manifest.allow_network.is_some() && !manifest.requires.is_empty());
        assert!(!manifest.permissions.is_empty() && manifest.tools.is_some());
    }
}
