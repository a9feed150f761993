//! What can be known of a Python file without running it, found out by Python's own parser in a confined process. One
//! process parses many files; a file that brings it down is the only one to suffer. Nothing is judged here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use haft_contract::{
    Ending, ErrorCode, Excerpt, Received, Resident, ResidentRequest, Residents, ToolError,
    sha256_hex,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::directory::{SourceFile, ToolDirectory};
use crate::interpreter::interpreter_places;
use crate::limits::{
    FUNCTIONS_MAX, METADATA_DEPTH_MAX, READER_ENDS_MAX, READER_MEMORY_BYTES, READING_BYTES_MAX,
    READING_MS_MAX,
};

/// Longest version of an interpreter, in bytes.
const VERSION_BYTES_MAX: usize = 64;
/// The oldest Python that runs tools.
const VERSION_MIN: (u32, u32) = (3, 8);
/// How a program begins that is no script.
const PROGRAM_BEGINS: [u8; 4] = *b"\x7fELF";
const SCRIPT: &str = include_str!("python/read_metadata.py");

/// What was found out about one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Reading {
    /// METADATA, if it is a literal dictionary.
    pub metadata: Option<Map<String, Value>>,
    /// The line that METADATA begins on.
    pub metadata_line: Option<u32>,
    /// The line of every part of METADATA, by JSON pointer.
    pub lines: BTreeMap<String, u32>,
    /// Why there is no METADATA.
    pub problem: Option<ReadingProblem>,
    /// The names of all functions of the top level.
    pub functions: Vec<String>,
    /// The function that METADATA names.
    pub function: Option<Function>,
    /// How the name of the function comes to be, if there is no such function.
    pub bound: Option<Bound>,
    /// The line of the first import relative to a package.
    pub relative_import: Option<u32>,
}

/// Why a file has no METADATA that can be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingProblem {
    /// What kind of reason.
    pub code: ReadingCode,
    /// The line, where one is known.
    pub line: Option<u32>,
    /// The reason.
    pub message: String,
    /// The part of METADATA that it is about, as a JSON pointer.
    #[serde(default)]
    pub pointer: String,
}

/// The kinds of reasons why there is no METADATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReadingCode {
    /// The file is no Python.
    Syntax,
    /// There is none.
    MetadataMissing,
    /// It is not a literal alone.
    MetadataCode,
    /// It is no dictionary.
    MetadataForm,
    /// The interpreter is too old.
    Interpreter,
    /// The parser ended over the file, or was ended.
    ParserEnded,
}

/// A function of the top level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// Where it begins.
    pub line: u32,
    /// Whether decorators may have given it other parameters.
    pub is_decorated: bool,
    /// Its parameters, in order.
    pub parameters: Vec<Parameter>,
    /// The first line of its documentation.
    pub summary: String,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// How it is passed.
    pub kind: ParameterKind,
    /// Whether it may be left out.
    pub has_default: bool,
    /// Its annotation as text.
    pub annotation: Option<String>,
    /// Where it is.
    pub line: u32,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// By its place alone.
    PositionalOnly,
    /// By place or name.
    Ordinary,
    /// By its name alone.
    KeywordOnly,
    /// `*args`.
    Rest,
    /// `**kwargs`.
    Keywords,
}

/// How a name comes to be that is no function of the top level.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bound {
    /// By what.
    pub how: BoundBy,
    /// Where.
    pub line: u32,
}

/// What gives a name its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BoundBy {
    /// A class.
    Class,
    /// A function within another statement.
    Nested,
    /// An import.
    Import,
    /// An assignment.
    Assignment,
}

/// Keeps what was found out about files, so that it is found out once. A cache that forgets or lies about keys costs time;
/// one that lies about values is trusted, so it belongs where only the user writes.
pub trait ReadingCache: Send + Sync {
    /// Returns what was kept under `key`.
    fn get(&self, key: &str) -> Option<String>;

    /// Keeps a text under `key`, which is a word of hexadecimal digits.
    fn put(&self, key: &str, text: &str);
}

/// Keeps nothing.
impl ReadingCache for () {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn put(&self, _: &str, _: &str) {}
}

/// Finds out about each of the files, in their order, by the directory's [`reader`](ToolDirectory::reader). An error means
/// that it cannot be started at all.
///
/// Kept is only what is as it should be: a parser that was disturbed says that a file is bad, and would say so for ever.
pub async fn read_metadata(
    directory: &ToolDirectory,
    files: &[SourceFile],
    residents: &dyn Residents,
    cache: &dyn ReadingCache,
) -> Result<Vec<Reading>, ToolError> {
    let mut reader = Reader { directory, residents, process: None, ends: 0, has_answered: false };
    let identity = identity(&directory.reader);
    let mut readings = Vec::with_capacity(files.len());
    for file in files {
        let key = identity.as_ref().map(|identity| cache_key(identity, file));
        let kept = key.as_ref().and_then(|key| serde_json::from_str(&cache.get(key)?).ok());
        let reading = match kept {
            Some(reading) => reading,
            None => reader.read_and_keep(file, key.as_deref(), cache).await?,
        };
        readings.push(reading);
    }
    Ok(readings)
}

