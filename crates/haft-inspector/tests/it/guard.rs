//! Attacks on the inspector, one for each point of its guard.

use std::time::Duration;

use haft_contract::{AttemptAddress, CallAddress, CallKey, Effect, RunId};
use haft_journal::{AskJournal as _, Journal as _, LeaseOwner, LeaseRequest, NewRun, PlannedCall};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::running::{Browser, Running, send};

/// Pages and streams, each with its method.
const PLACES: [(&str, &str); 12] = [
    ("GET", "/asks"),
    ("GET", "/asks/ask_1"),
    ("POST", "/asks/ask_1/answer"),
    ("GET", "/runs"),
    ("GET", "/doubts"),
    ("GET", "/sessions"),
    ("GET", "/plans"),
    ("GET", "/permissions"),
    ("GET", "/events"),
    ("POST", "/doubts/settle"),
    ("POST", "/undo"),
    ("POST", "/permissions/add"),
];

async fn check_refused(browser: &Browser, headers: &str, expect: u16) {
    for (method, path) in PLACES {
        let origin = match headers.contains("Origin: ") {
            true => String::new(),
            false => format!("Origin: http://{}\r\n", browser.address),
        };
        let cookie = format!("{}Cookie: {}\r\n{headers}", origin, browser.cookie);
        let answer = send(browser.address, method, path, &cookie, "").await;
        assert_eq!(answer.status, expect, "{method} {path} {headers}: {}", answer.body);
        assert!(!answer.body.contains("<main"), "{method} {path} {headers}: {}", answer.body);
    }
}

#[tokio::test]
async fn foreign_pages_get_nothing() {
    let running = Running::start().await;
    let browser = running.browser().await;
    check_refused(&browser, "Origin: http://evil.example\r\n", 403).await;
    check_refused(&browser, "Origin: null\r\n", 403).await;
    // Another program of this machine, on another port, whose page the browser sends the cookie for.
    check_refused(&browser, "Origin: http://127.0.0.1:1\r\n", 403).await;
    check_refused(&browser, "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\n", 403).await;
    check_refused(&browser, "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n", 403).await;
    // A name that an attacker lets resolve to this machine.
    check_refused(&browser, "Host: evil.example\r\nOrigin: http://evil.example\r\n", 403).await;
    check_refused(&browser, "Host: 127.0.0.1.nip.io\r\n", 403).await;
    for frame in ["iframe", "frame", "embed", "object"] {
        let headers = format!(
            "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: {frame}\r\n"
        );
        check_refused(&browser, &headers, 403).await;
    }
}

#[tokio::test]
async fn a_browser_without_a_login_gets_the_same_page_everywhere() {
    let running = Running::start().await;
    running.call("secret-run", "glob", json!({"pattern": "*"})).await;
    let welcome = send(running.address, "GET", "/", "", "").await;
    assert_eq!(welcome.status, 401);
    for cookie in ["", "Cookie: haft_browser_1=00\r\n", "Cookie: a\r\n"] {
        for path in ["/runs", "/runs/secret-run", "/events", "/calls/secret-run/main/0/1/1", "/x"] {
            let answer = send(running.address, "GET", path, cookie, "").await;
            assert_eq!((answer.status, &answer.body), (401, &welcome.body), "{path}");
        }
    }
    let browser = running.browser().await;
    // A link on another page: the browser gets the same page, which says nothing about the journal.
    let link =
        "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
    let headers = format!("Cookie: {}\r\n{link}", browser.cookie);
    let answer = send(running.address, "GET", "/runs", &headers, "").await;
    assert_eq!((answer.status, &answer.body), (401, &welcome.body));
    // The cookie of an inspector on another port is not this one's.
    let value = browser.cookie.split_once('=').unwrap().1;
    let other = format!("Cookie: haft_browser_1={value}\r\n");
    assert_eq!(send(running.address, "GET", "/runs", &other, "").await.status, 401);
    let origin = format!("Origin: http://{}\r\n", running.address);
    for path in ["/undo", "/tab", "/doubts/settle"] {
        assert_eq!(send(running.address, "POST", path, &origin, "").await.status, 401, "{path}");
    }
    let again = send(running.address, "POST", "/login", &origin, "wrong").await;
    assert_eq!(again.status, 401);
    let link = running.link();
    assert_eq!(send(running.address, "POST", "/login", &origin, &link).await.status, 200);
    assert_eq!(send(running.address, "POST", "/login", &origin, &link).await.status, 401);
    let foreign = "Origin: http://evil.example\r\n";
    let link = running.link();
    assert_eq!(send(running.address, "POST", "/login", foreign, &link).await.status, 403);
    assert_eq!(send(running.address, "POST", "/login", &origin, &link).await.status, 200);
}

