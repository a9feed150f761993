//! The table in `docs/security.md`: which layer stopped which attempt. These tests do not check the text around it.

use std::fs;
use std::path::Path;

use super::attempt::{Attempts, Layer, Outcome};
use super::case::{Case, Configuration, Known};

const BEGIN: &str = "<!-- begin: escape table -->\n";
const END: &str = "<!-- end: escape table -->";

/// Fails if the table in the document is not what was found.
pub(super) fn check(cases: &[(&'static str, &'static Case)], attempts: &Attempts) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/security.md");
    let document = fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(BEGIN).expect("the document marks the table");
    let (committed, after) = rest.split_once(END).expect("the document marks the table's end");
    let found = render(cases, attempts);
    if std::env::var_os("ESCAPE_TABLE").is_some_and(|value| value == "update") {
        fs::write(&path, format!("{before}{BEGIN}{found}{END}{after}")).unwrap();
        return;
    }
    let differences: Vec<String> = found
        .lines()
        .filter(|line| !committed.lines().any(|known| known == *line))
        .map(str::to_owned)
        .collect();
    assert!(
        committed == found,
        "docs/security.md is out of date; ESCAPE_TABLE=update writes the table anew. New lines:\n{}",
        differences.join("\n")
    );
}

fn render(cases: &[(&'static str, &'static Case)], attempts: &Attempts) -> String {
    let mut text = String::new();
    let mut current = "";
    for (index, (area, case)) in cases.iter().enumerate() {
        if *area != current {
            current = area;
            text.push_str(&format!("\n### {area}\n\n{}", header()));
        }
        let cells = attempts
            .of(index)
            .filter(|(configuration, _)| *configuration != Configuration::Control);
        let cells: Vec<&str> = cells
            .map(|(configuration, outcome)| cell(case.known_in(configuration), outcome))
            .collect();
        text.push_str(&format!("| {} | {} |\n", case.name.replace('|', "\\|"), cells.join(" | ")));
    }
    text.push('\n');
    text
}

fn header() -> String {
    let headings = Configuration::TABLE.map(Configuration::heading);
    let rule = "---|".repeat(headings.len());
    format!("| attempt | {} |\n|---|{rule}\n", headings.join(" | "))
}

/// An attempt that succeeds on some machines is shown as one that succeeds, so the table is the same on all of them.
fn cell(known: Known, outcome: &Outcome) -> &'static str {
    match outcome {
        _ if known != Known::Stopped => "**out**",
        Outcome::NotRun => "–",
        Outcome::Out { .. } => "**out**",
        Outcome::Stopped { by, .. } => match by {
            Layer::Capabilities => "capabilities",
            Layer::Rules => "rules",
            Layer::Guard => "guard",
            Layer::Watchdog => "watchdog",
            Layer::Kernel => "kernel",
            Layer::Runtime => "runtime",
            Layer::Refused => "refused",
        },
    }
}
