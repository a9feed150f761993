//! Commands that a manifest declares as tools.

use expect_test::{expect, expect_file};
use serde_json::json;

use crate::world::World;

const COMMANDS: &str = r#"
[[commands]]
id = "text.count"
description = "Count the lines of files"
argv = ["wc", "-l", "--", "{files}"]
effect = "read"
dangerous = false
[commands.parameters]
required = ["files"]
properties.files = { type = "array", items = { type = "string" }, minItems = 1 }

[[commands]]
id = "mark"
description = "Write a line into a file"
argv = ["sh", "-c", 'printf "%s\n" "$1" >> "$2"; exit "$3"', "sh", "{line}", "{file}", "{status}"]
cwd = "src"
[commands.parameters]
required = ["line", "file", "status"]
properties = { line = { type = "string" }, file = { type = "string" }, status = { type = "integer" } }

[[commands]]
id = "reading_mark"
description = "Try to write a file, declared as one that changes nothing"
argv = ["touch", "--", "{file}"]
effect = "read"
[commands.parameters]
properties.file = { type = "string" }

[[commands]]
id = "hidden_mark"
description = "Write a file that no word names"
argv = ["sh", "./mark.sh"]
effect = "read"

[[permissions]]
permission = "hidden_mark"
action = "allow"

[[permissions]]
permission = "mark"
action = "allow"

[[permissions]]
permission = "text.count"
action = "allow"

[[permissions]]
permission = "reading_mark"
action = "allow"
"#;

fn world() -> World {
    let world = World::with_files();
    world.write("work/haft.toml", COMMANDS);
    world.run(&["trust"]);
    world
}

