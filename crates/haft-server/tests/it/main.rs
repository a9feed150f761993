//! The HTTP server over real sockets, byte by byte: access, limits and shutdown. The test service
//! echoes its input.
#![expect(
    clippy::unwrap_used,
    reason = "the lint's exception for tests does not cover the functions that they share"
)]

use std::convert::Infallible;
use std::net::SocketAddr;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use haft_server::limits::{
    BODY_BYTES_MAX, BODY_MS_MAX, CONNECTIONS_MAX, DRAIN_MS_MAX, HEADER_BYTES_MAX, HEADER_MS_MAX,
    HEADERS_MAX, PEER_CONNECTIONS_MAX, TOKEN_MS_MAX,
};
use haft_server::{BearerToken, HttpSite, RequestGuard, serve};
use http::{Request, Response};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const TOKEN: &str = "0123456789abcdef0123";

/// Answers with the request's body; for `/slow`, only once it is released.
#[derive(Clone)]
struct Echo(watch::Receiver<bool>);

impl tower_service::Service<Request<Bytes>> for Echo {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future =
        std::pin::Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        let mut open = self.0.clone();
        Box::pin(async move {
            let _ = open.wait_for(|open| *open).await;
            Ok(Response::new(Full::new(request.into_body())))
        })
    }
}

struct Running {
    address: SocketAddr,
    shutdown: CancellationToken,
    open: watch::Sender<bool>,
    served: JoinHandle<()>,
}

/// Starts a server that requires the token and has an echo service.
async fn start(guard: RequestGuard) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (open, opened) = watch::channel(true);
    let site = HttpSite::new(guard).mount("/echo", Echo(opened));
    let shutdown = CancellationToken::new();
    let served = tokio::spawn(serve(listener, site, shutdown.clone(), async {}));
    Running { address, shutdown, open, served }
}

fn guard() -> RequestGuard {
    RequestGuard {
        token: Some(BearerToken::parse(TOKEN).unwrap()),
        hosts: vec!["tools.example.org".to_owned()],
        origins: vec!["https://app.example.org".to_owned()],
    }
}

/// Returns a request for the echo service with these additional headers.
fn request(headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST /echo HTTP/1.1\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

/// Sends bytes and returns the whole response until the server closes.
async fn exchange(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let (mut reading, mut writing) = stream.split();
    let mut answer = Vec::new();
    // A server that refuses a request early closes before everything is sent.
    let (_, read) = tokio::join!(writing.write_all(bytes), reading.read_to_end(&mut answer));
    let _ = read;
    String::from_utf8(answer).unwrap()
}

/// Returns the status and the body of an answer.
fn parts(answer: &str) -> (u16, &str) {
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((answer, ""));
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    (status.unwrap_or_default(), body)
}

fn header<'a>(answer: &'a str, name: &str) -> Option<&'a str> {
    let (head, _) = answer.split_once("\r\n\r\n")?;
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

