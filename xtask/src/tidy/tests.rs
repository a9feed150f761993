use serde_json::json;

use super::*;
use crate::repository::{Package, parse_package};

/// Compares what a check says about one file, as `line: message`, with what it should say.
fn check_file(
    check: fn(&RepositoryFile) -> Vec<TidyViolation>,
    path: &str,
    text: &str,
    expect: &[&str],
) {
    let said: Vec<String> = check(&RepositoryFile::new(path, text))
        .iter()
        .map(|violation| {
            assert_eq!(violation.path, path);
            format!("{}: {}", violation.line, violation.message)
        })
        .collect();
    assert_eq!(said.len(), expect.len(), "{path}\n{text}\n{said:#?}");
    for (said, expect) in said.iter().zip(expect) {
        assert!(said.contains(expect), "{path}\n{text}\nsaid {said}, not {expect}");
    }
}

/// Compares whole lines as tidy prints them.
fn check_lines(violations: &[TidyViolation], expect: &[&str]) {
    let said: Vec<String> = violations.iter().map(ToString::to_string).collect();
    assert_eq!(said, expect);
}

fn sources(files: &[(&str, &str)]) -> Vec<RepositoryFile> {
    files.iter().map(|(path, text)| RepositoryFile::new(*path, *text)).collect()
}

/// Makes a package as `cargo metadata` describes it; a name that starts with `haft` is one of ours.
fn package(name: &str, manifest: &str, dependencies: &[(&str, Option<&str>)]) -> Package {
    let dependencies: Vec<_> = dependencies
        .iter()
        .map(|(name, kind)| {
            let path = name.starts_with("haft").then(|| format!("/w/crates/{name}"));
            json!({"name": name, "kind": kind, "path": path})
        })
        .collect();
    let manifest = format!("/w/{manifest}");
    let value = json!({"name": name, "manifest_path": manifest, "dependencies": dependencies});
    parse_package(&value, "/w").expect("the package is complete")
}

const ROWS: &[CrateEdges] = &[
    CrateEdges { name: "haft-a", dependencies: &[], dev_dependencies: &[] },
    CrateEdges { name: "haft-b", dependencies: &["haft-a"], dev_dependencies: &["haft-c"] },
];

#[test]
fn edges_are_those_of_the_table() {
    let a = || package("haft-a", "crates/haft-a/Cargo.toml", &[("serde", None)]);
    let b = |dependencies: &[_]| package("haft-b", "crates/haft-b/Cargo.toml", dependencies);
    let check = |packages: &[Package], expect: &[&str]| {
        check_lines(&crates::check_edges(packages, ROWS), expect);
    };
    check(&[a(), b(&[("haft-a", None), ("haft-c", Some("dev"))])], &[]);
    check(
        &[a(), b(&[("haft-c", None)])],
        &[
            "crates/haft-b/Cargo.toml:1: `haft-b` may not depend on `haft-c`; edges point down only, \
           and the allowed ones are CRATE_EDGES in xtask/src/tidy.rs",
        ],
    );
    check(
        &[a()],
        &["xtask/src/tidy.rs:1: CRATE_EDGES names `haft-b`, which is no crate; delete the entry"],
    );
    check(
        &[a(), b(&[]), package("haft-d", "crates/haft-d/Cargo.toml", &[])],
        &["crates/haft-d/Cargo.toml:1: `haft-d` has no row in CRATE_EDGES of xtask/src/tidy.rs"],
    );
    check(
        &[package("haft-a", "crates/haft-a/Cargo.toml", &[("haft-b", Some("dev"))]), b(&[])],
        &[
            "crates/haft-a/Cargo.toml:1: `haft-a` may not depend on `haft-b`; edges point down only, \
           and the allowed ones are CRATE_EDGES in xtask/src/tidy.rs",
        ],
    );
}

/// Parses files given as path and text, as production code.
fn production(files: &[(&str, &str)]) -> Vec<ProductionFile> {
    parse_production(&sources(files)).expect("the files are Rust")
}

