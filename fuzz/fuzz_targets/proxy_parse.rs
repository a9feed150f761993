//! Feeds the proxy's parsers what a confined process might send: as HTTP, as a chunked body, as SOCKS5, and as a host.
//!
//! Nothing panics, where the bytes are cut makes no difference, and what goes on to a server is one clear head.

#![no_main]

use haft_sandbox::proxy::body::HttpBodyTracker;
use haft_sandbox::proxy::head::{
    HttpBodyFraming, HttpHeadScanner, RequestHead, RequestTarget, ResponseHead,
};
use haft_sandbox::proxy::{Host, reserved_range, socks};
use libfuzzer_sys::fuzz_target;

const HEAD_BYTES_MAX: usize = 4_096;

fuzz_target!(|bytes: &[u8]| {
    check_head(bytes);
    check_body(bytes);
    check_cuts(bytes, socks::parse_greeting);
    check_cuts(bytes, socks::parse_request);
    if let Ok(text) = std::str::from_utf8(bytes) {
        check_host(text);
    }
});

fn check_head(bytes: &[u8]) {
    let whole = HttpHeadScanner::new(HEAD_BYTES_MAX).scan(bytes);
    let mut scanner = HttpHeadScanner::new(HEAD_BYTES_MAX);
    let mut piecewise = Ok(None);
    for length in 0..=bytes.len() {
        piecewise = scanner.scan(&bytes[..length]);
        if piecewise != Ok(None) {
            break;
        }
    }
    assert_eq!(whole, piecewise);
    let Ok(Some(head)) = whole else { return };
    if let Ok(response) = ResponseHead::parse(&head) {
        let _ = response.body("GET");
        assert_is_head(&response.forwarded());
    }
    let Ok(request) = RequestHead::parse(&head) else { return };
    let (RequestTarget::Connect(authority) | RequestTarget::Forward { authority, .. }) =
        request.target();
    assert_ne!(authority.port, 0);
    let Ok(host) = Host::parse_bracketed(&authority.host) else { return };
    let forwarded = request.forwarded(&host);
    assert_is_head(&forwarded);
    let text = String::from_utf8_lossy(&forwarded).to_ascii_lowercase();
    assert_eq!(text.matches("\r\nhost: ").count(), 1);
    let lengths = text.matches("\r\ncontent-length: ").count();
    let encodings = text.matches("\r\ntransfer-encoding: ").count();
    let expected = match request.framing() {
        HttpBodyFraming::Empty => (0, 0),
        HttpBodyFraming::Length(_) => (1, 0),
        HttpBodyFraming::Chunked => (0, 1),
        HttpBodyFraming::UntilEnd => panic!("a request has no body until the end"),
    };
    assert_eq!((lengths, encodings), expected);
}

/// The forwarded head may be longer than the received one, because the proxy adds fields.
fn assert_is_head(bytes: &[u8]) {
    let head = HttpHeadScanner::new(2 * HEAD_BYTES_MAX).scan(bytes);
    assert_eq!(head.map(|head| head.map(|head| head.length())), Ok(Some(bytes.len())));
}

fn check_body(bytes: &[u8]) {
    for framing in [HttpBodyFraming::Chunked, HttpBodyFraming::UntilEnd, HttpBodyFraming::Length(7)]
    {
        let mut whole = HttpBodyTracker::new(framing);
        let taken = whole.take(bytes);
        let mut piecewise = HttpBodyTracker::new(framing);
        let pieces: Result<Vec<usize>, _> =
            bytes.iter().map(|byte| piecewise.take(&[*byte])).collect();
        assert_eq!(taken, pieces.map(|pieces| pieces.iter().sum()));
        assert_eq!(whole.end(), piecewise.end());
    }
}

fn check_cuts<Parsed: PartialEq + std::fmt::Debug>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<Option<Parsed>, socks::SocksError>,
) {
    let first =
        (0..=bytes.len()).map(|length| parse(&bytes[..length])).find(|said| *said != Ok(None));
    assert_eq!(parse(bytes), first.unwrap_or(Ok(None)));
    if let Err(err) = parse(bytes) {
        assert!(!err.answer().is_empty());
    }
}

fn check_host(text: &str) {
    for host in [Host::parse(text), Host::parse_bracketed(text)].into_iter().flatten() {
        assert_eq!(Host::parse(&host.to_string()).as_ref(), Ok(&host));
        assert_eq!(Host::parse_bracketed(&host.bracketed()).as_ref(), Ok(&host));
        if let Some(address) = host.address() {
            let _ = reserved_range(address);
            assert_eq!(address, address.to_canonical());
        } else {
            // A name is nothing that parsers of addresses take.
            assert!(text.parse::<std::net::IpAddr>().is_err());
        }
    }
}
