//! The laws of matching, on arbitrary texts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use haft_contract::CommandLine;
use haft_policy::{
    MatchWidth, NetworkGuard, PathSubject, PatternDomain, ResolvedAccess, RulePattern, escape,
    escape_path,
};
use proptest::prelude::*;
use proptest::sample::select;

use crate::vocabulary::variables;

fn domain() -> impl Strategy<Value = PatternDomain> {
    select(vec![
        PatternDomain::Path,
        PatternDomain::Command,
        PatternDomain::Host,
        PatternDomain::Any,
    ])
}

/// Texts full of signs that mean something in patterns, paths or commands.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[ab*?\\[\\]!/. ~{},-]{0,12}",
        "\\{(workspace|ad-hoc|x)\\}[/a*]{0,4}"
    ]
}

fn subject() -> impl Strategy<Value = ResolvedAccess> {
    let beneath = prop::collection::vec(any::<u8>(), 0..12).prop_map(|bytes| {
        let relative = Path::new(OsStr::from_bytes(&bytes)).to_owned();
        ResolvedAccess::Read { path: PathSubject::in_root(Path::new("/work"), &relative) }
    });
    prop_oneof![
        beneath,
        "[ab*?/. ]{0,12}".prop_map(|path| ResolvedAccess::Write {
            path: PathSubject::outside_roots(format!("/{path}"))
        }),
        prop::collection::vec("[ab*?/. \0-]{0,6}", 0..5)
            .prop_map(|argv| ResolvedAccess::Shell { command: CommandLine::Argv(argv) }),
        any::<String>()
            .prop_map(|line| ResolvedAccess::Shell { command: CommandLine::Unknown(line) }),
        text().prop_map(|host| ResolvedAccess::Net { host }),
        text().prop_map(|name| ResolvedAccess::Named { name }),
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
        if let Ok(pattern) = RulePattern::compile(&pattern, domain, &variables()) {
            let is_narrow = pattern.matches(&subject, MatchWidth::Narrow);
            prop_assert!(!is_narrow || pattern.matches(&subject, MatchWidth::Wide));
        }
    }

    #[test]
    fn an_escaped_word_matches_itself_and_no_other(word in any::<String>(), other in any::<String>()) {
        prop_assume!(!word.is_empty() && !word.contains('\0'));
        let pattern = RulePattern::compile(&escape(&word), PatternDomain::Command, &variables()).unwrap();
        let run = |word: &str| ResolvedAccess::Shell { command: CommandLine::Argv(vec![word.to_owned()]) };
        prop_assert!(pattern.matches(&run(&word), MatchWidth::Narrow));
        prop_assert_eq!(pattern.matches(&run(&other), MatchWidth::Narrow), word == other);
    }

    #[test]
    fn an_escaped_path_matches_itself(bytes in prop::collection::vec(1_u8.., 0..12)) {
        let relative = Path::new(OsStr::from_bytes(&bytes));
        let is_resolved = relative.is_relative() && relative.components().all(|part| part.as_os_str() != "..");
        prop_assume!(is_resolved);
        let access = ResolvedAccess::Read { path: PathSubject::in_root(Path::new("/work"), relative) };
        let pattern = RulePattern::compile(&escape_path(relative), PatternDomain::Path, &variables()).unwrap();
        prop_assert!(pattern.matches(&access, MatchWidth::Narrow));
    }

    /// The words of an allowed command are arguments of their own, whatever the arguments hold.
    #[test]
    fn no_argument_passes_for_several_words(argv in prop::collection::vec("(git|status|[; ]|rm){0,4}", 0..4)) {
        let pattern = RulePattern::compile("git status", PatternDomain::Command, &variables()).unwrap();
        let access = ResolvedAccess::Shell { command: CommandLine::Argv(argv.clone()) };
        let is_meant = argv.first().is_some_and(|word| word == "git") && argv.get(1).is_some_and(|word| word == "status");
        prop_assert_eq!(pattern.matches(&access, MatchWidth::Narrow), is_meant);
    }

    /// A longer list refuses at least what a shorter one does, and none takes offence at any text.
    #[test]
    fn the_network_guards_are_ordered(words in prop::collection::vec(guarded_word(), 0..5)) {
        let commands = [CommandLine::Unknown(words.join(" ")), CommandLine::Argv(words)];
        for command in commands {
            let [kernel, standard, strict] =
                [NetworkGuard::Kernel, NetworkGuard::Standard, NetworkGuard::Strict]
                    .map(|guard| guard.check(&command).is_some());
            prop_assert!(!kernel && (!standard || strict), "{command:?}");
        }
    }
}
