//! Calls whose input is words, shell lines without JSON, and programs in the sandbox.

use expect_test::expect;

use crate::world::World;

#[test]
fn an_input_is_words() {
    let world = World::with_files();
    world.check(
        &["call", "read", "path=notes.txt", "start_line=2", "end_line:=2"],
        &expect![[r#"
            two
            --- status 0
        "#]],
    );
    world.check(
        &["call", "bash", "cmd=pwd", "opts.cwd=src"],
        &expect![[r#"
            /world/work/src
            --- status 0
        "#]],
    );
    world.check(
        &["call", "bash", "cmd=echo", "args=a b", "args=c"],
        &expect![[r#"
            a b c
            --- status 0
        "#]],
    );
}

#[test]
fn a_mistake_in_words_says_what_to_type() {
    let world = World::with_files();
    world.check(
        &["call", "bash", "echo hi"],
        &expect![[r#"
            --- stderr
            error: the input is not JSON: expected value at line 1 column 1

            hint: haft call bash 'cmd=echo hi'
            --- status 2
        "#]],
    );
    world.check(
        &["call", "read", "path=notes.txt", "start_line=two"],
        &expect![[r#"
            --- stderr
            error: start_line=two is not valid: expected a value of type integer

            hint: haft tools show read
            --- status 2
        "#]],
    );
    world.check(
        &["call", "read", "path=notes.txt", "notes.txt"],
        &expect![[r#"
            --- stderr
            error: input "notes.txt" is not valid: expected KEY=VALUE, or KEY:=JSON, such as path=README.md
            --- status 2
        "#]],
    );
}

#[test]
fn a_line_is_run_without_json() {
    let world = World::with_files();
    world.check(
        &["bash", "cat notes.txt | head -1"],
        &expect![[r#"
            one
            --- status 0
        "#]],
    );
    world.check(
        &["bash", "--cwd", "src", "--", "ls", "-a", "main.rs"],
        &expect![[r#"
            main.rs
            --- status 0
        "#]],
    );
    let shown = world.shown(&world.haft(&["bash", "--", "false"]).output().unwrap());
    assert!(
        shown.contains("false exited with status 1") && shown.ends_with("--- status 1\n"),
        "{shown}"
    );
    assert_eq!(world.json(&["show", "last/1", "--json"])["tool"], "bash");
}

#[test]
fn a_program_runs_confined_with_its_status() {
    let world = World::with_files();
    world.check(
        &["sandbox", "--", "sh", "-c", "echo out; echo err >&2; exit 7"],
        &expect![[r#"
            out
            err
            --- stderr
            sh exited with status 7
            --- status 7
        "#]],
    );
    world.check(
        &["sandbox", "echo changed > notes.txt && cat notes.txt"],
        &expect![[r#"
            changed
            --- status 0
        "#]],
    );
    let outside = world.path("home/taken");
    let line = format!("touch {}", outside.display());
    world.haft(&["sandbox", "--", "sh", "-c", &line]).output().unwrap();
    // The program has a private home.
    assert!(!outside.exists());
    // It is in the journal, and can be undone.
    assert_eq!(world.run(&["log", "--json"]).matches("\"run\"").count(), 3);
    world.run(&["undo", "last~1"]);
    assert_eq!(world.read("work/notes.txt"), "one\ntwo\nthree\n");
}

#[test]
fn a_whole_output_is_printed_by_the_sandbox() {
    let world = World::with_files();
    let printed = world.run(&["sandbox", "--output-bytes", "1000", "--", "seq", "1", "5000"]);
    assert!(printed.starts_with("1\n2\n") && printed.ends_with("\n5000\n"), "{}", printed.len());
    assert_eq!(printed.lines().count(), 5_000);
}

#[test]
fn a_plan_is_run_and_resumed_by_its_noun() {
    let world = World::with_files();
    let plan = r#"{"nodes": [{"id": 0, "tool": "read", "inputs": {"path": "notes.txt"}, "depends_on": []}],
        "final_output_node": 0}"#;
    world.write("work/plan.json", plan);
    assert_eq!(world.run(&["plan", "run", "plan.json", "--run", "p1"]), "one\ntwo\nthree\n");
    assert_eq!(world.run(&["plan", "resume", "last"]), "one\ntwo\nthree\n");
    assert_eq!(world.run(&["resume", "p1"]), "one\ntwo\nthree\n");
}
