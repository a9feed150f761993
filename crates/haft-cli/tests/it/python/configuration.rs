//! Which directories are offered, which interpreter runs their files, and which parts of an untrusted manifest hold.

use std::fs::File;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use expect_test::expect;

use super::{ENTRY, PRICE, configured, tool, with_tools};
use crate::world::World;

const CALL: [&str; 3] = ["call", "finance_price", r#"{"symbol":"X"}"#];

/// Writes a program that everybody may run.
fn write_program(world: &World, path: &str, text: &str) {
    world.write(path, text);
    std::fs::set_permissions(world.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_nobody_trusts_offers_no_tools() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    world.write(
        "work/haft.toml",
        &format!("{ENTRY}[[permissions]]\npermission = \"finance_price\"\naction = \"deny\"\n"),
    );
    world.check(&CALL, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          python = [{ dir = "tools" }]

        hint: haft trust /world/work/haft.toml

        warning: permissions: "finance_price" names no tool and no capability (unless it is a tool that is left out)
        error: no tool is called "finance_price": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

        hint: haft tools list
        --- status 2
    "#]]);
    world.run(&["trust"]);
    world.check(&CALL, &expect![[r#"
        --- stderr
        error: finance_price is denied fs.read of ".": the manifest rule `deny finance_price "*"` decides; what the manifest denies only the manifest can allow
        --- status 3
    "#]]);
}

#[test]
fn rules_and_the_list_of_tools_may_name_them() {
    let rule = "[[permissions]]\npermission = \"finance_price\"\naction = \"ask\"\n";
    let world = configured(
        &[("finance_price.py", PRICE)],
        &format!("tools = [\"read\", \"finance_price\"]\n{ENTRY}{rule}"),
    );
    world.check(&CALL, &expect![[r#"
        --- stderr
        error: no person can be asked here, so the call is denied: finance_price needs approval for fs.read of ".": the manifest rule `ask finance_price "*"` decides; the rule `allow finance_price "."` would allow it; to allow it, start haft with `--allow finance_price`, which allows all that finance_price does, or put this into haft.toml and run `haft trust`:
        [[permissions]]
        permission = "finance_price"
        pattern = "."
        action = "allow"

        hint: haft call --allow finance_price finance_price '{"symbol":"X"}'
        --- status 3
    "#]]);
    world.check(
        &["tools", "list"],
        &expect![[r#"
            TOOL           EFFECT  KIND  DESCRIPTION
            finance_price  read    read  Answers the price of a share
            read           read    read  Read a text file, or some of its lines (offset, limit)
            --- status 0
        "#]],
    );
}

#[test]
fn a_broken_file_is_a_warning_and_the_rest_works() {
    let world = configured(
        &[
            ("finance_price.py", PRICE),
            ("broken.py", "METADATA = {\n"),
            ("bash.py", &tool("bash", "", "return 1")),
            ("_shared.py", "this is no tool"),
        ],
        ENTRY,
    );
    world.check(&CALL, &expect![[r#"
        {"symbol":"X","price":12.5}
        --- stderr
        warning: tools/bash.py:1: the name bash is that of another tool, bash; check the tools in tools
        warning: tools/broken.py:1: the file is not Python: '{' was never closed; check the tools in tools
        looking up X
        --- status 0
    "#]]);
    world.check(&["call", "read", r#"{"path":"src/main.rs"}"#], &expect![[r#"
        fn main() {
            println!("two");
        }
        --- stderr
        warning: tools/bash.py:1: the name bash is that of another tool, bash; check the tools in tools
        warning: tools/broken.py:1: the file is not Python: '{' was never closed; check the tools in tools
        --- status 0
    "#]]);
}

#[test]
fn an_interpreter_is_needed_only_for_what_is_not_known_yet() {
    let world = configured(
        &[("finance_price.py", PRICE)],
        "[[python]]\ndir = \"tools\"\ninterpreter = \"../home/python\"\n",
    );
    let interpreter = world.path("home/python");
    std::fs::copy("/usr/bin/python3", &interpreter).unwrap();
    world.check(
        &CALL,
        &expect![[r#"
        {"symbol":"X","price":12.5}
        --- stderr
        looking up X
        --- status 0
    "#]],
    );
    // The same file by all that is looked at, and no interpreter any more.
    let found = interpreter.metadata().unwrap();
    let broken = File::options().write(true).open(&interpreter).unwrap();
    (&broken).write_all(b"\x7fELF\necho broken >&2\nexit 3\n").unwrap();
    broken.set_modified(found.modified().unwrap()).unwrap();
    drop(broken);
    let listed = world.haft(&["tools", "show", "finance_price"]).output().unwrap();
    assert!(listed.status.success() && listed.stderr.is_empty(), "{}", world.shown(&listed));
    world.write("work/tools/finance_price.py", &format!("{PRICE}\n# It has changed.\n"));
    world.check(&CALL, &expect![[r#"
        --- stderr
        warning: tools/finance_price.py: Python's parser ended with status 3 over it; it printed "broken"; check the tools in tools
        error: no tool is called "finance_price": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

        hint: haft tools list
        --- status 2
    "#]]);
}

#[test]
fn an_interpreter_that_is_missing_or_too_old_is_said() {
    let world = configured(
        &[("finance_price.py", PRICE)],
        "[[python]]\ndir = \"tools\"\ninterpreter = \"python9\"\n",
    );
    world.check(&["call", "read", r#"{"path":"notes.txt"}"#], &expect![[r#"
        one
        two
        three
        --- stderr
        warning: the Python tools in tools are left out: the interpreter "python9" is not on PATH: install Python 3.8 or later, or name another interpreter
        --- status 0
    "#]]);
    world.check(&CALL, &expect![[r#"
        --- stderr
        warning: the Python tools in tools are left out: the interpreter "python9" is not on PATH: install Python 3.8 or later, or name another interpreter
        error: no tool is called "finance_price": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

        hint: haft tools list
        --- status 2
    "#]]);
    // One that does not even understand how it is started is asked in words that it knows.
    let ancient =
        "#!/bin/sh\n[ \"$1\" = -I ] && { echo 'Unknown option: -I' >&2; exit 2; }\necho 2.7.18\n";
    write_program(&world, "home/python9", ancient);
    world.write(
        "work/haft.toml",
        "[[python]]\ndir = \"tools\"\ninterpreter = \"../home/python9\"\n",
    );
    world.run(&["trust"]);
    world.check(&["registry", "check"], &expect![[r#"
        tools: error: /world/home/python9: Python 3.8 or later is needed, this is 2.7.18; name a newer one as interpreter of the [[python]] entry
        tools: 0 tools, 1 error, 0 warnings
        --- status 1
    "#]]);
    // An interpreter of those days says so in the same way.
    let old = "import sys\nsys.version_info = (3, 6, 1)\nsys.version = '3.6.1 (long ago)'\nexec(sys.argv[1])\n";
    world.write("work/old.py", old);
    let shim = "#!/bin/sh\nfor script; do :; done\nexec /usr/bin/python3 old.py \"$script\"\n";
    write_program(&world, "home/python9", shim);
    world.write(
        "work/haft.toml",
        "[[python]]\ndir = \"tools\"\ninterpreter = \"../home/python9\"\n",
    );
    world.run(&["trust"]);
    world.check(&CALL, &expect![[r#"
        --- stderr
        warning: the Python tools in tools are left out: /world/home/python9: Python 3.8 or later is needed, this is 3.6.1; name a newer one as interpreter of the [[python]] entry
        error: no tool is called "finance_price": use a listed tool (apply_patch, bash, edit, glob, grep, lsp, question, read, repo_clone, repo_overview, skill, todo, tool_search, view, web_fetch, web_search, write)

        hint: haft tools list
        --- status 2
    "#]]);
}

#[test]
fn a_virtual_environment_brings_its_modules() {
    let using = tool("using", "", "import greeting; return greeting.WORDS");
    let world = configured(
        &[("using.py", &using)],
        "[[python]]\ndir = \"tools\"\ninterpreter = \"../home/env\"\n",
    );
    let made = Command::new("/usr/bin/python3")
        .args(["-m", "venv", "--without-pip"])
        .arg(world.path("home/env"))
        .env_clear()
        .status();
    assert!(made.unwrap().success());
    let library = std::fs::read_dir(world.path("home/env/lib")).unwrap().next().unwrap().unwrap();
    let modules = library.path().join("site-packages");
    std::fs::write(modules.join("greeting.py"), "WORDS = 'good day'\n").unwrap();
    world.check(
        &["call", "using"],
        &expect![[r#"
        good day
        --- status 0
    "#]],
    );
}

#[test]
fn files_of_a_package_import_their_neighbours() {
    let world = World::with_files();
    for path in ["work/src/shop/__init__.py", "work/src/shop/tools/__init__.py"] {
        world.write(path, "");
    }
    world.write("work/src/shop/prices.py", "PRICES = {'X': 3}\n");
    let text = tool("cheapest", "", "return min(PRICES)");
    world.write("work/src/shop/tools/cheapest.py", &format!("from ..prices import PRICES\n{text}"));
    world.write("work/haft.toml", "[[python]]\ndir = \"src/shop/tools\"\npackage_root = \"src\"\n");
    world.run(&["trust"]);
    world.check(
        &["call", "cheapest"],
        &expect![[r#"
        X
        --- status 0
    "#]],
    );
}

#[test]
fn an_agent_does_not_change_what_a_tool_may_do() {
    let world = configured(&[("finance_price.py", PRICE)], ENTRY);
    let write = r#"{"path":"tools/finance_price.py","content":"METADATA = 1"}"#;
    world.check(&["call", "write", write], &expect![[r#"
        --- stderr
        error: tools/finance_price.py is protected by "work/tools/**", because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    // Of what a program opens nothing can be said beforehand; the kernel holds it.
    let line = r#"{"cmd":"python3","args":["-c","open('tools/finance_price.py', 'w')"]}"#;
    let output = world.haft(&["call", "bash", line]).output().unwrap();
    let shown = world.shown(&output);
    assert!(shown.contains("Read-only file system: 'tools/finance_price.py'"), "{shown}");
    assert_eq!(world.read("work/tools/finance_price.py"), PRICE);
    let unprotected = "[sandbox]\nunprotect = [\"tools/**\"]\n";
    world.write("work/haft.toml", &format!("{ENTRY}{unprotected}"));
    world.run(&["trust"]);
    world.check(
        &["call", "write", write],
        &expect![[r#"
        ok
        --- stderr
        warning: not protected any more (sandbox.unprotect): tools/**
        --- status 0
    "#]],
    );
}

#[test]
fn an_agent_puts_nothing_beside_a_tool() {
    let importing = tool("using", "", "import _shared; return _shared.WORDS");
    let world = configured(&[("using.py", &importing), ("_shared.py", "WORDS = 1\n")], ENTRY);
    for path in
        ["tools/_shared/__init__.py", "tools/__pycache__/_shared.cpython-311.pyc", "tools/new.py"]
    {
        let write = format!(r#"{{"path":"{path}","content":"WORDS = 2"}}"#);
        let shown = world.shown(&world.haft(&["call", "write", &write]).output().unwrap());
        assert!(shown.contains(r#"is protected by "work/tools/**""#), "{shown}");
        // Of what a program opens nothing can be said beforehand; the kernel holds it.
        let program = format!(
            "import os; os.makedirs(os.path.dirname('{path}'), exist_ok=True); open('{path}', 'w')"
        );
        let line = serde_json::json!({"cmd": "python3", "args": ["-c", program]}).to_string();
        let shown = world.shown(&world.haft(&["call", "bash", &line]).output().unwrap());
        assert!(shown.contains("Read-only file system"), "{shown}");
    }
    // A tool of the same name elsewhere is as free as before.
    let elsewhere = r#"{"path":"src/tools/new.py","content":"WORDS = 2"}"#;
    world.check(
        &["call", "write", elsewhere],
        &expect![[r#"
        ok
        --- status 0
    "#]],
    );
    world.check(
        &["call", "using"],
        &expect![[r#"
        1
        --- status 0
    "#]],
    );
}

#[test]
fn what_an_agent_could_replace_reads_no_metadata() {
    let world = configured(
        &[("finance_price.py", PRICE)],
        "[[python]]\ndir = \"tools\"\ninterpreter = \".venv\"\n",
    );
    let writing =
        PRICE.replace("run_finance_price\",", "run_finance_price\", \"dangerous\": True,");
    let reading = "{\"metadata\":{\"name\":\"evil\",\"function\":\"evil\"}}";
    let lying = format!("#!/bin/sh\nwhile read -r line <&3; do echo '{reading}' >&3; done\n");
    write_program(&world, "work/.venv/bin/python3", &lying);
    world.write("work/tools/finance_price.py", &writing);
    world.check(
        &["registry", "list"],
        &expect![[r#"
        TOOL           FILE                    EFFECT  DANGEROUS  PARAMETERS
        finance_price  tools/finance_price.py  once    yes        symbol [days]
        --- status 0
    "#]],
    );
    // Nor does one that merely comes first on PATH.
    let path = format!("{}:/usr/bin:/bin", world.path("work/.venv/bin").display());
    world.write("work/haft.toml", ENTRY);
    world.run(&["trust"]);
    let listed = world.haft(&["registry", "check", "--json"]).env("PATH", path).output().unwrap();
    let answer: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(answer["directories"][0]["interpreter"], "/usr/bin/python3", "{answer}");
    assert_eq!(answer["directories"][0]["tools"], serde_json::json!(["finance_price"]));
    let only = world.path("work/.venv/bin");
    let listed = world.haft(&["registry", "check"]).env("PATH", only).output().unwrap();
    expect![[r#"
        tools: error: the interpreter "python3" is on PATH only where it can be replaced, in or through a root: install Python 3.8 or later elsewhere, or name another interpreter
        tools: 0 tools, 1 error, 0 warnings
        --- status 1
    "#]].assert_eq(&world.shown(&listed));
}

#[test]
fn what_cannot_be_protected_is_refused() {
    let world = with_tools(&[("finance_price.py", PRICE)]);
    world.write("work/haft.toml", "[[python]]\ndir = \".\"\n");
    world.check(&["trust"], &expect![[r#"
        --- stderr
        error: the directory of Python tools /world/work is a root, so a change of files there would change the tools: put the tools into a directory of their own beneath the root, or name another root
        --- status 2
    "#]]);
    world.check(&["tools", "list", "--config", "haft.toml"], &expect![[r#"
        --- stderr
        error: the directory of Python tools /world/work is a root, so a change of files there would change the tools: put the tools into a directory of their own beneath the root, or name another root
        --- status 2
    "#]]);
    let within = ["tools", "list", "--python", "tools", "--root", "tools"];
    world.check(&within, &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          python = [{ dir = "." }]

        hint: haft trust /world/work/haft.toml

        error: the directory of Python tools /world/work/tools is a root, so a change of files there would change the tools: put the tools into a directory of their own beneath the root, or name another root
        --- status 2
    "#]]);
    std::fs::remove_file(world.path("work/haft.toml")).unwrap();
    world.check(&["registry", "add", "."], &expect![[r#"
        --- stderr
        error: the directory of Python tools /world/work is a root, so a change of files there would change the tools: put the tools into a directory of their own beneath the root, or name another root
        --- status 2
    "#]]);
    assert!(!world.path("work/haft.toml").exists());
}

#[test]
fn mistakes_of_the_manifest_are_said_together() {
    let world = World::with_files();
    world.write(
        "work/haft.toml",
        "[[python]]\ndir = \"\"\nworkers = 99\nidle_ms = 0\nmemory_bytes = 1\n\n[[python]]\ninterpreter = \"\"\n\n\
         [[python]]\ndir = \"c\"\n\n[[python]]\ndir = \"c\"\n",
    );
    world.check(
        &["tools", "list"],
        &expect![[r#"
            --- stderr
            error: manifest /world/work/haft.toml has 7 problems

            /world/work/haft.toml:2:7: dir: expected a directory, found an empty text
              |
            2 | dir = ""
              |       ^^

            /world/work/haft.toml:3:11: workers: expected 1 to 16 processes, found 99
              |
            3 | workers = 99
              |           ^^

            /world/work/haft.toml:4:11: idle_ms: expected 1 to 86400000 milliseconds, found 0
              |
            4 | idle_ms = 0
              |           ^

            /world/work/haft.toml:5:16: memory_bytes: expected 16777216 to 1099511627776 bytes, found 1
              |
            5 | memory_bytes = 1
              |                ^

            /world/work/haft.toml:7:1: missing field `dir`
              |
            7 | [[python]]
              | ^^^^^^^^^^

            /world/work/haft.toml:8:15: interpreter: expected a Python or a virtual environment, found an empty text
              |
            8 | interpreter = ""
              |               ^^

            /world/work/haft.toml:14:7: dir: "c" is named by another entry already
               |
            14 | dir = "c"
               |       ^^^
            --- status 2
        "#]],
    );
    world.write("work/haft.toml", "[[python]]\ndir = \"a\"\npackge_root = \"b\"\n");
    world.check(
        &["tools", "list"],
        &expect![[r#"
            --- stderr
            error: manifest /world/work/haft.toml has 1 problem

            /world/work/haft.toml:3:1: unknown key "packge_root": did you mean "package_root"?
              |
            3 | packge_root = "b"
              | ^^^^^^^^^^^
            --- status 2
        "#]],
    );
    std::fs::remove_file(world.path("work/haft.toml")).unwrap();
    world.check(
        &["tools", "list", "--python", "none"],
        &expect![[r#"
        --- stderr
        error: python: /world/work/none is no directory: expected one that holds Python tools
        --- status 2
    "#]],
    );
}

#[test]
fn doctor_says_which_python_runs_them() {
    let world = configured(
        &[("finance_price.py", PRICE), ("broken.py", "METADATA = {\n")],
        &format!("{ENTRY}[[python]]\ndir = \"none\"\n"),
    );
    let output = world.haft(&["doctor", "--json"]).output().unwrap();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let [tools, none] = report["python"].as_array().unwrap().as_slice() else { panic!("{report}") };
    assert_eq!(tools["interpreter"], "/usr/bin/python3");
    assert!(tools["version"].as_str().is_some_and(|version| version.starts_with("3.")), "{tools}");
    assert_eq!((&tools["tools"], &tools["errors"]), (&1.into(), &1.into()));
    let problem = none["problem"].as_str().unwrap();
    assert!(problem.contains("cannot be used: No such file"), "{problem}");
}