#[test]
fn a_declared_command_is_a_tool_and_no_shell_reads_its_values() {
    let world = world();
    world.check(
        &["tools", "show", "text.count"],
        &expect![[r#"
        text.count

        Count the lines of files

        effect     read
        kind       execute
        dangerous  no
        requires   fs.read {workspace}/**, shell.run wc
        output     as many bytes as configured

        parameters
        {
          "type": "object",
          "properties": {
            "files": {
              "items": {
                "type": "string"
              },
              "minItems": 1,
              "type": "array"
            }
          },
          "required": [
            "files"
          ],
          "additionalProperties": false
        }
        --- status 0
    "#]],
    );
    world.check(
        &["call", "text.count", r#"{"files":["notes.txt","src/main.rs"]}"#],
        &expect![[r#"
             3 notes.txt
             3 src/main.rs
             6 total
            --- status 0
        "#]],
    );
    world.check(
        &["call", "text.count", r#"{"files":["$(echo notes.txt); ls"]}"#],
        &expect![[r#"
            --- stderr
            error: wc exited with status 1
            wc: '$(echo notes.txt); ls': No such file or directory
            --- status 1
        "#]],
    );
    world.check(
        &["call", "text.count", r#"{"files":"notes.txt"}"#],
        &expect![[r#"
            --- stderr
            error: invalid input for text.count: files: expected array, found "notes.txt": give an array, such as ["notes.txt"]

            hint: haft tools show text.count
            --- status 2
        "#]],
    );
    let input = json!({"line": "a b; $HOME '\"", "file": "-x", "status": 3}).to_string();
    world.check(&["call", "mark", &input], &expect![[r#"
        --- stderr
        error: file: "-x" begins with a dash, so that the program would take it for an option: give a value that does not, such as ./-x for a file

        hint: haft tools show mark
        --- status 2
    "#]]);
    let input = json!({"line": "a b; $HOME '\"", "file": "out.txt", "status": 3}).to_string();
    world.check(
        &["call", "mark", &input],
        &expect![[r#"
        --- stderr
        error: sh exited with status 3
        --- status 1
    "#]],
    );
    assert_eq!(world.read("work/src/out.txt"), "a b; $HOME '\"\n");
}

#[test]
fn a_command_that_changes_nothing_is_kept_from_it() {
    let world = world();
    world.check(&["call", "reading_mark", r#"{"file":"new.txt"}"#], &expect![[r#"
        --- stderr
        error: fs.write of "new.txt" is outside fs.write []; stay inside, or grant more under requires
        --- status 3
    "#]]);
    // The kernel refuses everything that the declaration does not name.
    world.write("work/mark.sh", "echo x > new.txt\n");
    world.check(&["call", "hidden_mark", "{}"], &expect![[r#"
        --- stderr
        error: sh exited with status 2; this tool requires no fs.write, so its commands change no file but, for the call alone, in /tmp and home: do without, or ask the user to let its declaration require it
        ./mark.sh: 1: cannot create new.txt: Read-only file system
        --- status 1
    "#]]);
    assert!(!world.path("work/new.txt").exists());
}

#[test]
fn a_command_is_judged_by_the_files_that_it_names() {
    let world = world();
    world.check(
        &["call", "text.count", r#"{"files":["../state/x"]}"#],
        &expect![[r#"
        --- stderr
        error: path "../state/x" is outside the workspace: use a path within /world/work
        --- status 3
    "#]],
    );
    let rule = "[[permissions]]\npermission = \"text.count\"\npattern = \"notes.txt\"\naction = \"deny\"\n";
    world.write("work/haft.toml", &format!("{COMMANDS}\n{rule}"));
    world.run(&["trust"]);
    world.check(&["call", "text.count", r#"{"files":["notes.txt"]}"#], &expect![[r#"
        --- stderr
        error: text.count is denied fs.read of "notes.txt": the manifest rule `deny text.count "notes.txt"` decides; what the manifest denies only the manifest can allow
        --- status 3
    "#]]);
}

#[test]
fn a_command_that_nobody_trusted_is_no_tool() {
    let world = World::with_files();
    world.write("work/haft.toml", COMMANDS);
    world.check(&["call", "text.count", r#"{"files":["notes.txt"]}"#], &expect![[r#"
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          commands = [{ id = "text.count", argv = ["wc","-l","--","{files}"] }]
          commands = [{ id = "mark", argv = ["sh","-c","printf \"%s\\n\" \"$1\" >> \"$2\"; exit \"$3\"","sh","{line}","{file}","{status}"] }]
          commands = [{ id = "reading_mark", argv = ["touch","--","{file}"] }]
          commands = [{ id = "hidden_mark", argv = ["sh","./mark.sh"] }]
          allow hidden_mark "*"
          allow mark "*"
          allow text.count "*"
          allow reading_mark "*"

        hint: haft trust /world/work/haft.toml

        error: tool "text.count" is not trusted yet, so it cannot be called

        hint: haft trust
        --- status 2
    "#]]);
}

/// Commands in which many things are wrong.
const DECLARED_WRONG: &str = r#"[[commands]]
id = "read"
description = ""
argv = ["sh", "-c", "{code}"]
timeout_ms = 0
parameters.properties.code = { type = "object" }

[[commands]]
id = "twice"
description = "Once"
argv = ["echo", 1]

[[commands]]
id = "twice"
description = "Twice"
argv = ["echo", "{missing}", ["-n"]]
allow_dash = ["nobody"]

[[commands]]
id = "third"
description = "Third"
argv = ["echo", "{x}"]
parameters.properties.x = { type = "string", pattern = "[" }

[[commands]]
descripton = "Fourth"
argv = "echo"
timeout_ms = "long"
cwd = ""
effect = "sometimes"
parameters.properties.y = { type = "string" }
requires = { net = { host = ["example.org"] } }
"#;

#[test]
fn everything_wrong_with_declared_commands_is_said_with_its_line() {
    let world = World::new();
    world.write("work/haft.toml", DECLARED_WRONG);
    let output = world.haft(&["tools", "list"]).output().unwrap();
    let said = world.shown(&output);
    expect_file!["../fixtures/expected/declared_commands.txt"].assert_eq(&said);
}
