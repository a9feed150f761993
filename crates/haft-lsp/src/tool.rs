//! The tool `lsp` itself: its input, its declaration, and the steps of one call. It only reads; a
//! server that requests edits is refused and could not make them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    Access, CommandLine, ConfinementReport, Cx, ErrorCode, RequirementSet, ShellRequirement, Tool,
    ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer_text::{AnswerLines, AnswerReader, hover};
use crate::diagnostics::diagnose;
use crate::document::{SourceDocument, absolute_path, load_document, project_directory};
use crate::language::Language;
use crate::limits::{ANSWERING_MS_MAX, QUERY_CHARS_MAX};
use crate::options::LspOptions;
use crate::pool::{LanguageServerPool, LanguageServerRequest};
use crate::position::{Encoding, column_of_name, line_of};
use crate::project_files::ProjectFiles;
use crate::server::{LanguageServer, LspCallError};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Operation {
    Definitions,
    References,
    Hover,
    Diagnostics,
    Symbols,
}

#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct LspInput {
    /// What to ask.
    operation: Operation,
    /// The source file; its name says the language.
    path: String,
    /// Line of the name, from 1.
    line: Option<usize>,
    /// Character in that line where the name is, from 1; not needed with query.
    column: Option<usize>,
    /// The name itself, in that line; for symbols, what to look for in the whole project instead of the file.
    query: Option<String>,
}

/// A question in the form of the protocol.
#[derive(Clone, Debug)]
enum LspQuery {
    AtPosition { operation: Operation, line: usize, mark: NamePosition },
    Diagnostics,
    Outline,
    FindSymbol(String),
}

/// The position of a name in its line.
#[derive(Clone, Debug)]
enum NamePosition {
    Column(usize),
    Name(String),
}

/// The files before a server is asked.
struct FileSnapshot {
    document: SourceDocument,
    project_files: ProjectFiles,
}

/// A server's answer, before formatting.
enum LspAnswer {
    Locations(Value),
    Hover(Value),
    Diagnostics(Vec<Value>),
    Symbols { of_file: bool, answer: Value },
}

/// Returns the tool.
pub fn lsp(options: LspOptions) -> Tool {
    let languages = options.languages.clone();
    let is_unconfined = options.is_unconfined;
    let requires = requires(&options);
    let pool = Arc::new(LanguageServerPool::new(options));
    Tool::new("lsp")
        .description(
            "Ask a language server about code: where a name is defined or used, what it is, what is wrong with a file, \
             which symbols there are. Definitions, references and hover take line, and query (the name in that line) or \
             column; symbols take query to search the whole project. Sees files as they are now.",
        )
        .kind(ToolKind::Search)
        .requires(requires)
        .accesses(move |input: &LspInput| accesses(input, &languages, is_unconfined))
        .execute_with(move |input: LspInput, cx: Cx| {
            let pool = Arc::clone(&pool);
            async move {
                let cancellation = cx.cancellation().clone();
                tokio::select! {
                    biased;
                    () = cancellation.cancelled() => Err(stopped_error()),
                    answer = run_call(&pool, input, &cx) => answer,
                }
            }
        })
}

fn requires(options: &LspOptions) -> RequirementSet {
    let mut requires = RequirementSet::default();
    requires.fs.read = vec!["{workspace}/**".to_owned()];
    if options.is_unconfined {
        let commands = options.languages.iter().flat_map(|language| &language.commands);
        let programs = commands.filter_map(|command| command.first());
        requires.shell =
            programs.map(|cmd| ShellRequirement { cmd: cmd.clone(), args: None }).collect();
    }
    requires
}

/// Returns the accesses of a call: the server reads the whole workspace, whichever file the call is
/// about.
fn accesses(input: &LspInput, languages: &[Language], is_unconfined: bool) -> Vec<Access> {
    let mut accesses = vec![Access::read("."), Access::read(input.path.as_str())];
    if is_unconfined && let Ok(language) = language_of(languages, &input.path) {
        let run = |words: &Vec<String>| Access::Shell { command: CommandLine::Argv(words.clone()) };
        accesses.extend(language.commands.iter().map(run));
    }
    accesses
}

/// Runs one call.
async fn run_call(
    pool: &Arc<LanguageServerPool>,
    input: LspInput,
    cx: &Cx,
) -> Result<ToolOutput, ToolError> {
    let time = Duration::from_millis(cx.timeout_ms());
    let kept = (time / 10).min(Duration::from_millis(ANSWERING_MS_MAX));
    let deadline = Instant::now() + time.saturating_sub(kept);
    let question = LspQuery::of(&input)?;
    let language = language_of(&pool.options.languages, &input.path)?.clone();
    let directory = {
        let (path, language) = (input.path.clone(), language.clone());
        blocking(cx, move |cx| directory_of(cx, &path, &language)).await?
    };
    let mut slot = pool.lock_slot(&language, &directory, deadline, cx).await?;
    // Scanned only now: while this call waited for the server, another call may have shown it newer
    // files.
    let snapshot = {
        let (path, language) = (input.path.clone(), language.clone());
        blocking(cx, move |cx| FileSnapshot::read_file(cx, &path, &language)).await?
    };
    let request = LanguageServerRequest {
        language: &language,
        directory: &directory,
        project_files: &snapshot.project_files,
        deadline,
    };
    let server = pool.running_server(&mut slot, &request, cx).await?;
    let outcome = ask_server(server, &snapshot, &question, (&language, cx, deadline)).await;
    let (answered, note) = match outcome {
        Ok(answered) => answered,
        Err(failed) => return Err(slot.record_failure(failed, &language)),
    };
    let name = server_name(server);
    let (encoding, confined) = (server.encoding, server.confined.clone());
    slot.record_answer();
    drop(slot);
    let operation = input.operation;
    let uri = snapshot.document.uri;
    let words =
        blocking(cx, move |cx| Ok(render_answer(cx, encoding, &uri, (operation, answered))))
            .await?;
    Ok(output(words, name, note, confined))
}

