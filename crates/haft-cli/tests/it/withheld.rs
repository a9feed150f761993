//! Rules that deny paths hold around every process: none of many ways to read or change such a path works, whatever
//! program tries it, and ordinary commands run without questions.

mod batch;
mod changes;
mod reads;
mod servers;

use std::fs;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::batch::{RULES, Runner, SECRET, check_changes, check_reads, lay_out};
use crate::mcp_wire::driver::Server;
use crate::world::World;

/// Time for a cover to come, in milliseconds.
const COVER_MS_MAX: u64 = 10_000;

/// Returns a world with the usual files, in which these lines follow the rules of the manifest.
fn world(more: &str) -> World {
    let world = World::new();
    lay_out(&world.path("work"));
    world.write("work/haft.toml", &format!("{RULES}{more}"));
    world.run(&["trust"]);
    world
}

fn call(world: &World, tool: &str, input: &Value) -> Value {
    let output = world.haft(&["call", tool, &input.to_string(), "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", world.shown(&output)))
}

fn bash(world: &World, line: &str) -> Value {
    call(world, "bash", &json!({"cmd": line}))
}

/// Runs lines that no rule about words sees, because they are in a file.
fn script(world: &World, lines: &str) -> Value {
    world.write("work/run.sh", lines);
    bash(world, "bash run.sh")
}

/// Returns a running `haft mcp` of the world.
fn server(world: &World) -> Server {
    let mut command: Command = world.haft(&["mcp"]);
    command.stderr(std::process::Stdio::null());
    Server::of_legacy(command)
}

/// Returns all text of an answer.
fn text_of(answer: &Value) -> String {
    let texts = answer["result"]["content"].as_array().into_iter().flatten();
    let said: String = texts.filter_map(|block| block["text"].as_str()).collect();
    if answer["result"].is_null() { answer.to_string() } else { said }
}

#[test]
fn no_shell_line_reads_a_denied_path() {
    check_reads(Runner::Shell, reads::SHELL);
}

#[test]
fn no_python_script_reads_a_denied_path() {
    check_reads(Runner::Python, reads::PYTHON);
}

#[test]
fn no_node_script_reads_a_denied_path() {
    if ["/usr/bin/node", "/bin/node"].iter().any(|place| fs::exists(place).unwrap()) {
        check_reads(Runner::Node, reads::NODE);
    }
}

#[test]
fn no_line_changes_a_path_that_must_not_be_changed() {
    check_changes(changes::SHELL);
}

#[test]
fn there_are_enough_attempts() {
    let reads = reads::SHELL.len() + reads::PYTHON.len() + reads::NODE.len();
    // A language server and an MCP server make those in Python, too.
    let in_servers = 2 * reads::PYTHON.len();
    let pushes = crate::push::ways().len();
    println!("{reads} ways to read, {in_servers} in servers, {pushes} to push");
    assert!(reads + in_servers + pushes >= 300, "{reads} {in_servers} {pushes}");
    assert!(reads >= 150 && changes::SHELL.len() >= 40, "{reads}");
    // The documentation has these figures.
    let documented = include_str!("../../../../docs/security.md");
    for count in [reads, in_servers, pushes, changes::SHELL.len()] {
        assert!(documented.contains(&format!("| {count} ways |")), "{count} ways");
    }
}

#[test]
fn what_is_allowed_beneath_a_denied_directory_stays_as_it_is() {
    let world = world("");
    let line = "cat secrets/public.txt; echo more >> secrets/public.txt; ls secrets; cat secrets/key; true";
    let envelope = script(&world, line);
    let said = envelope["data"]["output"].as_str().unwrap_or_else(|| panic!("{envelope}"));
    assert!(said.starts_with("for all to see\n"), "{said}");
    assert!(said.contains("ls: cannot open directory 'secrets': Permission denied"), "{said}");
    assert!(!said.contains("TOKEN"), "{said}");
    assert_eq!(world.read("work/secrets/public.txt"), "for all to see\nmore\n");
}

