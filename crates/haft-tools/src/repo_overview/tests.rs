use expect_test::expect;
use haft_contract::Body;
use serde_json::{Value, json};

use super::*;
use crate::testing::{cx, tree};

async fn overview(root: &std::path::Path, input: Value) -> Result<Value, ToolError> {
    let answer = repo_overview().call_unguarded(input, cx(root)).await?;
    match answer.body {
        Body::Data(data) => Ok(data),
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
        "\"a/x.rs\" is no directory to look at: found a regular file"
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

#[test]
fn a_large_tree_is_drawn_as_deep_as_it_fits() {
    let mut wide = Tree::default();
    for number in 0..tree::TREE_ENTRIES_MAX + 2 {
        wide.add(std::path::Path::new(&format!("f{number:03}")), 1);
    }
    let drawn = wide.draw();
    assert_eq!(drawn.lines().count(), tree::TREE_ENTRIES_MAX + 1);
    assert!(drawn.ends_with("f059\n… and 2 more\n"), "{drawn}");

    let mut deep = Tree::default();
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
    let counted = ["", "a", "a\n", "a\nb", "\n\n"].map(|text| lines(text.as_bytes()));
    assert_eq!(counted, [0, 1, 1, 2, 2]);
}