fn server_name(server: &LanguageServer) -> String {
    server.name.clone()
}

/// Sends the question to a running server.
async fn ask_server(
    server: &mut LanguageServer,
    snapshot: &FileSnapshot,
    question: &LspQuery,
    (language, cx, deadline): (&Language, &Cx, Instant),
) -> Result<(LspAnswer, Option<String>), LspCallError> {
    let document = &snapshot.document;
    // An invalid input is refused before waiting.
    let params = question.params(server, document).map_err(LspCallError::Call)?;
    let id = language.id_of(extension_of(&document.display).unwrap_or_default());
    let serial = server.state().borrow().serial;
    let novelty =
        server.sync_files(document, id, snapshot.project_files.clone(), cx.root()).await?;
    let note = server.wait_until_ready(deadline).await?;
    let method = match question {
        LspQuery::Diagnostics => {
            let found = diagnose(server, document, (novelty, serial), deadline).await?;
            // Such a server may have changed its complaint about the project since.
            let note = note.filter(|_| !server.checks_projects());
            let note =
                note.into_iter().chain(found.note).reduce(|one, other| format!("{one}; {other}"));
            return Ok((LspAnswer::Diagnostics(found.items), note));
        }
        LspQuery::AtPosition { operation, .. } => position_method(*operation),
        LspQuery::Outline => ("textDocument/documentSymbol", "documentSymbolProvider"),
        LspQuery::FindSymbol(_) => ("workspace/symbol", "workspaceSymbolProvider"),
    };
    if !server.has_capability(method.1) {
        let message = format!("{} does not answer {}: work with grep", server.name, method.0);
        return Err(LspCallError::Call(ToolError::new(ErrorCode::Unavailable, message)));
    }
    let answer = server.request(method.0, &params, deadline).await?;
    let answered = match question {
        LspQuery::AtPosition { operation: Operation::Hover, .. } => LspAnswer::Hover(answer),
        LspQuery::AtPosition { .. } | LspQuery::Diagnostics => LspAnswer::Locations(answer),
        LspQuery::Outline => LspAnswer::Symbols { of_file: true, answer },
        LspQuery::FindSymbol(_) => LspAnswer::Symbols { of_file: false, answer },
    };
    Ok((answered, note))
}

/// Returns the method for a position, and the server capability that it needs.
fn position_method(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::References => ("textDocument/references", "referencesProvider"),
        Operation::Hover => ("textDocument/hover", "hoverProvider"),
        Operation::Definitions | Operation::Diagnostics | Operation::Symbols => {
            ("textDocument/definition", "definitionProvider")
        }
    }
}

impl LspQuery {
    fn of(input: &LspInput) -> Result<Self, ToolError> {
        let query = input.query.clone().filter(|query| !query.is_empty());
        if query.as_ref().is_some_and(|query| query.chars().count() > QUERY_CHARS_MAX) {
            return Err(invalid_input(format!("query has more than {QUERY_CHARS_MAX} characters")));
        }
        let operation = input.operation;
        match operation {
            Operation::Diagnostics => Ok(Self::Diagnostics),
            Operation::Symbols => Ok(query.map_or(Self::Outline, Self::FindSymbol)),
            Operation::Definitions | Operation::References | Operation::Hover => {
                let line = input.line.filter(|line| *line > 0).ok_or_else(|| {
                    invalid_input(
                        "expected line, from 1: the line that contains the name".to_owned(),
                    )
                })?;
                let mark = match (input.column, query) {
                    (Some(column), _) if column > 0 => NamePosition::Column(column),
                    (None, Some(name)) => NamePosition::Name(name),
                    (Some(_), _) => {
                        return Err(invalid_input(
                            "column: expected 1 or more, found 0".to_owned(),
                        ));
                    }
                    (None, None) => {
                        return Err(invalid_input(
                            "expected query, the name in that line, or column, its first character from 1"
                                .to_owned(),
                        ));
                    }
                };
                Ok(Self::AtPosition { operation, line, mark })
            }
        }
    }

