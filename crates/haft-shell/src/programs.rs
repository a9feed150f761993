//! Programs that run others because of an option, a script or a setting. A program that is not
//! named here counts as ordinary.

use crate::analysis::{CommandWord, FileUseMode, UnknownReason};

mod awk;
mod git;
mod interpreter;
mod sed;
mod tar;

/// Programs that run commands of their own syntax, or commands from their input.
const READERS: &[&str] =
    &["at", "batch", "crontab", "csh", "ed", "ex", "expect", "fish", "parallel", "tcsh", "zsh"];

/// Programs that start a command in their arguments, on this machine or elsewhere, or that take
/// commands from a person.
const LAUNCHERS: &[&str] = &[
    "bwrap",
    "busybox",
    "capsh",
    "catchsegv",
    "cgexec",
    "choom",
    "chpst",
    "chroot",
    "concurrently",
    "coresched",
    "doas",
    "dumb-init",
    "emacs",
    "entr",
    "faketime",
    "fakeroot",
    "firejail",
    "flock",
    "fzf",
    "gdb",
    "gosu",
    "hyperfine",
    "less",
    "ltrace",
    "mail",
    "mailx",
    "man",
    "more",
    "nano",
    "ncat",
    "nodemon",
    "nsenter",
    "nvim",
    "pkexec",
    "prlimit",
    "proot",
    "proxychains",
    "proxychains4",
    "run-parts",
    "runuser",
    "scp",
    "screen",
    "script",
    "setpriv",
    "setuidgid",
    "sftp",
    "socat",
    "ssh",
    "start-stop-daemon",
    "strace",
    "su",
    "su-exec",
    "systemd-inhibit",
    "systemd-run",
    "tini",
    "tmux",
    "torify",
    "torsocks",
    "toybox",
    "uclampset",
    "unbuffer",
    "unshare",
    "valgrind",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "watch",
    "watchexec",
    "xterm",
];

/// Launchers that start no command made of their words: pagers, editors and debuggers. A word may still hold a line.
const VIEWERS: &[&str] = &[
    "emacs",
    "fzf",
    "gdb",
    "less",
    "mail",
    "mailx",
    "man",
    "more",
    "nano",
    "nvim",
    "run-parts",
    "scp",
    "sftp",
    "vi",
    "view",
    "vim",
    "vimdiff",
];

/// Editors that read commands from their input with one of these options.
const EDITOR_INPUT: (&[&str], &[&str]) =
    (&["nvim", "vi", "view", "vim", "vimdiff"], &["-E", "-Es", "-e", "-es", "-s"]);

/// Arguments of a launcher that may begin a command.
const STARTS_MAX: usize = 16;

/// The command that a program starts because of its words.
pub(crate) struct StartedPrograms {
    /// Whether it may start others, too.
    pub(crate) reason: UnknownReason,
    /// Lines for a shell.
    pub(crate) lines: Vec<String>,
    pub(crate) commands: Vec<Vec<CommandWord>>,
}

impl StartedPrograms {
    /// For a program that starts nothing that its words spell.
    fn none(reason: UnknownReason) -> Self {
        Self { reason, lines: Vec::new(), commands: Vec::new() }
    }
}

/// Options that make a program run another.
struct LauncherOptions {
    program: &'static str,
    /// Letters of such options. A letter may be in a cluster, and precede its value.
    letters: &'static str,
    /// Long options. Programs accept any unambiguous abbreviation.
    names: &'static [&'static str],
    value: LauncherValue,
}

/// The word after an option that makes a program run another.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LauncherValue {
    /// A command line, in the same word or the next.
    Line,
    /// The words of a command.
    Words,
    /// Nothing: the program chooses the other one.
    Nothing,
}

const fn options(
    program: &'static str,
    letters: &'static str,
    names: &'static [&'static str],
    value: LauncherValue,
) -> LauncherOptions {
    LauncherOptions { program, letters, names, value }
}

