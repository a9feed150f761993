//! Models that take one step after the other, and know their step after any resume: each reply follows from the messages and
//! answers before it. So a session ends the same wherever it was killed. After a call in doubt, and after an interrupted
//! answer, they check the files as a careful agent does.

use haft_scripted_model::{ReplyCondition, ScriptedReply};
use serde_json::{Value, json};

use crate::world::World;

/// A text of each agent's system prompt that no other prompt has.
pub(super) const AGENT: &str = "You are an agent that works";
pub(super) const EXPLORER: &str = "You find things in a workspace";
pub(super) const HELPER: &str = "You do one task for another agent";

/// Where commands leave what they did, a line for each.
const EFFECTS: &str = "effects.txt";

/// After these words a model does not know what was done.
const UNSURE: [&str; 2] = ["may or may not have happened", "none of its calls was made"];

/// How often something is tried again; once more than any test kills.
const TRIES_MAX: usize = 5;

/// One thing to do.
pub(super) enum Step {
    /// A command that has an effect, which is not safe to repeat.
    Add(&'static str),
    /// A task for a subagent, and what its answer, or the word of its beginning, holds.
    Task { input: Value, leads: &'static str },
}

impl Step {
    /// The words with the call: the first time, and each time after the call was found not to have happened.
    fn said(&self, tries: usize) -> String {
        match self {
            Self::Add(word) => format!("Now{} {word}.", " again".repeat(tries)),
            Self::Task { .. } => "Somebody else does this.".to_owned(),
        }
    }

    fn reply(&self) -> ScriptedReply {
        self.try_after(0)
    }

    fn try_after(&self, tries: usize) -> ScriptedReply {
        let reply = ScriptedReply::new().text(&self.said(tries));
        match self {
            Self::Add(word) => {
                // The very same call stays in doubt until a person has settled it.
                let other = "; true".repeat(tries);
                let cmd = format!("echo {word} >> {EFFECTS}; echo added {word}{other}");
                reply.call("bash", json!({ "cmd": cmd }))
            }
            Self::Task { input, .. } => reply.call("task", input.clone()),
        }
    }

    fn leads(&self) -> String {
        match self {
            Self::Add(word) => format!("added {word}"),
            Self::Task { leads, .. } => (*leads).to_owned(),
        }
    }
}

/// Returns the replies of a model that does these things and ends with these words.
pub(super) fn worker(system: &str, steps: &[Step], end: &str) -> Vec<ScriptedReply> {
    let when = |last: Option<&str>, said: Option<&str>| ReplyCondition {
        system: Some(system.to_owned()),
        last: last.map(str::to_owned),
        said: said.map(str::to_owned),
        ..ReplyCondition::default()
    };
    let ending = || ScriptedReply::new().text(end);
    let follows = |place: usize| steps.get(place).map_or_else(ending, Step::reply);
    let mut replies = Vec::new();
    // Whatever was said last is looked at.
    for step in steps.iter().rev() {
        let Step::Add(word) = step else { continue };
        let cmd = format!("grep -qx {word} {EFFECTS} && echo added {word} || echo missing {word}");
        let look = || ScriptedReply::new().text("I look.").call("bash", json!({ "cmd": cmd }));
        let said = step.said(0);
        replies.extend(UNSURE.map(|words| look().when(when(Some(words), Some(&said)))));
        let missing = format!("missing {word}");
        replies.extend((0..TRIES_MAX).rev().map(|tries| {
            step.try_after(tries + 1).when(when(Some(&missing), Some(&step.said(tries))))
        }));
    }
    for (place, step) in steps.iter().enumerate().rev() {
        replies.push(follows(place + 1).when(when(Some(&step.leads()), None)));
    }
    replies.push(ending().when(when(None, Some(end))));
    replies.push(follows(0).when(when(None, None)));
    replies.into_iter().map(ScriptedReply::repeated).collect()
}

/// Returns what was done, in order.
pub(super) fn effects(world: &World) -> Vec<String> {
    let file = world.path("work").join(EFFECTS);
    let text = std::fs::read_to_string(file).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}
