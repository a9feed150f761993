//! Facts about a Python file that are known without running it, from Python's own parser in a
//! confined process. One process parses many files; a file that crashes it affects no other file.
//! Nothing is judged here.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use haft_contract::{
    BackgroundProcess, BackgroundProcessRequest, BackgroundProcesses, ChannelRead, ErrorCode,
    Excerpt, ProcessEnding, ToolError, sha256_hex,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::directory::{SourceFile, ToolDirectory};
use crate::interpreter::interpreter_paths;
use crate::limits::{
    FUNCTIONS_MAX, METADATA_DEPTH_MAX, READER_ENDS_MAX, READER_MEMORY_BYTES, READING_BYTES_MAX,
    READING_MS_MAX,
};

/// Maximum length of an interpreter's version, in bytes.
const VERSION_BYTES_MAX: usize = 64;
/// The oldest Python that runs tools.
const VERSION_MIN: (u32, u32) = (3, 8);
/// The first bytes of a program that is not a script.
const PROGRAM_BEGINS: [u8; 4] = *b"\x7fELF";
const SCRIPT: &str = include_str!("python/read_metadata.py");

/// The facts about one file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParsedToolFile {
    /// METADATA, if it is a literal dictionary.
    pub metadata: Option<Map<String, Value>>,
    /// The line that METADATA begins on.
    pub metadata_line: Option<u32>,
    /// The line of every part of METADATA, by JSON pointer.
    pub lines: BTreeMap<String, u32>,
    /// Why METADATA cannot be read.
    pub problem: Option<MetadataProblem>,
    /// The names of all top-level functions.
    pub functions: Vec<String>,
    /// The function that METADATA names.
    pub function: Option<PythonFunction>,
    /// How the function's name is bound, if it is not a top-level function.
    pub bound: Option<NameBinding>,
    /// The line of the first import relative to a package.
    pub relative_import: Option<u32>,
}

/// Why a file has no readable METADATA.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetadataProblem {
    /// The kind of problem.
    pub code: MetadataProblemCode,
    /// The line, if it is known.
    pub line: Option<u32>,
    /// The message.
    pub message: String,
    /// The part of METADATA that it concerns, as a JSON pointer.
    #[serde(default)]
    pub pointer: String,
}

/// The kinds of problems with METADATA.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MetadataProblemCode {
    /// The file is not valid Python.
    Syntax,
    /// There is none.
    MetadataMissing,
    /// It is not a pure literal.
    MetadataCode,
    /// It is not a dictionary.
    MetadataForm,
    /// The interpreter is too old.
    Interpreter,
    /// The parser crashed on the file, or was stopped.
    ParserEnded,
}

/// A top-level function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonFunction {
    /// The line where it begins.
    pub line: u32,
    /// Whether decorators may have changed its parameters.
    pub is_decorated: bool,
    /// Its parameters, in order.
    pub parameters: Vec<PythonParameter>,
    /// The first line of its docstring.
    pub summary: String,
}

/// A parameter of a function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PythonParameter {
    /// Its name.
    pub name: String,
    /// How it is passed.
    pub kind: ParameterKind,
    /// Whether it is optional.
    pub has_default: bool,
    /// Its annotation as text.
    pub annotation: Option<String>,
    /// Its line.
    pub line: u32,
}

/// How a parameter is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ParameterKind {
    /// By position only.
    PositionalOnly,
    /// By position or name.
    Ordinary,
    /// By name only.
    KeywordOnly,
    /// `*args`.
    Rest,
    /// `**kwargs`.
    Keywords,
}

/// How a name is bound, if it is not a top-level function.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameBinding {
    /// The kind of binding.
    pub how: NameBindingKind,
    /// The line.
    pub line: u32,
}

/// The kinds of bindings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NameBindingKind {
    /// A class.
    Class,
    /// A function within another statement.
    Nested,
    /// An import.
    Import,
    /// An assignment.
    Assignment,
}

/// Stores facts about files, so that each file is parsed once. A cache that forgets entries only
/// costs time. Its values are trusted, so it must be in a place that only the user can write.
pub trait ParsedToolFileCache: Send + Sync {
    /// Returns the text stored under `key`.
    fn get(&self, key: &str) -> Option<String>;

    /// Stores a text under `key`, which consists of hexadecimal digits.
    fn put(&self, key: &str, text: &str);
}

/// Stores nothing.
impl ParsedToolFileCache for () {
    fn get(&self, _: &str) -> Option<String> {
        None
    }

