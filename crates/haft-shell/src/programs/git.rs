//! `git` runs programs named in its configuration: pagers, editors, helpers, hooks, aliases.
//! Protecting the repository's configuration file covers the programs in it; this module checks
//! those that the command line can add.

use super::{StartedPrograms, path_within};
use crate::analysis::FileUseMode::{self, Read, Write};
use crate::analysis::{CommandWord, UnknownReason};

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

/// Settings whose value runs, or that lead to such settings. A last dot stands for a whole section.
const RUNNING_SETTINGS: &[&str] = &[
    "alias.",
    "browser.",
    "core.alternaterefscommand",
    "core.askpass",
    "core.editor",
    "core.fsmonitor",
    "core.gitproxy",
    "core.hookspath",
    "core.pager",
    "core.sshcommand",
    "credential.",
    "diff.",
    "difftool.",
    "filter.",
    "gpg.",
    "guitool.",
    "help.autocorrect",
    "include.",
    "includeif.",
    "instaweb.",
    "interactive.difffilter",
    "man.",
    "merge.",
    "mergetool.",
    "pager.",
    "protocol.",
    "remote.",
    "sendemail.",
    "sequence.editor",
    "submodule.",
    "trailer.",
    "uploadpack.",
    "url.",
    "web.",
];

/// Values that run nothing.
const VALUES_DOING_NOTHING: &[&str] = &["", ":", "cat", "false", "true"];

/// Options of subcommands whose value is a command line.
const LINE_OPTIONS: &[&str] =
    &["--exec", "--extcmd", "--receive-pack", "--upload-pack", "--open-files-in-pager"];

/// Returns what git starts because of its arguments; `None` if it runs only its own parts.
pub(super) fn started(arguments: &[CommandWord]) -> Option<StartedPrograms> {
    if is_plain(arguments) {
        return None;
    }
    let mut found = StartedPrograms::none(UnknownReason::StartsOthers);
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let Some(text) = first.literal() else { continue };
        match text {
            "-c" => {
                let setting = rest.first().and_then(CommandWord::literal);
                add_setting(&mut found, setting);
                rest = rest.get(1..).unwrap_or_default();
            }
            "--config-env" => found.reason = UnknownReason::RunsOthers,
            text if text.starts_with("--config-env=") => found.reason = UnknownReason::RunsOthers,
            "-C" | "--work-tree" | "--namespace" | "--git-dir" | "--exec-path" => {
                rest = rest.get(1..).unwrap_or_default();
            }
            text if text.starts_with('-') => {}
            name => {
                add_subcommand(&mut found, name, rest);
                break;
            }
        }
    }
    Some(found)
}

/// Records the effect of one setting on the command line.
fn add_setting(found: &mut StartedPrograms, setting: Option<&str>) {
    let Some((name, value)) = setting.map(|text| text.split_once('=').unwrap_or((text, "true")))
    else {
        found.reason = UnknownReason::RunsOthers;
        return;
    };
    let name = name.to_ascii_lowercase();
    let is_running = RUNNING_SETTINGS.iter().any(|known| match known.strip_suffix('.') {
        Some(section) => name.split('.').next() == Some(section),
        None => name == *known,
    });
    if !is_running || is_harmless(&name) || VALUES_DOING_NOTHING.contains(&value) {
        return;
    }
    match value.strip_prefix('!') {
        Some(line) => found.lines.push(line.to_owned()),
        None if name.starts_with("alias.") => found.lines.push(format!("git {value}")),
        None => found.lines.push(value.to_owned()),
    }
    // Some of these settings lead to others, and a shell may read the value in another way.
    let is_only_line =
        ["alias.", "core.pager", "core.editor", "pager.", "sequence.editor", "core.sshcommand"];
    if !is_only_line.iter().any(|only| name.starts_with(only)) {
        found.reason = UnknownReason::RunsOthers;
    }
}

/// Records what the arguments of a subcommand start.
fn add_subcommand(found: &mut StartedPrograms, name: &str, arguments: &[CommandWord]) {
    let is_option = |word: &&CommandWord| word.literal().is_some_and(|text| text.starts_with('-'));
    let operands = |from: &[CommandWord]| {
        let skipped = from.iter().take_while(is_option).count();
        from.get(skipped..).unwrap_or_default().to_vec()
    };
    for (at, word) in arguments.iter().enumerate() {
        let Some(text) = word.literal() else { continue };
        let next = || arguments.get(at + 1).and_then(CommandWord::literal);
        let (option, joined) = match text.split_once('=') {
            Some((option, value)) => (option, Some(value)),
            None => (text, None),
        };
        let is_line = option.len() >= LETTERS_MIN
            && LINE_OPTIONS.iter().any(|known| known.starts_with(option));
        let is_short = matches!((name, text), ("rebase" | "difftool", "-x") | ("clone", "-u"));
        if is_line || is_short {
            match joined.or_else(next) {
                Some(line) => found.lines.push(line.to_owned()),
                None => found.reason = UnknownReason::RunsOthers,
            }
        }
        if matches!((name, option), ("clone", "-c" | "--config")) {
            add_setting(found, joined.or_else(next));
        }
        if let Some(line) = text.strip_prefix("ext::") {
            found.lines.push(line.to_owned());
        }
        let is_filter = name == "filter-branch" && text.contains(char::is_whitespace);
        if is_filter || text.starts_with("--sendmail-cmd=") {
            found.lines.push(joined.unwrap_or(text).to_owned());
        }
    }
    match name {
        "bisect" if arguments.first().and_then(CommandWord::literal) == Some("run") => {
            found.commands.push(operands(arguments.get(1..).unwrap_or_default()));
        }
        "submodule" => {
            let at = arguments.iter().position(|word| word.literal() == Some("foreach"));
            let words = operands(at.and_then(|at| arguments.get(at + 1..)).unwrap_or_default());
            match words.as_slice() {
                [] => {}
                [CommandWord::Literal(line)] => found.lines.push(line.clone()),
                [only] if only.quoted_line().is_some() => found.lines.extend(only.quoted_line()),
                _ => found.commands.push(words),
            }
        }
        "for-each-repo" => {
            let git = std::iter::once(CommandWord::Literal("git".to_owned()));
            found.commands.push(git.chain(operands(arguments)).collect());
        }
        _ => {}
    }
}

/// Returns whether the arguments make git run only its own parts.
fn is_plain(arguments: &[CommandWord]) -> bool {
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
        // It removes files that are not tracked, of which it names only directories.
        "clean" => {
            let places: Vec<_> = operands().chain(named()).collect();
            let places = if places.is_empty() { vec!["."] } else { places };
            return places.into_iter().map(|path| (path, Write)).collect();
        }
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
