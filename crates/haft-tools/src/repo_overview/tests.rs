use expect_test::expect;
use haft_contract::OutputBody;
use serde_json::{Value, json};

use super::entry_points::{DEPTH_MAX, ENTRY_POINTS_MAX, PROVIDED_CHARS_MAX};
use super::*;
use crate::testing::{cx, tree};

async fn overview(root: &std::path::Path, input: Value) -> Result<Value, ToolError> {
    let answer = repo_overview().call_unguarded(input, cx(root)).await?;
    match answer.body {
        OutputBody::Data(data) => Ok(data),
        other => panic!("it answers JSON, found {other:?}"),
    }
}

#[tokio::test]
async fn a_repository_is_shown_as_it_is() {
    let root = tree(&[
        (".gitignore", "target/\n"),
        (".git/config", "hidden"),
        ("target/big.rs", "fn ignored() {}\n"),
        (
            "Cargo.toml",
            "[package]\nname = \"shop\"\n[[bin]]\nname = \"till\"\n[workspace]\nmembers = [\"a\"]\n",
        ),
        ("src/main.rs", "fn main() {\n}\n"),
        ("src/deep/er/x.rs", "//x"),
        (
            "web/package.json",
            r#"{"name":"w","main":"i.js","bin":{"w":"b"},"scripts":{"test":"x"}}"#,
        ),
        ("web/i.js", "1\n2\n"),
        ("py/pyproject.toml", "[project]\nname = \"p\"\n[project.scripts]\nrun = \"p:main\"\n"),
        ("cmd/main.go", "package main\nfunc main() {}\n"),
        ("lib/main.go", "package lib\n"),
        ("Makefile", ".PHONY: all\nall: build test\n\techo: x\nbuild:\nX := 1\ntest lint: all\n"),
        ("README.md", "# Shop\n"),
        ("run", "#!/usr/bin/env python3\nprint(1)\n"),
        ("picture.png", "\u{0}\u{1}"),
        ("a/b/c/d/Makefile", "deep:\n"),
    ]);
    let shown = overview(root.path(), json!({})).await.unwrap();
    let tree = shown["tree"].as_str().unwrap().to_owned();
    expect![[r#"
        a/ (1 file, 6 B)
          b/ (1 file, 6 B)
            c/ (1 file, 6 B)
              d/ (1 file, 6 B)
                Makefile
        cmd/ (1 file, 28 B)
          main.go
        lib/ (1 file, 12 B)
          main.go
        py/ (1 file, 54 B)
          pyproject.toml
        src/ (2 files, 17 B)
          deep/ (1 file, 3 B)
            er/ (1 file, 3 B)
              x.rs
          main.rs
        web/ (2 files, 69 B)
          i.js
          package.json
        Cargo.toml
        Makefile
        README.md
        picture.png
        run
    "#]]
    .assert_eq(&tree);
    let rest = serde_json::to_string(&json!({
        "files": shown["files"], "languages": shown["languages"], "incomplete": shown["incomplete"],
    }));
    expect![[r#"{"files":13,"languages":[{"language":"TOML","files":2,"bytes":128,"lines":10},{"language":"Makefile","files":2,"bytes":72,"lines":7},{"language":"JSON","files":1,"bytes":65,"lines":1},{"language":"Go","files":2,"bytes":40,"lines":3},{"language":"Python","files":1,"bytes":32,"lines":2},{"language":"Rust","files":2,"bytes":17,"lines":3},{"language":"Markdown","files":1,"bytes":7,"lines":1},{"language":"JavaScript","files":1,"bytes":4,"lines":2}],"incomplete":null}"#]].assert_eq(&rest.unwrap());
    let points: Vec<String> =
        shown["entry_points"].as_array().unwrap().iter().map(Value::to_string).collect();
    expect![[r#"
        {"path":"Cargo.toml","kind":"cargo","provides":["package shop","binary till","member a"]}
        {"path":"Makefile","kind":"make","provides":["target all","target build","target test","target lint"]}
        {"path":"README.md","kind":"document"}
        {"path":"cmd/main.go","kind":"go"}
        {"path":"py/pyproject.toml","kind":"python","provides":["package p","binary run"]}
        {"path":"src/main.rs","kind":"rust"}
        {"path":"web/package.json","kind":"npm","provides":["name w","main i.js","binary w","script test"]}"#]].assert_eq(&points.join("\n"));
}

#[tokio::test]
async fn one_directory_is_shown_and_what_is_none_is_said() {
    let root = tree(&[("a/x.rs", "x"), ("b/y.rs", "y")]);
    let shown = overview(root.path(), json!({"path": "a"})).await.unwrap();
    assert_eq!((shown["path"].clone(), shown["tree"].clone()), (json!("a"), json!("x.rs\n")));
    let refused = |path: &str| overview(root.path(), json!({ "path": path }));
    assert_eq!(
        refused("a/x.rs").await.unwrap_err().message,
        "path \"a/x.rs\" is a regular file, not a directory: name a directory in path"
    );
    assert_eq!(
        refused("aa").await.unwrap_err().message,
        "path \"aa\" does not exist: did you mean a?"
    );
}

#[tokio::test]
async fn broken_manifests_are_named_all_the_same() {
    let root = tree(&[("Cargo.toml", "[package"), ("package.json", "{"), ("pyproject.toml", "=")]);
    let shown = overview(root.path(), json!({})).await.unwrap();
    let points = shown["entry_points"].to_string();
    expect![[r#"[{"path":"Cargo.toml","kind":"cargo"},{"path":"package.json","kind":"npm"},{"path":"pyproject.toml","kind":"python"}]"#]].assert_eq(&points);
}

/// Makes a directory of so many levels, whose paths may be longer than what the system takes in one piece.
fn deep(root: &std::path::Path, levels: usize, file: &str) {
    let name = "d".repeat(250);
    let chain = |levels: usize| std::path::PathBuf::from_iter(vec![&name; levels]);
    let (upper, lower) = (levels.min(8), levels.saturating_sub(8));
    let end = root.join(chain(upper));
    std::fs::create_dir_all(&end).unwrap();
    let other = root.join("other");
    let bottom = other.join(chain(lower));
    std::fs::create_dir_all(&bottom).unwrap();
    std::fs::write(bottom.join(file), "deep\n").unwrap();
    for entry in std::fs::read_dir(&other).unwrap() {
        let entry = entry.unwrap();
        std::fs::rename(entry.path(), end.join(entry.file_name())).unwrap();
    }
    std::fs::remove_dir(&other).unwrap();
}

#[tokio::test]
async fn a_tree_that_is_deeper_than_any_tool_reaches_says_so() {
    let shown = async |levels: usize| {
        let root = tree(&[("top.txt", "top\n")]);
        deep(root.path(), levels, "f.txt");
        overview(root.path(), json!({})).await.unwrap()
    };
    let within = shown(15).await;
    assert_eq!((&within["files"], &within["incomplete"]), (&json!(2), &Value::Null));
    // The directory of the seventeenth level has a path of 4,266 bytes.
    let beyond = shown(17).await;
    assert_eq!(beyond["files"], json!(1));
    expect!["the tree is deeper than any tool reaches: what lies at paths of more than 4095 bytes is not counted"]
        .assert_eq(beyond["incomplete"].as_str().unwrap());
}

#[test]
fn a_tree_keeps_no_more_levels_than_are_drawn() {
    let drawn = |levels: usize| {
        let mut tree = DirectoryTree::default();
        tree.add(std::path::Path::new(&"d/".repeat(levels)).join("f").as_path(), 1);
        tree.draw()
    };
    let whole = drawn(tree::TREE_LINES_MAX - 1);
    assert!(whole.ends_with("f\n"), "{whole}");
    assert_eq!(whole.lines().count(), tree::TREE_LINES_MAX);
    // As a tree that was kept whole, this one would take more stack than a thread has.
    let cut = drawn(2_000_000);
    assert!(cut.ends_with("d/ (1 file, 1 B)\n"), "{cut}");
    assert_eq!(cut.lines().count(), tree::TREE_LINES_MAX);
}

#[test]
fn a_large_tree_is_drawn_as_deep_as_it_fits() {
    let mut wide = DirectoryTree::default();
    for number in 0..tree::TREE_ENTRIES_MAX + 2 {
        wide.add(std::path::Path::new(&format!("f{number:03}")), 1);
    }
    let drawn = wide.draw();
    assert_eq!(drawn.lines().count(), tree::TREE_ENTRIES_MAX + 1);
    assert!(drawn.ends_with("f059\n… and 2 more\n"), "{drawn}");

    let mut deep = DirectoryTree::default();
    for one in 0..50 {
        for other in 0..10 {
            deep.add(std::path::Path::new(&format!("d{one:02}/e{other}/f")), 1_500);
        }
    }
    let drawn = deep.draw();
    assert_eq!(drawn.lines().count(), 50);
    assert!(drawn.starts_with("d00/ (10 files, 15 kB)\n"), "{drawn}");
}

#[test]
fn lines_are_counted_with_a_last_one_that_does_not_end() {
    let counted = ["", "a", "a\n", "a\nb", "\n\n"].map(|text| count_lines(text.as_bytes()));
    assert_eq!(counted, [0, 1, 1, 2, 2]);
}

#[test]
fn entry_points_have_bounds() {
    let path = |names: usize| std::path::PathBuf::from("d/".repeat(names - 1)).join("Makefile");
    assert!(EntryPoints::is_candidate(&path(DEPTH_MAX), "Makefile"));
    assert!(!EntryPoints::is_candidate(&path(DEPTH_MAX + 1), "Makefile"));

    let listed = |files: usize| {
        let mut points = EntryPoints::default();
        for number in 0..files {
            let name = format!("{number}/Makefile");
            points.add_file(std::path::Path::new(&name), &name, "");
        }
        points.finish().len()
    };
    assert_eq!(listed(ENTRY_POINTS_MAX), ENTRY_POINTS_MAX);
    assert_eq!(listed(ENTRY_POINTS_MAX + 1), ENTRY_POINTS_MAX);

    let provided = |chars: usize| {
        let mut points = EntryPoints::default();
        let target = "x".repeat(chars - "target ".len());
        points.add_file(std::path::Path::new("Makefile"), "Makefile", &format!("{target}:\n"));
        let shown = serde_json::to_value(points.finish()).unwrap();
        shown[0]["provides"][0].as_str().unwrap().len()
    };
    assert_eq!(provided(PROVIDED_CHARS_MAX), PROVIDED_CHARS_MAX);
    assert_eq!(provided(PROVIDED_CHARS_MAX + 1), PROVIDED_CHARS_MAX);
}

#[test]
fn files_beyond_what_is_read_count_no_lines() {
    let root = tree(&[("a.rs", "1\n2\n"), ("b.rs", "3\n")]);
    let cx = cx(root.path());
    let (base, _) = cx.fs().resolve(".").unwrap();
    let lines = |read_bytes: u64| {
        let found = OverviewTotals { read_bytes, ..OverviewTotals::default() };
        let mut survey = OverviewBuilder { cx: &cx, base: &base, found };
        for name in ["a.rs", "b.rs"] {
            survey.add_file(&cx.fs().resolve(name).unwrap().0);
        }
        let OverviewTotals { files, languages, .. } = survey.found;
        (files, languages["Rust"].lines)
    };
    assert_eq!(lines(READ_BYTES_MAX - 6), (2, 3));
    assert_eq!(lines(READ_BYTES_MAX - 5), (2, 2));
    assert_eq!(lines(READ_BYTES_MAX), (2, 0));
}
