//! Which providers can be asked, and that no message shows a key.

use expect_test::{Expect, expect};

use super::result::SearchResult;
use super::{SearchApiKey, SearchProvider, SearchProviderKind};

const KEY: &str = "k-0123456789";

fn check(wire: SearchProviderKind, url: Option<&str>, key: Option<&str>, expected: Expect) {
    let key = key.map(SearchApiKey::new).transpose();
    let provider = key.and_then(|key| SearchProvider::new(wire, url, key));
    let said = match &provider {
        Ok(provider) => format!("{} at {}", provider.kind().name(), provider.base()),
        Err(err) => err.to_string(),
    };
    assert!(!format!("{provider:?}{said}").contains(KEY));
    expected.assert_eq(&said);
}

#[test]
fn results_hold_nothing_that_nobody_sees() {
    let result = SearchResult {
        title: "a\u{202e}b\n\u{1b}[2Jc".to_owned(),
        url: " https://a.example/b\nc\u{e0041}".to_owned(),
        snippet: "d\u{200b} \u{e0042}e".to_owned(),
    };
    let SearchResult { title, url, snippet } = result.bounded().unwrap();
    assert_eq!([title, snippet], ["ab [2Jc", "d e"]);
    assert_eq!(url, "https://a.example/bc%F3%A0%81%81");
}

#[test]
fn providers_are_asked_where_they_are_and_with_a_key() {
    use SearchProviderKind::{Brave, Searxng, Tavily};
    check(Brave, None, Some(KEY), expect!["brave at https://api.search.brave.com/res/v1/"]);
    check(Tavily, None, Some(KEY), expect!["tavily at https://api.tavily.com/"]);
    check(
        Searxng,
        Some("https://s.example/sub"),
        None,
        expect!["searxng at https://s.example/sub/"],
    );
    check(Searxng, Some("http://10.0.0.1:8888"), None, expect!["searxng at http://10.0.0.1:8888/"]);
    check(
        Searxng,
        None,
        None,
        expect![[r#"url: expected where the instance is, such as "https://searx.example.org""#]],
    );
    check(Brave, None, None, expect!["brave requires a key"]);
    check(
        Brave,
        Some("http://s.example/"),
        Some(KEY),
        expect!["url: a key would go to http://s.example/ unencrypted: use https"],
    );
    check(Brave, Some("http://127.0.0.1:1/"), Some(KEY), expect!["brave at http://127.0.0.1:1/"]);
    check(
        Searxng,
        Some("https://s.example/?key=1"),
        None,
        expect!["url: expected no query and no fragment: keys belong into the environment"],
    );
    check(
        Searxng,
        Some("https://u:p@s.example/"),
        None,
        expect![
            "url: it holds a user name or a password, and neither is ever sent: leave them out"
        ],
    );
    check(
        Searxng,
        Some("s.example"),
        None,
        expect![
            "url: relative URL without a base: expected an address such as https://example.org/page"
        ],
    );
    check(
        Tavily,
        None,
        Some("a\nb"),
        expect![
            "the key is empty, or holds a character that no key has, such as a line feed or a space"
        ],
    );
    check(
        Tavily,
        None,
        Some(" "),
        expect![
            "the key is empty, or holds a character that no key has, such as a line feed or a space"
        ],
    );
}

#[test]
fn kinds_are_known_by_name() {
    for wire in [SearchProviderKind::Searxng, SearchProviderKind::Brave, SearchProviderKind::Tavily]
    {
        assert_eq!(wire.name().parse(), Ok(wire));
    }
    let unknown = "google".parse::<SearchProviderKind>().unwrap_err();
    assert_eq!(
        unknown.to_string(),
        "unknown kind \"google\": expected \"searxng\", \"brave\" or \"tavily\""
    );
}
