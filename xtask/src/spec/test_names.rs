//! The names of tests, read from the sources: a table can be checked without building a test.
//!
//! Tests that a macro makes have no names here.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use anyhow::Context as _;
use syn::{Attribute, Item};

use crate::files;
use crate::process::capture;

/// Returns the tests of these binaries, each as nextest prints it: the binary, a blank and the path.
pub(super) fn of_binaries(
    root: &Path,
    binaries: &BTreeSet<&str>,
) -> anyhow::Result<BTreeSet<String>> {
    let mut listing = Command::new("git");
    let arguments = ["ls-files", "-co", "--exclude-standard", "--", "crates/*.rs"];
    listing.current_dir(root).args(arguments);
    let mut tests = BTreeSet::new();
    for path in capture(&mut listing)?.lines() {
        let Some((binary, module)) = place(path) else { continue };
        let file = root.join(path);
        if !binaries.contains(binary.as_str()) || !file.is_file() {
            continue;
        }
        let parsed = syn::parse_file(&files::read(&file)?);
        let parsed = parsed.with_context(|| format!("{path} is not Rust"))?;
        add(&parsed.items, &format!("{binary} "), &module, &mut tests);
    }
    Ok(tests)
}

/// Returns the test binary that a file belongs to, and the file's module inside it.
fn place(path: &str) -> Option<(String, Vec<String>)> {
    let (package, rest) = path.strip_prefix("crates/")?.split_once('/')?;
    let (binary, file) = match rest.strip_prefix("tests/it/") {
        Some(file) => (format!("{package}::it"), file),
        None => (package.to_owned(), rest.strip_prefix("src/")?),
    };
    let mut module: Vec<String> = file.strip_suffix(".rs")?.split('/').map(str::to_owned).collect();
    if module.last().is_some_and(|last| last == "mod") || ["main.rs", "lib.rs"].contains(&file) {
        module.pop();
    }
    Some((binary, module))
}

/// Adds the tests among the items of a module.
fn add(items: &[Item], prefix: &str, module: &[String], tests: &mut BTreeSet<String>) {
    for item in items {
        match item {
            Item::Fn(function) if function.attrs.iter().any(is_test) => {
                let name = function.sig.ident.to_string();
                let path: Vec<&str> = module.iter().map(String::as_str).chain([&*name]).collect();
                tests.insert(format!("{prefix}{}", path.join("::")));
            }
            Item::Mod(inner) => {
                let Some((_, items)) = &inner.content else { continue };
                let module = [module, &[inner.ident.to_string()]].concat();
                add(items, prefix, &module, tests);
            }
            _ => {}
        }
    }
}

/// `#[test]`, and what async runtimes have in its place, such as `#[tokio::test]`.
fn is_test(attribute: &Attribute) -> bool {
    attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_a_binary_and_a_module() {
        for (path, expect) in [
            ("crates/a/tests/it/main.rs", Some("a::it ")),
            ("crates/a/tests/it/b/c.rs", Some("a::it b::c")),
            ("crates/a/tests/it/b/mod.rs", Some("a::it b")),
            ("crates/a/src/lib.rs", Some("a ")),
            ("crates/a/src/b/tests.rs", Some("a b::tests")),
            ("crates/a/examples/b.rs", None),
            ("xtask/src/main.rs", None),
        ] {
            let found =
                place(path).map(|(binary, module)| format!("{binary} {}", module.join("::")));
            assert_eq!(found.as_deref(), expect, "{path}");
        }
    }

    #[test]
    fn functions_with_the_attribute_are_tests() {
        let source = "fn no() {}\n#[test]\nfn yes() {}\n#[tokio::test(flavor = \"x\")]\nasync fn also() {}\n\
                      mod inner { #[test] fn deep() {} }\n";
        let parsed = syn::parse_file(source).expect("it is Rust");
        let mut tests = BTreeSet::new();
        add(&parsed.items, "a::it ", &["b".to_owned()], &mut tests);
        let expect = ["a::it b::also", "a::it b::inner::deep", "a::it b::yes"];
        assert_eq!(tests.iter().collect::<Vec<_>>(), expect);
    }
}
