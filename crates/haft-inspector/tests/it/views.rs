//! The content of the pages, and the changes that they offer.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::running::Running;

#[tokio::test]
async fn an_empty_journal_teaches() {
    let running = Running::start().await;
    let browser = running.browser().await;
    for (path, expect) in [
        ("/asks", "Nothing waits for you"),
        ("/runs", "haft call glob"),
        ("/doubts", "No call is in doubt"),
        ("/sessions", "haft agent"),
        ("/plans", "haft run plan.json"),
    ] {
        let answer = browser.get(path).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert!(answer.body.contains(expect), "{path}: {}", answer.body);
    }
    assert_eq!(browser.get("/").await.header("location"), Some("/runs"));
    for path in ["/runs/none", "/calls/none/main/0/1/1", "/sessions/ses_1", "/plans/none", "/x"] {
        let answer = browser.get(path).await;
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(answer.body.contains("role=\"alert\""), "{path}: {}", answer.body);
    }
}

#[tokio::test]
async fn runs_are_filtered() {
    let running = Running::start().await;
    running.call("one", "glob", json!({"pattern": "*.rs"})).await;
    running.call("two", "write", json!({"path": "a.txt", "content": "a\n"})).await;
    running.call("three", "read", json!({"path": "none.txt"})).await;
    let browser = running.browser().await;
    for (query, expect) in [
        ("", vec!["one", "two", "three"]),
        ("?tool=write", vec!["two"]),
        ("?state=failed", vec!["three"]),
        ("?state=running", vec![]),
        ("?text=.RS", vec!["one"]),
        ("?text=none.txt&by=app", vec!["three"]),
        ("?by=mcp", vec![]),
        ("?root=work", vec!["one", "two", "three"]),
        ("?root=elsewhere", vec![]),
        ("?since=2999-01-01", vec![]),
        ("?until=2999-01-01&tool=glob", vec!["one"]),
    ] {
        let body = browser.get(&format!("/runs{query}")).await.body;
        let found: Vec<&str> = ["one", "two", "three"]
            .into_iter()
            .filter(|run| body.contains(&format!("id=\"run-{run}\"")))
            .collect();
        assert_eq!(found, expect, "{query}");
    }
    let only = browser.get("/runs?only=two,three&state=failed").await.body;
    assert!(
        only.contains("run-three") && !only.contains("run-two") && !only.contains("<html"),
        "{only}"
    );
}

#[tokio::test]
async fn a_run_and_its_calls_are_shown() {
    let running = Running::start().await;
    running.call("r", "write", json!({"path": "a.txt", "content": "a\n"})).await;
    running.call("r", "read", json!({"path": "/etc/shadow"})).await;
    let browser = running.browser().await;
    let run = browser.get("/runs/r").await.body;
    for expect in
        ["id=\"call-main/0/1/1\"", "id=\"call-main/0/1/2\"", "a.txt", "1 refused", "/changes?run=r"]
    {
        assert!(run.contains(expect), "{expect}: {run}");
    }
    let refused = browser.get("/runs/r/calls?status=refused").await.body;
    assert!(refused.contains("main/0/1/2") && !refused.contains("main/0/1/1"), "{refused}");
    let call = browser.get("/calls/r/main/0/1/2").await.body;
    assert!(call.contains("Refused: TOOL_PATH_ESCAPE"), "{call}");
    let saved = browser.get("/calls/r/main/0/1/1/file?part=input").await;
    assert!(
        saved.header("content-disposition").unwrap().starts_with("attachment"),
        "{}",
        saved.head
    );
    assert!(saved.body.contains("\"path\": \"a.txt\""), "{}", saved.body);
}

#[tokio::test]
async fn a_long_text_comes_in_pieces() {
    let running = Running::start().await;
    let line = "0123456789abcdef\n";
    let long = line.repeat(10_000);
    std::fs::write(running.work().join("long.txt"), &long).unwrap();
    running.call("r", "read", json!({"path": "long.txt"})).await;
    let browser = running.browser().await;
    let page = browser.get("/calls/r/main/0/1/1").await;
    let mut found = page.body.matches(line).count();
    let mut next = Some(page.attribute("aria-labelledby=\"answer-title\">01", "data-more"));
    while let Some(path) = next {
        let piece = browser.get(&path.replace("&#38;", "&")).await;
        assert!(piece.body.len() < 100_000);
        found += piece.body.matches("9abcdef\n").count();
        next = piece.body.contains("data-more").then(|| piece.attribute("", "data-more"));
    }
    // A line may be cut at the end of a piece.
    assert!((9_995..=10_005).contains(&found), "{found}");
}

