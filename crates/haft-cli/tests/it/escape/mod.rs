//! The suite that tries to get out, through the haft command and its tools, and the ordinary things that must work all
//! the same. Each attempt is made with every layer on, with one off at a time where another must stop it, and once with
//! none, which shows that it is an attempt. The outcome is the table in `docs/security.md`; `ESCAPE_TABLE=update` writes
//! it, and `ESCAPE_CASE=part` tries the cases alone whose name holds that part. System calls are not looked at here but
//! by what comes of them.

mod attempt;
mod canary;
mod case;
mod cases;
mod oracle;
mod ordinary;
mod table;
mod tree;
mod world;

use attempt::{Attempts, attempt_all};
use case::{Case, Known};

#[test]
fn no_attempt_gets_out() {
    let cases = chosen();
    let attempts = attempt_all(&cases);
    let problems = problems(&cases, &attempts);
    assert!(problems.is_empty(), "{} of {}:\n{}", problems.len(), cases.len(), problems.join("\n"));
    if cases.len() == cases::all().count() {
        table::check(&cases, &attempts);
    }
}

#[test]
fn there_are_enough_cases_and_each_has_a_name() {
    let mut names: Vec<&str> = cases::all().map(|(_, case)| case.name).collect();
    assert!(names.len() >= 120, "{} cases", names.len());
    names.sort_unstable();
    let twins: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
    assert!(twins.is_empty(), "{twins:?}");
}

fn chosen() -> Vec<(&'static str, &'static Case)> {
    let part = std::env::var("ESCAPE_CASE").unwrap_or_default();
    cases::all().filter(|(_, case)| case.name.contains(&part)).collect()
}

/// Returns where the outcome is not what the cases say.
fn problems(cases: &[(&'static str, &'static Case)], attempts: &Attempts) -> Vec<String> {
    let mut problems = Vec::new();
    for (index, (area, case)) in cases.iter().enumerate() {
        for (configuration, outcome) in attempts.of(index) {
            let is_as_known = match case.known_in(configuration) {
                Known::Stopped => !outcome.is_out(),
                Known::Out => outcome.is_out() || !outcome.ran(),
                Known::OutIfOffered => true,
            };
            if !is_as_known {
                let heading = configuration.heading();
                problems.push(format!("{area}: {} [{heading}]: {outcome:?}", case.name));
            }
        }
    }
    problems
}
