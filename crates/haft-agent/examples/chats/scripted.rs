//! The model: the program that is a script, and the script for this measurement. Its answers follow from what was said last,
//! so that any number of sessions can ask it in any order.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use haft_model::{Model, ModelSettings, ProviderModel};
use serde_json::{Value, json};

use crate::Failure;

/// The prompt that asks for an answer without calls.
pub(crate) const GREETING: &str = "Is anybody there?";
/// The answer of the model to that prompt.
pub(crate) const GREETED: &str = "Somebody is, and waits for work.";
/// The answer of the model after all calls.
pub(crate) const ALL_DONE: &str = "All of them were made.";

/// The program while it runs; it ends with this.
pub(crate) struct Scripted {
    child: Child,
    pub(crate) model: Arc<dyn Model>,
}

impl Drop for Scripted {
    fn drop(&mut self) {
        // Where it has ended already there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a model that asks for so many calls one after the other, of each of the tools.
pub(crate) fn start(
    program: &Path,
    directory: &Path,
    tools: &[&str],
    calls: u32,
) -> Result<Scripted, Failure> {
    let script = directory.join("script.json");
    std::fs::write(&script, replies(tools, calls).to_string())?;
    let mut child = Command::new(program).arg(&script).stdout(Stdio::piped()).spawn()?;
    let mut base_url = String::new();
    let printed = child.stdout.take().ok_or("the model prints nothing")?;
    BufReader::new(printed).read_line(&mut base_url)?;
    let settings = ModelSettings {
        model: "openai/scripted".to_owned(),
        base_url: Some(base_url.trim_end().to_owned()),
        ..ModelSettings::default()
    };
    let model = Arc::new(ProviderModel::open(&settings, &|_| None)?);
    Ok(Scripted { child, model })
}

/// Returns what a person says who wants that tool called.
pub(crate) fn prompt(tool: &str) -> String {
    format!("Call {tool} until it is enough.")
}

/// Returns what a tool answers to its call of that number.
pub(crate) fn result(tool: &str, number: u32) -> String {
    format!("{tool} {number} done")
}

fn replies(tools: &[&str], calls: u32) -> Value {
    let mut replies = vec![reply(GREETING, &[json!({"text": GREETED})])];
    for tool in tools {
        let call = |number: u32| {
            let call = json!({"tool": tool, "input": {"number": number}});
            [json!({"text": "There is more to do."}), json!({"call": call})]
        };
        replies.push(reply(&prompt(tool), &call(1)));
        let next = |number: u32| reply(&result(tool, number), &call(number + 1));
        replies.extend((1..calls).map(next));
        replies.push(reply(&result(tool, calls), &[json!({"text": ALL_DONE})]));
    }
    json!({"replies": replies})
}

fn reply(last: &str, parts: &[Value]) -> Value {
    json!({"when": {"last": last}, "repeat": true, "parts": parts})
}