/// Returns the version of a directory's interpreter as it says it, or what became of it. It is started for that.
pub async fn interpreter_version(
    directory: &ToolDirectory,
    residents: &dyn Residents,
) -> Result<String, ToolError> {
    let version = version_of(&directory.interpreter, directory, residents).await?;
    match too_old(&version) {
        None => Ok(version),
        Some(why) => Err(ToolError::new(ErrorCode::Unavailable, why)),
    }
}

/// Returns the version of any Python, however old.
async fn version_of(
    interpreter: &Path,
    directory: &ToolDirectory,
    residents: &dyn Residents,
) -> Result<String, ToolError> {
    let mut request = ResidentRequest::new(interpreter);
    let program = "import sys; print(sys.version.split()[0])";
    // Options that Python 2 knows as well. What is imported is built in, so that nothing in a directory can stand in for it.
    request.args = ["-E", "-s", "-S", "-B", "-c", program].map(Into::into).to_vec();
    request.readable = directory.readable();
    request.readable.extend(interpreter_places(interpreter));
    request.memory_bytes = Some(READER_MEMORY_BYTES);
    let mut process = residents.start(request).await?;
    let within = Duration::from_millis(READING_MS_MAX);
    if tokio::time::timeout(within, process.ended()).await.is_err() {
        let message = format!("the interpreter did not say its version within {READING_MS_MAX} ms");
        return Err(ToolError::new(ErrorCode::ProcessAborted, message));
    }
    let printed = process.take_output().await;
    let version = printed.head.trim();
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    if is_version && version.len() <= VERSION_BYTES_MAX {
        return Ok(version.to_owned());
    }
    let message = format!("the interpreter is no Python that works{}", last_line(&printed));
    Err(ToolError::new(ErrorCode::Unavailable, message))
}

/// Says that a version is too old to run tools, if it is.
fn too_old(version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let found = (numbers.next().flatten()?, numbers.next().flatten()?);
    (found < VERSION_MIN).then(|| {
        let (major, minor) = VERSION_MIN;
        format!("Python {major}.{minor} or later is needed, this is {version}")
    })
}

/// Returns what starts an interpreter, which sees neither the user's modules nor variables, with a program.
fn request(interpreter: &Path, directory: &ToolDirectory, program: &str) -> ResidentRequest {
    let mut request = ResidentRequest::new(interpreter);
    request.args = ["-I", "-S", "-B", "-X", "utf8", "-c", program].map(Into::into).to_vec();
    request.readable = directory.readable();
    request
}

fn cache_key(interpreter: &str, file: &SourceFile) -> String {
    sha256_hex(format!("{}\n{interpreter}\n{SCRIPT}", file.sha256).as_bytes())
}

/// Returns what tells an interpreter from every other one, and from what is at its path after an upgrade: its version cannot
/// be known without starting it, which is what keeping is there to spare. A script starts another program, which may be any,
/// and a bare name is looked up each time; of these nothing is kept.
fn identity(interpreter: &Path) -> Option<String> {
    // Of a link it is the program behind it that decides what is Python.
    let program = fs::canonicalize(interpreter).ok().filter(|_| interpreter.is_absolute())?;
    let mut beginning = [0; PROGRAM_BEGINS.len()];
    File::open(&program).ok()?.read_exact(&mut beginning).ok()?;
    if beginning != PROGRAM_BEGINS {
        return None;
    }
    let found = fs::metadata(&program).ok()?;
    let (device, inode, bytes) = (found.dev(), found.ino(), found.size());
    let (seconds, nanoseconds) = (found.mtime(), found.mtime_nsec());
    let program = program.display();
    Some(format!("{program}\n{device} {inode} {bytes} {seconds}.{nanoseconds}"))
}

/// A process that parses, started when it is first needed and again after it ended.
struct Reader<'a> {
    directory: &'a ToolDirectory,
    residents: &'a dyn Residents,
    process: Option<Box<dyn Resident>>,
    /// Files in a row over which it ended.
    ends: usize,
    has_answered: bool,
}

