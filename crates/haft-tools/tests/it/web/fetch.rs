//! `web_fetch` where no extractor is configured: everything but taking pages apart.

use std::io::Write;
use std::net::TcpStream;

use expect_test::{Expect, expect};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use haft_contract::Envelope;
use haft_policy::{Rule, RuleAction};
use serde_json::json;

use super::stage::{Names, Setting, Stage, allow, shown};
use super::zoo::{Request, Zoo, lead, say};

const TEXT: &str = "Content-Type: text/plain; charset=utf-8\r\n";

fn zoo() -> Zoo {
    Zoo::open(Box::new(keeper))
}

fn keeper(request: &Request, stream: &mut TcpStream) -> std::io::Result<()> {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    match path {
        "/text" => say(stream, "200 OK", TEXT, "Grüße\n".as_bytes()),
        "/json" => say(stream, "200 OK", "Content-Type: application/json\r\n", b"{\"a\": 1}"),
        "/page" => say(stream, "200 OK", "Content-Type: text/html\r\n", b"<p>Hello"),
        "/picture" => say(stream, "200 OK", "Content-Type: image/png\r\n", &[0x89; 100]),
        "/empty" => say(stream, "204 No Content", "", b""),
        "/missing" => say(stream, "404 Not Found", TEXT, b"there is no such page here"),
        "/busy" => say(stream, "429 Too Many Requests", "Retry-After: 120\r\n", b""),
        "/gzip" => {
            say(stream, "200 OK", &format!("{TEXT}Content-Encoding: gzip\r\n"), &gzip(b"packed"))
        }
        "/deflate" => {
            let headers = format!("{TEXT}Content-Encoding: deflate\r\n");
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
            encoder.write_all(b"deflated")?;
            say(stream, "200 OK", &headers, &encoder.finish()?)
        }
        "/broken-gzip" => {
            say(stream, "200 OK", &format!("{TEXT}Content-Encoding: gzip\r\n"), b"this is not gzip")
        }
        "/bomb" => {
            let headers = format!("{TEXT}Content-Encoding: gzip\r\n");
            say(stream, "200 OK", &headers, &gzip(&vec![b'a'; 200_000_000]))
        }
        "/endless" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}\r\n")?;
            loop {
                stream.write_all(&[b'x'; 65_536])?;
            }
        }
        "/silent" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}\r\nbegun")?;
            // Until the client closes the connection.
            std::io::copy(stream, &mut std::io::sink()).map(drop)
        }
        "/mute" => std::io::copy(stream, &mut std::io::sink()).map(drop),
        "/short" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}Content-Length: 1000\r\n\r\nten bytes.")
        }
        "/long" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}Content-Length: 3\r\n\r\nabcdef")
        }
        "/bad-chunk" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}Transfer-Encoding: chunked\r\n\r\nzz\r\nabc")
        }
        "/headers" => {
            write!(stream, "HTTP/1.1 200 OK\r\n")?;
            for number in 0..10_000 {
                write!(stream, "X-{number}: {}\r\n", "y".repeat(100))?;
            }
            write!(stream, "\r\n")
        }
        "/header-line" => {
            write!(stream, "HTTP/1.1 200 OK\r\nX: ")?;
            loop {
                stream.write_all(&[b'x'; 65_536])?;
            }
        }
        "/nonsense" => stream.write_all(b"\x00\xff\x00 I do not speak HTTP \r\n\r\n"),
        "/nothing" => Ok(()),
        _ => leader(path, query, stream),
    }
}

