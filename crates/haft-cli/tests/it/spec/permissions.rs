//! Rules, watchdogs and capabilities of the agent tool contract, each by the calls that it lets through and refuses.

use std::os::unix::fs::PermissionsExt as _;

use haft_scripted_model::ScriptedReply;
use serde_json::{Value, json};

use super::{call, code, error_text, trust};
use crate::agent::Stage;
use crate::world::World;

fn rule(permission: &str, pattern: &str, action: &str) -> String {
    format!(
        "[[permissions]]\npermission = \"{permission}\"\npattern = \"{pattern}\"\naction = \"{action}\"\n"
    )
}

/// A world whose manifest holds these rules and is trusted.
fn ruled(rules: &[String]) -> World {
    let world = World::with_files();
    world.write("work/a.py", "1\n");
    world.write("work/deep/b.py", "2\n");
    trust(&world, &rules.concat());
    world
}

fn read(world: &World, path: &str) -> String {
    code(&call(world, &[], "read", &json!({"path": path}))).to_owned()
}

fn bash(world: &World, line: &str) -> String {
    code(&call(world, &[], "bash", &json!({"cmd": line}))).to_owned()
}

const DENIED: &str = "PERMISSION_DENIED";

#[test]
fn a_rule_is_a_permission_a_pattern_and_an_action() {
    let world = ruled(&[rule("read", "notes.txt", "deny")]);
    assert_eq!((read(&world, "notes.txt"), read(&world, "a.py")), (DENIED.into(), "none".into()));
    let answer = call(&world, &[], "read", &json!({"path": "notes.txt"}));
    assert!(error_text(&answer).contains("deny read \"notes.txt\""), "{answer}");
}

#[test]
fn a_permission_is_a_tool_a_capability_or_all() {
    for permission in ["read", "fs.read", "*"] {
        let world = ruled(&[rule(permission, "notes.txt", "deny")]);
        assert_eq!(read(&world, "notes.txt"), DENIED, "{permission}");
        assert_eq!(read(&world, "a.py"), "none", "{permission}");
    }
}

#[test]
fn a_pattern_is_a_glob_of_paths() {
    let world = ruled(&[rule("*", "**/*.py", "deny")]);
    assert_eq!((read(&world, "a.py"), read(&world, "deep/b.py")), (DENIED.into(), DENIED.into()));
    assert_eq!(read(&world, "notes.txt"), "none");
}

#[test]
fn a_pattern_is_a_prefix_of_a_command_or_a_path() {
    let world = ruled(&[rule("bash", "git push*", "deny"), rule("read", "deep/", "deny")]);
    assert_eq!(
        (bash(&world, "git push origin"), bash(&world, "git --version")),
        (DENIED.into(), "none".into())
    );
    assert_eq!((read(&world, "deep/b.py"), read(&world, "a.py")), (DENIED.into(), "none".into()));
}

#[test]
fn a_pattern_is_a_host() {
    let world = ruled(&[rule("net.fetch", "127.0.0.1", "deny"), rule("web_fetch", "*", "allow")]);
    let answer = call(&world, &[], "web_fetch", &json!({"url": "http://127.0.0.1:9/"}));
    assert_ne!(code(&answer), "none", "{answer}");
    let world = ruled(&[rule("web_fetch", "other.example", "deny")]);
    let answer = call(&world, &[], "web_fetch", &json!({"url": "http://other.example/"}));
    assert!(error_text(&answer).contains("deny web_fetch \"other.example\""), "{answer}");
}

#[test]
fn a_rule_without_an_action_asks() {
    let world =
        ruled(&["[[permissions]]\npermission = \"read\"\npattern = \"notes.txt\"\n".to_owned()]);
    let answer = call(&world, &[], "read", &json!({"path": "notes.txt"}));
    assert_eq!(code(&answer), DENIED);
    assert!(error_text(&answer).contains("needs approval"), "{answer}");
}

#[test]
fn rules_are_of_the_manifest_the_session_and_the_project() {
    let world = World::with_files();
    let write = json!({"path": "a.txt", "content": "x"});
    let ask = ["--preset", "ask"];
    assert_eq!(code(&call(&world, &ask, "write", &write)), DENIED);
    // The session.
    let allowed = [&ask[..], &["--allow", "write"]].concat();
    assert_eq!(code(&call(&world, &allowed, "write", &write)), "none");
    assert_eq!(code(&call(&world, &ask, "write", &write)), DENIED);
    // The project, from then on.
    world.run(&["permissions", "allow", "write", "a.txt"]);
    assert_eq!(code(&call(&world, &ask, "write", &write)), "none");
    // The manifest.
    let world = ruled(&["preset = \"ask\"\n".to_owned(), rule("write", "a.txt", "allow")]);
    assert_eq!(code(&call(&world, &[], "write", &write)), "none");
}

