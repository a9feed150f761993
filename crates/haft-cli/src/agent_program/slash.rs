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
    Todos,
    Quit,
    /// The line is not a slash command; holds the reason.
    Unknown(String),
}

/// The text of `/help`.
pub(super) const HELP: &str = "\
/new           begin a new session
/agent [NAME]  begin a new session with another agent; without a name, list the agents
/rewind [N]    set aside your last prompt (or the last N) with all that followed, and edit it
/fork          continue in a copy of this session, and leave this one as it is
/todos         show the agent's task list
/help          show this
/quit          end; Ctrl-D does so, too

Ctrl-C stops a turn. An empty line continues a turn that was stopped. A line that begins with a space goes to the agent
unchanged, and is not kept in the history.";

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
        Some(match (name, argument) {
            ("help", None) => Self::Help,
            ("new", None) => Self::New,
            ("fork", None) => Self::Fork,
            ("todos", None) => Self::Todos,
            ("quit" | "exit", None) => Self::Quit,
            ("agent", name) => Self::Agent(name.map(str::to_owned)),
            ("rewind", None) => Self::Rewind(1),
            ("rewind", Some(count)) => match count.parse() {
                Ok(count) if count > 0 => Self::Rewind(count),
                Ok(_) | Err(_) => {
                    Self::Unknown(format!("/rewind {count}: expected a number of prompts, from 1"))
                }
            },
            ("help" | "new" | "fork" | "todos" | "quit" | "exit", Some(_)) => {
                Self::Unknown(format!("/{name} takes nothing after it"))
            }
            (name, _) => Self::Unknown(format!(
                "/{name} is no command: see /help; a line that begins with a space goes to the agent"
            )),
        })
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
        check("/exit", Some(SlashCommand::Quit));
        check("/etc/passwd, what is that?", None);
        check(" /help", None);
        check("/ no", None);
        check("fix it", None);
        for line in ["/", "/nope", "/rewind 0", "/rewind x", "/new now", "/rewind 1 2"] {
            assert!(matches!(SlashCommand::parse(line), Some(SlashCommand::Unknown(_))), "{line}");
        }
    }

    #[test]
    fn help_names_every_command() {
        for name in HELP.lines().filter_map(|line| line.split_whitespace().next()) {
            if name.starts_with('/') {
                assert!(
                    !matches!(SlashCommand::parse(name), Some(SlashCommand::Unknown(_)) | None),
                    "{name}"
                );
            }
        }
    }
}
