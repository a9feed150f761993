//! Hints that a person can paste as they are. If options of the command line name the journal, then a hint about the
//! journal repeats these options.

use std::ffi::{OsStr, OsString};

use crate::arguments::setting_args::SettingArgs;
use haft_app::quote;
use haft_app::without_passwords;

/// Commands that look into the journal.
const JOURNAL_COMMANDS: [&str; 8] = [
    "haft log",
    "haft show ",
    "haft runs ",
    "haft diff ",
    "haft undo ",
    "haft resume ",
    "haft sessions ",
    "haft agent --resume ",
];

/// Returns the hint with the options that name the journal. Variables need no option: the next command reads them too.
pub(crate) fn with_journal_options(hint: &str, settings: &SettingArgs) -> String {
    with_options_unless_set(hint, settings, |name| std::env::var_os(name))
}

fn with_options_unless_set(
    hint: &str,
    settings: &SettingArgs,
    variable: impl Fn(&str) -> Option<OsString>,
) -> String {
    let named = [
        ("--config", "HAFT_CONFIG", settings.config.as_ref().map(|path| path.as_os_str())),
        ("--db", "HAFT_DB", settings.db.as_deref()),
    ];
    let said = |name: &str, value: &OsStr| variable(name).is_some_and(|set| set == value);
    let options = named.into_iter().filter_map(|(flag, name, value)| {
        let value = value.filter(|value| !value.is_empty() && !said(name, value))?;
        Some(format!(" {flag} {}", quote::shell(&without_passwords(&value.to_string_lossy()))))
    });
    let options: String = options.collect();
    let lines = hint.lines().map(|line| {
        let rest = line.trim_start();
        let indent = &line[..line.len() - rest.len()];
        match rest.strip_prefix("haft") {
            Some(command) if JOURNAL_COMMANDS.iter().any(|known| rest.starts_with(known)) => {
                format!("{indent}haft{options}{command}")
            }
            _ => line.to_owned(),
        }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::cli::Cli;

    #[test]
    fn a_hint_is_about_the_journal_of_the_command() {
        let check = |words: &[&str], set: Option<&str>, hint: &str, expect: &str| {
            let words = [&["haft"], words, &["runs", "list"]].concat();
            let settings = Cli::try_parse_from(words).unwrap().settings;
            let variable = |name: &str| set.filter(|_| name == "HAFT_DB").map(OsString::from);
            assert_eq!(with_options_unless_set(hint, &settings, variable), expect);
        };
        let show = "haft runs show r1";
        check(&[], None, show, show);
        check(&["--db", "my j"], None, show, "haft --db 'my j' runs show r1");
        check(&["--db", "j"], Some("j"), show, show);
        check(&["--db", "j"], None, "haft tools list", "haft tools list");
        check(&["--config", "c"], None, "  haft undo r1", "  haft --config c undo r1");
        check(
            &["--db", "postgres://a:secret@h/d"],
            None,
            show,
            "haft --db 'postgres://a:***@h/d' runs show r1",
        );
    }
}
