//! `lsp` as the manifest sets it up: which server is asked, whose programs are used, and what holds without trust.

use expect_test::expect;

use crate::world::World;

/// A language server that knows one place, and says where its own root is writable.
const SERVER: &str = r#"
import json, sys

def receive():
    length = 0
    while (line := sys.stdin.buffer.readline().strip()):
        name, value = line.split(b":", 1)
        length = int(value)
    if not length:
        sys.exit(0)
    return json.loads(sys.stdin.buffer.read(length))

while True:
    message = receive()
    if "id" not in message:
        continue
    result = {"capabilities": {"definitionProvider": True}, "serverInfo": {"name": sys.argv[1]}}
    if message["method"] != "initialize":
        point = {"line": 0, "character": 2}
        uri = message["params"]["textDocument"]["uri"]
        result = {"uri": uri, "range": {"start": point, "end": point}}
    body = json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    sys.stdout.buffer.flush()
"#;

const INPUT: &str = r#"{"operation":"definitions","path":"a.cheese","line":1,"column":1}"#;

/// Returns a world whose manifest names a server for files of cheese, at a place in the world.
fn world(place: &str) -> World {
    let world = World::new();
    world.write("work/a.cheese", "a brie\n");
    world.write(place, SERVER);
    let script = world.path(place);
    let manifest = format!(
        "[lsp.cheese]\ncommand = [\"python3\", {script:?}, \"cheddar\"]\nextensions = [\"cheese\"]\n"
    );
    world.write("work/haft.toml", &manifest);
    world
}

#[test]
fn a_server_that_a_trusted_manifest_names_is_asked() {
    let world = world("tools/server.py");
    world.run(&["trust"]);
    world.check(
        &["call", "lsp", INPUT],
        &expect![[r#"
        {"definitions":["a.cheese:1:3: a brie"],"server":"cheddar"}
        --- status 0
    "#]],
    );
}

#[test]
fn without_trust_there_is_no_such_server() {
    world("tools/server.py").check(&["call", "lsp", INPUT], &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          lsp.cheese = { command = ["python3", "/world/tools/server.py", "cheddar"], extensions = ["cheese"] }

        hint: haft trust /world/work/haft.toml

        error: path: there is no language server for "a.cheese": expected a file that ends in .rs, .py, .pyi, .ts, .tsx, .mts, .cts, .js, .jsx, .mjs, .cjs, .go, .c, .h, .cc, .cpp, .cxx, .hh, .hpp, .hxx; others can be named under [lsp.NAME] in haft.toml

        hint: haft tools show lsp
        --- status 2
    "#]]);
}

#[test]
fn a_program_in_the_workspace_is_not_used() {
    let world = world("work/server.py");
    world.run(&["trust"]);
    world.check(&["call", "lsp", INPUT], &expect![[r#"
        --- stderr
        error: no language server for cheese can be used: python3, or what its command names, lies in the workspace, where it could be replaced; move it elsewhere, or work with grep
        --- status 1
    "#]]);
}

#[test]
fn a_manifest_is_told_what_is_wrong_with_its_languages() {
    let world = World::new();
    let manifest =
        "[lsp.zig]\ncommand = \"zls\"\n[lsp.Go]\nenabled = false\n[lsp.c]\nextensions = [\".c\"]\n";
    world.write("work/haft.toml", manifest);
    world.check(
        &["tools", "list"],
        &expect![[r#"
            --- stderr
            error: manifest /world/work/haft.toml has 3 problems

            /world/work/haft.toml:2:11: expected command and extensions: haft knows no server for this language by itself
              |
            2 | command = "zls"
              |           ^^^^^

            /world/work/haft.toml:3:6: language "Go" is not valid: expected lower-case letters, digits, underscores and hyphens, at most 24 characters
              |
            3 | [lsp.Go]
              |      ^^

            /world/work/haft.toml:6:14: extensions: expected what comes after the last dot of a file's name, found ".c"
              |
            6 | extensions = [".c"]
              |              ^^^^^^
            --- status 2
        "#]],
    );
}

#[test]
fn without_the_sandbox_rules_for_commands_hold_for_servers() {
    let world = world("tools/server.py");
    world.run(&["trust"]);
    world.check(&["call", "lsp", INPUT, "--unsafe-no-sandbox"], &expect![[r#"
        --- stderr
        warning: commands run without the sandbox (unsafe_no_sandbox) and can do whatever you can
        error: no person can be asked here, so the call is denied: lsp needs approval for shell.run of "python3 /world/tools/server.py cheddar": no rule matches, and then the answer is ask; the rule `allow lsp "python3 /world/tools/server.py cheddar"` would allow it; to allow it, start haft with `--allow lsp`, which allows all that lsp does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "lsp"
        pattern = "python3 /world/tools/server.py cheddar $"
        action = "allow"

        hint: haft call --allow lsp lsp '{"operation":"definitions","path":"a.cheese","line":1,"column":1}' --unsafe-no-sandbox
        --- status 3
    "#]]);
}
