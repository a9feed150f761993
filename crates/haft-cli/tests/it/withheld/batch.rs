//! Runs many attempts in few processes: each in a separate directory, with the same files, once under the rules and once
//! without rules and sandbox, which shows that it is an attempt.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::world::World;

/// The denied text.
pub(super) const SECRET: &str = "s3cr3t-of-the-user";

/// The rules, under which ordinary commands run without questions.
pub(super) const RULES: &str = r#"
[[permissions]]
permission = "*"
action = "allow"

[[permissions]]
permission = "fs.read"
pattern = ".env"
action = "deny"

[[permissions]]
permission = "fs.read"
pattern = "**/secrets/**"
action = "deny"

[[permissions]]
permission = "fs.read"
pattern = "secrets/public.txt"
action = "allow"

[[permissions]]
permission = "fs.write"
pattern = "lock.txt"
action = "deny"
"#;

/// How long a batch may take, in milliseconds.
const BATCH_MS_MAX: u64 = 120_000;

/// One attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attempt {
    pub(super) script: &'static str,
    pub(super) needs: Needs,
}

/// The condition under which an attempt can succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Needs {
    Nothing,
    /// A program that may not be installed.
    Program(&'static str),
    /// Something that this machine, or haft without its sandbox, may not offer.
    Offer,
}

pub(super) const fn attempt(script: &'static str) -> Attempt {
    Attempt { script, needs: Needs::Nothing }
}

impl Attempt {
    /// Returns whether the attempt must succeed without rules and sandbox.
    fn must_succeed(&self) -> bool {
        match self.needs {
            Needs::Nothing => true,
            Needs::Program(name) => {
                ["/usr/bin", "/bin"].iter().any(|place| Path::new(place).join(name).exists())
            }
            Needs::Offer => false,
        }
    }
}

/// The program that runs the attempts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Runner {
    Shell,
    Python,
    Node,
}

impl Runner {
    fn script(self) -> &'static str {
        match self {
            Self::Shell => {
                r#"R=$PWD; O=$R/../other; export R O
for f in attempts/*; do
    n=${f##*/}; export D="$R/c/$n" T; T=$(mktemp -d); cd "$D"; printf '\n=== %s\n' "$n"
    timeout 10 bash "$R/$f" 2>&1 </dev/null; cd "$R"; rm -rf "$T"
done; exit 0
"#
            }
            Self::Python => {
                r#"import codecs, ctypes, fileinput, glob, importlib.machinery, io, linecache, mmap, os, pathlib, shutil
import sqlite3, subprocess, sys, tarfile, tempfile, threading, urllib.request, zipfile
R = os.getcwd()
O = R + "/../other"
for n in sorted(os.listdir("attempts")):
    text = open(f"{R}/attempts/{n}").read()
    D, T = f"{R}/c/{n}", tempfile.mkdtemp()
    os.chdir(D)
    print("\n===", n, flush=True)
    # Some change the process for good.
    child = os.fork()
    if child == 0:
        try:
            exec(text)
        except BaseException as err:
            print(type(err).__name__, err)
        sys.stdout.flush()
        os._exit(0)
    os.waitpid(child, 0)
    os.chdir(R)
"#
            }
            Self::Node => {
                r#"const fs = require('fs'), child = require('child_process'), os = require('os');
const R = process.cwd(), O = R + '/../other';
for (const n of fs.readdirSync('attempts').sort()) {
    const text = fs.readFileSync(`${R}/attempts/${n}`, 'utf8');
    const D = `${R}/c/${n}`, T = fs.mkdtempSync(os.tmpdir() + '/t');
    process.chdir(D);
    console.log('\n===', n);
    try { eval(`{ ${text} }`); } catch (err) { console.log(String(err)); }
    process.chdir(R);
}
"#
            }
        }
    }

    fn program(self) -> &'static str {
        match self {
            Self::Shell => "bash",
            Self::Python => "python3",
            Self::Node => "node",
        }
    }
}

/// Makes the files of one attempt, or of a root.
pub(super) fn lay_out(directory: &Path) {
    fs::create_dir_all(directory.join("secrets/deep/er")).unwrap();
    let secret = format!("TOKEN={SECRET}\n");
    for name in [".env", "secrets/key", "secrets/deep/er/key2"] {
        fs::write(directory.join(name), &secret).unwrap();
    }
    fs::write(directory.join("secrets/public.txt"), "for all to see\n").unwrap();
    fs::write(directory.join("lock.txt"), "locked\n").unwrap();
    for (file, link) in [(".env", "hard"), ("secrets/key", "hardkey"), ("lock.txt", "hardlock")] {
        fs::hard_link(directory.join(file), directory.join(link)).unwrap();
    }
    let links = [(".env", "soft"), ("soft", "chain"), ("secrets", "softdir")];
    for (target, link) in links.into_iter().chain([("lock.txt", "softlock")]) {
        symlink(target, directory.join(link)).unwrap();
    }
}

