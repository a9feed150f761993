//! Names of parameters that models know from other agents. haft accepts them, and records and publishes its own.

use haft_contract::ParameterAlias;

/// Returns another name of a parameter.
const fn alias(name: &'static str, parameter: &'static str) -> ParameterAlias {
    ParameterAlias::new(name, parameter)
}

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
pub(crate) const WRITE: &[ParameterAlias] =
    &[alias("contents", "content"), alias("text", "content"), alias("file_text", "content")];
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
];
pub(crate) const GLOB: &[ParameterAlias] = &[alias("glob", "pattern")];
pub(crate) const BASH: &[ParameterAlias] = &[
    alias("command", "cmd"),
    alias("script", "cmd"),
    alias("timeout", "opts.timeout_ms"),
    alias("timeout_ms", "opts.timeout_ms"),
    alias("cwd", "opts.cwd"),
    alias("workdir", "opts.cwd"),
    alias("working_directory", "opts.cwd"),
    DESCRIPTION,
];
pub(crate) const TASK: &[ParameterAlias] = &[DESCRIPTION];
pub(crate) const SKILL: &[ParameterAlias] = &[alias("skill", "name"), DESCRIPTION];
