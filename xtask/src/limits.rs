//! `docs/limits.md`, made from the doc comments of the constants in `crates/` and `fleet/`.
//!
//! A constant is listed if its comment has a line `Limit (<group>): <what happens beyond it>.` The first sentence
//! of the comment says what is limited. It ends in `, in <unit>` where the value has a unit. Constants without
//! such a line are limits that no user meets, and this file does not check them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};

use crate::files;
use crate::markers::grouped;
use crate::process::capture;

/// The name of a group in comments, and its heading, in the order of the document.
const GROUPS: &[(&str, &str)] = &[
    ("calls", "Calls"),
    ("files", "Files"),
    ("commands", "Commands"),
    ("web", "Web"),
    ("plans", "Plans"),
    ("agents", "Agents"),
    ("editors", "Editors"),
    ("MCP", "MCP"),
    ("HTTP", "HTTP"),
    ("inspector", "Inspector"),
    ("Python", "Python tools"),
    ("languages", "Language servers"),
    ("journal", "Journal, runs and snapshots"),
    ("fleet", "Runs on Temporal"),
    ("settings", "Settings in `haft.toml`"),
];

const OPENING: &str = "# Limits\n\nThe limits that you can meet while you use haft. \
    `cargo xtask generated` writes this file from the comments of the constants.\n";

/// Returns the text of `docs/limits.md`.
pub(crate) fn render(root: &Path) -> anyhow::Result<String> {
    let mut listing = Command::new("git");
    listing.current_dir(root).args(["ls-files", "crates/*/src/*.rs", "fleet/*/src/*.rs"]);
    let mut constants = Vec::new();
    for path in capture(&mut listing)?.lines() {
        constants.extend(read_constants(path, &files::read(&root.join(path))?));
    }
    document(&constants)
}

/// One constant of a file.
struct SourceConstant {
    path: String,
    name: String,
    /// The text between `=` and `;`.
    expression: String,
    /// The row of the document that its comment asks for.
    row: Option<LimitRow>,
}

/// One row of the document.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LimitRow {
    group: String,
    limited: String,
    unit: String,
    beyond: String,
}

fn read_constants(path: &str, text: &str) -> Vec<SourceConstant> {
    let mut constants = Vec::new();
    let mut comment = Vec::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        if let Some(words) = line.strip_prefix("///") {
            comment.push(words.trim());
            continue;
        }
        if line.starts_with("#[") {
            continue;
        }
        let comment = std::mem::take(&mut comment);
        let Some((visibility, rest)) = line.split_once("const ") else { continue };
        let Some((name, _)) = rest.split_once(':') else { continue };
        let is_constant = visibility.is_empty() || visibility.starts_with("pub");
        if !is_constant || !name.chars().all(|next| next.is_ascii_alphanumeric() || next == '_') {
            continue;
        }
        let mut declaration = line.to_owned();
        while !declaration.ends_with(';')
            && let Some(more) = lines.next()
        {
            declaration.push(' ');
            declaration.push_str(more);
        }
        let expression = declaration.split_once(" = ").map_or("", |(_, value)| value);
        let limit = comment.iter().position(|line| line.starts_with("Limit ("));
        let row = limit.and_then(|at| {
            let (before, after) = comment.split_at(at);
            let [first, after] = [before, after].map(|lines| {
                lines.split(|line| line.is_empty()).next().unwrap_or_default().join(" ")
            });
            let (group, beyond) = after.strip_prefix("Limit (")?.split_once("): ")?;
            let sentence = first.split(". ").next().unwrap_or_default().trim_end_matches('.');
            let (limited, unit) = sentence.rsplit_once(", in ").unwrap_or((sentence, ""));
            Some(LimitRow {
                group: group.to_owned(),
                limited: limited.to_owned(),
                unit: unit.to_owned(),
                beyond: beyond.trim_end_matches('.').to_owned(),
            })
        });
        constants.push(SourceConstant {
            path: path.to_owned(),
            name: name.to_owned(),
            expression: expression.trim_end_matches(';').to_owned(),
            row,
        });
    }
    constants
}

fn document(constants: &[SourceConstant]) -> anyhow::Result<String> {
    let mut rows: BTreeMap<&str, String> = BTreeMap::new();
    for constant in constants {
        let Some(LimitRow { group, limited, unit, beyond }) = &constant.row else { continue };
        let place = || format!("{} in {}", constant.name, constant.path);
        if !GROUPS.iter().any(|(name, _)| name == group) {
            bail!("{}: there is no group `{group}` of limits", place());
        }
        let value = with_unit(value_of(constants, constant).with_context(place)?, unit);
        writeln!(rows.entry(group).or_default(), "| {limited} | {value} | {beyond} |")?;
    }
    let mut text = OPENING.to_owned();
    for (name, heading) in GROUPS {
        let rows = rows.get(*name).with_context(|| format!("no limit is in `{name}`"))?;
        write!(text, "\n## {heading}\n\n| limit | value | beyond it |\n|---|---:|---|\n{rows}")?;
    }
    Ok(text)
}

