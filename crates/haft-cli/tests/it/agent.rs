//! `haft agent` and `haft sessions` through the real program, with a scripted model and real tools in a small repository.
//! The tests check the output, and the state after the command is stopped or killed. Tests in the agent crate cover the
//! details of a turn.

mod conversation;
mod interrupted;
mod live;
pub(crate) mod repository;
mod retries;
mod runs;
mod sessions;
mod tasks;
mod undoing;
mod unread;

use std::process::Command;

use haft_scripted_model::{
    ModelScript, RecordedModelRequest, ScriptedReply, ScriptedServer, WireProtocol,
};

use crate::redaction::redact;
use crate::world::World;

/// A model that is a script, and the world in which it is asked.
pub(crate) struct Stage {
    pub(crate) world: World,
    pub(crate) model: ScriptedServer,
    wire: WireProtocol,
}

impl Stage {
    pub(crate) fn new(world: World, replies: impl IntoIterator<Item = ScriptedReply>) -> Self {
        Self::speaking(WireProtocol::OpenAi, world, replies)
    }

    pub(crate) fn speaking(
        wire: WireProtocol,
        world: World,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        Self::reading(wire, world, ModelScript::from_replies(replies))
    }

    pub(crate) fn reading(wire: WireProtocol, world: World, script: ModelScript) -> Self {
        Self { world, model: ScriptedServer::start(script).unwrap(), wire }
    }

    /// Returns the command with the model, to be changed and run.
    pub(crate) fn haft(&self, args: &[&str]) -> Command {
        let mut command = self.world.haft(args);
        command
            .env("HAFT_MODEL", format!("{}/test", self.wire.provider()))
            .env("HAFT_BASE_URL", self.model.base_url())
            .env("HAFT_KEY_VARIABLE", "TEST_KEY")
            .env("TEST_KEY", "a-key-of-the-tests");
        command
    }

    /// Runs a command and returns all that can be seen of it, without what differs from run to run.
    pub(crate) fn shown(&self, args: &[&str]) -> String {
        let shown = self.world.shown(&self.haft(args).output().unwrap());
        self.masked(&shown)
    }

    /// Returns a text without what differs from run to run.
    pub(crate) fn masked(&self, text: &str) -> String {
        masked(&redact(text, &self.world.path("")))
    }

    /// Returns what the model was told in a request, as one text.
    pub(crate) fn told(&self, request: usize) -> String {
        self.model.requests().get(request).map(RecordedModelRequest::text).unwrap_or_default()
    }

    /// Returns the name of the latest session.
    pub(crate) fn latest(&self) -> String {
        let listed = self.world.json(&["sessions", "list", "--json"]);
        listed[0]["id"].as_str().unwrap().to_owned()
    }
}

/// Numbers the names of sessions, messages and parts in the order in which they come, and takes times and places of the
/// model out.
pub(crate) fn masked(text: &str) -> String {
    let mut text = text.to_owned();
    for prefix in ["ses_", "msg_", "prt_"] {
        text = numbered(&text, prefix);
    }
    durations(&text)
}

fn numbered(text: &str, prefix: &str) -> String {
    let mut known: Vec<String> = Vec::new();
    let mut parts = text.split(prefix);
    let mut masked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let name: String = part.chars().take_while(char::is_ascii_alphanumeric).collect();
        masked.push_str(prefix);
        if name.len() != 26 {
            masked.push_str(part);
            continue;
        }
        let place = known.iter().position(|known| *known == name).unwrap_or_else(|| {
            known.push(name.clone());
            known.len() - 1
        });
        masked.push_str(&format!("{}{}", place + 1, &part[name.len()..]));
    }
    masked
}

/// ` · 12 ms` at the end of a line, also where the line is a code span.
fn durations(text: &str) -> String {
    let line = |line: &str| {
        let (line, end) = line.strip_suffix('`').map_or((line, ""), |line| (line, "`"));
        match line.rsplit_once(" · ") {
            Some((begun, time)) if is_duration(time) => format!("{begun} · 0 ms{end}"),
            _ => format!("{line}{end}"),
        }
    };
    let lines: Vec<String> = text.split('\n').map(line).collect();
    lines.join("\n")
}

fn is_duration(text: &str) -> bool {
    let number = text.strip_suffix(" ms").or_else(|| text.strip_suffix(" s"));
    number.is_some_and(|number| number.bytes().all(|it| it.is_ascii_digit() || it == b'.'))
}

#[test]
fn what_differs_is_masked() {
    let id = |digit: &str| digit.repeat(26);
    let text = format!(
        "ses_{} ses_{} ses_{} msg_short\n`read · 12 ms`\nbash · 2.3 s",
        id("1"),
        id("2"),
        id("1")
    );
    assert_eq!(masked(&text), "ses_1 ses_2 ses_1 msg_short\n`read · 0 ms`\nbash · 0 ms");
}
