//! The tool `lsp` itself: what it takes, what it declares, and how one call goes from a file to an answer. It reads; a
//! server that would change files is refused, and could not.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    Access, Command, Confined, Cx, ErrorCode, Kind, Output, RequirementSet, ShellRequirement, Tool,
    ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::{Listed, Reader, hover};
use crate::diagnostics::diagnose;
use crate::document::{Document, absolute, load, project_of};
use crate::language::{Language, Programs};
use crate::limits::{ANSWERING_MS_MAX, QUERY_CHARS_MAX};
use crate::pool::{Pool, Wanted};
use crate::position::{Encoding, column_of_name, line_of};
use crate::server::{Failed, Server};
use crate::watch::Watched;

/// What the tool is told by whoever composes it.
#[derive(Clone)]
pub struct LspOptions {
    /// The languages that it knows servers for, the first one first.
    pub languages: Vec<Language>,
    /// Finds the servers' programs.
    pub programs: Arc<dyn Programs>,
    /// Whether processes run as the user runs them. A server may run what the workspace says, so that rules for commands
    /// hold for servers then.
    pub is_unconfined: bool,
}

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
struct Input {
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

/// What is asked, as a server is asked it.
#[derive(Clone, Debug)]
enum Question {
    At { operation: Operation, line: usize, mark: Mark },
    Diagnostics,
    Outline,
    Find(String),
}

/// Where in its line the name is.
#[derive(Clone, Debug)]
enum Mark {
    Column(usize),
    Name(String),
}

/// What is known of a file before a server is asked.
struct Looked {
    document: Document,
    watched: Watched,
}

/// What a server answered, not yet in words.
enum Told {
    Places(Value),
    Hover(Value),
    Diagnostics(Vec<Value>),
    Symbols { of_file: bool, answer: Value },
}

/// Returns the tool.
pub fn lsp(options: LspOptions) -> Tool {
    let languages = options.languages.clone();
    let is_unconfined = options.is_unconfined;
    let requires = requires(&options);
    let pool = Arc::new(Pool::new(options));
    Tool::new("lsp")
        .description(
            "Ask a language server about code: where a name is defined or used, what it is, what is wrong with a file, \
             which symbols there are. Definitions, references and hover take line, and query (the name in that line) or \
             column; symbols take query to search the whole project. Sees files as they are now.",
        )
        .kind(Kind::Search)
        .requires(requires)
        .accesses(move |input: &Input| accesses(input, &languages, is_unconfined))
        .execute_with(move |input: Input, cx: Cx| {
            let pool = Arc::clone(&pool);
            async move {
                let cancellation = cx.cancellation().clone();
                tokio::select! {
                    biased;
                    () = cancellation.cancelled() => Err(stopped()),
                    answer = answer(&pool, input, &cx) => answer,
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

/// Returns what a call touches: the server reads the whole workspace, whatever file is asked about.
fn accesses(input: &Input, languages: &[Language], is_unconfined: bool) -> Vec<Access> {
    let mut accesses = vec![Access::read("."), Access::read(input.path.as_str())];
    if is_unconfined && let Ok(language) = language_of(languages, &input.path) {
        let run = |words: &Vec<String>| Access::Shell { command: Command::Argv(words.clone()) };
        accesses.extend(language.commands.iter().map(run));
    }
    accesses
}

/// Makes one call.
async fn answer(pool: &Arc<Pool>, input: Input, cx: &Cx) -> Result<Output, ToolError> {
    let time = Duration::from_millis(cx.timeout_ms());
    let kept = (time / 10).min(Duration::from_millis(ANSWERING_MS_MAX));
    let deadline = Instant::now() + time.saturating_sub(kept);
    let question = Question::of(&input)?;
    let language = language_of(&pool.options.languages, &input.path)?.clone();
    let directory = {
        let (path, language) = (input.path.clone(), language.clone());
        blocking(cx, move |cx| directory_of(cx, &path, &language)).await?
    };
    let mut seat = pool.seat(&language, &directory, deadline, cx).await?;
    // Only now: another call may have shown the server what is newer than what was read before.
    let looked = {
        let (path, language) = (input.path.clone(), language.clone());
        blocking(cx, move |cx| Looked::look(cx, &path, &language)).await?
    };
    let wanted =
        Wanted { language: &language, directory: &directory, watched: &looked.watched, deadline };
    let server = pool.server(&mut seat, &wanted, cx).await?;
    let asked = ask(server, &looked, &question, (&language, cx, deadline)).await;
    let (told, note) = match asked {
        Ok(told) => told,
        Err(failed) => return Err(seat.failed(failed, &language)),
    };
    let name = server_name(server);
    let (encoding, confined) = (server.encoding, server.confined.clone());
    seat.answered();
    drop(seat);
    let operation = input.operation;
    let uri = looked.document.uri;
    let words = blocking(cx, move |cx| Ok(in_words(cx, encoding, &uri, (operation, told)))).await?;
    Ok(output(words, name, note, confined))
}

fn server_name(server: &Server) -> String {
    server.name.clone()
}

/// Asks a server that runs.
async fn ask(
    server: &mut Server,
    looked: &Looked,
    question: &Question,
    (language, cx, deadline): (&Language, &Cx, Instant),
) -> Result<(Told, Option<String>), Failed> {
    let document = &looked.document;
    // An input that cannot be is refused before anybody waits.
    let params = question.params(server, document).map_err(Failed::Call)?;
    let id = language.id_of(extension_of(&document.display).unwrap_or_default());
    let serial = server.heard().borrow().serial;
    let novelty = server.show(document, id, looked.watched.clone(), cx.root()).await?;
    let note = server.ready(deadline).await?;
    let method = match question {
        Question::Diagnostics => {
            let found = diagnose(server, document, (novelty, serial), deadline).await?;
            // What such a server says of the project, it may have said again since.
            let note = note.filter(|_| !server.checks_projects());
            let note =
                note.into_iter().chain(found.note).reduce(|one, other| format!("{one}; {other}"));
            return Ok((Told::Diagnostics(found.items), note));
        }
        Question::At { operation, .. } => position_method(*operation),
        Question::Outline => ("textDocument/documentSymbol", "documentSymbolProvider"),
        Question::Find(_) => ("workspace/symbol", "workspaceSymbolProvider"),
    };
    if !server.offers(method.1) {
        let message = format!("{} does not answer {}: work with grep", server.name, method.0);
        return Err(Failed::Call(ToolError::new(ErrorCode::Unavailable, message)));
    }
    let answer = server.ask(method.0, &params, deadline).await?;
    let told = match question {
        Question::At { operation: Operation::Hover, .. } => Told::Hover(answer),
        Question::At { .. } | Question::Diagnostics => Told::Places(answer),
        Question::Outline => Told::Symbols { of_file: true, answer },
        Question::Find(_) => Told::Symbols { of_file: false, answer },
    };
    Ok((told, note))
}

/// Returns the method that is asked about a position, and what a server offers that has it.
fn position_method(operation: Operation) -> (&'static str, &'static str) {
    match operation {
        Operation::References => ("textDocument/references", "referencesProvider"),
        Operation::Hover => ("textDocument/hover", "hoverProvider"),
        Operation::Definitions | Operation::Diagnostics | Operation::Symbols => {
            ("textDocument/definition", "definitionProvider")
        }
    }
}

impl Question {
    fn of(input: &Input) -> Result<Self, ToolError> {
        let query = input.query.clone().filter(|query| !query.is_empty());
        if query.as_ref().is_some_and(|query| query.chars().count() > QUERY_CHARS_MAX) {
            return Err(invalid(format!("query has more than {QUERY_CHARS_MAX} characters")));
        }
        let operation = input.operation;
        match operation {
            Operation::Diagnostics => Ok(Self::Diagnostics),
            Operation::Symbols => Ok(query.map_or(Self::Outline, Self::Find)),
            Operation::Definitions | Operation::References | Operation::Hover => {
                let line = input.line.filter(|line| *line > 0).ok_or_else(|| {
                    invalid("expected line, from 1: the line in which the name stands".to_owned())
                })?;
                let mark = match (input.column, query) {
                    (Some(column), _) if column > 0 => Mark::Column(column),
                    (None, Some(name)) => Mark::Name(name),
                    (Some(_), _) => {
                        return Err(invalid("column: expected 1 or more, found 0".to_owned()));
                    }
                    (None, None) => {
                        return Err(invalid(
                            "expected query, the name in that line, or column, its first character from 1"
                                .to_owned(),
                        ));
                    }
                };
                Ok(Self::At { operation, line, mark })
            }
        }
    }

    fn params(&self, server: &Server, document: &Document) -> Result<Value, ToolError> {
        let text_document = json!({ "uri": document.uri });
        match self {
            Self::Diagnostics | Self::Outline => Ok(json!({ "textDocument": text_document })),
            Self::Find(query) => Ok(json!({ "query": query })),
            Self::At { operation, line, mark } => {
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

/// Returns a position as a server counts it.
fn position(
    document: &Document,
    line: usize,
    mark: &Mark,
    encoding: Encoding,
) -> Result<(usize, usize), ToolError> {
    let path = &document.display;
    let Some(text) = line_of(&document.text, line - 1) else {
        let lines = document.text.lines().count();
        return Err(invalid(format!(
            "line: {path} has {lines} lines, and there is no line {line}"
        )));
    };
    let length = text.chars().count();
    let column = match mark {
        Mark::Column(column) if *column <= length + 1 => *column,
        Mark::Column(column) => {
            let message =
                format!("column: line {line} of {path} has {length} characters, found {column}");
            return Err(invalid(message));
        }
        Mark::Name(name) => column_of_name(text, name).ok_or_else(|| {
            invalid(format!(
                "query: {name:?} is no name in line {line} of {path}: {:?}",
                text.trim()
            ))
        })?,
    };
    Ok((line - 1, encoding.units_before(text, column)))
}

impl Looked {
    fn look(cx: &Cx, path: &str, language: &Language) -> Result<Self, ToolError> {
        let (place, _) = cx.fs().resolve(path)?;
        let project = project_of(cx, &place, language)?;
        let watched = Watched::look(cx, &project, language);
        Ok(Self { document: load(cx, path)?, watched })
    }
}

fn directory_of(cx: &Cx, path: &str, language: &Language) -> Result<PathBuf, ToolError> {
    // What is no file is said before anything is started.
    load(cx, path)?;
    let (place, _) = cx.fs().resolve(path)?;
    let project = project_of(cx, &place, language)?;
    Ok(absolute(cx, &project))
}

fn language_of<'l>(languages: &'l [Language], path: &str) -> Result<&'l Language, ToolError> {
    let extension = extension_of(path).unwrap_or_default();
    languages.iter().find(|language| language.has_extension(extension)).ok_or_else(|| {
        let known: Vec<String> =
            languages.iter().flat_map(|language| &language.extensions).map(|end| format!(".{end}")).collect();
        invalid(format!(
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

/// Returns what was told, under the name of the operation.
fn in_words(cx: &Cx, encoding: Encoding, uri: &str, told: (Operation, Told)) -> Value {
    let mut reader = Reader::new(cx, encoding);
    let (operation, told) = told;
    let listed: Listed = match told {
        Told::Hover(answer) => return json!({ "hover": hover(&answer) }),
        Told::Places(answer) => reader.places(&answer),
        Told::Diagnostics(items) => reader.diagnostics(uri, &items),
        Told::Symbols { of_file, answer } => reader.symbols(of_file.then_some(uri), &answer),
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

fn output(mut words: Value, server: String, note: Option<String>, confined: Confined) -> Output {
    if let Some(fields) = words.as_object_mut() {
        fields.insert("server".to_owned(), server.into());
        if let Some(note) = note {
            fields.insert("note".to_owned(), note.into());
        }
    }
    Output { confined: Some(confined), ..Output::data(words) }
}

/// Does something that blocks on a thread of its own.
async fn blocking<T: Send + 'static>(
    cx: &Cx,
    work: impl FnOnce(&Cx) -> Result<T, ToolError> + Send + 'static,
) -> Result<T, ToolError> {
    let cx = cx.clone();
    match tokio::task::spawn_blocking(move || work(&cx)).await {
        Ok(result) => result,
        Err(err) => match err.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => Err(stopped()),
        },
    }
}

fn invalid(message: String) -> ToolError {
    ToolError::new(ErrorCode::InvalidInput, message)
}

fn stopped() -> ToolError {
    let message = "the call was stopped before the language server had answered: ask again";
    ToolError::new(ErrorCode::ToolTimeout, message)
}
