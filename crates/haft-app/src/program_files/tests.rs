//! The paths of a root that a command line loads, in directories that exist.

use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};

use super::*;
use crate::loaded_paths::RootProtection;

/// A directory with a root in it that is called `root`.
struct ProgramPlace(tempfile::TempDir);

impl ProgramPlace {
    fn new(files: &[(&str, &str)]) -> Self {
        let place = Self(tempfile::tempdir().unwrap());
        fs::create_dir(place.at("root")).unwrap();
        for (file, text) in files {
            fs::create_dir_all(place.at(file).parent().unwrap()).unwrap();
            fs::write(place.at(file), text).unwrap();
        }
        place
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    /// Checks the patterns of a command line that starts in the root, and the script that is not protected.
    fn check(&self, line: &str, search: &[&str], expect: Expect) {
        let words: Vec<&str> = line.split(' ').collect();
        let line = ProgramLine {
            what: "the MCP server odd".to_owned(),
            words,
            start: Some(self.at("root")),
            search_path: std::env::join_paths(search.iter().map(|path| self.at(path))).unwrap(),
            reads_roots: true,
        };
        let roots = [self.at("root")];
        let found = line.files(&roots);
        let shown = match RootProtection::of(&found.paths, roots.iter(), &[]) {
            Ok(RootProtection { patterns, .. }) => patterns.join(" "),
            Err(err) => err.message.replace(self.at("").to_str().unwrap(), "/place/"),
        };
        let alone = found.alone.map(|alone| match alone.can_be_isolated {
            true => " (isolated)",
            false => " (exposed)",
        });
        expect.assert_eq(&format!("{shown}{}", alone.unwrap_or_default()));
    }
}

#[test]
fn a_script_brings_its_directory_and_its_modules() {
    let place = ProgramPlace::new(&[
        ("root/tools/server.py", ""),
        ("root/tools/deep/server.js", ""),
        ("root/tools/package.json", "{}"),
        ("root/hook.js", ""),
    ]);
    place.check("python3 tools/server.py", &[], expect!["root/tools/server.py/** root/tools/**"]);
    place.check(
        "/usr/bin/env -i A=b python3.12 -u -W ignore tools/server.py data.txt",
        &[],
        expect!["root/tools/server.py/** root/tools/**"],
    );
    place.check(
        "node tools/deep/server.js",
        &[],
        expect!["root/tools/deep/server.js/** root/tools/deep/** root/tools/deep/node_modules/** root/tools/node_modules/** root/node_modules/** root/tools/deep/package.json/** root/tools/package.json/** root/tools/deep/tsconfig.json/** root/tools/tsconfig.json/** root/tsconfig.json/**"],
    );
    place.check("node --require=./hook.js -e 1", &[], expect!["root/hook.js/** root/node_modules/** root/package.json/** root/tsconfig.json/** (exposed)"]);
    place.check("bash later/none.sh", &[], expect!["root/later/none.sh/** root/later/**"]);
    place.check("bun install", &[], expect![""]);
    place.check("uv run --with x tools/server.py", &[], expect!["root/tools/server.py/** root/tools/** root/tools/.venv/** root/.venv/** root/tools/pyproject.toml/** root/pyproject.toml/** root/tools/uv.lock/** root/uv.lock/** root/tools/uv.toml/** root/uv.toml/**"]);
}

#[test]
fn a_program_is_known_by_its_first_line() {
    let place = ProgramPlace::new(&[
        ("root/bin/server", "#!/usr/bin/env node\n"),
        ("root/bin/binary", "\x7fELF"),
        ("root/run.sh", "#!/bin/sh\n"),
        ("root/server.py", ""),
    ]);
    place.check("./bin/binary", &[], expect!["root/bin/binary/** root/bin/**"]);
    place.check("./bin/server", &[], expect!["root/bin/server/** root/bin/** root/bin/node_modules/** root/node_modules/** root/bin/package.json/** root/package.json/** root/bin/tsconfig.json/** root/tsconfig.json/**"]);
    place.check("./run.sh", &[], expect!["root/run.sh/** (exposed)"]);
    place.check("python3 server.py", &[], expect!["root/server.py/** (isolated)"]);
}

#[test]
fn links_and_the_search_path_are_followed() {
    let place = ProgramPlace::new(&[
        ("root/real/server.py", ""),
        ("elsewhere/other.py", ""),
        ("usual/tool", ""),
        ("root/later/tool", ""),
    ]);
    fs::create_dir(place.at("root/tools")).unwrap();
    symlink("../real/server.py", place.at("root/tools/server.py")).unwrap();
    symlink(place.at("elsewhere/other.py"), place.at("root/tools/other.py")).unwrap();
    place.check(
        "python3 tools/server.py",
        &[],
        expect!["root/tools/server.py/** root/real/server.py/** root/tools/** root/real/**"],
    );
    place.check("python3 tools/other.py", &[], expect!["root/tools/other.py/** root/tools/**"]);
    place.check("tool", &["root/bin", "usual", "root/later"], expect!["root/bin/tool/**"]);
    place.check("tool", &["usual", "root/later"], expect![""]);
}

#[test]
fn an_environment_names_packages_that_are_installed_in_place() {
    let place = ProgramPlace::new(&[
        ("root/.venv/pyvenv.cfg", "home = /usr/bin\n"),
        ("root/.venv/bin/server", "#!/root/.venv/bin/python\n"),
        ("root/src/shop/__init__.py", ""),
        ("root/more/part.py", ""),
    ]);
    place.check(
        "./.venv/bin/server",
        &[],
        expect!["root/.venv/bin/server/** root/.venv/bin/** root/.venv/**"],
    );
    let site = place.at("root/.venv/lib/python3.12/site-packages");
    fs::create_dir_all(&site).unwrap();
    let list = format!("# own\nimport _virtualenv\n{}\n../none\n", place.at("root/src").display());
    fs::write(site.join("_shop.pth"), list).unwrap();
    let finder = format!("MAPPING = {{'part': '{}'}}\n", place.at("root/more/part.py").display());
    fs::write(site.join("__editable___part_finder.py"), finder).unwrap();
    let mut found = packages_in_place(&place.at("root/.venv"));
    found.sort();
    assert_eq!(found, ["root/more/part.py", "root/src"].map(|path| place.at(path)));
}

#[test]
fn interpreters_are_known_by_their_names_and_versions() {
    for program in
        ["python", "python3", "python3.12", "/usr/bin/python3.11", "node22", "nodejs", "php8.3"]
    {
        assert!(interpreter(program).is_some(), "{program}");
    }
    for program in ["python3-config", "nodemon", "3.12", "py", "node22x", "./perl/5.36", ""] {
        assert!(interpreter(program).is_none(), "{program}");
    }
}

#[test]
fn the_script_is_the_first_word_that_is_no_option() {
    let check = |line: &str, expect: Option<usize>| {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(script_place(&words), expect, "{line}");
    };
    check("node server.js data.js", Some(1));
    check("env A=b node --import x server.js", Some(5));
    check("python3 -um server", None);
    check("python3 -c code server.py", None);
    check("deno run -A server.ts", Some(3));
    check("cat server.js", None);
    check("", None);
}
