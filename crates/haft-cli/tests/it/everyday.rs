//! Two lines of policy hold and stay out of the way: of the command lines of everyday work, haft refuses none, and asks about one
//! in a hundred at most. The lines are in `everyday/lines.txt`. Each line goes through `haft mcp` and runs in the sandbox, with
//! both lines of policy and the default preset. A part of the lines is compared with what they do without haft.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::mcp_wire::driver::{Server, haft};

/// The two lines: a command that does not run, and a file that no program reads.
const POLICY: &str = r#"
[[permissions]]
permission = "bash"
pattern = "git push"
action = "deny"

[[permissions]]
permission = "fs.read"
pattern = ".env"
action = "deny"
"#;
/// The text of the file that no program reads.
const SECRET: &str = "s3cret-of-the-user";

const LINES: &str = include_str!("everyday/lines.txt");
/// Stands for an end of line within a line of the file.
const LINE_END: char = '⏎';
/// The smallest number of lines that say something about everyday work.
const LINES_MIN: usize = 400;
/// The smallest number of lines that have to run.
const RUN_MIN: usize = 150;
/// Lines that run at the same time.
const AT_ONCE: usize = 6;
/// Time of one line, in milliseconds. Whether it ends does not matter.
const LINE_MS: u64 = 2_000;

/// Files of the repository that lines run in.
const FILES: &[(&str, &str)] = &[
    (".env", SECRET),
    (".gitignore", ".env\n"),
    ("haft.toml", POLICY),
    (
        "src/app.py",
        "import lib\n\n\ndef main():\n    print('hello world', lib.add(1, 2))\n\n\nmain()\n",
    ),
    ("src/lib.py", "def add(a, b):\n    return a + b\n"),
    (
        "tests/test_lib.py",
        "import sys\nimport unittest\n\nsys.path.insert(0, 'src')\nimport lib\n\n\nclass Adds(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(lib.add(1, 2), 3)\n",
    ),
    (
        "package.json",
        "{\"name\": \"demo\", \"version\": \"1.0.0\", \"scripts\": {\"test\": \"echo tested\", \"build\": \"echo built\"}}\n",
    ),
    ("Makefile", "all:\n\t@echo made\n"),
    ("build.sh", "#!/bin/bash\necho built\n"),
    ("vars.sh", "PROJECT=demo\n"),
    ("data.csv", "name,count\none,1\ntwo,2\ntwo,3\n"),
    ("notes.txt", "one\ntwo\nthree\n"),
    ("schema.sql", "create table if not exists u(b);\n"),
];

/// Returns the lines of the sections whose heading begins with a word, or of all sections.
fn lines(section: &str) -> Vec<String> {
    let mut is_meant = false;
    let mut found = Vec::new();
    for line in LINES.lines() {
        match line.strip_prefix("# ") {
            Some(heading) => is_meant = heading.starts_with(section),
            None if is_meant && !line.trim().is_empty() => {
                found.push(line.replace(LINE_END, "\n"));
            }
            None => {}
        }
    }
    found
}

