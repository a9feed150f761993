//! `haft connect`: what is written into the configuration of each client is a golden file. Connecting twice changes nothing,
//! taking it back restores every byte, and what is written starts haft.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use expect_test::{ExpectFile, expect, expect_file};
use serde_json::{Value, json};

use crate::terminal::Terminal;
use crate::world::World;

/// Returns a world in which `haft` is a program on PATH.
fn world() -> World {
    let world = World::new();
    fs::create_dir(world.path("bin")).unwrap();
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_haft"), world.path("bin/haft")).unwrap();
    world
}

fn haft(world: &World, args: &[&str]) -> Command {
    let mut command = world.haft(args);
    command.env("PATH", format!("{}:/usr/bin:/bin", world.path("bin").display()));
    command
}

fn connect(world: &World, args: &[&str]) -> String {
    let args: Vec<&str> = ["connect"].iter().chain(args).copied().collect();
    world.shown(&haft(world, &args).output().unwrap())
}

/// Returns all files of the world that a client may read, by their names.
fn files(world: &World) -> BTreeMap<String, String> {
    fn read(directory: &Path, name: &str, files: &mut BTreeMap<String, String>) {
        for entry in fs::read_dir(directory).unwrap().flatten() {
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                files.insert(format!("{name}/"), String::new());
                read(&entry.path(), &name, files);
            } else {
                files.insert(name, fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    let mut files = BTreeMap::new();
    for name in ["home", "work"] {
        read(&world.path(name), name, &mut files);
    }
    files
}

/// Connects a client whose configuration has these files already, and takes it back.
fn check(client: &str, scope: &[&str], before: &[(&str, &str)], golden: &ExpectFile) {
    let world = world();
    for (path, text) in before {
        world.write(path, text);
    }
    let untouched = files(&world);
    let with = |options: &[&str]| -> Vec<String> {
        let words = std::iter::once(&client).chain(scope).chain(options);
        words.map(|word| (*word).to_owned()).collect()
    };
    let run = |options: &[&str]| {
        let words = with(options);
        connect(&world, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };

    let shown = run(&["--dry-run"]);
    assert!(shown.contains("+++ "), "{shown}");
    assert_eq!(files(&world), untouched, "a dry run writes nothing");

    golden.assert_eq(&run(&["--yes"]));
    let connected = files(&world);
    let again = run(&["--yes"]);
    assert!(again.contains("is connected already; nothing was written"), "{again}");
    assert_eq!(files(&world), connected, "connecting again changes nothing");
    let row = connect(&world, &[]);
    let row = row.lines().find(|line| line.starts_with(client)).unwrap().to_owned();
    assert!(row.contains("connected (") && row.contains("own tools off"), "{row}");

    let undone = run(&["--undo", "--yes"]);
    assert!(undone.contains("is as before"), "{undone}");
    assert_eq!(files(&world), untouched, "taking it back restores every byte");
    let again = run(&["--undo", "--yes"]);
    assert!(again.contains("has nothing that haft wrote"), "{again}");
}

#[test]
fn claude_code() {
    check("claude", &[], &[], &expect_file!["../fixtures/connect/claude.txt"]);
    check(
        "claude",
        &["--user"],
        &[
            (
                "home/.claude.json",
                "{\n  \"numStartups\": 7,\n  \"mcpServers\": {\n    \"time\": { \"command\": \"time\" }\n  },\n  \"tips\": {}\n}",
            ),
            (
                "home/.claude/settings.json",
                "{\n  \"permissions\": {\n    \"deny\": [\n      \"WebSearch\",\n      \"Bash\"\n    ]\n  },\n  \"model\": \"opus\"\n}\n",
            ),
        ],
        &expect_file!["../fixtures/connect/claude_user.txt"],
    );
}

#[test]
fn codex() {
    check("codex", &[], &[], &expect_file!["../fixtures/connect/codex.txt"]);
    let text = "# mine\nmodel = \"gpt-5\"\nsandbox_mode = \"workspace-write\" # for work\n\n[features]\nweb_search = true\n\n\
                [mcp_servers.time]\ncommand = \"time\" # of day\n";
    check(
        "codex",
        &["--user"],
        &[("home/.codex/config.toml", text)],
        &expect_file!["../fixtures/connect/codex_user.txt"],
    );
}

#[test]
fn gemini_cli() {
    check("gemini", &[], &[], &expect_file!["../fixtures/connect/gemini.txt"]);
    check(
        "gemini",
        &["--user"],
        &[(
            "home/.gemini/settings.json",
            "{\n    // my colours\n    \"ui\": { \"theme\": \"GitHub\" },\n    \"tools\": {\n        \"exclude\": [\"write_todos\"], // never\n    },\n}\n",
        )],
        &expect_file!["../fixtures/connect/gemini_user.txt"],
    );
}

#[test]
fn opencode() {
    check("opencode", &[], &[], &expect_file!["../fixtures/connect/opencode.txt"]);
    check(
        "opencode",
        &[],
        &[(
            "work/opencode.jsonc",
            "{\n  \"$schema\": \"https://opencode.ai/config.json\",\n  // \"theme\": \"dark\",\n  \"permission\": {\n    \"bash\": \"ask\" /* always */\n  }\n}\n",
        )],
        &expect_file!["../fixtures/connect/opencode_comments.txt"],
    );
}

#[test]
fn zed() {
    check(
        "zed",
        &["--user"],
        &[(
            "home/.config/zed/settings.json",
            "// Zed settings\n//\n// For information on how to configure Zed, see the documentation.\n{\n  \"theme\": \"One Dark\",\n  \"agent\": {\n    \"default_profile\": \"write\", // for now\n  },\n}\n",
        )],
        &expect_file!["../fixtures/connect/zed.txt"],
    );
}

#[test]
fn vs_code() {
    check(
        "vscode",
        &[],
        &[("work/.vscode/mcp.json", "{\n\t\"servers\": {},\n\t\"inputs\": []\n}\n")],
        &expect_file!["../fixtures/connect/vscode.txt"],
    );
}

#[test]
fn cursor() {
    check("cursor", &[], &[], &expect_file!["../fixtures/connect/cursor.txt"]);
}

#[test]
fn the_lines_for_python_are_printed() {
    let shown = connect(&world(), &["python"]);
    assert!(shown.contains("StdioServerParameters(command=\"haft\", args=[\"mcp\"])"), "{shown}");
    assert!(shown.ends_with("--- status 0\n"), "{shown}");
}

/// Starts what a client would start, with the project as the working directory.
fn serves_tools(world: &World, words: &[&str]) {
    let words: Vec<String> = words
        .iter()
        .map(|word| word.replace("${workspaceFolder}", &world.path("work").to_string_lossy()))
        .collect();
    let mut command = haft(world, &words[1..].iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(words[0], "haft");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let request = json!({
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    });
    writeln!(child.stdin.as_mut().unwrap(), "{request}").unwrap();
    let mut answer = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "haft", "{answer}");
}

#[test]
fn what_is_written_starts_haft() {
    let world = world();
    let json_of = |path: &str| -> Value { serde_json::from_str(&world.read(path)).unwrap() };
    let words = |server: &Value| -> Vec<String> {
        let args = server["args"].as_array().unwrap().iter();
        let words = std::iter::once(&server["command"]).chain(args);
        words.map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    let serves = |words: Vec<String>| {
        serves_tools(&world, &words.iter().map(String::as_str).collect::<Vec<_>>());
    };
    for client in ["claude", "codex", "gemini", "opencode", "zed", "vscode", "cursor"] {
        let scope: &[&str] = if client == "zed" { &["--user"] } else { &[] };
        let args: Vec<&str> =
            std::iter::once(&client).chain(scope).chain(&["--yes"]).copied().collect();
        let shown = connect(&world, &args);
        assert!(shown.ends_with("--- status 0\n"), "{shown}");
    }
    serves(words(&json_of("work/.mcp.json")["mcpServers"]["haft"]));
    serves(words(&json_of("work/.gemini/settings.json")["mcpServers"]["haft"]));
    serves(words(&json_of("home/.config/zed/settings.json")["context_servers"]["haft"]));
    serves(words(&json_of("work/.vscode/mcp.json")["servers"]["haft"]));
    serves(words(&json_of("work/.cursor/mcp.json")["mcpServers"]["haft"]));
    let command = json_of("work/opencode.json")["mcp"]["haft"]["command"].clone();
    serves(serde_json::from_value(command).unwrap());
    let codex: toml::Value = toml::from_str(&world.read("work/.codex/config.toml")).unwrap();
    serves(words(&serde_json::to_value(&codex["mcp_servers"]["haft"]).unwrap()));
}

#[test]
fn without_a_terminal_nothing_is_written_unasked() {
    let world = world();
    expect![[r#"
        --- stderr
        error: nothing was written, because there is no terminal to ask at

        hint: haft connect claude --keep-own-tools --yes
        --- status 2
    "#]]
    .assert_eq(&connect(&world, &["claude", "--keep-own-tools"]));
    assert!(!world.path("work/.mcp.json").exists());
    expect![[r#"
        --- stderr
        error: haft connects VS Code in a project only

        hint: haft connect vscode
        --- status 2
    "#]]
    .assert_eq(&connect(&world, &["vscode", "--user", "--yes"]));
}

#[test]
fn a_person_is_asked_for_the_switch_and_for_the_change() {
    let world = world();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut haft(&world, &["connect", "opencode"]));
    terminal.wait_for("[y]es, [n]o: ");
    assert!(terminal.shown().contains("haft neither confines nor records them"));
    terminal.type_text("n\n");
    terminal.wait_for("Write this? [y]es, [n]o: ");
    assert!(terminal.shown().contains("+  \"mcp\": {"), "{}", terminal.shown());
    assert!(!terminal.shown().contains("permission"), "{}", terminal.shown());
    terminal.type_text("y\n");
    let (_, stdout, status) = terminal.finish(child);
    expect![[r#"
        opencode (project) uses haft: made opencode.json
        its own tools are on: calls of them are neither confined nor recorded
        switch them off: haft connect opencode
        Start opencode anew.
        take it back: haft connect opencode --undo
    "#]]
    .assert_eq(&stdout);
    assert_eq!(status, Some(0));

    let mut terminal = Terminal::new();
    let child = terminal.start(&mut haft(&world, &["connect", "opencode", "--undo"]));
    terminal.wait_for("Write this? [y]es, [n]o: ");
    terminal.type_text("n\n");
    let (shown, _, status) = terminal.finish(child);
    assert!(shown.contains("nothing was written"), "{shown}");
    assert_eq!(status, Some(1));
    assert!(world.path("work/opencode.json").exists());
}

#[test]
fn what_the_user_changed_since_stays() {
    let world = world();
    connect(&world, &["claude", "--yes"]);
    let text =
        world.read("work/.mcp.json").replace("\"mcp\"", "\"mcp\", \"--profile\", \"smithers\"");
    world.write("work/.mcp.json", &text);
    let settings = world
        .read("work/.claude/settings.json")
        .replace("\"deny\": [", "\"deny\": [\"WebSearch\", ");
    world.write("work/.claude/settings.json", &settings);
    let shown = connect(&world, &["claude", "--undo", "--yes"]);
    assert!(shown.contains("mcpServers.haft was changed since, and stays"), "{shown}");
    assert_eq!(world.read("work/.mcp.json"), text);
    let left: Value = serde_json::from_str(&world.read("work/.claude/settings.json")).unwrap();
    assert_eq!(left, json!({"permissions": {"deny": ["WebSearch"]}}));
}

#[test]
fn a_connection_that_another_person_wrote_can_be_taken_out() {
    let world = world();
    connect(&world, &["gemini", "--yes"]);
    fs::remove_file(world.path("state/connections.json")).unwrap();
    let shown = connect(&world, &["gemini", "--undo", "--yes"]);
    assert!(shown.contains("is as before"), "{shown}");
    let left: Value = serde_json::from_str(&world.read("work/.gemini/settings.json")).unwrap();
    assert_eq!(left, json!({"mcpServers": {}, "tools": {"exclude": []}}));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_stays() {
    let world = world();
    world.write("work/.mcp.json", "{\n  \"mcpServers\": {\n    oops\n}\n");
    expect![[r#"
        --- stderr
        error: /world/work/.mcp.json: line 3 is not JSON: expected a name in quotes or }; nothing was changed. Correct the file and try again
        --- status 2
    "#]]
    .assert_eq(&connect(&world, &["claude", "--yes"]));
    assert!(!world.path("work/.claude").exists());
    let list = connect(&world, &[]);
    assert!(list.contains("line 3 is not JSON") && list.ends_with("--- status 0\n"), "{list}");

    world.write("work/.github/agents/haft.agent.md", "mine\n");
    let shown = connect(&world, &["vscode", "--yes"]);
    assert!(shown.contains("haft.agent.md has another content, so nothing was written"), "{shown}");
    assert!(!world.path("work/.vscode").exists());
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    const BYTES_MAX: usize = 16 * 1024 * 1024;
    let world = world();
    let list = |bytes: usize| {
        world.write("work/.mcp.json", &("{}".to_owned() + &" ".repeat(bytes - 2)));
        connect(&world, &[])
    };
    assert!(!list(BYTES_MAX).contains(".mcp.json"));
    assert!(list(BYTES_MAX + 1).contains(".mcp.json has more than 16777216 bytes"));
    let shown = connect(&world, &["claude", "--yes"]);
    assert!(shown.ends_with("--- status 2\n"), "{shown}");
    assert!(!world.path("work/.claude").exists());
}

#[test]
fn an_agent_cannot_switch_its_own_tools_on_again() {
    let world = world();
    for client in ["claude", "codex", "gemini", "opencode", "vscode", "cursor"] {
        connect(&world, &[client, "--yes"]);
    }
    let connected = files(&world);
    let written: Vec<&str> =
        connected.keys().filter_map(|name| name.strip_prefix("work/")).collect();
    let written: Vec<&str> = written.into_iter().filter(|name| !name.ends_with('/')).collect();
    assert_eq!(written.len(), 9, "{written:?}");
    for path in written {
        let write = json!({"path": path, "content": "{}"}).to_string();
        let bash = json!({"cmd": format!("python3 -c \"open('{path}', 'w')\"")}).to_string();
        for (tool, input) in [("write", &write), ("bash", &bash)] {
            let output = haft(&world, &["call", tool, input]).output().unwrap();
            assert!(!output.status.success(), "{tool} {path}: {}", world.shown(&output));
        }
    }
    assert_eq!(files(&world), connected);
}

#[test]
fn the_list_names_clients_and_their_state() {
    let world = world();
    world.write("bin/codex", "");
    connect(&world, &["codex", "--yes", "--keep-own-tools"]);
    expect![[r#"
        CLIENT    NAME         FOUND  STATE
        claude    Claude Code  no     -
        codex     Codex        yes    connected (project), own tools on: not confined
        gemini    Gemini CLI   no     -
        opencode  opencode     no     -
        zed       Zed          no     -
        vscode    VS Code      no     -
        cursor    Cursor       no     -

        connect one: haft connect CLIENT
        --- status 0
    "#]]
    .assert_eq(&connect(&world, &[]));
    let json: Value =
        serde_json::from_slice(&haft(&world, &["connect", "--json"]).output().unwrap().stdout)
            .unwrap();
    assert_eq!(
        json["clients"][1],
        json!({
            "client": "codex",
            "name": "Codex",
            "found": true,
            "complete_switch": false,
            "scopes": [
                {"scope": "project", "connected": true, "own_tools": true},
                {"scope": "user", "connected": false, "own_tools": true},
            ],
        })
    );
}

/// The tools of a client that haft replaces, by the names that its model knows.
const REPLACED: &[(&str, &[&str])] = &[
    (
        "claude",
        &["Read", "Edit", "Write", "NotebookEdit", "Bash", "Monitor", "Glob", "Grep", "WebFetch"],
    ),
    ("codex", &["exec_command", "write_stdin", "shell", "view_image"]),
    (
        "gemini",
        &[
            "run_shell_command",
            "read_file",
            "write_file",
            "replace",
            "glob",
            "grep_search",
            "list_directory",
            "web_fetch",
        ],
    ),
    ("opencode", &["read", "edit", "write", "glob", "grep", "list", "bash", "webfetch"]),
];

/// Runs a client with a prompt, and returns the names of all tools that it offers to its model.
fn offered_tools(world: &World, programs: &Path, client: &str) -> Vec<String> {
    let script =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/connect/record_tools.py");
    let mut server = Command::new("python3").arg(script).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines();
    let url = format!("http://127.0.0.1:{}", lines.next().unwrap().unwrap());
    let provider = format!(
        "model_providers.test={{name=\"test\",base_url=\"{url}/v1\",wire_api=\"responses\",env_key=\"OPENAI_API_KEY\",request_max_retries=0,stream_max_retries=0}}"
    );
    let arguments: Vec<&str> = match client {
        "claude" => vec!["-p", "hi"],
        "codex" => vec![
            "exec",
            "--skip-git-repo-check",
            "-c",
            &provider,
            "-c",
            "model_provider=test",
            "hi",
        ],
        "gemini" => vec!["--yolo", "-p", "hi"],
        _ => vec!["run", "-m", "test/model", "hi"],
    };
    let opencode = json!({"provider": {"test": {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"},
        "models": {"model": {"tool_call": true}},
    }}});
    let path = format!(
        "{}:{}:/usr/local/bin:/usr/bin:/bin",
        world.path("bin").display(),
        programs.display()
    );
    // A client that goes on trying is ended.
    let output = Command::new("timeout")
        .args(["--signal=KILL", "120"])
        .arg(programs.join(client))
        .args(arguments)
        .current_dir(world.path("work"))
        .env_clear()
        .env("PATH", path)
        .env("HOME", world.path("home"))
        .env("HAFT_STATE_DIR", world.path("state"))
        .envs([("ANTHROPIC_BASE_URL", url.as_str()), ("GOOGLE_GEMINI_BASE_URL", &url)])
        .envs([
            ("ANTHROPIC_API_KEY", "none"),
            ("OPENAI_API_KEY", "none"),
            ("GEMINI_API_KEY", "none"),
        ])
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("GEMINI_CLI_TRUST_WORKSPACE", "true")
        .env("OPENCODE_CONFIG_CONTENT", opencode.to_string())
        .stdin(Stdio::null())
        .output()
        .unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    let requests: Vec<String> = lines.map_while(Result::ok).collect();
    let names: Vec<String> =
        requests.iter().flat_map(|line| line.split_whitespace()).map(str::to_owned).collect();
    assert!(!names.is_empty(), "{client} asked for nothing:\n{}", world.shown(&output));
    names
}

#[test]
fn real_clients_offer_the_tools_of_haft_in_place_of_their_own() {
    // These programs belong to other companies and take a gigabyte, so that the set-up does not install them.
    let Some(programs) = std::env::var_os("HAFT_TEST_AGENT_CLIENTS") else {
        eprintln!(
            "skipped: HAFT_TEST_AGENT_CLIENTS names no directory with the programs claude, codex, gemini and opencode"
        );
        return;
    };
    let programs = Path::new(&programs);
    for (client, replaced) in REPLACED.iter().filter(|(client, _)| programs.join(client).exists()) {
        let world = world();
        world.write(
            "home/.gemini/settings.json",
            r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}}"#,
        );
        let trusted = format!("[projects.{:?}]\ntrust_level = \"trusted\"\n", world.path("work"));
        world.write("home/.codex/config.toml", &trusted);
        let before = offered_tools(&world, programs, client);
        assert!(
            before.iter().any(|name| replaced.contains(&name.as_str())),
            "{client}: {before:?}"
        );

        let shown = connect(&world, &[client, "--yes"]);
        assert!(shown.ends_with("--- status 0\n"), "{shown}");
        let after = offered_tools(&world, programs, client);
        let own: Vec<&String> =
            after.iter().filter(|name| replaced.contains(&name.as_str())).collect();
        assert_eq!(own, [""; 0], "{client} keeps tools of its own");
        assert!(after.iter().any(|name| name.contains("haft")), "{client}: {after:?}");
    }
}
