//! How far commands go from the directories in their arguments. A command that copies, searches or removes a whole tree
//! reads or changes files that its arguments do not name. Only programs whose arguments name their files are listed. For
//! other programs, haft derives no access from the arguments.

use std::borrow::Cow;

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
    /// With one of these options: a letter in any cluster, a long name or a beginning of it, or a whole word.
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
    // It only lists names. The commands that it runs on them are judged separately.
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
        let mut reach = Self::NOTHING;
        for command in commands {
            let (argv, is_whole) = match command {
                CommandLine::Argv(argv) => (Cow::Borrowed(argv), true),
                CommandLine::Partial(words) => {
                    let is_whole = words.iter().all(|word| word.literal().is_some());
                    (
                        Cow::Owned(words.iter().map(|word| word.text().to_owned()).collect()),
                        is_whole,
                    )
                }
                CommandLine::Unknown(_) => return Self::ALL,
            };
            let Some((program, arguments)) = argv.split_first() else { continue };
            let name = program.rsplit('/').next().unwrap_or(program);
            let is_listed = name == "git" || PROGRAMS.iter().any(|it| it.names.contains(&name));
            // A word that is not known may be an option.
            if is_listed && !is_whole {
                return Self::ALL;
            }
            if name == "git" {
                if git_subcommand(arguments).is_some_and(|it| GIT_SWEEPING.contains(&it)) {
                    return Self::ALL;
                }
            } else if let Some(program) = PROGRAMS.iter().find(|it| it.names.contains(&name)) {
                reach.reads = reach.reads.max(program.reads.reach(arguments));
                reach.writes = reach.writes.max(program.writes.reach(arguments));
            }
        }
        reach
    }
}

impl ReachCondition {
    fn reach(&self, arguments: &[String]) -> PathReach {
        let options = match self {
            Self::Never => return PathReach::PathOnly,
            Self::Always => return PathReach::Tree,
            Self::With(options) => *options,
        };
        // An argument may also be the value of another option. Then the answer is wider than needed,
        // which is safe.
        let is_given = |option: &str, argument: &String| match option.strip_prefix('-') {
            Some(long) if long.starts_with('-') => {
                let name = argument.split('=').next().unwrap_or(argument);
                name.len() > "--".len() && option.starts_with(name)
            }
            Some(letter) if letter.chars().count() == 1 => {
                let is_cluster = argument.starts_with('-') && !argument.starts_with("--");
                is_cluster && argument.contains(letter)
            }
            Some(_) | None => argument == option,
        };
        let is_any_given = |option: &&str| arguments.iter().any(|it| is_given(option, it));
        if options.iter().any(is_any_given) { PathReach::Tree } else { PathReach::PathOnly }
    }
}