#[test]
fn modules_import_from_earlier_ones_only() {
    const ORDER: &[order::ModuleOrder] =
        &[order::ModuleOrder { crate_name: "a", modules: &["low", "high"] }];
    let check = |low: &str, part: &str, orders: &[order::ModuleOrder], expect: &[&str]| {
        let files = [
            ("crates/a/src/lib.rs", "mod high;\nmod low;\npub use high::High;\npub struct Root;"),
            ("crates/a/src/low.rs", low),
            (
                "crates/a/src/high.rs",
                "mod part;\nuse crate::low::Low;\nuse part::Part;\npub struct High;",
            ),
            ("crates/a/src/high/part.rs", part),
        ];
        check_lines(&order::check(&production(&files), orders), expect);
    };
    let low = "pub struct Low;";
    check(low, "use super::High;", ORDER, &[]);
    check(
        "use std::fmt;\nuse crate::High;",
        "",
        ORDER,
        &["crates/a/src/low.rs:2: imports from crates/a/src/high.rs, but MODULE_ORDER in \
         xtask/src/tidy/order.rs does not have its module earlier"],
    );
    check(
        "fn f() { g(crate::Root) }",
        "",
        ORDER,
        &["crates/a/src/low.rs:1: imports from crates/a/src/lib.rs, but MODULE_ORDER in \
         xtask/src/tidy/order.rs does not have its module earlier"],
    );
    check("#[cfg(test)]\nmod tests { use crate::High; }", "", ORDER, &[]);
    check(
        low,
        "",
        &[],
        &["xtask/src/tidy/order.rs:1: `a` has no row in MODULE_ORDER; this one has the fewest \
         imports from later modules: [\"low\", \"high\"]"],
    );
}

#[test]
fn modules_that_a_row_does_not_name_import_from_those_before_them() {
    const ORDER: &[order::ModuleOrder] =
        &[order::ModuleOrder { crate_name: "a", modules: &["low", order::OTHER_MODULES, "high"] }];
    let check = |one: &str, expect: &[&str]| {
        let files = [
            ("crates/a/src/lib.rs", "mod high;\nmod low;\nmod one;\nmod two;"),
            ("crates/a/src/low.rs", "pub struct Low;"),
            ("crates/a/src/one.rs", one),
            ("crates/a/src/two.rs", "use crate::low::Low;\npub struct Two;"),
            ("crates/a/src/high.rs", "use crate::{one, two};\npub struct High;"),
        ];
        check_lines(&order::check(&production(&files), ORDER), expect);
    };
    check("use crate::low::Low;", &[]);
    check(
        "use crate::two::Two;",
        &["crates/a/src/one.rs:1: imports from crates/a/src/two.rs, but MODULE_ORDER in \
         xtask/src/tidy/order.rs does not have its module earlier"],
    );
    check(
        "use crate::high::High;",
        &["crates/a/src/one.rs:1: imports from crates/a/src/high.rs, but MODULE_ORDER in \
         xtask/src/tidy/order.rs does not have its module earlier"],
    );
}

#[test]
fn files_of_one_module_do_not_import_one_another() {
    const ORDER: &[order::ModuleOrder] = &[order::ModuleOrder { crate_name: "a", modules: &["m"] }];
    let files = [
        ("crates/a/src/lib.rs", "mod m;"),
        ("crates/a/src/m.rs", "mod x;\nmod y;"),
        ("crates/a/src/m/x.rs", "use super::y::Y;\npub struct X;"),
        ("crates/a/src/m/y.rs", "pub struct Y(super::x::X);"),
    ];
    check_lines(
        &order::check(&production(&files), ORDER),
        &["crates/a/src/m/x.rs:1: these files import one another: crates/a/src/m/x.rs, \
           crates/a/src/m/y.rs"],
    );
}

#[test]
fn visible_type_names_are_unique() {
    let check = |a: &str, b: &str, expect: &[&str]| {
        let files = [("crates/a/src/lib.rs", a), ("crates/b/src/lib.rs", b)];
        check_lines(&type_names::check(&production(&files)), expect);
    };
    check("struct A;", "struct A;", &[]);
    check(
        "pub struct A;",
        "\nenum A {}",
        &["crates/a/src/lib.rs:1: the visible type `A` has the name of a type in \
         crates/b/src/lib.rs; add to it the noun that tells them apart"],
    );
    check("#[cfg(test)]\nmod tests { pub struct A; }", "pub struct A;", &[]);
}

