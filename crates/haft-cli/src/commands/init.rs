//! `haft init`: writes a short manifest to start from, or one with every setting in comments. A person at a terminal is asked what
//! it should say.

mod questions;

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;

use clap::Args;
use serde::Serialize;

use self::questions::InitAnswers;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use haft_app::TrustStore;
use haft_app::manifest::{FILE_NAME, ManifestFile};
use haft_app::{quote, user_configuration};

/// The text of the new manifest.
pub(crate) const TEMPLATE: &str = include_str!("../haft.toml.template");
/// The text of a new configuration of the user.
const USER_TEMPLATE: &str = include_str!("../user.toml.template");
/// The mode of a manifest of a workspace, before the umask.
const SHARED_FILE_MODE: u32 = 0o666;
/// The mode of a configuration that only its owner may write.
const OWNER_FILE_MODE: u32 = 0o600;
/// The mode of the directory of a configuration.
const OWNER_DIRECTORY_MODE: u32 = 0o700;

/// Write a haft.toml to start from
///
/// On a terminal, haft asks three questions: what agents may do without asking, which hosts commands reach, and which files no
/// agent reads. The file holds for this directory and those below it. haft trusts the new file; after a change, haft trust
/// trusts it again. With --user, the file is your own configuration, which holds for all of your projects.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft init
  haft init --all-settings        List every setting in comments
  haft init --root ~/src/project
  haft init --user                Write ~/.config/haft/haft.toml")]
pub(crate) struct InitArgs {
    /// Write your own configuration, for all of your projects
    #[arg(long)]
    user: bool,
    /// List every setting of a manifest in comments, and ask nothing
    #[arg(long, conflicts_with = "user")]
    all_settings: bool,
}

/// The next steps of a person.
const NEXT_STEPS: &str = "\
next:
  haft call read path=README.md    see how a call is answered
  haft permissions list            see what agents may do here
  haft mcp                         offer the tools to an MCP client, which starts this
  haft log                         see what was done";

#[derive(Serialize)]
struct InitReport<'a> {
    path: &'a Path,
}

/// Runs the command.
pub(crate) async fn run(args: &InitArgs, cx: &CliContext) -> CommandResult {
    let (path, mode) = match (args.user, &cx.setting_args.root) {
        (true, _) => {
            let path = user_configuration::path(&cx.host).ok_or_else(|| {
                CommandError::usage("there is no home directory for your own configuration")
                    .hint("export XDG_CONFIG_HOME=/path/to/a/directory")
            })?;
            if let Some(directory) = path.parent() {
                let mut directories = DirBuilder::new();
                let made = directories.recursive(true).mode(OWNER_DIRECTORY_MODE).create(directory);
                made.map_err(|err| {
                    CommandError::usage(format!("{} cannot be made: {err}", directory.display()))
                })?;
            }
            (path, OWNER_FILE_MODE)
        }
        (false, Some(root)) => {
            check_directory(root)?;
            (root.join(FILE_NAME), SHARED_FILE_MODE)
        }
        (false, None) => (cx.host.working_directory()?.join(FILE_NAME), SHARED_FILE_MODE),
    };
    let text = match (args.user, args.all_settings) {
        (true, _) => USER_TEMPLATE.to_owned(),
        (false, true) => TEMPLATE.to_owned(),
        // A file that is there already stays, so nothing is asked about it.
        (false, false) if path.exists() || cx.setting_args.json => InitAnswers::default().text(),
        (false, false) => questions::ask().await.text(),
    };
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&path)
        .and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|err| match err.kind() {
        io::ErrorKind::AlreadyExists => {
            let user = if args.user { " --user" } else { "" };
            let shown = quote::shell(&path.to_string_lossy());
            CommandError::usage(format!("{} exists already and is left as it is", path.display()))
                .hint(format!("mv {shown} {shown}.old && haft init{user}"))
        }
        _ => CommandError::usage(format!("{} cannot be written: {err}", path.display())),
    })?;
    let file = ManifestFile::read(&path)?;
    TrustStore::new(cx.host.state().trust()).grant(&file, cx.host.now_ms())?;
    cx.print_answer(&InitReport { path: file.path() }, || {
        let wrote = format!("wrote {}", file.path().display());
        if args.user { wrote } else { format!("{wrote}\n\n{NEXT_STEPS}") }
    })?;
    Ok(CommandStatus::Done)
}

/// Checks that the directory of a new manifest is there.
fn check_directory(root: &Path) -> Result<(), CommandError> {
    let shown = root.display();
    match root.metadata() {
        Ok(found) if found.is_dir() => Ok(()),
        Ok(_) => Err(CommandError::usage(format!("{shown} is no directory: name one with --root"))),
        Err(err) if err.kind() == io::ErrorKind::NotFound => {
            let quoted = quote::shell(&root.to_string_lossy());
            Err(CommandError::usage(format!("there is no directory {shown}: make it first"))
                .hint(format!("mkdir -p {quoted} && haft init --root {quoted}")))
        }
        Err(err) => Err(CommandError::usage(format!("{shown} cannot be used: {err}"))),
    }
}

#[cfg(test)]
mod tests {
    use haft_app::manifest::ExampleChecks;
    use haft_app::manifest::setting::{SETTINGS, Widens, keys_of_user};

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

    #[test]
    fn the_configuration_of_the_user_and_its_examples_can_be_read() {
        let examples = USER_TEMPLATE.lines().map(|line| {
            line.strip_prefix('#').filter(|rest| !rest.starts_with(' ')).unwrap_or(line)
        });
        let examples = examples.collect::<Vec<_>>().join("\n");
        for text in [USER_TEMPLATE.to_owned(), examples.clone()] {
            let file = ManifestFile::of_text("/nowhere/haft.toml".into(), text);
            let parsed = user_configuration::parse(&file, ExampleChecks::Checked);
            assert!(parsed.is_ok(), "{}", parsed.unwrap_err().message);
        }
        let table: toml::Table = examples.parse().unwrap();
        let keys: Vec<&str> = table.keys().map(String::as_str).collect();
        assert_eq!(keys, keys_of_user());
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
