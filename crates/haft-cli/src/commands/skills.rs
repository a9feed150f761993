//! `haft skills`: lists, shows and checks the skills of a workspace as a session finds them. Each subcommand has a file below
//! `skills/`.

mod check;
mod instructions;
mod list;
mod show;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::arguments::cli_context::CliContext;
use crate::error::CommandResult;

/// List, show and check skills
///
/// A skill is a directory with a file SKILL.md: its front matter says its name and what it is good for, and what stands
/// below is read when a model loads it. Skills are looked for in .agents/skills and .claude/skills of the workspace and of
/// the directories above it, as far as its repository goes; then in the same directories of your home and in
/// ~/.config/haft/skills; then haft brings some along; and last come the directories in skills.paths of the manifest. Of
/// two with one name the first counts.
#[derive(Args)]
#[command(after_long_help = "\
Examples:
  haft skills list
  haft skills show haft-plans         Print what a model gets when it loads the skill
  haft skills check                   Say what is wrong with which skill, and in which line
  haft skills check ~/src/my-skills   Look at a directory that is not configured
  haft skills instructions            Print AGENTS.md, CLAUDE.md and CONTEXT.md as one text")]
pub(crate) struct SkillsArgs {
    #[command(subcommand)]
    command: SkillsCommand,
}

#[derive(Subcommand)]
enum SkillsCommand {
    /// List the skills with where they come from
    List,
    /// Print a skill as a model gets it
    Show {
        /// The skill's name
        name: String,
    },
    /// Say what is wrong with which skill, and in which line
    ///
    /// A skill with an error is left out, one with a warning is not, unless another one has its name. The exit status is 1
    /// if there is an error.
    Check {
        /// Directory of skills, or a skill; all places unless given
        dir: Option<PathBuf>,
    },
    /// Print the project's instructions for agents as one text
    ///
    /// They are the files AGENTS.md, CLAUDE.md and CONTEXT.md of the workspace and of the directories above it, as far as
    /// its repository goes, the nearest last. Of 8,000 tokens, counted as four bytes each, the nearest take first what they
    /// need.
    Instructions,
}

/// Runs the command.
pub(crate) fn run(args: &SkillsArgs, cx: &CliContext) -> CommandResult {
    match &args.command {
        SkillsCommand::List => list::run(cx),
        SkillsCommand::Show { name } => show::run(name, cx),
        SkillsCommand::Check { dir } => check::run(dir.as_deref(), cx),
        SkillsCommand::Instructions => instructions::run(cx),
    }
}
