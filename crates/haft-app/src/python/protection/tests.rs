//! The names for protection, and the refusals, in directories that exist.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};

use super::*;
use crate::loaded_paths::RootProtection;

/// A directory with a root in it that is called `root`.
struct Place(tempfile::TempDir);

impl Place {
    fn new(directories: &[&str]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        for directory in ["root"].iter().chain(directories) {
            fs::create_dir_all(place.at(directory)).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn entry(&self, dir: &str) -> PythonEntry {
        PythonEntry::of_directory(self.at(dir))
    }

    fn check(&self, entry: &PythonEntry, unprotected: &[&str], expect: Expect) {
        let unprotected: Vec<String> = unprotected.iter().map(ToString::to_string).collect();
        let root = self.at("root");
        let found = RootProtection::of(&loaded_paths(entry), [&root].into_iter(), &unprotected);
        let shown = match found {
            Ok(found) => format!("{:?} {:?}", found.patterns, found.unknown(&unprotected)),
            Err(err) => {
                err.message.replace(self.at("").to_string_lossy().trim_end_matches('/'), "/place")
            }
        };
        expect.assert_eq(&shown);
    }
}

#[test]
fn directories_are_protected_with_all_that_is_beneath_and_where_they_will_be() {
    let place = Place::new(&["root/tools", "root/src/shop/tools", "elsewhere"]);
    place.check(&place.entry("root/tools"), &[], expect![[r#"["root/tools/**"] []"#]]);
    place.check(&place.entry("root/none/tools"), &[], expect![[r#"["root/none/tools/**"] []"#]]);
    place.check(&place.entry("elsewhere"), &[], expect!["[] []"]);
    let package_root = Some(place.at("root/src"));
    let package = PythonEntry { package_root, ..place.entry("root/src/shop/tools") };
    place.check(&package, &[], expect![[r#"["root/src/shop/tools/**", "root/src/**"] []"#]]);
    place.check(
        &package,
        &["src/**", ".envrc", "typo/**"],
        expect![[r#"["root/src/shop/tools/**"] ["typo/**"]"#]],
    );
    place.check(&place.entry("root/tools"), &["root/tools/**"], expect!["[] []"]);
}

#[test]
fn every_link_on_the_way_is_protected_and_what_it_leads_to() {
    let place = Place::new(&["root/real/tools", "elsewhere/tools"]);
    symlink("real", place.at("root/linked")).unwrap();
    symlink("../linked/tools", place.at("root/real/again")).unwrap();
    symlink(place.at("elsewhere"), place.at("root/away")).unwrap();
    symlink("loop", place.at("root/loop")).unwrap();
    place.check(
        &place.entry("root/linked/again"),
        &[],
        expect![[r#"["root/linked/**", "root/real/again/**", "root/real/tools/**"] []"#]],
    );
    place.check(&place.entry("root/away/tools"), &[], expect![[r#"["root/away/**"] []"#]]);
    place.check(&place.entry("root/loop"), &[], expect![[r#"["root/loop/**"] []"#]]);
}

#[test]
fn environments_and_interpreters_are_protected() {
    let place =
        Place::new(&["root/tools", "root/.venv/bin", "root/base/bin", "root/base/lib/python3.11"]);
    fs::write(
        place.at("root/.venv/pyvenv.cfg"),
        format!("home = {}\n", place.at("root/base/bin").display()),
    )
    .unwrap();
    let program = place.at("root/base/bin/python3");
    fs::write(&program, "").unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    symlink(&program, place.at("root/.venv/bin/python3")).unwrap();
    let with = |interpreter: &str| PythonEntry {
        interpreter: Some(place.at(interpreter)),
        ..place.entry("elsewhere")
    };
    place.check(
        &with("root/.venv"),
        &[],
        expect![[
            r#"["root/.venv/**", "root/base/bin/python3/**", "root/base/lib/python3.11/**"] []"#
        ]],
    );
    place.check(&with("root/.venv/bin/python3"), &[], expect![[r#"["root/.venv/bin/python3/**", "root/base/bin/python3/**", "root/.venv/**", "root/base/lib/python3.11/**"] []"#]]);
    place.check(
        &with("root/base/bin/python3"),
        &[],
        expect![[r#"["root/base/bin/python3/**", "root/base/lib/python3.11/**"] []"#]],
    );
    place.check(&with("root/none"), &[], expect![[r#"["root/none/**"] []"#]]);
    let bare = PythonEntry { interpreter: Some("python3".into()), ..place.entry("elsewhere") };
    place.check(
        &bare.resolve_paths(&place.at("root")),
        &[],
        expect![[r#"["root/python3/**"] []"#]],
    );
}

#[test]
fn what_cannot_be_protected_is_refused() {
    let place = Place::new(&["root/a*b/tools", "root/a\\b"]);
    place.check(&place.entry("root"), &[], expect!["the directory of Python tools /place/root is a root, so a change of files there would change the tools: put the tools into a directory of their own beneath the root, or name another root"]);
    place.check(&place.entry(""), &[], expect!["the directory of Python tools /place holds the root /place/root, so a change of files there would change the tools: put the tools into a directory of their own beneath the root, or name another root"]);
    place.check(&place.entry("root/a*b/tools"), &["a*b/tools/**"], expect![[r#"the directory of Python tools /place/root/a*b/tools lies in a root and cannot be protected there: expected a path in UTF-8 without * and \; rename it, or keep it outside of the roots"#]]);
    place.check(&place.entry("root/a\\b"), &[], expect![[r#"the directory of Python tools /place/root/a\b lies in a root and cannot be protected there: expected a path in UTF-8 without * and \; rename it, or keep it outside of the roots"#]]);
    let package_root = Some(place.at("root/a*b/../."));
    place.check(&PythonEntry { package_root, ..place.entry("root/tools") }, &[], expect!["package_root /place/root is a root, so a change of files there would change the tools: name a directory beneath the root that holds the packages of the tools and little else, such as src"]);
    fs::create_dir(place.at("root/bin")).unwrap();
    fs::write(place.at("root/pyvenv.cfg"), "").unwrap();
    fs::copy("/bin/true", place.at("root/bin/python3")).unwrap();
    let interpreter = Some(place.at("root/bin/python3"));
    place.check(&PythonEntry { interpreter, ..place.entry("root/tools") }, &[], expect!["the interpreter or virtual environment of Python tools /place/root is a root, so a change of files there would change the tools: make it in a separate directory, such as .venv"]);
}