#[test]
fn the_most_specific_rule_wins() {
    let world = ruled(&[rule("fs.read", "*", "deny"), rule("read", "notes.txt", "allow")]);
    assert_eq!((read(&world, "notes.txt"), read(&world, "a.py")), ("none".into(), DENIED.into()));
    let world = ruled(&[rule("bash", "echo secret*", "ask")]);
    let allowed = |line: &str| {
        code(&call(&world, &["--allow", "bash"], "bash", &json!({"cmd": line}))).to_owned()
    };
    assert_eq!((allowed("echo secret"), allowed("echo open")), (DENIED.into(), "none".into()));
}

#[test]
fn a_deny_of_the_manifest_is_never_turned_into_an_allow() {
    let world = ruled(&[rule("read", "notes.txt", "deny")]);
    let input = json!({"path": "notes.txt"});
    assert_eq!(code(&call(&world, &["--allow", "read"], "read", &input)), DENIED);
    world.haft(&["permissions", "allow", "read", "notes.txt"]).output().unwrap();
    assert_eq!(read(&world, "notes.txt"), DENIED);
    assert_eq!(code(&call(&world, &["--preset", "full"], "read", &input)), DENIED);
}

#[test]
fn an_ask_without_a_person_is_a_denial() {
    let world = ruled(&[rule("read", "notes.txt", "ask")]);
    for args in [&[][..], &["--headless"]] {
        let answer = call(&world, args, "read", &json!({"path": "notes.txt"}));
        assert_eq!(code(&answer), DENIED, "{answer}");
        assert!(error_text(&answer).contains("no person can be asked here"), "{answer}");
    }
}

/// Denies, asks about and allows calls of bash, and notes each call that it is shown.
const GUARD: &str = r#"#!/bin/sh
call=$(cat)
echo "$call" >> "${0%/*}/told"
case $call in
  *exfiltrate*) echo '{"decision":"deny","reason":"that looks like exfiltration"}' ;;
  *publish*) echo '{"decision":"ask","reason":"others see it"}' ;;
  *) echo '{"decision":"allow"}' ;;
esac
"#;