#[test]
fn ordinary_lines_run_without_a_question() {
    let world = world("");
    for line in [
        "grep -rn see . 2>&1; true",
        "rg --version; ls -la",
        "tar cf /tmp/x . 2>&1; true",
        "git diff",
        "cp -r . /tmp/x",
    ] {
        let input = json!({"cmd": line}).to_string();
        let told = world.json(&["policy", "explain", "bash", &input, "--json"]);
        assert_eq!(told["outcome"], "allow", "{line}: {told}");
    }
}

#[test]
fn the_envelope_lists_what_was_withheld() {
    let world = world("");
    let envelope = bash(&world, "true");
    let withheld = envelope["metadata"]["withheld"].as_array().unwrap();
    let line =
        |it: &Value| format!("{} {}", it["path"].as_str().unwrap(), it["access"].as_str().unwrap());
    let lines: Vec<String> = withheld.iter().map(line).collect();
    assert_eq!(
        lines,
        [
            ".env read",
            "hard read",
            "hardkey read",
            "hardlock write",
            "lock.txt write",
            "secrets read"
        ]
    );
    let rule =
        json!({"scope": "manifest", "permission": "fs.read", "pattern": ".env", "action": "deny"});
    assert_eq!(withheld[0]["rule"], rule);
    assert_eq!(withheld[1]["rule"], rule);
    for index in 0..30 {
        world.write(&format!("work/many/{index}/.env"), SECRET);
    }
    let metadata = bash(&world, "true")["metadata"].clone();
    assert_eq!(metadata["withheld"].as_array().unwrap().len(), 20);
    assert_eq!(metadata["withheld_unlisted"], 16);
}

#[test]
fn a_failure_names_the_rule() {
    let world = world("");
    let check = |line: &str, expect: &str| {
        let said = script(&world, line)["error_text"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(expect), "{line}: {said}");
    };
    check(
        "python3 -c \"open('.env')\"",
        ".env is hidden from this command by the manifest rule `deny fs.read \".env\"`",
    );
    check("cat secrets/key", "secrets is hidden from this command by the manifest rule");
    check(
        "echo 1 > lock.txt",
        "lock.txt cannot be changed by this command because of the manifest rule",
    );
    check("rm .env", ".env is hidden from this command by the manifest rule");
}

#[test]
fn what_a_command_makes_itself_is_denied_afterwards() {
    let world = world("");
    let envelope = script(&world, "mkdir new; echo mine > new/.env; cat new/.env");
    assert_eq!(envelope["data"]["output"], "mine\n", "{envelope}");
    assert_eq!(envelope["metadata"]["appeared"], json!(["new/.env"]));
    let envelope = script(&world, "cat new/.env");
    assert!(envelope["error_text"].as_str().unwrap().contains("new/.env is hidden"), "{envelope}");
}

#[test]
fn a_file_that_replaces_a_denied_one_is_covered_while_a_command_runs() {
    let world = world("");
    let mut server = server(&world);
    let line = "touch ready; until [ -e replaced ]; do sleep 0.05; done; \
                while cat .env > /dev/null 2>&1 || cat secrets/key > /dev/null 2>&1; do sleep 0.05; done; \
                python3 -c \"print(open('.env').read())\"; cat secrets/key; exit 0";
    world.write("work/run.sh", line);
    let arguments = json!({"cmd": "bash run.sh"});
    let id = server.begin("tools/call", json!({"name": "bash", "arguments": arguments}));
    let deadline = Instant::now() + Duration::from_millis(COVER_MS_MAX);
    while !world.path("work/ready").exists() {
        assert!(Instant::now() < deadline, "the command does not start");
        thread::sleep(Duration::from_millis(5));
    }
    // As editors save a file, and as a person exchanges a directory.
    world.write("work/.env.new", &format!("TOKEN=again-{SECRET}\n"));
    fs::rename(world.path("work/.env.new"), world.path("work/.env")).unwrap();
    fs::rename(world.path("work/secrets"), world.path("work/before")).unwrap();
    fs::create_dir(world.path("work/secrets")).unwrap();
    world.write("work/secrets/key", SECRET);
    world.write("work/replaced", "");
    let answer = server.receive();
    assert_eq!(answer["id"], id);
    let said = text_of(&answer);
    assert!(said.contains("Permission denied") && !said.contains(SECRET), "{said}");
}

