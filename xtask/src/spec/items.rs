//! The table of requirements: its form, and what must hold of every row.
//!
//! A row has the lines of the text (`lines`), the requirement in short (`asks`), a `verdict`, and what shows it: `tests`, a
//! `reason`, or the `decision` of ARCHITECTURE.md by which haft deviates.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail, ensure};
use toml::{Table, Value};

/// One of the five texts, before its rows are read.
pub(super) struct SpecSource {
    /// The name of the file of its rows, without the extension.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// How many requirements it has.
    items: usize,
}

/// The texts, in the order of the page.
pub(super) const TEXTS: &[SpecSource] = &[
    SpecSource { name: "smithers-3", title: "Smithers tools, newest text", items: 99 },
    SpecSource { name: "smithers-2", title: "Smithers built-in tools", items: 76 },
    SpecSource { name: "smithers-1", title: "Smithers built-in tools, oldest text", items: 44 },
    SpecSource { name: "smith", title: "Smith tools", items: 59 },
    SpecSource { name: "contract", title: "Agent tool contract", items: 101 },
];

/// A text with its requirements.
pub(super) struct SpecText {
    pub(super) source: &'static SpecSource,
    pub(super) items: Vec<SpecItem>,
}

/// One requirement.
#[derive(Debug)]
pub(super) struct SpecItem {
    /// A line of the text, or two with a dash between them.
    pub(super) lines: String,
    pub(super) asks: String,
    pub(super) verdict: SpecVerdict,
    /// As nextest prints them: the binary, a blank and the path.
    pub(super) tests: Vec<String>,
    pub(super) reason: Option<String>,
    /// The words with which the decision begins.
    pub(super) decision: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpecVerdict {
    Works,
    InPart,
    Missing,
    Deviates,
}

impl SpecVerdict {
    pub(super) const ALL: [Self; 4] = [Self::Works, Self::InPart, Self::Missing, Self::Deviates];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Works => "works",
            Self::InPart => "in part",
            Self::Missing => "missing",
            Self::Deviates => "deviates",
        }
    }
}

impl SpecSource {
    /// Reads the rows of the text.
    pub(super) fn parse(&'static self, text: &str) -> anyhow::Result<SpecText> {
        let table: Table = text.parse().context("it is not TOML")?;
        let rows = table.get("items").and_then(Value::as_array).context("there is no `items`")?;
        let mut items = Vec::new();
        for (index, row) in rows.iter().enumerate() {
            let row = row.as_table().context("a row is no table");
            let item = row.and_then(SpecItem::parse);
            items.push(item.with_context(|| format!("row {}", index + 1))?);
        }
        Ok(SpecText { source: self, items })
    }
}

impl SpecItem {
    fn parse(row: &Table) -> anyhow::Result<Self> {
        let known = ["lines", "asks", "verdict", "tests", "reason", "decision"];
        if let Some(key) = row.keys().find(|key| !known.contains(&key.as_str())) {
            bail!("unknown key `{key}`: expected one of {}", known.join(", "));
        }
        let given = |key: &str| row.get(key).and_then(Value::as_str).map(str::to_owned);
        let text = |key: &str| given(key).with_context(|| format!("there is no text `{key}`"));
        let verdict = text("verdict")?;
        let tests = row.get("tests").and_then(Value::as_array).map(Vec::as_slice);
        let tests = tests.unwrap_or_default().iter().map(|test| test.as_str().map(str::to_owned));
        Ok(Self {
            lines: text("lines")?,
            asks: text("asks")?,
            verdict: SpecVerdict::ALL
                .into_iter()
                .find(|one| one.name() == verdict)
                .with_context(|| format!("unknown verdict `{verdict}`"))?,
            tests: tests.collect::<Option<_>>().context("a test is no text")?,
            reason: given("reason"),
            decision: given("decision"),
        })
    }

    /// Fails if the row lacks what its verdict needs.
    fn check(&self, existing: &BTreeSet<String>, decisions: &str) -> anyhow::Result<()> {
        let is_number = |part: &str| part.parse::<usize>().is_ok_and(|line| line > 0);
        ensure!(self.lines.splitn(2, '-').all(is_number), "`{}` are no lines", self.lines);
        ensure!(!self.asks.trim().is_empty(), "it asks nothing");
        if let Some(test) = self.tests.iter().find(|test| !existing.contains(*test)) {
            bail!("there is no test `{test}`");
        }
        let (has_tests, has_reason) = (!self.tests.is_empty(), self.reason.is_some());
        match self.verdict {
            SpecVerdict::Works => {
                ensure!(has_tests != has_reason, "it needs tests, or a reason why it has none");
            }
            SpecVerdict::InPart => {
                ensure!(has_tests && has_reason, "it needs tests and the reason");
            }
            SpecVerdict::Missing => {
                ensure!(!has_tests && has_reason, "it needs the reason, and no test");
            }
            SpecVerdict::Deviates => {
                let decision = self.decision.as_deref().context("it needs a decision")?;
                ensure!(
                    decisions.contains(&format!("*{decision}.*")),
                    "ARCHITECTURE.md has no decision that begins with `*{decision}.*`"
                );
            }
        }
        let is_deviation = self.verdict == SpecVerdict::Deviates;
        ensure!(is_deviation || self.decision.is_none(), "only a deviation has a decision");
        Ok(())
    }
}

