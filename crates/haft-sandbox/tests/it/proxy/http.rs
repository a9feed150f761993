//! Plain HTTP: the request that the server receives, the response, and that a connection carries
//! only one request.

use expect_test::{Expect, expect};
use haft_sandbox::proxy::EgressDecision::AnyAddress;
use haft_sandbox::proxy::{ProxyConnections, ProxyOutcome, ProxyProtocol};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedSender;

use super::world::{World, answering, closed, read_all, read_head, serve};

/// Sends a request to a server with a fixed answer, and prints the response. Lines end with CR LF
/// on the wire.
async fn check(answer: &'static str, request: &str, expect: Expect) -> ProxyConnections {
    let server = answering(answer).await;
    let world = World::new(&[("http.test", AnyAddress)]);
    let request = request.replace("{port}", &server.port().to_string()).replace('\n', "\r\n");
    let response = world.ask(request.as_bytes()).await;
    expect.assert_eq(&response.replace(&server.port().to_string(), "{port}").replace("\r\n", "\n"));
    world.finish().await
}

#[tokio::test]
async fn a_request_arrives_in_the_form_that_servers_take() {
    let connections = check(
        "HTTP/1.1 200 OK\r\nServer: test\r\nKeep-Alive: timeout=5\r\n\r\n{}",
        "GET http://HTTP.test:{port}/a?b HTTP/1.1\nHost: elsewhere\nProxy-Connection: keep-alive\nX: y\n\n",
        expect![[r#"
            HTTP/1.1 200 OK
            Server: test
            Connection: close

            GET /a?b HTTP/1.1
            Host: http.test:{port}
            X: y
            Connection: close

        "#]],
    )
    .await;
    let [entry] = connections.recorded.as_slice() else { panic!("{connections:?}") };
    assert_eq!((entry.host.as_str(), entry.protocol), ("http.test", ProxyProtocol::Http));
    assert!(matches!(entry.outcome, ProxyOutcome::Admitted { .. }));
    assert!(entry.sent_bytes > 0 && entry.received_bytes > 0);
}

#[tokio::test]
async fn what_follows_a_response_is_not_carried() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nfirstsecond",
        "GET http://http.test:{port}/ HTTP/1.1\n\nGET http://other.test/ HTTP/1.1\n\n",
        expect![[r#"
            HTTP/1.1 200 OK
            Content-Length: 5
            Connection: close

            first"#]],
    )
    .await;
}

#[tokio::test]
async fn bodies_are_streamed_in_both_framings() {
    let (report, mut reports) = tokio::sync::mpsc::unbounded_channel();
    let server = serve(move |stream| echo_in_chunks(stream, report.clone())).await;
    let world = World::new(&[("http.test", AnyAddress)]);
    for (framing, body) in
        [("Content-Length: 6", "abcend"), ("Transfer-Encoding: chunked", "3\r\nabc\r\n0\r\n\r\n")]
    {
        let mut stream = world.connect().await;
        let head =
            format!("POST http://http.test:{}/ HTTP/1.1\r\n{framing}\r\n\r\n", server.port());
        stream.write_all(head.as_bytes()).await.unwrap();
        let response = read_head(&mut stream).await;
        assert!(response.contains("Transfer-Encoding: chunked\r\nConnection: close"), "{response}");
        for byte in body.bytes() {
            stream.write_u8(byte).await.unwrap();
            let mut chunk = [0; 6];
            stream.read_exact(&mut chunk).await.unwrap();
            assert_eq!(chunk, [b'1', b'\r', b'\n', byte, b'\r', b'\n']);
        }
        // A second request, which must not be carried.
        stream.write_all(b"GET http://http.test/ HTTP/1.1\r\n\r\n").await.unwrap();
        assert_eq!(read_all(&mut stream).await, b"0\r\n\r\n");
        assert_eq!(reports.recv().await.unwrap(), b"");
    }
}

/// Answers each byte of a body as soon as it arrives, and reports the bytes after the body.
async fn echo_in_chunks(mut stream: TcpStream, report: UnboundedSender<Vec<u8>>) {
    let head = read_head(&mut stream).await;
    let answer = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(answer).await.unwrap();
    let last: &[u8] = if head.contains("chunked") { b"0\r\n\r\n" } else { b"end" };
    let mut body = Vec::new();
    while !body.ends_with(last) {
        let byte = stream.read_u8().await.unwrap();
        body.push(byte);
        stream.write_all(&[b'1', b'\r', b'\n', byte, b'\r', b'\n']).await.unwrap();
    }
    stream.write_all(b"0\r\n\r\n").await.unwrap();
    report.send(read_all(&mut stream).await).unwrap();
}

#[tokio::test]
async fn announcements_of_a_response_are_passed_on() {
    check(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 204 None\r\n\r\n",
        "POST http://http.test:{port}/ HTTP/1.1\nExpect: 100-continue\nContent-Length: 1\n\nx",
        expect![[r#"
            HTTP/1.1 100 Continue

            HTTP/1.1 103 Early Hints
            Link: a

            HTTP/1.1 204 None
            Connection: close

        "#]],
    )
    .await;
}

#[tokio::test]
async fn a_response_to_head_has_no_body() {
    check(
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbogus",
        "HEAD http://http.test:{port}/ HTTP/1.1\n\n",
        expect![[r#"
            HTTP/1.1 200 OK
            Content-Length: 5
            Connection: close

        "#]],
    )
    .await;
}

#[tokio::test]
async fn responses_that_are_unclear_are_refused() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "HTTP/1.1 200 OK\nContent-Length: 1\n\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n",
        "HTTP/1.1 200 OK\r\n folded: 1\r\n\r\n",
        "not HTTP\r\n\r\n",
        "",
    ] {
        let server = answering(answer).await;
        let world = World::new(&[("http.test", AnyAddress)]);
        let request = format!("GET http://http.test:{}/ HTTP/1.1\r\n\r\n", server.port());
        let response = world.ask(request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 502 "), "{answer:?}: {response}");
    }
}

#[tokio::test]
async fn a_response_that_breaks_off_does_not_look_complete() {
    let server = answering("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort").await;
    let world = World::new(&[("http.test", AnyAddress)]);
    let mut stream = world.connect().await;
    let request = format!("GET http://http.test:{}/ HTTP/1.1\r\n\r\n", server.port());
    stream.write_all(request.as_bytes()).await.unwrap();
    let err = stream.read_to_end(&mut Vec::new()).await.unwrap_err();
    assert_eq!(err.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn smuggled_requests_reach_nobody() {
    let world = World::new(&[("http.test", AnyAddress)]);
    let shapes = [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "Content-Length: 3, 4\r\n\r\nabcd",
        "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
        "X: a\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "X: a\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "X: a\rTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "X: a\0\r\n\r\n",
        "Host: a\r\nHost: b\r\n\r\n",
    ];
    for shape in shapes {
        let request = format!("POST http://http.test/ HTTP/1.1\r\n{shape}");
        let response = world.ask(request.as_bytes()).await;
        assert!(response.starts_with("HTTP/1.1 400 "), "{shape:?}: {response}");
    }
    // No connection was made.
    let malformed = u64::try_from(shapes.len()).unwrap();
    assert_eq!(world.finish().await, ProxyConnections { malformed, ..ProxyConnections::default() });
}

#[tokio::test]
async fn a_malformed_chunk_ends_the_exchange() {
    let server = serve(|mut stream| async move {
        // Half a request gets no answer.
        read_all(&mut stream).await;
    })
    .await;
    let world = World::new(&[("http.test", AnyAddress)]);
    let head = format!("POST http://http.test:{}/ HTTP/1.1\r\n", server.port());
    let request = format!("{head}Transfer-Encoding: chunked\r\n\r\n1\r\na\r\noops\r\n");
    let response = world.ask(request.as_bytes()).await;
    assert!(response.starts_with("HTTP/1.1 400 the chunked body is malformed"), "{response}");
}

#[tokio::test]
async fn refusals_and_failures_have_a_status_and_a_reason() {
    let world = World::new(&[("closed.test", AnyAddress)]);
    let refusal = world.ask(b"HEAD http://other.test/ HTTP/1.1\r\n\r\n").await;
    expect![[r#"
        HTTP/1.1 403 host other.test is not granted to this call; the user can grant it, or the tool can declare it in requires.net.hosts
        Content-Type: text/plain; charset=utf-8
        Content-Length: 117
        Connection: close

    "#]].assert_eq(&refusal.replace('\r', ""));
    let closed = closed();
    let port = closed.local_addr().unwrap().port();
    let request = format!("GET http://closed.test:{port}/ HTTP/1.1\r\n\r\n");
    let failure = world.ask(request.as_bytes()).await;
    assert!(failure.starts_with("HTTP/1.1 502 cannot connect to closed.test"), "{failure}");
    let odd = world.ask(b"GET http://0x7f.1/ HTTP/1.1\r\n\r\n").await;
    assert!(odd.starts_with("HTTP/1.1 403 the host looks like a number"), "{odd}");
}
