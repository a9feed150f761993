//! Names of parameters that models know from other agents. haft accepts them, and records and publishes its own.

use haft_contract::ParameterAlias;

/// Returns another name of a parameter.
const fn alias(name: &'static str, parameter: &'static str) -> ParameterAlias {
    ParameterAlias::new(name, parameter)
}

/// Returns a parameter that a tool does not have, with what to do instead.
const fn advice(name: &'static str, advice: &'static str) -> ParameterAlias {
    ParameterAlias::advice(name, advice)
}

/// The advice about a bound on the length of an answer.
const CUT_BY_ITSELF: &str = "leave it out, since a long answer is cut";
/// The advice about a process that outlives its call.
const NO_BACKGROUND: &str = "leave it out, since processes end with their call";

/// A text that some agents want with every call, for the person who watches.
pub(crate) const DESCRIPTION: ParameterAlias = ParameterAlias::ignored("description");

/// The file that a tool reads or changes.
pub(crate) const PATH: &[ParameterAlias] = &[
    alias("file_path", "path"),
    alias("filePath", "path"),
    alias("filepath", "path"),
    alias("file", "path"),
    alias("filename", "path"),
    DESCRIPTION,
];
/// The directory that a tool searches.
pub(crate) const DIRECTORY: &[ParameterAlias] =
    &[alias("dir_path", "path"), alias("directory", "path"), alias("dir", "path"), DESCRIPTION];
/// Of `read`, beside the path.
pub(crate) const READ: &[ParameterAlias] = &[
    advice("lines", "use offset and limit"),
    advice("line_range", "use offset and limit"),
    advice("view_range", "use offset and limit"),
    advice("encoding", "leave it out, since read finds the encoding"),
    advice("pages", "leave it out, or use view for a PDF or a notebook"),
];
pub(crate) const WRITE: &[ParameterAlias] = &[
    alias("contents", "content"),
    alias("text", "content"),
    alias("file_text", "content"),
    advice("mode", "leave it out: write replaces the whole file, and edit changes a part"),
    advice("append", "leave it out: write replaces the whole file, and edit changes a part"),
    advice("overwrite", "leave it out: write replaces a file that exists"),
];
pub(crate) const EDIT: &[ParameterAlias] = &[
    alias("oldString", "old_string"),
    alias("old_str", "old_string"),
    alias("oldText", "old_string"),
    alias("newString", "new_string"),
    alias("new_str", "new_string"),
    alias("newText", "new_string"),
    alias("replaceAll", "replace_all"),
    alias("allow_multiple", "replace_all"),
    alias("old", "old_string"),
    alias("new", "new_string"),
    alias("search", "old_string"),
    alias("replace", "new_string"),
    advice("edits", "call edit once for each change, or use apply_patch"),
];
pub(crate) const APPLY_PATCH: &[ParameterAlias] =
    &[alias("patchText", "patch"), alias("input", "patch"), alias("diff", "patch"), DESCRIPTION];
pub(crate) const GREP: &[ParameterAlias] = &[
    alias("include", "glob"),
    alias("include_pattern", "glob"),
    alias("query", "pattern"),
    alias("regex", "pattern"),
    alias("search", "pattern"),
    alias("-i", "ignore_case"),
    alias("case_insensitive", "ignore_case"),
    // One number stands for the lines before and after a match.
    alias("-A", "context"),
    alias("-B", "context"),
    alias("-C", "context"),
    // Line numbers are always shown.
    ParameterAlias::ignored("-n"),
    advice(
        "output_mode",
        r#"leave it out, or count matches with bash, as in {"cmd": "grep -rc PATTERN ."}"#,
    ),
    advice("head_limit", CUT_BY_ITSELF),
    advice("limit", CUT_BY_ITSELF),
    advice("max_results", CUT_BY_ITSELF),
    advice("type", r#"use glob, as in {"glob": "*.py"}"#),
    advice("case_sensitive", "use ignore_case"),
    advice("multiline", "leave it out: each line is searched by itself"),
    advice("recursive", "leave it out: every directory is searched"),
];
pub(crate) const GLOB: &[ParameterAlias] = &[
    alias("glob", "pattern"),
    advice(
        "recursive",
        r#"leave it out, since "*.py" searches every directory and "./*.py" only the first"#,
    ),
    advice("limit", CUT_BY_ITSELF),
    advice("max_results", CUT_BY_ITSELF),
    advice("name", "use pattern"),
];
pub(crate) const BASH: &[ParameterAlias] = &[
    alias("command", "cmd"),
    alias("script", "cmd"),
    alias("timeout", "opts.timeout_ms"),
    alias("timeout_ms", "opts.timeout_ms"),
    alias("cwd", "opts.cwd"),
    alias("workdir", "opts.cwd"),
    alias("working_directory", "opts.cwd"),
    advice("env", r#"leave it out, and set it in the line, as in {"cmd": "A=b ls"}"#),
    advice("run_in_background", NO_BACKGROUND),
    advice("background", NO_BACKGROUND),
    DESCRIPTION,
];
/// Of `view`, beside the path.
pub(crate) const VIEW: &[ParameterAlias] =
    &[ParameterAlias::text("pages", "pages"), ParameterAlias::text("page", "pages")];
pub(crate) const TASK: &[ParameterAlias] = &[DESCRIPTION];
pub(crate) const SKILL: &[ParameterAlias] = &[alias("skill", "name"), DESCRIPTION];