#[test]
fn allowances_for_prose_only_shrink() {
    let check = |comment: &str, baseline: &str, expect: &[&str]| {
        let files = [("a.rs", comment), (prose::BASELINE_PATH, baseline)];
        check_lines(&prose::check(&sources(&files), &[]), expect);
    };
    let advice = "name the actor: haft, the client, the user, the process";
    let nobody = "// Nobody waits.";
    check(nobody, "a.rs: 1\n", &[]);
    check(nobody, "", &[&format!("a.rs:1: `nobody`: {advice}")]);
    check(
        "// Nobody. Nobody.",
        "a.rs: 1\n",
        &["a.rs:1: 2 places need plainer words, 1 were allowed; `cargo xtask tidy --prose a.rs` \
         lists them"],
    );
    check(
        "// The client waits.",
        "a.rs: 1\n",
        &[
            "xtask/src/tidy/prose_baseline.txt:1: a.rs has 0 places that need plainer words and 1 are \
         allowed; `cargo xtask tidy --lower` lowers the number",
        ],
    );
}

#[test]
fn the_real_table_has_no_cycle() {
    // A row may name only rows above it, which is what «down» means.
    for (index, row) in CRATE_EDGES.iter().enumerate() {
        let above: Vec<&str> = CRATE_EDGES[..index].iter().map(|row| row.name).collect();
        for dependency in row.dependencies {
            assert!(above.contains(dependency), "{} -> {dependency}", row.name);
        }
    }
}

#[test]
fn crates_live_under_their_name() {
    let check = |name, manifest, expect: &[&str]| {
        check_lines(&crates::check_places(&[package(name, manifest, &[])]), expect);
    };
    check("haft-a", "crates/haft-a/Cargo.toml", &[]);
    check("xtask", "xtask/Cargo.toml", &[]);
    let message = "`haft-a` belongs at crates/haft-a/Cargo.toml, one level deep";
    for manifest in ["crates/a/Cargo.toml", "crates/core/haft-a/Cargo.toml", "haft-a/Cargo.toml"] {
        check("haft-a", manifest, &[&format!("{manifest}:1: {message}")]);
    }
}

#[test]
fn restricted_dependencies_have_few_users() {
    const TABLE: &[RestrictedDependency] = &[
        RestrictedDependency { name: "free", users: &["haft-a"], in_tests: InTests::Anywhere },
        RestrictedDependency { name: "bound", users: &["haft-a"], in_tests: InTests::UsersOnly },
    ];
    let check = |dependencies: &[_], expect: &[&str]| {
        let user = package("haft-a", "a", &[("free", None), ("bound", None)]);
        let other = package("haft-b", "b", dependencies);
        check_lines(&crates::check_restricted(&[user, other], TABLE), expect);
    };
    check(&[("free", Some("dev")), ("serde", None)], &[]);
    let alone =
        |name| format!("b:1: `haft-b` may not depend on `{name}`, which belongs to haft-a alone");
    check(&[("free", None)], &[&alone("free")]);
    check(&[("free", Some("build"))], &[&alone("free")]);
    check(&[("bound", Some("dev"))], &[&alone("bound")]);
    let stale = "xtask/src/tidy.rs:1: RESTRICTED_DEPENDENCIES names `haft-a`, which is no crate; \
                 delete the entry";
    check_lines(&crates::check_restricted(&[], TABLE), &[stale, stale]);
}

