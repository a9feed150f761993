use std::collections::HashSet;
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use expect_test::{Expect, expect};
use haft_contract::limits::SEARCH_SIDECAR_BYTES_MAX;
use haft_contract::{ErrorCode, FilePath};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::lines::LINE_BYTES_MAX;
use super::pattern::PATTERN_BYTES_MAX;
use super::search::{CHUNK_FILES, CONTEXT_LINES_MAX, LINE_BUFFER_BYTES_MAX, WHOLE_FILE_BYTES_MAX};
use super::*;
use crate::testing::{WatchedFs, cx, cx_over, tree};

/// Calls the tool as the pipeline does.
fn call(cx: Cx, input: Value) -> Result<GrepMatches, ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    match runtime.block_on(grep().call_unguarded(input, cx))?.body {
        OutputBody::Lines { key: "matches", lines, incomplete } => Ok(GrepMatches {
            entries: lines,
            incomplete,
            searched: super::search::SearchedFiles::default(),
        }),
        body => panic!("expected matches, found {body:?}"),
    }
}

fn text(root: &Path, input: Value) -> String {
    match call(cx(root), input) {
        Ok(GrepMatches { entries, incomplete: false, .. }) => entries.join("\n"),
        Ok(GrepMatches { entries, incomplete: true, .. }) => {
            format!("{}\n(incomplete)", entries.join("\n"))
        }
        Err(err) => format!("{}: {}", err.code, err.message),
    }
}

fn request(pattern: &str, threads: usize) -> GrepQuery {
    GrepQuery {
        pattern: pattern.to_owned(),
        path: ".".to_owned(),
        glob: None,
        ignore_case: false,
        context_lines: 0,
        threads: NonZeroUsize::new(threads).unwrap(),
    }
}

#[test]
fn matches_are_ordered_by_path_and_line() {
    let root = tree(&[
        (".git/config", "hit\n"),
        (".gitignore", "ignored\n"),
        (".hidden", "hit\n"),
        ("a-b/x", "hit 1\n"),
        ("a.rs", "no\nhit 2\n\nhit 3"),
        ("a/x", "Hit 4\nhit 5 hit\n"),
        ("ignored", "hit\n"),
        ("empty", ""),
    ]);
    let check = |input: Value, expect: Expect| expect.assert_eq(&text(root.path(), input));
    check(
        json!({"pattern": "hit"}),
        expect![[r#"
        a-b/x:1:hit 1
        a.rs:2:hit 2
        a.rs:4:hit 3
        a/x:2:hit 5 hit"#]],
    );
    check(
        json!({"pattern": "hit [2-4]", "ignore_case": true}),
        expect![[r#"
        a.rs:2:hit 2
        a.rs:4:hit 3
        a/x:1:Hit 4"#]],
    );
    check(json!({"pattern": "hit", "path": "a"}), expect!["a/x:2:hit 5 hit"]);
    check(
        json!({"pattern": "hit", "glob": "*.rs"}),
        expect![[r#"
        a.rs:2:hit 2
        a.rs:4:hit 3"#]],
    );
    check(
        json!({"pattern": "hit", "glob": "!*.rs"}),
        expect![[r#"
        a-b/x:1:hit 1
        a/x:2:hit 5 hit"#]],
    );
    check(json!({"pattern": "^$"}), expect!["a.rs:3:"]);
    check(json!({"pattern": "nowhere to be found"}), expect![""]);
    check(json!({"pattern": "hit", "path": "ignored"}), expect!["ignored:1:hit"]);
    check(json!({"pattern": "hit", "path": ".hidden", "glob": "*.rs"}), expect![".hidden:1:hit"]);
    check(json!({"pattern": "hit", "path": "empty"}), expect![""]);
    check(
        json!({"pattern": "hit", "path": "nowhere"}),
        expect![[r#"TOOL_PATH_INVALID: path "nowhere" does not exist: use glob to find it"#]],
    );
    check(
        json!({"pattern": "hit", "path": "../x"}),
        expect![[r#"TOOL_PATH_ESCAPE: "../x" lies outside the root"#]],
    );
    check(
        json!({"pattern": "hit", "glob": "[a"}),
        expect![[
            r#"INVALID_INPUT: "[a" is not a usable glob: unclosed character class; missing ']'; put a backslash before a special character to mean it literally"#
        ]],
    );
}

#[test]
fn a_pattern_that_cannot_be_used_is_explained() {
    let root = tree(&[("a", "x")]);
    let check = |pattern: &str, expect: Expect| {
        expect.assert_eq(&text(root.path(), json!({"pattern": pattern})));
    };
    check(
        "(foo",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "(foo" is not a valid Rust regex: unclosed group; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
        ]],
    );
    check(
        "foo)",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "foo)" is not a valid Rust regex: unopened group; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
        ]],
    );
    check(
        "[z-a]",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "[z-a]" is not a valid Rust regex: invalid character class range, the start must be <= the end; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
        ]],
    );
    check(
        "*",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "*" is not a valid Rust regex: repetition operator missing expression; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
        ]],
    );
    check(
        "a{2,1}",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "a{2,1}" is not a valid Rust regex: invalid repetition count range, the start must be <= the end; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
        ]],
    );
    check(
        "fn main(",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "fn main(" is not a valid Rust regex: unclosed group; put a backslash before each of . + * ? ( ) | [ ] { } ^ $ \ that is meant literally"#
        ]],
    );
    check(
        r"(?<=a)b",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "(?<=a)b" is not a valid Rust regex: look-around, including look-ahead and look-behind, is not supported; take it out, and pick from the matches of the rest"#
        ]],
    );
    check(
        r"(a)\1",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "(a)\\1" is not a valid Rust regex: backreferences are not supported; take it out, and pick from the matches of the rest"#
        ]],
    );
    check(
        r"a\nb",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "a\\nb" spans lines, but each line is searched by itself: search for the part on one line and use `context` to see its neighbours"#
        ]],
    );
    check(
        "a\nb",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "a\nb" spans lines, but each line is searched by itself: search for the part on one line and use `context` to see its neighbours"#
        ]],
    );
    check(
        r"\w{1000}{1000}",
        expect![[
            r#"TOOL_GREP_FAILED: the pattern "\\w{1000}{1000}" is not a valid Rust regex: compiled regex exceeds size limit of 33554432; repeat less, or shorter things"#
        ]],
    );
}