/// A world with that watchdog, and the options to use it.
fn guarded() -> (World, [&'static str; 2]) {
    let world = World::with_files();
    world.write("guards/guard", GUARD);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(world.path("guards/guard"), mode).unwrap();
    world.write("agent.toml", "root = \"work\"\nwatchdogs = [{ program = [\"guards/guard\"] }]\n");
    (world, ["--config", "../agent.toml"])
}

/// Returns the calls that the watchdog was shown.
fn shown(world: &World) -> Vec<Value> {
    let told = std::fs::read_to_string(world.path("guards").join("told")).unwrap_or_default();
    told.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_watchdog_sees_every_call_before_it_executes() {
    let (world, config) = guarded();
    call(&world, &config, "bash", &json!({"cmd": "echo exfiltrate > made.txt"}));
    call(&world, &config, "read", &json!({"path": "notes.txt"}));
    assert_eq!(shown(&world).len(), 2);
    assert!(!world.path("work").join("made.txt").exists());
}

#[test]
fn a_watchdog_sees_the_tool_the_input_the_manifest_and_the_session() {
    let (world, config) = guarded();
    call(&world, &config, "read", &json!({"path": "notes.txt"}));
    let seen = &shown(&world)[0];
    assert_eq!((&seen["tool"], &seen["input"]), (&json!("read"), &json!({"path": "notes.txt"})));
    assert!(seen["manifest"].is_object() && seen["session"].is_string(), "{seen}");
}

#[test]
fn a_watchdog_allows() {
    let (world, config) = guarded();
    let answer = call(&world, &config, "bash", &json!({"cmd": "echo hi"}));
    assert_eq!(answer["data"]["output"], "hi\n", "{answer}");
}

#[test]
fn a_watchdog_denies_with_a_reason_for_the_model() {
    let (world, config) = guarded();
    let answer = call(&world, &config, "bash", &json!({"cmd": "echo exfiltrate"}));
    assert_eq!(code(&answer), "WATCHDOG_DENIED");
    assert!(error_text(&answer).contains("that looks like exfiltration"), "{answer}");
    // No allow of the user changes that.
    let args = [&config[..], &["--allow", "bash"]].concat();
    let answer = call(&world, &args, "bash", &json!({"cmd": "echo exfiltrate"}));
    assert_eq!(code(&answer), "WATCHDOG_DENIED");
}

#[test]
fn an_ask_of_a_watchdog_without_a_person_is_a_denial() {
    let (world, config) = guarded();
    let answer = call(&world, &config, "bash", &json!({"cmd": "echo publish"}));
    assert_eq!(code(&answer), DENIED);
    assert!(error_text(&answer).contains("others see it"), "{answer}");
}

#[test]
fn a_watchdog_permits_nothing_that_capabilities_refuse_and_is_not_shown_it() {
    let (world, config) = guarded();
    let answer = call(&world, &config, "read", &json!({"path": "../guards/guard"}));
    assert_eq!(code(&answer), "TOOL_PATH_ESCAPE");
    let answer = call(&world, &config, "read", &json!({"pth": 1}));
    assert_eq!(code(&answer), "INVALID_INPUT");
    assert_eq!(shown(&world), Vec::<Value>::new());
}

#[test]
fn capabilities_refuse_paths_before_anything_is_opened() {
    let world = World::with_files();
    let answer = call(&world, &["--preset", "full"], "read", &json!({"path": "/etc/hostname"}));
    assert_eq!(code(&answer), "TOOL_PATH_ESCAPE");
    let answer =
        call(&world, &["--preset", "full"], "write", &json!({"path": "../x", "content": ""}));
    assert_eq!(code(&answer), "TOOL_PATH_ESCAPE");
}

#[test]
fn the_kernel_refuses_what_no_other_layer_sees() {
    let world = World::with_files();
    world.write("secret.txt", "secret");
    // The names are made when the program runs, so that no word of the command tells.
    let script = "open('..' + chr(47) + 'secret.txt').read()";
    let input = json!({"cmd": "/usr/bin/python3", "args": ["-c", script]});
    let args = ["--preset", "full", "--allow", "bash"];
    assert_eq!(code(&call(&world, &args, "bash", &input)), "TOOL_COMMAND_FAILED");
    let script = "open(chr(47) + 'etc' + chr(47) + 'made-by-a-test', 'w')";
    let input = json!({"cmd": "/usr/bin/python3", "args": ["-c", script]});
    assert_eq!(code(&call(&world, &args, "bash", &input)), "TOOL_COMMAND_FAILED");
    assert!(!std::path::Path::new("/etc/made-by-a-test").exists());
}

#[test]
fn each_layer_refuses_alone() {
    // Capabilities, where rules and watchdogs allow all.
    let world = World::with_files();
    trust(
        &world,
        &["preset = \"full\"\nreference_watchdog = false\n", &rule("*", "*", "allow")].concat(),
    );
    assert_eq!(read(&world, "/etc/hostname"), "TOOL_PATH_ESCAPE");
    // The kernel, where rules and watchdogs allow all.
    assert_eq!(bash(&world, "f=/etc/made; echo x > $f"), "TOOL_COMMAND_FAILED");
    // A watchdog, where capabilities and rules allow the call and the kernel has nothing against it.
    let (world, config) = guarded();
    let args = [&config[..], &["--preset", "full"]].concat();
    let answer = call(&world, &args, "bash", &json!({"cmd": "echo exfiltrate"}));
    assert_eq!(code(&answer), "WATCHDOG_DENIED");
}

/// An agent that may run these commands and nothing else.
const SHELL_AGENT: &str = "---\ndescription: Echoes\nmode: primary\ntools: [bash]\nrequires:\n  fs: {read: [\"**\"]}\n  shell:\n    \
     - {cmd: echo, args: [log, {wildcard: true}]}\n    - {cmd: ls}\n    - {cmd: seq, args: [{prefix: \"1\"}]}\n---\nYou echo.\n";

/// Has that agent run a command line, and returns the answer that the model got.
fn answered(line: &str) -> String {
    let world = World::with_files();
    world.write("work/agents/echoes.md", SHELL_AGENT);
    let replies = [
        ScriptedReply::new().call("bash", json!({"cmd": line})),
        ScriptedReply::new().text("Done."),
    ];
    let stage = Stage::new(world, replies);
    let args = ["agent", "--agent", "echoes", "Echo", "--allow", "bash"];
    let output = stage.haft(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stage.world.shown(&output));
    let run = stage.world.json(&["runs", "show", &stage.latest(), "--json"]);
    code(&run["calls"][0]["envelope"]).to_owned()
}

#[test]
fn a_command_is_held_to_the_programs_that_are_required() {
    assert_eq!(answered("ls"), "none");
    assert_eq!(answered("ls && echo log x"), "none");
    assert_eq!(answered("cat notes.txt"), "CAPABILITY_DENIED");
    assert_eq!(answered("ls | cat"), "CAPABILITY_DENIED");
}

#[test]
fn arguments_match_exactly_by_wildcard_or_by_prefix() {
    assert_eq!(answered("echo log x"), "none");
    assert_eq!(answered("echo log"), "CAPABILITY_DENIED");
    assert_eq!(answered("echo log x y"), "CAPABILITY_DENIED");
    assert_eq!(answered("echo lag x"), "CAPABILITY_DENIED");
    assert_eq!(answered("seq 12"), "none");
    assert_eq!(answered("seq 21"), "CAPABILITY_DENIED");
}

#[test]
fn a_manifest_may_require_all_that_there_is() {
    let world = World::with_files();
    let requires = "[requires]\nfs.read = [\"docs/**\"]\nfs.write = [\"out/**\"]\nnet.hosts = [\"*.example.com\"]\n\
                    capabilities = [\"deploy\"]\nshell = [{ cmd = \"git\", args = [\"log\"] }]\n";
    let command = "[[commands]]\nid = \"say\"\nargv = [\"echo\", \"hi\"]\n\
                   requires = { fs = { read = [\"docs/**\"] }, shell = [{ cmd = \"echo\" }], capabilities = [\"deploy\"] }\n";
    trust(&world, &format!("{requires}{command}"));
    let shown = world.json(&["tools", "show", "say", "--json"]);
    assert_eq!(shown["requires"]["capabilities"], json!(["deploy"]), "{shown}");
}

#[test]
fn the_workspace_is_all_of_its_roots() {
    let world = World::with_files();
    world.write("more/other.txt", "other\n");
    trust(&world, "roots = [\"../more\"]\n");
    let path = world.path("more/other.txt");
    let answer = call(&world, &[], "read", &json!({"path": path}));
    assert_eq!(answer["data"], "other\n", "{answer}");
}

/// A command that prints a file and requires no more than this.
fn printing(requires: &str) -> World {
    let world = World::with_files();
    let command = format!(
        "[[commands]]\nid = \"show\"\nargv = [\"cat\", \"--\", \"{{file}}\"]\neffect = \"read\"\ndangerous = false\n\
         requires = {{ fs = {{ read = [\"{requires}\"] }} }}\n[commands.parameters]\nproperties.file = {{ type = \"string\" }}\n{}",
        rule("show", "*", "allow")
    );
    trust(&world, &command);
    world
}

#[test]
fn a_variable_that_is_empty_grants_nothing() {
    let read = |requires: &str| {
        code(&call(&printing(requires), &[], "show", &json!({"file": "notes.txt"}))).to_owned()
    };
    assert_eq!(read("{workspace}/**"), "none");
    assert_eq!(read("{ad-hoc}/**"), "CAPABILITY_DENIED");
}

#[test]
fn an_unknown_variable_is_an_error_before_any_call() {
    let world = World::with_files();
    world.write("agent.toml", "root = \"work\"\n[requires]\nfs.read = [\"{workspce}/**\"]\n");
    let args = ["--config", "../agent.toml", "call", "read", r#"{"path":"notes.txt"}"#];
    let output = world.haft(&args).output().unwrap();
    let shown = world.shown(&output);
    assert!(shown.contains("unknown variable {workspce}"), "{shown}");
    assert!(shown.ends_with("--- status 2\n"), "{shown}");
}

/// A tool that writes a file, and says what it needs to do so.
fn writing(requires: &str) -> String {
    crate::python::tool("keep", requires, "return open('out/kept.txt', 'w').write('x')")
}

#[test]
fn a_tool_brings_what_it_requires_without_a_word_in_the_manifest() {
    let world = World::with_files();
    std::fs::create_dir(world.path("work").join("out")).unwrap();
    let requires = r#""side_effect": True, "requires": {"fs": {"write": ["out/**"]}},"#;
    world.write("work/tools/keep.py", &writing(requires));
    let answer = call(&world, &["--python", "tools"], "keep", &json!({}));
    assert_eq!(code(&answer), "none", "{answer}");
    assert_eq!(world.read("work/out/kept.txt"), "x");
}

#[test]
fn a_tool_reaches_nothing_that_it_does_not_require() {
    let world = World::with_files();
    std::fs::create_dir(world.path("work").join("out")).unwrap();
    world.write("work/tools/keep.py", &writing(""));
    let answer = call(&world, &["--python", "tools"], "keep", &json!({}));
    assert!(error_text(&answer).contains("Read-only file system"), "{answer}");
    assert!(!world.path("work/out").join("kept.txt").exists());
}

#[test]
fn what_a_manifest_requires_is_no_bound_of_a_tool() {
    let world = World::with_files();
    trust(&world, "[requires]\nfs.read = [\"docs/**\"]\n");
    assert_eq!(read(&world, "notes.txt"), "none");
}