/// Returns a world with one directory for each attempt, and what runs them.
pub(super) fn world(runner: Runner, attempts: &[Attempt], manifest: &str) -> World {
    let world = World::new();
    lay_out(&world.path("work"));
    fs::create_dir(world.path("other")).unwrap();
    lay_out(&world.path("other"));
    for (index, attempt) in attempts.iter().enumerate() {
        lay_out_attempt(&world, &name(index), attempt);
    }
    world.write("work/run", runner.script());
    let other = world.path("other");
    world.write("work/haft.toml", &format!("roots = [{other:?}]\n{manifest}"));
    world.run(&["trust"]);
    world
}

fn lay_out_attempt(world: &World, name: &str, attempt: &Attempt) {
    fs::create_dir_all(world.path("work/c")).unwrap();
    lay_out(&world.path("work/c").join(name));
    world.write(&format!("work/attempts/{name}"), attempt.script);
}

/// Returns the name of an attempt by its number.
pub(super) fn name(index: usize) -> String {
    format!("{index:03}")
}

/// Runs all attempts in one call, and returns the envelope.
pub(super) fn run(world: &World, runner: Runner, flags: &[&str]) -> Value {
    let line = format!("{} run", runner.program());
    let input = json!({"cmd": line, "opts": {"timeout_ms": BATCH_MS_MAX}}).to_string();
    let args = [&["call", "bash", &input, "--json", "--no-snapshots"], flags].concat();
    let output = world.haft(&args).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", world.shown(&output)))
}

/// Returns what each attempt printed.
fn printed(envelope: &Value) -> BTreeMap<String, String> {
    let output = &envelope["data"]["output"];
    let text = output.as_str().or(envelope["data"].as_str());
    let text = text.unwrap_or_else(|| panic!("{envelope}"));
    let parts = text.split("\n=== ").skip(1);
    let parts = parts.filter_map(|part| part.split_once('\n'));
    parts.map(|(name, text)| (name.to_owned(), text.to_owned())).collect()
}

/// Makes all attempts to read under the rules, where none may succeed, and without, where all must.
pub(super) fn check_reads(runner: Runner, attempts: &[Attempt]) {
    let is_seen = |text: &String| text.contains(SECRET);
    let held = run(&world(runner, attempts, RULES), runner, &[]);
    let held = printed(&held);
    let open =
        run(&world(runner, attempts, ""), runner, &["--unsafe-no-sandbox", "--allow", "bash"]);
    let open = printed(&open);
    let mut problems = Vec::new();
    for (index, attempt) in attempts.iter().enumerate() {
        match held.get(&name(index)) {
            Some(text) if is_seen(text) => problems.push(format!("got out: {}", attempt.script)),
            Some(_) => {}
            None => problems.push(format!("did not run: {}", attempt.script)),
        }
        if attempt.must_succeed() && !open.get(&name(index)).is_some_and(is_seen) {
            let said = open.get(&name(index));
            problems.push(format!("is no attempt: {}: {said:?}", attempt.script));
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        attempts.len(),
        problems.join("\n")
    );
}

/// Makes all attempts to change `lock.txt` under the rules, where none may succeed, and without, where all must.
pub(super) fn check_changes(attempts: &[Attempt]) {
    let runner = Runner::Shell;
    let is_intact = |world: &World, index: usize| {
        let path = world.path("work/c").join(name(index)).join("lock.txt");
        fs::read_to_string(path).is_ok_and(|text| text == "locked\n")
    };
    let held = world(runner, attempts, RULES);
    let ran = printed(&run(&held, runner, &[]));
    let open = world(runner, attempts, "");
    run(&open, runner, &["--unsafe-no-sandbox", "--allow", "bash"]);
    let mut problems = Vec::new();
    for (index, attempt) in attempts.iter().enumerate() {
        if !is_intact(&held, index) {
            problems.push(format!("got out: {}", attempt.script));
        }
        if !ran.contains_key(&name(index)) {
            problems.push(format!("did not run: {}", attempt.script));
        }
        if attempt.must_succeed() && is_intact(&open, index) {
            problems.push(format!("is no attempt: {}", attempt.script));
        }
    }
    assert!(
        problems.is_empty(),
        "{} of {}:\n{}",
        problems.len(),
        attempts.len(),
        problems.join("\n")
    );
}