#[tokio::test]
async fn who_is_let_in() {
    let running = start(guard()).await;
    let with_token = format!("Authorization: Bearer {TOKEN}\r\n");
    let local = format!("Host: {}\r\n", running.address);
    let check = async |headers: &str, expect: u16, says: &str| {
        let answer = exchange(running.address, request(headers, "hello").as_bytes()).await;
        let (status, body) = parts(&answer);
        assert_eq!(status, expect, "{headers}: {answer}");
        assert!(body.contains(says), "{headers}: {answer}");
    };
    check(&format!("{local}{with_token}"), 200, "hello").await;
    check(&format!("Host: tools.example.org\r\n{with_token}"), 200, "hello").await;
    check(&format!("Host: evil.example.com\r\n{with_token}"), 403, "start it with the name").await;
    check(
        &format!("Host: evil.example.com:{}\r\n{with_token}", running.address.port()),
        403,
        "start it with the name",
    )
    .await;
    check(&with_token, 400, "Host").await;
    check(&format!("{local}{local}{with_token}"), 400, "Host").await;
    let own = format!("Origin: http://{}\r\n", running.address);
    check(&format!("{local}{with_token}{own}"), 200, "hello").await;
    check(&format!("{local}{with_token}Origin: https://app.example.org\r\n"), 200, "hello").await;
    for foreign in [
        "http://evil.example.com",
        "null",
        "http://localhost:1",
        "https://app.example.org.evil.com",
    ] {
        check(
            &format!("{local}{with_token}Origin: {foreign}\r\n"),
            403,
            "with that origin allowed",
        )
        .await;
    }
    check(&local, 401, "Authorization: Bearer TOKEN").await;
    check(&format!("{local}Authorization: Bearer {TOKEN}4\r\n"), 401, "not the one of this server")
        .await;
    check(&format!("{local}Authorization: Basic {TOKEN}\r\n"), 401, "Bearer").await;
    // A foreign site gets no information about the token.
    check(&format!("{local}Origin: http://evil.example.com\r\n"), 403, "with that origin allowed")
        .await;
}

#[tokio::test]
async fn a_client_without_token_is_told_how_to_come_by_one() {
    let running = start(guard()).await;
    let host = format!("Host: {}\r\n", running.address);
    let answer = exchange(running.address, request(&host, "").as_bytes()).await;
    assert_eq!(header(&answer, "www-authenticate"), Some(r#"Bearer realm="haft""#));
    let wrong = format!("{host}Authorization: Bearer {TOKEN}x\r\n");
    let answer = exchange(running.address, request(&wrong, "").as_bytes()).await;
    let expect = r#"Bearer realm="haft", error="invalid_token""#;
    assert_eq!(header(&answer, "www-authenticate"), Some(expect));
    assert!(!answer.contains(TOKEN), "{answer}");
}

#[tokio::test]
async fn without_a_token_everybody_is_let_in_who_names_the_server() {
    let running = start(RequestGuard::default()).await;
    let host = format!("Host: {}\r\n", running.address);
    let answer = exchange(running.address, request(&host, "hello").as_bytes()).await;
    assert_eq!(parts(&answer), (200, "hello"));
    let answer =
        exchange(running.address, request("Host: evil.example.com\r\n", "").as_bytes()).await;
    assert_eq!(parts(&answer).0, 403);
}

#[tokio::test]
async fn paths_and_health() {
    let running = start(guard()).await;
    let get = async |method: &str, path: &str, headers: &str| {
        let host = running.address;
        let text = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}Connection: close\r\n\r\n"
        );
        exchange(running.address, text.as_bytes()).await
    };
    assert_eq!(parts(&get("GET", "/healthz", "").await), (200, "ok\n"));
    assert_eq!(parts(&get("DELETE", "/healthz", "").await).0, 405);
    let token = format!("Authorization: Bearer {TOKEN}\r\n");
    let nowhere = (404, "nothing is at this path: there is /echo\n");
    assert_eq!(parts(&get("GET", "/", &token).await), nowhere);
    assert_eq!(parts(&get("GET", "/echo/", &token).await), nowhere);
    // Without the token, existing and missing paths look alike.
    assert_eq!(parts(&get("GET", "/", "").await).0, 401);
    let foreign = "GET /healthz HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n";
    assert_eq!(parts(&exchange(running.address, foreign.as_bytes()).await).0, 403);
}

#[tokio::test]
async fn browsers_are_told_which_origins_may_read() {
    let running = start(guard()).await;
    let preflight = async |origin: &str| {
        let text = format!(
            "OPTIONS /echo HTTP/1.1\r\nHost: {}\r\nOrigin: {origin}\r\n\
             Access-Control-Request-Method: POST\r\n\
             Access-Control-Request-Headers: authorization,mcp-session-id\r\nConnection: close\r\n\r\n",
            running.address
        );
        exchange(running.address, text.as_bytes()).await
    };
    let known = preflight("https://app.example.org").await;
    assert_eq!(header(&known, "access-control-allow-origin"), Some("https://app.example.org"));
    assert!(header(&known, "access-control-allow-headers").unwrap().contains("authorization"));
    let foreign = preflight("https://evil.example.com").await;
    assert_eq!(header(&foreign, "access-control-allow-origin"), None);
}