#[test]
fn long_files_fail_and_so_do_stale_exceptions() {
    let line = "fn f() {}\n";
    let tests = "#[cfg(test)]\n#[expect(x)]\nmod tests {\n    fn a() { }\n}\n";
    let at_limit = line.repeat(FILE_LINES_MAX);
    let over = line.repeat(FILE_LINES_MAX + 1);
    let check = |path: &str, text: &str, exceptions: &[&str], expect: &[&str]| {
        check_lines(&files::check_lengths(&sources(&[(path, text)]), exceptions), expect);
    };
    let long = "src/a.rs:801: 801 lines, at most 800; split it by the nouns in it";
    check("src/a.rs", &at_limit, &[], &[]);
    check("src/a.rs", &over, &[], &[long]);
    check("src/a.rs", &over, &["src/a.rs"], &[]);
    check("src/a/tests.rs", &over, &[], &[]);
    check("crates/a/tests/it/b.rs", &over, &[], &[]);
    check("a.md", &over, &[], &[]);
    // An inline test module is not counted, what follows it is.
    check("src/a.rs", &format!("{at_limit}{tests}"), &[], &[]);
    check("src/a.rs", &format!("{tests}{over}"), &[], &[long]);
    // A declaration and a single test-only item are production lines like others.
    check("src/a.rs", &format!("#[cfg(test)]\nmod tests;\n{}", line.repeat(799)), &[], &[long]);
    check("src/a.rs", &format!("#[cfg(test)]\nfn f() {{ }}\n{}", line.repeat(799)), &[], &[long]);
    let stale = "not longer than others any more; delete it from LONG_FILES in xtask/src/tidy.rs";
    check("src/a.rs", line, &["src/a.rs"], &[&format!("src/a.rs:1: {stale}")]);
    check("src/a.rs", line, &["src/gone.rs"], &[&format!("src/gone.rs:1: {stale}")]);
}

#[test]
fn files_open_with_what_they_are_for() {
    let check =
        |path, text: &str, expect: &[&str]| check_file(files::check_header, path, text, expect);
    check("src/a.rs", "//! Reads.\n", &[]);
    check("src/a.rs", "use b;\n//! Late.\n", &["1: open with a `//!` paragraph"]);
    check("src/a.rs", "/// Of an item.\n", &["1: open with"]);
    check("src/a.rs", "", &["1: open with"]);
    check("src/a/tests.rs", "use super::*;\n", &[]);
    check("crates/a/tests/fixtures/b.rs", "fn f() {}\n", &[]);
    check("a.toml", "[package]\n", &[]);
}

#[test]
fn integration_tests_are_one_binary() {
    let check = |path, expect: &[&str]| check_file(files::check_test_place, path, "", expect);
    check("crates/a/tests/it/main.rs", &[]);
    check("crates/a/tests/it/deep/b.rs", &[]);
    check("crates/a/tests/fixtures/b.txt", &[]);
    check("crates/a/src/tests/b.rs", &[]);
    check("crates/a/tests/b.rs", &["1: integration tests are modules of tests/it/main.rs"]);
    check("crates/a/tests/data.json", &["1: integration tests"]);
    check("crates/a/tests/item/main.rs", &["1: integration tests"]);
}

#[test]
fn modules_are_declared() {
    let check = |files: &[(&str, &str)], expect: &[&str]| {
        check_lines(&files::check_declared(&sources(files)), expect);
    };
    let lost = |path: &str, module: &str, parent: &str| {
        format!("{path}:1: never built: declare `mod {module};` in {parent}, or delete the file")
    };
    check(&[("crates/a/src/lib.rs", "pub mod b;"), ("crates/a/src/b.rs", "")], &[]);
    check(
        &[("crates/a/src/lib.rs", "// mod b;\nmod bc;\nb;"), ("crates/a/src/b.rs", "")],
        &[&lost("crates/a/src/b.rs", "b", "crates/a/src/lib.rs")],
    );
    check(
        &[
            ("crates/a/src/main.rs", "mod b;"),
            ("crates/a/src/b.rs", "#[cfg(test)]\nmod tests;"),
            ("crates/a/src/b/tests.rs", ""),
            ("crates/a/src/b/lost.rs", ""),
            ("crates/a/src/b/deep/mod.rs", ""),
        ],
        &[
            &lost("crates/a/src/b/lost.rs", "lost", "crates/a/src/b.rs"),
            &lost("crates/a/src/b/deep/mod.rs", "deep", "crates/a/src/b.rs"),
        ],
    );
    check(
        &[
            ("crates/a/tests/it/main.rs", "mod call;"),
            ("crates/a/tests/it/call.rs", ""),
            ("crates/a/tests/it/lost.rs", ""),
        ],
        &[&lost("crates/a/tests/it/lost.rs", "lost", "crates/a/tests/it/main.rs")],
    );
    check(
        &[("crates/a/src/x/tests.rs", "")],
        &[&lost("crates/a/src/x/tests.rs", "tests", "its parent module")],
    );
    // Files that Cargo finds or that another file names need no declaration.
    check(
        &[("crates/a/src/bin/b.rs", ""), ("crates/a/build.rs", ""), ("crates/a/examples/c.rs", "")],
        &[],
    );
    check(
        &[("crates/a/src/lib.rs", "#[path = \"odd/b.rs\"]\nmod c;"), ("crates/a/src/odd/b.rs", "")],
        &[],
    );
}

