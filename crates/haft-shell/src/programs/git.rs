//! `git` runs programs named in its configuration: pagers, editors, helpers, hooks, aliases.
//! Protecting the repository's configuration file covers the programs in it; this module checks
//! those that the command line can add.

use super::path_within;
use crate::analysis::CommandWord;
use crate::analysis::FileUseMode::{self, Read, Write};

/// Settings that only change the appearance, or the user's name.
const HARMLESS_SETTINGS: &[&str] = &[
    "advice.",
    "color.",
    "commit.gpgsign",
    "core.autocrlf",
    "core.quotepath",
    "diff.renames",
    "init.defaultbranch",
    "tag.gpgsign",
    "user.email",
    "user.name",
];

const GLOBAL_FLAGS: &[&str] = &[
    "--bare",
    "--glob-pathspecs",
    "--help",
    "--icase-pathspecs",
    "--literal-pathspecs",
    "--no-optional-locks",
    "--no-pager",
    "--no-replace-objects",
    "--noglob-pathspecs",
    "--version",
    "-P",
    "-h",
    "-v",
];

/// Subcommands that run their arguments, or serve other processes.
const RUNNING: &[&str] = &[
    "credential",
    "daemon",
    "difftool",
    "fast-import",
    "filter-branch",
    "for-each-repo",
    "gui",
    "help",
    "hook",
    "instaweb",
    "mergetool",
    "p4",
    "send-email",
    "shell",
    "submodule",
    "upload-pack",
    "receive-pack",
    "web--browse",
];

/// Options of subcommands that run their value, or an editor.
const RUNNING_OPTIONS: &[&str] = &[
    "--exec",
    "--ext-diff",
    "--extcmd",
    "--open-files-in-pager",
    "--receive-pack",
    "--template",
    "--textconv",
    "--tool",
    "--upload-pack",
    "--config",
    "--config-env",
    "--interactive",
];

/// Shortest abbreviation that counts as one of these options, with its dashes.
const LETTERS_MIN: usize = 4;

/// Options of `git config` that make it only read, whatever the other arguments are.
const READING_SETTINGS: &[&str] = &["--get", "--get-all", "--get-regexp", "--list", "-l"];
const WRITING_SETTINGS: &[&str] =
    &["--add", "--global", "--local", "--replace-all", "--unset", "--unset-all"];

/// Returns whether the arguments make git run only its own parts.
pub(super) fn is_plain(arguments: &[CommandWord]) -> bool {
    let mut rest = arguments;
    loop {
        let Some((first, after)) = rest.split_first() else { return true };
        let Some(text) = first.literal() else { return false };
        rest = after;
        if matches!(text, "-c") {
            let Some((setting, after)) = rest.split_first() else { return false };
            if !setting.literal().is_some_and(is_harmless) {
                return false;
            }
            rest = after;
        } else if matches!(text, "-C" | "--work-tree" | "--namespace") {
            rest = rest.get(1..).unwrap_or_default();
        } else if text.starts_with('-') {
            let takes_value = text.starts_with("--work-tree=") || text.starts_with("--namespace=");
            if !takes_value && !GLOBAL_FLAGS.contains(&text) {
                return false;
            }
        } else {
            return is_plain_subcommand(text, rest);
        }
    }
}

/// Returns the files that git shows or compares by name in the directory, and the files that it is
/// told to write. Names that could also be commits count if git may read them as files.
pub(super) fn files(arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
    let mut place = ".".to_owned();
    let mut rest = arguments.iter().map(|word| word.literal().unwrap_or_default());
    while let Some(text) = rest.next() {
        match text {
            "-C" => place = path_within(&place, rest.next().unwrap_or_default()),
            "-c" | "--work-tree" | "--namespace" => {
                rest.next();
            }
            text if text.starts_with('-') => {}
            name => {
                let files = subcommand_files(name, &rest.collect::<Vec<_>>());
                return files
                    .into_iter()
                    .map(|(path, how)| (path_within(&place, path), how))
                    .collect();
            }
        }
    }
    Vec::new()
}

fn subcommand_files<'a>(name: &str, words: &[&'a str]) -> Vec<(&'a str, FileUseMode)> {
    let end = words.iter().position(|text| *text == "--").unwrap_or(words.len());
    let (before, after) = words.split_at(end);
    let named = || after.iter().skip(1).copied();
    let operands = || before.iter().copied().filter(|text| !text.starts_with('-'));
    let is_foreign = |text: &str| text.starts_with('/') || text.starts_with("../");
    let has_no_index = before.contains(&"--no-index");
    let read: Vec<&str> = match name {
        "diff" if has_no_index || operands().any(is_foreign) => operands().chain(named()).collect(),
        "grep" if has_no_index => {
            let places: Vec<_> = operands().chain(named()).collect();
            if places.len() > 1 { places } else { vec!["."] }
        }
        // It searches tracked files in the directory, unless paths are given; before `--`, the
        // words may be commits.
        "grep" if after.len() < 2 => vec!["."],
        "annotate" | "blame" => operands().chain(named()).collect(),
        "diff" | "grep" | "log" | "show" => named().collect(),
        _ => Vec::new(),
    };
    let written = before.iter().enumerate().filter_map(|(at, text)| match *text {
        "--output" | "--output-directory" => before.get(at + 1).copied(),
        text => ["--output=", "--output-directory="]
            .into_iter()
            .find_map(|option| text.strip_prefix(option)),
    });
    let read = read.into_iter().map(|path| (path, Read));
    read.chain(written.map(|path| (path, Write))).filter(|(path, _)| !path.is_empty()).collect()
}

fn is_plain_subcommand(name: &str, arguments: &[CommandWord]) -> bool {
    let options =
        || arguments.iter().filter_map(CommandWord::literal).take_while(|text| *text != "--");
    let is_short = |letters: &[&str]| {
        options().any(|text| letters.iter().any(|letter| text.starts_with(letter)))
    };
    let runs = options().any(|text| {
            let name = text.split('=').next().unwrap_or(text);
            // Any unambiguous abbreviation is accepted. The shortest abbreviations belong to other
            // options as well.
            RUNNING_OPTIONS.iter().any(|option| {
                *option == name || (name.len() >= LETTERS_MIN && option.starts_with(name))
            })
        })
        // A transport that is a command.
        || arguments.iter().filter_map(CommandWord::literal).any(|text| text.starts_with("ext::"));
    if runs || RUNNING.contains(&name) {
        return false;
    }
    match name {
        // Reading settings is plain, and so is writing settings that run nothing.
        "config" => {
            let words = || arguments.iter().filter_map(CommandWord::literal);
            let mut operands = words().filter(|text| !text.starts_with('-'));
            let first = operands.next();
            let is_reading = matches!(first, Some("get" | "list")) || operands.next().is_none();
            let has_other_options =
                words().any(|text| text.starts_with('-') && !WRITING_SETTINGS.contains(&text));
            words().any(|text| READING_SETTINGS.contains(&text))
                || (!has_other_options && (is_reading || first.is_some_and(is_harmless)))
        }
        "bisect" => !arguments.iter().any(|word| word.literal() == Some("run")),
        "clone" => !is_short(&["-u", "-c"]),
        "grep" => !is_short(&["-O"]),
        "rebase" => !is_short(&["-x", "-i"]),
        _ => true,
    }
}

fn is_harmless(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    HARMLESS_SETTINGS.iter().any(|harmless| match harmless.strip_suffix('.') {
        Some(section) => name.split('.').next() == Some(section),
        None => name == *harmless,
    })
}