#[tokio::test]
async fn headers_are_bounded() {
    let running = start(guard()).await;
    let usual = format!("Host: {}\r\nAuthorization: Bearer {TOKEN}\r\n", running.address);
    let long = format!("{usual}X-Long: {}\r\n", "a".repeat(HEADER_BYTES_MAX));
    let answer = exchange(running.address, request(&long, "").as_bytes()).await;
    assert_eq!(parts(&answer).0, 431, "{answer}");
    let many = format!("{usual}{}", "X: y\r\n".repeat(HEADERS_MAX + 1));
    let answer = exchange(running.address, request(&many, "").as_bytes()).await;
    assert_eq!(parts(&answer).0, 431, "{answer}");
}

#[tokio::test]
async fn bodies_are_bounded_whatever_they_say_of_themselves() {
    let running = start(guard()).await;
    let usual = format!(
        "POST /echo HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n",
        running.address
    );
    let announced = format!("{usual}Content-Length: {}\r\n\r\n", BODY_BYTES_MAX + 1);
    let mut sent = announced.into_bytes();
    sent.resize(sent.len() + BODY_BYTES_MAX + 1, b'a');
    assert_eq!(parts(&exchange(running.address, &sent).await).0, 413);
    let chunk = format!("{:x}\r\n{}\r\n", BODY_BYTES_MAX + 1, "a".repeat(BODY_BYTES_MAX + 1));
    let chunked = format!("{usual}Transfer-Encoding: chunked\r\n\r\n{chunk}0\r\n\r\n");
    assert_eq!(parts(&exchange(running.address, chunked.as_bytes()).await).0, 413);
    let broken = format!("{usual}Transfer-Encoding: chunked\r\n\r\nzz\r\n");
    assert_eq!(parts(&exchange(running.address, broken.as_bytes()).await).0, 400);
    let both = format!("{usual}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
    assert_ne!(parts(&exchange(running.address, both.as_bytes()).await).0, 500);
}

/// Returns the response until the server closes, with time advancing as fast as possible.
async fn wait_for_end(address: SocketAddr, sent: &str) -> (String, Duration) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(sent.as_bytes()).await.unwrap();
    let begun = tokio::time::Instant::now();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    (answer, begun.elapsed())
}

#[tokio::test(start_paused = true)]
async fn slow_clients_are_not_waited_for() {
    let running = start(guard()).await;
    let usual = format!("POST /echo HTTP/1.1\r\nHost: {}\r\n", running.address);
    let (of_token, of_header) =
        (Duration::from_millis(TOKEN_MS_MAX), Duration::from_millis(HEADER_MS_MAX));
    for sent in [usual.as_str(), ""] {
        let (_, waited) = wait_for_end(running.address, sent).await;
        assert!((of_token..of_header).contains(&waited), "{waited:?}");
    }
    // A client with the token may begin its next request later.
    let known = format!("{usual}Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n");
    let (answer, waited) = wait_for_end(running.address, &known).await;
    assert!(answer.starts_with("HTTP/1.1 200") && waited >= of_header, "{waited:?} {answer}");
    let body = format!("{usual}Authorization: Bearer {TOKEN}\r\nContent-Length: 5\r\n\r\nhell");
    let (answer, waited) = wait_for_end(running.address, &body).await;
    assert_eq!(parts(&answer).0, 408, "{answer}");
    assert!(waited >= Duration::from_millis(BODY_MS_MAX), "{waited:?}");
}

