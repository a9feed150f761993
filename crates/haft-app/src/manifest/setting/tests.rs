use std::collections::BTreeSet;

use super::*;

#[test]
fn every_key_is_declared_once() {
    let mut seen = BTreeSet::new();
    for key in SETTINGS.iter().filter_map(|setting| setting.key) {
        assert!(seen.insert(key), "{key} is declared twice");
    }
}

#[test]
fn a_declaration_widens_unless_it_says_otherwise() {
    let setting = Setting::key("forgotten", "");
    assert!(setting.is_widened_by(&Value::Boolean(true), Path::new("/")));
}

#[test]
fn a_part_belongs_to_an_entry_that_is_judged() {
    let keys: Vec<&str> = SETTINGS.iter().filter_map(|setting| setting.key).collect();
    for setting in SETTINGS.iter().filter(|setting| matches!(setting.widens, Widens::OfEntry)) {
        let part = setting.key.unwrap();
        let is_of = |key: &&str| part.strip_prefix(*key).is_some_and(|rest| rest.starts_with('.'));
        assert!(keys.iter().any(is_of), "{part}");
    }
}

#[test]
fn the_keys_of_a_table_are_those_that_are_declared() {
    let check = |section: &str, expect: &[&str]| assert_eq!(keys_of(section), expect, "{section}");
    check("limits", &["answer_ms", "listed_tools", "output_bytes", "shown_chars", "timeout_ms"]);
    check("plan", &["parallel", "tools"]);
    check("plan.tools.*", &["concurrency", "per_minute"]);
    check("commands.requires", &["capabilities", "fs", "net", "shell"]);
    check("requires.shell", &["args", "cmd"]);
    check(
        "mcp.*.oauth",
        &["client_id", "client_metadata_url", "client_secret", "redirect_port", "scopes"],
    );
    check("mcp.*.env", &[]);
    assert_eq!(keys_of("").len(), 28);
}
