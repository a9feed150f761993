//! Attempts of a subagent that is restricted to one directory, with every tool it has: through links and commands, through
//! its subagents, and through background subagents. The tests check the text that a provider reads, and the disk.

use std::collections::BTreeSet;

use haft_scripted_model::{RecordedModelRequest, ReplyCondition, ScriptedReply};
use serde_json::{Value, json};

use super::worker::{AGENT, EXPLORER, HELPER};
use crate::agent::Stage;
use crate::world::{World, names};

/// A text that an agent restricted to `docs` must not read, and the beginning of that text.
const SECRET: &str = "tulip-4711-marigold";
const BEGINNING: &str = "tulip-4711";

/// The agent between the person's and those that try: it is held to one directory, and may start any command.
const KEEPER: &str = "---\ndescription: Keeps to docs\nmode: subagent\n\
    requires: {fs: {read: [\"docs/**\"], write: [\"docs/**\"]}, shell: [{cmd: \"*\"}]}\n---\nYou keep to docs.\n";
/// The same by rules, which hold the words of commands and no program: so there are none.
const KEEPER_BY_RULES: &str = "---\ndescription: Keeps to docs\nmode: subagent\npermissions:\n\
    \x20 - {permission: fs.read, action: deny}\n\
    \x20 - {permission: fs.write, action: deny}\n\
    \x20 - {permission: fs.read, pattern: \"docs/**\", action: allow}\n\
    \x20 - {permission: fs.write, pattern: \"docs/**\", action: allow}\n\
    \x20 - {permission: bash, action: deny}\n---\nYou keep to docs.\n";

fn of(system: &str) -> ReplyCondition {
    ReplyCondition { system: Some(system.to_owned()), ..ReplyCondition::default() }
}

fn task(subagent: &str, is_background: bool) -> Value {
    json!({"subagent_type": subagent, "prompt": "Try.", "background": is_background})
}

/// Everything that one who is held to `docs` might try.
fn attempts(root: &str) -> Vec<(&'static str, Value)> {
    let patch = |text: &str| json!({"patch": text});
    let bash = |line: &str| ("bash", json!({"cmd": line}));
    let within = |line: &str| ("bash", json!({"cmd": line, "opts": {"cwd": "docs"}}));
    vec![
        ("read", json!({"path": "secret.txt"})),
        ("read", json!({"path": format!("{root}/secret.txt")})),
        ("read", json!({"path": "docs/../secret.txt"})),
        ("read", json!({"path": "docs/link"})),
        ("read", json!({"path": "docs/up/secret.txt"})),
        ("read", json!({"path": "docs/a.txt"})),
        ("grep", json!({"pattern": BEGINNING})),
        ("grep", json!({"pattern": BEGINNING, "path": "docs"})),
        ("grep", json!({"pattern": BEGINNING, "path": "docs/up"})),
        ("grep", json!({"pattern": "marigold", "glob": "**/secret*"})),
        ("glob", json!({"pattern": "**/secret*"})),
        ("repo_overview", json!({})),
        ("write", json!({"path": "new.txt", "content": "x"})),
        ("write", json!({"path": "docs/link", "content": "x"})),
        ("write", json!({"path": "docs/up/new.txt", "content": "x"})),
        ("edit", json!({"path": "secret.txt", "old_string": BEGINNING, "new_string": "x"})),
        ("apply_patch", patch("--- /dev/null\n+++ b/new.txt\n@@ -0,0 +1 @@\n+x\n")),
        ("apply_patch", patch("--- a/secret.txt\n+++ b/secret.txt\n@@ -1 +1 @@\n-x\n+y\n")),
        (
            "apply_patch",
            patch(
                "diff --git a/secret.txt b/docs/moved.txt\nrename from secret.txt\nrename to docs/moved.txt\n",
            ),
        ),
        bash("cat secret.txt"),
        bash("cat docs/link"),
        bash("cat docs/up/secret.txt; cp secret.txt docs/copy.txt; ln secret.txt docs/other.txt"),
        bash("cd .. && cat work/secret.txt"),
        bash("python3 -c 'print(open(\"secret.txt\").read())'"),
        bash("f=secret; cat $f.txt; cat s*t.txt; cat docs/*"),
        bash("echo x > new.txt; echo x >> secret.txt; rm secret.txt; mv secret.txt docs/"),
        within("python3 -c 'print(open(\"../secret.txt\").read())'"),
        within("python3 -c 'print(open(\"link\").read())'"),
        within(&format!("f={root}/secr; cat ${{f}}et.txt")),
        within(
            "cp -RL . ../new; cp -L link copy.txt; cat up/secret.txt; for f in *; do cat $f; done",
        ),
        within("python3 -c 'open(\"../new.txt\", \"w\")'; echo x | tee ../new.txt ../secret.txt"),
        within("grep -r marigold / 2>/dev/null; cat /proc/self/root/proc/1/root/*/secret.txt"),
        within("cat a.txt"),
        ("lsp", json!({"operation": "symbols", "path": "secret.txt"})),
        ("web_fetch", json!({"url": "http://127.0.0.1:1/"})),
        ("repo_clone", json!({"url": format!("file://{root}"), "path": "docs/clone"})),
        ("tool_search", json!({"query": "read any file"})),
        ("skill", json!({"name": "none"})),
    ]
}