/// Answers where a query says how, where something leads elsewhere, and where nothing is known at all.
fn leader(path: &str, query: &str, stream: &mut TcpStream) -> std::io::Result<()> {
    match path {
        "/fields" => {
            let further = query.parse::<usize>().unwrap_or_default() - 2;
            let further = "X: y\r\n".repeat(further);
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}Content-Length: 4\r\n{further}\r\ntext")
        }
        "/to" => lead(stream, "302 Found", query),
        "/far" => lead(stream, "302 Found", &format!("/{}", "a".repeat(9_000))),
        "/nowhere" => say(stream, "302 Found", "", b""),
        "/first" => lead(stream, "301 Moved Permanently", "second"),
        "/second" => lead(stream, "303 See Other", "/third?q=1#part"),
        "/third" => lead(stream, "308 Permanent Redirect", "/text#end"),
        "/circle" => lead(stream, "307 Temporary Redirect", "/circle2"),
        "/circle2" => lead(stream, "302 Found", "/circle#again"),
        "/down" => {
            let left: u32 = query.parse().unwrap_or(0);
            let next = if left == 0 { "/text".to_owned() } else { format!("/down?{}", left - 1) };
            lead(stream, "302 Found", &next)
        }
        other => say(stream, "500 Internal Server Error", TEXT, other.as_bytes()),
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Fetches paths of the zoo and compares what a model reads.
async fn check(paths: &[&str], expected: Expect) {
    let (stage, zoo) = (Stage::new(), zoo());
    let mut all = String::new();
    for path in paths {
        let text = stage.text(&zoo.url(path)).await;
        all.push_str(&format!("== {path}\n{}\n", zoo.plain(&text).trim_end()));
    }
    expected.assert_eq(&all);
}

#[tokio::test]
async fn text_is_answered_as_it_is_and_the_rest_needs_an_extractor() {
    check(
        &["/text", "/json", "/gzip", "/deflate", "/page", "/picture", "/empty"],
        expect![[r#"
            == /text
            url: http://127.0.0.1:[port]/text

            Grüße
            == /json
            url: http://127.0.0.1:[port]/json

            {"a": 1}
            == /gzip
            url: http://127.0.0.1:[port]/gzip

            packed
            == /deflate
            url: http://127.0.0.1:[port]/deflate

            deflated
            == /page
            UNAVAILABLE: http://127.0.0.1:[port]/page: text/html cannot be turned into text, because the program haft-reader is not installed. Fetch a page of plain text instead, or tell the user to install haft-reader beside haft.
            == /picture
            url: http://127.0.0.1:[port]/picture

            [image/png, 100 bytes: not text, so it is not shown]
            == /empty
            url: http://127.0.0.1:[port]/empty
            note: there is no content
        "#]],
    )
    .await;
}

#[tokio::test]
async fn the_data_of_an_answer_is_its_place_title_and_text() {
    let (stage, zoo) = (Stage::new(), zoo());
    let Envelope::Output { data, metadata } = stage.fetch(&zoo.url("/first")).await else {
        panic!("it is there");
    };
    assert_eq!(data, json!({"url": zoo.url("/text"), "title": null, "text": "Grüße\n"}));
    let connections: Vec<String> = metadata
        .connections
        .iter()
        .map(|made| format!("{} {} {}", made.host, made.admitted, made.detail))
        .collect();
    assert_eq!(connections, vec![format!("127.0.0.1 true {}", zoo.address); 4]);
}

#[tokio::test]
async fn a_request_tells_nothing_about_anybody() {
    let (stage, zoo) = (Stage::new(), zoo());
    stage.text(&zoo.url("/first#secret")).await;
    let mut requests = zoo.requests();
    assert_eq!(requests.len(), 4);
    let last = requests.pop().unwrap();
    let mut headers: Vec<_> =
        last.headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect();
    headers.sort();
    let version = env!("CARGO_PKG_VERSION");
    let text = zoo.plain(&headers.concat()).replace(version, "[version]");
    assert_eq!(last.target, "/text");
    expect![[r#"
        accept-encoding: gzip,deflate
        accept: text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, application/json;q=0.8, text/plain;q=0.8, application/pdf;q=0.7, */*;q=0.5
        host: 127.0.0.1:[port]
        user-agent: haft/[version]
    "#]]
    .assert_eq(&text);
}

#[tokio::test]
async fn statuses_are_errors_with_what_the_page_says() {
    check(&["/missing", "/busy", "/other"], expect![[r#"
        == /missing
        TOOL_FAILED: http://127.0.0.1:[port]/missing answered 404 Not Found
        there is no such page here
        == /busy
        TOOL_FAILED: http://127.0.0.1:[port]/busy answered 429 Too Many Requests; it asks to wait for 120
        == /other
        TOOL_FAILED: http://127.0.0.1:[port]/other answered 500 Internal Server Error
        /other
    "#]]).await;
}

#[tokio::test]
async fn redirects_are_followed_and_end() {
    check(
        &["/first", "/down?9", "/down?10", "/circle", "/nowhere", "/to?file:///etc/passwd", "/to?http://you:secret@127.0.0.1/", "/to?http://"],
        expect![[r#"
            == /first
            url: http://127.0.0.1:[port]/text

            Grüße
            == /down?9
            url: http://127.0.0.1:[port]/text

            Grüße
            == /down?10
            TOOL_FAILED: http://127.0.0.1:[port]/down?10 leads to more than 10 redirects, lately to http://127.0.0.1:[port]/text: call again with that URL to go on
            == /circle
            TOOL_FAILED: redirects lead in a circle: http://127.0.0.1:[port]/circle -> http://127.0.0.1:[port]/circle2 -> http://127.0.0.1:[port]/circle
            == /nowhere
            TOOL_FAILED: http://127.0.0.1:[port]/nowhere answered 302 Found without saying where to
            == /to?file:///etc/passwd
            TOOL_FAILED: http://127.0.0.1:[port]/to?file:///etc/passwd redirects to where it is not followed: expected http or https, found file
            == /to?http://you:secret@127.0.0.1/
            TOOL_FAILED: http://127.0.0.1:[port]/to?http://you:secret@127.0.0.1/ redirects to where it is not followed: it holds a user name or a password, and neither is ever sent: leave them out
            == /to?http://
            TOOL_FAILED: http://127.0.0.1:[port]/to?http:// redirects to where it is not followed: empty host
        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_redirect_is_no_longer_than_what_can_be_asked_for() {
    let (stage, zoo) = (Stage::new(), zoo());
    let text = stage.text(&zoo.url("/far")).await;
    assert!(
        text.contains("/far redirects to where it is not followed: expected at most 8192"),
        "{text}"
    );
    assert_eq!(zoo.requests().len(), 1);
}

#[tokio::test]
async fn redirects_lead_to_no_host_that_was_not_allowed() {
    let zoo = zoo();
    let rules = vec![
        allow("127.0.0.1"),
        allow("*.example.com"),
        Rule::new("net.fetch", "denied.example.com", RuleAction::Deny),
    ];
    let names = Names::of(&[
        ("inside.example.com", &["10.0.0.1"]),
        ("cloud.example.com", &["169.254.169.254"]),
        ("me.example.com", &["::ffff:127.0.0.1"]),
    ]);
    let stage = Stage::with(Setting { rules, names, ..Setting::default() });
    let mut all = String::new();
    for place in [
        "http://example.org/page",
        "http://denied.example.com/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://[::ffff:7f00:1]/",
        "http://localhost/",
        "http://inside.example.com/",
        "http://cloud.example.com./",
        "http://ME.example.com/",
        "http://me.example.com:8080/",
        "http://unknown.example.com/",
    ] {
        let text = stage.text(&zoo.url(&format!("/to?{place}"))).await;
        all.push_str(&format!("{}\n", zoo.plain(&text)));
    }
    expect![[r#"
        PERMISSION_DENIED: http://127.0.0.1:[port]/to?http://example.org/page redirects to http://example.org/page, which could not be followed: this call was not about example.org, and haft asks no person while a call runs: call with http://example.org/page (web_fetch needs approval for net.fetch of "example.org": no rule matches, and then the answer is ask; the rule `allow web_fetch "example.org"` would allow it)
        PERMISSION_DENIED: http://127.0.0.1:[port]/to?http://denied.example.com/ redirects to http://denied.example.com/, which could not be followed: web_fetch is denied net.fetch of "denied.example.com": the manifest rule `deny net.fetch "denied.example.com"` decides; what the manifest denies only the manifest can allow
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://10.0.0.1/ redirects to http://10.0.0.1/, which could not be followed: 10.0.0.1 is one of this machine or its networks, and no page may lead there
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://[::1]/ redirects to http://[::1]/, which could not be followed: ::1 is one of this machine or its networks, and no page may lead there
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://169.254.169.254/latest/meta-data/ redirects to http://169.254.169.254/latest/meta-data/, which could not be followed: 169.254.169.254 is one of this machine or its networks, and no page may lead there
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://2852039166/ redirects to http://169.254.169.254/, which could not be followed: 169.254.169.254 is one of this machine or its networks, and no page may lead there
        INVALID_INPUT: http://127.0.0.1:[port]/to?http://[::ffff:7f00:1]/ redirects to http://[::ffff:7f00:1]/, which could not be followed: its host cannot be asked: the host is an IPv4 address written as IPv6; write 127.0.0.1
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://localhost/ redirects to http://localhost/, which could not be followed: localhost is one of this machine or its networks, and no page may lead there
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://inside.example.com/ redirects to http://inside.example.com/, which could not be followed: host inside.example.com has an address that is private, and no page may lead there
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://cloud.example.com./ redirects to http://cloud.example.com./, which could not be followed: host cloud.example.com leads to the metadata service of a cloud, which no call reaches
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://ME.example.com/ redirects to http://me.example.com/, which could not be followed: host me.example.com has an address that is loopback, and no page may lead there
        CAPABILITY_DENIED: http://127.0.0.1:[port]/to?http://me.example.com:8080/ redirects to http://me.example.com:8080/, which could not be followed: port 8080 of host me.example.com is not granted to this call: a host granted by name is reachable at 80 and 443; use one of these
        UNAVAILABLE: http://127.0.0.1:[port]/to?http://unknown.example.com/ redirects to http://unknown.example.com/, which could not be followed: host unknown.example.com has no address: no such name; check the name
    "#]]
    .assert_eq(&all);
}

#[tokio::test]
async fn addresses_of_this_machine_need_to_be_named() {
    let zoo = zoo();
    let rules = vec![Rule::new("*", "*", RuleAction::Allow)];
    let names = Names::of(&[("localhost", &["127.0.0.1"]), ("evil.example.com", &["127.0.0.1"])]);
    let stage = Stage::with(Setting { rules, names, ..Setting::default() });
    let port = zoo.address.port();
    let mut all = String::new();
    for url in [
        format!("http://127.0.0.1:{port}/text"),
        "http://127.1/text".to_owned(),
        "http://0x7f000001/text".to_owned(),
        "http://localhost/text".to_owned(),
        "http://evil.example.com/text".to_owned(),
        "ftp://example.com/".to_owned(),
        "http://you:secret@example.com/".to_owned(),
        "example.com".to_owned(),
        "http://exa_mple.com/".to_owned(),
        "http://300.1.1.1/".to_owned(),
    ] {
        all.push_str(&format!("{}\n", zoo.plain(&stage.text(&url).await)));
    }
    expect![[r#"
        CAPABILITY_DENIED: http://127.0.0.1:[port]/text: host 127.0.0.1 is one of this machine or its networks, which are reached only where they are granted by name
        CAPABILITY_DENIED: http://127.0.0.1/text: host 127.0.0.1 is one of this machine or its networks, which are reached only where they are granted by name
        CAPABILITY_DENIED: http://127.0.0.1/text: host 127.0.0.1 is one of this machine or its networks, which are reached only where they are granted by name
        CAPABILITY_DENIED: http://localhost/text: host localhost is one of this machine or its networks, which are reached only where they are granted by name
        CAPABILITY_DENIED: http://evil.example.com/text: host evil.example.com is granted by name, and its address 127.0.0.1 is loopback; it is reached only if this very host is granted, and 127.0.0.1 or a range with it as well
        INVALID_INPUT: url: expected http or https, found ftp
        INVALID_INPUT: url: it holds a user name or a password, and neither is ever sent: leave them out
        INVALID_INPUT: url: relative URL without a base: expected an address such as https://example.org/page
        INVALID_INPUT: http://exa_mple.com/: its host cannot be asked: the host name has the character '_'; only a-z, 0-9, `.` and `-` are taken, and names in other scripts in their encoded form (xn--…)
        INVALID_INPUT: url: invalid IPv4 address: expected an address such as https://example.org/page
    "#]]
    .assert_eq(&all);
    assert!(zoo.requests().is_empty());
}

#[tokio::test]
async fn what_was_checked_is_what_is_connected_to() {
    let zoo = zoo();
    let rules = vec![allow("server.internal")];
    // The second answer comes too late to be believed; a third would be another host's.
    let names = Names::of(&[("server.internal", &["127.0.0.1", "10.255.255.1"])]);
    let stage = Stage::with(Setting { rules, names, ..Setting::default() });
    let url = format!("http://server.internal:{}/text", zoo.address.port());
    let envelope = stage.fetch(&url).await;
    assert_eq!(envelope.text(), format!("url: {url}\n\nGrüße\n"));
    let [made] = envelope.metadata().connections.as_slice() else { panic!("there is one") };
    assert_eq!(made.detail, zoo.address.to_string());
    // A name that changes its mind between two requests is checked with each of them.
    let names = Names::of(&[("turning.example.com", &["10.0.0.1", "127.0.0.1"])]);
    let rules = vec![allow("*")];
    let stage = Stage::with(Setting { rules, names, ..Setting::default() });
    let first = stage.text("http://turning.example.com/").await;
    let second = stage.text("http://turning.example.com/").await;
    expect![[r#"
        CAPABILITY_DENIED: http://turning.example.com/: host turning.example.com is granted by name, and its address 10.0.0.1 is private; it is reached only if this very host is granted, and 10.0.0.1 or a range with it as well
        CAPABILITY_DENIED: http://turning.example.com/: host turning.example.com is granted by name, and its address 127.0.0.1 is loopback; it is reached only if this very host is granted, and 127.0.0.1 or a range with it as well
    "#]].assert_eq(&format!("{first}\n{second}\n"));
}

#[tokio::test]
async fn what_rules_do_not_allow_is_not_asked_for() {
    let zoo = zoo();
    let check = async |rules: Vec<Rule>, expected: Expect| {
        let stage = Stage::with(Setting { rules, ..Setting::default() });
        let text = zoo.plain(&stage.text(&zoo.url("/text")).await);
        expected.assert_eq(&text);
    };
    check(vec![], expect![[r#"PERMISSION_DENIED: no person can be asked here, so the call is denied: web_fetch needs approval for net.fetch of "127.0.0.1": no rule matches, and then the answer is ask; the rule `allow web_fetch "127.0.0.1"` would allow it"#]]).await;
    check(vec![Rule::new("net.fetch", "*", RuleAction::Deny)], expect![[r#"PERMISSION_DENIED: web_fetch is denied net.fetch of "127.0.0.1": the manifest rule `deny net.fetch "*"` decides; what the manifest denies only the manifest can allow"#]]).await;
    check(vec![Rule::new("web_fetch", "127.0.0.1", RuleAction::Ask)], expect![[r#"PERMISSION_DENIED: no person can be asked here, so the call is denied: web_fetch needs approval for net.fetch of "127.0.0.1": the manifest rule `ask web_fetch "127.0.0.1"` decides; the rule `allow web_fetch "127.0.0.1"` would allow it"#]]).await;
    assert!(zoo.requests().is_empty());
}

#[tokio::test]
async fn answers_that_break_off_or_make_no_sense_are_errors() {
    check(
        &[
            "/short",
            "/long",
            "/bad-chunk",
            "/headers",
            "/header-line",
            "/nonsense",
            "/nothing",
            "/broken-gzip",
        ],
        expect![[r#"
            == /short
            UNAVAILABLE: http://127.0.0.1:[port]/short: the content ended early or cannot be read: end of file before message length reached
            == /long
            url: http://127.0.0.1:[port]/long

            abc
            == /bad-chunk
            UNAVAILABLE: http://127.0.0.1:[port]/bad-chunk: the content ended early or cannot be read: Invalid chunk size line: missing size digit
            == /headers
            UNAVAILABLE: http://127.0.0.1:[port]/headers: 127.0.0.1 port [port] gave no answer: message head is too large
            == /header-line
            UNAVAILABLE: http://127.0.0.1:[port]/header-line: 127.0.0.1 port [port] gave no answer: message head is too large
            == /nonsense
            UNAVAILABLE: http://127.0.0.1:[port]/nonsense: 127.0.0.1 port [port] gave no answer: invalid HTTP version parsed
            == /nothing
            UNAVAILABLE: http://127.0.0.1:[port]/nothing: 127.0.0.1 port [port] gave no answer: connection closed before message completed
            == /broken-gzip
            UNAVAILABLE: http://127.0.0.1:[port]/broken-gzip: the content ended early or cannot be read: Invalid gzip header
        "#]],
    )
    .await;
}

#[tokio::test]
async fn nobody_listens_at_a_port_that_was_closed() {
    let address = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let text = Stage::new().text(&format!("http://{address}/")).await;
    expect!["UNAVAILABLE: http://127.0.0.1:[port]/: cannot connect to 127.0.0.1 port [port]: Connection refused (os error 111)"].assert_eq(&text.replace(&address.port().to_string(), "[port]"));
}

#[tokio::test]
async fn what_never_ends_is_cut_also_when_it_was_small_on_the_way() {
    let zoo = zoo();
    for path in ["/endless", "/bomb"] {
        let stage = Stage::new();
        let envelope = stage.fetch(&zoo.url(path)).await;
        let Envelope::Output { data, metadata } = &envelope else { panic!("{}", shown(&envelope)) };
        assert!(metadata.truncated, "{path}");
        assert_eq!(metadata.output_lost, None, "{path}");
        assert_eq!(data["head"].as_str().unwrap().len(), 200_000, "{path}");
        assert_eq!(data["notes"], json!(["only the first 10000000 bytes were read"]), "{path}");
        let kept = std::fs::read(metadata.output_path.as_deref().unwrap()).unwrap();
        assert_eq!(kept.len(), 10_000_000, "{path}");
    }
}

#[tokio::test]
async fn text_over_the_output_limit_is_cut_and_the_rest_kept() {
    let rules = vec![allow("127.0.0.1")];
    let stage = Stage::with(Setting { rules, output_bytes: Some(4), ..Setting::default() });
    let zoo = zoo();
    let envelope = stage.fetch(&zoo.url("/text")).await;
    let Envelope::Output { data, metadata } = &envelope else { panic!("{}", shown(&envelope)) };
    assert_eq!(*data, json!({"url": zoo.url("/text"), "title": null, "head": "Grü"}));
    let kept = metadata.output_path.clone().unwrap();
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "Grüße\n");
    let text = zoo.plain(&envelope.text()).replace(&kept, "[sidecar]");
    expect![[r#"
        url: http://127.0.0.1:[port]/text

        Grü
        [4 bytes left out; all of it: [sidecar] (read it with byte_offset=4)]"#]]
    .assert_eq(&text);
}

#[tokio::test]
async fn a_call_ends_when_its_time_is_up_or_its_caller_gives_up() {
    let (stage, zoo) = (Stage::new(), zoo());
    for path in ["/silent", "/mute"] {
        let session = stage.session("s1");
        let run = session.run(haft_contract::RunId::parse("r1").unwrap());
        let mut call = haft::Call::new("web_fetch", json!({ "url": zoo.url(path) }));
        call.timeout_ms = Some(300);
        let text = shown(&run.call(call).await.unwrap());
        assert!(text.starts_with("TOOL_TIMEOUT: "), "{text}");
        let call = haft::Call::new("web_fetch", json!({ "url": zoo.url(path) }));
        let cancellation = call.cancellation.clone();
        let calling = run.call(call);
        let cancelling = async {
            while zoo.requests().iter().filter(|request| request.target == path).count() < 2 {
                tokio::task::yield_now().await;
            }
            cancellation.cancel();
        };
        let (envelope, ()) = tokio::join!(calling, cancelling);
        let text = shown(&envelope.unwrap());
        assert!(text.starts_with("PROCESS_ABORTED: "), "{text}");
    }
}

#[tokio::test]
async fn an_answer_has_no_more_header_fields_than_it_may() {
    const NET_HEADERS_MAX: usize = 200;
    let fields = |count: usize| format!("/fields?{count}");
    check(
        &[&fields(NET_HEADERS_MAX), &fields(NET_HEADERS_MAX + 1)],
        expect![[r#"
            == /fields?200
            url: http://127.0.0.1:[port]/fields?200

            text
            == /fields?201
            UNAVAILABLE: http://127.0.0.1:[port]/fields?201: 127.0.0.1 port [port] gave no answer: message head is too large
        "#]],
    )
    .await;
}
