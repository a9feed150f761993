//! The Smithers tools for files: `read`, `write`, `edit` and `grep`, with their published answers, codes and messages.

use std::os::unix::fs::symlink;
use std::process::Stdio;

use serde_json::{Value, json};

use super::{OUTPUT_BYTES, call, code, error_text, smithers};
use crate::world::World;

/// A patch that fits the notes of [`World::with_files`] once.
const PATCH: &str = "--- a/notes.txt\n+++ b/notes.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n";

fn patch(path: &str, patch: &str) -> Value {
    json!({"path": path, "patch": patch})
}

#[test]
fn read_answers_with_the_contents_of_a_file() {
    let world = World::new();
    world.write("work/text.txt", "Grüße\nzwei\n");
    let answer = smithers(&world, "read", &json!({"path": "text.txt"}));
    assert_eq!(answer["data"], "Grüße\nzwei\n", "{answer}");
}

#[test]
fn read_refuses_a_file_that_is_no_text_in_utf_8() {
    let world = World::new();
    std::fs::write(world.path("work/latin.txt"), b"caf\xe9\n").unwrap();
    let answer = smithers(&world, "read", &json!({"path": "latin.txt"}));
    assert_ne!(code(&answer), "none", "{answer}");
}

#[test]
fn a_path_is_relative_to_the_root_or_absolute_within_it() {
    let world = World::with_files();
    let absolute = world.path("work/notes.txt");
    for (path, before, after) in
        [("notes.txt", "one", "1"), (absolute.to_str().unwrap(), "1", "one")]
    {
        let answer = smithers(&world, "read", &json!({"path": path}));
        assert_eq!(answer["data"], format!("{before}\ntwo\nthree\n"), "{answer}");
        let change = format!("@@ -1,1 +1,1 @@\n-{before}\n+{after}\n");
        let answer = smithers(&world, "edit", &patch(path, &change));
        assert_eq!(answer["data"], "ok", "{answer}");
        let answer = smithers(&world, "grep", &json!({"pattern": "two", "path": path}));
        assert_eq!(answer["data"], "notes.txt:2:two", "{answer}");
    }
    let absolute = world.path("work").join("new.txt");
    for path in ["made.txt", absolute.to_str().unwrap()] {
        let answer = smithers(&world, "write", &json!({"path": path, "content": "x"}));
        assert_eq!(answer["data"], "ok", "{answer}");
    }
    assert_eq!((world.read("work/made.txt"), world.read("work/new.txt")), ("x".into(), "x".into()));
}

#[test]
fn a_path_out_of_the_root_is_refused() {
    let world = World::with_files();
    world.write("secret.txt", "secret");
    let absolute = world.path("secret.txt");
    for path in ["../secret.txt", absolute.to_str().unwrap()] {
        for (tool, input) in [
            ("read", json!({"path": path})),
            ("write", json!({"path": path, "content": "x"})),
            ("edit", patch(path, "@@ -1,1 +1,1 @@\n-secret\n+x\n")),
            ("grep", json!({"pattern": "s", "path": path})),
        ] {
            let answer = smithers(&world, tool, &input);
            assert_eq!(code(&answer), "TOOL_PATH_ESCAPE", "{tool} {answer}");
        }
    }
    assert_eq!(world.read("secret.txt"), "secret");
}

#[test]
fn a_link_that_leads_out_of_the_root_is_refused() {
    let world = World::with_files();
    world.write("secret.txt", "secret");
    symlink(world.path("secret.txt"), world.path("work").join("out")).unwrap();
    symlink("notes.txt", world.path("work").join("inside")).unwrap();
    for (tool, input) in [
        ("read", json!({"path": "out"})),
        ("write", json!({"path": "out", "content": "x"})),
        ("edit", patch("out", "@@ -1,1 +1,1 @@\n-secret\n+x\n")),
        ("grep", json!({"pattern": "s", "path": "out"})),
    ] {
        assert_eq!(code(&smithers(&world, tool, &input)), "TOOL_PATH_ESCAPE", "{tool}");
    }
    assert_eq!(world.read("secret.txt"), "secret");
    let answer = smithers(&world, "read", &json!({"path": "inside"}));
    assert_eq!(answer["data"], "one\ntwo\nthree\n", "{answer}");
}

#[test]
fn read_over_the_limit_is_file_too_large() {
    let world = World::new();
    world.write("work/at.txt", &"x".repeat(OUTPUT_BYTES));
    world.write("work/over.txt", &"x".repeat(OUTPUT_BYTES + 1));
    let answer = smithers(&world, "read", &json!({"path": "at.txt"}));
    assert_eq!(answer["data"].as_str().unwrap().len(), OUTPUT_BYTES);
    let answer = smithers(&world, "read", &json!({"path": "over.txt"}));
    assert_eq!((code(&answer), error_text(&answer)), ("TOOL_FILE_TOO_LARGE", "File too large"));
}

