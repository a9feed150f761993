//! The problems of one file while it is checked, with their places.

use crate::problem::{Problem, ProblemCode, Severity};
use crate::reading::Reading;

/// Collects what is wrong with one file.
pub(super) struct Findings<'a> {
    file: &'a str,
    reading: &'a Reading,
    problems: Vec<Problem>,
}

/// Where a problem is.
#[derive(Clone, Debug)]
pub(super) struct At {
    pub(super) field: Option<String>,
    pub(super) line: Option<u32>,
}

impl<'a> Findings<'a> {
    pub(super) fn new(file: &'a str, reading: &'a Reading) -> Self {
        Self { file, reading, problems: Vec::new() }
    }

    pub(super) fn reading(&self) -> &'a Reading {
        self.reading
    }

    /// Returns the place of a part of METADATA, or of what is around it if there is no such part.
    pub(super) fn in_metadata(&self, pointer: &str) -> At {
        let mut around = pointer;
        let line = loop {
            match (self.reading.lines.get(around), around.rfind('/')) {
                (Some(line), _) => break Some(*line),
                (None, Some(end)) => around = around.get(..end).unwrap_or_default(),
                (None, None) => break self.reading.metadata_line,
            }
        };
        At { field: (!pointer.is_empty()).then(|| field_of(pointer)), line }
    }

    /// Returns the place of a line outside METADATA.
    pub(super) fn in_code(&self, line: u32) -> At {
        At { field: None, line: Some(line) }
    }

    pub(super) fn error(
        &mut self,
        at: At,
        code: ProblemCode,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.push(at, Severity::Error, (code, message.into(), mend.into()));
    }

    pub(super) fn warning(
        &mut self,
        at: At,
        code: ProblemCode,
        message: impl Into<String>,
        mend: impl Into<String>,
    ) {
        self.push(at, Severity::Warning, (code, message.into(), mend.into()));
    }

    /// Returns how many errors there are so far.
    pub(super) fn errors(&self) -> usize {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error).count()
    }

    pub(super) fn into_problems(self) -> Vec<Problem> {
        self.problems
    }

    fn push(&mut self, at: At, severity: Severity, said: (ProblemCode, String, String)) {
        let (code, message, mend) = said;
        let file = self.file.to_owned();
        let At { field, line } = at;
        self.problems.push(Problem { file, line, field, severity, code, message, mend });
    }
}

/// Writes a JSON pointer as `a.b[0].c`.
fn field_of(pointer: &str) -> String {
    let mut text = String::new();
    for name in pointer.split('/').skip(1).map(|name| name.replace("~1", "/").replace("~0", "~")) {
        let is_index = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
        if is_index {
            text.push_str(&format!("[{name}]"));
        } else {
            let dot = if text.is_empty() { "" } else { "." };
            text.push_str(&format!("{dot}{name}"));
        }
    }
    text
}

/// Writes a name as a part of a JSON pointer.
pub(super) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
