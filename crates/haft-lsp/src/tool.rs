//! The tool `lsp` itself: its input, its declaration, and the steps of one call. It only reads; a
//! server that requests edits is refused and could not make them.

use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    Access, CommandLine, Cx, ErrorCode, ListingCondition, RequirementSet, ShellRequirement, Tool,
    ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use tokio::time::Instant;

use crate::answer_text::{AnswerReader, diagnostics, hover, locations, symbols};
use crate::diagnostics::diagnose;
use crate::document::{SourceDocument, absolute_path, load_document, project_directory};
use crate::language::Language;
use crate::limits::{ANSWERING_MS_MAX, QUERY_CHARS_MAX, RESULTS_MAX};
use crate::options::LspOptions;
use crate::pool::LanguageServerPool;
use crate::position::{Encoding, column_of_name, line_of};
use crate::project_files::ProjectFiles;
use crate::server::{LanguageServer, LanguageServerStart, LspCallError};

/// The id of the tool.
pub const LSP_TOOL: &str = "lsp";

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
    /// The question.
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

/// A valid question.
#[derive(Clone, Debug)]
enum LspQuery {
    Definitions(NamePosition),
    References(NamePosition),
    Hover(NamePosition),
    Diagnostics,
    Outline,
    FindSymbol(String),
}

/// The position of a name in a file.
#[derive(Clone, Debug)]
struct NamePosition {
    line: usize,
    mark: NameMark,
}

/// The mark of a name in its line.
#[derive(Clone, Debug)]
enum NameMark {
    Column(usize),
    Name(String),
}

/// Returns the tool.
pub fn lsp(options: LspOptions) -> Tool {
    let languages = options.languages.clone();
    let is_unconfined = options.is_unconfined;
    let requires = requires(&options);
    let listed_if = match options.has_server() {
        true => ListingCondition::Always,
        false => ListingCondition::Never,
    };
    let pool = Arc::new(LanguageServerPool::new(options));
    Tool::new(LSP_TOOL)
        .description(
            "Ask a language server about code: definitions, references, hover, diagnostics, symbols of a file or project. \
             Definitions, references and hover take line, and query (the name in that line) or \
             column; symbols take query to search the whole project. Sees files as they are now.",
        )
        .kind(ToolKind::Search)
        .listed_if(listed_if)
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
    pool: &LanguageServerPool,
    input: LspInput,
    cx: &Cx,
) -> Result<ToolOutput, ToolError> {
    let time = Duration::from_millis(cx.timeout_ms());
    let kept = (time / 10).min(Duration::from_millis(ANSWERING_MS_MAX));
    let deadline = Instant::now() + time.saturating_sub(kept);
    let question = LspQuery::parse(&input)?;
    let language = language_of(&pool.options.languages, &input.path)?;
    let project = {
        let (path, language) = (input.path.clone(), language.clone());
        blocking(cx, move |cx| {
            // A missing file is reported before any server is started.
            load_document(cx, &path)?;
            let (place, _) = cx.fs().resolve(&path)?;
            project_directory(cx, &place, &language)
        })
        .await?
    };
    let directory = absolute_path(cx, &project);
    let mut slot = pool.lock_slot(language, &directory, deadline, cx).await?;
    // Scanned only now: while this call waited for the server, another call may have shown it newer
    // files.
    let (document, project_files) = {
        let (path, language) = (input.path, language.clone());
        blocking(cx, move |cx| {
            let project_files = ProjectFiles::scan_directory(cx, &project, &language);
            Ok((load_document(cx, &path)?, project_files))
        })
        .await?
    };
    let start = LanguageServerStart {
        language,
        directory: &directory,
        project_files: &project_files,
        is_unconfined: pool.options.is_unconfined,
        deadline,
    };
    let server = pool.running_server(&mut slot, &start, cx).await?;
    let (answer, note) = match ask_server(server, &document, &question, &start, cx).await {
        Ok(answered) => answered,
        Err(failed) => return Err(slot.record_failure(failed, language)),
    };
    let (name, encoding, confined) =
        (server.name.clone(), server.encoding, server.confined.clone());
    slot.record_answer();
    drop(slot);
    let mut fields = blocking(cx, move |cx| {
        let mut reader = AnswerReader::new(cx, encoding);
        let (name, places) = match &question {
            LspQuery::Hover(_) => {
                return Ok(Map::from_iter([("hover".to_owned(), hover(&answer).into())]));
            }
            LspQuery::Definitions(_) => ("definitions", locations(&answer)),
            LspQuery::References(_) => ("references", locations(&answer)),
            LspQuery::Diagnostics => ("diagnostics", diagnostics(&document.uri, &answer)),
            LspQuery::Outline => ("symbols", symbols(cx, Some(&document.uri), &answer)),
            LspQuery::FindSymbol(_) => ("symbols", symbols(cx, None, &answer)),
        };
        let lines = places.iter().take(RESULTS_MAX).map(|place| reader.location_line(place));
        let mut fields = Map::from_iter([(name.to_owned(), lines.collect())]);
        if places.len() > RESULTS_MAX {
            fields.insert("more".to_owned(), (places.len() - RESULTS_MAX).into());
        }
        Ok(fields)
    })
    .await?;
    fields.insert("server".to_owned(), name.into());
    if let Some(note) = note {
        fields.insert("note".to_owned(), note.into());
    }
    Ok(ToolOutput { confined: Some(confined), ..ToolOutput::data(Value::Object(fields)) })
}

