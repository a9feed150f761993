//! `web_search`: what is sent to each provider and what is made of its answer, the choice of one, quotas and failures.

use std::net::TcpStream;

use expect_test::{Expect, expect};
use haft_contract::Envelope;
use haft_tools::{SearchApiKey, SearchProvider, SearchProviderKind, WebSearchOptions};
use serde_json::{Value, json};

use super::stage::{Setting, Stage, allow, shown};
use super::zoo::{Request, Zoo, say};

const KEY: &str = "k-0123456789";
const JSON: &str = "Content-Type: application/json\r\n";

/// Answers like all providers, whichever is asked.
fn providers() -> Zoo {
    Zoo::open(Box::new(|request: &Request, stream: &mut TcpStream| {
        let results = |snippet: &str| {
            json!([
                {"title": "One &amp; all", "url": "https://one.example/", snippet: "First\n  of all &lt;b&gt;", "score": 0.5},
                {"title": "Two", "url": "https://two.example/", snippet: "x".repeat(3_000)},
                {"title": "No place", snippet: "?"},
                {"title": "Elsewhere", "url": "javascript:alert(1)", snippet: "?"},
                {"url": "https://three.example/"},
            ])
        };
        let answer = match request.target.split('?').next().unwrap_or_default() {
            "/search" if request.method == "GET" => {
                json!({"query": "q", "number_of_results": 0, "results": results("content"), "unresponsive_engines": []})
            }
            "/search" => json!({"query": "q", "results": results("content"), "response_time": 0.1}),
            "/res/web/search" => {
                json!({"type": "search", "web": {"type": "search", "results": results("description")}})
            }
            _ => json!({}),
        };
        say(stream, "200 OK", JSON, answer.to_string().as_bytes())
    }))
}

fn provider(zoo: &Zoo, wire: SearchProviderKind, path: &str) -> SearchProvider {
    let key = wire.key_variable().map(|_| SearchApiKey::new(KEY).unwrap());
    SearchProvider::new(wire, Some(&zoo.url(path)), key).unwrap()
}

fn stage(providers: Vec<SearchProvider>) -> Stage {
    let web_search = WebSearchOptions { providers, ..WebSearchOptions::default() };
    Stage::with(Setting { rules: vec![allow("*")], web_search, ..Setting::default() })
}

async fn search(stage: &Stage, session: &str, input: Value) -> Envelope {
    stage.call_in(session, "web_search", input).await
}

