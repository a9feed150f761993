use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;
use crate::proxy::Host;

const BYTES_MAX: usize = 1_000;

fn request(text: &[u8]) -> Result<Option<RequestHead>, HttpHeadError> {
    let head = HttpHeadScanner::new(BYTES_MAX).scan(text)?;
    head.map(|head| RequestHead::parse(&head)).transpose()
}

/// Prints the head for the server, or the refusal. Lines of the input end with CR LF.
fn check_request(input: &str, expect: Expect) {
    let text = input.replace('\n', "\r\n");
    let shown = match request(text.as_bytes()) {
        Ok(None) => "incomplete\n".to_owned(),
        Err(err) => format!("{}: {err}\n", err.status()),
        Ok(Some(head)) => {
            let (RequestTarget::Connect(authority) | RequestTarget::Forward { authority, .. }) =
                head.target();
            let to = format!("{} port {}, {:?}\n", authority.host, authority.port, head.framing());
            match (head.target(), Host::parse_bracketed(&authority.host)) {
                (_, Err(err)) => format!("{to}{err}\n"),
                (RequestTarget::Connect(_), Ok(_)) => to,
                (RequestTarget::Forward { .. }, Ok(host)) => to + &visible(&head.forwarded(&host)),
            }
        }
    };
    expect.assert_eq(&shown);
}

fn check_response(input: &str, method: &str, expect: Expect) {
    let text = input.replace('\n', "\r\n");
    let head = HttpHeadScanner::new(BYTES_MAX).scan(text.as_bytes());
    let head = head.expect("the lines are well formed").expect("the head is complete");
    expect.assert_eq(&match ResponseHead::parse(&head) {
        Ok(head) => format!("{:?}\n{}", head.body(method), visible(&head.forwarded())),
        Err(err) => format!("{err}\n"),
    });
}

fn visible(head: &[u8]) -> String {
    String::from_utf8_lossy(head).replace("\r\n", "\n")
}

/// Prints why each request is refused; `{}` stands for the start of a well-formed one.
fn check_refused(inputs: &[&str], expect: Expect) {
    let lines = inputs.iter().map(|input| {
        let text = input.replace("{}", "POST http://a/ HTTP/1.1\r\nHost: a\r\n");
        let err = request(text.as_bytes()).expect_err(input);
        format!("{input:?} {}: {err}\n", err.status())
    });
    expect.assert_eq(&lines.collect::<String>());
}

