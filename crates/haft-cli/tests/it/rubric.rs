//! Bad calls as models make them, through `haft mcp`, and the answers that a model reads. Every answer says something, names a
//! next step, is short and in plain words. The answers are in a golden file: `cargo xtask rubric --write` rewrites it.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::collections::BTreeMap;
use std::fmt::Write as _;

use expect_test::expect_file;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::mcp_wire::driver::{Place, Server, haft};
use crate::python::tool;

/// The calls, one a line.
const CALLS: &str = include_str!("../fixtures/rubric/calls.jsonl");
/// The group of calls of the user's own tools, which have another workspace.
const OWN_TOOLS: &str = "own tools";
/// An MCP server that fails in the way that it is told.
const HOSTILE_SERVER: &str = include_str!("../fixtures/mcp_servers/hostile.py");
/// The declared commands and the rules of the workspace with the user's own tools.
const OWN_TOOLS_MANIFEST: &str = r#"
[[python]]
dir = "tools"

[[commands]]
id = "text.count"
description = "Count the lines of a file"
argv = ["wc", "-l", "--", "{file}"]
effect = "read"
dangerous = false
[commands.parameters]
required = ["file"]
properties.file = { type = "string" }

[[commands]]
id = "mark"
description = "Change the settings of git"
argv = ["touch", "--", "{file}"]
[commands.parameters]
required = ["file"]
properties.file = { type = "string" }

[[commands]]
id = "lost"
description = "Run a program that is not installed"
argv = ["no-such-program"]

[[commands]]
id = "fails"
description = "Fail with words"
argv = ["sh", "-c", "echo it went wrong >&2; exit 3"]

[[commands]]
id = "reaches"
description = "Reach a host"
argv = ["python3", "-c", "import urllib.request as r; r.urlopen('https://example.com/')"]

[[permissions]]
permission = "*"
action = "allow"

[[permissions]]
permission = "fs.read"
pattern = ".env"
action = "deny"
"#;
/// The least number of calls.
const CALLS_MIN: usize = 200;
/// Bytes of English text that are counted as one token.
const BYTES_PER_TOKEN: usize = 4;
/// The median length of an answer, in tokens, without quoted passages.
const TOKENS_MEDIAN_MAX: usize = 30;
/// The 95th percentile of the length, in tokens, without quoted passages.
const TOKENS_P95_MAX: usize = 90;
/// The share of answers that name a next step, in percent.
const NEXT_STEP_PERCENT_MIN: usize = 95;

/// Words by which an answer says what to do, in lower case.
const STEPS: &[&str] = &[
    "use ",
    "give ",
    "name ",
    "write ",
    "did you mean",
    "tell the user",
    "ask the user",
    "make ",
    "leave ",
    "read it",
    "go on",
    "work ",
    "copy it",
    "continue with",
    "narrow",
    "split",
    "set ",
    "check ",
    "expected ",
    "required",
    "begin each",
    "add ",
    "look at it",
    "convert it",
    "find ",
    "call ",
    "do not ask",
    "only ",
    "change it",
    "take ",
    "run ",
    "remove ",
    "ask for",
    "do without",
    "mark ",
    "must differ",
    "closes",
    "escape",
    "put ",
    "list ",
    "start ",
    "no such parameter: ",
    "read the file again",
    "search for",
    "try ",
];

/// Turns of phrase that no answer has, in lower case.
const BANNED: &[&str] = &[
    "whoever",
    "whom ",
    "somebody",
    "nobody",
    "none of",
    "none is",
    "there is to",
    "is had",
    "what there is",
    "gone on with",
    "of its own",
    "inquiry",
    "survey",
];

/// One call.
#[derive(Deserialize)]
struct RubricCall {
    /// The kind of mistake.
    group: String,
    tool: String,
    input: Value,
    /// `answer` if the call is no mistake, and its answer needs no next step.
    expect: Option<String>,
}

/// One answer: the text, and the part of it that is not quoted.
struct RubricAnswer {
    text: String,
    words: String,
}

