//! Real servers on small projects. `cargo xtask setup` installs them; if one is missing, its test
//! prints a note.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use haft_contract::Envelope;
use haft_lsp::builtin_languages;
use serde_json::{Value, json};

use crate::stage::{Found, Setting, Stage};

/// Prints on standard error that a test was skipped.
fn skipped(why: &str) {
    eprintln!("skipped: {why}");
}

fn data(envelope: &Envelope) -> &Value {
    match envelope {
        Envelope::Output { data, .. } => data,
        Envelope::Error { .. } => panic!("{}", envelope.text()),
    }
}

fn setting(language: &str, command: Vec<String>, readable: Vec<PathBuf>) -> Setting {
    let mut languages = builtin_languages();
    languages.retain(|known| known.name == language);
    for known in &mut languages {
        known.commands = vec![command.clone()];
    }
    Setting { languages, programs: Arc::new(Found(readable)), ..Setting::of_fixture("works") }
}

#[tokio::test]
async fn pyright_answers_about_python() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(node), Some(packages)) =
        (variable("HAFT_TEST_NODE"), variable("HAFT_TEST_NODE_PACKAGES"))
    else {
        return skipped(
            "HAFT_TEST_NODE and HAFT_TEST_NODE_PACKAGES are not set: cargo xtask setup",
        );
    };
    let script = Path::new(&packages).join("node_modules/pyright/langserver.index.js");
    let readable = vec![PathBuf::from(&node), Path::new(&packages).join("node_modules")];
    let script = script.to_str().unwrap().to_owned();
    let setting = setting("python", vec![node, script, "--stdio".to_owned()], readable);
    let files = [
        ("pyproject.toml", "[project]\nname = \"shop\"\n"),
        ("shop/__init__.py", ""),
        (
            "shop/price.py",
            "def total(amounts: list[int]) -> int:\n    \"\"\"Adds amounts.\"\"\"\n    return sum(amounts)\n",
        ),
        (
            "shop/order.py",
            "from shop.price import total\n\nprint(total([1, 2]))\nx: str = total([3])\n",
        ),
    ];
    let stage = Stage::new(setting, &files);
    let ask = async |input: Value| data(&stage.call(input).await).clone();
    let order = |operation: &str| json!({ "operation": operation, "path": "shop/order.py", "line": 3, "query": "total" });
    let found = ask(order("definitions")).await;
    assert_eq!(
        found["definitions"],
        json!(["shop/price.py:1:5: def total(amounts: list[int]) -> int:"])
    );
    let found = ask(order("references")).await;
    assert_eq!(found["references"].as_array().unwrap().len(), 4, "{found}");
    let found = ask(order("hover")).await;
    assert!(found["hover"].as_str().unwrap().contains("Adds amounts."), "{found}");
    let wrong = json!({ "operation": "diagnostics", "path": "shop/order.py" });
    let found = ask(wrong.clone()).await;
    let line = found["diagnostics"][0].as_str().unwrap();
    assert!(line.starts_with("shop/order.py:4:10: error[reportAssignmentType]"), "{found}");
    // A change of another file is noticed.
    stage
        .write("shop/price.py", "def total(amounts: list[int]) -> str:\n    return str(amounts)\n");
    let found = ask(wrong).await;
    assert_eq!(found["diagnostics"], json!([]), "{found}");
    let found = ask(json!({ "operation": "symbols", "path": "shop/price.py" })).await;
    assert!(found["symbols"][0].as_str().unwrap().contains("function total"), "{found}");
    let found =
        ask(json!({ "operation": "symbols", "path": "shop/price.py", "query": "total" })).await;
    assert!(found["symbols"].to_string().contains("shop/price.py:1:5: function total"), "{found}");
    stage.end().await;
}

