//! Programs that run others because of what they are given: an option, a script, a setting. A program that is not
//! named here is a program as any other.

use crate::command::Verdict;
use crate::judgement::{How, UnknownReason, Word};
use crate::operands;

mod awk;
mod git;
mod interpreter;
mod sed;
mod tar;

/// Programs that exist to start others, on this machine or elsewhere, or that ask a person what to run.
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
struct Options {
    program: &'static str,
    /// Where a letter stands for such an option. It may stand in a cluster, and before its value.
    letters: &'static str,
    /// Long options. Programs take any beginning of them that is unique.
    names: &'static [&'static str],
}

const RUNNING_OPTIONS: &[Options] = &[
    Options { program: "bat", letters: "", names: &["--pager"] },
    Options { program: "diff", letters: "l", names: &["--paginate"] },
    Options { program: "fd", letters: "xX", names: &["--exec", "--exec-batch"] },
    Options { program: "install", letters: "", names: &["--strip-program"] },
    Options { program: "rg", letters: "z", names: &["--pre", "--hostname-bin", "--search-zip"] },
    Options { program: "rsync", letters: "e", names: &["--rsh", "--rsync-path"] },
    Options { program: "sdiff", letters: "", names: &["--diff-program"] },
    Options { program: "sort", letters: "", names: &["--compress-program"] },
    Options { program: "split", letters: "", names: &["--filter"] },
    Options {
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
    Options { program: "zip", letters: "T", names: &["--test", "--unzip-command"] },
];

const AWKS: &[&str] = &["awk", "gawk", "mawk", "nawk"];

pub(crate) fn is_special(name: &str) -> bool {
    matches!(name, "git" | "sed")
        || AWKS.contains(&name)
        || RUNNERS.contains(&name)
        || interpreter::is_interpreter(name)
        || RUNNING_OPTIONS.iter().any(|options| options.program == name)
}

/// Judges a program by its arguments.
pub(crate) fn judge(name: &str, arguments: &[Word]) -> Verdict {
    let is_surprising = operands::is_surprising(name, arguments)
        || (name == "tar" && tar::is_surprising(arguments));
    if is_surprising {
        return Verdict::Unknown(UnknownReason::Files);
    }
    let runs_others = if RUNNERS.contains(&name) || name.starts_with("ld-linux") {
        true
    } else if AWKS.contains(&name) {
        !awk::is_plain(arguments)
    } else {
        match name {
            "git" => !git::is_plain(arguments),
            "sed" => !sed::is_plain(arguments),
            name => RUNNING_OPTIONS
                .iter()
                .filter(|options| options.program == name)
                .any(|options| options.are_given(arguments)),
        }
    };
    if runs_others { Verdict::Unknown(UnknownReason::RunsOthers) } else { Verdict::Plain }
}

/// Returns the files that a program is given whose arguments are read here, or nothing for another program.
pub(crate) fn files(name: &str, arguments: &[Word]) -> Option<Vec<(String, How)>> {
    if AWKS.contains(&name) {
        let files = awk::files(arguments);
        return Some(files.into_iter().map(|file| (file.to_owned(), How::Read)).collect());
    }
    match name {
        "git" => Some(git::files(arguments)),
        "sed" => Some(sed::files(arguments)),
        "tar" => Some(tar::files(arguments)),
        name => interpreter::files(name, arguments),
    }
}

/// Returns what a path is that is meant from a directory.
fn below(directory: &str, path: &str) -> String {
    match (directory, path) {
        (".", path) => path.to_owned(),
        (_, path) if path.starts_with('/') => path.to_owned(),
        (directory, ".") => directory.to_owned(),
        (directory, path) => format!("{}/{path}", directory.trim_end_matches('/')),
    }
}

impl Options {
    fn are_given(&self, arguments: &[Word]) -> bool {
        arguments.iter().enumerate().any(|(index, word)| match word.literal() {
            Some(text) => self.is_given(text, index),
            // The command is unknown as it is.
            None => false,
        })
    }

    fn is_given(&self, text: &str, index: usize) -> bool {
        let holds_letter = |text: &str| text.contains(|char| self.letters.contains(char));
        if text.starts_with("--") {
            let name = text.split('=').next().unwrap_or(text);
            return name != "--" && self.names.iter().any(|option| option.starts_with(name));
        }
        match text.strip_prefix('-') {
            Some(letters) => holds_letter(letters),
            // `tar xIf` has its letters without a dash.
            None => self.program == "tar" && index == 0 && holds_letter(text),
        }
    }
}
