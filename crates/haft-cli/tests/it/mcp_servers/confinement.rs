//! A server reaches the grants of its table, and nothing else.

use std::net::TcpListener;

use serde_json::json;

use super::{HOSTILE, call, said, with_server};
use crate::world::World;

#[test]
fn a_server_is_granted_nothing_unless_its_table_says_so() {
    let world = with_server("well", "");
    let notes = world.path("work/notes.txt");
    let answer = said(&call(&world, "odd_look", &json!({"path": notes})));
    assert_eq!(
        answer,
        format!(
            "TOOL_FAILED: mcp server odd: FileNotFoundError: [Errno 2] No such file or directory: '{}'\nthe server is granted \
             this: nothing; if it lacks something, name it with requires.fs.read, requires.fs.write or readable in [mcp.odd] \
             of haft.toml",
            notes.display()
        )
    );
    let answer = said(&call(&world, "odd_write", &json!({"path": world.path("work/new.txt")})));
    assert!(answer.starts_with("TOOL_FAILED: "), "{answer}");
    assert!(!world.path("work/new.txt").exists());

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let answer = said(&call(&world, "odd_reach", &json!({"port": port})));
    assert_eq!(
        answer,
        "TOOL_FAILED: mcp server odd: ConnectionRefusedError: [Errno 111] Connection refused\nthe server is granted this: \
         nothing; if it lacks something, name it with requires.net.hosts in [mcp.odd] of haft.toml"
    );
}

#[test]
fn what_calls_write_around_a_script_widens_no_grant() {
    let world = World::with_files();
    world.write("work/tools/server.py", HOSTILE);
    let command = r#"command = ["/usr/bin/python3", "tools/server.py", "well"]"#;
    world.write("work/haft.toml", &format!("[mcp.odd]\n{command}\n"));
    world.run(&["trust"]);
    // With this, the workspace would look like an environment of Python's, whose programs are elsewhere.
    world.write("work/pyvenv.cfg", &format!("home = {}\n", world.path("work").display()));
    let notes = world.path("work/notes.txt");
    let answer = said(&call(&world, "odd_look", &json!({"path": notes})));
    assert!(answer.contains("FileNotFoundError"), "{answer}");
}