fn workspace() -> Place {
    let place = Place::new();
    std::fs::create_dir_all(place.root().join("src")).unwrap();
    std::fs::create_dir_all(place.root().join(".git")).unwrap();
    place.write("src/main.py", "def main():\n    value = 1\n    print(value)\n\n\nif __name__ == \"__main__\":\n    value = 1\n    main()\n");
    place.write("src/lib.rs", "pub fn run() {}\n");
    place.write("README.md", "# A project\n");
    place.write("empty.txt", "");
    place.write("secret.key", "key\n");
    place.write(".git/config", "[core]\n");
    let root = place.root();
    std::fs::write(root.join("blob.bin"), b"a\0b").unwrap();
    std::fs::write(root.join("logo.png"), b"\x89PNG\r\n\x1a\n\0\0").unwrap();
    std::fs::write(root.join("utf16.txt"), b"\xff\xfea\0").unwrap();
    place.write("broken.pdf", "%PDF-1.7\nnothing\n");
    place
        .write("notes.ipynb", r#"{"nbformat": 4, "cells": [{"cell_type": "raw", "source": "x"}]}"#);
    std::fs::write(root.join("latin1.txt"), b"caf\xe9\n").unwrap();
    std::os::unix::fs::symlink("gone.txt", root.join("dangling")).unwrap();
    let lines = |count: usize| (1..=count).map(|line| format!("line {line}\n")).collect::<String>();
    place.write("long.txt", &lines(9_000));
    place.write("big.log", &lines(30_000));
    place.write(
        "haft.toml",
        "[[permissions]]\npermission = \"fs.read\"\npattern = \"secret.key\"\naction = \"deny\"\n\n\
         [[permissions]]\npermission = \"bash\"\npattern = \"git push\"\naction = \"deny\"\n\n\
         [limits]\nshown_chars = 2000\n",
    );
    place
}

/// Returns a workspace with Python tools, declared commands and MCP servers that fail.
fn own_tools_workspace() -> Place {
    let place = Place::new();
    let root = place.root();
    for directory in ["tools", "src", ".git"] {
        std::fs::create_dir_all(root.join(directory)).unwrap();
    }
    place.write(".env", "TOKEN=x\n");
    place.write(".git/config", "[core]\n");
    place.write("src/main.py", "print(1)\n");
    let tools = [
        ("raises", "", "return {}[\"missing\"]"),
        ("bytes_of", "", "return b'x'"),
        ("endless", "\"timeout\": 1,", "while True: pass"),
        ("exits", "", "import os; os._exit(3)"),
        ("reads_secret", "", "return open('.env').read()"),
        (
            "writes_config",
            "\"side_effect\": True, \"dangerous\": True,",
            "open('.git/config', 'a').write('x')",
        ),
        (
            "fetches",
            "",
            "import urllib.request as r; return r.urlopen('https://example.com/').status",
        ),
        ("needs_module", "", "import no_such_module"),
    ];
    for (name, metadata, body) in tools {
        place.write(&format!("tools/{name}.py"), &tool(name, metadata, body));
    }
    let script = place.user_file("hostile.py", HOSTILE_SERVER);
    let mut manifest = OWN_TOOLS_MANIFEST.to_owned();
    for mode in ["well", "dies", "hang", "garbage", "exits"] {
        write!(
            manifest,
            "\n[mcp.{mode}]\ncommand = [\"/usr/bin/python3\", {script:?}, {mode:?}]\ntimeout_ms = 2000\n"
        )
        .unwrap();
    }
    place.write("haft.toml", &manifest);
    assert!(place.command(haft()).arg("trust").output().unwrap().status.success());
    place
}

impl RubricAnswer {
    /// Reads the answer of a call as a model does: all texts, or the message of a protocol error.
    fn of(answer: &Value) -> Self {
        if let Some(message) = answer.pointer("/error/message").and_then(Value::as_str) {
            return Self { text: message.to_owned(), words: message.to_owned() };
        }
        let content = answer.pointer("/result/content").and_then(Value::as_array);
        let texts: Vec<&str> =
            content.into_iter().flatten().filter_map(|part| part["text"].as_str()).collect();
        // Quoted passages and outputs follow the first line.
        let words: Vec<&str> = texts.iter().filter_map(|text| text.lines().next()).collect();
        Self { text: texts.join("\n"), words: words.join(" ") }
    }

    fn tokens(&self) -> usize {
        self.words.len().div_ceil(BYTES_PER_TOKEN)
    }

    fn names_next_step(&self) -> bool {
        let text = self.text.to_lowercase();
        STEPS.iter().any(|step| text.contains(step))
    }
}

/// Leaves out of a text what differs from machine to machine: names of sessions, and a language server that may be installed.
fn redact_machine(text: &str) -> String {
    let text = text.replace(", lsp,", ",");
    let mut parts = text.split("session_");
    let mut redacted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_alphanumeric());
        redacted.push_str("[session]");
        redacted.push_str(rest);
    }
    redacted
}