#[test]
fn write_makes_parent_directories_and_answers_ok() {
    let world = World::new();
    let input = json!({"path": "a/b/c.txt", "content": "text\n"});
    assert_eq!(smithers(&world, "write", &input)["data"], "ok");
    assert_eq!(world.read("work/a/b/c.txt"), "text\n");
}

#[test]
fn write_over_the_limit_is_content_too_large() {
    let world = World::new();
    let write = |bytes| json!({"path": "file.txt", "content": "x".repeat(bytes)});
    assert_eq!(smithers(&world, "write", &write(OUTPUT_BYTES))["data"], "ok");
    let answer = smithers(&world, "write", &write(OUTPUT_BYTES + 1));
    let expect = ("TOOL_CONTENT_TOO_LARGE", "Content too large");
    assert_eq!((code(&answer), error_text(&answer)), expect);
    assert_eq!(world.read("work/file.txt").len(), OUTPUT_BYTES);
}

#[test]
fn edit_applies_a_unified_diff_and_answers_ok() {
    let world = World::with_files();
    assert_eq!(smithers(&world, "edit", &patch("notes.txt", PATCH))["data"], "ok");
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
}

#[test]
fn edit_takes_the_patch_of_the_text() {
    let world = World::new();
    // Line 10 of the original file is an empty line of context.
    let before = format!(
        "{}\nconst token = jwt.sign(payload, secret);\nreturn token;\n",
        "// a line\n".repeat(9)
    );
    world.write("work/src/auth.ts", &before);
    let lines = [
        "--- a/src/auth.ts",
        "+++ b/src/auth.ts",
        "@@ -10,3 +10,4 @@",
        " ",
        " const token = jwt.sign(payload, secret);",
        "+logger.info(\"Token issued\", { userId: payload.sub });",
        " return token;",
        "",
    ];
    assert_eq!(smithers(&world, "edit", &patch("src/auth.ts", &lines.join("\n")))["data"], "ok");
    let expect =
        before.replace("return", "logger.info(\"Token issued\", { userId: payload.sub });\nreturn");
    assert_eq!(world.read("work/src/auth.ts"), expect);
}

#[test]
fn edit_needs_a_file_that_exists() {
    let world = World::with_files();
    let answer = smithers(&world, "edit", &patch("missing.txt", PATCH));
    assert_eq!(code(&answer), "TOOL_PATH_INVALID", "{answer}");
    assert!(!world.path("work").join("missing.txt").exists());
}

#[test]
fn edit_fails_if_the_patch_does_not_fit_the_current_contents() {
    let world = World::with_files();
    assert_eq!(smithers(&world, "edit", &patch("notes.txt", PATCH))["data"], "ok");
    let answer = smithers(&world, "edit", &patch("notes.txt", PATCH));
    assert_eq!(code(&answer), "TOOL_PATCH_FAILED");
    assert!(error_text(&answer).starts_with("Failed to apply patch"), "{answer}");
    assert_eq!(world.read("work/notes.txt"), "one\n2\nthree\n");
}

#[test]
fn edit_refuses_a_patch_over_the_limit() {
    let world = World::with_files();
    let answer = smithers(&world, "edit", &patch("notes.txt", &"x".repeat(OUTPUT_BYTES + 1)));
    assert_eq!((code(&answer), error_text(&answer)), ("TOOL_PATCH_TOO_LARGE", "Patch too large"));
}

#[test]
fn edit_refuses_a_file_over_the_limit() {
    let world = World::new();
    world.write("work/big.txt", &"x".repeat(OUTPUT_BYTES + 1));
    let answer = smithers(&world, "edit", &patch("big.txt", "@@ -1,1 +1,1 @@\n-x\n+y\n"));
    assert_eq!((code(&answer), error_text(&answer)), ("TOOL_FILE_TOO_LARGE", "File too large"));
}

#[test]
fn grep_answers_with_file_line_and_text() {
    let world = World::new();
    world.write("work/src/auth.ts", "a\n  if (token.expired()) {\n");
    world.write("work/tests/auth.test.ts", "const token = 1;\n");
    let answer = smithers(&world, "grep", &json!({"pattern": "token"}));
    let expect = "src/auth.ts:2:  if (token.expired()) {\ntests/auth.test.ts:1:const token = 1;";
    assert_eq!(answer["data"], expect);
}

#[test]
fn grep_takes_a_regular_expression() {
    let world = World::with_files();
    let answer = smithers(&world, "grep", &json!({"pattern": "^t(wo|hree)$", "path": "notes.txt"}));
    assert_eq!(answer["data"], "notes.txt:2:two\nnotes.txt:3:three");
}

#[test]
fn grep_searches_the_root_or_a_directory_or_a_file() {
    let world = World::with_files();
    let lines =
        |input: Value| smithers(&world, "grep", &input)["data"].as_str().unwrap().lines().count();
    assert_eq!(lines(json!({"pattern": "two"})), 2);
    assert_eq!(lines(json!({"pattern": "two", "path": "."})), 2);
    assert_eq!(lines(json!({"pattern": "two", "path": "src"})), 1);
    assert_eq!(lines(json!({"pattern": "two", "path": "notes.txt"})), 1);
}

