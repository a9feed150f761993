//! The oracle: random sequences of file operations from a seed, done confined and unconfined. Their output and their files
//! must be the same.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::json;

use super::tree::Tree;
use crate::mcp_wire::driver::{Server, haft};

/// Sequences that are tried.
const SEQUENCES: u64 = 60;
/// Operations of one sequence.
const OPERATIONS: usize = 60;

/// Each operation says how it ended, and errors count as much as successes. `①` and `②` stand for paths, `#` for a number.
/// Whole directories are never copied into themselves: `cp` goes by the numbers of inodes, which are others each time.
const OPERATION_LINES: &[&str] = &[
    "mkdir ①",
    "mkdir -p ①/②",
    "rmdir ①",
    "echo # > ①",
    "echo # >> ①",
    "printf '#\\n#\\n' > ①/②",
    "cat ① ②",
    "cp ① ②",
    "cp -a ① ../copy# 2> /dev/null",
    "cp -r ① ../copy#/c 2> /dev/null",
    "mv ① ②",
    "mv -T ① ②",
    "rm ①",
    "rm -rf ①",
    "ln ① ②",
    "ln -s ② ①",
    "ln -sfn ../② ①",
    "ln -s $PWD/① ②",
    "chmod 7#0 ①",
    "chmod -R u+rwX .",
    "chmod u=rwx,go-w ①",
    "touch -d @# ①",
    "sed -i s/#/#/ ①",
    "truncate -s # ①",
    "dd if=/dev/zero of=① bs=# count=2 status=none",
    "tar -cf ① --sort=name --mtime=@0 ②",
    "tar -xf ①",
    "find . -type f | sort | head -n #",
    "ls -A ①",
    "stat -c '%n %a %h %s %F' ①",
    "readlink -f ① | sed s,$PWD,,",
    "test -e ①",
    "test ① -ef ②",
    "install -m 755 ① ②",
    "split -n 2 ① ②",
    "(cd ① && pwd | sed s,$OLDPWD,, && echo # > ②)",
    "python3 -c 'import os; os.replace(\"①\", \"②\")' 2> /dev/null",
    "flock ① echo locked",
    "git init -q ① 2> /dev/null",
    "git -C ① add -A 2> /dev/null",
    "git -C ① status --porcelain 2> /dev/null",
];

const PATHS: &[&str] =
    &["a", "b", "d", "d/e", "d/e/f", "x y", "ü", "./a", "d/../b", "link", "-dash"];

#[test]
fn confined_is_as_unconfined() {
    let directory = tempfile::tempdir().unwrap();
    let base = directory.path().canonicalize().unwrap();
    for name in ["root", "home"] {
        fs::create_dir(base.join(name)).unwrap();
    }
    let mut server = serve(&base);
    // One place for both, one after the other: links and archives hold the names of where they were made.
    // Links may lead one level up; what is there goes as well.
    let around = base.join("root/around");
    let place = around.join("place");
    for seed in 0..SEQUENCES {
        let script = script(seed);
        // As a file, because this is not about what words of a line are refused.
        fs::write(base.join("root/script"), &script).unwrap();
        let line = "bash ../../script 2>&1";
        fs::create_dir_all(&place).unwrap();
        let answer = server.call("bash", json!({"cmd": line, "opts": {"cwd": "around/place"}}));
        let confined = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        let left = taken(&around);
        fs::create_dir_all(&place).unwrap();
        let output =
            command(&base, "bash").args(["-c", line]).current_dir(&place).output().unwrap();
        // A terminal shows nothing of a NUL, and neither does an answer.
        let unconfined = String::from_utf8_lossy(&output.stdout).replace('\0', "");
        let lines = confined.lines().zip(unconfined.lines());
        let differences: Vec<_> = lines.filter(|(one, two)| one != two).take(3).collect();
        assert!(confined == unconfined, "seed {seed}: {differences:?}\n{script}");
        assert_eq!(left, taken(&around), "seed {seed}:\n{script}");
    }
}

/// Returns what lies in a directory, and removes it.
fn taken(directory: &Path) -> Vec<String> {
    let found = Tree::of(&[directory.to_owned()]).timeless(directory);
    fs::remove_dir_all(directory).unwrap();
    found
}

fn script(seed: u64) -> String {
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    let mut script = String::from("umask 022\n");
    for _ in 0..OPERATIONS {
        let mut line = String::new();
        for letter in random.of(OPERATION_LINES).chars() {
            match letter {
                '①' | '②' => write!(line, "{}", quoted_in(&line, random.of(PATHS))).unwrap(),
                '#' => write!(line, "{}", random.below(8)).unwrap(),
                other => line.push(other),
            }
        }
        writeln!(script, "{line} < /dev/null; echo = $?").unwrap();
    }
    script
}

/// A path as a word, where no quote is open.
fn quoted_in(line: &str, path: &str) -> String {
    let is_open = line.matches(['\'', '"']).count() % 2 == 1 || line.ends_with('"');
    if is_open { path.to_owned() } else { path.replace(' ', "\\ ") }
}

/// A generator of numbers (xorshift): the same each time, on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % bound
    }

    fn of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

fn serve(base: &Path) -> Server {
    let mut server = command(base, haft());
    server.arg("mcp").stderr(Stdio::null());
    Server::of_legacy(server)
}

fn command(base: &Path, program: &str) -> Command {
    let mut command = Command::new(program);
    command.env_clear().current_dir(base.join("root")).stdin(Stdio::null());
    command.env("HOME", base.join("home")).env("HAFT_STATE_DIR", base.join("state"));
    command.env("PATH", "/usr/bin:/bin").env("LANG", "C.UTF-8");
    command
}
