//! The laws of matching, on arbitrary texts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_contract::Command;
use haft_policy::{
    Canonical, Domain, NetworkGuard, PathSubject, Pattern, Reading, escape, escape_path,
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

/// Words that some list may know, and texts that none does.
fn guarded_word() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "git",
        "push",
        "-C",
        "commit",
        "curl",
        "ssh",
        "cargo",
        "env",
        "A=1",
        "sh",
        "-c",
        "http://x",
        "see http://x",
        "--url=https://x",
        "10.0.0.1",
        "https_proxy=x",
        "'",
        "$(",
        ";",
        "",
    ];
    prop_oneof![3 => select(WORDS).prop_map(str::to_owned), 1 => any::<String>()]
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

    /// A longer list refuses at least what a shorter one does, and none takes offence at any text.
    #[test]
    fn the_network_guards_are_ordered(words in prop::collection::vec(guarded_word(), 0..5)) {
        let commands = [Command::Unknown(words.join(" ")), Command::Argv(words)];
        for command in commands {
            let [kernel, standard, strict] =
                [NetworkGuard::Kernel, NetworkGuard::Standard, NetworkGuard::Strict]
                    .map(|guard| guard.check(&command).is_some());
            prop_assert!(!kernel && (!standard || strict), "{command:?}");
        }
    }
}