#[test]
fn fuzz_targets_are_built() {
    let check = |manifest: &str, expect: &[&str]| {
        let files = [("fuzz/Cargo.toml", manifest), ("fuzz/fuzz_targets/a.rs", "")];
        check_lines(&files::check_fuzz_targets(&sources(&files)), expect);
    };
    check("[[bin]]\nname = \"a\"\n", &[]);
    check(
        "[[bin]]\nname = \"b\"\n",
        &[
            "fuzz/fuzz_targets/a.rs:1: never built: add a [[bin]] with name = \"a\" to fuzz/Cargo.toml",
        ],
    );
    check("[", &["fuzz/Cargo.toml:1: fuzz/Cargo.toml is not TOML"]);
}

#[test]
fn empty_names_are_refused() {
    let check =
        |path, text: &str, expect: &[&str]| check_file(words::check_names, path, text, expect);
    check("src/tool.rs", "struct Tool; enum Kind {} mod call {}", &[]);
    check("src/utils.rs", "", &["1: `utils` says nothing as a module's name"]);
    check("crates/a/tests/it/common/b.rs", "", &["1: `common` says nothing"]);
    check("src/a.rs", "mod helpers {}", &["1: `helpers`"]);
    check("src/a.rs", "\npub struct FileManager {", &["2: `FileManager` ends in a word"]);
    check("src/a.rs", "enum CommonTypes {}", &["1: `CommonTypes`"]);
    check("src/a.rs", "trait Service {}", &["1: `Service`"]);
    check("src/a.rs", "pub(crate) type ToolService = A;", &["1: `ToolService`"]);
    // Other people's traits and their associated types are not ours to name.
    check("src/a.rs", "impl Service for A {\n    type Service = B;\n}", &[]);
    check("src/a.rs", "use x::RequestManager; fn f(s: &impl Service) {}", &[]);
    check("src/a.rs", "// struct FooManager\nlet s = \"mod utils\";", &[]);
    check("src/a.rs", "struct Managerial; struct ServiceName; struct FileType;", &[]);
    check("docs/common/types.md", "", &[]);
}

#[test]
fn markers_are_found_where_people_write_them() {
    let check =
        |path, text: &str, expect: &[&str]| check_file(words::check_markers, path, text, expect);
    for marker in ["to do", "fix me", "x x x"] {
        let marker = marker.replace(' ', "").to_uppercase();
        let expect: &[&str] = &[&format!("2: {marker}: do it now")];
        check("a.rs", &format!("\n// {marker}: later"), expect);
        check("a.rs", &format!("\n/* ({marker}) */"), expect);
        check("a.toml", &format!("\n# {marker} later"), expect);
        check("bin/run", &format!("\n# {marker} later"), expect);
        check("a.md", &format!("\n{marker} write this."), expect);
        check("a.rs", &format!("let s = \"{marker}\";"), &[]);
        check("a.rs", &format!("// mktemp {marker}{marker}, a{marker}"), &[]);
        check("a.md", &format!("`grep {marker}`\n```\ngrep {marker}\n```\n"), &[]);
        check("a.svg", &marker, &[]);
    }
    check("a.rs", "// The tool todo keeps a list.", &[]);
}

#[test]
fn forgotten_macros_are_found_in_code_only() {
    let check =
        |text: &str, expect: &[&str]| check_file(words::check_macros, "src/a.rs", text, expect);
    check("\n    dbg!(x);", &["2: `dbg!` stayed behind"]);
    check("todo!()", &["1: `todo!`"]);
    check("unimplemented!(\"x\")", &["1: `unimplemented!`"]);
    check("#[ignore]\nfn f() {}", &["1: `#[ignore`"]);
    check("#[ignore = \"slow\"]", &["1: `#[ignore`"]);
    check("// dbg!(x)\nlet s = \"todo!()\"; my_dbg!(x); #[ignored]", &[]);
}

