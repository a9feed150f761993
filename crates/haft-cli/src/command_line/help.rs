//! The help of all commands. The options that every command takes are listed once, in the help of `haft`; the other commands name
//! them in one line. Texts are wrapped once, at the width of the terminal.

use clap::{Args as _, Command, CommandFactory as _};

use crate::arguments::setting_args::SettingArgs;
use crate::cli::{Cli, EXIT_HELP, SCREEN};

/// Most characters of a line of help.
const WIDTH_MAX: usize = 100;
/// The options that every command takes, in one line.
const GLOBAL_OPTIONS: &str =
    "Global options, such as --root, --preset, --allow and --json: see haft --help";

/// Returns the definition of the command line, with help for a terminal.
pub(crate) fn whole_command() -> Command {
    command(Some(GLOBAL_OPTIONS), None)
}

/// Returns the definition of the command line, with help for a document.
pub(crate) fn documented_command() -> Command {
    command(None, Some(WIDTH_MAX))
}

fn command(about_options: Option<&str>, width: Option<usize>) -> Command {
    let options = SettingArgs::augment_args(Command::new("haft"))
        .help_template("{all-args}")
        .disable_help_flag(true)
        .max_term_width(WIDTH_MAX);
    let mut options = match width {
        Some(width) => options.term_width(width),
        None => options,
    };
    let options = options.render_long_help().to_string();
    let long = format!("{SCREEN}\n\n{EXIT_HELP}\n\n{}", options.trim_end());
    let hide = |arg: clap::Arg| match arg.is_global_set() {
        true => arg.hide_short_help(true).hide_long_help(true),
        false => arg,
    };
    let fold = |below: Command| with_folded_help(below, about_options);
    Cli::command().mut_args(hide).mut_subcommands(fold).after_long_help(long)
}

/// Returns a command, and all below it, with texts that the terminal alone wraps, and with the line about shared options.
fn with_folded_help(command: Command, about_options: Option<&str>) -> Command {
    let short = command.get_after_help().map(ToString::to_string);
    let long = command.get_after_long_help().map(ToString::to_string).or_else(|| short.clone());
    let joined = |text: Option<String>| {
        let parts =
            text.map(|text| unwrapped(&text)).into_iter().chain(about_options.map(str::to_owned));
        parts.collect::<Vec<_>>().join("\n\n")
    };
    let (short, long) = (joined(short), joined(long));
    let command = if short.is_empty() { command } else { command.after_help(short) };
    let command = if long.is_empty() { command } else { command.after_long_help(long) };
    command.mut_subcommands(|below| with_folded_help(below, about_options))
}

/// Returns a text whose paragraphs are one line each. Lines that are indented, such as examples, stay as they are.
fn unwrapped(text: &str) -> String {
    let mut joined = String::with_capacity(text.len());
    let mut is_in_paragraph = false;
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        if is_prose && is_in_paragraph {
            joined.push(' ');
        } else if !joined.is_empty() {
            joined.push('\n');
        }
        joined.push_str(line);
        is_in_paragraph = is_prose && !line.ends_with(':');
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of a terminal that is still common.
    const LINES_MAX: usize = 24;
    /// Columns of such a terminal.
    const COLUMNS_MAX: usize = 80;

    #[test]
    fn the_screen_names_every_command_and_fits_a_terminal() {
        let words: Vec<&str> = SCREEN.split(|char: char| !char.is_ascii_alphabetic()).collect();
        for command in Cli::command().get_subcommands().filter(|it| !it.is_hide_set()) {
            let name = command.get_name();
            assert!(words.contains(&name) || name.contains('-'), "{name}");
        }
        // The first two lines say what haft is, and the prompt of the shell takes a line, too.
        assert!(SCREEN.lines().count() + 3 <= LINES_MAX, "{}", SCREEN.lines().count());
        for line in SCREEN.lines() {
            assert!(line.chars().count() <= COLUMNS_MAX, "{line}");
        }
    }

    #[test]
    fn only_prose_is_joined() {
        let text = "Examples:\n  haft a\n  haft b\n\nOne\ntwo\n\nExit status:\n  0  done\nThree";
        let expect = "Examples:\n  haft a\n  haft b\n\nOne two\n\nExit status:\n  0  done\nThree";
        assert_eq!(unwrapped(text), expect);
    }

    fn check_help(command: &mut Command) {
        let help = command.render_long_help().to_string();
        let name = command.get_name().to_owned();
        for line in help.lines() {
            assert!(line.chars().count() <= COLUMNS_MAX, "{name}: {line}");
        }
        // A line that is only a word or two, between longer ones, was wrapped twice.
        for below in command.get_subcommands_mut() {
            check_help(below);
        }
    }

    #[test]
    fn no_help_is_wider_than_a_terminal() {
        let mut haft = whole_command().term_width(COLUMNS_MAX);
        haft.build();
        check_help(&mut haft);
    }
}
