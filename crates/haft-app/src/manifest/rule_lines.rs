//! The lines of a file that its permission rules begin in, so that a person finds a rule again.

use haft_policy::Rule;
use serde::Deserialize as _;
use serde::de::IntoDeserializer as _;
use toml::de::{DeTable, DeValue, ValueDeserializer};

/// Returns the permission rules of a text with the lines that they begin in, from 1, in the order of the text. A text that
/// is no TOML has no rules, and an entry that is no rule is left out.
pub fn rule_lines(text: &str) -> Vec<(Rule, usize)> {
    let Ok(table) = DeTable::parse(text) else { return Vec::new() };
    let table = table.into_inner();
    let Some(DeValue::Array(entries)) = table.get("permissions").map(|value| value.get_ref())
    else {
        return Vec::new();
    };
    let rules = entries.iter().filter_map(|entry| {
        let start = text.get(..entry.span().start)?;
        let reader: ValueDeserializer<'_> = entry.clone().into_deserializer();
        Some((Rule::deserialize(reader).ok()?, start.matches('\n').count() + 1))
    });
    rules.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_found_where_they_are_written() {
        let check = |text: &str, expect: &[(&str, usize)]| {
            let found: Vec<_> =
                rule_lines(text).into_iter().map(|(rule, line)| (rule.to_string(), line)).collect();
            let expect: Vec<_> =
                expect.iter().map(|(rule, line)| ((*rule).to_owned(), *line)).collect();
            assert_eq!(found, expect, "{text}");
        };
        check(
            "# Mine.\n[[permissions]]\npermission = \"a\"\n\n[[permissions]]\npermission = \"b\"\naction = \"deny\"\n",
            &[("ask a \"*\"", 2), ("deny b \"*\"", 5)],
        );
        check(
            "permissions = [\n  { permission = \"a\" }, 3,\n  { permission = \"b\" },\n]\n",
            &[("ask a \"*\"", 2), ("ask b \"*\"", 3)],
        );
        check("preset = \"ask\"\n", &[]);
        check("permissions = [", &[]);
    }
}
