//! How servers get into haft.toml and out of it, and how their tools are called and judged.

use expect_test::expect;
use serde_json::json;

use super::{HOSTILE, call, said, table, with_server};
use crate::world::World;

#[test]
fn a_server_is_added_tested_listed_and_removed() {
    let world = World::with_files();
    world.write("server/hostile.py", HOSTILE);
    world.write("work/haft.toml", "# Mine.\npreset = \"ask\"\n\n# About nothing yet.\n");
    world.run(&["trust"]);
    let script = world.path("server/hostile.py");
    let script = script.to_str().unwrap();
    let add =
        ["mcp", "add", "odd", "--read", ".", "--yes", "--", "/usr/bin/python3", script, "long"];
    world.check(
        &add,
        &expect![[r#"
        added to /world/work/haft.toml
        [mcp.odd]
        command = ["/usr/bin/python3", "/world/server/hostile.py", "long"]
        requires.fs.read = ["{workspace}/**"]

        granted: reads {workspace}/**
        see whether it works: haft mcp test odd
        --- status 0
    "#]],
    );
    world.check(
        &add,
        &expect![[r#"
        --- stderr
        error: a server odd is in /world/work/haft.toml already

        hint: haft mcp remove odd
        --- status 2
    "#]],
    );
    world.check(
        &["mcp", "list"],
        &expect![[r#"
        NAME  TOOLS  GRANTED               SERVER
        odd   ?      reads {workspace}/**  /usr/bin/python3 /world/server/hostile.py long
        --- status 0
    "#]],
    );
    let tested = world.haft(&["mcp", "test", "odd"]).output().unwrap();
    let shown = world.shown(&tested);
    let (head, table) = shown.split_once("\n\n").unwrap();
    assert!(head.starts_with("odd works: hostile 1, protocol 2025-11-25\nconfined: "), "{head}");
    assert!(head.ends_with("granted: reads {workspace}/**"), "{head}");
    expect![[r#"
        TOOL      EFFECT  PERMISSION    DESCRIPTION
        odd_talk  once    mcp:odd:talk  word word word word word word word word word word word word word word word word word word word word …
        --- status 0
    "#]].assert_eq(table);
    world.check(
        &["mcp", "remove", "odd", "--yes"],
        &expect![[r#"
        removed odd from /world/work/haft.toml
        --- status 0
    "#]],
    );
    assert_eq!(world.read("work/haft.toml"), "# Mine.\npreset = \"ask\"\n\n# About nothing yet.\n");
    world.check(
        &["mcp", "remove", "odd"],
        &expect![[r#"
        --- stderr
        error: no server is called "odd" in /world/work/haft.toml

        hint: haft mcp list
        --- status 2
    "#]],
    );
}

#[test]
fn what_a_server_is_granted_is_said_where_it_matters() {
    let world = World::with_files();
    world.check(&["mcp", "add", "odd", "--yes", "--", "npx", "-y", "@scope/odd"], &expect![[r#"
        wrote /world/work/haft.toml
        [mcp.odd]
        command = ["npx", "-y", "@scope/odd"]

        granted: nothing; what it may read, change and reach is for requires.fs.read, requires.fs.write and requires.net.hosts in its table to say
        npx downloads what it runs, and a confined server neither downloads nor sees your caches; install it once instead:
          haft mcp remove odd
          haft mcp add odd --npm @scope/odd
        see whether it works: haft mcp test odd
        --- status 0
    "#]]);
    world.run(&["trust"]);
    let listed = world.json(&["mcp", "list", "--json"]);
    assert_eq!(listed["servers"][0]["granted"], json!({}), "{listed}");
    world.check(
        &["mcp", "list"],
        &expect![[r#"
        NAME  TOOLS  GRANTED  SERVER
        odd   ?      nothing  npx -y @scope/odd
        --- status 0
    "#]],
    );
}

#[test]
fn a_server_that_does_not_start_may_lack_something() {
    let world = with_server("exits", "");
    world.check(&["mcp", "test", "odd"], &expect![[r#"
        --- stderr
        error: mcp server odd is unavailable: its process ended with status 3; it wrote: there is no license

        hint: the server is granted nothing; if it needs files or hosts, name them with requires in [mcp.odd] of haft.toml
        --- status 1
    "#]]);
    let world = World::with_files();
    let command = r#"command = ["/usr/bin/python3", "-c", "open('/srv/of/its/own')"]"#;
    world.write(
        "work/haft.toml",
        &format!("[mcp.odd]\n{command}\nrequires.fs.read = [\"src/**\"]\n"),
    );
    world.run(&["trust"]);
    let shown = world.shown(&world.haft(&["mcp", "test", "odd"]).output().unwrap());
    let hint = "hint: the server is granted this: reads src/**; if it lacks something, name it with requires.fs.read, \
                requires.fs.write or readable in [mcp.odd] of haft.toml\n";
    assert!(shown.contains(hint), "{shown}");
}

#[test]
fn what_cannot_be_is_said_with_its_place() {
    let world = World::with_files();
    world.write("work/haft.toml", "[mcp.My-server]\ncommand = \"x\"\n[mcp.both]\ncommand = \"x\"\nurl = \"https://a\"\n[mcp.odd]\ncommand = 5\n[mcp.none]\n");
    world.check(
        &["mcp", "list"],
        &expect![[r#"
            --- stderr
            error: manifest /world/work/haft.toml has 4 problems

            /world/work/haft.toml:1:6: server name "My-server" is not valid: its tools' ids begin with it, so expected lower-case letters, digits and underscores, starting with a letter and not ending in an underscore, at most 24 characters
              |
            1 | [mcp.My-server]
              |      ^^^^^^^^^

            /world/work/haft.toml:5:7: expected a command or a url, found both: a server is started here or runs elsewhere
              |
            5 | url = "https://a"
              |       ^^^^^^^^^^^

            /world/work/haft.toml:7:11: invalid type: integer `5`, expected a program, or a list of a program and its arguments
              |
            7 | command = 5
              |           ^

            /world/work/haft.toml:8:1: expected a command that starts the server, or the url of one that runs elsewhere
              |
            8 | [mcp.none]
              | ^^^^^^^^^^
            --- status 2
        "#]],
    );
}

#[test]
fn a_manifest_that_nobody_trusts_starts_no_server() {
    let world = World::with_files();
    world.write("server/hostile.py", HOSTILE);
    world.write("work/haft.toml", &table(&world, "odd", "well"));
    world.check(
        &["mcp", "list"],
        &expect![[r#"
            odd is not trusted yet
            --- stderr
            warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
              mcp.odd = { command = ["/usr/bin/python3", "/world/server/hostile.py", "well"] }

            hint: haft trust /world/work/haft.toml

            --- status 0
        "#]],
    );
}

#[test]
fn a_server_tool_or_model_that_is_not_trusted_yet_is_not_unknown() {
    let world = World::with_files();
    world.write("server/hostile.py", HOSTILE);
    let model = "\n[model]\nname = \"openai/theirs\"\n";
    world.write("work/haft.toml", &(table(&world, "odd", "well") + model));
    let error = |args: &[&str]| {
        let shown = world.shown(&world.haft(args).output().unwrap());
        shown[shown.find("error: ").unwrap()..].to_owned()
    };
    expect![[r#"
        error: server "odd" of /world/work/haft.toml is not trusted yet

        hint: haft trust /world/work/haft.toml
        --- status 2
    "#]]
    .assert_eq(&error(&["mcp", "test", "odd"]));
    expect![[r#"
        error: tool "odd_echo" is not trusted yet, so it cannot be called

        hint: haft trust
        --- status 2
    "#]]
    .assert_eq(&error(&["call", "odd_echo", "{}"]));
    expect![[r#"
        error: tool "odd_echo" is not trusted yet

        hint: haft trust /world/work/haft.toml
        --- status 2
    "#]]
    .assert_eq(&error(&["tools", "show", "odd_echo"]));
    expect![[r#"
        error: allow: tool "odd_echo" is not trusted yet

        hint: haft trust /world/work/haft.toml
        --- status 2
    "#]]
    .assert_eq(&error(&["call", "--allow", "odd_echo", "todo"]));
    expect![[r#"
        error: no server is called "other"

        hint: haft mcp list
        --- status 2
    "#]]
    .assert_eq(&error(&["mcp", "test", "other"]));
    expect![[r#"
        error: no tool is called "other_echo": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

        hint: haft tools list
        --- status 2
    "#]]
    .assert_eq(&error(&["call", "other_echo", "{}"]));
}

#[test]
fn a_server_is_added_without_a_change_of_trust() {
    let world = World::with_files();
    let add = |name: &str| {
        let output = world.haft(&["mcp", "add", name, "--", "/bin/true"]).output().unwrap();
        world.shown(&output)
    };
    let listed = || world.json(&["mcp", "list", "--json"]);
    // haft makes the file, and trusts what it writes.
    assert!(add("one").contains("wrote /world/work/haft.toml"));
    assert!(add("two").contains("added to /world/work/haft.toml"));
    assert_eq!(listed()["servers"].as_array().unwrap().len(), 2);
    // A file that another program changed stays untrusted.
    let text = world.read("work/haft.toml");
    world.write("work/haft.toml", &format!("preset = \"full\"\n{text}"));
    expect![[r#"
        added to /world/work/haft.toml
        [mcp.three]
        command = ["/bin/true"]

        granted: nothing; what it may read, change and reach is for requires.fs.read, requires.fs.write and requires.net.hosts in its table to say
        /world/work/haft.toml is not trusted yet; trust it with: haft trust /world/work/haft.toml
        --- status 0
    "#]].assert_eq(&add("three"));
    assert_eq!(listed()["servers"].as_array().unwrap().len(), 0);
    world.check(
        &["mcp", "remove", "two"],
        &expect![[r#"
        removed two from /world/work/haft.toml
        /world/work/haft.toml is not trusted yet; trust it with: haft trust /world/work/haft.toml
        --- status 0
    "#]],
    );
    world.run(&["trust"]);
    assert_eq!(listed()["servers"].as_array().unwrap().len(), 2);
    world.check(
        &["mcp", "remove", "one"],
        &expect![[r#"
        removed one from /world/work/haft.toml
        --- status 0
    "#]],
    );
    assert_eq!(listed()["servers"].as_array().unwrap().len(), 1);
}

#[test]
fn answers_are_text_data_or_errors_and_inputs_are_checked_here() {
    let world = with_server("well", "");
    let check = |tool: &str, input: serde_json::Value, expect: &str| {
        assert_eq!(said(&call(&world, tool, &input)), expect, "{tool}");
    };
    check("odd_echo", json!({"text": "hi"}), r#""hi""#);
    check("odd_data", json!({}), r#"{"n":1}"#);
    check("odd_fail", json!({}), "TOOL_FAILED: mcp server odd: it is broken");
    check("odd_step", json!({}), r#""done""#);
    let wrong = said(&call(&world, "odd_echo", &json!({"text": 5})));
    assert!(wrong.starts_with("INVALID_INPUT: invalid input for odd_echo: "), "{wrong}");
}

#[test]
fn a_servers_tools_ask_unless_a_rule_names_them() {
    let world = with_server("well", "");
    let plain = |world: &World| {
        let output = world.haft(&["call", "odd_echo", r#"{"text":"hi"}"#, "--json"]).output();
        said(&serde_json::from_slice(&output.unwrap().stdout).unwrap())
    };
    let asked = plain(&world);
    assert!(asked.starts_with("PERMISSION_DENIED: "), "{asked}");
    let rule = |permission: &str| {
        format!("[[permissions]]\npermission = {permission:?}\naction = \"allow\"\n")
    };
    for permission in ["mcp:odd:echo", "mcp:odd:*", "odd_echo", "odd_*"] {
        let world = with_server("well", &rule(permission));
        assert_eq!(plain(&world), r#""hi""#, "{permission}");
    }
    let world = with_server("well", &rule("mcp:odd:data"));
    assert!(plain(&world).starts_with("PERMISSION_DENIED: "));
}

#[test]
fn hints_are_believed_where_the_manifest_says_so() {
    let effects = |more: &str| {
        let world = with_server("well", more);
        let answer = world.json(&["mcp", "test", "odd", "--json"]);
        let tools = answer["tools"].as_array().unwrap().clone();
        let effect = |name: &str| {
            let tool = tools.iter().find(|tool| tool["name"] == name).unwrap();
            tool["effect"].as_str().unwrap().to_owned()
        };
        (effect("echo"), effect("data"))
    };
    assert_eq!(effects(""), ("once".to_owned(), "once".to_owned()));
    assert_eq!(effects("trust_annotations = true\n"), ("read".to_owned(), "once".to_owned()));
}
