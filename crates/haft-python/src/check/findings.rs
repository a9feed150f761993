//! The problems of one file during the check, with their locations.

use crate::parsed_file::ParsedToolFile;
use crate::problem::{ProblemCode, ToolFileProblem, ToolFileSeverity};

/// Collects the problems of one file.
pub(super) struct Findings<'a> {
    file: &'a str,
    reading: &'a ParsedToolFile,
    problems: Vec<ToolFileProblem>,
}

/// The location of a problem.
#[derive(Clone, Debug)]
pub(super) struct ProblemLocation {
    pub(super) field: Option<String>,
    pub(super) line: Option<u32>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(file: &'a str, reading: &'a ParsedToolFile) -> Self {
        Self { file, reading, problems: Vec::new() }
    }

    pub(super) fn reading(&self) -> &'a ParsedToolFile {
        self.reading
    }

    /// Returns the location of a part of METADATA, or of its nearest parent if the part does not
    /// exist.
    pub(super) fn in_metadata(&self, pointer: &str) -> ProblemLocation {
        let mut around = pointer;
        let line = loop {
            match (self.reading.lines.get(around), around.rfind('/')) {
                (Some(line), _) => break Some(*line),
                (None, Some(end)) => around = around.get(..end).unwrap_or_default(),
                (None, None) => break self.reading.metadata_line,
            }
        };
        // A field is shown as `a.b[0].c`.
        let mut field = String::new();
        for name in pointer.split('/').skip(1) {
            let name = name.replace("~1", "/").replace("~0", "~");
            if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit()) {
                field.push_str(&format!("[{name}]"));
            } else {
                let dot = if field.is_empty() { "" } else { "." };
                field.push_str(&format!("{dot}{name}"));
            }
        }
        ProblemLocation { field: (!pointer.is_empty()).then_some(field), line }
    }

    /// Returns the location of a line outside METADATA.
    pub(super) fn in_code(&self, line: u32) -> ProblemLocation {
        ProblemLocation { field: None, line: Some(line) }
    }

    pub(super) fn error(
        &mut self,
        at: ProblemLocation,
        code: ProblemCode,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.push(at, ToolFileSeverity::Error, (code, message.into(), mend.into()));
    }

    pub(super) fn warning(
        &mut self,
        at: ProblemLocation,
        code: ProblemCode,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.push(at, ToolFileSeverity::Warning, (code, message.into(), mend.into()));
    }

    /// Returns the number of errors so far.
    pub(super) fn errors(&self) -> usize {
        self.problems.iter().filter(|problem| problem.severity == ToolFileSeverity::Error).count()
    }

    pub(super) fn into_problems(self) -> Vec<ToolFileProblem> {
        self.problems
    }

    fn push(
        &mut self,
        at: ProblemLocation,
        severity: ToolFileSeverity,
        problem: (ProblemCode, String, String),
    ) {
        let (code, message, mend) = problem;
        let file = self.file.to_owned();
        let ProblemLocation { field, line } = at;
        self.problems.push(ToolFileProblem { file, line, field, severity, code, message, mend });
    }
}

/// Escapes a name as a part of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
