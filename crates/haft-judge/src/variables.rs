//! The variables that decide what runs, or what a name means, so that setting one makes a line unknown. A program may
//! have more of them; what it starts is for the sandbox to bound.

/// Of those that end in `*` every name that begins so is meant.
const DECISIVE: &[&str] = &[
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

/// Variables that `git` reads and that only say who does what and when.
const HARMLESS: &[&str] = &[
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

/// What turns paging and editing off, as those do who run commands without a terminal.
const DOES_NOTHING: &[&str] = &["", ":", "cat", "true"];

/// Returns whether giving the variable this value, if it is known, decides what runs.
pub(crate) fn decides(name: &str, value: Option<&str>) -> bool {
    let names_program = name.ends_with("PAGER") || name.ends_with("EDITOR");
    let does_nothing = value.is_some_and(|value| DOES_NOTHING.contains(&value));
    is_decisive(name) && !(names_program && does_nothing)
}

/// Returns whether setting the variable may decide what runs.
pub(crate) fn is_decisive(name: &str) -> bool {
    let is_meant = |entry: &&str| match entry.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => *entry == name,
    };
    !HARMLESS.contains(&name) && DECISIVE.iter().any(is_meant)
}

/// Returns whether text names such a variable as a word of its own, as arithmetic can set it.
pub(crate) fn names_decisive(text: &str) -> bool {
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '_';
    text.split(|char| !is_name(char)).any(is_decisive)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_whole_or_by_how_they_begin() {
        for name in ["PATH", "LD_PRELOAD", "BASH_ENV", "GIT_SSH_COMMAND", "IFS", "RUSTC_WRAPPER"] {
            assert!(is_decisive(name), "{name}");
        }
        for name in ["PATHS", "CC", "x", "", "GIT_AUTHOR_NAME", "RUST_LOG", "PYTHONUNBUFFERED"] {
            assert!(!is_decisive(name), "{name}");
        }
        assert!(decides("GIT_PAGER", Some("less")) && decides("GIT_PAGER", None));
        assert!(!decides("GIT_PAGER", Some("cat")) && decides("PATH", Some("cat")));
        assert!(names_decisive("x=1,PATH=2") && !names_decisive("x=1,PATHX=2"));
    }
}