#[tokio::test]
async fn every_answer_keeps_other_sites_out() {
    let running = Running::start().await;
    let browser = running.browser().await;
    for path in ["/runs", "/nowhere", "/assets/haft.js", "/events"] {
        let head = if path == "/events" {
            stream_head(&browser).await
        } else {
            browser.get(path).await.head
        };
        let head = head.to_lowercase();
        for expect in [
            "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self';",
            "frame-ancestors 'none'",
            "x-frame-options: deny",
            "x-content-type-options: nosniff",
            "referrer-policy: no-referrer",
            "cross-origin-opener-policy: same-origin",
            "cross-origin-resource-policy: same-origin",
            "cache-control: no-store",
        ] {
            assert!(head.contains(expect), "{path}: {expect} in {head}");
        }
        assert!(!head.contains("unsafe-inline"), "{head}");
        assert!(!head.contains("access-control-allow"), "{head}");
    }
}

async fn stream_head(browser: &Browser) -> String {
    let mut stream = TcpStream::connect(browser.address).await.unwrap();
    let request = format!(
        "GET /events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        browser.address, browser.cookie
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    let mut part = [0; 4096];
    while !head.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        let read = stream.read(&mut part).await.unwrap();
        assert!(read > 0);
        head.extend_from_slice(&part[..read]);
    }
    String::from_utf8(head).unwrap()
}

/// Records a call whose process died, so that it is in doubt.
async fn record_doubt(running: &Running, run: &str, input: &str) -> CallAddress {
    let journal = running.journal();
    let run = NewRun {
        id: RunId::parse(run).unwrap(),
        front_end: "cli".to_owned(),
        root: running.work().to_string_lossy().into_owned(),
        started_at_ms: 1_000,
        version: "0.1.0".to_owned(),
        settings: "{}".to_owned(),
    };
    let scope = AttemptAddress::first_of_run(run.id.clone());
    let owner = LeaseOwner { id: "4f1c".to_owned(), location: "process 12 on box".to_owned() };
    let lease =
        journal.open_run(run, LeaseRequest { owner, now_ms: 1_000, lasts_ms: 1 }).await.unwrap();
    let key = CallKey::of_first_call(&scope, "order", input);
    let call = PlannedCall {
        id: CallAddress { scope: scope.clone(), seq: 1 },
        fencing_token: lease.fencing_token,
        tool: "order".to_owned(),
        effect: Effect::Once,
        first_key: key,
        call_key: key,
        input: input.to_owned(),
        accesses: "[]".to_owned(),
        driver_call_id: None,
        started_at_ms: 1_001,
        announces_effects: false,
    };
    // The process dies while the call runs.
    drop(journal.intend(call).await.unwrap());
    journal.close_run(lease).await.unwrap();
    CallAddress { scope, seq: 1 }
}

