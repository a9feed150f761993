//! `haft call`: every tool once, every way to give an input, every exit status.

use std::fs;
use std::io::Write as _;
use std::process::Stdio;

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::world::World;

fn check(args: &[&str], expect: &Expect) {
    let args: Vec<&str> = ["call"].iter().chain(args).copied().collect();
    World::with_files().check(&args, expect);
}

#[test]
fn read() {
    check(
        &["read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    check(
        &["read", r#"{"path":"notes.txt","start_line":2,"end_line":2}"#],
        &expect![[r#"
        two
        --- status 0
    "#]],
    );
}

#[test]
fn write() {
    let world = World::with_files();
    world.check(
        &["call", "write", r#"{"path":"a/b.txt","content":"x\n"}"#],
        &expect![[r#"
        ok
        --- status 0
    "#]],
    );
    assert_eq!(world.read("work/a/b.txt"), "x\n");
}

#[test]
fn edit() {
    let world = World::with_files();
    let input = r#"{"path":"notes.txt","old_string":"two","new_string":"2"}"#;
    world.check(
        &["call", "edit", input],
        &expect![[r#"
            {"replacements":1,"first_changed_line":2}
            --- status 0
        "#]],
    );
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
}

#[test]
fn glob_and_grep() {
    check(
        &["glob", r#"{"pattern":"**/*.rs"}"#],
        &expect![[r#"
        src/main.rs
        --- status 0
    "#]],
    );
    check(
        &["grep", r#"{"pattern":"two"}"#],
        &expect![[r#"
        notes.txt:2:two
        src/main.rs:2:    println!("two");
        --- status 0
    "#]],
    );
}

#[test]
fn todo() {
    check(
        &["todo", r#"{"todos":[{"content":"test","status":"pending"}]}"#],
        &expect![[r#"
        {"todos":[{"content":"test","status":"pending"}]}
        --- status 0
    "#]],
    );
}

#[test]
fn apply_patch() {
    let world = World::with_files();
    let patch = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";
    let input = serde_json::json!({ "patch": patch }).to_string();
    world.check(
        &["call", "apply_patch", &input],
        &expect![[r#"
            {"status":"ok","files":[{"path":"notes.txt","operation":"modify"}]}
            --- status 0
        "#]],
    );
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
}

#[test]
fn bash_is_refused_until_it_is_allowed() {
    check(
        &["--preset", "ask", "bash", r#"{"cmd":"ls"}"#],
        &expect![[r#"
            --- stderr
            error: no person can be asked here, so the call is denied: bash needs approval for shell.run of "ls": no rule matches, and then the answer is ask; the rule `allow bash "ls"` would allow it; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
            [[permissions]]
            permission = "bash"
            pattern = "ls $"
            action = "allow"

            hint: haft call --allow bash --preset ask bash '{"cmd":"ls"}'
            --- status 3
        "#]],
    );
    check(
        &["--allow", "bash", "bash", r#"{"cmd":"ls"}"#],
        &expect![[r#"
        notes.txt
        src
        --- status 0
    "#]],
    );
    check(
        &["--allow", "bash", "bash", r#"{"cmd":"ls; exit 7"}"#],
        &expect![[r#"
        --- stderr
        error: bash exited with status 7
        notes.txt
        src
        --- status 1
    "#]],
    );
}

#[test]
fn envelopes_are_json_whatever_happened() {
    check(
        &["--json", "read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
        {"type":"output","data":"one\ntwo\nthree\n","metadata":{"duration_ms":0,"call_id":"run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1"}}
        --- status 0
    "#]],
    );
    check(
        &["--json", "--preset", "ask", "bash", r#"{"cmd":"ls"}"#],
        &expect![[r#"
            {"type":"error","error_text":"no person can be asked here, so the call is denied: bash needs approval for shell.run of \"ls\": no rule matches, and then the answer is ask; the rule `allow bash \"ls\"` would allow it","metadata":{"duration_ms":0,"call_id":"run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1","code":"PERMISSION_DENIED","refusal":{"code":"PERMISSION_DENIED","decided_by":"no_answer","because":"no person can be asked here, so the call is denied: bash needs approval for shell.run of \"ls\": no rule matches, and then the answer is ask; the rule `allow bash \"ls\"` would allow it","remedies":[{"allow_tool":"bash"},{"add_rule":{"permission":"bash","pattern":"ls $"}}]}}}
            --- status 3
        "#]],
    );
    check(
        &["--json", "--allow", "bash", "bash", r#"{"cmd":"echo a; exit 7"}"#],
        &expect![[r#"
            {"type":"error","error_text":"bash exited with status 7\na\n","metadata":{"duration_ms":0,"call_id":"run_XXXXXXXXXXXXXXXXXXXXXXXXXX/main/0/1/1","code":"TOOL_COMMAND_FAILED","exit_code":7,"enforced":{"filesystem":"kernel","network":"kernel","processes":"kernel","system_calls":"kernel","resources":"kernel"}}}
            --- status 1
        "#]],
    );
}

#[test]
fn smithers() {
    check(
        &["--profile", "smithers", "read", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    check(
        &["--profile", "smithers", "glob", r#"{"pattern":"*"}"#],
        &expect![[r#"
            --- stderr
            error: no tool is called "glob": use a listed tool (bash, edit, grep, read, write)

            hint: haft tools list
            --- status 2
        "#]],
    );
    check(
        &["--profile", "smithers", "read", r#"{"path":"../x"}"#],
        &expect![[r#"
        --- stderr
        error: path "../x" is outside the workspace: use a path within /world/work
        --- status 3
    "#]],
    );
}

#[test]
fn inputs_come_from_files_and_standard_input() {
    let world = World::with_files();
    world.write("work/input.json", r#"{"path": "notes.txt", "start_line": 3}"#);
    world.check(
        &["call", "read", "@input.json"],
        &expect![[r#"
        three
        --- status 0
    "#]],
    );
    world.check_with_input(
        &["call", "read", "-"],
        r#"{"path":"notes.txt"}"#,
        &expect![[r#"
        one
        two
        three
        --- status 0
    "#]],
    );
    world.check(
        &["call", "read", "@missing.json"],
        &expect![[r#"
        --- stderr
        error: input missing.json cannot be read: No such file or directory (os error 2)
        --- status 2
    "#]],
    );
    world.check_with_input(
        &["call", "read", "-"],
        "{\n  \"path\": notes\n}",
        &expect![[r#"
        --- stderr
        error: standard input is not JSON: expected ident at line 2 column 12

        hint: haft tools show read
        --- status 2
    "#]],
    );
    world.check(
        &["call", "read", "{"],
        &expect![[r#"
        --- stderr
        error: the input is not JSON: EOF while parsing an object at line 1 column 1

        hint: haft call read path=VALUE
        --- status 2
    "#]],
    );
}

#[test]
fn what_cannot_be_called_is_a_matter_of_usage() {
    check(
        &["raed", r#"{"path":"notes.txt"}"#],
        &expect![[r#"
        --- stderr
        error: no tool is called "raed": did you mean read?

        hint: haft tools list
        --- status 2
    "#]],
    );
    check(
        &["read"],
        &expect![[r#"
        --- stderr
        error: invalid input for read: path: required, but missing

        hint: haft tools show read
        --- status 2
    "#]],
    );
    check(
        &["read", r#"{"pth":1,"path":2}"#],
        &expect![[r#"
            --- stderr
            error: invalid input for read: path: expected string, found 2; pth: no such parameter: the tool has path, offset, limit, start_line, end_line, byte_offset, byte_limit; did you mean path?

            hint: haft tools show read
            --- status 2
        "#]],
    );
    check(
        &["read", r#"{"path":"notes.txt"}"#, "--attempt", "0"],
        &expect![[r#"
            --- stderr
            error: attempt "0" is not valid: expected a number from 1
            --- status 2
        "#]],
    );
    check(
        &["read", r#"{"path":"notes.txt"}"#, "--run", "a b"],
        &expect![[r#"
        --- stderr
        error: run "a b" is not valid: expected 1 to 128 letters, digits and the characters . _ - :
        --- status 2
    "#]],
    );
}

#[test]
fn settings_that_are_not_usable_are_a_matter_of_usage() {
    check(
        &["read", "--allow", "raed"],
        &expect![[r#"
            --- stderr
            error: allow: no tool is called "raed": did you mean read?

            hint: haft tools list
            --- status 2
        "#]],
    );
    check(
        &["read", "--tools", "raed,grep"],
        &expect![[r#"
            --- stderr
            error: tools: no tool is called "raed": did you mean read?
            --- status 2
        "#]],
    );
    check(
        &["read", "--timeout-ms", "3600001"],
        &expect![[r#"
        --- stderr
        error: invalid value '3600001' for '--timeout-ms <MS>': 3600001 is not in 1..=3600000

        For more information, try '--help'.
        --- status 2
    "#]],
    );
    check(
        &["read", "--preset", "none"],
        &expect![[r#"
        --- stderr
        error: invalid value 'none' for '--preset <PRESET>'
          [possible values: read-only, ask, workspace, full]

        For more information, try '--help'.
        --- status 2
    "#]],
    );
    check(
        &["read", "--root", "missing"],
        &expect![[r#"
        --- stderr
        error: root "/world/work/missing" cannot be used: /world/work/missing does not exist
        --- status 2
    "#]],
    );
}

#[test]
fn what_leads_out_is_refused() {
    check(
        &["read", r#"{"path":"/etc/hostname"}"#],
        &expect![[r#"
        --- stderr
        error: path "/etc/hostname" is outside the workspace: use a path within /world/work
        --- status 3
    "#]],
    );
    check(
        &["read", r#"{"path":"../home"}"#],
        &expect![[r#"
        --- stderr
        error: path "../home" is outside the workspace: use a path within /world/work
        --- status 3
    "#]],
    );
    check(
        &["--allow", "bash", "--network-guard", "standard", "bash", r#"{"cmd":"curl a.b"}"#],
        &expect![[r#"
            --- stderr
            error: curl is refused by name: the network is off, and in the sandbox it could reach nothing; work offline, or ask the user to grant hosts, or to turn the list of names off (network_guard = "kernel" in haft.toml)

            hint: haft call --network-guard kernel --allow bash --network-guard standard bash '{"cmd":"curl a.b"}'
            --- status 3
        "#]],
    );
    check(
        &["--allow", "bash", "--network-guard", "standard", "bash", r#"{"cmd":"git push"}"#],
        &expect![[r#"
            --- stderr
            error: git push is refused by name: the network is off, and in the sandbox it could reach nothing; use local git commands, or ask the user to grant hosts, or to turn the list of names off (network_guard = "kernel" in haft.toml)

            hint: haft call --network-guard kernel --allow bash --network-guard standard bash '{"cmd":"git push"}'
            --- status 3
        "#]],
    );
    check(
        &["--preset", "read-only", "write", r#"{"path":"a","content":""}"#],
        &expect![[r#"
        --- stderr
        error: write is denied fs.write of "a": the preset rule `deny fs.write "*"` decides; the rule `allow write "a"` would allow it

        hint: haft call --allow write --preset read-only write '{"path":"a","content":""}'
        --- status 3
    "#]],
    );
    check(
        &["--tools", "read", "write", r#"{"path":"a","content":""}"#],
        &expect![[r#"
            --- stderr
            error: no tool is called "write": use a listed tool (read)

            hint: haft tools list
            --- status 2
        "#]],
    );
}

#[test]
fn what_fails_says_why() {
    check(
        &["read", r#"{"path":"note.txt"}"#],
        &expect![[r#"
        --- stderr
        error: path "note.txt" does not exist: did you mean notes.txt?
        --- status 1
    "#]],
    );
    check(
        &["read", r#"{"path":"src"}"#],
        &expect![[r#"
            --- stderr
            error: path "src" is a directory, not a file; it contains main.rs. Name a file, or list it with glob.
            --- status 1
        "#]],
    );
}

#[test]
fn the_environment_of_commands_is_a_chosen_one() {
    let world = World::with_files();
    let mut command = world.haft(&["call", "--allow", "bash", "bash", r#"{"cmd":"env"}"#]);
    command.env("LC_ALL", "C").env("API_KEY", "secret").env("HAFT_ALLOW_NETWORK", "no");
    let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
    let mut names: Vec<&str> =
        output.lines().filter_map(|line| Some(line.split_once('=')?.0)).collect();
    names.sort_unstable();
    assert_eq!(names, ["HAFT_IDEMPOTENCY_KEY", "HAFT_TASK_KEY", "HOME", "LC_ALL", "PATH", "TZ"]);
}

#[test]
fn a_cut_output_can_be_read_after_the_command() {
    let world = World::with_files();
    let args = ["call", "--allow", "bash", "--output-bytes", "1000", "--json", "bash"];
    let input = r#"{"cmd":"seq 100000"}"#;
    let args: Vec<&str> = args.into_iter().chain([input]).collect();
    let envelope = world.json(&args);
    assert_eq!(envelope["metadata"]["truncated"], true);
    let path = envelope["metadata"]["output_path"].as_str().unwrap();
    assert!(path.starts_with(&*world.path("state/sessions").to_string_lossy()), "{path}");
    assert_eq!(fs::read_to_string(path).unwrap().lines().last(), Some("100000"));
}

#[test]
fn calls_of_one_run_are_numbered_on() {
    let world = World::with_files();
    for _ in 0..2 {
        world.run(&["call", "read", r#"{"path":"notes.txt"}"#, "--run", "r1", "--node", "n"]);
    }
    let input = r#"{"path":"notes.txt"}"#;
    let args = ["call", "read", input, "--run", "r1", "--iteration", "2", "--attempt", "3"];
    world.run(&args);
    world.check(
        &["runs", "show", "r1"],
        &expect![[r#"
            run       r1
            root      /world/work
            begun     2000-01-01T00:00:00.000Z by cli, haft VERSION

            CALL           TOOL  STATUS     STARTED                   MS  CODE  INPUT
            r1/main/2/3/1  read  succeeded  2000-01-01T00:00:00.000Z  0  -     notes.txt
            r1/n/0/1/1     read  succeeded  2000-01-01T00:00:00.000Z  0  -     notes.txt
            r1/n/0/1/2     read  succeeded  2000-01-01T00:00:00.000Z  0  -     notes.txt
            --- status 0
        "#]],
    );
}

#[test]
fn bash_is_held_to_its_bounds() {
    let world = World::with_files();
    let code = |input: &Value| {
        let args = ["--allow", "bash", "--json", "call", "bash", "-"];
        let mut child =
            world.haft(&args).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        let envelope: Value = serde_json::from_slice(&output.stdout).unwrap();
        envelope["metadata"]["code"].as_str().unwrap_or("none").to_owned()
    };
    let line = |chars: usize| json!({"cmd": format!("true {}", "x".repeat(chars - 5))});
    let count = |args: usize| json!({"cmd": "true", "args": vec!["x"; args]});
    let long = |chars: usize| json!({"cmd": "true", "args": ["x".repeat(chars)]});
    let cwd = |chars: usize| json!({"cmd": "true", "opts": {"cwd": "x".repeat(chars)}});
    let time = |ms: u64| json!({"cmd": "true", "opts": {"timeout_ms": ms}});
    for (at_the_bound, beyond, expect) in [
        (line(8_192), line(8_193), "none"),
        (count(128), count(129), "none"),
        (long(8_192), long(8_193), "none"),
        // No directory has so long a name, but it is looked for.
        (cwd(1_024), cwd(1_025), "TOOL_PATH_INVALID"),
        (time(3_600_000), time(3_600_001), "none"),
    ] {
        assert_eq!(
            (code(&at_the_bound), code(&beyond)),
            (expect.to_owned(), "INVALID_INPUT".to_owned())
        );
    }
    let slow = json!({"cmd": "sleep 1000", "opts": {"timeout_ms": 100}});
    assert_eq!(code(&slow), "PROCESS_TIMEOUT");
    // A command that has closed its output is watched all the same.
    let mute = json!({"cmd": "exec >&- 2>&-; sleep 1000", "opts": {"timeout_ms": 100}});
    assert_eq!(code(&mute), "PROCESS_TIMEOUT");
}
