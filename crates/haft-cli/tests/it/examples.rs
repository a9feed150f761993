//! The plans in `examples/`, each run as its documentation says, over a separate small checkout. Tests through `haft call`
//! cover odd input for the tools, because they are shorter there.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use expect_test::{Expect, expect};
use serde_json::Value;

use crate::world::{World, names};

const CONFIG: [&str; 2] = ["--config", "examples/haft.toml"];

/// Returns a world whose working directory is a checkout: the examples, and a little beside them.
fn checkout() -> World {
    let world = World::new();
    copy(&repository().join("examples"), &world.path("work/examples"));
    world.write(
        "work/README.md",
        "# Reading\n\n[usage](docs/usage.md#Start), [gone](docs/gone.md)\n",
    );
    world.write("work/docs/usage.md", "# Start\n\n[up](../README.md#writing)\n");
    world.write("work/src/main.rs", "fn main() {\n    // FIXME: say more\n    println!();\n}\n");
    world.write("work/src/copy.rs", "fn main() {\n    // FIXME: say more\n    println!();\n}\n");
    world.write("work/.gitignore", "/ignored.txt\n");
    world.write("work/ignored.txt", "TODO\n");
    git(&world, &["init", "--quiet", "--initial-branch=main"]);
    commit(&world, "src: a program that says nothing");
    world
        .write("work/src/main.rs", "fn main() {\n    // FIXME: say more\n    print!(\"hi\");\n}\n");
    commit(&world, "fix(src): it says hi");
    world
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for name in names(from) {
        // Files that the user's own runs of the examples left there do not matter here.
        if name == "out" || name == "__pycache__" {
            continue;
        }
        if from.join(&name).is_dir() {
            copy(&from.join(&name), &to.join(&name));
        } else {
            fs::copy(from.join(&name), to.join(&name)).unwrap();
        }
    }
}

fn git(world: &World, args: &[&str]) {
    let status = Command::new("git")
        .args(args)
        .current_dir(world.path("work"))
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", world.path("home"))
        .env("GIT_AUTHOR_NAME", "Ada")
        .env("GIT_AUTHOR_EMAIL", "ada@example.org")
        .env("GIT_AUTHOR_DATE", "2024-05-01T12:00:00Z")
        .env("GIT_COMMITTER_NAME", "Ada")
        .env("GIT_COMMITTER_EMAIL", "ada@example.org")
        .env("GIT_COMMITTER_DATE", "2024-05-01T12:00:00Z")
        .status()
        .unwrap();
    assert!(status.success(), "{args:?}");
}

fn commit(world: &World, subject: &str) {
    // The examples change with every version of haft; the reports here are about the rest.
    git(world, &["add", "README.md", "docs", "src", ".gitignore"]);
    git(world, &["commit", "--quiet", "--message", subject]);
}

/// Runs a plan of the examples, which must succeed, and compares its output.
fn check(world: &World, args: &[&str], expect: &Expect) {
    let args: Vec<&str> = ["run"].into_iter().chain(CONFIG).chain(args.iter().copied()).collect();
    expect.assert_eq(&world.run(&args));
}