#[test]
fn places_on_one_machine_are_refused() {
    let check =
        |text: &str, expect: &[&str]| check_file(words::check_machine_paths, "a.md", text, expect);
    let slash = '/';
    for (text, name) in [
        (format!("see {slash}root/x"), "root/"),
        (format!("\"{slash}root/x\""), "root/"),
        (format!("PATH=a:{slash}home/bob/bin"), "home/bob"),
        (format!("file://{slash}home/bob-2"), "home/bob-2"),
        (format!("{slash}Users/bob/src"), "Users/bob"),
    ] {
        check(&format!("\n{text}"), &[&format!("2: `/{name}` is a place on one machine")]);
    }
    for text in
        ["/home/you/src", "/home/alice", "crates/a/src/root/open.rs", "/home/", "/home/<name>"]
    {
        check(text, &[]);
    }
    check(&format!("{{root}}{slash}root/x"), &[]);
    for host in
        ["https://index. crates.example", "sparse +http://x", "my arti factory", "replace -with"]
    {
        let host =
            host.replace(". c", ".c").replace("i f", "if").replace(" +", "+").replace(" -", "-");
        check(&host, &["belongs in a person's own configuration"]);
    }
    check("https://github.com/rust-lang/crates.io-index https://crates.io", &[]);
}

#[test]
fn unsafe_has_one_home_and_an_argument() {
    let check = |path, text: &str, expect: &[&str]| {
        check_file(attributes::check_unsafe, path, text, expect)
    };
    let (sandbox, other) = ("crates/haft-sandbox/src/a.rs", "crates/haft/src/a.rs");
    check(
        other,
        "// SAFETY: none.\nunsafe { f() }",
        &["2: `unsafe` belongs in crates/haft-sandbox/"],
    );
    check(other, "#![forbid(unsafe_code)]\n// unsafe\nlet s = \"unsafe\";", &[]);
    check(sandbox, "unsafe { f() }", &["1: say in a `// SAFETY:` comment"]);
    check(sandbox, "// SAFETY: f is pure.\nunsafe { f() }", &[]);
    check(sandbox, "unsafe { f() } // SAFETY: f is pure.", &[]);
    check(
        sandbox,
        "// SAFETY: f\n// is\n// very\n// very\n// pure.\nlet a =\n    unsafe { f() };",
        &[],
    );
    check(sandbox, "// SAFETY: old.\na();\nb();\nunsafe { f() }", &[]);
    check(sandbox, "// SAFETY: old.\na();\nb();\nc();\nunsafe { f() }", &["5: say"]);
    check(sandbox, "/// # Safety\n///\n/// Call once.\npub unsafe fn f() {}", &[]);
    check(sandbox, "unsafe impl Send for A {}", &["1: say"]);
}

#[test]
fn allow_needs_a_reason() {
    let check =
        |text: &str, expect: &[&str]| check_file(attributes::check_allow, "src/a.rs", text, expect);
    check("\n#[allow(dead_code)]\nfn f() {}", &["2: write `#[expect("]);
    check("fn f() {\n    #![allow(x)]", &["2: write"]);
    check("#[allow(\n    dead_code,\n    reason = \"called by C\"\n)]", &[]);
    check("#[expect(dead_code)]", &[]);
    check("// #[allow(dead_code)]\nlet s = \"#[allow(x)]\";", &[]);
}