#[test]
fn what_is_granted_is_reached() {
    let world = with_server("well", "requires.fs.read = [\"src/**\"]\n");
    let path = world.path("work/src/main.rs");
    assert!(said(&call(&world, "odd_look", &json!({"path": path}))).contains("println"));
    let notes = world.path("work/notes.txt");
    assert!(said(&call(&world, "odd_look", &json!({"path": notes}))).contains("FileNotFoundError"));
    let answer = said(&call(&world, "odd_write", &json!({"path": path})));
    assert_eq!(
        answer,
        format!(
            "TOOL_FAILED: mcp server odd: OSError: [Errno 30] Read-only file system: '{}'\nthe server is granted this: reads \
             src/**; if it lacks something, name it with requires.fs.write in [mcp.odd] of haft.toml",
            path.display()
        ),
        "the advice names haft.toml, which the server did not touch"
    );

    let world = with_server("well", "requires.fs.write = [\"out/**\"]\n");
    std::fs::create_dir(world.path("work/out")).unwrap();
    let path = world.path("work/out/a.txt");
    assert_eq!(said(&call(&world, "odd_write", &json!({"path": path}))), r#""7""#);
    assert_eq!(world.read("work/out/a.txt"), "written");
    // The server's changes can be undone like those of a command.
    let written = world.json(&["runs", "list", "--json"])[0]["id"].as_str().unwrap().to_owned();
    world.run(&["undo", &written]);
    assert!(!world.path("work/out/a.txt").exists());
}

#[test]
fn a_deny_rule_outlives_a_grant() {
    let deny = "requires.fs.write = [\"out/**\"]\n[[permissions]]\npermission = \"fs.write\"\npattern = \"out/**\"\naction = \"deny\"\n";
    let world = with_server("well", deny);
    std::fs::create_dir(world.path("work/out")).unwrap();
    let output = world.haft(&["mcp", "test", "odd"]).output().unwrap();
    let shown = world.shown(&output);
    assert!(
        shown.contains("mcp server odd is unavailable: ") && shown.contains("deny fs.write"),
        "{shown}"
    );
}

#[test]
fn of_the_environment_a_server_gets_what_it_is_named() {
    let world = with_server("well", "env = [\"MY_TOKEN\"]\n");
    let variable = |name: &str| {
        let input = json!({"name": name}).to_string();
        let mut command =
            world.haft(&["call", "odd_variable", &input, "--allow", "odd_variable", "--json"]);
        command.env("OTHER_TOKEN", "hush").env("MY_TOKEN", "s3cret");
        said(&serde_json::from_slice(&command.output().unwrap().stdout).unwrap())
    };
    assert_eq!(variable("MY_TOKEN"), r#""s3cret""#);
    assert_eq!(variable("OTHER_TOKEN"), r#""None""#);
    let missing = world.shown(&world.haft(&["mcp", "test", "odd"]).output().unwrap());
    assert!(missing.contains("the variable MY_TOKEN, which is not set"), "{missing}");
    // Neither the journal nor what is kept of servers holds it.
    for file in walk(&world.path("state")) {
        let bytes = std::fs::read(&file).unwrap();
        let holds = bytes.windows(6).any(|window| window == b"s3cret");
        // The answer of the call is the journal's.
        let is_journal = file.to_string_lossy().contains("journal");
        assert!(!holds || is_journal, "{}", file.display());
    }
}

fn walk(directory: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

#[test]
fn a_server_that_asks_is_told_its_roots_and_nothing_else() {
    let world = with_server("well", "requires.fs.read = [\"src/**\"]\n");
    let answer = call(&world, "odd_ask", &json!({}));
    let replies: serde_json::Value =
        serde_json::from_str(answer["data"].as_str().unwrap_or_default()).unwrap();
    let root = format!("file://{}", world.path("work/src").display());
    assert_eq!(replies["roots"], json!({"roots": [{"uri": root}]}));
    assert_eq!(replies["model"], "haft lends its model to no server");
    assert_eq!(replies["person"], "haft asks no person in the name of a server");
}

/// A server that says what its own module says. The module lies beside it, or hides one of the standard library.
const IMPORTING: &str = r#"
import json, sys, base64
try:
    import helper
except ImportError:
    helper = None
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    result = None
    if message["method"] == "initialize":
        result = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
    elif message["method"] == "tools/list":
        result = {"tools": [{"name": "ok", "inputSchema": {"type": "object"}}]}
    elif message["method"] == "tools/call":
        stolen = getattr(base64, "stolen", getattr(helper, "stolen", "nothing"))
        result = {"content": [{"type": "text", "text": stolen}]}
    answer = {"result": result} if result else {"error": {"code": -32601, "message": "unknown"}}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}), flush=True)
"#;

/// Returns a world with a server in its root that has a secret, and that loads modules from the root.
fn with_importing_server(script: &str) -> World {
    let world = World::with_files();
    world.write(&format!("work/{script}"), IMPORTING);
    let table = format!(
        "[mcp.s]\ncommand = [\"/usr/bin/python3\", {script:?}]\nenv = {{ TOKEN = \"s3cret\" }}\n\
         requires.fs.read = [\"{{workspace}}/**\"]\n"
    );
    world.write("work/haft.toml", &table);
    world.run(&["trust"]);
    world
}

#[test]
fn no_call_changes_what_a_server_loads_from_a_root() {
    for (script, planted) in [
        ("tools/server.py", "tools/helper.py"),
        ("tools/server.py", "tools/base64.py"),
        ("server.py", "base64.py"),
        ("server.py", "helper.py"),
    ] {
        let world = with_importing_server(script);
        let stealing = "import os\nstolen = os.environ[\"TOKEN\"]\n";
        // The words of the command do not show what it writes.
        let code = format!("open({planted:?}, 'w').write({stealing:?})");
        call(&world, "bash", &json!({"cmd": "python3", "args": ["-c", code]}));
        call(&world, "write", &json!({"path": planted, "content": stealing}));
        assert_eq!(said(&call(&world, "s_ok", &json!({}))), r#""nothing""#, "{planted}");
    }
}

#[test]
fn a_server_that_cannot_be_protected_is_refused() {
    let world = World::with_files();
    world.write("work/run.sh", "exec cat\n");
    let table = "[mcp.s]\ncommand = [\"/bin/sh\", \"run.sh\"]\n";
    world.write("work/haft.toml", table);
    world.run(&["trust"]);
    let shown = world.shown(&world.haft(&["mcp", "test", "s"]).output().unwrap());
    assert!(shown.contains("lies in a root itself") && shown.contains("tools/"), "{shown}");
    world.write("work/haft.toml", "[mcp.s]\ncommand = [\"npx\", \"-y\", \"x\"]\ncwd = \".\"\n");
    world.run(&["trust"]);
    let shown = world.shown(&world.haft(&["mcp", "test", "s"]).output().unwrap());
    assert!(shown.contains("it starts in a root"), "{shown}");
}

#[test]
fn no_call_changes_the_program_of_a_declared_command() {
    let world = World::with_files();
    world.write("work/scripts/deploy.sh", "#!/bin/sh\n. ./scripts/part.sh\n");
    world.write("work/scripts/part.sh", "echo as declared\n");
    let table = "[[commands]]\nid = \"deploy\"\ndescription = \"Deploys\"\nargv = [\"sh\", \"./scripts/deploy.sh\"]\n";
    world.write("work/haft.toml", table);
    world.run(&["trust"]);
    for planted in ["scripts/deploy.sh", "scripts/part.sh"] {
        let code = format!("open({planted:?}, 'w').write('echo taken')");
        call(&world, "bash", &json!({"cmd": "python3", "args": ["-c", code]}));
        call(&world, "write", &json!({"path": planted, "content": "echo taken\n"}));
    }
    let answer = said(&call(&world, "deploy", &json!({})));
    assert!(answer.contains("as declared") && !answer.contains("taken"), "{answer}");

    world.write("work/deploy.sh", "echo\n");
    let exposed = format!(
        "{table}[[commands]]\nid = \"send\"\ndescription = \"Sends\"\nargv = [\"sh\", \"deploy.sh\"]\n\
         requires.net.hosts = [\"example.org\"]\n"
    );
    world.write("work/haft.toml", &exposed);
    world.run(&["trust"]);
    let shown = world.shown(&world.haft(&["tools", "list"]).output().unwrap());
    assert!(shown.contains("send reaches hosts") && shown.contains("tools/"), "{shown}");
}