#[test]
fn grep_without_a_match_is_an_empty_string() {
    let answer = smithers(&World::with_files(), "grep", &json!({"pattern": "absent"}));
    assert_eq!((code(&answer), &answer["data"]), ("none", &json!("")));
}

#[test]
fn grep_fails_on_a_pattern_that_is_none() {
    let answer = smithers(&World::with_files(), "grep", &json!({"pattern": "("}));
    assert_eq!(code(&answer), "TOOL_GREP_FAILED");
    assert!(error_text(&answer).contains("unclosed group"), "{answer}");
}

#[test]
fn grep_needs_no_program_on_path() {
    let world = World::with_files();
    let mut command =
        world.haft(&["--profile", "smithers", "call", "grep", r#"{"pattern":"two"}"#]);
    let output = command.env("PATH", "").stderr(Stdio::inherit()).output().unwrap();
    let expect = "notes.txt:2:two\nsrc/main.rs:2:    println!(\"two\");\n";
    assert_eq!(String::from_utf8_lossy(&output.stdout), expect);
}

#[test]
fn grep_cuts_its_output_at_the_limit() {
    let world = World::new();
    world.write("work/many.txt", &format!("{}\n", "x".repeat(99)).repeat(3_000));
    let answer = smithers(&world, "grep", &json!({"pattern": "x", "path": "many.txt"}));
    assert_eq!(answer["metadata"]["truncated"], true, "{}", answer["metadata"]);
    let head = answer["data"]["head"].as_str().unwrap().len();
    assert!(head <= OUTPUT_BYTES && head > OUTPUT_BYTES / 2, "{head}");
}

#[test]
fn grep_is_stopped_when_its_time_is_over() {
    let world = World::new();
    for number in 0..2_000 {
        world.write(&format!("work/{number}.txt"), "one\ntwo\n");
    }
    let args = ["--profile", "smithers", "--timeout-ms", "1"];
    let answer = call(&world, &args, "grep", &json!({"pattern": "x"}));
    assert_eq!(code(&answer), "TOOL_TIMEOUT", "{answer}");
}

#[test]
fn a_limit_on_outputs_is_a_setting() {
    let world = World::new();
    world.write("work/file.txt", &"x".repeat(OUTPUT_BYTES + 1));
    let args = ["--profile", "smithers", "--output-bytes", "500000"];
    let answer = call(&world, &args, "read", &json!({"path": "file.txt"}));
    assert_eq!(answer["data"].as_str().unwrap().len(), OUTPUT_BYTES + 1);
    let args = ["--profile", "smithers", "--output-bytes", "10"];
    let answer = call(&world, &args, "write", &json!({"path": "a", "content": "x".repeat(11)}));
    assert_eq!(code(&answer), "TOOL_CONTENT_TOO_LARGE");
}

#[test]
fn the_root_is_a_setting_and_else_the_place_of_the_work() {
    let world = World::with_files();
    let answer = call(&world, &["--profile", "smithers"], "read", &json!({"path": "notes.txt"}));
    assert_eq!(answer["data"], "one\ntwo\nthree\n");
    let args = ["--profile", "smithers", "--root", "src"];
    let answer = call(&world, &args, "grep", &json!({"pattern": "fn"}));
    assert_eq!(answer["data"], "main.rs:1:fn main() {");
    let answer = call(&world, &args, "read", &json!({"path": "../notes.txt"}));
    assert_eq!(code(&answer), "TOOL_PATH_ESCAPE");
}

#[test]
fn the_inputs_of_the_five_tools_are_the_published_ones() {
    let world = World::new();
    let listed = world.json(&["--profile", "smithers", "tools", "list", "--format", "json"]);
    let shapes: Vec<String> = listed
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| {
            let schema = &tool["parameters"];
            let names: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            format!("{} {names:?} required {}", tool["id"].as_str().unwrap(), schema["required"])
        })
        .collect();
    expect_test::expect![[r#"
        bash ["cmd", "args", "opts"] required ["cmd"]
        edit ["path", "patch"] required ["path","patch"]
        grep ["pattern", "path"] required ["pattern"]
        read ["path"] required ["path"]
        write ["path", "content"] required ["path","content"]"#]]
    .assert_eq(&shapes.join("\n"));
}

#[test]
fn an_input_that_does_not_fit_is_refused_before_anything_runs() {
    let world = World::with_files();
    for (tool, input) in [
        ("read", json!({})),
        ("read", json!({"path": 1})),
        ("write", json!({"path": "x"})),
        ("edit", json!({"path": "notes.txt", "old_string": "a", "new_string": "b"})),
        ("grep", json!({"pattern": "x", "extra": 1})),
        ("bash", json!({"cmd": ["touch", "x"]})),
    ] {
        let answer = smithers(&world, tool, &input);
        assert_eq!(code(&answer), "INVALID_INPUT", "{tool} {input}");
    }
    assert!(!world.path("work").join("x").exists());
}
