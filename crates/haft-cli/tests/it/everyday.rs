//! Two lines of policy hold and stay out of the way: of the command lines of everyday work, haft refuses none because of
//! them, and asks about one in a hundred at most. The lines are in `everyday/lines.txt`. The decision is the pipeline's,
//! with the default preset and the sandbox. A part of the lines also runs.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use haft_app::{SettingOverrides, compose, host::AppHost, settings};
use haft_policy::RuleAction;
use serde_json::{Value, json};

use crate::mcp_wire::driver::{Server, haft};

/// The line about a command that does not run.
const COMMAND_RULE: &str = r#"
[[permissions]]
permission = "bash"
pattern = "git push"
action = "deny"
"#;

/// The line about a file that no program reads.
const PATH_RULE: &str = r#"
[[permissions]]
permission = "fs.read"
pattern = ".env"
action = "deny"
"#;

const LINES: &str = include_str!("everyday/lines.txt");
/// Stands for an end of line within a line of the file.
const LINE_END: char = '⏎';
/// The smallest number of lines that say something about everyday work.
const LINES_MIN: usize = 400;
/// The smallest number of lines that have to run.
const RUN_MIN: usize = 150;

/// Files of the repository that lines run in.
const FILES: &[(&str, &str)] = &[
    (".env", "SECRET=1\n"),
    ("haft.toml", COMMAND_RULE),
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

#[test]
fn everyday_lines_are_neither_refused_nor_asked_about() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap().join("work");
    lay_out(&root);
    fs::write(root.join("haft.toml"), format!("{COMMAND_RULE}{PATH_RULE}")).unwrap();
    let host = AppHost::isolated(&root.with_file_name("state")).unwrap();
    let host = host.in_directory(root.clone()).using_program(haft().into());
    let settings = settings::resolve(&SettingOverrides::default(), &host).unwrap();
    let lines = lines("");
    assert!(lines.len() >= LINES_MIN, "{} lines", lines.len());
    let (mut asked, mut refused, mut about_paths) = (Vec::new(), Vec::new(), Vec::new());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let haft = compose::unrecorded_runtime(&settings, &host).await.unwrap();
        let connection = compose::open_connection(&haft, &settings, &host, "test").unwrap();
        for line in &lines {
            let explained = connection.explain("bash", json!({ "cmd": line })).await.unwrap();
            let why = || {
                let access = explained.accesses.iter().find(|it| it.action != RuleAction::Allow);
                let refusal = explained.refusal.as_ref().map(|refusal| refusal.because.clone());
                let asks = access.map(|access| access.text.clone());
                let reason = refusal.or(asks).or(explained.reasons.first().cloned());
                format!("{line}\n    {}", reason.unwrap_or_default())
            };
            match explained.outcome {
                RuleAction::Allow => {}
                // How far a command reaches into directories is for the layer that holds paths.
                RuleAction::Ask
                    if explained.accesses.iter().any(|it| it.action == RuleAction::Ask)
                        && explained.accesses.iter().all(|it| {
                            it.action == RuleAction::Allow || it.access.starts_with("fs.")
                        }) =>
                {
                    about_paths.push(why());
                }
                RuleAction::Ask => asked.push(why()),
                RuleAction::Deny => refused.push(why()),
            }
        }
        // Of the two lines, the second has to hold.
        let push = connection.explain("bash", json!({ "cmd": "git push origin main" })).await;
        assert_eq!(push.unwrap().outcome, RuleAction::Deny);
    });
    let counts = (asked.len(), about_paths.len(), refused.len());
    println!("{} lines; asked, asked about paths, refused: {counts:?}", lines.len());
    println!("{}", about_paths.join("\n"));
    assert!(refused.is_empty(), "{} refused:\n{}", refused.len(), refused.join("\n"));
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
    let mut command = Command::new(haft());
    command.arg("mcp").current_dir(&confined).env_clear().envs(variables(&confined));
    command.stderr(Stdio::null());
    let mut server = Server::of_legacy(command);
    let (mut ran, mut failed) = (0, Vec::new());
    for line in lines("run") {
        // A program that is not installed here, or needs what is not, says nothing about haft.
        if bash(&plain, &line) != Some(0) {
            continue;
        }
        ran += 1;
        let answer = server.call("bash", json!({ "cmd": line }));
        if answer["result"]["isError"] == Value::Bool(true) || answer.get("error").is_some() {
            failed.push(format!("{line}\n    {}", answer["result"]["content"][0]["text"]));
        }
    }
    server.end();
    println!("{ran} lines ran, {} failed", failed.len());
    assert!(ran >= RUN_MIN, "only {ran} lines ran");
    assert!(failed.is_empty(), "{} of {ran} failed:\n{}", failed.len(), failed.join("\n"));
}
