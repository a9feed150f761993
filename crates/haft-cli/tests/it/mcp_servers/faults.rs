//! Servers that go too far.

use expect_test::{Expect, expect};
use serde_json::json;

use super::{HOSTILE, call, said, table, with_server};
use crate::world::World;

/// Says what a call of `echo` comes to at a server that breaks what `mode` says, and that another server is well.
#[track_caller]
fn check(mode: &str, expect: &Expect) {
    let world = with_server(mode, "timeout_ms = 4000\n\n");
    let both = format!("{}\n{}", world.read("work/haft.toml"), table(&world, "well", "well"));
    world.write("work/haft.toml", &both);
    world.run(&["trust"]);
    expect.assert_eq(&said(&call(&world, "odd_echo", &json!({"text": "hi"}))));
    assert_eq!(said(&call(&world, "well_echo", &json!({"text": "hi"}))), r#""hi""#);
}

#[test]
fn what_a_server_breaks_is_an_error_of_its_own_call() {
    check("greets", &expect![[r#""hi""#]]);
    check(
        "garbage",
        &expect![
            "UNAVAILABLE: mcp server odd is unavailable: in the middle of the call, it wrote what is no JSON: EOF while parsing a value at line 1 column 24; its effect may or may not have happened: check before repeating"
        ],
    );
    check(
        "endless",
        &expect![
            "UNAVAILABLE: mcp server odd is unavailable: in the middle of the call, it wrote a message of more than 16777216 bytes; its effect may or may not have happened: check before repeating"
        ],
    );
    check(
        "flood",
        &expect![
            "UNAVAILABLE: mcp server odd is unavailable: in the middle of the call, it sent more than 2000 unsolicited messages within a second; its effect may or may not have happened: check before repeating"
        ],
    );
    check(
        "wrong-id",
        &expect![
            "UNAVAILABLE: mcp server odd is unavailable: in the middle of the call, it answered a request 1003 that was never sent; its effect may or may not have happened: check before repeating"
        ],
    );
    check(
        "dies",
        &expect![
            "UNAVAILABLE: mcp server odd is unavailable: in the middle of the call, its process ended with status 7; it wrote: out of luck; its effect may or may not have happened: check before repeating"
        ],
    );
    check(
        "hang",
        &expect![
            "TOOL_TIMEOUT: mcp server odd had not answered when the call was stopped (time for a call: 4000 ms): ask for less at once, or go on without it; its effect may or may not have happened: check before repeating"
        ],
    );
    check("odd", &expect!["TOOL_BAD_OUTPUT: mcp server odd: the answer is no result of a call"]);
}

/// Says what is warned of where a server cannot even say what it can.
#[track_caller]
fn check_start(mode: &str, expect: &Expect) {
    let world = with_server(mode, "");
    world.check(&["call", "odd_echo", r#"{"text":"hi"}"#], expect);
}

#[test]
fn a_server_that_does_not_start_is_a_warning() {
    check_start(
        "exits",
        &expect![[r#"
            --- stderr
            warning: mcp server odd is unavailable: its process ended with status 3; it wrote: there is no license

            hint: haft mcp test odd

            error: no tool is called "odd_echo": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

            hint: haft tools list
            --- status 2
        "#]],
    );
    check_start(
        "list-garbage",
        &expect![[r#"
            --- stderr
            warning: mcp server odd is unavailable: its list of tools is no list

            hint: haft mcp test odd

            error: no tool is called "odd_echo": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

            hint: haft tools list
            --- status 2
        "#]],
    );
}

#[test]
fn lists_without_end_are_cut_and_broken_tools_left_out() {
    let tools = |mode: &str| {
        let world = with_server(mode, "");
        let answer = world.json(&["mcp", "test", "odd", "--json"]);
        let count = answer["tools"].as_array().unwrap().len();
        (count, answer["left_out"].clone())
    };
    let (count, left_out) = tools("many");
    assert_eq!((count, left_out.as_array().unwrap().len()), (1_000, 1), "{left_out}");
    assert_eq!(tools("pages").0, 0);
    let (_, left_out) = tools("bad-schema");
    expect![[r#"
        [
          "tool \"list\": its input is \"array\", and expected were parameters by name (\"type\": \"object\")",
          "tool \"broken\": its schema is not valid: \"strin\" is not valid under any of the schemas listed in the 'anyOf' keyword"
        ]"#]].assert_eq(&serde_json::to_string_pretty(&left_out).unwrap());
}

#[test]
fn tools_that_are_locked_or_alike_take_nobodys_place() {
    let world = World::with_files();
    world.write("server/hostile.py", HOSTILE);
    world.write("work/haft.toml", &table(&world, "web", "search"));
    world.run(&["trust"]);
    world.check(&["mcp", "test", "web"], &expect![[r#"
        web works: hostile 1, protocol 2025-11-25
        confined: filesystem kernel, network kernel, processes kernel, system calls kernel, resources kernel
        granted: nothing

        TOOL       EFFECT  PERMISSION     DESCRIPTION
        web_other  once    mcp:web:other  Does other.

        left out:
          tool "search": web_search is the id of a tool of haft, which no server's tool gets: call the server otherwise
        --- status 0
    "#]]);
    world.write("work/haft.toml", &table(&world, "odd", "alike"));
    world.run(&["trust"]);
    world.check(&["mcp", "test", "odd"], &expect![[r#"
        odd works: hostile 1, protocol 2025-11-25
        confined: filesystem kernel, network kernel, processes kernel, system calls kernel, resources kernel
        granted: nothing

        TOOL                 EFFECT  PERMISSION      DESCRIPTION
        odd_get_it_5fe134a1  once    mcp:odd:get-it  Does get-it.
        odd_get_it_6ed80c13  once    mcp:odd:get.it  Does get.it.
        odd_get_it           once    mcp:odd:get_it  Does get_it.
        --- status 0
    "#]]);
}

#[test]
fn a_server_that_does_not_come_up_costs_nothing_and_is_reported_once() {
    let world = World::with_files();
    world.write(
        "server/counts.py",
        "import sys\nopen(sys.argv[1], 'a').write('begun\\n')\nsys.exit(3)\n",
    );
    let (script, log) = (world.path("server/counts.py"), world.path("work/log"));
    let command = format!("[mcp.odd]\ncommand = [\"/usr/bin/python3\", {script:?}, {log:?}]\n");
    world
        .write("work/haft.toml", &format!("{command}requires.fs.write = [\"{{workspace}}/**\"]\n"));
    world.write("work/log", "");
    world.run(&["trust"]);
    let begun = || world.read("work/log").lines().count();
    // A call of another tool does not concern the server.
    world.run(&["call", "read", r#"{"path":"notes.txt"}"#]);
    assert_eq!(begun(), 0);
    let list = || {
        let output = world.haft(&["tools", "list"]).output().unwrap();
        world.shown(&output)
    };
    assert!(list().contains("warning: mcp server odd is unavailable"), "it was not reported");
    // haft starts a server twice if it ends before it says which era of the protocol it speaks.
    let tried = begun();
    assert!(tried > 0);
    let shown = list();
    assert!(!shown.contains("mcp server odd"), "{shown}");
    assert_eq!(begun(), tried);
    // A call of one of its tools starts it again.
    let envelope = call(&world, "odd_echo", &json!({"text": "hi"}));
    assert_ne!(envelope["type"], "output", "{envelope}");
    assert!(begun() > tried);
}