#[tokio::test]
async fn an_undo_does_what_was_shown_and_can_be_undone() {
    let running = Running::start().await;
    let file = running.work().join("a.txt");
    std::fs::write(&file, "one two\n").unwrap();
    running.call("r", "write", json!({"path": "a.txt", "content": "one three\n"})).await;
    let browser = running.browser().await;
    let path = "/changes?call=r/main/0/1/1";
    let page = browser.get(path).await;
    assert!(page.body.contains("one <mark>two</mark>"), "{}", page.body);
    assert!(page.body.contains("one <mark>three</mark>"), "{}", page.body);
    let nonce = page.attribute("<form method=\"post\"", "data-nonce");
    // Another program changes the file before the person decides.
    std::fs::write(&file, "mine\n").unwrap();
    let answer = browser.post("/undo", &nonce, "call=r/main/0/1/1").await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "mine\n");
    assert!(browser.get(path).await.body.contains("force=1"));
    std::fs::write(&file, "one three\n").unwrap();
    let nonce = browser.get(path).await.attribute("<form method=\"post\"", "data-nonce");
    let answer = browser.post("/undo", &nonce, "call=r/main/0/1/1").await;
    assert_eq!(answer.status, 204, "{}", answer.body);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one two\n");
    let undoing = answer.header("haft-next").unwrap().to_owned();
    let again = format!("call={}", undoing.strip_prefix("/calls/").unwrap());
    let page = browser.get(&format!("/changes?{again}")).await;
    let nonce = page.attribute("<form method=\"post\"", "data-nonce");
    assert_eq!(browser.post("/undo", &nonce, &again).await.status, 204);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one three\n");
    assert!(browser.get("/calls/r/main/0/1/1").await.body.contains("Undone at"));
}

#[tokio::test]
async fn rules_are_shown_tried_and_added() {
    let running = Running::start().await;
    let browser = running.browser().await;
    let page =
        browser.get("/permissions?tool=read&input=%7B%22path%22%3A%22/etc/shadow%22%7D").await.body;
    assert!(page.contains("The call would be refused."), "{page}");
    let wrong = browser.get("/permissions?permission=nonsense").await.body;
    assert!(wrong.contains("role=\"alert\"") && !wrong.contains("data-nonce"), "{wrong}");
    let path = "/permissions?action=allow&permission=bash&pattern=cargo+test+*";
    let page = browser.get(path).await;
    let nonce = page.attribute("<form method=\"post\"", "data-nonce");
    let root = haft_root(&page.attribute("<form method=\"post\"", "value"));
    // A wider rule than the one that was shown.
    let wider = format!("root={root}&action=allow&permission=bash&pattern=*");
    assert_eq!(browser.post("/permissions/add", &nonce, &wider).await.status, 409);
    let nonce = browser.get(path).await.attribute("<form method=\"post\"", "data-nonce");
    let rule = format!("root={root}&action=allow&permission=bash&pattern=cargo+test+*");
    assert_eq!(browser.post("/permissions/add", &nonce, &rule).await.status, 204);
    let page = browser.get("/permissions").await.body;
    assert!(page.contains("cargo test *") && page.contains("project"), "{page}");
}

fn haft_root(text: &str) -> String {
    text.replace('/', "%2F")
}

#[tokio::test]
async fn a_call_with_50_mb_of_output_opens() {
    let running = Running::start().await;
    let sidecar = running.sidecar("long.txt");
    let line = "0123456789abcdef\n";
    std::fs::write(&sidecar, line.repeat(3_100_000) + "the end\n").unwrap();
    assert!(std::fs::metadata(&sidecar).unwrap().len() > 50_000_000);
    let path = running.record_output(&line.repeat(10), Some(&sidecar)).await;
    let browser = running.browser().await;
    let began = Instant::now();
    let page = browser.get(&path).await;
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    assert!(page.body.len() < 200_000, "{}", page.body.len());
    let (_, after) = page.body.split_once("Show more").unwrap();
    let (_, after) = after.split_once("href=\"").unwrap();
    let (last, _) = after.split_once('"').unwrap();
    let piece = browser.get(&last.replace("&#38;", "&")).await.body;
    assert!(piece.contains("the end\n") && !piece.contains("data-more"), "{last}");
}

/// A run of this size must open within a second.
const CALLS: u32 = 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_100_000_calls_is_scrolled() {
    let running = Running::start().await;
    running.record_calls("huge", CALLS).await;
    let browser = running.browser().await;
    let began = Instant::now();
    let page = browser.get("/runs/huge").await;
    let took = began.elapsed();
    // The limit of a second holds where the compiler optimises; here it must only not be far from that.
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert!(page.body.len() < 300_000, "{}", page.body.len());
    assert!(page.body.contains("100\u{202f}000 calls"), "{}", page.body);
    let next = page.attribute("class=\"more\"", "data-more");
    let part = browser.get(&next.replace("&#38;", "&")).await;
    // Calls that are recorded at the same time may be recorded in another order than they began in.
    let rows = |body: &str| -> Vec<String> {
        let ids = body.split("<li class=\"row\" id=\"").skip(1);
        ids.filter_map(|id| Some(id.split_once('"')?.0.to_owned())).collect()
    };
    let shown: BTreeSet<String> = rows(&page.body).into_iter().chain(rows(&part.body)).collect();
    assert_eq!((rows(&page.body).len(), shown.len()), (200, 400));
    let end = browser.get("/runs/huge?end=1").await.body;
    assert!(rows(&end).len() == 200 && end.contains("main/0/1/99"), "{end}");
}
