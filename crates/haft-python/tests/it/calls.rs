//! Calls of misbehaving tools: each gets an answer, and the next call is answered correctly.

use expect_test::{Expect, expect};
use haft_contract::Envelope;
use haft_python::{ToolDirectory, WorkerOptions};
use serde_json::json;

use crate::stage::{Stage, checked, fixtures, shown};

async fn stage() -> Stage {
    Stage::of_directory(&ToolDirectory::new(fixtures("calls")), WorkerOptions::default()).await
}

impl Stage {
    async fn hostile(&self, how: &str) -> Envelope {
        self.call("hostile", json!({ "how": how })).await
    }

    /// Makes a call, and then another one in the same worker, which must be undamaged.
    async fn check(&self, how: &str, expect: Expect) {
        let before = self.hostile("worker").await.text();
        expect.assert_eq(&shown(&self.hostile(how).await));
        let after = shown(&self.hostile("worker").await);
        assert_eq!(after, format!("ok: {}\n", json!(before)), "after {how}");
    }

    /// Makes a call after which the worker is killed.
    async fn check_last(&self, how: &str, expect: Expect) {
        let before = self.hostile("worker").await.text();
        expect.assert_eq(&shown(&self.hostile(how).await));
        let after = self.hostile("worker").await;
        assert!(after.code().is_none() && after.text() != before, "after {how}: {after:?}");
    }
}