/// Sends the question to a running server. Returns its answer, and a note for the reader.
async fn ask_server(
    server: &mut LanguageServer,
    document: &SourceDocument,
    question: &LspQuery,
    start: &LanguageServerStart<'_>,
    cx: &Cx,
) -> Result<(Value, Option<String>), LspCallError> {
    let deadline = start.deadline;
    // An invalid input is refused before waiting.
    let params = question.params(server, document).map_err(LspCallError::Call)?;
    let id = start.language.id_of(extension_of(&document.display).unwrap_or_default());
    let serial = server.state().borrow().serial;
    let files = start.project_files.clone();
    let novelty = server.sync_files(document, id, files, cx.root()).await?;
    let note = server.wait_until_ready(deadline).await?;
    let (method, capability) = match question {
        LspQuery::Diagnostics => {
            let found = diagnose(server, document, (novelty, serial), deadline).await?;
            // Such a server may have changed its complaint about the project since.
            let note = note.filter(|_| !server.checks_projects());
            let note =
                note.into_iter().chain(found.note).reduce(|one, other| format!("{one}; {other}"));
            return Ok((Value::Array(found.items), note));
        }
        LspQuery::Definitions(_) => ("textDocument/definition", "definitionProvider"),
        LspQuery::References(_) => ("textDocument/references", "referencesProvider"),
        LspQuery::Hover(_) => ("textDocument/hover", "hoverProvider"),
        LspQuery::Outline => ("textDocument/documentSymbol", "documentSymbolProvider"),
        LspQuery::FindSymbol(_) => ("workspace/symbol", "workspaceSymbolProvider"),
    };
    if !server.has_capability(capability) {
        let message = format!("{} does not answer {method}: work with grep", server.name);
        return Err(LspCallError::Call(ToolError::new(ErrorCode::Unavailable, message)));
    }
    Ok((server.request(method, &params, deadline).await?, note))
}

impl LspQuery {
    fn parse(input: &LspInput) -> Result<Self, ToolError> {
        let query = input.query.clone().filter(|query| !query.is_empty());
        if query.as_ref().is_some_and(|query| query.chars().count() > QUERY_CHARS_MAX) {
            return Err(invalid_input(format!("query has more than {QUERY_CHARS_MAX} characters")));
        }
        let at_position: fn(NamePosition) -> Self = match input.operation {
            Operation::Diagnostics => return Ok(Self::Diagnostics),
            Operation::Symbols => return Ok(query.map_or(Self::Outline, Self::FindSymbol)),
            Operation::Definitions => Self::Definitions,
            Operation::References => Self::References,
            Operation::Hover => Self::Hover,
        };
        let line = input.line.filter(|line| *line > 0).ok_or_else(|| {
            invalid_input("expected line, from 1: the line that contains the name")
        })?;
        let mark = match (input.column, query) {
            (Some(column), _) if column > 0 => NameMark::Column(column),
            (None, Some(name)) => NameMark::Name(name),
            (Some(_), _) => return Err(invalid_input("column: expected 1 or more, found 0")),
            (None, None) => {
                return Err(invalid_input(
                    "expected query, the name in that line, or column, its first character from 1",
                ));
            }
        };
        Ok(at_position(NamePosition { line, mark }))
    }

    fn params(
        &self,
        server: &LanguageServer,
        document: &SourceDocument,
    ) -> Result<Value, ToolError> {
        let text_document = json!({ "uri": document.uri });
        Ok(match self {
            Self::Diagnostics | Self::Outline => json!({ "textDocument": text_document }),
            Self::FindSymbol(query) => json!({ "query": query }),
            Self::Definitions(name) | Self::Hover(name) => json!({
                "textDocument": text_document,
                "position": name.protocol_position(document, server.encoding)?,
            }),
            Self::References(name) => json!({
                "textDocument": text_document,
                "position": name.protocol_position(document, server.encoding)?,
                "context": { "includeDeclaration": true },
            }),
        })
    }
}

impl NamePosition {
    /// Returns the position in the server's units.
    fn protocol_position(
        &self,
        document: &SourceDocument,
        encoding: Encoding,
    ) -> Result<Value, ToolError> {
        let (line, path) = (self.line, &document.display);
        let Some(text) = line_of(&document.text, line - 1) else {
            let lines = document.text.lines().count();
            return Err(invalid_input(format!(
                "line: {path} has {lines} lines, and there is no line {line}"
            )));
        };
        let length = text.chars().count();
        let column = match &self.mark {
            NameMark::Column(column) if *column <= length + 1 => *column,
            NameMark::Column(column) => {
                return Err(invalid_input(format!(
                    "column: line {line} of {path} has {length} characters, found {column}"
                )));
            }
            NameMark::Name(name) => column_of_name(text, name).ok_or_else(|| {
                invalid_input(format!(
                    "query: {name:?} is not a name in line {line} of {path}: {:?}",
                    text.trim()
                ))
            })?,
        };
        Ok(json!({ "line": line - 1, "character": encoding.units_before(text, column) }))
    }
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

fn invalid_input(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message)
}

fn stopped_error() -> ToolError {
    let message = "the call was stopped before the language server had answered: ask again";
    ToolError::new(ErrorCode::ToolTimeout, message)
}
