//! A problem of a tool's file, as data and as text: location, description and remedy. Nothing is
//! judged here.

use std::fmt;

use serde::Serialize;

/// One problem of a file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct ToolFileProblem {
    /// The file's name in its directory.
    pub file: String,
    /// The line, from 1, if it is known.
    pub line: Option<u32>,
    /// The part of METADATA that it concerns, such as `parameters.properties.city`.
    pub field: Option<String>,
    /// Whether the tool can still be used.
    pub severity: ToolFileSeverity,
    /// The stable name of the kind of problem.
    pub code: ProblemCode,
    /// The expected and the found value.
    pub message: String,
    /// The remedy.
    pub mend: String,
}

/// Whether a tool can be used despite a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolFileSeverity {
    /// It cannot be used: the tool is dropped.
    Error,
    /// It can be used.
    Warning,
}

macro_rules! problem_codes {
    ($($(#[$doc:meta])* $variant:ident => $text:literal,)*) => {
        /// The kind of a problem; the text is stable across versions.
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
    /// The file's name or location cannot be that of a module.
    FileName => "file_name",
    /// The file is not valid Python.
    Syntax => "syntax",
    /// The parser crashed on the file.
    ParserEnded => "parser_ended",
    /// The interpreter cannot be used.
    Interpreter => "interpreter",
    /// There is no METADATA.
    MetadataMissing => "metadata_missing",
    /// METADATA is not written as a literal.
    MetadataCode => "metadata_code",
    /// A field of METADATA is missing or has the wrong form.
    Field => "field",
    /// The name cannot be a tool's id.
    NameInvalid => "name_invalid",
    /// Another tool has this name.
    NameTaken => "name_taken",
    /// The tool's name is meaningless.
    NameVague => "name_vague",
    /// A parameter's name is meaningless.
    ParameterVague => "parameter_vague",
    /// The function's name is meaningless.
    FunctionVague => "function_vague",
    /// The function does not exist.
    FunctionMissing => "function_missing",
    /// `parameters` is not a schema of an object, or not a valid schema.
    Schema => "schema",
    /// A parameter has no type.
    Untyped => "untyped",
    /// `required` names something that is not a parameter.
    Required => "required",
    /// Another tool has another name for the same parameter.
    ParameterDiffers => "parameter_differs",
    /// A parameter is an object whose parts a model has to nest.
    Nested => "nested",
    /// Equal inputs had different results, although METADATA says that they do not.
    NotDeterministic => "not_deterministic",
    /// The parameters are one arbitrary payload.
    FreeForm => "free_form",
    /// The function does not take a parameter of the schema.
    NotInFunction => "not_in_function",
    /// The schema lacks a parameter that the function needs.
    NotInSchema => "not_in_schema",
    /// The annotation and the schema contradict each other.
    Annotation => "annotation",
    /// A requirement of the tool cannot be granted.
    Requires => "requires",
    /// The tool has effects and is not marked dangerous.
    NotDangerous => "not_dangerous",
    /// The tool's effect must not be repeated, but it does not take its key.
    NoKey => "no_key",
    /// The list of the directory does not name the tool, so it is not offered.
    NotListed => "not_listed",
    /// There is no description.
    Undescribed => "undescribed",
    /// haft does not use the key.
    UnknownKey => "unknown_key",
    /// The file belongs to a package, but the directory has no package root.
    Package => "package",
}

impl fmt::Display for ToolFileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        let severity = match self.severity {
            ToolFileSeverity::Error => "error",
            ToolFileSeverity::Warning => "warning",
        };
        write!(f, ": {severity}: {} [{}]", self.message, self.code.as_str())?;
        write!(f, "\n  mend: {}", self.mend)
    }
}
