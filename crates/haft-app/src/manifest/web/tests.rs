use super::*;

fn section(text: &str) -> WebSearchSection {
    toml::from_str(text).unwrap()
}

#[test]
fn no_more_providers_are_named_than_there_may_be() {
    let problems =
        |count: usize| section(&"[[providers]]\nkind = \"brave\"\n".repeat(count)).problems();
    assert!(problems(SEARCH_PROVIDERS_MAX).is_empty());
    let message = "expected at most 10 providers, found 11".to_owned();
    assert_eq!(problems(SEARCH_PROVIDERS_MAX + 1), [("providers", message)]);
}

#[test]
fn no_more_searches_are_allowed_than_there_may_be() {
    let problems = |calls: u32| section(&format!("calls_max = {calls}")).problems();
    assert!([1, SEARCHES_MAX].into_iter().flat_map(problems).next().is_none());
    let message = "calls_max: expected 1 to 10000 searches, found 10001".to_owned();
    assert_eq!(problems(SEARCHES_MAX + 1), [("calls_max", message)]);
}
