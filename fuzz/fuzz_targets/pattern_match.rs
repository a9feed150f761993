//! Compiles an arbitrary pattern and matches an arbitrary access: nothing panics, and whatever the pattern would allow
//! in its narrow reading, it would deny in its wide one.
#![no_main]

use std::path::{Path, PathBuf};

use haft_contract::{CommandLine, PatternVariables};
use haft_policy::{
    MatchWidth, NetworkGuard, PathSubject, PatternDomain, ResolvedAccess, RulePattern, escape,
};
use libfuzzer_sys::fuzz_target;

// The input is the pattern, a line end, and the subject; the first byte picks what the two are about.
fuzz_target!(|input: &[u8]| {
    let Some((kind, rest)) = input.split_first() else { return };
    let mut parts = rest.splitn(2, |byte| *byte == b'\n');
    let pattern = String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
    let subject = parts.next().unwrap_or_default();
    let domain = match kind % 4 {
        0 => PatternDomain::Path,
        1 => PatternDomain::Command,
        2 => PatternDomain::Host,
        _ => PatternDomain::Any,
    };
    let variables = PatternVariables {
        workspace: vec![PathBuf::from("/work"), PathBuf::from("/more [1]")],
        ..PatternVariables::default()
    };
    let compiled = RulePattern::compile(&pattern, domain, &variables);
    for access in accesses(subject) {
        if let Ok(compiled) = &compiled
            && compiled.matches(&access, MatchWidth::Narrow)
        {
            assert!(compiled.matches(&access, MatchWidth::Wide), "{pattern:?} against {access}");
        }
    }
    check_escaping(&String::from_utf8_lossy(subject));
});

/// Returns the subject as each kind of access; the words of a command are what lies between unit separators.
fn accesses(subject: &[u8]) -> [ResolvedAccess; 5] {
    let text = String::from_utf8_lossy(subject).into_owned();
    let argv: Vec<String> = text.split('\u{1f}').map(str::to_owned).collect();
    for command in [CommandLine::Argv(argv.clone()), CommandLine::Unknown(text.clone())] {
        NetworkGuard::Standard.check(&command);
        NetworkGuard::Strict.check(&command);
    }
    let path = path_of(subject);
    [
        ResolvedAccess::Read { path },
        ResolvedAccess::Shell { command: CommandLine::Argv(argv) },
        ResolvedAccess::Shell { command: CommandLine::Unknown(text.clone()) },
        ResolvedAccess::Net { host: text.clone() },
        ResolvedAccess::Named { name: text },
    ]
}

fn path_of(subject: &[u8]) -> PathSubject {
    use std::os::unix::ffi::OsStrExt;

    let path = Path::new(std::ffi::OsStr::from_bytes(subject));
    if path.is_absolute() {
        PathSubject::outside_roots(path)
    } else {
        PathSubject::in_root(Path::new("/work"), path)
    }
}

/// A word that was escaped is a pattern that allows this very word.
fn check_escaping(word: &str) {
    if word.is_empty() || word.contains('\0') {
        return;
    }
    let pattern =
        RulePattern::compile(&escape(word), PatternDomain::Command, &PatternVariables::default());
    let argv = vec![word.to_owned()];
    let access = ResolvedAccess::Shell { command: CommandLine::Argv(argv) };
    assert!(
        pattern.is_ok_and(|pattern| pattern.matches(&access, MatchWidth::Narrow)),
        "{word:?} does not match its escaped form"
    );
}
