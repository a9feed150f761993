//! docs/specification.md: every requirement with its verdict, and what shows it.

use super::items::{SpecItem, SpecText, SpecVerdict};

const OPENING: &str = "# The specifications, requirement by requirement\n\n\
    haft implements three specifications: the agent tool contract, Smithers tools in three texts, and Smith. This page lists \
    every requirement of these five texts. The wording is haft's. `cargo xtask generated` writes this page from \
    `xtask/src/spec/items`, and `cargo xtask spec` runs the tests that it names.\n\n\
    Each requirement has a verdict:\n\n\
    - *works*: the tests show it. A few requirements are principles for people, and the page says so.\n\
    - *in part*: the tests show one part, and the page names the other part.\n\
    - *missing*: haft does not do it yet.\n\
    - *deviates*: haft does something else by a decision in [ARCHITECTURE.md](../ARCHITECTURE.md), which says why.\n\n\
    A test without a binary before it is in `haft-cli::it`, and runs the built programs.\n";

/// The binary of most tests. The page leaves its name out.
const USUAL_BINARY: &str = "haft-cli::it ";

/// Returns the whole page.
pub(super) fn render(texts: &[SpecText]) -> String {
    let mut page = format!("{OPENING}\n{}", totals(texts));
    for text in texts {
        page.push_str(&format!("\n## {}\n\n", text.source.title));
        page.push_str(
            "| no. | lines | requirement | verdict | shown by |\n|---:|---|---|---|---|\n",
        );
        for (index, item) in text.items.iter().enumerate() {
            let (number, verdict) = (index + 1, item.verdict.name());
            let row = [&number.to_string(), &item.lines, &item.asks, verdict, &shown_by(item)];
            page.push_str(&format!("| {} |\n", row.map(escaped).join(" | ")));
        }
    }
    page
}

/// Returns the totals in one line.
pub(super) fn summary(texts: &[SpecText]) -> String {
    let count = |verdict| texts.iter().map(|text| text.count(verdict)).sum::<usize>();
    let counts = SpecVerdict::ALL.map(|verdict| format!("{} {}", count(verdict), verdict.name()));
    let items: usize = texts.iter().map(|text| text.items.len()).sum();
    format!("{items} requirements: {}", counts.join(", "))
}

fn totals(texts: &[SpecText]) -> String {
    let names = SpecVerdict::ALL.map(SpecVerdict::name).join(" | ");
    let mut table = format!("| text | requirements | {names} |\n|---|---:|---:|---:|---:|---:|\n");
    let mut add = |title: &str, of: &[SpecText]| {
        let items: usize = of.iter().map(|text| text.items.len()).sum();
        let count = |verdict| of.iter().map(|text| text.count(verdict)).sum::<usize>().to_string();
        let counts = SpecVerdict::ALL.map(count).join(" | ");
        table.push_str(&format!("| {title} | {items} | {counts} |\n"));
    };
    for text in texts {
        add(text.source.title, std::slice::from_ref(text));
    }
    add("all", texts);
    table
}

/// Returns the tests, the decision and the reason of a requirement, those that it has.
fn shown_by(item: &SpecItem) -> String {
    let tests = item.tests.iter().map(|test| test.strip_prefix(USUAL_BINARY).unwrap_or(test));
    let tests: Vec<String> = tests.map(|test| format!("`{test}`")).collect();
    let tests = (!tests.is_empty()).then(|| tests.join(", "));
    let decision = item.decision.as_ref().map(|decision| format!("decided: {decision}"));
    [decision, item.reason.clone(), tests].into_iter().flatten().collect::<Vec<_>>().join(" — ")
}

/// A bar would end the cell.
fn escaped(cell: &str) -> String {
    cell.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::super::items::TEXTS;
    use super::*;

    #[test]
    fn a_row_has_everything_about_its_requirement() {
        let rows = "items = [\n\
            { lines = \"9\", asks = \"a | b\", verdict = \"works\", tests = [\"haft-cli::it a::b\"] },\n\
            { lines = \"1-2\", asks = \"c\", verdict = \"in part\", tests = [\"x::it d\"], reason = \"Half.\" },\n\
            { lines = \"3\", asks = \"e\", verdict = \"deviates\", decision = \"It is so\" },\n]";
        let texts = [TEXTS[0].parse(rows).expect("the rows are right")];
        let page = render(&texts);
        let rows: Vec<&str> = page.lines().rev().take(3).collect();
        assert_eq!(
            rows,
            [
                "| 3 | 3 | e | deviates | decided: It is so |",
                "| 2 | 1-2 | c | in part | Half. — `x::it d` |",
                "| 1 | 9 | a \\| b | works | `a::b` |",
            ]
        );
        assert!(page.contains("\n| all | 3 | 1 | 1 | 0 | 1 |\n"), "{page}");
        assert_eq!(summary(&texts), "3 requirements: 1 works, 1 in part, 0 missing, 1 deviates");
    }
}