impl Reader<'_> {
    async fn read_and_keep(
        &mut self,
        file: &SourceFile,
        key: Option<&str>,
        cache: &dyn ReadingCache,
    ) -> Result<Reading, ToolError> {
        let reading = self.read(file).await?;
        if let Some(key) = key.filter(|_| reading.problem.is_none()) {
            cache.put(key, &serde_json::to_string(&reading).unwrap_or_default());
        }
        Ok(reading)
    }

    async fn read(&mut self, file: &SourceFile) -> Result<Reading, ToolError> {
        if self.ends >= READER_ENDS_MAX {
            let why = format!(
                "it was not read, since the parser ended over {READER_ENDS_MAX} files before it"
            );
            return Ok(ended(why));
        }
        let mut process = match self.process.take() {
            Some(process) => process,
            None => self.residents.start(self.request()).await?,
        };
        let within = Duration::from_millis(READING_MS_MAX);
        let asked = tokio::time::timeout(within, ask(&mut *process, file)).await;
        let why = match asked {
            Ok(Ok(reading)) => {
                self.ends = 0;
                self.has_answered = true;
                self.process = Some(process);
                return Ok(reading);
            }
            Ok(Err(Unanswered::Said(why))) => why,
            Ok(Err(Unanswered::Ended)) => how_it_ended(&mut *process).await,
            Err(_) => format!("parsing it took more than {READING_MS_MAX} ms"),
        };
        self.ends += 1;
        // One that never answered may be too old to understand how it is started.
        if self.ends == 1
            && !self.has_answered
            && let Ok(version) =
                version_of(&self.directory.reader, self.directory, self.residents).await
            && let Some(why) = too_old(&version)
        {
            return Ok(unread(ReadingCode::Interpreter, why));
        }
        Ok(ended(why))
    }

    fn request(&self) -> ResidentRequest {
        let reader = &self.directory.reader;
        let mut request = request(reader, self.directory, SCRIPT);
        request.readable.extend(interpreter_places(reader));
        request.memory_bytes = Some(READER_MEMORY_BYTES);
        request
    }
}

/// Why a process gave no answer about a file.
enum Unanswered {
    Ended,
    Said(String),
}

async fn ask(process: &mut dyn Resident, file: &SourceFile) -> Result<Reading, Unanswered> {
    let mut request = serde_json::json!({
        "source": as_characters(&file.bytes),
        "bounds": {"depth": METADATA_DEPTH_MAX, "functions": FUNCTIONS_MAX},
    })
    .to_string();
    request.push('\n');
    process.send(request.as_bytes()).await.map_err(|_| Unanswered::Ended)?;
    let mut line = Vec::new();
    match process.receive(&mut line, READING_BYTES_MAX).await {
        Ok(Received::Line) => serde_json::from_slice(&line).map_err(|err| {
            Unanswered::Said(format!("what the parser found out about it cannot be used: {err}"))
        }),
        Ok(Received::TooLong) => Err(Unanswered::Said(format!(
            "METADATA and the names around it take more than {READING_BYTES_MAX} bytes"
        ))),
        Ok(Received::Closed) | Err(_) => Err(Unanswered::Ended),
    }
}

async fn how_it_ended(process: &mut dyn Resident) -> String {
    let how = match process.ended().await {
        Ok(Ending::Exited(status)) => format!("with status {status}"),
        Ok(Ending::Signalled(signal)) => format!("by signal {signal}"),
        Ok(Ending::TimedOut | Ending::Aborted) => "because it was stopped".to_owned(),
        Err(err) => format!("and it cannot be said how: {}", err.message),
    };
    let bound = process.exceeded().map(|bound| format!(" ({bound})")).unwrap_or_default();
    let printed = last_line(&process.take_output().await);
    format!("Python's parser ended {how}{bound} over it{printed}")
}

/// Returns the last line of what a process printed, to be put behind a sentence.
pub(crate) fn last_line(output: &Excerpt) -> String {
    let text = output.tail.as_deref().unwrap_or(&output.head);
    match text.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("; it printed {:?}", line.chars().take(200).collect::<String>()),
        None => String::new(),
    }
}

fn ended(message: String) -> Reading {
    unread(ReadingCode::ParserEnded, message)
}

fn unread(code: ReadingCode, message: String) -> Reading {
    let problem = ReadingProblem { code, line: None, message, pointer: String::new() };
    Reading { problem: Some(problem), ..Reading::default() }
}

/// Returns bytes as text with one character for each, which JSON carries whatever the file's encoding is.
pub(crate) fn as_characters(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interpreter_that_was_replaced_is_another_one() {
        let place = tempfile::tempdir().unwrap();
        let program = place.path().join("python3");
        fs::write(&program, "\x7fELF").unwrap();
        let first = identity(&program).unwrap();
        assert_eq!(identity(&program), Some(first.clone()));
        fs::write(place.path().join("other"), "\x7fELF").unwrap();
        fs::rename(place.path().join("other"), &program).unwrap();
        let second = identity(&program).unwrap();
        assert_ne!(second, first);
        File::options()
            .append(true)
            .open(&program)
            .unwrap()
            .set_modified(std::time::UNIX_EPOCH)
            .unwrap();
        assert_ne!(identity(&program), Some(second));
        fs::write(&program, "#!/bin/sh\n").unwrap();
        assert_eq!(identity(&program), None);
        assert_eq!(identity(Path::new("python3")), None);
    }
}