const RUNNING_OPTIONS: &[LauncherOptions] = &[
    options("bat", "", &["--pager"], LauncherValue::Line),
    options("diff", "l", &["--paginate"], LauncherValue::Nothing),
    options("fd", "xX", &["--exec", "--exec-batch"], LauncherValue::Words),
    options("install", "", &["--strip-program"], LauncherValue::Line),
    options("rg", "", &["--pre", "--hostname-bin"], LauncherValue::Line),
    options("rg", "z", &["--search-zip"], LauncherValue::Nothing),
    options("rsync", "e", &["--rsh", "--rsync-path"], LauncherValue::Line),
    options("sdiff", "", &["--diff-program"], LauncherValue::Line),
    options("sort", "", &["--compress-program"], LauncherValue::Line),
    options("split", "", &["--filter"], LauncherValue::Line),
    options(
        "tar",
        "IF",
        &[
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
        LauncherValue::Line,
    ),
    options("zip", "T", &["--test"], LauncherValue::Nothing),
    options("zip", "", &["--unzip-command"], LauncherValue::Line),
];

const AWKS: &[&str] = &["awk", "gawk", "mawk", "nawk"];

pub(crate) fn is_special(name: &str) -> bool {
    matches!(name, "git" | "sed")
        || AWKS.contains(&name)
        || LAUNCHERS.contains(&name)
        || READERS.contains(&name)
        || matches!(name, "make" | "gmake" | "sqlite3")
        || interpreter::is_interpreter(name)
        || RUNNING_OPTIONS.iter().any(|options| options.program == name)
}

/// Programs that start others only at the wish of a person.
const PAGERS: &[&str] =
    &["crontab", "less", "mail", "mailx", "man", "more", "nano", "scp", "sftp", "view"];

/// Returns whether a program runs its operands as commands, or reads them as a script.
pub(crate) fn runs_operands(name: &str) -> bool {
    (LAUNCHERS.contains(&name) || READERS.contains(&name)) && !PAGERS.contains(&name)
}

/// Returns a program's file name.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns what a program with these arguments starts, or `None` if it does no more than its words say.
pub(crate) fn started_programs(name: &str, arguments: &[CommandWord]) -> Option<StartedPrograms> {
    let started = |reason| Some(StartedPrograms::none(reason));
    if name == "tar" && tar::touches_other_files(arguments) {
        return started(UnknownReason::Files);
    }
    if LAUNCHERS.contains(&name) || READERS.contains(&name) || name.starts_with("ld-linux") {
        return Some(launched(name, arguments));
    }
    if AWKS.contains(&name) {
        return awk::unknown_reason(arguments).and_then(started);
    }
    match name {
        "git" => git::started(arguments),
        "sed" => sed::unknown_reason(arguments).and_then(started),
        "make" | "gmake" => reads_rules(arguments).then(|| started(UnknownReason::RunsOthers))?,
        "sqlite3" => sqlite_lines(arguments),
        name => started_by_options(name, arguments),
    }
}

/// Returns what a launcher may start. Which of its words begins a command depends on its options, so each that can counts.
/// A word with spaces in it may be a line.
fn launched(name: &str, arguments: &[CommandWord]) -> StartedPrograms {
    let literals = || arguments.iter().filter_map(CommandWord::literal);
    let (editors, reading) = EDITOR_INPUT;
    let reads_input = READERS.contains(&name)
        || (editors.contains(&name) && literals().any(|text| reading.contains(&text)));
    let is_viewer = VIEWERS.contains(&name);
    // The first word that is no option may be the program.
    let is_option = |word: &&CommandWord| word.literal().is_some_and(|it| it.starts_with('-'));
    let first = arguments.iter().find(|word| !is_option(word));
    let is_program_unknown = !is_viewer && first.is_some_and(|word| word.literal().is_none());
    let quoted: Vec<String> = arguments.iter().filter_map(CommandWord::quoted_line).collect();
    let lines = |text: &str| -> Vec<String> {
        let starts_line = ["!", ":!", "+!", "+:!", "shell "].iter().any(|it| text.starts_with(it));
        if is_viewer && !starts_line {
            return Vec::new();
        }
        let line = text.trim_start_matches(['!', ':', '+']);
        let line = line.strip_prefix("shell ").unwrap_or(line);
        let value = line.split_once('=').map(|(_, value)| value);
        let lines = [Some(line), value].into_iter().flatten();
        let is_line = |line: &&str| starts_line || line.trim().contains(char::is_whitespace);
        lines.filter(is_line).map(str::to_owned).collect()
    };
    let is_start = |at: &usize| {
        let text = arguments.get(*at).and_then(CommandWord::literal);
        text.is_some_and(|text| !text.starts_with('-') && !text.contains(char::is_whitespace))
    };
    let starts = (0..arguments.len()).filter(is_start).take(STARTS_MAX);
    let reason = if reads_input || is_program_unknown {
        UnknownReason::RunsOthers
    } else {
        UnknownReason::StartsOthers
    };
    let texts = literals().chain(quoted.iter().map(String::as_str));
    let lines = texts.flat_map(lines).collect();
    if is_viewer {
        return StartedPrograms { reason, lines, commands: Vec::new() };
    }
    let commands = starts.filter_map(|at| Some(arguments.get(at..)?.to_vec())).collect();
    StartedPrograms { reason, lines, commands }
}

/// Returns whether `make` reads its rules from its input or from an argument.
fn reads_rules(arguments: &[CommandWord]) -> bool {
    let literals: Vec<_> = arguments.iter().filter_map(CommandWord::literal).collect();
    let is_input = |file: &str| file == "-" || file.starts_with("/dev/");
    let names_input = |pair: &[&str]| match pair {
        [option, file] => matches!(*option, "-f" | "--file" | "--makefile") && is_input(file),
        _ => false,
    };
    let holds_rules = |text: &&str| {
        let file =
            ["-f", "--file=", "--makefile="].into_iter().find_map(|it| text.strip_prefix(it));
        file.is_some_and(is_input)
            || ["--eval", "-E", "SHELL=", ".SHELLFLAGS="].iter().any(|it| text.starts_with(it))
    };
    literals.windows(2).any(names_input) || literals.iter().any(holds_rules)
}

/// Returns the lines that `.shell` and `.system` of `sqlite3` run, and those that its output is piped to.
fn sqlite_lines(arguments: &[CommandWord]) -> Option<StartedPrograms> {
    let literals = arguments.iter().filter_map(CommandWord::literal);
    let lines: Vec<String> = literals
        .filter_map(|text| {
            let (command, line) = text.trim_start().split_once(char::is_whitespace)?;
            let runs =
                [".shell", ".system"].iter().any(|it| command.len() > 1 && it.starts_with(command));
            let line = line.trim_start();
            let piped = line.strip_prefix('|').filter(|_| command.starts_with(".o"));
            piped.or(Some(line).filter(|_| runs && command != ".s")).map(str::to_owned)
        })
        .collect();
    let reason = UnknownReason::StartsOthers;
    (!lines.is_empty()).then(|| StartedPrograms { lines, ..StartedPrograms::none(reason) })
}

/// Returns what options of a program start.
fn started_by_options(name: &str, arguments: &[CommandWord]) -> Option<StartedPrograms> {
    let mut found: Option<StartedPrograms> = None;
    for options in RUNNING_OPTIONS.iter().filter(|options| options.program == name) {
        for (index, word) in arguments.iter().enumerate() {
            let Some(text) = word.literal() else { continue };
            let Some(joined) = options.joined_value(text, index) else { continue };
            let found =
                found.get_or_insert_with(|| StartedPrograms::none(UnknownReason::StartsOthers));
            let after = arguments.get(index + 1..).unwrap_or_default();
            match (options.value, joined) {
                (LauncherValue::Nothing, _) => {}
                (LauncherValue::Words, _) => found.commands.push(after.to_vec()),
                (LauncherValue::Line, Some(line)) => found.lines.push(line.to_owned()),
                (LauncherValue::Line, None) => match after.first().map(CommandWord::literal) {
                    Some(Some(line)) => found.lines.push(line.to_owned()),
                    Some(None) | None => found.reason = UnknownReason::RunsOthers,
                },
            }
        }
    }
    found
}

impl LauncherOptions {
    /// Returns the value in the same word, if the word is one of the options.
    fn joined_value<'a>(&self, text: &'a str, index: usize) -> Option<Option<&'a str>> {
        if text.starts_with("--") {
            let (name, value) = match text.split_once('=') {
                // The action of a checkpoint has its kind in front.
                Some((name, value)) => (name, Some(value.strip_prefix("exec=").unwrap_or(value))),
                None => (text, None),
            };
            let is_named = name != "--" && self.names.iter().any(|option| option.starts_with(name));
            return is_named.then_some(value);
        }
        // `tar xIf` has its letters without a dash.
        let is_bare = self.program == "tar" && index == 0;
        let cluster = text.strip_prefix('-').or(is_bare.then_some(text))?;
        let at = cluster.find(|char| self.letters.contains(char))?;
        let value = cluster.get(at + 1..).filter(|value| !value.is_empty());
        Some(value.filter(|_| self.value == LauncherValue::Line && text.starts_with('-')))
    }
}