impl SpecText {
    /// Returns everything that is wrong with the rows.
    pub(super) fn problems(&self, existing: &BTreeSet<String>, decisions: &str) -> Vec<String> {
        let name = self.source.name;
        let mut problems = Vec::new();
        if self.items.len() != self.source.items {
            let (found, expected) = (self.items.len(), self.source.items);
            problems.push(format!("{name}: {found} rows, expected {expected}"));
        }
        for (index, item) in self.items.iter().enumerate() {
            if let Err(err) = item.check(existing, decisions) {
                problems.push(format!("{name}, row {}, {}: {err}", index + 1, item.asks));
            }
        }
        problems
    }

    /// Returns how many requirements have a verdict.
    pub(super) fn count(&self, verdict: SpecVerdict) -> usize {
        self.items.iter().filter(|item| item.verdict == verdict).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(row: &str) -> anyhow::Result<SpecItem> {
        SpecItem::parse(&row.parse().expect("the row is TOML"))
    }

    /// Checks a row where two tests and one decision exist.
    fn check(row: &str) -> Result<(), String> {
        let existing = BTreeSet::from(["x::it a".to_owned(), "x::it b".to_owned()]);
        let row = format!("lines = \"9\"\nasks = \"It works\"\n{row}");
        let checked = item(&row).and_then(|item| item.check(&existing, "*It is so.* Because."));
        checked.map_err(|err| err.to_string())
    }

    #[test]
    fn each_verdict_needs_what_shows_it() {
        let tests = "tests = [\"x::it a\", \"x::it b\"]";
        for (row, is_right) in [
            (format!("verdict = \"works\"\n{tests}"), true),
            ("verdict = \"works\"\nreason = \"A principle.\"".to_owned(), true),
            ("verdict = \"works\"".to_owned(), false),
            ("verdict = \"works\"\ntests = [\"x::it c\"]".to_owned(), false),
            (format!("verdict = \"in part\"\nreason = \"Half.\"\n{tests}"), true),
            (format!("verdict = \"in part\"\n{tests}"), false),
            ("verdict = \"in part\"\nreason = \"Half.\"".to_owned(), false),
            ("verdict = \"missing\"\nreason = \"Not yet.\"".to_owned(), true),
            (format!("verdict = \"missing\"\nreason = \"Not yet.\"\n{tests}"), false),
            ("verdict = \"deviates\"\ndecision = \"It is so\"".to_owned(), true),
            ("verdict = \"deviates\"\ndecision = \"It is not\"".to_owned(), false),
            ("verdict = \"deviates\"\nreason = \"So.\"".to_owned(), false),
            (format!("verdict = \"works\"\ndecision = \"It is so\"\n{tests}"), false),
        ] {
            assert_eq!(check(&row).is_ok(), is_right, "{row}: {:?}", check(&row));
        }
    }

    #[test]
    fn rows_are_read_strictly() {
        let err = |row: &str| item(row).expect_err("the row is bad").to_string();
        assert!(err("test = \"a\"").contains("unknown key `test`"));
        assert!(err("asks = \"a\"\nverdict = \"works\"").contains("there is no text `lines`"));
        let good = err("lines = \"9\"\nasks = \"a\"\nverdict = \"good\"");
        assert!(good.contains("unknown verdict `good`"), "{good}");
        let lines = item("lines = \"9-x\"\nasks = \"a\"\nverdict = \"missing\"\nreason = \"No.\"");
        let lines = lines.expect("the form of lines is checked later");
        assert!(lines.check(&BTreeSet::new(), "").is_err());
    }

    #[test]
    fn a_text_has_all_its_rows() {
        let text = TEXTS[0].parse("items = []").expect("there are rows");
        let problems = text.problems(&BTreeSet::new(), "");
        assert_eq!(problems, ["smithers-3: 0 rows, expected 99"]);
    }
}
