//! `git` runs what its configuration names: pagers, editors, helpers, hooks, aliases. What the repository's own
//! configuration names is kept by protecting that file; here is what the command line can add.

use crate::judgement::Word;

/// Settings that only change how things look, or whose name is used.
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

/// Subcommands that run what they are given, or serve others.
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

/// Options of subcommands that run what they are given, or an editor for one to type in.
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

/// Options of `git config` that make it read, whatever else is said.
const READING_SETTINGS: &[&str] = &["--get", "--get-all", "--get-regexp", "--list", "-l"];
const WRITING_SETTINGS: &[&str] =
    &["--add", "--global", "--local", "--replace-all", "--unset", "--unset-all"];

/// Returns whether the arguments make git run nothing but its own parts.
pub(super) fn is_plain(arguments: &[Word]) -> bool {
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

fn is_plain_subcommand(name: &str, arguments: &[Word]) -> bool {
    let options = || arguments.iter().filter_map(Word::literal).take_while(|text| *text != "--");
    let is_short = |letters: &[&str]| {
        options().any(|text| letters.iter().any(|letter| text.starts_with(letter)))
    };
    let runs = options().any(is_running_option)
        // A transport that is a command.
        || arguments.iter().filter_map(Word::literal).any(|text| text.starts_with("ext::"));
    if runs || RUNNING.contains(&name) {
        return false;
    }
    match name {
        "config" => is_plain_config(arguments),
        "bisect" => !arguments.iter().any(|word| word.literal() == Some("run")),
        "clone" => !is_short(&["-u", "-c"]),
        "grep" => !is_short(&["-O"]),
        "rebase" => !is_short(&["-x", "-i"]),
        _ => true,
    }
}

fn is_running_option(text: &str) -> bool {
    let name = text.split('=').next().unwrap_or(text);
    // Any beginning that is unique is taken. The shortest beginnings are other options as well.
    const LETTERS_MIN: usize = 4;
    RUNNING_OPTIONS
        .iter()
        .any(|option| *option == name || (name.len() >= LETTERS_MIN && option.starts_with(name)))
}

/// Reading settings is plain, and so is writing those that run nothing.
fn is_plain_config(arguments: &[Word]) -> bool {
    let words = || arguments.iter().filter_map(Word::literal);
    if words().any(|text| READING_SETTINGS.contains(&text)) {
        return true;
    }
    let mut operands = words().filter(|text| !text.starts_with('-'));
    let first = operands.next();
    let is_reading = matches!(first, Some("get" | "list")) || operands.next().is_none();
    let has_other_options =
        words().any(|text| text.starts_with('-') && !WRITING_SETTINGS.contains(&text));
    !has_other_options && (is_reading || first.is_some_and(is_harmless))
}

fn is_harmless(setting: &str) -> bool {
    let name = setting.split('=').next().unwrap_or_default().to_ascii_lowercase();
    HARMLESS_SETTINGS.iter().any(|harmless| match harmless.strip_suffix('.') {
        Some(section) => name.split('.').next() == Some(section),
        None => name == *harmless,
    })
}
