//! How far commands go from the directories that they are given: those that copy, search or remove whole trees read or
//! change files that nobody named. It deliberately knows the programs alone of which files are known by their words;
//! what others are given is in no access that could go further.

use haft_contract::Command;

use crate::access::Reach;
use crate::network_guard::git_subcommand;

#[cfg(test)]
mod tests;

/// How far commands go from the directories that they read and write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sweep {
    /// How far from what they read.
    pub reads: Reach,
    /// How far from what they write, remove, or put something into.
    pub writes: Reach,
}

/// One kind of program.
struct Program {
    names: &'static [&'static str],
    reads: When,
    writes: When,
}

/// When a program reaches all beneath a directory.
enum When {
    Never,
    Always,
    /// With one of these options: a letter in any cluster, a long name or a beginning of it, or a word of its own.
    With(&'static [&'static str]),
}

const PROGRAMS: &[Program] = &[
    Program {
        names: &["cp"],
        reads: When::With(&["-R", "-a", "-r", "--archive", "--recursive"]),
        writes: When::Always,
    },
    Program { names: &["mv", "tar"], reads: When::Always, writes: When::Always },
    // They read files alone, and put them into a directory.
    Program { names: &["install", "ln", "unzip"], reads: When::Never, writes: When::Always },
    Program {
        names: &["rm"],
        reads: When::Never,
        writes: When::With(&["-R", "-r", "--recursive"]),
    },
    Program {
        names: &["chgrp", "chmod", "chown"],
        reads: When::Never,
        writes: When::With(&["-R", "--recursive"]),
    },
    Program { names: &["diff", "rg", "zip"], reads: When::Always, writes: When::Never },
    Program {
        names: &["egrep", "fgrep", "grep"],
        reads: When::With(&[
            "-R",
            "-d",
            "-r",
            "--dereference-recursive",
            "--directories",
            "--recursive",
        ]),
        writes: When::Never,
    },
    // Listing names is no reading; what it runs on them is a command of its own.
    Program { names: &["find"], reads: When::Never, writes: When::With(&["-delete"]) },
];

/// Subcommands of git that show or write files as they lie in the directories that they are given.
const GIT_SWEEPING: &[&str] = &["diff", "format-patch", "grep", "log", "show"];

impl Sweep {
    /// Reaches what is named and nothing else.
    pub const NOTHING: Self = Self { reads: Reach::Place, writes: Reach::Place };
    /// Reaches everything.
    pub const ALL: Self = Self { reads: Reach::Tree, writes: Reach::Tree };

    /// Returns how far these commands go; one that is not known may go as far as there is.
    ///
    /// ```
    /// use haft_contract::Command;
    /// use haft_policy::{Reach, Sweep};
    ///
    /// let search = Command::Argv(["grep", "-rn", "x", "src"].map(String::from).to_vec());
    /// assert_eq!(Sweep::of([&search]), Sweep { reads: Reach::Tree, writes: Reach::Place });
    /// ```
    pub fn of<'a>(commands: impl IntoIterator<Item = &'a Command>) -> Self {
        commands.into_iter().map(of_command).fold(Self::NOTHING, Self::with)
    }

    fn with(self, other: Self) -> Self {
        Self { reads: farther(self.reads, other.reads), writes: farther(self.writes, other.writes) }
    }
}

fn farther(one: Reach, other: Reach) -> Reach {
    match (one, other) {
        (Reach::Place, Reach::Place) => Reach::Place,
        (Reach::Tree, Reach::Place | Reach::Tree) | (Reach::Place, Reach::Tree) => Reach::Tree,
    }
}

fn of_command(command: &Command) -> Sweep {
    let Command::Argv(argv) = command else { return Sweep::ALL };
    let Some((program, arguments)) = argv.split_first() else { return Sweep::NOTHING };
    let name = program.rsplit('/').next().unwrap_or(program);
    if name == "git" {
        let sweeps = git_subcommand(arguments).is_some_and(|it| GIT_SWEEPING.contains(&it));
        return if sweeps { Sweep::ALL } else { Sweep::NOTHING };
    }
    let program = PROGRAMS.iter().find(|program| program.names.contains(&name));
    program.map_or(Sweep::NOTHING, |program| Sweep {
        reads: program.reads.reach(arguments),
        writes: program.writes.reach(arguments),
    })
}

impl When {
    fn reach(&self, arguments: &[String]) -> Reach {
        let reaches_all = match self {
            Self::Never => false,
            Self::Always => true,
            Self::With(options) => arguments
                .iter()
                .any(|argument| options.iter().any(|option| is_option(argument, option))),
        };
        if reaches_all { Reach::Tree } else { Reach::Place }
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