/// A tool that reads a file that no input names.
const READER: &str = r#"METADATA = {
    "name": "reader", "function": "run_reader", "description": "Reads files.",
    "parameters": {"type": "object", "properties": {"paths": {"type": "string"}}, "required": ["paths"]},
}


def run_reader(paths: str):
    said = []
    for path in paths.split(","):
        try:
            with open(path) as file:
                said.append(file.read())
        except OSError as err:
            said.append(type(err).__name__)
    return " ".join(said)
"#;

#[test]
fn a_python_tool_reads_no_denied_path_also_one_that_appears() {
    let world = world("[[python]]\ndir = \"tools\"\n");
    world.write("work/tools/reader.py", READER);
    world.run(&["trust"]);
    let mut server = server(&world);
    let mut read = |paths: &str| text_of(&server.call("reader", json!({"paths": paths})));
    let said = read(".env,hard,soft,secrets/key,softdir/key,secrets/public.txt");
    // A directory with an exception can be passed, and then the file is not there.
    assert_eq!(said.matches("Error").count(), 5, "{said}");
    assert!(said.contains("for all to see") && !said.contains(SECRET), "{said}");
    // The worker runs on, and does not see what appears.
    world.write("work/late/.env", SECRET);
    world.write("work/secrets/late", SECRET);
    let said = read("late/.env,secrets/late,lock.txt");
    assert_eq!(said.matches("Error").count(), 2, "{said}");
    assert!(said.contains("locked") && !said.contains(SECRET), "{said}");
}

#[test]
fn a_server_reads_no_denied_path_also_one_that_appears() {
    let world = World::new();
    lay_out(&world.path("work"));
    world.write("server/hostile.py", include_str!("../fixtures/mcp_servers/hostile.py"));
    let script = world.path("server/hostile.py");
    let table = format!(
        "[mcp.odd]\ncommand = [\"/usr/bin/python3\", {script:?}, \"well\"]\n\
         requires.fs.read = [\"{{workspace}}/**\"]\nrequires.fs.write = [\"{{workspace}}/**\"]\n"
    );
    world
        .write("work/haft.toml", &format!("tools = [\"odd_look\", \"odd_write\"]\n{RULES}{table}"));
    world.run(&["trust"]);
    let mut server = server(&world);
    let path = |name: &str| world.path("work").join(name);
    let mut look = |tool: &str, name: &str| {
        text_of(&server.call(tool, json!({"path": path(name).to_str().unwrap()})))
    };
    for name in [".env", "hard", "soft", "secrets/key", "hardkey"] {
        let said = look("odd_look", name);
        assert!(said.contains("Error") && !said.contains(SECRET), "{name}: {said}");
    }
    assert!(look("odd_look", "secrets/public.txt").contains("for all to see"));
    let said = look("odd_write", "lock.txt");
    assert!(said.contains("Read-only file system"), "{said}");
    world.write("work/late/.env", SECRET);
    let said = look("odd_look", "late/.env");
    assert!(said.contains("PermissionError") && !said.contains(SECRET), "{said}");
}

#[test]
fn a_declared_command_reads_no_denied_path() {
    let table = r#"
[[commands]]
id = "show.all"
description = "Show what lies here"
argv = ["sh", "show.sh"]
effect = "once"
"#;
    let world = world(table);
    world.write("work/show.sh", "cat .env hard soft secrets/* lock.txt; echo x >> lock.txt; true");
    let envelope = call(&world, "show.all", &json!({}));
    let said = envelope["data"]["output"].as_str().unwrap_or_else(|| panic!("{envelope}"));
    assert!(said.contains("locked") && !said.contains(SECRET), "{said}");
    assert_eq!(world.read("work/lock.txt"), "locked\n");
}

