//! The variables that determine which program runs or what a name means, and what setting one does to
//! a line. A program may have more of them; the sandbox limits the programs that it starts.

/// A name that ends in `*` stands for every name with this prefix.
const EXECUTION_VARIABLES: &[&str] = &[
    "BASHOPTS",
    "BASH_*",
    "BROWSER",
    "CARGO_HOME",
    "CDPATH",
    "DYLD_*",
    "EDITOR",
    "ENV",
    "EXECIGNORE",
    "GCONV_PATH",
    "GIT_*",
    "GLOBIGNORE",
    "GREP_OPTIONS",
    "HOME",
    "HOSTALIASES",
    "IFS",
    "JAVA_TOOL_OPTIONS",
    "LD_*",
    "LESSCLOSE",
    "LESSOPEN",
    "LOCPATH",
    "MAKEFILES",
    "MAKEFLAGS",
    "MANPAGER",
    "NLSPATH",
    "NODE_OPTIONS",
    "NODE_PATH",
    "OLDPWD",
    "PAGER",
    "PATH",
    "PERL5*",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PWD",
    "PYTHON*",
    "RIPGREP_CONFIG_PATH",
    "RSYNC_*",
    "RUBYLIB",
    "RUBYOPT",
    "RUSTC*",
    "SHELL",
    "SHELLOPTS",
    "TAPE",
    "TAR_OPTIONS",
    "TMPDIR",
    "VISUAL",
    "XDG_*",
];

/// Variables of `git` that only set names, dates and purposes.
const HARMLESS_VARIABLES: &[&str] = &[
    "GIT_AUTHOR_DATE",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_NAME",
    "GIT_COMMITTER_DATE",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_TERMINAL_PROMPT",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONHASHSEED",
    "PYTHONIOENCODING",
    "PYTHONUNBUFFERED",
];

/// Variables whose value is a command line, for the programs that read it.
const COMMAND_VARIABLES: &[&str] = &[
    "BROWSER",
    "EDITOR",
    "GIT_ASKPASS",
    "GIT_EDITOR",
    "GIT_EXTERNAL_DIFF",
    "GIT_PAGER",
    "GIT_PROXY_COMMAND",
    "GIT_SEQUENCE_EDITOR",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "MANPAGER",
    "PAGER",
    "RSYNC_RSH",
    "RUSTC*",
    "SHELL",
    "VISUAL",
];

/// Variables whose value changes what words mean, or holds settings that run commands.
const READING_VARIABLES: &[&str] = &[
    "BASHOPTS",
    "BASH_*",
    "GIT_CONFIG*",
    "LESSCLOSE",
    "LESSOPEN",
    "MAKEFLAGS",
    "POSIXLY_CORRECT",
    "PROMPT_COMMAND",
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "RSYNC_*",
    "SHELLOPTS",
    "TAPE",
    "TAR_OPTIONS",
];

/// Values that turn paging and editing off, as clients without a terminal set them.
const DOES_NOTHING: &[&str] = &["", ":", "cat", "true"];

/// The effect of setting a variable on the commands of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VariableEffect<'a> {
    Harmless,
    /// Programs load other files, or a name is looked up elsewhere. The words of commands stay.
    SearchPath,
    /// Programs run this line.
    Runs(&'a str),
    /// The variable may run anything.
    RunsAnything,
}

/// Returns the effect of setting the variable to this value, if it is known.
pub(crate) fn effect<'a>(name: &str, value: Option<&'a str>) -> VariableEffect<'a> {
    if !is_execution_variable(name) {
        return VariableEffect::Harmless;
    }
    if COMMAND_VARIABLES.iter().any(|entry| is_meant(entry, name)) {
        return match value {
            Some(value) if DOES_NOTHING.contains(&value) => VariableEffect::Harmless,
            Some(line) => VariableEffect::Runs(line),
            None => VariableEffect::RunsAnything,
        };
    }
    let has_job_count = || {
        value.is_some_and(|value| {
            let rest = value.strip_prefix("-j").or(value.strip_prefix("--jobs=")).unwrap_or("x");
            rest.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    if name == "MAKEFLAGS" && has_job_count() {
        return VariableEffect::Harmless;
    }
    if READING_VARIABLES.iter().any(|entry| is_meant(entry, name)) {
        return VariableEffect::RunsAnything;
    }
    VariableEffect::SearchPath
}

fn is_meant(entry: &str, name: &str) -> bool {
    match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => entry == name,
    }
}

/// Returns whether setting the variable may determine which program runs.
pub(crate) fn is_execution_variable(name: &str) -> bool {
    !HARMLESS_VARIABLES.contains(&name)
        && EXECUTION_VARIABLES.iter().any(|entry| is_meant(entry, name))
}

/// Returns whether text contains such a variable as a separate word, because arithmetic can set it.
pub(crate) fn mentions_execution_variable(text: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.split(|char| !is_name(char)).any(is_execution_variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_whole_or_by_how_they_begin() {
        for name in ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "IFS", "RUSTC_WRAPPER"] {
            assert!(is_execution_variable(name), "{name}");
        }
        for name in ["PATHS", "CC", "x", "", "GIT_AUTHOR_NAME", "RUST_LOG", "PYTHONUNBUFFERED"] {
            assert!(!is_execution_variable(name), "{name}");
        }
        let check = |name: &str, value: Option<&str>, expect: VariableEffect<'_>| {
            assert_eq!(effect(name, value), expect, "{name}");
        };
        check("GIT_PAGER", Some("cat"), VariableEffect::Harmless);
        check("GIT_PAGER", Some("less -R"), VariableEffect::Runs("less -R"));
        check("GIT_PAGER", None, VariableEffect::RunsAnything);
        check("PATH", Some("cat"), VariableEffect::SearchPath);
        check("LD_PRELOAD", None, VariableEffect::SearchPath);
        check("BASH_ENV", Some("x"), VariableEffect::RunsAnything);
        check("GIT_CONFIG_COUNT", Some("1"), VariableEffect::RunsAnything);
        check("MAKEFLAGS", Some("-j8"), VariableEffect::Harmless);
        check("MAKEFLAGS", Some("--eval=x"), VariableEffect::RunsAnything);
        check("NODE_ENV", None, VariableEffect::Harmless);
        assert!(
            mentions_execution_variable("x=1,PATH=2")
                && !mentions_execution_variable("x=1,PATHX=2")
        );
    }
}
