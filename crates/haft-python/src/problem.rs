//! What is wrong with a tool's file, as data and as text: where, what, and how to mend it. Nothing is judged here.

use std::fmt;

use serde::Serialize;

/// One thing that is wrong with a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// The file's name in its directory.
    pub file: String,
    /// The line, from 1, where one is known.
    pub line: Option<u32>,
    /// What of METADATA it is about, such as `parameters.properties.city`.
    pub field: Option<String>,
    /// Whether the tool can be used in spite of it.
    pub severity: Severity,
    /// Stable name of the kind of problem.
    pub code: ProblemCode,
    /// What was expected and what was found.
    pub message: String,
    /// What to do about it.
    pub mend: String,
}

/// Whether a tool can be used in spite of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// It cannot: the tool is left out.
    Error,
    /// It can.
    Warning,
}

macro_rules! problem_codes {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)*) => {
        /// Names the kind of a problem; the text is stable across versions.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
        #[non_exhaustive]
        pub enum ProblemCode {
            $($(#[$doc])* #[serde(rename = $text)] $variant,)*
        }

        impl ProblemCode {
            /// Returns the stable text.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }
        }
    };
}

problem_codes! {
    /// The file cannot be read, or is too large.
    FileUnreadable => "file_unreadable",
    /// The file's name or place cannot be that of a module.
    FileName => "file_name",
    /// The file is no Python.
    Syntax => "syntax",
    /// Parsing the file brought the parser down.
    ParserEnded => "parser_ended",
    /// The interpreter cannot be used.
    Interpreter => "interpreter",
    /// There is no METADATA.
    MetadataMissing => "metadata_missing",
    /// METADATA is not written as a literal.
    MetadataCode => "metadata_code",
    /// A field of METADATA is missing or of the wrong form.
    Field => "field",
    /// The name cannot be a tool's id.
    NameInvalid => "name_invalid",
    /// Another tool has the name.
    NameTaken => "name_taken",
    /// The tool's name says nothing.
    NameVague => "name_vague",
    /// The name of a parameter says nothing.
    ParameterVague => "parameter_vague",
    /// The function's name says nothing.
    FunctionVague => "function_vague",
    /// There is no such function.
    FunctionMissing => "function_missing",
    /// `parameters` is no schema of an object, or no valid schema.
    Schema => "schema",
    /// A parameter has no type.
    Untyped => "untyped",
    /// `required` names what is no parameter.
    Required => "required",
    /// The parameters are one payload of any form.
    FreeForm => "free_form",
    /// The function does not take a parameter of the schema.
    NotInFunction => "not_in_function",
    /// The schema lacks what the function needs.
    NotInSchema => "not_in_schema",
    /// The annotation and the schema say different things.
    Annotation => "annotation",
    /// What the tool requires cannot be granted so.
    Requires => "requires",
    /// The tool has effects and is not marked dangerous.
    NotDangerous => "not_dangerous",
    /// The tool's effect must not be repeated and it does not take its key.
    NoKey => "no_key",
    /// There is no description.
    Undescribed => "undescribed",
    /// The key means nothing to haft.
    UnknownKey => "unknown_key",
    /// The file belongs to a package and none is configured.
    Package => "package",
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let severity = match self.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        write!(f, ": {severity}: {} [{}]", self.message, self.code.as_str())?;
        write!(f, "\n  mend: {}", self.mend)
    }
}
