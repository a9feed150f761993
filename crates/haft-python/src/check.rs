//! Judges what was read of tools' files: which of them are tools, what they publish, and everything that is wrong with the
//! others, at once and with how to mend it. Pure: no file is opened and nothing is run.

mod declared;
mod findings;
mod function;
mod parameters;
mod permissions;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use haft_contract::{Access, Effect, RequirementSet, ToolId, Writable};
use serde_json::{Map, Value};

use self::declared::{Changes, Declared};
use self::findings::Findings;
use crate::directory::{SourceFile, ToolDirectory};
use crate::problem::{Problem, ProblemCode, Severity};
use crate::reading::{Reading, ReadingCode, ReadingProblem};

/// The capability that every tool needs where nothing confines its process.
pub const UNCONFINED: &str = "python.unconfined";

/// What came of checking the files of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked {
    /// The files that are tools, by name of the tool.
    pub tools: Vec<CheckedTool>,
    /// What is wrong with any of the files, by file and line.
    pub problems: Vec<Problem>,
}

/// A file that is a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedTool {
    /// Its name.
    pub id: ToolId,
    /// The file.
    pub source: SourceFile,
    /// METADATA as it is written.
    pub metadata: Map<String, Value>,
    /// The function to call.
    pub function: String,
    /// What it is for.
    pub description: String,
    /// The JSON Schema of its input. Parameters that METADATA does not name are refused unless it says otherwise.
    pub parameters: Value,
    /// What a call does to the world.
    pub effect: Effect,
    /// Whether plans run it only when the user named it.
    pub dangerous: bool,
    /// Time for one call, in milliseconds, where METADATA says one.
    pub timeout_ms: Option<u64>,
    /// Whether the function takes the argument `context`.
    pub takes_context: bool,
    /// What it needs of the outside.
    pub permissions: Permissions,
}

/// What a tool needs of the outside, in the forms in which that is published, judged and enforced.
#[derive(Clone, Debug, PartialEq)]
pub struct Permissions {
    /// As published.
    pub requires: RequirementSet,
    /// As judged before every call.
    pub accesses: Vec<Access>,
    /// As enforced around its process.
    pub writable: Writable,
}

impl CheckedTool {
    /// Returns the tool as it has to be judged where nothing confines its process: nobody but its author says that it only
    /// reads and does no harm, so it counts as one with an effect and as dangerous, and needs [`UNCONFINED`] besides what it
    /// says it needs.
    #[must_use]
    pub fn unconfined(mut self) -> Self {
        if self.effect == Effect::Read {
            self.effect = Effect::Idempotent;
        }
        self.dangerous = true;
        self.permissions.requires.capabilities.push(UNCONFINED.to_owned());
        self.permissions.accesses.push(Access::Named { name: UNCONFINED.to_owned() });
        self
    }
}

impl Checked {
    /// Returns whether any file has an error.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == Severity::Error)
    }

    /// Returns all problems as text, each with how to mend it, and a line that counts them.
    pub fn report(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        let errors =
            self.problems.iter().filter(|problem| problem.severity == Severity::Error).count();
        let warnings = self.problems.len() - errors;
        text.push_str(&format!(
            "{}, {}, {}\n",
            counted(self.tools.len(), "tool"),
            counted(errors, "error"),
            counted(warnings, "warning")
        ));
        text
    }
}

