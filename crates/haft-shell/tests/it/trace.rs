//! Reads a trace of strace: the executed programs, and the files below a directory that were read
//! or changed.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

/// Calls that execute, and calls that take a path. Calls with a question mark are unknown to some
/// versions of strace.
const CALLS: &str = "execve,execveat,openat,?open,?creat,?unlink,unlinkat,?rename,?renameat,renameat2,\
    ?mkdir,mkdirat,?rmdir,?link,linkat,?symlink,symlinkat,truncate,?chmod,fchmodat,?fchmodat2,?mknod,mknodat,?chown,\
    fchownat,getdents64,chdir,fchdir";

/// Stops a line that feeds itself, as `tee -a f < f` does, or that waits forever.
const GUARDS: &[&str] = &["prlimit", "--fsize=1048576", "timeout", "60"];

#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// The arguments of every program that the line executed.
    pub(crate) executed: Vec<Vec<String>>,
    pub(crate) touched: Vec<Touched>,
}

#[derive(Debug)]
pub(crate) struct Touched {
    pub(crate) path: PathBuf,
    pub(crate) how: Touch,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    /// A directory counts as read when it is listed, not when it is opened to return to it.
    List,
    Read,
    Write,
    /// It did not exist before.
    Create,
    MakeDirectory,
    /// Created under a temporary name, and then renamed to this one.
    Temporary(PathBuf),
}

/// Runs a line in a directory under strace, with only the search path in its environment.
pub(crate) fn trace(line: &str, directory: &Path, output: &Path) -> Trace {
    let status = Command::new("strace")
        .args([
            "-f",
            "-y",
            "-qq",
            "-s",
            "65536",
            "-e",
            &format!("trace={CALLS}"),
            "-e",
            "signal=none",
        ])
        .arg("-o")
        .arg(output)
        .args(GUARDS)
        .args(["bash", "-c", line])
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.expect(
        "strace is needed to compare judgements with what happens; install the package strace",
    );
    let text = std::fs::read_to_string(output).expect("strace writes what it saw");
    assert!(text.contains("execve("), "strace may not trace here: {text:?}");
    let mut trace = read(&text, directory);
    let line = trace.executed.iter().position(|argv| argv.first().is_some_and(|it| it == "bash"));
    trace.executed.drain(..=line.expect("bash was started"));
    trace
}

fn read(text: &str, directory: &Path) -> Trace {
    let mut trace = Trace::default();
    let mut unfinished: HashMap<&str, &str> = HashMap::new();
    let mut directories: HashMap<&str, PathBuf> = HashMap::new();
    for line in text.lines() {
        let (process, call) = line.split_once(' ').expect("a process and a call");
        let call = call.trim_start();
        let whole;
        let call = if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(process, start);
            continue;
        } else if let Some(rest) = call.strip_prefix("<... ") {
            let (_, rest) = rest.split_once(" resumed>").expect("a call that is resumed");
            whole = format!("{}{rest}", unfinished.remove(process).unwrap_or_default());
            whole.as_str()
        } else {
            call
        };
        let Some(call) = Call::read(call) else { continue };
        let current = directories.entry(process).or_insert_with(|| directory.to_owned());
        call.note(current, &mut trace);
    }
    trace
}

/// A call that succeeded.
struct Call<'a> {
    name: &'a str,
    args: Vec<&'a str>,
    result: &'a str,
}

impl<'a> Call<'a> {
    fn read(text: &'a str) -> Option<Self> {
        let (call, result) = text.rsplit_once(" = ")?;
        let (name, args) = call.trim_end().strip_suffix(')')?.split_once('(')?;
        (!result.starts_with('-')).then(|| Self { name, args: split(args), result })
    }

    fn note(&self, current: &mut PathBuf, trace: &mut Trace) {
        if self.name.starts_with("execve") {
            let list = self.args.get(1).copied().unwrap_or_default();
            let list = list.trim_start_matches('[').trim_end_matches(']');
            trace.executed.push(split(list).into_iter().filter_map(unquoted).collect());
            return;
        }
        if self.name == "getdents64" {
            let listed = self.args.first().and_then(|arg| annotated(arg));
            let listed = listed.map(|path| Touched { path, how: Touch::List });
            trace.touched.extend(listed);
            return;
        }
        if self.name == "chdir" || self.name == "fchdir" {
            let argument = self.args.first().copied().unwrap_or_default();
            let entered = unquoted(argument).map(|path| current.join(path));
            *current = annotated(argument).or(entered).expect("a directory");
            return;
        }
        let mut base = current.clone();
        let mut paths = Vec::new();
        for arg in &self.args {
            if let Some(directory) = annotated(arg) {
                if arg.starts_with("AT_FDCWD") {
                    current.clone_from(&directory);
                }
                base = directory;
            } else if let Some(path) = unquoted(arg) {
                paths.push(base.join(path));
            }
        }
        self.note_paths(paths, trace);
    }