#[test]
fn a_report_of_a_checkout() {
    let world = checkout();
    check(
        &world,
        &["examples/repository_report.json", "--input", r#"{"path": "src"}"#],
        &expect![[r#"
            # Repository report

            ## Languages

            Text files: 2. Lines: 8. Files that could not be read: 0. Found by git.

            | language | files | lines | bytes |
            | -------- | ----: | ----: | ----: |
            | Rust     |     2 |     8 |   108 |

            ## Largest files

            Files: 2. Bytes: 108.

            | file    | bytes |
            | ------- | ----: |
            | main.rs |    55 |
            | copy.rs |    53 |

            ## Left for later

            Marks: 2, in 2 files.

            | mark  | count |
            | ----- | ----: |
            | TODO  |     0 |
            | FIXME |     2 |
            | XXX   |     0 |
            | HACK  |     0 |

            ## Where

            | file    | count |
            | ------- | ----: |
            | copy.rs |     1 |
            | main.rs |     1 |

            ## Churn

            the latest 2 commits, merges left out

            | file    | commits | added | removed |
            | ------- | ------: | ----: | ------: |
            | main.rs |       2 |     5 |       1 |
            | copy.rs |       1 |     4 |       0 |
        "#]],
    );
}

#[test]
fn the_sales_of_a_bakery() {
    check(
        &checkout(),
        &["examples/bakery_sales.json"],
        &expect![[r#"
        # What the bakery sold

        ## Data

        Rows: 504. Empty cells: 7.

        | column     | holds   | empty | distinct | smallest   | largest    |
        | ---------- | ------- | ----: | -------: | ---------- | ---------- |
        | date       | dates   |     0 |       28 | 2024-03-01 | 2024-04-02 |
        | shop       | texts   |     0 |        3 | Harbour    | Station    |
        | product    | texts   |     0 |        6 | apple cake | white loaf |
        | quantity   | numbers |     0 |       68 | 4          | 88         |
        | unit_price | numbers |     0 |        6 | 0.90       | 4.20       |
        | amount     | numbers |     2 |      156 | 8.10       | 140.80     |
        | weather    | texts   |     5 |        4 | cloud      | wind       |

        ## By product

        In all: 23833.7. Rows without an amount, which are left out: 2.

        | group       | rows |    total |  mean |
        | ----------- | ---: | -------: | ----: |
        | croissant   |   83 | 5,510.40 | 66.39 |
        | rye loaf    |   84 | 5,304.60 | 63.15 |
        | white loaf  |   84 | 5,108.80 | 60.82 |
        | pretzel     |   83 | 3,277.20 | 39.48 |
        | apple cake  |   84 | 2,808.40 | 33.43 |
        | oat biscuit |   84 | 1,824.30 | 21.72 |

        ## By shop

        | group     | rows |     total |  mean |
        | --------- | ---: | --------: | ----: |
        | Station   |  166 | 10,589.40 | 63.79 |
        | Harbour   |  168 |  7,675.80 | 45.69 |
        | Mill Lane |  168 |  5,568.50 | 33.15 |

        ## By month

        | group   | rows |     total |  mean |
        | ------- | ---: | --------: | ----: |
        | 2024-03 |  466 | 22,182.70 | 47.60 |
        | 2024-04 |   36 |  1,651.00 | 45.86 |

        ## Pieces by weather

        Rows of days whose weather nobody noted, which are left out: 5.

        | group | rows |    total |  mean |
        | ----- | ---: | -------: | ----: |
        | cloud |  230 | 5,439.00 | 23.65 |
        | sun   |  107 | 2,926.00 | 27.35 |
        | wind  |   90 | 2,190.00 | 24.33 |
        | rain  |   72 | 1,271.00 | 17.65 |
    "#]],
    );
}

#[test]
fn links_that_lead_nowhere() {
    let world = checkout();
    for documentation in ["README.md", "data/README.md"] {
        fs::remove_file(world.path("work/examples").join(documentation)).unwrap();
    }
    world.write(
        "work/notes/plan.md",
        "[a](<../README.md> \"t\") `[b](no.md)` [c]: [d](plan.md#two-words-1)\n\n```\n[e](no.md)\n```\n\n## Two words\n\n\
         ## Two words\n\n[f](https://example.org/no.md) [g](#three)\n\n[h]: ./other%20file.md\n",
    );
    check(
        &world,
        &["examples/link_check.json", "--input", r#"{"path": "."}"#],
        &expect![[r#"
        # Links

        ## Broken links

        Links that lead nowhere: 4 of 7. Markdown files: 3. Links to hosts, which nobody followed: 1.

        | file          | line | link                 | why                                 |
        | ------------- | ---: | -------------------- | ----------------------------------- |
        | README.md     |    3 | docs/gone.md         | there is no docs/gone.md            |
        | docs/usage.md |    3 | ../README.md#writing | README.md has no heading #writing   |
        | notes/plan.md |   11 | #three               | notes/plan.md has no heading #three |
        | notes/plan.md |   13 | ./other%20file.md    | there is no notes/other file.md     |
    "#]],
    );
}

#[test]
fn files_that_hold_the_same() {
    let world = checkout();
    world.write("work/docs/a.txt", &"the same\n".repeat(100));
    world.write("work/docs/b.txt", &"the same\n".repeat(100));
    check(
        &world,
        &["examples/duplicate_files.json", "--input", r#"{"path": "docs"}"#],
        &expect![[r#"
            # Duplicate files

            ## Files that hold the same

            Groups: 1. Bytes more than needed: 900. Files that could not be read: 0.

            | bytes_each | copies | bytes_wasted | files        |
            | ---------: | -----: | -----------: | ------------ |
            |        900 |      2 |          900 | a.txt, b.txt |
        "#]],
    );
}

#[test]
fn notes_of_changes_are_printed_and_kept() {
    let world = checkout();
    fs::create_dir(world.path("work/examples/out")).unwrap();
    let plan = ["examples/release_notes.json", "--input", r#"{"commits": 10}"#];
    let both = ["--allow", "bash", "--allow", "write"];
    let args: Vec<&str> =
        ["run"].iter().chain(&plan).chain(&both).chain(&CONFIG).copied().collect();
    let printed = world.run(&args);
    expect![[r#"
        # Changes from 2024-05-01 to 2024-05-01

        ## Areas

        Commits: 2.

        | area | commits |
        | ---- | ------: |
        | src  |       2 |

        ## Changes

        | area | change                      | commit  | date       |
        | ---- | --------------------------- | ------- | ---------- |
        | src  | it says hi                  | e2060e1 | 2024-05-01 |
        | src  | a program that says nothing | 60aba5d | 2024-05-01 |
    "#]]
    .assert_eq(&printed);
    assert_eq!(world.read("work/examples/out/RELEASE_NOTES.md"), printed);
}

#[test]
fn an_order_is_placed_once() {
    let world = checkout();
    let args = ["run", "examples/reorder_stock.json", "--allow", "order_place", "--run", "order"];
    let args: Vec<&str> = args.into_iter().chain(CONFIG).collect();
    expect![[r#"
        # Order 1

        ## Ordered from Mill & Sons

        Enough for 3 days.

        | product    | quantity |
        | ---------- | -------: |
        | rye loaf   |       15 |
        | croissant  |      193 |
        | apple cake |       24 |
        | pretzel    |      220 |
    "#]]
    .assert_eq(&world.run(&args));
    let orders = world.read("work/examples/out/orders.jsonl");
    let order: Value = serde_json::from_str(&orders).unwrap();
    assert_eq!(order["lines"][0]["product"], "rye loaf");

    let again: Vec<&str> = ["resume", "order"].into_iter().chain(CONFIG).collect();
    world.run(&again);
    assert_eq!(world.read("work/examples/out/orders.jsonl"), orders);
}

#[test]
fn nobody_orders_without_being_told() {
    let world = checkout();
    let args = ["run", "examples/reorder_stock.json"];
    let args: Vec<&str> = args.into_iter().chain(CONFIG).collect();
    let output = world.haft(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", world.shown(&output));
    assert!(!world.path("work/examples/out").exists());
}

#[test]
fn a_directory_without_a_history_is_reported_all_the_same() {
    let world = checkout();
    fs::remove_dir_all(world.path("work/.git")).unwrap();
    let churn = ["call", "repository_churn", r#"{"path": "src"}"#];
    let churn: Vec<&str> = churn.into_iter().chain(CONFIG).collect();
    let churn = world.json(&churn);
    assert_eq!(churn["has_history"], false);
    let note = churn["note"].as_str().unwrap();
    assert!(note.starts_with("no history: fatal: not a git repository"), "{note}");
    let languages = ["call", "repository_languages", r#"{"path": "src"}"#];
    let languages: Vec<&str> = languages.into_iter().chain(CONFIG).collect();
    expect![[r#"
        {"languages":[{"language":"Rust","files":2,"lines":8,"bytes":108}],"files":2,"lines":8,"unreadable":0,"found_by":"walking, because git lists nothing here"}
    "#]].assert_eq(&world.run(&languages));
}

#[test]
fn what_cannot_be_done_is_said() {
    let world = checkout();
    world.write("work/odd.csv", "name,amount\na,1\nb,many\n");
    world.write("work/short.csv", "name,amount\na\n");
    let fails = |tool: &str, input: &str, expect: Expect| {
        let args: Vec<&str> = ["call", tool, input].into_iter().chain(CONFIG).collect();
        let output = world.haft(&args).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        let text = String::from_utf8(output.stderr).unwrap();
        expect.assert_eq(text.lines().next().unwrap_or_default());
    };
    let totals = |path: &str, value: &str| {
        format!(r#"{{"path": "{path}", "group_by": "name", "value": "{value}"}}"#)
    };
    fails(
        "csv_totals",
        &totals("odd.csv", "amount"),
        expect![
            "error: total_csv raised ValueError: odd.csv, row 2, column amount holds 'many', expected a number"
        ],
    );
    fails(
        "csv_totals",
        &totals("odd.csv", "sum"),
        expect![
            "error: total_csv raised ValueError: odd.csv has no column 'sum': there are name, amount"
        ],
    );
    fails(
        "csv_totals",
        &totals("short.csv", "amount"),
        expect![
            "error: total_csv raised ValueError: short.csv:2 has not as many cells as the header: expected 2"
        ],
    );
    fails(
        "csv_profile",
        r#"{"path": "absent.csv"}"#,
        expect![
            "error: profile_csv raised FileNotFoundError: [Errno 2] No such file or directory: 'absent.csv'"
        ],
    );
    fails(
        "repository_churn",
        r#"{"path": "absent"}"#,
        expect![
            "error: measure_churn raised NotADirectoryError: there is no directory 'absent': expected a path relative to the root"
        ],
    );
    fails(
        "commits_by_area",
        r#"{"log": "no log"}"#,
        expect![
            "error: group_commits raised ValueError: line 1 of the log is 'no log': expected hash, date, author and subject, separated by tabs"
        ],
    );
}

#[test]
fn the_tools_are_without_problems() {
    let world = checkout();
    world.check(
        &["registry", "check", "examples/tools"],
        &expect![[r#"
        examples/tools: 12 tools, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
}

#[test]
fn every_plan_is_valid_and_documented() {
    let world = checkout();
    let readme = fs::read_to_string(repository().join("examples/README.md")).unwrap();
    let plans: Vec<String> = names(&repository().join("examples"))
        .into_iter()
        .filter(|name| name.ends_with(".json"))
        .collect();
    assert!(plans.len() >= 6);
    for plan in plans {
        let path = format!("examples/{plan}");
        let args: Vec<&str> = ["plan", "check", path.as_str()].into_iter().chain(CONFIG).collect();
        world.run(&args);
        let command = format!("haft run --config examples/haft.toml {path}");
        assert!(readme.contains(&command), "{plan} is not run by examples/README.md");
    }
}

#[test]
fn the_first_command_of_the_readme_is_one_of_these() {
    let readme = fs::read_to_string(repository().join("README.md")).unwrap();
    let command = "cargo run --profile quick -p haft-cli --no-default-features --bin haft -- run --config \
                   examples/haft.toml examples/repository_report.json --input '{\"path\": \".\"}'\n";
    assert!(readme.contains(command));
}