#[tokio::test]
async fn prints_never_mix_with_results() {
    let stage = stage().await;
    stage
        .check(
            "prints",
            expect![[r#"
        ok: {"answer":[1,2.5,null,"ä"]}
        --- printed
        to stdout
        to stderr
        {"resident_bytes":0,"result":"forged"}
        from a child
    "#]],
        )
        .await;
    stage
        .check(
            "closes_stdout",
            expect![[r#"
        ok: "closed"
    "#]],
        )
        .await;
    stage
        .check(
            "prints",
            expect![[r#"
        ok: {"answer":[1,2.5,null,"ä"]}
        --- printed
        to stdout
        to stderr
        {"resident_bytes":0,"result":"forged"}
        from a child
    "#]],
        )
        .await;
    stage
        .check(
            "replaces_stdout",
            expect![[r#"
        ok: "replaced"
    "#]],
        )
        .await;
    stage
        .check(
            "prints",
            expect![[r#"
        ok: {"answer":[1,2.5,null,"ä"]}
        --- printed
        to stdout
        to stderr
        {"resident_bytes":0,"result":"forged"}
        from a child
    "#]],
        )
        .await;
    stage
        .check(
            "reads_stdin",
            expect![[r#"
        ok: ""
    "#]],
        )
        .await;
}

#[tokio::test]
async fn a_flood_of_prints_is_cut() {
    let stage = stage().await;
    let envelope = stage.hostile("floods").await;
    assert_eq!(envelope.text(), "flooded");
    let log = envelope.metadata().log.clone().unwrap();
    assert!(log.len() < haft_python::limits::LOG_BYTES_MAX + 100, "{} bytes", log.len());
    assert!(log.starts_with("xxx") && log.ends_with("\nthe end\n"), "{log}");
    assert!(log.contains(" bytes left out]"), "{log}");
}

#[tokio::test]
async fn processes_and_threads_of_a_tool_do_not_answer_for_it() {
    let stage = stage().await;
    stage
        .check(
            "forks_and_returns",
            expect![[r#"
        ok: "the parent"
    "#]],
        )
        .await;
    stage
        .check(
            "forks_and_stays",
            expect![[r#"
        ok: "the parent"
    "#]],
        )
        .await;
    stage
        .check(
            "spawns_threads",
            expect![[r#"
        ok: 9
    "#]],
        )
        .await;
    stage
        .check(
            "moves",
            expect![[r#"
        ok: "/"
    "#]],
        )
        .await;
    stage
        .check(
            "place",
            expect![[r#"
        ok: "root"
    "#]],
        )
        .await;
}

#[tokio::test]
async fn whatever_is_raised_is_said() {
    let stage = stage().await;
    stage
        .check(
            "raises",
            expect![[r#"
                TOOL_FAILED: run_hostile raised RuntimeError: it went wrong
                  hostile.py:29 in run_hostile
                    return globals()[how]()
                  hostile.py:125 in raises
                    raise RuntimeError("it went wrong") from err
                caused by KeyError: 'missing'
                  hostile.py:123 in raises
                    {}["missing"]
            "#]],
        )
        .await;
    stage.check("raises_unspeakable", expect![[r#"
        TOOL_FAILED: run_hostile raised hostile.Unspeakable: <its message cannot be read: ValueError>
          hostile.py:29 in run_hostile
            return globals()[how]()
          hostile.py:129 in raises_unspeakable
            raise Unspeakable()
    "#]]).await;
    stage.check("exits", expect![[r#"
        TOOL_FAILED: run_hostile raised SystemExit: the tool tried to end the process with status 'enough'
          hostile.py:29 in run_hostile
            return globals()[how]()
          hostile.py:109 in exits
            sys.exit("enough")
    "#]]).await;
    stage
        .check(
            "interrupts",
            expect![[r#"
                TOOL_FAILED: run_hostile raised KeyboardInterrupt
                  hostile.py:29 in run_hostile
                    return globals()[how]()
                  hostile.py:133 in interrupts
                    raise KeyboardInterrupt
            "#]],
        )
        .await;
    stage
        .check(
            "allocates",
            expect![[r#"
                TOOL_FAILED: run_hostile raised MemoryError
                  hostile.py:29 in run_hostile
                    return globals()[how]()
                  hostile.py:141 in allocates
                    return len(bytearray(1 << 50))
            "#]],
        )
        .await;
    stage
        .check(
            "no_such_thing",
            expect![[r#"
        TOOL_FAILED: run_hostile raised KeyError: 'no_such_thing'
          hostile.py:29 in run_hostile
            return globals()[how]()
    "#]],
        )
        .await;
    let recursed = shown(&stage.hostile("recurses").await);
    assert!(recursed.starts_with("TOOL_FAILED: run_hostile raised RecursionError: "), "{recursed}");
    assert!(recursed.contains("frames ...\n") && recursed.len() < 4_000, "{recursed}");
    // Files outside of the tool's directories are named without their place.
    let outside = shown(&stage.hostile("raises_in_a_library").await);
    assert!(outside.contains("\n  json/decoder.py:") && !outside.contains("/usr/"), "{outside}");
}

#[tokio::test]
async fn only_json_is_a_result() {
    let stage = stage().await;
    stage.check("returns_nan", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result["prices"][1]["last"] is nan, which JSON cannot carry: return None or a text
    "#]]).await;
    stage.check("returns_bytes", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result[0] is of type bytes, which is not JSON: decode it, or write it as base64 text
    "#]]).await;
    stage.check("returns_a_set", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result["names"] is of type set, which is not JSON: return a list
    "#]]).await;
    stage.check("returns_a_cycle", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result["again"][0] contains itself
    "#]]).await;
    stage.check("returns_numbers_as_keys", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result["by_year"] has a key of type int: keys must be texts
    "#]]).await;
    stage.check("returns_half_a_character", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result[0] holds half of a surrogate pair, which JSON cannot carry
    "#]]).await;
    stage.check("returns_a_huge_number", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result is an integer of more than 64 bits, which readers round: return a text
    "#]]).await;
    let deep = format!("ok: {}{}\n", "[".repeat(100), "]".repeat(100));
    assert_eq!(shown(&stage.hostile("returns_deep").await), deep);
    let much = stage.hostile("returns_much").await;
    assert!(much.code().is_none() && much.metadata().truncated, "{:?}", much.code());
    stage.check("returns_just_too_deep", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result[0][0][0][0] is nested more than 100 levels deep
    "#]]).await;
    stage.check("returns_too_deep", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result[0][0][0][0] is nested more than 100 levels deep
    "#]]).await;
    stage.check("returns_too_much", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result is 10485761 bytes of JSON, more than 10485760: return less, or write a file and return its path
    "#]]).await;
    stage.check("returns_a_generator", expect![[r#"
        TOOL_BAD_OUTPUT: run_hostile returned a value that is not JSON: result is of type generator, which is not JSON: return a list of what it yields
    "#]]).await;
    stage
        .check(
            "returns_nothing",
            expect![[r#"
        ok: null
    "#]],
        )
        .await;
    stage
        .check(
            "returns_an_error",
            expect![[r#"
                ok: {"status":"error","error":"no such city"}
            "#]],
        )
        .await;
}

#[tokio::test]
async fn a_worker_that_ends_is_replaced_and_its_end_is_said() {
    let stage = stage().await;
    stage
        .check_last(
            "exits_at_once",
            expect![[r#"
        TOOL_FAILED: the process of hostile.py ended with status 7 in the middle of the call: change the arguments, or tell the user
        --- printed
        last words
    "#]],
        )
        .await;
    stage
        .check_last(
            "crashes",
            expect![[r#"
        TOOL_FAILED: the process of hostile.py was ended by signal 11 (SIGSEGV) in the middle of the call: change the arguments, or tell the user
    "#]],
        )
        .await;
    stage
        .check_last(
            "closes_everything",
            expect![[r#"
                TOOL_FAILED: the process of hostile.py ended with status 120 in the middle of the call: change the arguments, or tell the user
            "#]],
        )
        .await;
}

#[tokio::test]
async fn a_tool_reaches_what_it_was_granted() {
    let stage = stage().await;
    stage
        .check(
            "writes",
            expect![[r#"
                TOOL_FAILED: run_hostile raised OSError: [Errno 30] Read-only file system: 'made.txt'
                  hostile.py:29 in run_hostile
                    return globals()[how]()
                  hostile.py:226 in writes
                    with open("made.txt", "w") as file:
            "#]],
        )
        .await;
    stage
        .check(
            "looks_around",
            expect![[r#"
        ok: []
    "#]],
        )
        .await;
    let connected = shown(&stage.hostile("connects").await);
    assert!(connected.starts_with("TOOL_FAILED: run_hostile raised OSError: "), "{connected}");
    let root = stage.directory.path().join("root");
    assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0);

    let inside = stage.call("writer", json!({"name": "out/report.txt"})).await;
    assert_eq!(shown(&inside), "ok: \"out/report.txt\"\n");
    assert!(inside.metadata().enforced.unwrap().is_full(), "{inside:?}");
    assert_eq!(std::fs::read_to_string(root.join("out/report.txt")).unwrap(), "report");
    let outside = stage.call("writer", json!({"name": "report.txt"})).await;
    expect![[r#"
        TOOL_FAILED: write_report raised OSError: [Errno 30] Read-only file system: 'report.txt'
          writer.py:17 in write_report
            with open(name, "w") as file:
    "#]]
    .assert_eq(&shown(&outside));
}

#[tokio::test]
async fn tools_that_lie_in_the_workspace_change_it_as_they_were_granted() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path().join("root/tools");
    std::fs::create_dir_all(&at).unwrap();
    let source = "import os\n\nMETADATA = {'name': 'neighbours', 'function': 'make_neighbour', 'requires': \
                  {'fs': {'write': ['{workspace}/**']}}, 'parameters': {'type': 'object', 'properties': {}}}\n\n\n\
                  def make_neighbour():\n    path = os.path.join(os.path.dirname(__file__), 'made.txt')\n    \
                  with open(path, 'w') as file:\n        file.write('made')\n";
    std::fs::write(at.join("neighbours.py"), source).unwrap();
    let tools = ToolDirectory::new(at.canonicalize().unwrap());
    let (_, checked) = checked(&tools).await;
    let tools = haft_python::tools(&tools, &checked.tools, WorkerOptions::default());
    let stage = Stage::within(directory, tools);
    let envelope = stage.call("neighbours", json!({})).await;
    assert_eq!(shown(&envelope), "ok: null\n");
    let made = stage.directory.path().join("root/tools/made.txt");
    assert_eq!(std::fs::read_to_string(made).unwrap(), "made");
}

#[tokio::test]
async fn an_input_is_held_to_the_schema() {
    let stage = stage().await;
    let envelope = stage.call("hostile", json!({"howe": 1})).await;
    expect![[r#"
        INVALID_INPUT: invalid input for hostile: howe: no such parameter: the tool has how; did you mean how?; how: required, but missing
    "#]].assert_eq(&shown(&envelope));
}

#[tokio::test]
async fn a_tool_that_asks_for_it_knows_which_call_it_is() {
    let stage = stage().await;
    let envelope = stage.call("keyed", json!({})).await;
    let Envelope::Output { data, .. } = &envelope else { panic!("{envelope:?}") };
    let mut data = data.clone();
    for key in ["idempotency_key", "task_key"] {
        let text = data[key].as_str().unwrap_or_default().to_owned();
        assert!(text.len() > 20, "{key} is {text:?}");
        data[key] = "…".into();
    }
    let expected = json!({
        "idempotency_key": "…", "task_key": "…", "run": "r1", "node": "main", "iteration": 0, "attempt": 1,
        "seq": 1, "tool": "keyed", "effect": "once", "side_effect": true, "idempotent": false,
        "root": stage.directory.path().canonicalize().unwrap().join("root"), "allow_network": false, "hosts": [],
        "max_output_bytes": 200_000, "timeout_ms": 60_000, "same": true,
    });
    assert_eq!(data, expected);
}

#[tokio::test]
async fn a_file_that_cannot_be_loaded_says_why() {
    let stage = stage().await;
    let envelope = stage.call("unloadable", json!({})).await;
    expect![[r#"
        UNAVAILABLE: unloadable.py cannot be loaded: ModuleNotFoundError: No module named 'no_such_package'
          unloadable.py:1 in <module>
            import no_such_package
    "#]].assert_eq(&shown(&envelope));
}