    fn put(&self, _: &str, _: &str) {}
}

/// Parses each of the files, in order, with the directory's
/// [`parser_interpreter`](ToolDirectory::parser_interpreter). Fails if the interpreter cannot be
/// started.
///
/// Only successful results are cached. A disturbed parser reports a valid file as invalid, and a
/// cached result would repeat that forever.
pub async fn read_metadata(
    directory: &ToolDirectory,
    files: &[SourceFile],
    residents: &dyn BackgroundProcesses,
    cache: &dyn ParsedToolFileCache,
) -> Result<Vec<ParsedToolFile>, ToolError> {
    let mut reader =
        ToolFileParser { directory, residents, process: None, ends: 0, has_answered: false };
    let identity = identity(&directory.parser_interpreter);
    let mut readings = Vec::with_capacity(files.len());
    for file in files {
        let key = identity.as_ref().map(|interpreter| {
            sha256_hex(format!("{}\n{interpreter}\n{SCRIPT}", file.sha256).as_bytes())
        });
        let kept = key.as_ref().and_then(|key| serde_json::from_str(&cache.get(key)?).ok());
        if let Some(reading) = kept {
            readings.push(reading);
            continue;
        }
        let reading = reader.parse(file).await?;
        if let Some(key) = key.filter(|_| reading.problem.is_none()) {
            cache.put(&key, &serde_json::to_string(&reading).unwrap_or_default());
        }
        readings.push(reading);
    }
    Ok(readings)
}

/// Starts a directory's interpreter, and returns its version or the error.
pub async fn interpreter_version(
    directory: &ToolDirectory,
    residents: &dyn BackgroundProcesses,
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
    residents: &dyn BackgroundProcesses,
) -> Result<String, ToolError> {
    let mut request = BackgroundProcessRequest::new(interpreter);
    let program = "import sys; print(sys.version.split()[0])";
    // Options that Python 2 supports as well. Only built-in modules are imported, so that no file
    // in a directory can replace them.
    request.args = ["-E", "-s", "-S", "-B", "-c", program].map(Into::into).to_vec();
    request.readable = directory.readable();
    request.readable.extend(interpreter_paths(interpreter));
    request.memory_bytes = Some(READER_MEMORY_BYTES);
    let mut process = residents.start(request).await?;
    let within = Duration::from_millis(READING_MS_MAX);
    if tokio::time::timeout(within, process.wait_for_exit()).await.is_err() {
        let message = format!("the interpreter did not say its version within {READING_MS_MAX} ms");
        return Err(ToolError::new(ErrorCode::ProcessAborted, message));
    }
    let printed = process.take_output().await;
    let version = printed.head.trim();
    let is_version = version.starts_with(|first: char| first.is_ascii_digit());
    if is_version && version.len() <= VERSION_BYTES_MAX {
        return Ok(version.to_owned());
    }
    let message = format!("the interpreter is not a working Python{}", last_line(&printed));
    Err(ToolError::new(ErrorCode::Unavailable, message))
}

/// Returns an error if a version is too old to run tools.
fn too_old(version: &str) -> Option<String> {
    let mut numbers = version.split('.').map(|number| number.parse::<u32>().ok());
    let found = (numbers.next().flatten()?, numbers.next().flatten()?);
    (found < VERSION_MIN).then(|| {
        let (major, minor) = VERSION_MIN;
        format!("Python {major}.{minor} or later is needed, this is {version}")
    })
}

/// Returns an identity that distinguishes the interpreter from all others, including an upgrade at
/// the same path. The version would require a start, which the cache is meant to avoid. A script
/// may start any other program, and a bare name is looked up each time, so these have no identity
/// and are not cached.
fn identity(interpreter: &Path) -> Option<String> {
    // For a link, the program behind it decides how Python is parsed.
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

/// A parser process. It is started when it is first needed, and again after it has ended.
struct ToolFileParser<'a> {
    directory: &'a ToolDirectory,
    residents: &'a dyn BackgroundProcesses,
    process: Option<Box<dyn BackgroundProcess>>,
    /// Consecutive files on which it ended.
    ends: usize,
    has_answered: bool,
}