#[test]
fn what_asks_is_kept_from_a_command_until_it_was_allowed() {
    let more =
        "[[permissions]]\npermission = \"fs.read\"\npattern = \"notes/**\"\naction = \"ask\"\n";
    let world = world(more);
    world.write("work/notes/a", "a note\n");
    let said = script(&world, "cat notes/a");
    let said = said["error_text"].as_str().unwrap();
    assert!(
        said.contains("notes is hidden from this command by the manifest rule `ask fs.read"),
        "{said}"
    );
}

#[test]
fn without_namespaces_landlock_holds_the_rules() {
    let world = world("");
    world.write("work/src/main.rs", "fn main() {}\n");
    let line = "cd src; cat main.rs ../.env ../hard ../soft ../secrets/key ../secrets/public.txt; echo x >> ../lock.txt; \
                echo x >> main.rs; exit 0";
    world.write("work/src/run.sh", line);
    let input = json!({"cmd": "bash src/run.sh"}).to_string();
    let mut command = world.haft(&["call", "bash", &input, "--json", "--allow", "bash"]);
    command.env("HAFT_TEST_MECHANISMS", "landlock,seccomp");
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.contains("fn main") && said.contains("for all to see"), "{said}");
    assert!(said.contains("Permission denied") && !said.contains(SECRET), "{said}");
    assert_eq!(world.read("work/lock.txt"), "locked\n");
    assert_eq!(world.read("work/src/main.rs"), "fn main() {}\nx\n");
}

#[test]
fn the_rules_that_the_kernel_holds_are_known() {
    let rule = |permission: &str, pattern: &str| {
        format!(
            "[[permissions]]\npermission = {permission:?}\npattern = {pattern:?}\naction = \"deny\"\n"
        )
    };
    let more = [rule("read", "drafts"), rule("fs.read", "/opt/*.key"), rule("*", "*")].concat();
    let world = world(&more);
    let told = world.haft(&["policy", "check", "--json"]).output().unwrap();
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let line = |it: &Value| format!("{} {}", it["held_by_kernel"], it["rule"].as_str().unwrap());
    let lines: Vec<String> = told["path_rules"].as_array().unwrap().iter().map(line).collect();
    let expected = [
        "true manifest rule `deny fs.read \".env\"`",
        "true manifest rule `deny fs.read \"**/secrets/**\"`",
        "true manifest rule `deny fs.write \"lock.txt\"`",
        "false manifest rule `deny read \"drafts\"`",
        "false manifest rule `deny fs.read \"/opt/*.key\"`",
        "false manifest rule `deny * \"*\"`",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn file_tools_refuse_every_name_of_a_denied_path() {
    let world = world("");
    for path in [".env", "hard", "soft", "chain", "secrets/key", "softdir/key", "hardkey"] {
        let envelope = call(&world, "read", &json!({"path": path}));
        assert_eq!(envelope["type"], "error", "{path}: {envelope}");
    }
    let envelope = call(&world, "grep", &json!({"pattern": "TOKEN|see"}));
    let said = envelope["data"].to_string();
    assert!(envelope["type"] == "output" && !said.contains("TOKEN"), "{envelope}");
    // A search counts what it skipped, and does not name it.
    for (tool, input) in
        [("grep", json!({"pattern": "no such text"})), ("glob", json!({"pattern": "*.none"}))]
    {
        let said = call(&world, tool, &input)["metadata"]["empty_note"].to_string();
        assert!(said.contains("not permitted") && !said.contains("key"), "{tool}: {said}");
    }
    let envelope = call(&world, "read", &json!({"path": "secrets/public.txt"}));
    assert_eq!(envelope["type"], "output", "{envelope}");
}