/// Returns the file arguments of a program whose arguments are parsed here; `None` for other
/// programs.
pub(crate) fn files(name: &str, arguments: &[CommandWord]) -> Option<Vec<(String, FileUseMode)>> {
    if AWKS.contains(&name) {
        let files = awk::files(arguments);
        return Some(files.into_iter().map(|file| (file.to_owned(), FileUseMode::Read)).collect());
    }
    match name {
        "git" => Some(git::files(arguments)),
        "patch" => Some(patch_files(arguments)),
        "sqlite3" => Some(sqlite_files(arguments)),
        "sed" => Some(sed::files(arguments)),
        "tar" => Some(tar::files(arguments)),
        name => interpreter::files(name, arguments),
    }
}

/// Returns a path that is relative to a directory.
fn path_within(directory: &str, path: &str) -> String {
    match (directory, path) {
        (".", path) => path.to_owned(),
        (_, path) if path.starts_with('/') => path.to_owned(),
        (directory, ".") => directory.to_owned(),
        (directory, path) => format!("{}/{path}", directory.trim_end_matches('/')),
    }
}

/// Returns the files that `patch` names: the one that is changed, the one with the changes, and the result.
fn patch_files(arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
    let mut files = Vec::new();
    let mut rest = arguments.iter().filter_map(CommandWord::literal);
    let mut operands = 0;
    while let Some(text) = rest.next() {
        let valued = [("-o", "--output", FileUseMode::Write), ("-i", "--input", FileUseMode::Read)];
        let option = valued.into_iter().find(|(letter, name, _)| {
            text.starts_with(letter) && !text.starts_with("--") || text.starts_with(name)
        });
        if let Some((letter, name, how)) = option {
            let joined = text.strip_prefix(name).map(|value| value.trim_start_matches('='));
            let joined = joined.or_else(|| text.strip_prefix(letter)).filter(|it| !it.is_empty());
            files.extend(joined.or_else(|| rest.next()).map(|path| (path.to_owned(), how)));
        } else if !text.starts_with('-') {
            files.push((text.to_owned(), FileUseMode::Read));
            if operands == 0 {
                files.push((text.to_owned(), FileUseMode::Write));
            }
            operands += 1;
        }
    }
    files
}

/// Returns the database of `sqlite3`, and the files that its output goes to.
fn sqlite_files(arguments: &[CommandWord]) -> Vec<(String, FileUseMode)> {
    let mut files = Vec::new();
    let mut has_database = false;
    for text in arguments.iter().filter_map(CommandWord::literal) {
        if let Some(file) = text.strip_prefix(".output ").or(text.strip_prefix(".once ")) {
            let file = file.trim();
            if !file.starts_with('|') {
                files.push((file.to_owned(), FileUseMode::Write));
            }
        } else if !text.starts_with('-') && !has_database {
            has_database = true;
            files.extend([FileUseMode::Read, FileUseMode::Write].map(|how| (text.to_owned(), how)));
        }
    }
    files.retain(|(path, _)| path != ":memory:");
    files
}
