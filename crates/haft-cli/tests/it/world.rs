//! A separate world for one test: a home, a state directory and a directory to work in, and nothing else of the machine but
//! its programs.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use expect_test::Expect;
use serde_json::Value;
use tempfile::TempDir;

use crate::redaction::redact;

pub(crate) struct World {
    directory: TempDir,
}

impl World {
    pub(crate) fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        for name in ["home", "work"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        Self { directory }
    }

    /// Returns a world whose working directory holds a few files.
    pub(crate) fn with_files() -> Self {
        let world = Self::new();
        world.write("work/notes.txt", "one\ntwo\nthree\n");
        world.write("work/src/main.rs", "fn main() {\n    println!(\"two\");\n}\n");
        world
    }

    /// Returns the canonical path of something in this world.
    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        let directory = self.directory.path().canonicalize().unwrap();
        if relative.is_empty() { directory } else { directory.join(relative) }
    }

    pub(crate) fn write(&self, relative: &str, contents: &str) {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    pub(crate) fn read(&self, relative: &str) -> String {
        fs::read_to_string(self.path(relative)).unwrap()
    }

    /// Returns the command, to be changed and run.
    pub(crate) fn haft(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_haft"));
        command
            .args(args)
            .current_dir(self.path("work"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("HAFT_STATE_DIR", self.path("state"))
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Runs haft and compares everything that can be seen of it.
    pub(crate) fn check(&self, args: &[&str], expect: &Expect) {
        self.check_command(&mut self.haft(args), expect);
    }

    /// Runs a command and compares everything that can be seen of it.
    pub(crate) fn check_command(&self, command: &mut Command, expect: &Expect) {
        expect.assert_eq(&self.shown(&command.output().unwrap()));
    }

    /// Runs a command that reads `input`, and compares everything that can be seen of it.
    pub(crate) fn check_with_input(&self, args: &[&str], input: &str, expect: &Expect) {
        let mut command = self.haft(args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        expect.assert_eq(&self.shown(&child.wait_with_output().unwrap()));
    }

    /// Runs haft, which must succeed, and returns its standard output.
    pub(crate) fn run(&self, args: &[&str]) -> String {
        let output = self.haft(args).output().unwrap();
        assert!(output.status.success(), "{args:?}: {}", self.shown(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs haft, which must succeed, and returns its standard output as JSON.
    pub(crate) fn json(&self, args: &[&str]) -> Value {
        serde_json::from_str(&self.run(args)).unwrap()
    }

    /// Returns standard output, standard error and status as one text.
    pub(crate) fn shown(&self, output: &Output) -> String {
        let text = |bytes: &[u8]| redact(&String::from_utf8_lossy(bytes), &self.path(""));
        let mut shown = text(&output.stdout);
        if !output.stderr.is_empty() {
            shown.push_str("--- stderr\n");
            shown.push_str(&text(&output.stderr));
        }
        let status = output.status.code().map_or("none".to_owned(), |code| code.to_string());
        shown.push_str(&format!("--- status {status}\n"));
        shown
    }

    /// Makes a FIFO: a process that opens one end waits for the other. This shows without guessing how far a process is.
    pub(crate) fn fifo(&self, relative: &str) -> PathBuf {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let path = self.path(relative);
        mknodat(CWD, &path, FileType::Fifo, Mode::from_bits_retain(0o600), 0).unwrap();
        path
    }
}

/// Returns the names of what is in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(directory) else { return Vec::new() };
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let mut names: Vec<String> = entries.flatten().map(name).collect();
    names.sort();
    names
}