/// Makes the repository in a directory.
fn lay_out(root: &Path) {
    for (name, text) in FILES {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    fs::set_permissions(root.join("build.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    for line in [
        "git init -q -b main",
        "git config user.name you && git config user.email you@example.org",
        "git add . && git commit -q -m first && git tag v1",
        "git remote add origin https://example.org/demo.git",
    ] {
        assert!(bash(root, line).is_some_and(|status| status == 0), "{line}");
    }
}

/// Runs a line without haft; returns its status.
fn bash(root: &Path, line: &str) -> Option<i32> {
    let mut command = Command::new("bash");
    command.args(["-c", line]).current_dir(root).env_clear().envs(variables(root));
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().unwrap().code()
}

fn variables(root: &Path) -> [(&'static str, String); 5] {
    let beside = |name: &str| root.with_file_name(name).display().to_string();
    [
        ("PATH", "/usr/bin:/bin".to_owned()),
        ("HOME", beside("home")),
        ("HAFT_STATE_DIR", beside("state")),
        ("USER", "you".to_owned()),
        ("LC_ALL", "C.UTF-8".to_owned()),
    ]
}

/// Returns `haft mcp` in a root, with the default preset.
fn server(root: &Path) -> Server {
    let mut command = Command::new(haft());
    command.args(["mcp", "--no-snapshots"]).current_dir(root).env_clear().envs(variables(root));
    command.stderr(Stdio::null());
    Server::of_legacy(command)
}

/// The end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LineEnd {
    /// It ran, and succeeded or not.
    Ran,
    /// A person would have been asked.
    Asked,
    /// It did not run.
    Refused,
}

/// Returns the end of the line that an answer is about.
fn end_of(answer: &Value) -> LineEnd {
    let meta = &answer["result"]["_meta"];
    match meta["haft/code"].as_str() {
        None if answer["result"].is_object() => LineEnd::Ran,
        // A program that is not installed cannot be started.
        Some("TOOL_COMMAND_FAILED" | "PROCESS_TIMEOUT" | "PROCESS_SPAWN_FAILED") => LineEnd::Ran,
        Some("PERMISSION_DENIED")
            if ["no_answer", "watchdog"]
                .iter()
                .any(|by| meta["haft/refusal"]["decided_by"] == *by) =>
        {
            LineEnd::Asked
        }
        Some(_) | None => LineEnd::Refused,
    }
}

fn text_of(answer: &Value) -> String {
    let blocks = answer["result"]["content"].as_array().into_iter().flatten();
    blocks.filter_map(|block| block["text"].as_str()).collect()
}

#[test]
fn everyday_lines_are_neither_refused_nor_asked_about() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("work");
    fs::create_dir_all(root.with_file_name("home")).unwrap();
    lay_out(&root);
    let mut server = server(&root);
    let lines = lines("");
    assert!(lines.len() >= LINES_MIN, "{} lines", lines.len());
    let mut found: BTreeMap<LineEnd, Vec<String>> = BTreeMap::new();
    let mut left = lines.iter();
    let mut running: BTreeMap<u64, &String> = BTreeMap::new();
    loop {
        while running.len() < AT_ONCE
            && let Some(line) = left.next()
        {
            let arguments = json!({"cmd": line, "opts": {"timeout_ms": LINE_MS}});
            let params = json!({"name": "bash", "arguments": arguments});
            running.insert(server.begin("tools/call", params), line);
        }
        if running.is_empty() {
            break;
        }
        let answer = server.receive();
        let line = running.remove(&answer["id"].as_u64().unwrap()).unwrap();
        let said = text_of(&answer);
        assert!(!said.contains(SECRET), "{line}: {said}");
        found.entry(end_of(&answer)).or_default().push(format!("{line}\n    {said}"));
    }
    // The two lines of policy hold.
    let push = server.call("bash", json!({"cmd": "git push origin main"}));
    assert_eq!(push["result"]["_meta"]["haft/code"], "PERMISSION_DENIED", "{push}");
    let read = text_of(&server.call("bash", json!({"cmd": "python3 -c \"open('.env')\""})));
    assert!(read.contains(".env is hidden from this command"), "{read}");
    server.end();
    let mut of = |end: LineEnd| found.remove(&end).unwrap_or_default();
    let [ran, asked, refused] = [LineEnd::Ran, LineEnd::Asked, LineEnd::Refused].map(&mut of);
    println!("{} lines: {} ran, {} ask", lines.len(), ran.len(), asked.len());
    println!("{} refused; asked:\n{}", refused.len(), asked.join("\n"));
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
    let documented = include_str!("../../../../docs/security.md");
    let figures = format!("| {} lines | 0 refused, {} asked |", lines.len(), asked.len());
    assert!(documented.contains(&figures), "{figures}");
    assert!(
        asked.len() * 100 <= lines.len(),
        "{} of {} ask:\n{}",
        asked.len(),
        lines.len(),
        asked.join("\n")
    );
}

#[test]
fn everyday_lines_run_as_they_do_without_haft() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    let [plain, confined] = ["plain/work", "confined/work"].map(|name| base.join(name));
    for root in [&plain, &confined] {
        fs::create_dir_all(root.with_file_name("home")).unwrap();
        lay_out(root);
    }
    let mut server = server(&confined);
    let (mut ran, mut withheld, mut failed) = (0, Vec::new(), Vec::new());
    for line in lines("run") {
        // A program that is not installed here, or needs what is not, says nothing about haft.
        if bash(&plain, &line) != Some(0) {
            continue;
        }
        ran += 1;
        let answer = server.call("bash", json!({ "cmd": line }));
        if answer["result"]["isError"] != Value::Bool(true) && answer.get("error").is_none() {
            continue;
        }
        let said = text_of(&answer);
        // A line about all files, such as `cp -r . /tmp`, fails because of the one, and says so.
        let is_of_rule = said.contains(".env is hidden from this command by the manifest rule");
        let failures = if is_of_rule { &mut withheld } else { &mut failed };
        failures.push(format!("{line}\n    {said}"));
    }
    server.end();
    println!("{ran} lines ran, {} failed because of .env:\n{withheld:#?}", withheld.len());
    assert!(ran >= RUN_MIN, "only {ran} lines ran");
    assert!(withheld.len() * 20 <= ran, "{} of {ran}: {withheld:#?}", withheld.len());
    assert!(failed.is_empty(), "{} of {ran} failed:\n{}", failed.len(), failed.join("\n"));
}
