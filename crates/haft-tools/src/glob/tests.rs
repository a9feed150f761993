use std::path::Path;
use std::sync::Arc;

use expect_test::{Expect, expect};
use haft_contract::limits::PATH_BYTES_MAX;
use haft_contract::{DirectoryEntry, FileChange, FileChangeError, FilePath, Fs, OpenRegularFile};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::{DiskFs, cx, cx_over, tree};

fn call(cx: Cx, input: Value) -> Result<(Vec<String>, bool), ToolError> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    match runtime.block_on(glob().call_unguarded(input, cx))?.body {
        OutputBody::Lines { key: "paths", lines, incomplete } => Ok((lines, incomplete)),
        body => panic!("expected paths, found {body:?}"),
    }
}

fn text(root: &Path, input: Value) -> String {
    match call(cx(root), input) {
        Ok((paths, false)) => paths.join(" "),
        Ok((paths, true)) => format!("{} (incomplete)", paths.join(" ")),
        Err(err) => format!("{}: {}", err.code, err.message),
    }
}

const FILES: &[(&str, &str)] = &[
    (".git/config", ""),
    (".gitignore", "target/\n*.log\n"),
    (".github/workflows/ci.yml", ""),
    ("Cargo.toml", ""),
    ("README.md", ""),
    ("a.log", ""),
    ("app/[id]/page.tsx", ""),
    ("src/.env", ""),
    ("src/lib.rs", ""),
    ("src/deep/er/mod.rs", ""),
    ("src/deep/mod.rs", ""),
    ("target/debug/build.rs", ""),
    ("tests/it/main.rs", ""),
    ("web/index.ts", ""),
    ("web/view.tsx", ""),
];

#[test]
fn patterns_mean_what_models_expect() {
    let root = tree(FILES);
    let check = |pattern: &str, expect: Expect| {
        expect.assert_eq(&text(root.path(), json!({"pattern": pattern})));
    };
    check("*.rs", expect!["src/deep/er/mod.rs src/deep/mod.rs src/lib.rs tests/it/main.rs"]);
    check("**/*.rs", expect!["src/deep/er/mod.rs src/deep/mod.rs src/lib.rs tests/it/main.rs"]);
    check("./*.rs", expect![""]);
    check("./*.md", expect!["README.md"]);
    check("README.md", expect!["README.md"]);
    check("mod.rs", expect!["src/deep/er/mod.rs src/deep/mod.rs"]);
    check("src/*.rs", expect!["src/lib.rs"]);
    check("./src//*.rs", expect!["src/lib.rs"]);
    check("src/lib.rs", expect!["src/lib.rs"]);
    check("src/**", expect!["src/deep/er/mod.rs src/deep/mod.rs src/lib.rs"]);
    check("src/**/mod.rs", expect!["src/deep/er/mod.rs src/deep/mod.rs"]);
    check("src/*/mod.rs", expect!["src/deep/mod.rs"]);
    check("**/deep/*", expect!["src/deep/mod.rs"]);
    check("*/*.rs", expect!["src/lib.rs"]);
    check(
        "**",
        expect![
            "Cargo.toml README.md app/[id]/page.tsx src/deep/er/mod.rs src/deep/mod.rs src/lib.rs tests/it/main.rs web/index.ts web/view.tsx"
        ],
    );
    check("*.{ts,tsx}", expect!["app/[id]/page.tsx web/index.ts web/view.tsx"]);
    check("*.ts{,x}", expect!["app/[id]/page.tsx web/index.ts web/view.tsx"]);
    check("{src,tests/it}/*.rs", expect!["src/lib.rs tests/it/main.rs"]);
    check("[A-R]*.{toml,md}", expect!["Cargo.toml README.md"]);
    check("[!C]*.md", expect!["README.md"]);
    check("inde?.ts", expect!["web/index.ts"]);
    check(r"app/\[id\]/*.tsx", expect!["app/[id]/page.tsx"]);
    check("*/", expect!["app/ app/[id]/ src/ src/deep/ src/deep/er/ tests/ tests/it/ web/"]);
    check("./*/", expect!["app/ src/ tests/ web/"]);
    check("src/*/", expect!["src/deep/"]);
    check("*.zig", expect![""]);
    check("nowhere/*.rs", expect![""]);
    check("Cargo.toml/*", expect![""]);
}

