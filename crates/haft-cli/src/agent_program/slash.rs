//! Slash commands: lines that a person types to haft instead of to the agent.

/// The request of a line that begins with a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SlashCommand {
    Help,
    New,
    /// Set aside the last prompts, so many from 1, with everything that followed.
    Rewind(usize),
    Fork,
    /// Begin a session with that agent, or list the agents.
    Agent(Option<String>),
    /// Ask that model from now on, or name the present one.
    Model(Option<String>),
    Compact,
    Cost,
    /// Show what a call changed, or the session.
    Diff(Option<String>),
    /// Take back what a call changed, or the last turn.
    Undo(Option<String>),
    Permissions,
    Todos,
    Quit,
    /// The line is not a slash command; holds the reason.
    Unknown(String),
}

/// A slash command, as help and completion name it.
pub(super) struct SlashCommandText {
    pub(super) name: &'static str,
    argument: &'static str,
    about: &'static str,
}

/// All slash commands.
pub(super) const SLASH_COMMANDS: &[SlashCommandText] = &[
    text("new", "", "begin a new session"),
    text("agent", "[NAME]", "begin a session with another agent, or list the agents"),
    text("model", "[NAME]", "ask another model from now on, or show the present one"),
    text("diff", "[CALL]", "show what this session changed, or one call of it"),
    text("undo", "[CALL]", "take back what the last turn changed, or one call"),
    text("rewind", "[N]", "set aside your last prompt (or the last N) with all that followed"),
    text("compact", "", "have the model read a summary of the earlier messages"),
    text("cost", "", "show the tokens of this session and the context that is left"),
    text("permissions", "", "list the rules in force"),
    text("fork", "", "continue in a copy of this session, and leave this one as it is"),
    text("todos", "", "show the agent's task list"),
    text("help", "", "show this"),
    text("quit", "", "end; Ctrl-D does so, too"),
];

/// The text below the list of `/help`.
const HELP_END: &str = "\
!COMMAND runs a command as your own call; the agent reads the command and its output with your next line. Tab completes \
commands, agents, and files after @. Lines that you type while the agent works wait until its turn is over. Ctrl-C stops a turn. \
An empty line continues a turn that was stopped. A line that begins with a space goes to the agent unchanged, and is not kept \
in the history.";

const fn text(name: &'static str, argument: &'static str, about: &'static str) -> SlashCommandText {
    SlashCommandText { name, argument, about }
}

/// Returns the text of `/help`.
pub(super) fn help_text() -> String {
    let usage = |command: &SlashCommandText| {
        let gap = if command.argument.is_empty() { "" } else { " " };
        format!("/{}{gap}{}", command.name, command.argument)
    };
    let width = SLASH_COMMANDS.iter().map(|command| usage(command).len()).max().unwrap_or_default();
    let line =
        |command: &SlashCommandText| format!("{:width$}  {}\n", usage(command), command.about);
    let lines: String = SLASH_COMMANDS.iter().map(line).collect();
    format!("{lines}\n{HELP_END}")
}

impl SlashCommand {
    /// Returns the command of a line. Returns `None` if the line is for the agent.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let rest = line.strip_prefix('/')?;
        let mut words = rest.split_whitespace();
        let name = words.next().unwrap_or_default();
        // A path is no command.
        if name.contains('/') || rest.starts_with(char::is_whitespace) {
            return None;
        }
        let argument = words.next();
        if words.next().is_some() {
            return Some(Self::Unknown(format!("/{name} takes no more than one word")));
        }
        let word = || argument.map(str::to_owned);
        let command = match name {
            "help" => Self::Help,
            "new" => Self::New,
            "fork" => Self::Fork,
            "todos" => Self::Todos,
            "compact" => Self::Compact,
            "cost" => Self::Cost,
            "permissions" => Self::Permissions,
            "quit" | "exit" => Self::Quit,
            "agent" => return Some(Self::Agent(word())),
            "model" => return Some(Self::Model(word())),
            "diff" => return Some(Self::Diff(word())),
            "undo" => return Some(Self::Undo(word())),
            "rewind" => return Some(Self::parse_rewind(argument)),
            name => {
                return Some(Self::Unknown(format!(
                    "/{name} is no command: see /help; a line that begins with a space goes to the agent"
                )));
            }
        };
        Some(match argument {
            None => command,
            Some(_) => Self::Unknown(format!("/{name} takes nothing after it")),
        })
    }

    fn parse_rewind(count: Option<&str>) -> Self {
        match count.unwrap_or("1").parse() {
            Ok(count) if count > 0 => Self::Rewind(count),
            Ok(_) | Err(_) => Self::Unknown(format!(
                "/rewind {}: expected a number of prompts, from 1",
                count.unwrap_or_default()
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_begin_with_a_slash_are_for_haft() {
        let check = |line: &str, expect: Option<SlashCommand>| {
            assert_eq!(SlashCommand::parse(line), expect, "{line}")
        };
        check("/help", Some(SlashCommand::Help));
        check("/rewind", Some(SlashCommand::Rewind(1)));
        check("/rewind 3 ", Some(SlashCommand::Rewind(3)));
        check("/agent plan", Some(SlashCommand::Agent(Some("plan".to_owned()))));
        check("/agent", Some(SlashCommand::Agent(None)));
        check("/model openai/gpt-5", Some(SlashCommand::Model(Some("openai/gpt-5".to_owned()))));
        check("/undo last/3", Some(SlashCommand::Undo(Some("last/3".to_owned()))));
        check("/diff", Some(SlashCommand::Diff(None)));
        check("/exit", Some(SlashCommand::Quit));
        check("/etc/passwd, what is that?", None);
        check(" /help", None);
        check("/ no", None);
        check("fix it", None);
        for line in ["/", "/nope", "/rewind 0", "/rewind x", "/new now", "/cost 1", "/rewind 1 2"] {
            assert!(matches!(SlashCommand::parse(line), Some(SlashCommand::Unknown(_))), "{line}");
        }
    }

    #[test]
    fn help_names_every_command() {
        for command in SLASH_COMMANDS {
            let line = format!("/{}", command.name);
            let parsed = SlashCommand::parse(&line);
            assert!(!matches!(parsed, Some(SlashCommand::Unknown(_)) | None), "{line}");
            assert!(help_text().contains(&line), "{line}");
        }
        assert!(help_text().lines().take(SLASH_COMMANDS.len()).all(|line| line.len() <= 80));
    }
}
