//! Programs that run others because of an option, a script or a setting. A program that is not
//! named here counts as ordinary.

use crate::analysis::{CommandWord, FileUseMode, UnknownReason};

mod awk;
mod git;
mod interpreter;
mod sed;
mod tar;

/// Programs whose purpose is to start others, on this machine or elsewhere, or that ask a person
/// for a command.
const RUNNERS: &[&str] = &[
    "at",
    "batch",
    "busybox",
    "capsh",
    "chroot",
    "chrt",
    "crontab",
    "doas",
    "ed",
    "emacs",
    "entr",
    "ex",
    "expect",
    "fakeroot",
    "flock",
    "fzf",
    "gdb",
    "less",
    "ltrace",
    "mail",
    "mailx",
    "man",
    "more",
    "nano",
    "ncat",
    "nsenter",
    "numactl",
    "nvim",
    "parallel",
    "pkexec",
    "prlimit",
    "run-parts",
    "runuser",
    "scp",
    "screen",
    "script",
    "setarch",
    "setpriv",
    "sftp",
    "socat",
    "ssh",
    "start-stop-daemon",
    "strace",
    "su",
    "systemd-run",
    "taskset",
    "tmux",
    "toybox",
    "unshare",
    "vi",
    "view",
    "vim",
    "vimdiff",
    "watch",
    "xterm",
    "zsh",
    "fish",
    "csh",
    "tcsh",
];

/// Options that make a program run another.
struct LauncherOptions {
    program: &'static str,
    /// Letters of such options. A letter may be in a cluster, and precede its value.
    letters: &'static str,
    /// Long options. Programs accept any unambiguous abbreviation.
    names: &'static [&'static str],
}

const RUNNING_OPTIONS: &[LauncherOptions] = &[
    LauncherOptions { program: "bat", letters: "", names: &["--pager"] },
    LauncherOptions { program: "diff", letters: "l", names: &["--paginate"] },
    LauncherOptions { program: "fd", letters: "xX", names: &["--exec", "--exec-batch"] },
    LauncherOptions { program: "install", letters: "", names: &["--strip-program"] },
    LauncherOptions {
        program: "rg",
        letters: "z",
        names: &["--pre", "--hostname-bin", "--search-zip"],
    },
    LauncherOptions { program: "rsync", letters: "e", names: &["--rsh", "--rsync-path"] },
    LauncherOptions { program: "sdiff", letters: "", names: &["--diff-program"] },
    LauncherOptions { program: "sort", letters: "", names: &["--compress-program"] },
    LauncherOptions { program: "split", letters: "", names: &["--filter"] },
    LauncherOptions {
        program: "tar",
        letters: "IF",
        names: &[
            "--checkpoint-action",
            "--info-script",
            "--new-volume-script",
            "--rmt-command",
            "--rsh-command",
            "--to-command",
            "--use-compress-program",
        ],
    },
    LauncherOptions { program: "zip", letters: "T", names: &["--test", "--unzip-command"] },
];

const AWKS: &[&str] = &["awk", "gawk", "mawk", "nawk"];

pub(crate) fn is_special(name: &str) -> bool {
    matches!(name, "git" | "sed")
        || AWKS.contains(&name)
        || RUNNERS.contains(&name)
        || interpreter::is_interpreter(name)
        || RUNNING_OPTIONS.iter().any(|options| options.program == name)
}

/// Programs that start others only at the wish of a person.
const PAGERS: &[&str] =
    &["crontab", "less", "mail", "mailx", "man", "more", "nano", "scp", "sftp", "view"];

/// Returns whether a program runs its operands as commands, or reads them as a script.
pub(crate) fn runs_operands(name: &str) -> bool {
    RUNNERS.contains(&name) && !PAGERS.contains(&name)
}

/// Returns a program's file name.
pub(crate) fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Returns why a program with these arguments does more than its words say.
pub(crate) fn unknown_reason(name: &str, arguments: &[CommandWord]) -> Option<UnknownReason> {
    if name == "tar" && tar::touches_other_files(arguments) {
        return Some(UnknownReason::Files);
    }
    let runs_others = if RUNNERS.contains(&name) || name.starts_with("ld-linux") {
        true
    } else if AWKS.contains(&name) {
        !awk::is_plain(arguments)
    } else {
        match name {
            "git" => !git::is_plain(arguments),
            "sed" => !sed::is_plain(arguments),
            name => RUNNING_OPTIONS.iter().filter(|options| options.program == name).any(
                |LauncherOptions { letters, names, .. }| {
                    let holds_letter = |text: &str| text.contains(|char| letters.contains(char));
                    // A word that is not literal makes the command unknown anyway.
                    arguments.iter().enumerate().any(|(index, word)| {
                        let Some(text) = word.literal() else { return false };
                        if text.starts_with("--") {
                            let long = text.split('=').next().unwrap_or(text);
                            return long != "--"
                                && names.iter().any(|option| option.starts_with(long));
                        }
                        match text.strip_prefix('-') {
                            Some(letters) => holds_letter(letters),
                            // `tar xIf` has its letters without a dash.
                            None => name == "tar" && index == 0 && holds_letter(text),
                        }
                    })
                },
            ),
        }
    };
    runs_others.then_some(UnknownReason::RunsOthers)
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
