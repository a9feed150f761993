//! The ways of `reads` in long-lived processes: a language server and an MCP server make them when they are asked, and answer which
//! of them read the denied text.

use serde_json::{Value, json};

use super::batch::{RULES, Runner, SECRET, name, world};
use super::{reads, server, text_of};
use crate::world::World;

/// The smallest number of ways that work in a server without the rules.
const WAYS_MIN: usize = 25;

/// Makes all attempts of the directory `WORK`, and reads a file that appears late. The server calls `made`.
const ATTEMPTS: &str = r#"
import json, os, subprocess, sys


def made():
    printed = subprocess.run(["python3", "run"], cwd=WORK, capture_output=True, text=True, errors="replace")
    parts = [part.split("\n", 1) for part in printed.stdout.split("\n=== ")[1:]]
    got = [number for number, text in parts if SECRET in text]
    try:
        late = open(WORK + "/late/.env").read()
    except OSError as err:
        late = type(err).__name__
    return f"made {len(parts)} got [{' '.join(got)}] late {late}"
"#;

/// Speaks the language server protocol.
const LANGUAGE_SERVER: &str = r#"
def receive():
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        length = int(line.split(b":", 1)[1])
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))

while True:
    message = receive()
    if "id" not in message:
        continue
    result = {"capabilities": {"hoverProvider": True}}
    if message["method"] != "initialize":
        result = {"contents": {"kind": "plaintext", "value": made()}}
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
"#;

/// Speaks MCP over standard input and output.
const MCP_SERVER: &str = r#"
TOOL = {"name": "make", "description": "Makes all attempts", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    answer = {"jsonrpc": "2.0", "id": message["id"]}
    method = message["method"]
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "maker", "version": "1"}
        answer["result"] = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    elif method == "tools/list":
        answer["result"] = {"tools": [TOOL]}
    elif method == "tools/call":
        answer["result"] = {"content": [{"type": "text", "text": made()}]}
    else:
        answer["error"] = {"code": -32601, "message": "no such method"}
    print(json.dumps(answer), flush=True)
"#;

/// Returns a world with the attempts and such a server, under these rules.
fn world_with_server(rules: &str, script: &str, table: impl Fn(&str) -> String) -> World {
    let world = world(Runner::Python, reads::PYTHON, rules);
    let constants = format!("WORK, SECRET = {:?}, {SECRET:?}", world.path("work"));
    world.write("server/server.py", &format!("{constants}\n{ATTEMPTS}{script}"));
    world.write("work/a.cheese", "a brie\n");
    let command = json!(["/usr/bin/python3", world.path("server/server.py")]).to_string();
    let manifest = world.read("work/haft.toml");
    world.write("work/haft.toml", &format!("{manifest}\n{}", table(&command)));
    world.run(&["trust", "--yes"]);
    world
}

fn language_server(rules: &str) -> World {
    world_with_server(rules, LANGUAGE_SERVER, |command| {
        format!("[lsp.cheese]\ncommand = {command}\nextensions = [\"cheese\"]\n")
    })
}

fn mcp_server(rules: &str) -> World {
    world_with_server(rules, MCP_SERVER, |command| {
        format!(
            "[mcp.maker]\ncommand = {command}\nrequires.fs.read = [\"{{workspace}}/**\"]\n\
             requires.fs.write = [\"{{workspace}}/**\"]\n"
        )
    })
}

/// Asks a server twice, and writes a file that the rules deny in between.
fn check(world: impl Fn(&str) -> World, tool: &str, input: &Value) {
    let ask = |rules: &str| {
        let world = world(rules);
        let mut server = server(&world);
        let mut said = || text_of(&server.call(tool, input.clone()));
        let first = said();
        world.write("work/late/.env", SECRET);
        (first, said())
    };
    let all = format!("made {} got ", reads::PYTHON.len());
    let (first, second) = ask("[[permissions]]\npermission = \"*\"\naction = \"allow\"\n");
    assert!(first.contains(&all), "{first}");
    let ways = (0..reads::PYTHON.len()).filter(|number| first.contains(&name(*number))).count();
    assert!(ways >= WAYS_MIN, "{ways} ways work without the rules: {first}");
    assert!(second.contains(&format!("late {SECRET}")), "{second}");
    let (first, second) = ask(RULES);
    for said in [first, second] {
        assert!(said.contains(&format!("{all}[]")), "{said}");
        assert!(said.contains("Error") && !said.contains(SECRET), "{said}");
    }
}

#[test]
fn no_language_server_reads_a_denied_path() {
    let input = json!({"operation": "hover", "path": "a.cheese", "line": 1, "column": 1});
    check(language_server, "lsp", &input);
}

#[test]
fn no_mcp_server_reads_a_denied_path() {
    check(mcp_server, "maker_make", &json!({}));
}
