//! Real clients: curl and Python's urllib, with a proxy from their environment or their arguments.
//! Both must be installed.

use std::process::Output;

use expect_test::{Expect, expect};
use haft_sandbox::proxy::EgressDecision::AnyAddress;
use haft_sandbox::proxy::{ProxyConnections, ProxyProtocol};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use super::world::{World, answering, read_head, serve};

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";

/// Runs a client; `PROXY` stands for the proxy and `SERVER` for a granted server.
async fn run(program: &str, args: &[&str], server: u16) -> (Output, ProxyConnections) {
    let world = World::new(&[("a.test", AnyAddress)]);
    let put_in = |text: &str| {
        text.replace("PROXY", &world.address.to_string())
            .replace("SERVER", &format!("a.test:{server}"))
    };
    let output = Command::new(program)
        .args(args.iter().map(|arg| put_in(arg)))
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("http_proxy", put_in("http://PROXY"))
        .env("https_proxy", put_in("http://PROXY"))
        .output()
        .await;
    let output = output.unwrap_or_else(|err| panic!("cannot run {program}; install it: {err}"));
    (output, world.finish().await)
}

/// Prints how curl ended, its output, and the protocols that it used.
async fn curl(args: &[&str], server: u16, expect: Expect) {
    let quiet = ["--disable", "--silent", "--show-error", "--noproxy", ""];
    let (output, connections) = run("curl", &[&quiet, args].concat(), server).await;
    let protocols: Vec<ProxyProtocol> =
        connections.recorded.iter().map(|connection| connection.protocol).collect();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    expect.assert_eq(&format!("{:?} {protocols:?}\n{text}", output.status.code().unwrap()));
}

#[tokio::test]
async fn curl_fetches_over_every_protocol() {
    let server = answering(HELLO).await.port();
    let url = "http://SERVER/";
    curl(
        &[url],
        server,
        expect![[r#"
        0 [Http]
        hello
    "#]],
    )
    .await;
    curl(
        &["--proxytunnel", url],
        server,
        expect![[r#"
        0 [Connect]
        hello
    "#]],
    )
    .await;
    curl(
        &["--socks5-hostname", "PROXY", url],
        server,
        expect![[r#"
        0 [Socks5]
        hello
    "#]],
    )
    .await;
    curl(
        &[url, url],
        server,
        expect![[r#"
        0 [Http, Http]
        hello
        hello
    "#]],
    )
    .await;
}

#[tokio::test]
async fn curl_is_told_of_a_refusal() {
    let server = answering(HELLO).await.port();
    curl(&["http://other.test/"], server, expect![[r#"
        0 [Http]
        host other.test is not granted to this call; the user can grant it, or the tool can declare it in requires.net.hosts
    "#]]).await;
    curl(
        &["https://other.test/"],
        server,
        expect![[r#"
        56 [Connect]
        curl: (56) CONNECT tunnel failed, response 403
    "#]],
    )
    .await;
    let (output, _) =
        run("curl", &["--disable", "--socks5-hostname", "PROXY", "http://o.test/"], 1).await;
    // CURLE_PROXY.
    assert_eq!(output.status.code(), Some(97));
}

#[tokio::test]
async fn curl_sends_bodies() {
    let server = serve(|mut stream| async move {
        let head = read_head(&mut stream).await;
        if head.contains("Expect: 100-continue") {
            stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").await.unwrap();
        }
        let body = if head.contains("Transfer-Encoding: chunked") {
            let mut body = String::new();
            while !body.ends_with("0\r\n\r\n") {
                body.push_str(&read_head(&mut stream).await);
            }
            body
        } else {
            let mut body = [0; 5];
            tokio::io::AsyncReadExt::read_exact(&mut stream, &mut body).await.unwrap();
            String::from_utf8(body.to_vec()).unwrap()
        };
        let answer = format!("HTTP/1.1 200 OK\r\n\r\n{body:?}\n");
        stream.write_all(answer.as_bytes()).await.unwrap();
    })
    .await
    .port();
    let url = "http://SERVER/";
    curl(
        &["--data", "hello", url],
        server,
        expect![[r#"
        0 [Http]
        "hello"
    "#]],
    )
    .await;
    let chunked = ["--header", "Transfer-Encoding: chunked", "--data", "hello", url];
    curl(
        &chunked,
        server,
        expect![[r#"
        0 [Http]
        "5\r\nhello\r\n0\r\n\r\n"
    "#]],
    )
    .await;
    let waiting = ["--header", "Expect: 100-continue", "--data", "hello", url];
    curl(
        &waiting,
        server,
        expect![[r#"
        0 [Http]
        "hello"
    "#]],
    )
    .await;
}

#[tokio::test]
async fn urllib_fetches_and_is_told_of_a_refusal() {
    const SCRIPT: &str = r#"
import sys, urllib.error, urllib.request
for url in sys.argv[1:]:
    try:
        print(urllib.request.urlopen(url).read())
    except OSError as error:
        print(error)
"#;
    let server = answering(HELLO).await.port();
    let args = ["-I", "-c", SCRIPT, "http://SERVER/", "http://other.test/", "https://other.test/"];
    let (output, connections) = run("python3", &args, server).await;
    assert_eq!((connections.admitted, connections.refused), (1, 2));
    expect![[r#"
        b'hello\n'
        HTTP Error 403: host other.test is not granted to this call; the user can grant it, or the tool can declare it in requires.net.hosts
        <urlopen error Tunnel connection failed: 403 host other.test is not granted to this call; the user can grant it, or the tool can declare it in requires.net.hosts>
    "#]].assert_eq(&String::from_utf8([output.stdout, output.stderr].concat()).unwrap());
}