#[tokio::test]
async fn the_compiler_of_typescript_answers_about_typescript() {
    let variable = |name: &str| std::env::var(name).ok();
    let (Some(node), Some(packages)) =
        (variable("HAFT_TEST_NODE"), variable("HAFT_TEST_NODE_PACKAGES"))
    else {
        return skipped(
            "HAFT_TEST_NODE and HAFT_TEST_NODE_PACKAGES are not set: cargo xtask setup",
        );
    };
    let script = Path::new(&packages).join("node_modules/typescript/bin/tsc");
    let readable = vec![PathBuf::from(&node), Path::new(&packages).join("node_modules")];
    let script = script.to_str().unwrap().to_owned();
    let command = vec![node, script, "--lsp".to_owned(), "--stdio".to_owned()];
    let setting = setting("typescript", command, readable);
    let files = [
        ("package.json", "{\"name\":\"shop\"}\n"),
        ("tsconfig.json", "{\"compilerOptions\":{\"strict\":true,\"module\":\"nodenext\"}}\n"),
        (
            "src/price.ts",
            "/** Adds amounts. */\nexport function total(amounts: number[]): number {\n  return amounts.length;\n}\n",
        ),
        (
            "src/order.ts",
            "import { total } from \"./price.js\";\n\nexport const sum = total([1, 2]);\nexport const wrong: string = total([3]);\n",
        ),
    ];
    let stage = Stage::new(setting, &files);
    let ask = async |input: Value| data(&stage.call(input).await).clone();
    let order = |operation: &str| json!({ "operation": operation, "path": "src/order.ts", "line": 3, "query": "total" });
    let found = ask(order("definitions")).await;
    let defined = "src/price.ts:2:17: export function total(amounts: number[]): number {";
    assert_eq!(found["definitions"], json!([defined]), "{found}");
    let found = ask(order("references")).await;
    assert_eq!(found["references"].as_array().unwrap().len(), 4, "{found}");
    let found = ask(order("hover")).await;
    assert!(found["hover"].as_str().unwrap().contains("Adds amounts."), "{found}");
    let wrong = json!({ "operation": "diagnostics", "path": "src/order.ts" });
    let found = ask(wrong.clone()).await;
    let line = found["diagnostics"][0].as_str().unwrap();
    assert!(line.starts_with("src/order.ts:4:14: error[2322]"), "{found}");
    // A change of another file is noticed.
    stage
        .write("src/price.ts", "export function total(amounts: number[]): any {\n  return 1;\n}\n");
    let found = ask(wrong).await;
    assert_eq!(found["diagnostics"], json!([]), "{found}");
    let symbols = |query: Option<&str>| json!({ "operation": "symbols", "path": "src/price.ts", "query": query });
    let found = ask(symbols(None)).await;
    assert_eq!(found["symbols"], json!(["src/price.ts:1:17: function total"]), "{found}");
    let found = ask(symbols(Some("total"))).await;
    assert_eq!(found["symbols"], json!(["src/price.ts:1:17: function total"]), "{found}");
    stage.end().await;
}

/// Returns a command's output, if it succeeds.
fn printed(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program).args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[tokio::test]
async fn rust_analyzer_answers_about_rust() {
    let sysroot = printed("rustc", &["--print", "sysroot"]);
    let (Some(sysroot), Some(_)) = (sysroot, printed("rust-analyzer", &["--version"])) else {
        return skipped("rust-analyzer does not run here: rustup component add rust-analyzer");
    };
    let sysroot = PathBuf::from(sysroot);
    let tools = sysroot.join("bin").to_str().unwrap().to_owned();
    let own = sysroot.join("bin/rust-analyzer");
    let program = if own.exists() {
        own
    } else {
        PathBuf::from(printed("which", &["rust-analyzer"]).unwrap())
    };
    let command = vec![program.to_str().unwrap().to_owned()];
    let mut setting = setting("rust", command, vec![sysroot, program]);
    setting.environment = vec![("PATH", format!("{tools}:/usr/bin:/bin"))];
    let files = [
        ("Cargo.toml", "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n"),
        (
            "Cargo.lock",
            "# This file is automatically @generated by Cargo.\n# It is not intended for manual editing.\nversion = 4\n\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\n",
        ),
        (
            "src/price.rs",
            "/// Adds amounts.\npub fn total(amounts: &[u32]) -> u32 {\n    amounts.iter().sum()\n}\n",
        ),
        ("src/main.rs", "mod price;\n\nfn main() {\n    let _sum = price::total(&[1, 2]);\n}\n"),
    ];
    let stage = Stage::new(setting, &files);
    let ask = async |input: Value| data(&stage.call(input).await).clone();
    let main = |operation: &str| json!({ "operation": operation, "path": "src/main.rs", "line": 4, "query": "total" });
    let found = ask(main("definitions")).await;
    assert_eq!(
        found["definitions"],
        json!(["src/price.rs:2:8: pub fn total(amounts: &[u32]) -> u32 {"]),
        "{found}"
    );
    let found = ask(main("references")).await;
    assert_eq!(found["references"].as_array().unwrap().len(), 2, "{found}");
    let found = ask(main("hover")).await;
    assert!(found["hover"].as_str().unwrap().contains("Adds amounts."), "{found}");
    let wrong = json!({ "operation": "diagnostics", "path": "src/main.rs" });
    let found = ask(wrong.clone()).await;
    assert_eq!(found["diagnostics"], json!([]), "{found}");
    // Only the compiler finds this error.
    let moved = "mod price;\n\nfn main() {\n    let a = vec![1];\n    drop(a);\n    let _sum = price::total(&a);\n}\n";
    stage.write("src/main.rs", moved);
    let found = ask(wrong).await;
    assert!(found["diagnostics"].to_string().contains("error[E0382]"), "{found}");
    let found = ask(json!({ "operation": "symbols", "path": "src/price.rs" })).await;
    assert_eq!(found["symbols"], json!(["src/price.rs:2:8: function total"]));
    stage.end().await;
}
