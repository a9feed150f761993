//! Checks parsed tool files: which of them are tools, what they publish, and all errors of the
//! others at once, each with a remedy. Pure: no file is opened and nothing is run.

mod comparison;
mod findings;
mod metadata;
mod parameters;
mod permissions;
mod signature;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use haft_contract::{Access, Effect, ProcessWriteAccess, ToolId};
use serde_json::{Map, Value};

pub use self::comparison::compare_directories;
use self::findings::Findings;
use self::metadata::DeclaredMetadata;
pub use self::permissions::PythonToolPermissions;
use crate::directory::{SourceFile, ToolDirectory};
use crate::parsed_file::{MetadataProblem, MetadataProblemCode, ParsedToolFile};
use crate::problem::{ProblemCode, ToolFileProblem, ToolFileSeverity};

/// The capability that every tool needs if its process is not confined.
pub const UNCONFINED: &str = "python.unconfined";

/// The result of checking the files of a directory.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CheckedDirectory {
    /// The valid tools, by name.
    pub tools: Vec<CheckedTool>,
    /// The problems of all files, by file and line.
    pub problems: Vec<ToolFileProblem>,
}

/// A file that is a valid tool.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckedTool {
    /// Its name.
    pub id: ToolId,
    /// The file.
    pub source: SourceFile,
    /// METADATA as written.
    pub metadata: Map<String, Value>,
    /// The name of the function to call.
    pub function: String,
    /// The description.
    pub description: String,
    /// The JSON Schema of its input. Parameters that METADATA does not name are refused, unless it
    /// says otherwise.
    pub parameters: Value,
    /// The effect of a call.
    pub effect: Effect,
    /// Whether plans run it only if the user named it.
    pub dangerous: bool,
    /// Timeout of one call, in milliseconds, if METADATA sets one.
    pub timeout_ms: Option<u64>,
    /// Whether the function takes the argument `context`.
    pub takes_context: bool,
    /// Whether a result with `"status": "error"` means that the call failed, as in files for Smith.
    pub status_errors: bool,
    /// Whether METADATA says that equal inputs have equal results.
    pub deterministic: bool,
    /// Whether the globals of its process remain for the next call.
    pub stateful: bool,
    /// Its required permissions.
    pub permissions: PythonToolPermissions,
    /// The line of every part of METADATA, by JSON pointer.
    pub(crate) lines: BTreeMap<String, u32>,
}

impl CheckedTool {
    /// Returns whether a call may do more than read files.
    pub(crate) fn reaches_more_than_files(&self) -> bool {
        self.permissions.accesses.iter().any(|access| *access != Access::read("."))
    }

    /// Returns the tool as it must be judged if its process is not confined. In that case only its
    /// author claims that it reads and does no harm. Therefore it counts as dangerous and with an
    /// effect, and also requires [`UNCONFINED`].
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

impl CheckedDirectory {
    /// Returns whether any file has an error.
    pub fn has_errors(&self) -> bool {
        self.problems.iter().any(|problem| problem.severity == ToolFileSeverity::Error)
    }

