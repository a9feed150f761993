//! The variables that determine which program runs or what a name means; setting one makes a line
//! unknown. A program may have more of them; the sandbox limits the programs that it starts.

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

/// Values that turn paging and editing off, as clients without a terminal set them.
const DOES_NOTHING: &[&str] = &["", ":", "cat", "true"];

/// Returns whether setting the variable to this value, if it is known, determines which program
/// runs.
pub(crate) fn decides_what_runs(name: &str, value: Option<&str>) -> bool {
    let names_program = name.ends_with("PAGER") || name.ends_with("EDITOR");
    let does_nothing = value.is_some_and(|value| DOES_NOTHING.contains(&value));
    is_execution_variable(name) && !(names_program && does_nothing)
}

/// Returns whether setting the variable may determine which program runs.
pub(crate) fn is_execution_variable(name: &str) -> bool {
    let is_meant = |entry: &&str| match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *entry == name,
    };
    !HARMLESS_VARIABLES.contains(&name) && EXECUTION_VARIABLES.iter().any(is_meant)
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
        assert!(
            decides_what_runs("GIT_PAGER", Some("less")) && decides_what_runs("GIT_PAGER", None)
        );
        assert!(
            !decides_what_runs("GIT_PAGER", Some("cat")) && decides_what_runs("PATH", Some("cat"))
        );
        assert!(
            mentions_execution_variable("x=1,PATH=2")
                && !mentions_execution_variable("x=1,PATHX=2")
        );
    }
}