impl ToolFileParser<'_> {
    async fn parse(&mut self, file: &SourceFile) -> Result<ParsedToolFile, ToolError> {
        if self.ends >= READER_ENDS_MAX {
            let why = format!(
                "it was not read, since the parser ended over {READER_ENDS_MAX} files before it"
            );
            return Ok(parser_ended(why));
        }
        let mut process = match self.process.take() {
            Some(process) => process,
            None => {
                let interpreter = &self.directory.parser_interpreter;
                let mut request = BackgroundProcessRequest::new(interpreter);
                // The parser uses neither the user's modules nor variables.
                request.args =
                    ["-I", "-S", "-B", "-X", "utf8", "-c", SCRIPT].map(Into::into).to_vec();
                request.readable = self.directory.readable();
                request.readable.extend(interpreter_paths(interpreter));
                request.memory_bytes = Some(READER_MEMORY_BYTES);
                self.residents.start(request).await?
            }
        };
        let within = Duration::from_millis(READING_MS_MAX);
        let asked = tokio::time::timeout(within, request_parse(&mut *process, file)).await;
        let why = match asked {
            Ok(Ok(reading)) => {
                self.ends = 0;
                self.has_answered = true;
                self.process = Some(process);
                return Ok(reading);
            }
            Ok(Err(ParserFailure::InvalidReply(why))) => why,
            Ok(Err(ParserFailure::Ended)) => {
                let how = match process.wait_for_exit().await {
                    Ok(ProcessEnding::Exited(status)) => format!("with status {status}"),
                    Ok(ProcessEnding::Signalled(signal)) => format!("by signal {signal}"),
                    Ok(ProcessEnding::TimedOut | ProcessEnding::Aborted) => {
                        "because it was stopped".to_owned()
                    }
                    Err(err) => format!("and the reason is unknown: {}", err.message),
                };
                let bound = process.exceeded_limit();
                let bound = bound.map(|bound| format!(" ({bound})")).unwrap_or_default();
                let printed = last_line(&process.take_output().await);
                format!("Python's parser ended {how}{bound} over it{printed}")
            }
            Err(_) => format!("parsing it took more than {READING_MS_MAX} ms"),
        };
        self.ends += 1;
        // If it has never answered, it may be too old for its arguments.
        if self.ends == 1
            && !self.has_answered
            && let Ok(version) =
                version_of(&self.directory.parser_interpreter, self.directory, self.residents).await
            && let Some(why) = too_old(&version)
        {
            return Ok(without_metadata(MetadataProblemCode::Interpreter, why));
        }
        Ok(parser_ended(why))
    }
}

/// Why the parser gave no answer about a file.
enum ParserFailure {
    Ended,
    InvalidReply(String),
}

async fn request_parse(
    process: &mut dyn BackgroundProcess,
    file: &SourceFile,
) -> Result<ParsedToolFile, ParserFailure> {
    let mut request = serde_json::json!({
        "source": as_characters(&file.bytes),
        "bounds": {"depth": METADATA_DEPTH_MAX, "functions": FUNCTIONS_MAX},
    })
    .to_string();
    request.push('\n');
    process.send(request.as_bytes()).await.map_err(|_| ParserFailure::Ended)?;
    let mut line = Vec::new();
    match process.receive(&mut line, READING_BYTES_MAX).await {
        Ok(ChannelRead::Line) => serde_json::from_slice(&line).map_err(|err| {
            ParserFailure::InvalidReply(format!("the parser's result is invalid: {err}"))
        }),
        Ok(ChannelRead::TooLong) => Err(ParserFailure::InvalidReply(format!(
            "METADATA and the names around it take more than {READING_BYTES_MAX} bytes"
        ))),
        Ok(ChannelRead::Closed) | Err(_) => Err(ParserFailure::Ended),
    }
}

/// Returns the last line of a process's output, to append to a sentence.
pub(crate) fn last_line(output: &Excerpt) -> String {
    let text = output.tail.as_deref().unwrap_or(&output.head);
    match text.lines().rev().map(str::trim).find(|line| !line.is_empty()) {
        Some(line) => format!("; it printed {:?}", line.chars().take(200).collect::<String>()),
        None => String::new(),
    }
}

fn parser_ended(message: String) -> ParsedToolFile {
    without_metadata(MetadataProblemCode::ParserEnded, message)
}

fn without_metadata(code: MetadataProblemCode, message: String) -> ParsedToolFile {
    let problem = MetadataProblem { code, line: None, message, pointer: String::new() };
    ParsedToolFile { problem: Some(problem), ..ParsedToolFile::default() }
}

/// Returns bytes as text with one character each, which JSON can carry whatever the file's encoding
/// is.
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