    fn params(
        &self,
        server: &LanguageServer,
        document: &SourceDocument,
    ) -> Result<Value, ToolError> {
        let text_document = json!({ "uri": document.uri });
        match self {
            Self::Diagnostics | Self::Outline => Ok(json!({ "textDocument": text_document })),
            Self::FindSymbol(query) => Ok(json!({ "query": query })),
            Self::AtPosition { operation, line, mark } => {
                let (line, units) = position(document, *line, mark, server.encoding)?;
                let mut params = json!({
                    "textDocument": text_document,
                    "position": { "line": line, "character": units },
                });
                if *operation == Operation::References
                    && let Some(fields) = params.as_object_mut()
                {
                    fields.insert("context".to_owned(), json!({ "includeDeclaration": true }));
                }
                Ok(params)
            }
        }
    }
}

/// Returns a position in the server's units.
fn position(
    document: &SourceDocument,
    line: usize,
    mark: &NamePosition,
    encoding: Encoding,
) -> Result<(usize, usize), ToolError> {
    let path = &document.display;
    let Some(text) = line_of(&document.text, line - 1) else {
        let lines = document.text.lines().count();
        return Err(invalid_input(format!(
            "line: {path} has {lines} lines, and there is no line {line}"
        )));
    };
    let length = text.chars().count();
    let column = match mark {
        NamePosition::Column(column) if *column <= length + 1 => *column,
        NamePosition::Column(column) => {
            let message =
                format!("column: line {line} of {path} has {length} characters, found {column}");
            return Err(invalid_input(message));
        }
        NamePosition::Name(name) => column_of_name(text, name).ok_or_else(|| {
            invalid_input(format!(
                "query: {name:?} is not a name in line {line} of {path}: {:?}",
                text.trim()
            ))
        })?,
    };
    Ok((line - 1, encoding.units_before(text, column)))
}

impl FileSnapshot {
    fn read_file(cx: &Cx, path: &str, language: &Language) -> Result<Self, ToolError> {
        let (place, _) = cx.fs().resolve(path)?;
        let project = project_directory(cx, &place, language)?;
        let watched = ProjectFiles::scan_directory(cx, &project, language);
        Ok(Self { document: load_document(cx, path)?, project_files: watched })
    }
}

fn directory_of(cx: &Cx, path: &str, language: &Language) -> Result<PathBuf, ToolError> {
    // A missing file is reported before any server is started.
    load_document(cx, path)?;
    let (place, _) = cx.fs().resolve(path)?;
    let project = project_directory(cx, &place, language)?;
    Ok(absolute_path(cx, &project))
}

fn language_of<'l>(languages: &'l [Language], path: &str) -> Result<&'l Language, ToolError> {
    let extension = extension_of(path).unwrap_or_default();
    languages.iter().find(|language| language.has_extension(extension)).ok_or_else(|| {
        let known: Vec<String> =
            languages.iter().flat_map(|language| &language.extensions).map(|end| format!(".{end}")).collect();
        invalid_input(format!(
            "path: there is no language server for {path:?}: expected a file that ends in {}; others can be named \
             under [lsp.NAME] in haft.toml",
            known.join(", ")
        ))
    })
}

fn extension_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    name.rsplit_once('.').map(|(_, extension)| extension)
}

/// Returns the answer as text, under the name of the operation.
fn render_answer(
    cx: &Cx,
    encoding: Encoding,
    uri: &str,
    answered: (Operation, LspAnswer),
) -> Value {
    let mut reader = AnswerReader::new(cx, encoding);
    let (operation, answered) = answered;
    let listed: AnswerLines = match answered {
        LspAnswer::Hover(answer) => return json!({ "hover": hover(&answer) }),
        LspAnswer::Locations(answer) => reader.locations(&answer),
        LspAnswer::Diagnostics(items) => reader.diagnostics(uri, &items),
        LspAnswer::Symbols { of_file, answer } => reader.symbols(of_file.then_some(uri), &answer),
    };
    let name = match operation {
        Operation::Definitions => "definitions",
        Operation::References => "references",
        Operation::Hover => "hover",
        Operation::Diagnostics => "diagnostics",
        Operation::Symbols => "symbols",
    };
    let mut words = json!({ name: listed.lines });
    if listed.more > 0
        && let Some(fields) = words.as_object_mut()
    {
        fields.insert("more".to_owned(), listed.more.into());
    }
    words
}

fn output(
    mut words: Value,
    server: String,
    note: Option<String>,
    confined: ConfinementReport,
) -> ToolOutput {
    if let Some(fields) = words.as_object_mut() {
        fields.insert("server".to_owned(), server.into());
        if let Some(note) = note {
            fields.insert("note".to_owned(), note.into());
        }
    }
    ToolOutput { confined: Some(confined), ..ToolOutput::data(words) }
}

/// Runs blocking work on a separate thread.
async fn blocking<T: Send + 'static>(
    cx: &Cx,
    work: impl FnOnce(&Cx) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cx = cx.clone();
    match tokio::task::spawn_blocking(move || work(&cx)).await {
        Ok(result) => result,
        Err(err) => match err.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(stopped_error()),
        },
    }
}

fn invalid_input(message: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message)
}

fn stopped_error() -> ToolError {
    let message = "the call was stopped before the language server had answered: ask again";
    ToolError::new(ErrorCode::ToolTimeout, message)
}
