//! How far commands go from the directories that they are given: those that copy, search or remove whole trees read or
//! change files that nobody named. It deliberately knows the programs alone of which files are known by their words;
//! what others are given is in no access that could go further.

use haft_contract::CommandLine;

use crate::access::PathReach;
use crate::network_guard::git_subcommand;

#[cfg(test)]
mod tests;

/// How far commands go from the directories that they read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CommandReach {
    /// How far from what they read.
    pub reads: PathReach,
    /// How far from what they write, remove, or put something into.
    pub writes: PathReach,
}

/// One kind of program.
struct ReachProgram {
    names: &'static [&'static str],
    reads: ReachCondition,
    writes: ReachCondition,
}

/// When a program reaches all beneath a directory.
enum ReachCondition {
    Never,
    Always,
    /// With one of these options: a letter in any cluster, a long name or a beginning of it, or a word of its own.
    With(&'static [&'static str]),
}

const PROGRAMS: &[ReachProgram] = &[
    ReachProgram {
        names: &["cp"],
        reads: ReachCondition::With(&["-R", "-a", "-r", "--archive", "--recursive"]),
        writes: ReachCondition::Always,
    },
    ReachProgram {
        names: &["mv", "tar"],
        reads: ReachCondition::Always,
        writes: ReachCondition::Always,
    },
    // They read files alone, and put them into a directory.
    ReachProgram {
        names: &["install", "ln", "unzip"],
        reads: ReachCondition::Never,
        writes: ReachCondition::Always,
    },
    ReachProgram {
        names: &["rm"],
        reads: ReachCondition::Never,
        writes: ReachCondition::With(&["-R", "-r", "--recursive"]),
    },
    ReachProgram {
        names: &["chgrp", "chmod", "chown"],
        reads: ReachCondition::Never,
        writes: ReachCondition::With(&["-R", "--recursive"]),
    },
    ReachProgram {
        names: &["diff", "rg", "zip"],
        reads: ReachCondition::Always,
        writes: ReachCondition::Never,
    },
    ReachProgram {
        names: &["egrep", "fgrep", "grep"],
        reads: ReachCondition::With(&[
            "-R",
            "-d",
            "-r",
            "--dereference-recursive",
            "--directories",
            "--recursive",
        ]),
        writes: ReachCondition::Never,
    },
    // Listing names is no reading; what it runs on them is a command of its own.
    ReachProgram {
        names: &["find"],
        reads: ReachCondition::Never,
        writes: ReachCondition::With(&["-delete"]),
    },
];

/// Subcommands of git that show or write files as they lie in the directories that they are given.
const GIT_SWEEPING: &[&str] = &["diff", "format-patch", "grep", "log", "show"];

impl CommandReach {
    /// Reaches what is named and nothing else.
    pub const NOTHING: Self = Self { reads: PathReach::PathOnly, writes: PathReach::PathOnly };
    /// Reaches everything.
    pub const ALL: Self = Self { reads: PathReach::Tree, writes: PathReach::Tree };

    /// Returns how far these commands go; one that is not known may go as far as there is.
    ///
    /// ```
    /// use haft_contract::CommandLine;
    /// use haft_policy::{PathReach, CommandReach};
    ///
    /// let search = CommandLine::Argv(["grep", "-rn", "x", "src"].map(String::from).to_vec());
    /// assert_eq!(CommandReach::of([&search]), CommandReach { reads: PathReach::Tree, writes: PathReach::PathOnly });
    /// ```
    pub fn of<'a>(commands: impl IntoIterator<Item = &'a CommandLine>) -> Self {
        commands.into_iter().map(of_command).fold(Self::NOTHING, Self::with)
    }

    fn with(self, other: Self) -> Self {
        Self { reads: farther(self.reads, other.reads), writes: farther(self.writes, other.writes) }
    }
}

fn farther(one: PathReach, other: PathReach) -> PathReach {
    match (one, other) {
        (PathReach::PathOnly, PathReach::PathOnly) => PathReach::PathOnly,
        (PathReach::Tree, PathReach::PathOnly | PathReach::Tree)
        | (PathReach::PathOnly, PathReach::Tree) => PathReach::Tree,
    }
}

fn of_command(command: &CommandLine) -> CommandReach {
    let CommandLine::Argv(argv) = command else { return CommandReach::ALL };
    let Some((program, arguments)) = argv.split_first() else { return CommandReach::NOTHING };
    let name = program.rsplit('/').next().unwrap_or(program);
    if name == "git" {
        let sweeps = git_subcommand(arguments).is_some_and(|it| GIT_SWEEPING.contains(&it));
        return if sweeps { CommandReach::ALL } else { CommandReach::NOTHING };
    }
    let program = PROGRAMS.iter().find(|program| program.names.contains(&name));
    program.map_or(CommandReach::NOTHING, |program| CommandReach {
        reads: program.reads.reach(arguments),
        writes: program.writes.reach(arguments),
    })
}

impl ReachCondition {
    fn reach(&self, arguments: &[String]) -> PathReach {
        let reaches_all = match self {
            Self::Never => false,
            Self::Always => true,
            Self::With(options) => arguments
                .iter()
                .any(|argument| options.iter().any(|option| is_option(argument, option))),
        };
        if reaches_all { PathReach::Tree } else { PathReach::PathOnly }
    }
}

/// Returns whether an argument gives an option. That it may as well be the value of another one does not matter: then
/// the answer is more than there is.
fn is_option(argument: &str, option: &str) -> bool {
    if option.starts_with("--") {
        let name = argument.split('=').next().unwrap_or(argument);
        return name.len() > "--".len() && option.starts_with(name);
    }
    match option.strip_prefix('-') {
        Some(letter) if letter.chars().count() == 1 => {
            let is_cluster = argument.starts_with('-') && !argument.starts_with("--");
            is_cluster && argument.contains(letter)
        }
        Some(_) | None => argument == option,
    }
}