/// Cuts a long answer for the golden file. Of a command that failed, its first line is shown.
fn shown(call: &RubricCall, text: &str) -> String {
    const LINES_MAX: usize = 14;
    // The answer, and the first line that the command wrote.
    const FAILED_LINES: usize = 2;
    let text = redact_machine(text);
    if call.tool == "bash" && text.contains("exited with status") {
        return text.lines().take(FAILED_LINES).collect::<Vec<_>>().join("\n    ");
    }
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= LINES_MAX {
        return lines.join("\n    ");
    }
    let (head, tail) = (&lines[..3], &lines[lines.len() - 3..]);
    let cut = &lines[3..lines.len() - 3];
    let gap = cut.iter().filter(|line| line.starts_with('[') && line.ends_with(']'));
    let middle: Vec<&str> = std::iter::once("…").chain(gap.copied()).chain(["…"]).collect();
    [head, middle.as_slice(), tail].concat().join("\n    ")
}

#[test]
fn every_bad_call_is_answered_with_what_to_do_next() {
    let places = [workspace(), own_tools_workspace()];
    let mut servers = places.each_ref().map(|place| Server::start_legacy(place, &[]));
    let mut golden = String::new();
    let mut faults = Vec::new();
    let (mut tokens, mut wrong) = (Vec::new(), 0);
    let mut groups: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let calls: Vec<RubricCall> =
        CALLS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(calls.len() >= CALLS_MIN, "{} calls", calls.len());
    for call in &calls {
        let name = format!("{} {}", call.tool, call.input);
        let params = json!({"name": call.tool, "arguments": call.input});
        let which = usize::from(call.group == OWN_TOOLS);
        let mut message = servers[which].request("tools/call", params);
        places[which].redact(&mut message);
        let answer = RubricAnswer::of(&message);
        writeln!(golden, "{name}\n    {}", shown(call, &answer.text)).unwrap();
        if answer.text.trim().is_empty() {
            faults.push(format!("the answer is empty: {name}"));
        }
        let text = answer.words.to_lowercase();
        for word in BANNED.iter().filter(|word| text.contains(*word)) {
            faults.push(format!("{word:?} is in the answer to {name}: {}", answer.words));
        }
        if call.expect.is_some() {
            continue;
        }
        wrong += 1;
        tokens.push(answer.tokens());
        let (with_step, all) = groups.entry(call.group.clone()).or_default();
        *all += 1;
        if answer.names_next_step() {
            *with_step += 1;
        } else {
            println!("without a next step: {name}\n    {}", answer.text);
        }
    }
    tokens.sort_unstable();
    let (median, p95) = (tokens[tokens.len() / 2], tokens[tokens.len() * 95 / 100]);
    println!("{wrong} bad calls, median {median} tokens, 95th percentile {p95} tokens");
    for (group, (with_step, all)) in &groups {
        println!("{group}: {with_step} of {all} answers name a next step");
    }
    let with_step: usize = groups.values().map(|(with_step, _)| with_step).sum();
    if with_step * 100 < wrong * NEXT_STEP_PERCENT_MIN {
        faults.push(format!("{with_step} of {wrong} answers name a next step"));
    }
    if median > TOKENS_MEDIAN_MAX || p95 > TOKENS_P95_MAX {
        faults.push(format!("the median is {median} tokens, the 95th percentile {p95}"));
    }
    expect_file!["../fixtures/rubric/answers.txt"].assert_eq(&golden);
    assert_eq!(faults, Vec::<String>::new());
}