#[test]
fn a_pattern_is_taken_up_to_its_bound() {
    let root = tree(&[("a", "x")]);
    let check = |pattern: &str, expect: Expect| {
        expect.assert_eq(&text(root.path(), json!({"pattern": pattern})));
    };
    check(&"a".repeat(PATTERN_BYTES_MAX), expect![""]);
    check(
        &"a".repeat(PATTERN_BYTES_MAX + 1),
        expect!["TOOL_GREP_FAILED: the pattern is 16385 bytes long: expected at most 16384"],
    );
}

#[test]
fn line_ends_and_encodings_are_understood() {
    let root = tempfile::tempdir().unwrap();
    let utf16 = |text: &str, mark: &[u8], to_bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        mark.iter().copied().chain(text.encode_utf16().flat_map(to_bytes)).collect()
    };
    let files: [(&str, Vec<u8>); 6] = [
        ("be", utf16("no\nhit \u{e4} be\n", b"\xfe\xff", u16::to_be_bytes)),
        ("crlf", b"hit crlf\r\n\r\nhit\r\n".to_vec()),
        ("latin", b"hit \xe4 latin\n".to_vec()),
        ("le", utf16("hit \u{e4} le\r\n", b"\xff\xfe", u16::to_le_bytes)),
        ("marked", b"\xef\xbb\xbfhit marked\n".to_vec()),
        ("old_mac", b"hit mac\rhit mac\r".to_vec()),
    ];
    for (name, contents) in files {
        fs::write(root.path().join(name), contents).unwrap();
    }
    let check = |pattern: &str, expect: Expect| {
        let text = text(root.path(), json!({"pattern": pattern}));
        expect.assert_eq(&text.replace('\r', "<CR>"));
    };
    check(
        "hit",
        expect![[r#"
        be:2:hit ä be
        crlf:1:hit crlf
        crlf:3:hit
        latin:1:hit � latin
        le:1:hit ä le
        marked:1:hit marked
        old_mac:1:hit mac<CR>hit mac"#]],
    );
    check("hit$", expect!["crlf:3:hit"]);
    check("^hit marked$", expect!["marked:1:hit marked"]);
    check(
        "^$",
        expect![[r#"
        crlf:2:
        old_mac:1:hit mac<CR>hit mac"#]],
    );
    check(r"f\r$", expect!["crlf:1:hit crlf"]);
}

#[test]
fn binary_files_are_passed_over_and_refused_by_name() {
    let root = tempfile::tempdir().unwrap();
    let late =
        |size: usize| [b"hit\n".repeat(size / 4), b"\0\n".to_vec(), b"hit\n".to_vec()].concat();
    let files = [
        ("early", b"hit\n\0\n".to_vec()),
        ("large", late(WHOLE_FILE_BYTES_MAX)),
        ("late", late(200_000)),
        ("text", b"hit\n".to_vec()),
    ];
    for (name, contents) in files {
        fs::write(root.path().join(name), contents).unwrap();
    }
    expect!["text:1:hit"].assert_eq(&text(root.path(), json!({"pattern": "hit"})));
    for name in ["early", "large", "late"] {
        let text = text(root.path(), json!({"pattern": "hit", "path": name}));
        assert_eq!(
            text,
            format!(
                "TOOL_GREP_FAILED: {name:?} is binary, and grep searches text only: name another file, or use bash with grep -a"
            )
        );
    }
}

#[test]
fn a_file_is_searched_whole_or_in_parts_with_the_same_result() {
    let check = |size: usize| {
        let last = "the last line is a hit";
        let contents = format!("hit\n{}{last}", "no\n".repeat((size - last.len() - 4) / 3));
        let contents = format!("{contents}{}", "!".repeat(size - contents.len()));
        let root = tree(&[("a", &contents)]);
        let entries = call(cx(root.path()), json!({"pattern": "hit"})).unwrap().entries;
        let number = contents.lines().count();
        assert_eq!(
            entries,
            ["a:1:hit".to_owned(), format!("a:{number}:{}", contents.lines().last().unwrap())]
        );
    };
    check(WHOLE_FILE_BYTES_MAX);
    check(WHOLE_FILE_BYTES_MAX + 1);
    check(3 * WHOLE_FILE_BYTES_MAX);
}

#[test]
fn a_line_that_fills_the_buffer_fails_its_file_alone() {
    let root = tree(&[("a", &format!("hit{}", "-".repeat(LINE_BUFFER_BYTES_MAX))), ("b", "hit\n")]);
    let check = |path: &str, expect: Expect| {
        expect.assert_eq(&text(root.path(), json!({"pattern": "hit", "path": path})));
    };
    check(".", expect!["b:1:hit"]);
    check(
        "a",
        expect![[
            r#"TOOL_GREP_FAILED: "a" cannot be searched: configured allocation limit (67108864) exceeded"#
        ]],
    );
}

#[test]
fn context_goes_with_its_match() {
    let numbers: String = (1..=20).map(|n| format!("{n}\n")).collect();
    let root = tree(&[("a", &numbers), ("b", "x\n7\n"), ("c", "7\n")]);
    let check = |context: u32, pattern: &str, expect: Expect| {
        let found = call(cx(root.path()), json!({"pattern": pattern, "context": context})).unwrap();
        expect.assert_eq(&found.entries.join("\n=====\n"));
    };
    check(
        1,
        "^(7|8|10|13|20)$",
        expect![[r#"
        a-6-6
        a:7:7
        =====
        a:8:8
        a-9-9
        =====
        a:10:10
        a-11-11
        =====
        a-12-12
        a:13:13
        a-14-14
        =====
        --
        a-19-19
        a:20:20
        =====
        --
        b-1-x
        b:2:7
        =====
        --
        c:1:7"#]],
    );
    check(
        0,
        "^7$",
        expect![[r#"
        a:7:7
        =====
        b:2:7
        =====
        c:1:7"#]],
    );
}

#[test]
fn context_has_a_bound() {
    let root = tree(&[("a", &"x\n".repeat(200)), ("b", &format!("{0}7\n{0}", "x\n".repeat(100)))]);
    let most = json!({"pattern": "7", "context": CONTEXT_LINES_MAX});
    assert_eq!(text(root.path(), most).lines().count(), 50 + 1 + 50);
    let too_much = json!({"pattern": "7", "context": CONTEXT_LINES_MAX + 1});
    expect!["INVALID_INPUT: `context` is 51: expected at most 50 lines"]
        .assert_eq(&text(root.path(), too_much));
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let check = |line: String, expect: Expect| {
        let root = tree(&[("a", &line)]);
        let text = text(root.path(), json!({"pattern": "hit.*", "context": 1}));
        // Fillers are counted, so that the test can be read.
        let mut shown = String::new();
        let mut run = 0;
        for character in text.chars().chain(['\0']) {
            match character {
                '-' | '\u{e4}' => run += 1,
                _ => {
                    if run > 1 {
                        shown.push_str(&format!("<{run}>"));
                    }
                    run = 0;
                    shown.push(character);
                }
            }
        }
        expect.assert_eq(shown.trim_end_matches('\0'));
    };
    let filler = |count: usize| "-".repeat(count);
    check(format!("hit{}", filler(LINE_BYTES_MAX - 3)), expect!["a:1:hit<997>"]);
    check(format!("hit{}", filler(LINE_BYTES_MAX - 2)), expect!["a:1:hit<997>[1 bytes cut]"]);
    check(format!("{}hit", filler(5_000)), expect!["a:1:[4003 bytes cut]<997>hit"]);
    check(
        format!("{}hit{}", filler(5_000), filler(5_000)),
        expect!["a:1:[4800 bytes cut]<200>hit<797>[4203 bytes cut]"],
    );
    check(
        format!("{}hit{}", filler(5_000), filler(100)),
        expect!["a:1:[4103 bytes cut]<897>hit<100>"],
    );
    check(
        format!("{}hit{}", "\u{e4}".repeat(2_000), "\u{e4}".repeat(2_000)),
        expect!["a:1:[3800 bytes cut]<100>hit<399>[3202 bytes cut]"],
    );
    check(
        format!("{}-hit{}", "\u{e4}".repeat(2_000), "\u{e4}".repeat(2_000)),
        expect!["a:1:[3802 bytes cut]<100>hit<399>[3202 bytes cut]"],
    );
    check(
        format!("{}\nhit", filler(3_000)),
        expect![[r#"
        a1<1001>[2000 bytes cut]
        a:2:hit"#]],
    );
}

#[test]
fn the_answer_does_not_depend_on_the_number_of_threads() {
    let names: Vec<String> = (0..300).map(|n| format!("d{}/{n}", n % 7)).collect();
    let contents: Vec<String> = (0..300).map(|n| "no\nhit\n".repeat(n % 4)).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .zip(&contents)
        .map(|(name, contents)| (name.as_str(), contents.as_str()))
        .collect();
    let root = tree(&files);
    let found = |threads| search(&cx(root.path()), &request("hit", threads)).unwrap();
    let one = found(1);
    assert_eq!((one.entries.len(), one.incomplete), (450, false));
    assert_eq!(one, found(2));
    assert_eq!(one, found(4));
}

#[test]
fn chunks_that_end_out_of_order_are_put_in_order() {
    let names: Vec<String> = (0..4 * CHUNK_FILES).map(|n| format!("{n:03}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "hit\n")).collect();
    let root = tree(&files);
    let first_of_chunk = |chunk: usize| names[chunk * CHUNK_FILES].clone();
    // One thread gets the chunks 0 and 3, the other 1 and 2: each waits where it would get more.
    let waits = [(first_of_chunk(0), first_of_chunk(2)), (first_of_chunk(2), first_of_chunk(3))];
    let (opened, changed) = (Mutex::new(HashSet::new()), Condvar::new());
    let fs = WatchedFs::new(root.path(), move |path: &FilePath| {
        let mut opened = opened.lock().unwrap();
        opened.insert(path.display().to_owned());
        changed.notify_all();
        if let Some((_, awaited)) = waits.iter().find(|(name, _)| name == path.display()) {
            drop(changed.wait_while(opened, |opened| !opened.contains(awaited)).unwrap());
        }
        Ok(())
    });
    let cx = cx_over(root.path(), Arc::new(fs), CancellationToken::new());
    let found = search(&cx, &request("hit", 2)).unwrap();
    let expected: Vec<String> = names.iter().map(|name| format!("{name}:1:hit")).collect();
    assert_eq!(found.entries, expected);
}

#[test]
fn entries_are_collected_up_to_the_size_of_a_sidecar() {
    // Each entry is 1,000 bytes with its line end, and each file holds 100 of them.
    let line = |name: &str| format!("{}\n", "x".repeat(1_000 - name.len() - ":100:".len() - 1));
    let names: Vec<String> = (0..105).map(|n| format!("{n:03}")).collect();
    let contents: Vec<String> =
        names.iter().map(|name| format!("{}{}", "\n".repeat(99), line(name).repeat(100))).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .zip(&contents)
        .map(|(name, contents)| (name.as_str(), contents.as_str()))
        .collect();
    let check = |count: usize, expected: (usize, bool)| {
        let root = tree(&files[..count]);
        for threads in [1, 2, 4] {
            let found = search(&cx(root.path()), &request("x", threads)).unwrap();
            assert!(
                found.entries.iter().map(|entry| entry.len() + 1).sum::<usize>()
                    <= SEARCH_SIDECAR_BYTES_MAX
            );
            assert_eq!((found.entries.len(), found.incomplete), expected, "{threads} threads");
        }
    };
    check(100, (10_000, false));
    check(101, (10_000, true));
    check(105, (10_000, true));
}

#[test]
fn one_file_with_more_than_fits_is_left_early() {
    let line = format!("{}\n", "x".repeat(979));
    let root = tree(&[("a", &line.repeat(30_000)), ("b", "x\n")]);
    let found = search(&cx(root.path()), &request("x", 2)).unwrap();
    assert!(found.incomplete);
    let bytes: usize = found.entries.iter().map(|entry| entry.len() + 1).sum();
    assert!(
        SEARCH_SIDECAR_BYTES_MAX - 1_000 < bytes && bytes <= SEARCH_SIDECAR_BYTES_MAX,
        "{bytes} bytes"
    );
}

#[test]
fn more_than_the_limit_is_left_to_the_runtime_to_cut() {
    let root = tree(&[("a", &"hit\n".repeat(GREP_MATCHES_MAX + 1))]);
    let found = call(cx(root.path()), json!({"pattern": "hit"})).unwrap();
    assert_eq!((found.entries.len(), found.incomplete), (GREP_MATCHES_MAX + 1, false));
}

#[test]
fn a_cancelled_search_returns_what_it_has() {
    let names: Vec<String> = (0..100).map(|n| format!("{n:03}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "hit\n")).collect();
    let root = tree(&files);
    let check = |after: usize, expect: Expect| {
        let cancellation = CancellationToken::new();
        let (token, opened) = (cancellation.clone(), AtomicUsize::new(0));
        let fs = WatchedFs::new(root.path(), move |path: &FilePath| {
            if path.display() != "." && opened.fetch_add(1, Ordering::Relaxed) == after {
                token.cancel();
            }
            Ok(())
        });
        let cx = cx_over(root.path(), Arc::new(fs), cancellation);
        let GrepMatches { entries, incomplete, .. } = search(&cx, &request("hit", 1)).unwrap();
        let last = entries.last().unwrap();
        expect
            .assert_eq(&format!("{} entries to {last:?}, incomplete: {incomplete}", entries.len()));
    };
    check(2, expect![[r#"3 entries to "002:1:hit", incomplete: true"#]]);
    check(1_000, expect![[r#"100 entries to "099:1:hit", incomplete: false"#]]);

    let cx = cx(root.path());
    cx.cancellation().cancel();
    let err = search(&cx, &request("hit", 2)).unwrap_err();
    expect!["TOOL_TIMEOUT: the search was stopped before it found anything: narrow it with `path` or `glob`"].assert_eq(&format!("{}: {}", err.code, err.message));
}

#[test]
fn a_large_file_without_matches_can_be_cancelled() {
    let root = tree(&[("large", &"no\n".repeat(WHOLE_FILE_BYTES_MAX))]);
    let cancellation = CancellationToken::new();
    let token = cancellation.clone();
    let fs = WatchedFs::new(root.path(), move |_: &FilePath| {
        token.cancel();
        Ok(())
    });
    let cx = cx_over(root.path(), Arc::new(fs), cancellation);
    let err =
        search(&cx, &GrepQuery { path: "large".to_owned(), ..request("hit", 1) }).unwrap_err();
    assert_eq!(err.code, ErrorCode::ToolTimeout);
}

#[test]
fn files_that_cannot_be_read_fail_the_search_only_together() {
    let root = tree(&[("a", "hit\n"), ("b", "hit\n"), ("c", "hit\n")]);
    let check = |closed: &'static str, expect: Expect| {
        let fs = WatchedFs::new(root.path(), move |path: &FilePath| match path.display() {
            name if closed.contains(name) => {
                Err(ToolError::new(ErrorCode::PathInvalid, format!("{name} is closed")))
            }
            _ => Ok(()),
        });
        let cx = cx_over(root.path(), Arc::new(fs), CancellationToken::new());
        let text = match search(&cx, &request("hit", 2)) {
            Ok(found) => format!("{} {}", found.entries.join(" "), found.incomplete),
            Err(err) => err.message,
        };
        expect.assert_eq(&text);
    };
    check("", expect!["a:1:hit b:1:hit c:1:hit false"]);
    check("ac", expect!["b:1:hit false"]);
    check("abc", expect!["a is closed"]);
}

#[test]
fn the_contract_is_short() {
    let contract = grep().valid_contract().unwrap().as_ref().clone();
    expect![[r#"
        {
          "id": "grep",
          "description": "Search file contents. Answers `file:line:text`, sorted by path. Skips hidden and binary files and files ignored by .gitignore.",
          "parameters": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "pattern": {
                "type": "string",
                "description": "Rust regex, matched line by line."
              },
              "path": {
                "type": "string",
                "description": "File or directory to search; default: the root. A file is searched even if ignored."
              },
              "glob": {
                "type": "string",
                "description": "Only files that match this glob, relative to `path`: `*.rs`, `src/**/*.ts`; `!*.md` leaves out."
              },
              "ignore_case": {
                "type": "boolean",
                "description": "Ignore case."
              },
              "context": {
                "type": "integer",
                "minimum": 0,
                "description": "Lines to show before and after each match.",
                "maximum": 50
              }
            },
            "required": [
              "pattern"
            ]
          },
          "requires": {
            "fs": {
              "read": [
                "{workspace}/**"
              ]
            }
          },
          "effect": "read",
          "dangerous": false,
          "kind": "search",
          "output_limit": {
            "entries": 200
          },
          "accepts_key": false
        }"#]].assert_eq(&serde_json::to_string_pretty(&contract).unwrap());
    assert_eq!(grep().accesses(&json!({"pattern": "a"})).unwrap(), [Access::read(".")]);
    assert_eq!(
        grep().accesses(&json!({"pattern": "a", "path": "b/c"})).unwrap(),
        [Access::read("b/c")]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// The walk has a separate oracle, so every file is visible here.
    #[test]
    fn a_search_agrees_with_a_naive_one(
        files in prop::collection::btree_map("[ab]/[a-c]{1,2}", prop::collection::vec("[ab]{0,3}(\r)?", 0..6), 1..20),
        literal in "[ab]{1,2}",
        threads in 1_usize..4,
    ) {
        let contents: Vec<(String, String)> =
            files.iter().map(|(name, lines)| (name.clone(), lines.join("\n"))).collect();
        let named: Vec<(&str, &str)> =
            contents.iter().map(|(name, contents)| (name.as_str(), contents.as_str())).collect();
        let root = tree(&named);
        let mut expected = Vec::new();
        for (name, contents) in &contents {
            for (number, line) in (1..).zip(contents.split('\n')) {
                if line.contains(&literal) {
                    expected.push(format!("{name}:{number}:{}", line.trim_end_matches('\r')));
                }
            }
        }
        let found = search(&cx(root.path()), &request(&literal, threads)).unwrap();
        prop_assert_eq!((found.entries, found.incomplete), (expected, false));
    }
}
