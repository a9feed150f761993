//! The laws of matching, on arbitrary texts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_contract::Command;
use haft_policy::{
    Canonical, Domain, PathSubject, Pattern, Reading, escape, escape_path, network_guard,
    network_guard_line,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::vocabulary::variables;

fn domain() -> impl Strategy<Value = Domain> {
    select(vec![Domain::Path, Domain::Command, Domain::Host, Domain::Any])
}

/// Texts full of signs that mean something in patterns, paths or commands.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ab*?\\[\\]!/. ~{},-]{0,12}",
        "\\{(workspace|ad-hoc|x)\\}[/a*]{0,4}"
    ]
}

fn subject() -> impl Strategy<Value = Canonical> {
    let beneath = prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| {
        let relative = Path::new(OsStr::from_bytes(&bytes)).to_owned();
        Canonical::Read { path: PathSubject::beneath(Path::new("/work"), &relative) }
    });
    prop_oneof![
        beneath,
        "[ab*?/. ]{0,12}"
            .prop_map(|path| Canonical::Write { path: PathSubject::outside(format!("/{path}")) }),
        prop::collection::vec("[ab*?/. \0-]{0,6}", 0..5)
            .prop_map(|argv| Canonical::Shell { command: Command::Argv(argv) }),
        any::<String>().prop_map(|line| Canonical::Shell { command: Command::Unknown(line) }),
        text().prop_map(|host| Canonical::Net { host }),
        text().prop_map(|name| Canonical::Named { name }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5_000))]

    #[test]
    fn matching_never_panics_and_what_is_allowed_can_be_denied(
        pattern in text(), domain in domain(), subject in subject(),
    ) {
        if let Ok(pattern) = Pattern::compile(&pattern, domain, &variables()) {
            let is_narrow = pattern.matches(&subject, Reading::Narrow);
            prop_assert!(!is_narrow || pattern.matches(&subject, Reading::Wide));
        }
    }

    #[test]
    fn an_escaped_word_matches_itself_and_no_other(word in any::<String>(), other in any::<String>()) {
        prop_assume!(!word.is_empty() && !word.contains('\0'));
        let pattern = Pattern::compile(&escape(&word), Domain::Command, &variables()).unwrap();
        let run = |word: &str| Canonical::Shell { command: Command::Argv(vec![word.to_owned()]) };
        prop_assert!(pattern.matches(&run(&word), Reading::Narrow));
        prop_assert_eq!(pattern.matches(&run(&other), Reading::Narrow), word == other);
    }

    #[test]
    fn an_escaped_path_matches_itself(bytes in prop::collection::vec(1_u8.., 0..12)) {
        let relative = Path::new(OsStr::from_bytes(&bytes));
        let is_resolved = relative.is_relative() && relative.components().all(|part| part.as_os_str() != "..");
        prop_assume!(is_resolved);
        let access = Canonical::Read { path: PathSubject::beneath(Path::new("/work"), relative) };
        let pattern = Pattern::compile(&escape_path(relative), Domain::Path, &variables()).unwrap();
        prop_assert!(pattern.matches(&access, Reading::Narrow));
    }

    /// The words of an allowed command are arguments of their own, whatever the arguments hold.
    #[test]
    fn no_argument_passes_for_several_words(argv in prop::collection::vec("(git|status|[; ]|rm){0,4}", 0..4)) {
        let pattern = Pattern::compile("git status", Domain::Command, &variables()).unwrap();
        let access = Canonical::Shell { command: Command::Argv(argv.clone()) };
        let is_meant = argv.first().is_some_and(|word| word == "git") && argv.get(1).is_some_and(|word| word == "status");
        prop_assert_eq!(pattern.matches(&access, Reading::Narrow), is_meant);
    }

    #[test]
    fn the_network_guard_takes_any_text(argv in prop::collection::vec(any::<String>(), 0..4)) {
        network_guard(&argv);
        network_guard_line(&argv.join(" "));
    }
}
