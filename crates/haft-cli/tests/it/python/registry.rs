//! `haft registry`: what is said of files, what is listed, and what is written.

use std::process::Command;

use expect_test::expect;
use serde_json::Value;

use super::{ENTRY, PRICE, configured, tool, with_tools};
use crate::world::names;

const BROKEN: &str = "METADATA = {\n";

#[test]
fn check_says_what_is_wrong_and_how_to_mend_it() {
    let vague = "METADATA = {\"name\": \"finance\", \"function\": \"run\", \"parameters\": {}}\n\n\ndef run(payload):\n    \
                 pass\n";
    let world =
        with_tools(&[("finance_price.py", PRICE), ("vague.py", vague), ("broken.py", BROKEN)]);
    world.check(
        &["registry", "check"],
        &expect![[r#"
        --- stderr
        error: no directory of Python tools is configured: name one, or add one to haft.toml

        hint: haft registry add tools
        --- status 2
    "#]],
    );
    world.check(&["registry", "check", "tools"], &expect![[r#"
        tools/broken.py:1: error: the file is not Python: '{' was never closed [syntax]
          mend: make it run under the interpreter of the directory
        tools/vague.py:1: warning: there is neither a description nor a documentation of the function: a model sees the name alone [undescribed]
          mend: add "description": "..." with what it answers and when to use it
        tools/vague.py:1: error: the function's name "run" does not say what it does [function_vague]
          mend: name it after its single purpose, such as run_finance_price, there and in METADATA
        tools/vague.py:1: error: parameters is empty, so the tool's parameters are unknown [schema]
          mend: write "parameters": {"type": "object", "properties": {...}, "required": [...]}; a tool that takes nothing has "properties": {}
        tools: 1 tool, 3 errors, 1 warning
        --- status 1
    "#]]);
    world.check(
        &["registry", "check", "none"],
        &expect![[r#"
        --- stderr
        error: /world/work/none is no directory

        hint: haft registry check
        --- status 2
    "#]],
    );
    let output = world.haft(&["registry", "check", "tools", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&answer["errors"], &answer["warnings"]), (&3.into(), &1.into()));
    let problem = &answer["directories"][0]["problems"][0];
    expect![[r#"{"file":"broken.py","line":1,"field":null,"severity":"error","code":"syntax","message":"the file is not Python: '{' was never closed","mend":"make it run under the interpreter of the directory"}"#]].assert_eq(&problem.to_string());
}

#[test]
fn check_tries_tools_that_call_themselves_deterministic() {
    let alike = tool("adds", "\"deterministic\": True,", "return sorted({'a', 'b', 'c'})");
    let random =
        tool("draws", "\"deterministic\": True,", "import random\n    return random.random()");
    let world = with_tools(&[("adds.py", &alike), ("draws.py", &random)]);
    let output = world.haft(&["registry", "check", "tools", "--json"]).output().unwrap();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = answer["directories"][0]["problems"].as_array().unwrap();
    let found: Vec<(&Value, &Value)> =
        problems.iter().map(|problem| (&problem["file"], &problem["code"])).collect();
    assert_eq!(found, [(&"draws.py".into(), &"not_deterministic".into())], "{answer}");
}

#[test]
fn two_directories_do_not_have_one_name_twice() {
    let world = configured(
        &[("finance_price.py", PRICE)],
        &format!("{ENTRY}[[python]]\ndir = \"more\"\n[[python]]\ndir = \"gone\"\n"),
    );
    world.write("work/more/price.py", PRICE);
    world.check(&["registry", "check"], &expect![[r#"
        tools/finance_price.py:2: error: the name finance_price is also that of the tool in /world/work/more/price.py, so neither is used [name_taken]
          mend: give one of them another name
        tools: 0 tools, 1 error, 0 warnings

        more/price.py:2: error: the name finance_price is also that of the tool in /world/work/tools/finance_price.py, so neither is used [name_taken]
          mend: give one of them another name
        more: 0 tools, 1 error, 0 warnings

        gone: error: the directory gone cannot be used: No such file or directory (os error 2)
        gone: 0 tools, 1 error, 0 warnings
        --- status 1
    "#]]);
    world.check(&["registry", "list"], &expect![[r#"
        no tools
        --- stderr
        warning: some files in tools are left out, because they have errors

        hint: haft registry check tools

        warning: some files in more are left out, because they have errors

        hint: haft registry check more

        warning: the Python tools in gone are left out: the directory gone cannot be used: No such file or directory (os error 2)
        --- status 1
    "#]]);
}

#[test]
fn list_shows_what_decides_how_a_tool_is_called() {
    let ordering = tool("order", "\"dangerous\": True, \"timeout\": 5,", "return 1");
    let world = with_tools(&[("finance_price.py", PRICE), ("ORDER.py", &ordering)]);
    world.check(
        &["registry", "list", "tools"],
        &expect![[r#"
        TOOL           FILE                    EFFECT  DANGEROUS  PARAMETERS
        finance_price  tools/finance_price.py  read    no         symbol [days]
        order          tools/ORDER.py          once    yes        none
        --- status 0
    "#]],
    );
    world.check(&["registry", "list", "tools", "--json"], &expect![[r#"
        [{"tool":"finance_price","file":"/world/work/tools/finance_price.py","function":"run_finance_price","description":"Answers the price of a share.","effect":"read","dangerous":false,"context":false,"requires":{"fs":{"read":["{workspace}/**"]}},"parameters":{"type":"object","properties":{"symbol":{"type":"string"},"days":{"type":"integer"}},"required":["symbol"],"additionalProperties":false}},{"tool":"order","file":"/world/work/tools/ORDER.py","function":"run_order","description":"It answers.","effect":"once","dangerous":true,"timeout_ms":5000,"context":false,"requires":{"fs":{"read":["{workspace}/**"]}},"parameters":{"type":"object","properties":{},"additionalProperties":false}}]
        --- status 0
    "#]]);
}

#[test]
fn sync_writes_what_the_files_say() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    world.check(
        &["registry", "sync", "tools", "--check"],
        &expect![[r#"
            finance_price: in the files (finance_price), not in the registry
            tools/registry.json differs from the files; nothing was written
            --- status 1
        "#]],
    );
    assert_eq!(names(&world.path("work/tools")), ["finance_price.py"]);
    world.check(
        &["registry", "sync", "tools"],
        &expect![[r#"
        finance_price: in the files (finance_price), not in the registry
        wrote tools/registry.json
        --- status 0
    "#]],
    );
    expect![[r#"
        {
          "version": "1.0",
          "auto_generated": true,
          "tools": [
            {
              "name": "finance_price",
              "description": "Answers the price of a share.",
              "function": "run_finance_price",
              "dangerous": false,
              "domain": "finance",
              "parameters": {
                "type": "object",
                "properties": {
                  "symbol": {
                    "type": "string"
                  },
                  "days": {
                    "type": "integer"
                  }
                },
                "required": [
                  "symbol"
                ]
              },
              "module": "finance_price"
            }
          ]
        }
    "#]]
    .assert_eq(&world.read("work/tools/registry.json"));
    world.check(
        &["registry", "sync", "tools"],
        &expect![[r#"
        tools/registry.json is what the files say
        --- status 0
    "#]],
    );
}

#[test]
fn what_is_no_file_is_no_registry() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    let made = Command::new("mkfifo").arg(world.path("work/tools/registry.json")).status();
    assert!(made.unwrap().success());
    world.check(
        &["registry", "check", "tools"],
        &expect![[r#"
            tools: error: tools/registry.json cannot be used: it is no regular file; remove it first
            tools: 0 tools, 1 error, 0 warnings
            --- status 1
        "#]],
    );
    world.check(&["registry", "sync", "tools"], &expect![[r#"
        tools: error: tools/registry.json cannot be used: it is no regular file; it stays as it is: remove it first
        --- status 1
    "#]]);
}

#[test]
fn trust_says_what_the_tools_may_do() {
    let requiring = "\"requires\": {\"fs\": {\"write\": [\"out/**\"]}, \"net\": {\"hosts\": [\"api.example.com\"]}},";
    let world = with_tools(&[
        ("finance_price.py", PRICE),
        ("keep.py", &tool("keep", &format!("\"dangerous\": True, {requiring}"), "return 1")),
        ("mail.py", &tool("mail", "\"side_effect\": True,", "return 1")),
        ("broken.py", BROKEN),
    ]);
    world.write("work/haft.toml", &format!("{ENTRY}[[python]]\ndir = \"none\"\n"));
    world.check(
        &["trust"],
        &expect![[r#"
        /world/work/haft.toml is trusted; it grants:
          python = [{ dir = "tools" }]
          python = [{ dir = "none" }]
        its Python tools are trusted as well, and so is what will be in these directories later:
          tools: 4 files, 3 tools, of which 1 reads only
            keep: writes out/**, reaches api.example.com, is dangerous
            mail: has a side effect
          none: the directory none cannot be used: No such file or directory (os error 2)
        --- status 0
    "#]],
    );
    world.check(&["trust", "--json"], &expect![[r#"
        {"path":"/world/work/haft.toml","sha256":"4a1b34c055f41f82cbae1b72210a130c34b31375cbbbd00b3c4e9ba11f2a01b8","trusted":true,"grants":["python = [{ dir = \"tools\" }]","python = [{ dir = \"none\" }]"],"python":[{"dir":"/world/work/tools","files":4,"tools":[{"tool":"finance_price","effect":"read","dangerous":false,"requires":{"fs":{"read":["{workspace}/**"]}}},{"tool":"keep","effect":"once","dangerous":true,"requires":{"fs":{"read":["{workspace}/**"],"write":["out/**"]},"net":{"hosts":["api.example.com"]}}},{"tool":"mail","effect":"once","dangerous":false,"requires":{"fs":{"read":["{workspace}/**"]}}}]},{"dir":"/world/work/none","files":0,"tools":[],"problem":"the directory none cannot be used: No such file or directory (os error 2)"}]}
        --- status 0
    "#]]);
}

#[test]
fn a_registry_is_compared_with_the_files() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    world.run(&["registry", "sync", "tools"]);
    let changed =
        PRICE.replace("\"required\": [\"symbol\"]", "\"required\": [\"symbol\", \"days\"]");
    world.write("work/tools/finance_price.py", &changed.replace("days: int = 1", "days: int"));
    world.write("work/tools/broken.py", BROKEN);
    world.check(
        &["registry", "check", "tools"],
        &expect![[r#"
            tools/broken.py:1: error: the file is not Python: '{' was never closed [syntax]
              mend: make it run under the interpreter of the directory
            tools/registry.json: 1 difference from the files
              finance_price: differs
                parameters.required: ["symbol"] in the registry, ["symbol","days"] in the file
              mend: haft registry sync tools
            tools: 1 tool, 1 error, 0 warnings
            --- status 1
        "#]],
    );
    world.check(&["registry", "sync", "tools", "--check", "--json"], &expect![[r#"
        [{"registry":"/world/work/tools/registry.json","written":false,"differences":[{"kind":"changed","name":"finance_price","fields":[{"field":"parameters.required","registry":["symbol"],"file":["symbol","days"]}]}],"left_out":["broken.py"]}]
        --- status 1
    "#]]);
    world.check(
        &["registry", "sync", "tools"],
        &expect![[r#"
        finance_price: differs
          parameters.required: ["symbol"] in the registry, ["symbol","days"] in the file
        left out, because of errors: broken.py; see haft registry check tools
        wrote tools/registry.json
        --- status 1
    "#]],
    );
    world.write("work/tools/registry.json", "not json");
    world.check(&["registry", "sync", "tools", "--check"], &expect![[r#"
        tools: error: tools/registry.json cannot be used: the registry is not JSON: expected ident at line 1 column 2; it stays as it is: mend it, or write it anew with haft registry sync --force tools
        --- status 1
    "#]]);
    world.check(&["registry", "sync", "tools"], &expect![[r#"
        tools: error: tools/registry.json cannot be used: the registry is not JSON: expected ident at line 1 column 2; it stays as it is: mend it, or write it anew with haft registry sync --force tools
        --- status 1
    "#]]);
    assert_eq!(world.read("work/tools/registry.json"), "not json");
    world.check(
        &["registry", "sync", "--force", "tools"],
        &expect![[r#"
        finance_price: in the files (finance_price), not in the registry
        left out, because of errors: broken.py; see haft registry check tools
        wrote tools/registry.json
        --- status 1
    "#]],
    );
    assert_eq!(
        names(&world.path("work/tools")),
        ["broken.py", "finance_price.py", "registry.json"]
    );
    std::fs::write(world.path("work/tools/registry.json"), b"{\"tools\": \"caf\xe9\"}").unwrap();
    world.check(&["registry", "sync", "tools"], &expect![[r#"
        tools: error: tools/registry.json cannot be used: it is no text in UTF-8, from byte 15 on; it stays as it is: mend it, or write it anew with haft registry sync --force tools
        --- status 1
    "#]]);
}

#[test]
fn a_file_in_another_encoding_says_what_to_do() {
    let world = with_tools(&[]);
    std::fs::create_dir(world.path("work/tools")).unwrap();
    let text = tool("city_weather", "", "return 'caf\u{e9}'");
    let latin: Vec<u8> = text.chars().map(|character| u8::try_from(character).unwrap()).collect();
    std::fs::write(world.path("work/tools/weather.py"), &latin).unwrap();
    let shown = world.shown(&world.haft(&["registry", "check", "tools"]).output().unwrap());
    let mend = "mend: save it as UTF-8, or say in its first line what it is";
    assert!(shown.contains("the file is no text in UTF-8") && shown.contains(mend), "{shown}");
}

#[test]
fn add_writes_an_entry_and_leaves_the_rest_alone() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    world.check(
        &["registry", "add", "tools"],
        &expect![[r#"
        wrote /world/work/haft.toml
        [[python]]
        dir = "tools"

        tools: 1 tool, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    world.check(
        &["registry", "add", "tools"],
        &expect![[r#"
        --- stderr
        error: tools is in /world/work/haft.toml already

        hint: haft registry check
        --- status 2
    "#]],
    );
    world.check(
        &["registry", "add", "none"],
        &expect![[r#"
        --- stderr
        error: /world/work/none is no directory: expected one that holds Python tools
        --- status 2
    "#]],
    );
    world.check(
        &["call", "finance_price", r#"{"symbol":"X"}"#],
        &expect![[r#"
        {"symbol":"X","price":12.5}
        --- stderr
        looking up X
        --- status 0
    "#]],
    );
    world.write("work/src/more/finance.py", &tool("more", "", "return 1"));
    let written = "# My own words.\nprofile   =  'contract'   # spaced\n\n[[python]]\ndir='tools'";
    world.write("work/haft.toml", written);
    world.run(&["trust"]);
    let args = ["registry", "add", "src/more", "--interpreter", "python3", "--package-root", "src"];
    world.check(
        &[&args[..], &["--yes"]].concat(),
        &expect![[r#"
        added to /world/work/haft.toml
        [[python]]
        dir = "src/more"
        interpreter = "python3"
        package_root = "src"

        src/more: 1 tool, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    let entry =
        "[[python]]\ndir = \"src/more\"\ninterpreter = \"python3\"\npackage_root = \"src\"\n";
    assert_eq!(world.read("work/haft.toml"), format!("{written}\n\n{entry}"));
    world.check(
        &["call", "more"],
        &expect![[r#"
        1
        --- status 0
    "#]],
    );
}

#[test]
fn an_entry_changes_nothing_about_trust() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    let args = ["registry", "add", "tools"];
    world.write("work/haft.toml", "preset = \"workspace\"\n");
    world.run(&["trust"]);
    world.check(
        &args,
        &expect![[r#"
        added to /world/work/haft.toml
        [[python]]
        dir = "tools"

        tools: 1 tool, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    world.check(
        &["registry", "list"],
        &expect![[r#"
        TOOL           FILE                    EFFECT  DANGEROUS  PARAMETERS
        finance_price  tools/finance_price.py  read    no         symbol [days]
        --- status 0
    "#]],
    );
    world.write("work/haft.toml", "preset = \"ask\"\n");
    world.check(&args, &expect![[r#"
        added to /world/work/haft.toml
        [[python]]
        dir = "tools"

        tools: 1 tool, 0 errors, 0 warnings
        /world/work/haft.toml is not trusted yet; trust it with: haft trust /world/work/haft.toml
        --- stderr
        warning: /world/work/haft.toml changed since you trusted it. haft ignores these settings of it:
          python = [{ dir = "tools" }]

        hint: haft trust /world/work/haft.toml

        --- status 0
    "#]]);
    world.check(&["registry", "list"], &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml changed since you trusted it. haft ignores these settings of it:
          python = [{ dir = "tools" }]

        hint: haft trust /world/work/haft.toml

        error: the directories of Python tools in /world/work/haft.toml are not trusted yet

        hint: haft trust /world/work/haft.toml
        --- status 2
    "#]]);
}

#[test]
fn an_entry_that_does_not_fit_is_not_written() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    world.write("work/other/x.py", &tool("other", "", "return 1"));
    let manifest = "python = [{ dir = \"other\" }]\n";
    world.write("work/haft.toml", manifest);
    world.check(&["registry", "add", "tools"], &expect![[r#"
        --- stderr
        error: the entry cannot be put at the end of /world/work/haft.toml, so nothing was changed: put it in by hand, as

        [[python]]
        dir = "tools"

        manifest /world/work/haft.toml has 1 problem

        /world/work/haft.toml:3:3: duplicate key
          |
        3 | [[python]]
          |   ^^^^^^
        --- status 2
    "#]]);
    world.check(&["registry", "add", "tools", "--interpreter", "src"], &expect![[r#"
        --- stderr
        error: the interpreter "/world/work/src" is a directory without bin/python: expected that of a virtual environment; one is made with python3 -m venv
        --- status 2
    "#]]);
    assert_eq!(world.read("work/haft.toml"), manifest);
}

#[test]
fn a_registry_lists_the_tools_to_offer() {
    let world = configured(
        &[("finance_price.py", PRICE), ("adds.py", &tool("adds", "", "return 1"))],
        ENTRY,
    );
    world.run(&["registry", "sync"]);
    world.write("work/tools/draws.py", &tool("draws", "", "return 2"));
    world.check(
        &["call", "adds", "{}"],
        &expect![[r#"
        1
        --- stderr
        warning: tools/registry.json does not list the tool in draws.py, so it is not offered
        --- status 0
    "#]],
    );
    world.check(
        &["call", "draws", "{}"],
        &expect![[r#"
            --- stderr
            warning: tools/registry.json does not list the tool in draws.py, so it is not offered
            error: no tool is called "draws": use a listed tool (adds, apply_patch, bash, edit, finance_price, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

            hint: haft tools list
            --- status 2
        "#]],
    );
    world.check(
        &["registry", "list"],
        &expect![[r#"
        TOOL           FILE                    EFFECT  DANGEROUS  PARAMETERS
        adds           tools/adds.py           read    no         none
        finance_price  tools/finance_price.py  read    no         symbol [days]
        --- stderr
        warning: some tools in tools are not offered, because registry.json does not list them

        hint: haft registry check tools

        --- status 0
    "#]],
    );
    world.check(&["registry", "check"], &expect![[r#"
        tools/draws.py: warning: registry.json does not list draws, so it is not offered [not_listed]
          mend: add it to registry.json, or remove registry.json to offer all tools
        tools/registry.json: 1 difference from the files
          draws: in the files (draws), not in the registry
          mend: haft registry sync tools
        tools: 2 tools, 0 errors, 1 warning
        --- status 0
    "#]]);
    world.write("work/tools/registry.json", "[]");
    world.check(
        &["registry", "list"],
        &expect![[r#"
        no tools
        --- stderr
        warning: some tools in tools are not offered, because registry.json does not list them

        hint: haft registry check tools

        --- status 0
    "#]],
    );
    // A list that cannot be read offers nothing.
    world.write("work/tools/registry.json", "{");
    world.check(&["call", "adds", "{}"], &expect![[r#"
        --- stderr
        warning: the Python tools in tools are not offered: tools/registry.json cannot be used: the registry is not JSON: EOF while parsing an object at line 1 column 1
        error: no tool is called "adds": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

        hint: haft tools list
        --- status 2
    "#]]);
    world.check(&["registry", "list"], &expect![[r#"
        no tools
        --- stderr
        warning: the Python tools in tools are not offered: registry.json cannot be used: the registry is not JSON: EOF while parsing an object at line 1 column 1

        hint: haft registry check tools

        --- status 1
    "#]]);
}
