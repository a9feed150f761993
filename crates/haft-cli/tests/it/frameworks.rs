//! `haft mcp` under the frameworks that agents are written with: pydantic-ai, the OpenAI Agents SDK, the AI SDK for
//! TypeScript and fastmcp. Their models are scripts, so that no provider is asked; everything between the model and haft is
//! theirs. Each reads, edits, runs a command and a Python tool, wants to write what has to be asked about, and makes a
//! mistake; what is compared is what the model was told.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::built_in_tools::shorten_list;
use crate::mcp_clients::client;
use crate::mcp_wire::driver::{Place, haft};

/// A tool of one's own.
const WORD_COUNT: &str = r#"
METADATA = {
    "name": "word_count",
    "function": "count_words",
    "description": "Counts the words of a text file.",
    "parameters": {
        "type": "object",
        "properties": {"path": {"type": "string", "description": "the file, relative to the root"}},
        "required": ["path"],
    },
}


def count_words(path: str):
    with open(path) as file:
        return {"words": len(file.read().split())}
"#;

/// The facts that are the same for all frameworks: the offered tools, and the model's view of four calls.
const SAME_LINES: usize = 5;

/// The answer of the person who is asked, if there is one.
#[derive(Clone, Copy)]
enum Person {
    Allows,
    Rejects,
    IsAway,
}

/// Returns a place with something to work on, where writing has to be asked about.
fn place() -> Place {
    let place = Place::new();
    place.write("notes.txt", "the cat sat\non the mat\n");
    let ask = "[[permissions]]\npermission = \"write\"\npattern = \"*\"\naction = \"ask\"\n";
    place.write("haft.toml", ask);
    let tools = tools(&place);
    std::fs::create_dir_all(&tools).unwrap();
    std::fs::write(tools.join("word_count.py"), WORD_COUNT).unwrap();
    place
}

/// The tools lie outside of the root, as those of a user do.
fn tools(place: &Place) -> PathBuf {
    place.state().with_file_name("tools")
}

/// Runs the script of a framework, and compares what it told beyond what is the same for all of them; the word for what the
/// person did is found in the file.
fn check(script: &str, person: Person, expect: &Expect) {
    let place = place();
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/frameworks");
    let mut command = match Path::new(script).extension().and_then(|name| name.to_str()) {
        Some("py") => {
            let mut python = place.command(client("HAFT_TEST_PYTHON"));
            // Messages of libraries to the maintainer of the script are not among the answers.
            python.args(["-W", "ignore"]);
            python
        }
        _ => place.command(client("HAFT_TEST_NODE")),
    };
    let order = order(&place, person);
    command.arg(scripts.join(script)).arg(order.to_string());
    let told = lines(&mut command);
    let told: Vec<String> = told
        .into_iter()
        .map(|mut line| {
            place.redact(&mut line);
            if let Some(offered) = line.get_mut("offered") {
                shorten_list(offered);
            }
            line.to_string()
        })
        .collect();
    let (same, own) = told.split_at(told.len().min(SAME_LINES));
    expect![[r#"
        {"offered":["[built-in tools]","view","word_count"]}
        {"tool":"read","content":"the cat sat\non the mat\n"}
        {"tool":"edit","content":"{\"replacements\":1,\"first_changed_line\":1}"}
        {"tool":"bash","content":"the black cat sat\non the mat\n"}
        {"tool":"word_count","content":"{\"words\":7}"}"#]]
    .assert_eq(&same.join("\n"));
    expect.assert_eq(&own.join("\n"));
    let notes = std::fs::read_to_string(place.root().join("notes.txt")).unwrap();
    assert_eq!(notes, "the black cat sat\non the mat\n");
    let made = place.root().join("made.txt").exists();
    assert_eq!(made, matches!(person, Person::Allows));
}

fn order(place: &Place, person: Person) -> Value {
    let call = |tool: &str, arguments: Value| json!({"tool": tool, "arguments": arguments});
    json!({
        "command": haft(),
        "args": ["mcp", "--python", tools(place)],
        "env": place.variables().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "cwd": place.root(),
        "packages": client("HAFT_TEST_NODE_PACKAGES"),
        "decision": match person {
            Person::Allows => "once",
            Person::Rejects | Person::IsAway => "reject",
        },
        "calls": [
            call("read", json!({"path": "notes.txt"})),
            call("edit", json!({"path": "notes.txt", "old_string": "cat", "new_string": "black cat"})),
            call("bash", json!({"cmd": "cat notes.txt"})),
            call("word_count", json!({"path": "notes.txt"})),
            call("write", json!({"path": "made.txt", "content": "made"})),
            call("read", json!({"path": "missing.txt"})),
        ],
    })
}

/// Returns the lines that a script printed.
fn lines(command: &mut Command) -> Vec<Value> {
    let output = command.output().unwrap();
    let (stdout, stderr) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn pydantic_ai_drives_haft_and_is_asked() {
    check(
        "pydantic_ai_agent.py",
        Person::Allows,
        &expect![[r#"
        {"asked":"May write run?"}
        {"tool":"write","content":"ok"}
        {"tool":"read","content":"{\"error\":\"path \\\"missing.txt\\\" does not exist: use glob to find it\"}"}
        {"output":"done"}"#]],
    );
}

#[test]
fn the_openai_agents_sdk_drives_haft_and_has_nobody_to_ask() {
    check(
        "openai_agents_agent.py",
        Person::IsAway,
        &expect![[r#"
            {"tool":"write","content":"no person can be asked here, so the call is denied: write needs approval for fs.write of \"made.txt\" by the manifest rule `ask write \"*\"`\nGo on without it, or tell the user: start haft with --allow write."}
            {"tool":"read","content":"path \"missing.txt\" does not exist: use glob to find it"}
            {"output":"done"}"#]],
    );
}

#[test]
fn fastmcp_drives_haft_and_is_asked() {
    check(
        "fastmcp_client.py",
        Person::Allows,
        &expect![[r#"
        {"asked":"May write run?"}
        {"tool":"write","content":"ok"}
        {"tool":"read","failed":"path \"missing.txt\" does not exist: use glob to find it"}
        {"output":"done"}"#]],
    );
}

#[test]
fn the_ai_sdk_drives_haft_and_is_asked() {
    check(
        "ai_sdk_agent.mjs",
        Person::Rejects,
        &expect![[r#"
        {"asked":"May write run?"}
        {"tool":"write","content":"the user rejected the call (write needs approval for fs.write of \"made.txt\": the manifest rule `ask write \"*\"` decides; the rule `allow write \"made.txt\"` would allow it)\nDo not try it in another way. Ask the user how to go on."}
        {"tool":"read","content":"path \"missing.txt\" does not exist: use glob to find it"}
        {"output":"done"}"#]],
    );
}