    /// Returns all problems as text, each with its remedy, and a line with their number.
    pub fn report(&self) -> String {
        let mut text: String = self.problems.iter().map(|problem| format!("{problem}\n")).collect();
        let errors = self
            .problems
            .iter()
            .filter(|problem| problem.severity == ToolFileSeverity::Error)
            .count();
        let warnings = self.problems.len() - errors;
        text.push_str(&format!(
            "{}, {}, {}\n",
            count_noun(self.tools.len(), "tool"),
            count_noun(errors, "error"),
            count_noun(warnings, "warning")
        ));
        text
    }
}

fn count_noun(count: usize, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

/// Checks the files of a directory. `taken` are the ids of all other tools.
pub fn check_tool_files(
    directory: &ToolDirectory,
    files: Vec<(SourceFile, ParsedToolFile)>,
    taken: &[ToolId],
) -> CheckedDirectory {
    let mut checked = CheckedDirectory::default();
    // Dots and underscores count as equal.
    let taken: BTreeMap<String, &ToolId> = taken.iter().map(|id| (id.wire_name(), id)).collect();
    for (source, reading) in files {
        let mut findings = Findings::new(&source.name, &reading);
        if let Some(tool) = check_file(directory, &source, &mut findings) {
            if let Some(owner) = taken.get(&tool.id.wire_name()) {
                findings.error(
                    findings.in_metadata("/name"),
                    ProblemCode::NameTaken,
                    format!("the name {} is that of another tool, {owner}", tool.id),
                    "give one of them another name",
                );
            }
            if findings.errors() == 0 {
                checked.tools.push(tool);
            }
        }
        checked.problems.extend(findings.into_problems());
    }
    checked.tools.sort_by(|left, right| left.id.cmp(&right.id));
    comparison::reject_shared_names(&mut [&mut checked]);
    checked.problems.sort();
    checked
}

/// Returns the tool of the file, as far as it can be determined. If there were errors, the caller
/// drops it.
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
    let permissions = permissions::check_permissions(metadata.get("requires"), findings);
    let may_write =
        permissions.as_ref().is_some_and(|granted| granted.writable != ProcessWriteAccess::Nothing);
    let declared = DeclaredMetadata::read(metadata, may_write, findings);
    let properties = parameters::check_parameters(metadata, declared.takes_context, findings);
    if let Some(name) = &declared.function {
        // The existence of the function does not depend on the schema.
        signature::check_function(name, properties.as_deref(), declared.takes_context, findings);
    }
    let (id, function) = (declared.id?, declared.function?);
    let summary = reading.function.as_ref().map(|function| function.summary.as_str());
    let description = declared
        .description
        .or_else(|| summary.filter(|text| !text.is_empty()).map(str::to_owned))
        .unwrap_or_else(|| id.to_string());
    Some(CheckedTool {
        description,
        parameters: parameters::published_schema(metadata, signature::takes_any(reading)),
        effect: declared.effect,
        dangerous: declared.dangerous,
        timeout_ms: declared.timeout_ms,
        takes_context: declared.takes_context,
        status_errors: declared.status_errors,
        deterministic: declared.deterministic,
        stateful: declared.stateful,
        permissions: permissions?,
        lines: reading.lines.clone(),
        metadata: metadata.clone(),
        source: source.clone(),
        id,
        function,
    })
}

fn report_unreadable(problem: &MetadataProblem, findings: &mut Findings<'_>) {
    // Python words this error in several ways, none of which says what to do.
    let is_encoding =
        ["codec can't decode", "Non-UTF-8"].iter().any(|it| problem.message.contains(it));
    let (code, mend) = match problem.code {
        MetadataProblemCode::Syntax if is_encoding => (
            ProblemCode::Syntax,
            "save it as UTF-8, or say in its first line what it is, such as # -*- coding: latin-1 -*-",
        ),
        MetadataProblemCode::Syntax => {
            (ProblemCode::Syntax, "make it run under the interpreter of the directory")
        }
        MetadataProblemCode::MetadataMissing => (
            ProblemCode::MetadataMissing,
            "add METADATA = {...} with name, function and parameters, or let the file's name begin with an underscore",
        ),
        MetadataProblemCode::MetadataCode => (
            ProblemCode::MetadataCode,
            "write METADATA once, at the top level, with its values spelled out: the file is not run to find them",
        ),
        MetadataProblemCode::MetadataForm => {
            (ProblemCode::Field, "write METADATA = {...} with name, function and parameters")
        }
        MetadataProblemCode::Interpreter => {
            (ProblemCode::Interpreter, "configure another interpreter for the directory")
        }
        MetadataProblemCode::ParserEnded => {
            (ProblemCode::ParserEnded, "look what in the file is too much for Python's parser")
        }
    };
    let about = findings.in_metadata(&problem.pointer);
    let message = match (&about.field, problem.code) {
        (Some(field), MetadataProblemCode::MetadataCode) => format!("{field} {}", problem.message),
        (None, MetadataProblemCode::MetadataCode) if !problem.message.starts_with("METADATA") => {
            format!("METADATA {}", problem.message)
        }
        (_, MetadataProblemCode::Syntax) if is_encoding => {
            format!("the file is no text in UTF-8, which Python takes it for: {}", problem.message)
        }
        (_, MetadataProblemCode::Syntax) => format!("the file is not Python: {}", problem.message),
        _ => problem.message.clone(),
    };
    let at = findings::ProblemLocation { line: problem.line, ..about };
    findings.error(at, code, message, mend);
}