#[test]
fn documents_name_what_exists() {
    let check = |architecture: &str, expect: &[&str]| {
        let files = [
            ("README.md", "`crates/haft-a` and `cargo xtask tidy`"),
            ("ARCHITECTURE.md", architecture),
            ("crates/haft-a/src/lib.rs", ""),
        ];
        check_lines(&documents::check(&sources(&files)), expect);
    };
    check("`crates/haft-a/src/lib.rs`, `crates/haft-a/`, `crates/haft-a/src/*.rs`.", &[]);
    check("```\ncrates/haft-a   what a is\n```\n", &[]);
    let gone = |line, name| {
        format!("ARCHITECTURE.md:{line}: `{name}` does not exist; mend or delete the name")
    };
    check("\nsee `crates/haft-b`.", &[&gone(2, "crates/haft-b")]);
    check("```\nxtask/src/x.rs   what\n```\n", &[&gone(2, "xtask/src/x.rs")]);
    check("`crates/haft`", &[&gone(1, "crates/haft")]);
    check(&"a\n".repeat(ARCHITECTURE_LINES_MAX), &[]);
    check(
        &"a\n".repeat(ARCHITECTURE_LINES_MAX + 1),
        &["ARCHITECTURE.md:251: 251 lines, at most 250; say less"],
    );
    check_lines(
        &documents::check(&[]),
        &[
            "ARCHITECTURE.md:1: missing; every reader starts there",
            "README.md:1: missing; every reader starts there",
        ],
    );
}

#[test]
fn manifests_inherit_from_the_workspace() {
    let check = |manifest: &str, expect: &[&str]| {
        let root = "[workspace.dependencies]\nserde = \"1\"\ntoml = \"1\"\n";
        let files = [("Cargo.toml", root), ("crates/a/Cargo.toml", manifest)];
        check_lines(&manifests::check(&sources(&files)), expect);
    };
    let lints = "[lints]\nworkspace = true\n";
    let uses = "serde.workspace = true\ntoml = { workspace = true, features = [\"x\"] }\n";
    check(&format!("{lints}[dependencies]\n{uses}"), &[]);
    check(&format!("{lints}[target.'cfg(unix)'.dev-dependencies]\n{uses}"), &[]);
    check(
        &format!("[dependencies]\n{uses}"),
        &["crates/a/Cargo.toml:1: inherit the lints: `[lints]` with `workspace = true`"],
    );
    check(
        &format!("{lints}[dependencies]\ntoml = \"1\"\n"),
        &[
            "crates/a/Cargo.toml:4: write `toml.workspace = true` and give the version in Cargo.toml",
            "Cargo.toml:2: no crate uses `serde`; delete it",
        ],
    );
    // The fuzz targets are a workspace of their own.
    let fuzz = sources(&[("fuzz/Cargo.toml", "[dependencies]\ntoml = \"1\"\n")]);
    check_lines(&manifests::check(&fuzz), &[]);
}

#[test]
fn all_checks_run_and_report_in_order() {
    let repository = Repository {
        sources: sources(&[("src/b.rs", "dbg!(1);"), ("README.md", ""), ("ARCHITECTURE.md", "")]),
        packages: CRATE_EDGES
            .iter()
            .map(|row| match row.name {
                "xtask" => package("xtask", "xtask/Cargo.toml", &[]),
                name => package(name, &format!("crates/{name}/Cargo.toml"), &[]),
            })
            .collect(),
    };
    let mut violations = violations(&repository, &[]);
    // Tables of the real repository name files that this one lacks.
    violations.retain(|violation| violation.path == "src/b.rs");
    check_lines(
        &violations,
        &[
            "src/b.rs:1: `dbg!` stayed behind: delete it",
            "src/b.rs:1: never built: declare `mod b;` in its parent module, or delete the file",
            "src/b.rs:1: open with a `//!` paragraph: what the file is for and what it does not do",
        ],
    );
}

#[test]
fn a_guard_has_one_caller() {
    let row = callers::SoleCaller {
        function: "danger",
        defined_in: "a.rs",
        called_in: "b.rs",
        why: "it is one",
    };
    let check = |files: &[(&str, &str)], expect: &[&str]| {
        check_lines(&callers::check(&sources(files), std::slice::from_ref(&row)), expect);
    };
    let (defined, called) = (("a.rs", "fn danger() {}"), ("b.rs", "danger();"));
    check(&[defined, called, ("tests/it/c.rs", "danger();"), ("d.rs", "// danger")], &[]);
    check(
        &[defined, called, ("c.rs", "\ndanger();")],
        &["c.rs:2: `danger` is called in b.rs only: it is one"],
    );
    check(&[defined], &["b.rs:1: `danger` is not called here any more: mend the row in tidy"]);
}
