//! Lines from a collection of shell syntax that is hard to parse, each with the programs that must
//! be found.

use expect_test::expect;
use haft_shell::{ShellAnalysis, analyze_line};

const CORPUS: &str = include_str!("../fixtures/shell.txt");

struct Case {
    /// Names of programs; `?` for one that cannot be known, `!error` for a line that is not valid
    /// bash.
    expected: Vec<String>,
    line: String,
}

fn cases() -> Vec<Case> {
    let read = |block: &str| {
        let (expected, line) = block.split_once('\n')?;
        let line = line.strip_suffix('\n').unwrap_or(line).replace("<CR>", "\r");
        Some(Case { expected: expected.split_whitespace().map(str::to_owned).collect(), line })
    };
    CORPUS.split("\n----\n").filter_map(read).collect()
}

fn programs(judgement: &ShellAnalysis) -> Vec<&str> {
    let through = judgement.commands.iter().flat_map(|command| command.launchers.iter());
    let own = judgement.commands.iter().map(|command| command.program());
    own.chain(through.map(String::as_str)).collect()
}

#[test]
fn every_program_is_found_or_the_line_is_unknown() {
    let cases = cases();
    let mut known = 0;
    for case in &cases {
        let judgement = analyze_line(&case.line);
        let found = programs(&judgement);
        let missing = case.expected.iter().find(|name| !found.contains(&name.as_str()));
        if let Some(missing) = missing {
            let line = &case.line;
            assert!(
                !judgement.unknown.is_empty(),
                "{missing} is missing in {line:?}: {judgement:?}"
            );
        }
        known += usize::from(judgement.unknown.is_empty());
    }
    // A lower number means needless questions to the user. If the number rises, check that the
    // newly known lines are analysed correctly.
    expect!["78 of 114"].assert_eq(&format!("{known} of {}", cases.len()));
}

/// Returns the lines of the collection.
pub(crate) fn lines() -> Vec<String> {
    cases().into_iter().map(|case| case.line).collect()
}
