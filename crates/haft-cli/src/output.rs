//! Where text goes: data to standard output, everything else to standard error, colour only where somebody sees it.
//! What is said is the commands' affair.

use std::fmt;
use std::io::{self, IsTerminal, Write};

use anstream::ColorChoice;
use clap::ValueEnum;
use clap::builder::styling::{AnsiColor, Effects, Style};
use serde::Serialize;

use crate::error::CommandError;

const ERROR: Style = AnsiColor::Red.on_default().effects(Effects::BOLD);
const WARNING: Style = AnsiColor::Yellow.on_default().effects(Effects::BOLD);
const HINT: Style = AnsiColor::Cyan.on_default().effects(Effects::BOLD);
const DIM: Style = Style::new().dimmed();

/// When to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Also into files and pipes
    Always,
    /// Nowhere
    Never,
}

impl Color {
    /// Makes the choice hold for the rest of the process.
    pub(crate) fn apply(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Writes data, ended by a newline if there is any.
pub(crate) fn data(text: &str) -> Result<(), CommandError> {
    let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let mut stdout = io::stdout().lock();
    write!(stdout, "{text}{newline}")
        .and_then(|()| stdout.flush())
        .map_err(|err| CommandError::of_stdout(&err))
}

/// Writes data as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string(value)
        .map_err(|err| CommandError::failed(format!("the answer is not JSON: {err}")))?;
    data(&text)
}

/// Writes data as JSON for people to read and for tools to take as it is.
pub(crate) fn pretty_json(value: &impl Serialize) -> Result<(), CommandError> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|err| CommandError::failed(format!("the answer is not JSON: {err}")))?;
    data(&text)
}

/// Says what went wrong, and after a blank line what helps.
pub(crate) fn error(message: &str, hint: Option<&str>) {
    labelled(ERROR, "error", message, hint);
}

/// Says what is not as somebody may think, and what helps. More may follow, so that a hint ends with a blank line.
pub(crate) fn warning(message: &str, hint: Option<&str>) {
    labelled(WARNING, "warning", &visible(message), hint.map(visible).as_deref());
    if hint.is_some() {
        to_stderr(format_args!("\n"));
    }
}

/// Returns a text without the characters that would control a terminal. Names of files and texts of manifests are
/// chosen by strangers.
pub(crate) fn visible(text: &str) -> String {
    let is_harmless = |character: char| !character.is_control() || character == '\n';
    text.chars()
        .map(|character| if is_harmless(character) { character } else { '\u{fffd}' })
        .collect()
}

/// Says something beside the data, where a person is there to read it.
pub(crate) fn aside(message: impl fmt::Display) {
    if io::stderr().is_terminal() {
        to_stderr(format_args!("{DIM}{message}{DIM:#}\n"));
    }
}

/// Says something that a command did.
pub(crate) fn note(message: impl fmt::Display) {
    to_stderr(format_args!("{message}\n"));
}

fn labelled(style: Style, label: &str, message: &str, hint: Option<&str>) {
    let message = message.trim_end();
    match hint {
        Some(hint) => to_stderr(format_args!(
            "{style}{label}:{style:#} {message}\n\n{HINT}hint:{HINT:#} {hint}\n"
        )),
        None => to_stderr(format_args!("{style}{label}:{style:#} {message}\n")),
    }
}

/// When nobody takes what is said there is nobody to tell either.
fn to_stderr(text: fmt::Arguments<'_>) {
    let _ = anstream::stderr().lock().write_fmt(text);
}