#[test]
fn hidden_and_ignored_files_are_listed_only_if_named() {
    let root = tree(FILES);
    let check = |pattern: &str, expect: Expect| {
        expect.assert_eq(&text(root.path(), json!({"pattern": pattern})));
    };
    check("*.yml", expect![""]);
    check(".github/**/*.yml", expect![".github/workflows/ci.yml"]);
    check("**/.github/**/*.yml", expect![".github/workflows/ci.yml"]);
    check(".env", expect!["src/.env"]);
    check("src/.e*", expect!["src/.env"]);
    check("{.env,*.md}", expect!["README.md src/.env"]);
    check("**/.git/**", expect![""]);
    check("*.log", expect![""]);
    check("**/target/**", expect![""]);
    check("target/**/*.rs", expect!["target/debug/build.rs"]);
}

#[test]
fn a_path_moves_the_base() {
    let root = tree(FILES);
    let absolute = root.path().canonicalize().unwrap();
    let check = |path: &str, pattern: &str, expect: Expect| {
        let text = text(root.path(), json!({"path": path, "pattern": pattern}));
        expect.assert_eq(&text.replace(absolute.to_str().unwrap(), "ROOT"));
    };
    check("src", "*.rs", expect!["src/deep/er/mod.rs src/deep/mod.rs src/lib.rs"]);
    check("src/", "deep/*.rs", expect!["src/deep/mod.rs"]);
    check("./src", "./*.rs", expect!["src/lib.rs"]);
    check("src", "../tests/**/*.rs", expect!["tests/it/main.rs"]);
    check("src", "nowhere/*", expect![""]);
    check(absolute.join("src").to_str().unwrap(), "./*.rs", expect!["src/lib.rs"]);
    check("src", absolute.join("web/*.ts").to_str().unwrap(), expect!["web/index.ts"]);
    check(
        "nowhere",
        "*.rs",
        expect![[r#"TOOL_PATH_INVALID: path "nowhere" does not exist: use glob to find it"#]],
    );
    check(
        "nowhere",
        "src/*.rs",
        expect![[r#"TOOL_PATH_INVALID: path "nowhere" does not exist: use glob to find it"#]],
    );
    check(
        "Cargo.toml",
        "*.rs",
        expect![[
            r#"TOOL_PATH_INVALID: path "Cargo.toml" is a regular file, not a directory: name a directory in path"#
        ]],
    );
    check("..", "*.rs", expect![[r#"TOOL_PATH_ESCAPE: ".." lies outside the root"#]]);
    check(".", "/etc/*.conf", expect![[r#"TOOL_PATH_ESCAPE: "/etc" lies outside the root"#]]);
}

#[test]
fn a_pattern_that_cannot_be_used_is_explained() {
    let root = tree(&[]);
    let check = |pattern: &str, expect: Expect| {
        expect.assert_eq(&text(root.path(), json!({"pattern": pattern})));
    };
    check(
        "",
        expect![[
            r#"INVALID_INPUT: "" is not a usable glob: it names no file; use `**` for every file"#
        ]],
    );
    check(
        "./",
        expect![[
            r#"INVALID_INPUT: "./" is not a usable glob: it names no file; use `**` for every file"#
        ]],
    );
    check(
        "[a",
        expect![[
            r#"INVALID_INPUT: "[a" is not a usable glob: unclosed character class; missing ']'; put a backslash before a special character to mean it literally"#
        ]],
    );
    check(
        "{a,b",
        expect![[
            r#"INVALID_INPUT: "{a,b" is not a usable glob: unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?); put a backslash before a special character to mean it literally"#
        ]],
    );
    check(
        "a}",
        expect![[
            r#"INVALID_INPUT: "a}" is not a usable glob: unopened alternate group; missing '{' (maybe escape '}' with '[}]'?); put a backslash before a special character to mean it literally"#
        ]],
    );
    check(
        "[z-a]",
        expect![[
            r#"INVALID_INPUT: "[z-a]" is not a usable glob: invalid range; 'z' > 'a'; put a backslash before a special character to mean it literally"#
        ]],
    );
    check(
        "a\\",
        expect![[
            r#"INVALID_INPUT: "a\\" is not a usable glob: dangling '\'; put a backslash before a special character to mean it literally"#
        ]],
    );
    check(
        "*/../a",
        expect![[
            r#"INVALID_INPUT: "*/../a" is not a usable glob: `..` cannot follow a wildcard; name the directory in `path` instead"#
        ]],
    );
    check(&"a".repeat(PATH_BYTES_MAX), expect![""]);
    check(
        &"a".repeat(PATH_BYTES_MAX + 1),
        expect!["INVALID_INPUT: the glob is 4097 bytes long: expected at most 4096"],
    );
}

#[test]
fn accesses_name_the_directory_that_is_walked() {
    let check = |input: Value, path: &str| {
        assert_eq!(glob().accesses(&input).unwrap(), [Access::read(path)]);
    };
    check(json!({"pattern": "*.rs"}), ".");
    check(json!({"pattern": "src/**/*.rs"}), "src");
    check(json!({"pattern": "src/*.rs", "path": "crates/a/"}), "crates/a/src");
    check(json!({"pattern": "../b/*.rs", "path": "crates/a"}), "crates/a/../b");
    check(json!({"pattern": "/tmp/*.rs", "path": "crates"}), "/tmp");
    check(json!({"pattern": "/*.rs"}), "/");
}

#[test]
fn more_than_the_limit_is_left_to_the_runtime_to_cut() {
    let names: Vec<String> = (0..=GLOB_ENTRIES_MAX).map(|n| format!("{n:04}")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "")).collect();
    let root = tree(&files);
    assert_eq!(call(cx(root.path()), json!({"pattern": "*"})).unwrap(), (names, false));
}

/// One directory of files with names of 99 bytes.
struct WideFs {
    disk: DiskFs,
    count: usize,
}

impl Fs for WideFs {
    fn resolve(&self, path: &str) -> Result<(FilePath, Option<FsEntryKind>), ToolError> {
        self.disk.resolve(path)
    }

    fn open(&self, path: &FilePath) -> Result<OpenRegularFile, ToolError> {
        self.disk.open(path)
    }

    fn list(&self, _: &FilePath) -> Result<Vec<DirectoryEntry>, ToolError> {
        let entry =
            |n| DirectoryEntry { name: format!("{n:099}").into(), kind: FsEntryKind::Regular };
        Ok((0..self.count).map(entry).collect())
    }

    fn apply(&self, changes: Vec<FileChange>) -> Result<(), FileChangeError> {
        self.disk.apply(changes)
    }
}

#[test]
fn paths_are_collected_up_to_the_size_of_a_sidecar() {
    let root = tree(&[]);
    let fits = SEARCH_SIDECAR_BYTES_MAX / 100;
    let check = |count: usize, expected: (usize, bool)| {
        let fs = WideFs { disk: DiskFs::new(root.path()), count };
        let cx = cx_over(root.path(), Arc::new(fs), CancellationToken::new());
        let (paths, incomplete) = call(cx, json!({"pattern": "*"})).unwrap();
        assert_eq!((paths.len(), incomplete), expected);
    };
    check(fits, (fits, false));
    check(fits + 1, (fits, true));
}

#[test]
fn a_cancelled_call_says_so() {
    let root = tree(&[("d/a", "")]);
    let cx = cx(root.path());
    cx.cancellation().cancel();
    let err = call(cx, json!({"pattern": "*"})).unwrap_err();
    expect!["PROCESS_ABORTED: the call was cancelled before it began"]
        .assert_eq(&format!("{}: {}", err.code, err.message));
}

#[test]
fn the_contract_is_short() {
    let contract = glob().valid_contract().unwrap().as_ref().clone();
    expect![[r#"
        {
          "id": "glob",
          "description": "Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, and hidden files unless the pattern names them (`**/.env*`).",
          "parameters": {
            "type": "object",
            "additionalProperties": false,
            "properties": {
              "pattern": {
                "type": "string",
                "description": "Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories."
              },
              "path": {
                "type": "string",
                "description": "Directory to look in; default: the root."
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
            "entries": 1000
          },
          "accepts_key": false
        }"#]].assert_eq(&serde_json::to_string_pretty(&contract).unwrap());
}