/// Sends a request with the token, and reads the first byte of its answer. The connection stays open.
async fn ask_with_token(stream: &mut TcpStream, address: SocketAddr) {
    let request = format!(
        "POST /echo HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.read_exact(&mut [0]).await.unwrap();
}

#[tokio::test]
async fn clients_with_the_token_share_the_places_and_further_ones_wait() {
    let running = start(guard()).await;
    let mut connections = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        ask_with_token(&mut stream, running.address).await;
        connections.push(stream);
    }
    let mut one_more = TcpStream::connect(running.address).await.unwrap();
    let waits = tokio::select! {
        biased;
        () = ask_with_token(&mut one_more, running.address) => false,
        () = tokio::time::sleep(Duration::from_millis(200)) => true,
    };
    assert!(waits, "a connection more than there may be was answered");
    connections.clear();
    one_more.read_exact(&mut [0]).await.unwrap();
}

#[tokio::test]
async fn clients_without_the_token_do_not_keep_others_out() {
    let running = start(guard()).await;
    let half = format!("POST /echo HTTP/1.1\r\nHost: {}\r\n", running.address);
    let mut known = TcpStream::connect(running.address).await.unwrap();
    ask_with_token(&mut known, running.address).await;
    let mut idle = Vec::new();
    for _ in 0..2 * CONNECTIONS_MAX {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        // The server may have closed it already.
        let _ = stream.write_all(half.as_bytes()).await;
        idle.push(stream);
    }
    let begun = std::time::Instant::now();
    let mut late = TcpStream::connect(running.address).await.unwrap();
    ask_with_token(&mut late, running.address).await;
    assert!(begun.elapsed() < Duration::from_millis(TOKEN_MS_MAX), "{:?}", begun.elapsed());
    // Neither client loses its place.
    let wrong = format!("{half}Authorization: Bearer {TOKEN}x\r\nContent-Length: 0\r\n\r\n");
    for _ in 0..PEER_CONNECTIONS_MAX {
        let mut stream = TcpStream::connect(running.address).await.unwrap();
        stream.write_all(wrong.as_bytes()).await.unwrap();
        idle.push(stream);
    }
    for stream in [&mut known, &mut late] {
        ask_with_token(stream, running.address).await;
    }
}

#[tokio::test]
async fn the_end_lets_what_runs_answer_and_nobody_in() {
    let running = start(guard()).await;
    running.open.send(false).unwrap();
    let headers = format!("Host: {}\r\nAuthorization: Bearer {TOKEN}\r\n", running.address);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(request(&headers, "last words").as_bytes()).await.unwrap();
    // Another request on another connection shows that the first one was accepted.
    let health =
        format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", running.address);
    assert_eq!(parts(&exchange(running.address, health.as_bytes()).await).0, 200);
    running.shutdown.cancel();
    running.open.send(true).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert_eq!(parts(&answer), (200, "last words"));
    running.served.await.unwrap();
    assert!(TcpStream::connect(running.address).await.is_err(), "nobody listens any more");
}

#[tokio::test]
async fn what_never_ends_is_not_waited_for_at_the_end() {
    let running = start(guard()).await;
    running.open.send(false).unwrap();
    let headers = format!("Host: {}\r\nAuthorization: Bearer {TOKEN}\r\n", running.address);
    let mut stream = TcpStream::connect(running.address).await.unwrap();
    stream.write_all(request(&headers, "lost words").as_bytes()).await.unwrap();
    // Another request on another connection shows that the first one was accepted.
    let health =
        format!("GET /healthz HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", running.address);
    assert_eq!(parts(&exchange(running.address, health.as_bytes()).await).0, 200);
    tokio::time::pause();
    let started = tokio::time::Instant::now();
    running.shutdown.cancel();
    running.served.await.unwrap();
    let (waited, bound) = (started.elapsed(), Duration::from_millis(DRAIN_MS_MAX));
    assert!((bound..2 * bound).contains(&waited), "{waited:?}");
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer).await;
    assert_eq!(answer, "", "it was cut off without an answer");
}