#[tokio::test]
async fn each_provider_is_asked_in_its_own_way() {
    let check = async |wire: SearchProviderKind, path: &str, expected: Expect| {
        let zoo = providers();
        let stage = stage(vec![provider(&zoo, wire, path)]);
        let input = json!({"query": " rust & \"async\" ", "max_results": 3});
        let envelope = search(&stage, "s1", input).await;
        let Envelope::Output { data, .. } = &envelope else { panic!("{}", shown(&envelope)) };
        let results: Vec<String> = data["results"]
            .as_array()
            .unwrap()
            .iter()
            .map(|result| format!("{:.120}\n", result.to_string()))
            .collect();
        let [request] = zoo.requests().try_into().unwrap();
        let Request { method, target, headers, body } = request;
        let shown = ["accept", "authorization", "x-subscription-token", "content-type"];
        let headers: String = shown
            .iter()
            .filter_map(|name| Some(format!("{name}: {}\n", headers.get(*name)?)))
            .collect();
        expected.assert_eq(&format!("{method} {target}\n{headers}{body}\n{}", results.concat()));
    };
    check(SearchProviderKind::Searxng, "", expect![[r#"
        GET /search?q=rust+%26+%22async%22&format=json
        accept: application/json

        {"title":"One &amp; all","url":"https://one.example/","snippet":"First of all &lt;b&gt;"}
        {"title":"Two","url":"https://two.example/","snippet":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        {"title":"","url":"https://three.example/","snippet":""}
    "#]]).await;
    check(SearchProviderKind::Brave, "/res/", expect![[r#"
        GET /res/web/search?q=rust+%26+%22async%22&count=3&text_decorations=false&result_filter=web
        accept: application/json
        x-subscription-token: k-0123456789

        {"title":"One & all","url":"https://one.example/","snippet":"First of all <b>"}
        {"title":"Two","url":"https://two.example/","snippet":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        {"title":"","url":"https://three.example/","snippet":""}
    "#]]).await;
    check(SearchProviderKind::Tavily, "/", expect![[r#"
        POST /search
        accept: application/json
        authorization: Bearer k-0123456789
        content-type: application/json
        {"query":"rust & \"async\"","max_results":3,"search_depth":"basic"}
        {"title":"One &amp; all","url":"https://one.example/","snippet":"First of all &lt;b&gt;"}
        {"title":"Two","url":"https://two.example/","snippet":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
        {"title":"","url":"https://three.example/","snippet":""}
    "#]]).await;
}

#[tokio::test]
async fn a_session_keeps_its_provider_and_each_provider_has_its_part() {
    let zoos = [providers(), providers(), providers()];
    let all = zoos.iter().map(|zoo| provider(zoo, SearchProviderKind::Searxng, "/"));
    let stage = stage(all.collect());
    for session in 0..30 {
        let before: Vec<usize> = zoos.iter().map(|zoo| zoo.requests().len()).collect();
        let asked = async |query: &str| {
            let answer = search(&stage, &format!("s{session}"), json!({ "query": query })).await;
            assert_eq!(answer.code(), None, "{}", shown(&answer));
        };
        asked("one").await;
        asked("two").await;
        let more = zoos.iter().zip(&before).map(|(zoo, before)| zoo.requests().len() - before);
        let mut more: Vec<usize> = more.collect();
        more.sort_unstable();
        assert_eq!(more, [0, 0, 2], "session {session}");
    }
    assert!(zoos.iter().all(|zoo| zoo.requests().len() >= 10), "each has a fair part");
}

#[tokio::test]
async fn a_session_searches_so_often_and_no_more() {
    let zoo = providers();
    let stage = stage(vec![provider(&zoo, SearchProviderKind::Searxng, "/")]);
    let session = stage.session("s1");
    let run = session.run(haft_contract::RunId::parse("r1").unwrap());
    let mut last = String::new();
    for number in 0..26 {
        let call = haft::Call::new("web_search", json!({ "query": format!("q{number}") }));
        last = shown(&run.call(call).await.unwrap());
    }
    expect!["QUOTA_EXCEEDED: this session has made its 25 searches: go on with what was found, or have web_search.calls_max raised in haft.toml"].assert_eq(&last);
    assert_eq!(zoo.requests().len(), 25);
    let other = search(&stage, "s2", json!({"query": "q"})).await;
    assert_eq!(other.code(), None);
}

#[tokio::test]
async fn what_cannot_be_asked_is_said_with_what_to_do() {
    let mut all = String::new();
    let mut add = async |stage: &Stage, input: Value| {
        all.push_str(&format!("{}\n", shown(&search(stage, "s1", input).await)));
    };
    add(&stage(Vec::new()), json!({"query": "q"})).await;
    let why = "its key is missing: put it into the environment variable BRAVE_API_KEY".to_owned();
    let hindered = SearchProvider::unavailable(SearchProviderKind::Brave, None, why).unwrap();
    let hindered = stage(vec![hindered]);
    add(&hindered, json!({"query": "q"})).await;
    add(&hindered, json!({"query": " "})).await;
    add(&hindered, json!({"query": "q", "max_results": 21})).await;
    expect![[r#"
        UNAVAILABLE: no provider of searches is configured: name one in haft.toml, such as [[web_search.providers]] with kind = "searxng" and url = "https://…", or kind = "brave" or "tavily" with its key in BRAVE_API_KEY or TAVILY_API_KEY, and trust it
        UNAVAILABLE: the search provider brave (api.search.brave.com) failed: its key is missing: put it into the environment variable BRAVE_API_KEY
        INVALID_INPUT: query: expected words to search for, found only white space
        INVALID_INPUT: invalid input for web_search: max_results: expected at most 20, found 21
    "#]]
    .assert_eq(&all);
}

/// Has a provider answer so, and compares what is said of it.
async fn check_failure(
    wire: SearchProviderKind,
    status: &'static str,
    body: &'static str,
    expected: Expect,
) {
    let zoo = Zoo::open(Box::new(move |_: &Request, stream: &mut TcpStream| {
        say(stream, status, JSON, body.as_bytes())
    }));
    let stage = stage(vec![provider(&zoo, wire, "/")]);
    let first = shown(&search(&stage, "s1", json!({"query": "q"})).await);
    let second = shown(&search(&stage, "s1", json!({"query": "q"})).await);
    assert_eq!(first, second, "it fails consistently");
    assert!(!first.contains(KEY), "{first}");
    expected.assert_eq(&zoo.plain(&first));
}

#[tokio::test]
async fn a_provider_that_fails_is_named_without_its_key() {
    use SearchProviderKind::{Brave, Searxng, Tavily};
    check_failure(Searxng, "403 Forbidden", "Forbidden", expect!["UNAVAILABLE: the search provider searxng (127.0.0.1) failed: it answered 403 Forbidden; an instance answers in JSON only if its settings.yml has json among search.formats"]).await;
    check_failure(
        Brave,
        "422 Unprocessable Entity",
        r#"{"type":"ErrorResponse","error":{"code":"SUBSCRIPTION_TOKEN_INVALID","detail":"The token k-0123456789 is invalid.","status":422}}"#,
        expect!["UNAVAILABLE: the search provider brave (127.0.0.1) failed: it answered 422 Unprocessable Content: The token [key] is invalid"],
    )
    .await;
    check_failure(
        Tavily,
        "401 Unauthorized",
        r#"{"detail":{"error":"Unauthorized: missing or invalid API key."}}"#,
        expect!["UNAVAILABLE: the search provider tavily (127.0.0.1) failed: it answered 401 Unauthorized: Unauthorized: missing or invalid API key; check the key"],
    )
    .await;
    check_failure(Tavily, "432 Usage", r#"{"detail":{"error":"plan limit"}}"#, expect!["UNAVAILABLE: the search provider tavily (127.0.0.1) failed: it answered 432: plan limit; its limit is reached"]).await;
    check_failure(Searxng, "200 OK", "<html>", expect!["UNAVAILABLE: the search provider searxng (127.0.0.1) failed: its answer is not JSON (expected value at line 1 column 1)"]).await;
    check_failure(Searxng, "200 OK", "{\"results\": 5}", expect!["UNAVAILABLE: the search provider searxng (127.0.0.1) failed: its answer holds no list of results"]).await;
    check_failure(Searxng, "302 Found", "", expect!["UNAVAILABLE: the search provider searxng (127.0.0.1) failed: it answered 302 Found; it leads elsewhere, which is not followed: name the URL that it leads to"]).await;
}

#[tokio::test]
async fn no_answer_repeats_the_key_wherever_it_stands() {
    let check = async |status: &'static str, answer: Value| {
        let zoo = Zoo::open(Box::new(move |_: &Request, stream: &mut TcpStream| {
            say(stream, status, JSON, answer.to_string().as_bytes())
        }));
        let stage = stage(vec![provider(&zoo, SearchProviderKind::Tavily, "/")]);
        let envelope = search(&stage, "s1", json!({"query": "q"})).await;
        let said = serde_json::to_string(&envelope).unwrap();
        assert!(said.contains("[key") && !said.contains("k-0"), "{said}");
    };
    let url = format!("https://one.example/?key={KEY}");
    let found = json!({"title": KEY, "url": url, "content": format!("for {KEY}")});
    check("200 OK", json!({ "results": [found] })).await;
    // The bound of what is repeated falls into the key.
    check("403 Forbidden", json!({"message": format!("{}{KEY}", "x".repeat(295))})).await;
}

#[tokio::test]
async fn a_provider_that_says_nothing_is_waited_for_so_long() {
    let zoo = Zoo::open(Box::new(|_: &Request, stream: &mut TcpStream| {
        std::io::copy(stream, &mut std::io::sink()).map(drop)
    }));
    let providers = vec![provider(&zoo, SearchProviderKind::Searxng, "/")];
    let web_search = WebSearchOptions { providers, timeout_ms: 200, ..WebSearchOptions::default() };
    let setting = Setting { rules: vec![allow("*")], web_search, ..Setting::default() };
    let text = shown(&search(&Stage::with(setting), "s1", json!({"query": "q"})).await);
    expect!["TOOL_TIMEOUT: the search provider searxng (127.0.0.1) failed: the call was stopped while it waited for the network; it has 200 ms"].assert_eq(&zoo.plain(&text));
}

#[tokio::test]
async fn an_answer_of_a_provider_has_a_bound() {
    const ANSWER_BYTES_MAX: usize = 5_000_000;
    let zoo = Zoo::open(Box::new(|request: &Request, stream: &mut TcpStream| {
        let (start, end) = (r#"{"results":[],"more":""#, r#""}"#);
        let over = usize::from(request.target.contains("beyond"));
        let filling = ANSWER_BYTES_MAX + over - start.len() - end.len();
        say(stream, "200 OK", JSON, format!("{start}{}{end}", "x".repeat(filling)).as_bytes())
    }));
    let stage = stage(vec![provider(&zoo, SearchProviderKind::Searxng, "/")]);
    let within = search(&stage, "s1", json!({"query": "within"})).await;
    assert_eq!(within.code(), None, "{}", shown(&within));
    let beyond = search(&stage, "s1", json!({"query": "beyond"})).await;
    assert_eq!(
        shown(&beyond),
        "UNAVAILABLE: the search provider searxng (127.0.0.1) failed: its answer is more than 5000000 bytes"
    );
}
