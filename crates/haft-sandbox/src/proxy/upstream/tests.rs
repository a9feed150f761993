//! Proxies as users write them, and connections through one.

use tokio::net::TcpListener;

use super::*;

fn parse(url: &str) -> Option<(String, u16, Option<String>)> {
    let proxy = UpstreamProxy::parse(url, "").ok()?;
    Some((proxy.host().to_owned(), proxy.port(), proxy.authorization().map(str::to_owned)))
}

#[test]
fn urls_of_proxies() {
    let check = |url: &str, expect: Option<(&str, u16, Option<&str>)>| {
        let expect = expect.map(|(host, port, authorization)| {
            (host.to_owned(), port, authorization.map(str::to_owned))
        });
        assert_eq!(parse(url), expect, "{url}");
    };
    check("http://proxy:3128", Some(("proxy", 3128, None)));
    check("proxy:3128/", Some(("proxy", 3128, None)));
    check("http://proxy", Some(("proxy", 80, None)));
    check("http://[::1]:8080", Some(("::1", 8080, None)));
    check("http://[::1]", Some(("::1", 80, None)));
    check("http://you:p%40ss@proxy:1", Some(("proxy", 1, Some("Basic eW91OnBAc3M="))));
    check("http://a@proxy:1", Some(("proxy", 1, Some("Basic YTo="))));
    for url in
        ["", "https://proxy", "socks5://proxy:1", "http://", "http://proxy:x", "http://a b:1"]
    {
        check(url, None);
    }
}

#[test]
fn hosts_that_are_reached_directly() {
    let proxy =
        UpstreamProxy::parse("http://proxy:1", "localhost, .corp.example,direct.org").unwrap();
    for direct in ["localhost", "corp.example", "db.corp.example", "direct.org", "a.direct.org"] {
        assert!(!proxy.serves(direct), "{direct}");
    }
    for served in ["example.org", "notdirect.org", "corp.example.org"] {
        assert!(proxy.serves(served), "{served}");
    }
    assert!(!UpstreamProxy::parse("http://proxy:1", "*").unwrap().serves("example.org"));
}

#[tokio::test]
async fn a_connection_is_asked_for_with_the_password_and_no_error_repeats_it() {
    let answers = ["HTTP/1.1 200 Connection established\r\n\r\nhello", "HTTP/1.1 407 No\r\n\r\n"];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let serving = tokio::spawn(async move {
        let mut asked = Vec::new();
        for answer in answers {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = vec![0; 4096];
            let count = stream.read(&mut request).await.unwrap();
            asked.push(String::from_utf8_lossy(&request[..count]).into_owned());
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
        asked
    });
    let proxy = UpstreamProxy::parse(&format!("http://you:secret@127.0.0.1:{port}"), "").unwrap();
    let host = Host::parse("example.org").unwrap();
    let (mut stream, _) = proxy.connect(&host, 443).await.unwrap();
    let mut greeting = [0; 5];
    stream.read_exact(&mut greeting).await.unwrap();
    assert_eq!(&greeting, b"hello", "the tunnel begins after the answer");
    let refused = proxy.connect(&host, 443).await.unwrap_err();
    assert_eq!(refused, "the proxy of this machine refused it with status \"407\"");
    let asked = serving.await.unwrap();
    let expected = "CONNECT example.org:443 HTTP/1.1\r\nHost: example.org:443\r\nProxy-Authorization: Basic \
                    eW91OnNlY3JldA==\r\n\r\n";
    assert_eq!(asked, [expected, expected]);
}