/// Tries every way out, and then has other agents try.
fn attacker(system: &str, root: &str, others: &[Value]) -> Vec<ScriptedReply> {
    let all = attempts(root).into_iter().chain(others.iter().map(|task| ("task", task.clone())));
    let tries = all.fold(ScriptedReply::new(), |reply, (tool, input)| reply.call(tool, input));
    let first = ReplyCondition { last: Some("Try.".to_owned()), ..of(system) };
    vec![
        tries.when(first).repeated(),
        ScriptedReply::new().text("Nothing.").when(of(system)).repeated(),
    ]
}

/// Has a task done through the agent that is restricted to `docs`. Returns the files that are left and the text that was
/// reported.
fn attack(keeper: &str) -> (Stage, Vec<String>) {
    let world = World::new();
    world.write("work/agents/keeper.md", keeper);
    world.write("work/secret.txt", &format!("{SECRET}\n"));
    world.write("work/docs/a.txt", "public\n");
    std::os::unix::fs::symlink("../secret.txt", world.path("work/docs").join("link")).unwrap();
    std::os::unix::fs::symlink("..", world.path("work/docs").join("up")).unwrap();
    let root = world.path("work").to_string_lossy().into_owned();
    let others = [task("explore", false), task("explore", true), task("keeper", false)];
    let given_on = |system: &str| {
        vec![
            ScriptedReply::new().call("task", task("general", false)).when(of(system)),
            ScriptedReply::new().text("Nothing.").when(of(system)).repeated(),
        ]
    };
    let mut replies = vec![
        ScriptedReply::new().call("task", task("keeper", false)).when(of(AGENT)),
        ScriptedReply::new().text("Nothing was found.").when(of(AGENT)).repeated(),
    ];
    replies.extend(given_on("You keep to docs"));
    replies.extend(attacker(HELPER, &root, &others));
    replies.extend(attacker(EXPLORER, &root, &[]));
    let stage = Stage::new(world, replies);
    let mut args = vec!["agent", "Find it."];
    for tool in ["bash", "lsp", "web_fetch", "task", "repo_overview"] {
        args.extend(["--allow", tool]);
    }
    let output = stage.haft(&args).output().unwrap();
    let shown = stage.world.shown(&output);
    assert_eq!(output.status.code(), Some(0), "{shown}");
    let told = stage.model.requests().iter().map(RecordedModelRequest::text).collect();
    (stage, told)
}

#[test]
fn one_who_is_held_to_a_directory_gets_out_in_no_way() {
    for keeper in [KEEPER, KEEPER_BY_RULES] {
        let (stage, told) = attack(keeper);
        let tried = told.iter().filter(|text| text.contains("docs/up/secret.txt"));
        assert!(tried.count() >= 2, "both try: {told:#?}");
        assert!(told.iter().any(|text| text.contains("public")), "{told:#?}");
        let leaks: Vec<&String> = told.iter().filter(|text| text.contains(SECRET)).collect();
        assert!(leaks.is_empty(), "{leaks:#?}");
        assert_eq!(stage.world.read("work/secret.txt"), format!("{SECRET}\n"));
        let left: BTreeSet<String> = names(&stage.world.path("work")).into_iter().collect();
        assert_eq!(left, ["agents", "docs", "secret.txt"].map(str::to_owned).into());
        for name in names(&stage.world.path("work/docs")) {
            let file = stage.world.path("work/docs").join(&name);
            let is_link = file.is_symlink();
            let is_clean = is_link || !std::fs::read_to_string(&file).unwrap().contains(SECRET);
            assert!(is_clean, "{name}");
        }
    }
}

#[test]
fn nothing_of_the_key_is_in_what_is_kept_and_told() {
    let failing = ScriptedReply::failure(401, "the key a-key-of-the-tests is not one of ours");
    let stage =
        Stage::new(World::new(), [ScriptedReply::new().text("Hello.").when(of(AGENT)), failing]);
    let (key, mut all) = ("a-key-of-the-tests", String::new());
    for args in [
        &["agent", "--json", "Say hello."][..],
        &["agent", "--json", "--resume", "last", "And again."],
        &["sessions", "export", "last"],
        &["sessions", "show", "last", "--json"],
    ] {
        all.push_str(&stage.shown(args));
    }
    assert!(all.contains("HTTP 401"), "{all}");
    assert!(!all.contains(key), "{all}");
    assert!(stage.world.path("state/journal.sqlite").exists());
    for file in ["journal.sqlite", "journal.sqlite-wal"] {
        let bytes = std::fs::read(stage.world.path("state").join(file)).unwrap_or_default();
        let holds = bytes.windows(key.len()).any(|window| window == key.as_bytes());
        assert!(!holds, "{file}");
    }
}