    fn note_paths(&self, mut paths: Vec<PathBuf>, trace: &mut Trace) {
        let mut note = |path: PathBuf, how: Touch| trace.touched.push(Touched { path, how });
        match self.name {
            "open" | "openat" | "creat" => {
                let flags = self.args.iter().find(|arg| arg.starts_with("O_"));
                let flags = flags.copied().unwrap_or("O_WRONLY");
                let path = annotated(self.result).unwrap_or_else(|| paths.remove(0));
                let is_write = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"]
                    .iter()
                    .any(|flag| flags.contains(flag));
                if !flags.contains("O_PATH") {
                    let how = match is_write {
                        true if flags.contains("O_EXCL") => Touch::Create,
                        true => Touch::Write,
                        false => Touch::Read,
                    };
                    note(path, how);
                }
            }
            "mkdir" | "mkdirat" => note(paths.remove(0), Touch::MakeDirectory),
            // The first path is the target text of the link.
            "symlink" | "symlinkat" => note(paths.remove(1), Touch::Write),
            // The target of the link does not change.
            "link" | "linkat" => note(paths.remove(1), Touch::Write),
            name if name.starts_with("rename") => {
                let (from, to) = (paths.remove(0), paths.remove(0));
                let spelled = spellings(&from);
                let mut is_temporary = false;
                for touched in
                    trace.touched.iter_mut().filter(|touched| spelled.contains(&touched.path))
                {
                    if touched.how == Touch::Create {
                        touched.how = Touch::Temporary(to.clone());
                        is_temporary = true;
                    }
                }
                if !is_temporary {
                    trace.touched.push(Touched { path: from, how: Touch::Write });
                }
                trace.touched.push(Touched { path: to, how: Touch::Write });
            }
            _ => note(paths.remove(0), Touch::Write),
        }
    }
}

/// Splits arguments at commas outside quotes and brackets.
fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut depth) = (0, 0);
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (index, char) in text.char_indices() {
        match char {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            _ if is_quoted => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..index].trim());
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// Returns the path in `AT_FDCWD</path>` or `3</path>`.
fn annotated(arg: &str) -> Option<PathBuf> {
    let (descriptor, path) = arg.split_once('<')?;
    let is_descriptor =
        descriptor == "AT_FDCWD" || descriptor.bytes().all(|byte| byte.is_ascii_digit());
    is_descriptor.then(|| PathBuf::from(path.strip_suffix('>').unwrap_or(path)))
}

fn unquoted(arg: &str) -> Option<String> {
    let text = arg.strip_prefix('"')?.strip_suffix('"')?;
    let mut bytes = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\\' {
            bytes.extend(char.to_string().bytes());
            continue;
        }
        match chars.next()? {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            first @ '0'..='7' => {
                let mut code = first.to_digit(8)?;
                while let Some(digit) = chars.peek().and_then(|char| char.to_digit(8)) {
                    code = code * 8 + digit;
                    chars.next();
                }
                bytes.push(u8::try_from(code).ok()?);
            }
            other => bytes.extend(other.to_string().bytes()),
        }
    }
    String::from_utf8(bytes).ok()
}

/// Returns the possible spellings of a path: by its text alone, and with its directory as the file
/// system resolves it.
pub(crate) fn spellings(path: &Path) -> Vec<PathBuf> {
    let mut lexical = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => {
                lexical.pop();
            }
            Component::CurDir => {}
            other => lexical.push(other),
        }
    }
    let mut all = vec![lexical.clone()];
    all.extend(path.canonicalize());
    // The last name may itself be a link, and some of the parents may not exist yet.
    for directory in lexical.ancestors().skip(1) {
        if let (Ok(real), Ok(rest)) = (directory.canonicalize(), lexical.strip_prefix(directory)) {
            all.push(real.join(rest));
            break;
        }
    }
    all
}