fn counted(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Judges the files of a directory. `taken` are the ids of the tools that there are besides.
pub fn check(
    directory: &ToolDirectory,
    files: Vec<(SourceFile, Reading)>,
    taken: &[ToolId],
) -> Checked {
    let mut checked = Checked::default();
    let mut names_at = BTreeMap::new();
    for (source, reading) in files {
        let mut findings = Findings::new(&source.name, &reading);
        if let Some(tool) = check_file(directory, &source, &mut findings) {
            names_at.insert(source.name.clone(), findings.in_metadata("/name"));
            checked.tools.push(tool);
        }
        checked.problems.extend(findings.into_problems());
    }
    let is_broken = |tool: &CheckedTool| {
        checked
            .problems
            .iter()
            .any(|problem| problem.severity == Severity::Error && problem.file == tool.source.name)
    };
    let tools: Vec<_> = checked.tools.iter().filter(|tool| !is_broken(tool)).cloned().collect();
    checked.tools.clear();
    let mut names = names_of(taken);
    for tool in tools {
        let name = tool.id.wire_name();
        match (names.get(&name), names_at.remove(&tool.source.name)) {
            (Some(owner), at) => checked.problems.push(name_taken(&tool, owner, at)),
            (None, _) => {
                names.insert(name, format!("the tool in {}", tool.source.name));
                checked.tools.push(tool);
            }
        }
    }
    checked.tools.sort_by(|left, right| left.id.cmp(&right.id));
    checked.problems.sort();
    checked
}

/// Returns what the file publishes, as far as that can be told: if there were errors it is left out afterwards.
fn check_file(
    directory: &ToolDirectory,
    source: &SourceFile,
    findings: &mut Findings<'_>,
) -> Option<CheckedTool> {
    let reading = findings.reading();
    if let Some(problem) = &reading.problem {
        report_unreadable(problem, findings);
    }
    if let (Some(line), None) = (reading.relative_import, &directory.package_root) {
        findings.error(
            findings.in_code(line),
            ProblemCode::Package,
            "the file imports from its package, and no package_root is configured for the directory",
            "set package_root to the directory that holds the top package",
        );
    }
    let metadata = reading.metadata.as_ref()?;
    let permissions = permissions::check(metadata.get("requires"), findings);
    let writes = permissions.as_ref().is_some_and(|granted| granted.writable != Writable::Nothing);
    let changes = if writes { Changes::Files } else { Changes::Nothing };
    let declared = Declared::of(metadata, changes, findings);
    let properties = parameters::check(metadata, declared.takes_context, findings);
    if let Some(name) = &declared.function {
        // Whether the function is there does not hang on the schema.
        function::check(name, properties.as_deref(), declared.takes_context, findings);
    }
    let (id, function) = (declared.id?, declared.function?);
    let summary = reading.function.as_ref().map(|function| function.summary.as_str());
    let description = declared
        .description
        .or_else(|| summary.filter(|text| !text.is_empty()).map(str::to_owned))
        .unwrap_or_else(|| id.to_string());
    Some(CheckedTool {
        description,
        parameters: parameters::published(metadata, function::takes_any(reading)),
        effect: declared.effect,
        dangerous: declared.dangerous,
        timeout_ms: declared.timeout_ms,
        takes_context: declared.takes_context,
        permissions: permissions?,
        metadata: metadata.clone(),
        source: source.clone(),
        id,
        function,
    })
}

fn report_unreadable(problem: &ReadingProblem, findings: &mut Findings<'_>) {
    // Python says so in several ways, none of which says what to do.
    let is_encoding =
        ["codec can't decode", "Non-UTF-8"].iter().any(|it| problem.message.contains(it));
    let (code, mend) = match problem.code {
        ReadingCode::Syntax if is_encoding => (
            ProblemCode::Syntax,
            "save it as UTF-8, or say in its first line what it is, such as # -*- coding: latin-1 -*-",
        ),
        ReadingCode::Syntax => {
            (ProblemCode::Syntax, "make it run under the interpreter of the directory")
        }
        ReadingCode::MetadataMissing => (
            ProblemCode::MetadataMissing,
            "add METADATA = {...} with name, function and parameters, or let the file's name begin with an underscore",
        ),
        ReadingCode::MetadataCode => (
            ProblemCode::MetadataCode,
            "write METADATA once, at the top level, with its values spelled out: the file is not run to find them",
        ),
        ReadingCode::MetadataForm => {
            (ProblemCode::Field, "write METADATA = {...} with name, function and parameters")
        }
        ReadingCode::Interpreter => {
            (ProblemCode::Interpreter, "configure another interpreter for the directory")
        }
        ReadingCode::ParserEnded => {
            (ProblemCode::ParserEnded, "look what in the file is too much for Python's parser")
        }
    };
    let about = findings.in_metadata(&problem.pointer);
    let message = match (&about.field, problem.code) {
        (Some(field), ReadingCode::MetadataCode) => format!("{field} {}", problem.message),
        (None, ReadingCode::MetadataCode) if !problem.message.starts_with("METADATA") => {
            format!("METADATA {}", problem.message)
        }
        (_, ReadingCode::Syntax) if is_encoding => {
            format!("the file is no text in UTF-8, which Python takes it for: {}", problem.message)
        }
        (_, ReadingCode::Syntax) => format!("the file is no Python: {}", problem.message),
        _ => problem.message.clone(),
    };
    let at = findings::At { line: problem.line, ..about };
    findings.error(at, code, message, mend);
}

/// Returns who has which name, where dots are not told from underscores either.
fn names_of(taken: &[ToolId]) -> BTreeMap<String, String> {
    taken.iter().map(|id| (id.wire_name(), format!("another tool, {id}"))).collect()
}

fn name_taken(tool: &CheckedTool, owner: &str, at: Option<findings::At>) -> Problem {
    Problem {
        file: tool.source.name.clone(),
        line: at.as_ref().and_then(|at| at.line),
        field: at.and_then(|at| at.field),
        severity: Severity::Error,
        code: ProblemCode::NameTaken,
        message: format!("the name {} is that of {owner}", tool.id),
        mend: "give one of them another name".to_owned(),
    }
}