/// Returns the value in the largest unit that divides it.
fn with_unit(value: u64, unit: &str) -> String {
    let (name, rest) = unit.split_once(' ').unwrap_or((unit, ""));
    let steps: &[(u64, &str)] = match name {
        "bytes" => &[
            (1 << 40, "TiB"),
            (1 << 30, "GiB"),
            (1 << 20, "MiB"),
            (1_000_000, "MB"),
            (1 << 10, "KiB"),
            (1_000, "KB"),
            (1, "bytes"),
        ],
        "milliseconds" => &[(3_600_000, "h"), (60_000, "min"), (1_000, "s"), (1, "ms")],
        "seconds" => &[(3_600, "h"), (60, "min"), (1, "s")],
        "percent" => &[(1, "%")],
        other => &[(1, other)],
    };
    let (size, name) = steps
        .iter()
        .find(|(size, _)| value >= *size && value.is_multiple_of(*size))
        .copied()
        .unwrap_or((1, name));
    [grouped(value / size).as_str(), name, rest].join(" ").trim_end().to_owned()
}

/// Returns the value of a constant, which products, sums and other constants may make up.
fn value_of(constants: &[SourceConstant], of: &SourceConstant) -> anyhow::Result<u64> {
    // `NonZeroUsize::new(…).expect(…)` has the value inside the first brackets.
    let inner = of.expression.split_once("::new(").and_then(|(_, rest)| rest.split_once(')'));
    let mut sum = 0;
    for term in inner.map_or(of.expression.as_str(), |(value, _)| value).split(" + ") {
        let mut product = 1;
        for factor in term.split(" * ") {
            let mut parts = factor.split(" / ");
            product *= operand(constants, of, parts.next().unwrap_or_default())?;
            for divisor in parts {
                product /= operand(constants, of, divisor)?;
            }
        }
        sum += product;
    }
    Ok(sum)
}

/// Returns a number, or the value of a constant of the same file, the same crate or any crate.
fn operand(constants: &[SourceConstant], of: &SourceConstant, text: &str) -> anyhow::Result<u64> {
    let text = text.split(" as ").next().unwrap_or_default().trim();
    if let Ok(number) = text.replace('_', "").parse() {
        return Ok(number);
    }
    let name = text.rsplit("::").next().unwrap_or(text);
    let near: [fn(&str, &str) -> bool; 3] = [
        |one, other| one == other,
        |one, other| one.split('/').nth(1) == other.split('/').nth(1),
        |_, _| true,
    ];
    for is_near in near {
        let mut found =
            constants.iter().filter(|one| one.name == name && is_near(&one.path, &of.path));
        match (found.next(), found.next()) {
            (Some(one), None) => return value_of(constants, one),
            (Some(_), Some(_)) => bail!("`{name}` is defined more than once"),
            (None, _) => {}
        }
    }
    bail!("`{text}` is not a number or a constant")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCE: &str = "\
const KIB: usize = 1024;
/// Longest text of a call, in bytes of JSON. It is read whole.
///
/// Limit (calls): the text is
/// refused.
#[cfg(unix)]
pub(crate) const TEXT_BYTES_MAX: usize =
    64 * KIB + 512;
/// Texts of one call.
///
/// Limit (calls): the others wait.
pub const TEXTS: NonZeroUsize = NonZeroUsize::new(1_500).expect(\"positive\");
/// A limit that only haft meets.
const PAUSE_MS: u64 = 10;
";

    #[test]
    fn a_row_says_what_is_limited_and_what_happens_beyond_it() {
        let constants = read_constants("crates/haft/src/texts.rs", SOURCE);
        let values: Vec<(&str, u64)> = constants
            .iter()
            .map(|one| (one.name.as_str(), value_of(&constants, one).expect("a number")))
            .collect();
        let expect =
            [("KIB", 1_024), ("TEXT_BYTES_MAX", 66_048), ("TEXTS", 1_500), ("PAUSE_MS", 10)];
        assert_eq!(values, expect);
        let rows: Vec<LimitRow> = constants.iter().filter_map(|one| one.row.clone()).collect();
        let row = |limited: &str, unit: &str, beyond: &str| LimitRow {
            group: "calls".to_owned(),
            limited: limited.to_owned(),
            unit: unit.to_owned(),
            beyond: beyond.to_owned(),
        };
        let expect = [
            row("Longest text of a call", "bytes of JSON", "the text is refused"),
            row("Texts of one call", "", "the others wait"),
        ];
        assert_eq!(rows, expect);
    }

    #[test]
    fn an_unknown_group_is_an_error() {
        let source = "/// A day.\n///\n/// Limit (weather): it rains.\nconst DAYS: u64 = 1;\n";
        let err = document(&read_constants("crates/haft/src/days.rs", source))
            .expect_err("weather is not a group");
        let expect = "DAYS in crates/haft/src/days.rs: there is no group `weather` of limits";
        assert_eq!(err.to_string(), expect);
    }

    #[test]
    fn values_have_the_unit_that_divides_them() {
        for (value, unit, expect) in [
            (66_048, "bytes of JSON", "66,048 bytes of JSON"),
            (65_536, "bytes", "64 KiB"),
            (200_000, "bytes", "200 KB"),
            (5_400_000, "milliseconds", "90 min"),
            (250, "milliseconds", "250 ms"),
            (80, "percent", "80 %"),
            (1_500, "", "1,500"),
        ] {
            assert_eq!(with_unit(value, unit), expect);
        }
    }
}