#[tokio::test]
async fn a_change_needs_the_tab_and_a_nonce_for_what_was_shown() {
    let running = Running::start().await;
    let call = record_doubt(&running, "r", r#"{"sku":"milk"}"#).await;
    let other = record_doubt(&running, "s", r#"{"sku":"tea"}"#).await;
    let browser = running.browser().await;
    let form = format!("call={call}&verdict=not_happened");
    let path = "/doubts/settle";
    // Another program on this machine gets the cookie, and not the secret of the tab.
    let of_other = running.browser().await;
    let thief = Browser { tab: of_other.secret.clone(), ..of_other };
    let stolen = thief.get("/doubts?run=r").await.attribute("<form method=\"post\"", "data-nonce");
    assert_eq!(thief.post(path, &stolen, &form).await.status, 409);
    let fresh = async || {
        browser.get("/doubts?run=r").await.attribute("<form method=\"post\"", "data-nonce")
    };
    // A nonce of another browser, of another call, and none.
    assert_eq!(browser.post(path, &stolen, &form).await.status, 409);
    let second = format!("call={other}&verdict=not_happened");
    assert_eq!(browser.post(path, &fresh().await, &second).await.status, 409);
    assert_eq!(browser.post(path, "", &form).await.status, 409);
    // The same call, once: the page leads on, and the nonce is used up.
    let used = fresh().await;
    assert_eq!(fresh().await, used, "a page that is shown again takes no number from the first");
    let in_other = running.browser().await;
    let old = in_other.get("/doubts?run=r").await.attribute("<form method=\"post\"", "data-nonce");
    let answer = browser.post(path, &used, &form).await;
    assert_eq!((answer.status, answer.header("haft-next")), (204, Some("/calls/r/main/0/1/1")));
    assert_eq!(browser.post(path, &used, &form).await.status, 409);
    // The row has changed since this page showed it.
    let answer = in_other.post(path, &old, &form).await;
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("has changed since"), "{}", answer.body);
    assert!(
        browser.get("/calls/r/main/0/1/1").await.body.contains("not happened, by the operator")
    );
    assert!(browser.get("/doubts").await.body.contains("s/main/0/1/1"));
}

#[tokio::test]
async fn hostile_texts_stay_texts() {
    let running = Running::start().await;
    let name = "<img src=x onerror=alert(1)>\"'&.txt";
    let bidi = "gpj.\u{202e}exe";
    running
        .call("r", "write", json!({"path": name, "content": "<script>alert(2)</script>\n"}))
        .await;
    running.call("r", "write", json!({"path": bidi, "content": "x\n"})).await;
    running.call("r", "read", json!({"path": name})).await;
    running.call("r", "glob", json!({"pattern": "</pre><script>alert(3)</script>*"})).await;
    let browser = running.browser().await;
    for path in [
        "/runs",
        "/runs?text=%3Cscript%3E&root=%22%3E%3Cscript%3Ealert(4)%3C/script%3E",
        "/runs/r",
        "/runs/r?view=tree",
        "/calls/r/main/0/1/1",
        "/calls/r/main/0/1/2",
        "/calls/r/main/0/1/3",
        "/calls/r/main/0/1/4",
        "/changes?run=r",
        "/runs/%3Cscript%3E",
        "/permissions?tool=%3Cscript%3Ealert(5)%3C/script%3E&permission=%22%3E%3Cscript%3E",
    ] {
        let body = browser.get(path).await.body;
        for bad in ["<img src=x", "<script>alert", "\"><script", "</pre><script", "\u{202e}"] {
            assert!(!body.contains(bad), "{path}: {bad} in {body}");
        }
    }
    let call = browser.get("/calls/r/main/0/1/3").await.body;
    assert!(call.contains("&#60;script&#62;alert(2)&#60;/script&#62;"), "{call}");
    assert!(browser.get("/calls/r/main/0/1/2").await.body.contains("gpj.\\u{202e}exe"));
}

#[tokio::test]
async fn colours_of_an_output_show_and_its_orders_do_not() {
    let running = Running::start().await;
    let output = "\u{1b}[31mred\u{1b}[0m \u{1b}[2J\u{1b}]8;;http://evil.example\u{7}link";
    let call = running.record_output(output, None).await;
    let body = running.browser().await.get(&call).await.body;
    assert!(body.contains("<span class=\"f1\">red</span> link"), "{body}");
    assert!(!body.contains("evil.example"), "{body}");
    assert!(!body.contains('\u{1b}'), "{body}");
}

#[tokio::test]
async fn slow_clients_do_not_keep_others_waiting() {
    let running = Running::start().await;
    let browser = running.browser().await;
    let mut slow = Vec::new();
    for _ in 0..200 {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(b"GET /runs HTTP/1.1\r\nHost: ").await.unwrap();
        slow.push(stream);
    }
    let answer = tokio::time::timeout(Duration::from_secs(5), browser.get("/runs")).await.unwrap();
    assert_eq!(answer.status, 200);
}

#[tokio::test]
async fn only_so_many_pages_are_followed() {
    let running = Running::start().await;
    let browser = running.browser().await;
    let mut open = Vec::new();
    for _ in 0..haft_inspector::limits::STREAMS_MAX {
        let mut stream = TcpStream::connect(browser.address).await.unwrap();
        let request = format!(
            "GET /events HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            browser.address, browser.cookie
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut head = [0; 8];
        stream.read_exact(&mut head).await.unwrap();
        open.push(stream);
    }
    let answer = browser.get("/events").await;
    assert_eq!(answer.status, 409, "{}", answer.body);
    assert_eq!(browser.get("/runs").await.status, 200);
}

#[tokio::test]
async fn an_answer_is_about_the_card_that_was_shown() {
    let running = Running::start().await;
    let file = running.work().join("a.txt");
    std::fs::write(&file, "old\n").unwrap();
    let input = json!({"path": "a.txt", "content": "new\n"});
    running.record_ask("ask_1", "r1", "write", &input).await;
    running.record_ask("ask_2", "r2", "bash", &json!({"cmd": "ls"})).await;
    let browser = running.browser().await;
    let page = browser.get("/asks").await;
    assert!(page.body.contains("<span class=\"del\">-old</span>"), "{}", page.body);
    assert!(page.body.find("ask_1").unwrap() < page.body.find("ask_2").unwrap(), "oldest first");
    let nonce = async |of: &Browser, ask: &str| {
        of.get(&format!("/asks/{ask}")).await.attribute("<form method=\"post\"", "data-nonce")
    };
    let path = "/asks/ask_1/answer";
    let post =
        async |of: &Browser, nonce: &str, form: &str| of.post(path, nonce, form).await.status;
    // The card of another ask, no card, no such answer, an input that is none.
    let foreign = nonce(&browser, "ask_2").await;
    assert_eq!(post(&browser, &foreign, "verdict=once").await, 409);
    assert_eq!(post(&browser, "", "verdict=once").await, 409);
    let own = nonce(&browser, "ask_1").await;
    assert_eq!(post(&browser, &own, "verdict=yes").await, 400);
    assert_eq!(post(&browser, &own, "verdict=edited&input=rm").await, 400);
    assert_eq!(post(&browser, &own, "verdict=edited&input=%5B%5D").await, 400);
    let long = "x".repeat(4_001);
    assert_eq!(post(&browser, &own, &format!("verdict=once&words={long}")).await, 400);
    // Another program of this machine that collected the cookie has no tab.
    let thief = Browser { tab: browser.secret.clone(), ..running.browser().await };
    let stolen = nonce(&thief, "ask_1").await;
    assert_eq!(post(&thief, &stolen, "verdict=once").await, 409);
    // The file behind the card changes after it was shown.
    std::fs::write(&file, "other\n").unwrap();
    let answer = browser.post(path, &own, "verdict=once").await;
    assert_eq!(answer.status, 409);
    assert!(answer.body.contains("has changed since"), "{}", answer.body);
    // The content that is shown now is answered, once.
    let own = nonce(&browser, "ask_1").await;
    let late = nonce(&running.browser().await, "ask_1").await;
    let answer = browser.post(path, &own, "verdict=reject&words=not+so").await;
    let next = (answer.status, answer.header("haft-next"));
    assert_eq!(next, (204, Some("/asks/ask_1")), "{}", answer.body);
    for nonce in [own, late] {
        let answer = browser.post(path, &nonce, "verdict=once").await;
        assert_eq!(answer.status, 409);
        assert!(answer.body.contains("through inspector"), "{}", answer.body);
    }
    let page = browser.get("/asks/ask_1").await.body;
    assert!(page.contains("Rejected by") && page.contains("not so"), "{page}");
    assert!(!page.contains("data-nonce"), "{page}");
}

#[tokio::test]
async fn a_card_whose_content_was_exchanged_is_not_shown() {
    let running = Running::start().await;
    running.record_ask("ask_1", "r1", "bash", &json!({"cmd": "ls"})).await;
    running.exchange_contents("\"ls\"", "\"id\"");
    let browser = running.browser().await;
    let page = browser.get("/asks/ask_1").await;
    assert_eq!(page.status, 500, "{}", page.body);
    assert!(!page.body.contains("data-nonce"), "{}", page.body);
}

#[tokio::test]
async fn a_question_is_answered_with_a_choice_or_words() {
    let running = Running::start().await;
    let questions = json!({"kind": "question", "questions": [
        {"question": "Which <server>?", "options": [{"label": "staging"}, {"label": "live", "description": "careful"}]},
        {"question": "Which tests?", "multi_select": true, "options": [{"label": "unit"}, {"label": "slow"}]},
    ]});
    running.record_ask_with("ask_1", ("r1", "question"), questions).await;
    running
        .record_ask_with("ask_2", ("r2", "bash"), json!({"kind": "tool", "input": {"cmd": "ls"}}))
        .await;
    let browser = running.browser().await;
    let page = browser.get("/asks/ask_1").await;
    for shown in ["question asks you", "Which &#60;server&#62;?", "careful", "Leave unanswered"] {
        assert!(page.body.contains(shown), "{shown} in {}", page.body);
    }
    assert!(!page.body.contains("Allow once") && !page.body.contains("Edit the input"));
    let nonce = async |ask: &str| {
        browser.get(&format!("/asks/{ask}")).await.attribute("<form method=\"post\"", "data-nonce")
    };
    let post = async |form: &str| {
        let nonce = nonce("ask_1").await;
        browser.post("/asks/ask_1/answer", &nonce, form).await
    };
    // A permission is no answer, and neither is an empty form.
    for form in ["verdict=once", "verdict=answer", "verdict=answer&question0=7"] {
        let answer = post(form).await;
        assert_eq!(answer.status, 400, "{form}: {}", answer.body);
    }
    let form = "verdict=answer&question0=1&question1=0&question1=1&question1-own=and+mine";
    assert_eq!(post(form).await.status, 204);
    let journal = running.journal();
    let (ask, answers) = journal.receive_answer("ask_1", 1).await.unwrap();
    assert_eq!(answers.as_deref(), Some(r#"[["live"],["unit","slow","and mine"]]"#));
    assert_eq!(ask.answer.unwrap().through, "inspector");
    let page = browser.get("/asks/ask_1").await.body;
    assert!(page.contains("Answered by"), "{page}");
    // The question about a tool has no input to edit.
    let page = browser.get("/asks/ask_2").await.body;
    assert!(page.contains("May the plan call bash?") && !page.contains("Edit the input"), "{page}");
    let nonce = nonce("ask_2").await;
    let edited = "verdict=edited&input=%7B%7D";
    assert_eq!(browser.post("/asks/ask_2/answer", &nonce, edited).await.status, 400);
}