#[test]
fn tunnels() {
    check_request(
        "CONNECT example.org:443 HTTP/1.1\nHost: other\nContent-Length: 0\n\n",
        expect![[r#"
            example.org port 443, Length(0)
        "#]],
    );
    check_request(
        "CONNECT [2001:db8::1]:8443 HTTP/1.0\n\n",
        expect![[r#"
        [2001:db8::1] port 8443, Empty
    "#]],
    );
    check_request(
        "CONNECT 0x7f.1:443 HTTP/1.1\n\n",
        expect![[r#"
        0x7f.1 port 443, Empty
        the host looks like a number and is no canonical address; write four decimal numbers without leading zeros
    "#]],
    );
}

#[test]
fn requests_go_on_in_the_form_that_servers_take() {
    check_request(
        "GET HTTP://Example.ORG:8080?q=1 HTTP/1.1\nhost: elsewhere\nAccept: */*\nX-Empty:\n\n",
        expect![[r#"
            Example.ORG port 8080, Empty
            GET /?q=1 HTTP/1.1
            Host: example.org:8080
            Accept: */*
            X-Empty: 
            Connection: close

        "#]],
    );
    check_request(
        "OPTIONS http://example.org HTTP/1.0\n\n",
        expect![[r#"
        example.org port 80, Empty
        OPTIONS * HTTP/1.0
        Host: example.org
        Connection: close

    "#]],
    );
    check_request(
        "PUT http://[::1]/ü HTTP/1.1\nContent-Length: 012\n\n",
        expect![[r#"
        [::1] port 80, Length(12)
        PUT /ü HTTP/1.1
        Host: [::1]
        Content-Length: 12
        Connection: close

    "#]],
    );
}

#[test]
fn fields_of_one_connection_stay() {
    check_request(
        "POST http://a/b HTTP/1.1\nConnection: keep-alive, X-Named , content-length\nKeep-Alive: 1\n\
         x-named: 1\nProxy-Connection: x\nProxy-Authorization: secret\nTE: trailers\nTrailer: T\n\
         Upgrade: h2c\nTransfer-Encoding: Chunked\nExpect: 100-continue\nX-Other: 1\n\n",
        expect![[r#"
            a port 80, Chunked
            POST /b HTTP/1.1
            Host: a
            Expect: 100-continue
            X-Other: 1
            Transfer-Encoding: chunked
            Connection: close

        "#]],
    );
}

#[test]
fn bodies_of_unclear_length_are_refused() {
    check_refused(
        &[
            "{}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "{}Content-Length: 1\r\ncontent-length: 1\r\n\r\n",
            "{}Content-Length: 1, 1\r\n\r\n",
            "{}Content-Length: +1\r\n\r\n",
            "{}Content-Length:\r\n\r\n",
            "{}Content-Length: 18446744073709551616\r\n\r\n",
            "{}Transfer-Encoding: gzip, chunked\r\n\r\n",
            "{}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
            "{}Transfer-Encoding: \x0bchunked\r\n\r\n",
            "GET http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
            "CONNECT a:1 HTTP/1.1\r\nContent-Length: 1\r\n\r\n",
        ],
        expect![[r#"
            "{}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n" 400: the length of the body is unclear: both Transfer-Encoding and Content-Length are there
            "{}Content-Length: 1\r\ncontent-length: 1\r\n\r\n" 400: the length of the body is unclear: there is more than one Content-Length
            "{}Content-Length: 1, 1\r\n\r\n" 400: the length of the body is unclear: Content-Length is not a number of bytes
            "{}Content-Length: +1\r\n\r\n" 400: the length of the body is unclear: Content-Length is not a number of bytes
            "{}Content-Length:\r\n\r\n" 400: the length of the body is unclear: Content-Length is not a number of bytes
            "{}Content-Length: 18446744073709551616\r\n\r\n" 400: the length of the body is unclear: Content-Length is not a number of bytes
            "{}Transfer-Encoding: gzip, chunked\r\n\r\n" 400: the length of the body is unclear: the only accepted Transfer-Encoding is chunked
            "{}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n" 400: the length of the body is unclear: the only accepted Transfer-Encoding is chunked
            "{}Transfer-Encoding: \u{b}chunked\r\n\r\n" 400: the head has the byte 0x0b where it does not belong; end each line with CR LF
            "GET http://a/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n" 400: the length of the body is unclear: HTTP/1.0 has no Transfer-Encoding
            "CONNECT a:1 HTTP/1.1\r\nContent-Length: 1\r\n\r\n" 400: the length of the body is unclear: CONNECT has no body
        "#]],
    );
}

#[test]
fn lines_that_others_read_otherwise_are_refused() {
    check_refused(
        &[
            "{}X: a\nContent-Length: 1\r\n\r\n",
            "{}X: a\rContent-Length: 1\r\n\r\n",
            "{}X: a\0b\r\n\r\n",
            "{}X: a\x7f\r\n\r\n",
            "{} folded\r\n\r\n",
            "{}\tfolded\r\n\r\n",
            "{}Content-Length : 1\r\n\r\n",
            "{}: no name\r\n\r\n",
            "{}no colon\r\n\r\n",
            "{}Ünicode: 1\r\n\r\n",
            "{}Host: b\r\n\r\n",
            "\r\n",
            "\n",
            "\x16\x03\x01",
        ],
        expect![[r#"
            "{}X: a\nContent-Length: 1\r\n\r\n" 400: the head has the byte 0x0a where it does not belong; end each line with CR LF
            "{}X: a\rContent-Length: 1\r\n\r\n" 400: the head has the byte 0x43 where it does not belong; end each line with CR LF
            "{}X: a\0b\r\n\r\n" 400: the head has the byte 0x00 where it does not belong; end each line with CR LF
            "{}X: a\u{7f}\r\n\r\n" 400: the head has the byte 0x7f where it does not belong; end each line with CR LF
            "{} folded\r\n\r\n" 400: a header field is malformed; write `name: value` on one line
            "{}\tfolded\r\n\r\n" 400: a header field is malformed; write `name: value` on one line
            "{}Content-Length : 1\r\n\r\n" 400: a header field is malformed; write `name: value` on one line
            "{}: no name\r\n\r\n" 400: a header field is malformed; write `name: value` on one line
            "{}no colon\r\n\r\n" 400: a header field is malformed; write `name: value` on one line
            "{}Ünicode: 1\r\n\r\n" 400: a header field is malformed; write `name: value` on one line
            "{}Host: b\r\n\r\n" 400: more than one Host field is there; send one
            "\r\n" 400: the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
            "\n" 400: the head has the byte 0x0a where it does not belong; end each line with CR LF
            "\u{16}\u{3}\u{1}" 400: the head has the byte 0x16 where it does not belong; end each line with CR LF
        "#]],
    );
}

#[test]
fn targets_that_are_not_for_a_proxy_are_refused() {
    check_refused(
        &[
            "GET / HTTP/1.1\r\n\r\n",
            "OPTIONS * HTTP/1.1\r\n\r\n",
            "GET https://a/ HTTP/1.1\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\n\r\n",
            "GET http://user@a/ HTTP/1.1\r\n\r\n",
            "GET http://a\\@b/ HTTP/1.1\r\n\r\n",
            "GET http://a:0/ HTTP/1.1\r\n\r\n",
            "GET http://a:080/ HTTP/1.1\r\n\r\n",
            "GET http://a:+80/ HTTP/1.1\r\n\r\n",
            "GET http://a:65536/ HTTP/1.1\r\n\r\n",
            "GET http://a:/ HTTP/1.1\r\n\r\n",
            "GET http://a/#b HTTP/1.1\r\n\r\n",
            "CONNECT a HTTP/1.1\r\n\r\n",
            "CONNECT http://a/ HTTP/1.1\r\n\r\n",
            "GET  http://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ b HTTP/1.1\r\n\r\n",
            "GET http://a/\r\n\r\n",
            "GET http://a/ HTTP/2.0\r\n\r\n",
            "GET http://a/ http/1.1\r\n\r\n",
            "G(T http://a/ HTTP/1.1\r\n\r\n",
        ],
        expect![[r#"
            "GET / HTTP/1.1\r\n\r\n" 400: the request target is one for a server, and this is a proxy; ask for http://host/path, or CONNECT host:port
            "OPTIONS * HTTP/1.1\r\n\r\n" 400: the request target is one for a server, and this is a proxy; ask for http://host/path, or CONNECT host:port
            "GET https://a/ HTTP/1.1\r\n\r\n" 400: the request target is not one of plain HTTP; ask for http://host/path, or CONNECT host:port
            "GET ftp://a/ HTTP/1.1\r\n\r\n" 400: the request target is not one of plain HTTP; ask for http://host/path, or CONNECT host:port
            "GET http://user@a/ HTTP/1.1\r\n\r\n" 400: the request target is one with a user in it; ask for http://host/path, or CONNECT host:port
            "GET http://a\\@b/ HTTP/1.1\r\n\r\n" 400: the request target is one with a user in it; ask for http://host/path, or CONNECT host:port
            "GET http://a:0/ HTTP/1.1\r\n\r\n" 400: the request target is one whose port is not a number from 1 to 65535; ask for http://host/path, or CONNECT host:port
            "GET http://a:080/ HTTP/1.1\r\n\r\n" 400: the request target is one whose port is not a number from 1 to 65535; ask for http://host/path, or CONNECT host:port
            "GET http://a:+80/ HTTP/1.1\r\n\r\n" 400: the request target is one whose port is not a number from 1 to 65535; ask for http://host/path, or CONNECT host:port
            "GET http://a:65536/ HTTP/1.1\r\n\r\n" 400: the request target is one whose port is not a number from 1 to 65535; ask for http://host/path, or CONNECT host:port
            "GET http://a:/ HTTP/1.1\r\n\r\n" 400: the request target is one whose port is not a number from 1 to 65535; ask for http://host/path, or CONNECT host:port
            "GET http://a/#b HTTP/1.1\r\n\r\n" 400: the request target is one with a fragment or a tab in it; ask for http://host/path, or CONNECT host:port
            "CONNECT a HTTP/1.1\r\n\r\n" 400: the request target is one without a port; ask for http://host/path, or CONNECT host:port
            "CONNECT http://a/ HTTP/1.1\r\n\r\n" 400: the request target is one whose port is not a number from 1 to 65535; ask for http://host/path, or CONNECT host:port
            "GET  http://a/ HTTP/1.1\r\n\r\n" 400: the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
            "GET http://a/ b HTTP/1.1\r\n\r\n" 400: the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
            "GET http://a/\r\n\r\n" 400: the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
            "GET http://a/ HTTP/2.0\r\n\r\n" 505: the version of HTTP is unknown; send HTTP/1.1 or HTTP/1.0
            "GET http://a/ http/1.1\r\n\r\n" 400: the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
            "G(T http://a/ HTTP/1.1\r\n\r\n" 400: the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
        "#]],
    );
}

#[test]
fn heads_are_bounded() {
    let with = |bytes: usize| format!("GET http://a/ HTTP/1.1\r\nX: {}\r\n\r\n", "a".repeat(bytes));
    let fixed = with(0).len();
    assert!(request(with(BYTES_MAX - fixed).as_bytes()).is_ok_and(|head| head.is_some()));
    let too_long = Err(HttpHeadError::TooLong { bytes_max: BYTES_MAX });
    assert_eq!(request(with(BYTES_MAX - fixed + 1).as_bytes()), too_long);
    assert_eq!(request(&[b'a'; BYTES_MAX + 1]), too_long);
    assert_eq!(request(&[b'a'; BYTES_MAX]), Ok(None));

    let fields = |count: usize| {
        let text = format!("GET http://a/ HTTP/1.1\r\n{}\r\n", "a:\r\n".repeat(count));
        let head = HttpHeadScanner::new(10_000).scan(text.as_bytes());
        let head = head.expect("the lines are well formed").expect("the head is complete");
        RequestHead::parse(&head)
    };
    assert!(fields(FIELDS_MAX).is_ok());
    assert!(matches!(fields(FIELDS_MAX + 1), Err(HttpHeadError::TooLong { .. })));
}

#[test]
fn responses() {
    check_response(
        "HTTP/1.1 200 OK\nContent-Length: 5\nConnection: keep-alive, A\nA: b\nServer: s\n\n",
        "GET",
        expect![[r#"
            Length(5)
            HTTP/1.1 200 OK
            Server: s
            Content-Length: 5
            Connection: close

        "#]],
    );
    check_response(
        "HTTP/1.1 200 OK\nContent-Length: 5\n\n",
        "HEAD",
        expect![[r#"
        Empty
        HTTP/1.1 200 OK
        Content-Length: 5
        Connection: close

    "#]],
    );
    check_response(
        "HTTP/1.0 404\n\n",
        "GET",
        expect![[r#"
        UntilEnd
        HTTP/1.0 404 
        Connection: close

    "#]],
    );
    check_response(
        "HTTP/1.1 200 \nTransfer-Encoding: chunked\n\n",
        "GET",
        expect![[r#"
        Chunked
        HTTP/1.1 200 
        Transfer-Encoding: chunked
        Connection: close

    "#]],
    );
    check_response(
        "HTTP/1.1 304 Not Modified\nContent-Length: 5\n\n",
        "GET",
        expect![[r#"
        Empty
        HTTP/1.1 304 Not Modified
        Content-Length: 5
        Connection: close

    "#]],
    );
}

#[test]
fn announcements_and_what_is_no_response() {
    check_response(
        "HTTP/1.1 100 Continue\n\n",
        "POST",
        expect![[r#"
        Empty
        HTTP/1.1 100 Continue

    "#]],
    );
    check_response(
        "HTTP/1.1 101 Switching Protocols\nUpgrade: x\n\n",
        "GET",
        expect![[r#"
        the server switches protocols, which was not asked for
    "#]],
    );
    check_response(
        "HTTP/1.1 20 OK\n\n",
        "GET",
        expect![[r#"
            the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
        "#]],
    );
    check_response(
        "ICY 200 OK\n\n",
        "GET",
        expect![[r#"
            the first line is not HTTP/1; send HTTP/1.1 or HTTP/1.0
        "#]],
    );
}

/// Generates bytes that are often nearly a head.
fn nearly_heads() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        prop::sample::select(vec![
            "GET http://a/ HTTP/1.1\r\n",
            "CONNECT a:1 HTTP/1.1\r\n",
            "HTTP/1.1 200 OK\r\n",
            "\r\n",
            "\r",
            "\n",
            "Content-Length: 3\r\n",
            "Transfer-Encoding: chunked\r\n",
            "Host: b\r\n",
            "Connection: x\r\n",
            "x: y\r\n",
        ])
        .prop_map(|part| part.as_bytes().to_vec()),
        prop::collection::vec(any::<u8>(), 0..3),
    ];
    prop::collection::vec(part, 0..9).prop_map(|parts| parts.concat())
}

proptest! {
    #[test]
    fn pieces_make_no_difference(bytes in nearly_heads(), bytes_max in 1_usize..100) {
        let whole = HttpHeadScanner::new(bytes_max).scan(&bytes).map(|head| head.map(|head| head.length()));
        let mut scanner = HttpHeadScanner::new(bytes_max);
        let piecewise = (0..=bytes.len())
            .map(|length| scanner.scan(bytes.get(..length).unwrap_or_default()))
            .map(|scanned| scanned.map(|head| head.map(|head| head.length())))
            .find(|scanned| !matches!(scanned, Ok(None)))
            .unwrap_or(Ok(None));
        prop_assert_eq!(whole, piecewise);
    }

    /// If a head is accepted, one head is forwarded with the same body length and exactly one Host:
    /// the one that was judged.
    #[test]
    fn what_goes_on_is_clear(fields in nearly_heads()) {
        let bytes = [b"PUT http://a:81/b HTTP/1.1\r\n", fields.as_slice(), b"\r\n"].concat();
        let Ok(Some(head)) = request(&bytes) else { return Ok(()) };
        let host = Host::parse("judged.example").expect("this is a name");
        let forwarded = head.forwarded(&host);
        let scanned = HttpHeadScanner::new(BYTES_MAX).scan(&forwarded);
        let scanned = scanned.expect("lines are well formed").expect("the head is complete");
        prop_assert_eq!(scanned.length(), forwarded.len());
        let fields = fields::HeaderFields::parse(&scanned).expect("fields are well formed");
        prop_assert_eq!((fields.count("host"), fields.count("connection")), (1, 1));
        let framing = fields.framing(HttpVersion::Http11).expect("the length is clear");
        prop_assert_eq!(framing.unwrap_or(HttpBodyFraming::Empty), head.framing());
    }
}
