use proptest::prelude::*;

use super::*;

fn request(kind: u8, address: &[u8], port: u16) -> Vec<u8> {
    [&[VERSION, COMMAND_CONNECT, 0, kind], address, &port.to_be_bytes()].concat()
}

#[test]
fn greetings() {
    assert_eq!(parse_greeting(b"\x05\x01\x00"), Ok(Some(3)));
    assert_eq!(parse_greeting(b"\x05\x02\x02\x00rest"), Ok(Some(4)));
    assert_eq!(parse_greeting(b"\x05\x02\x00"), Ok(None));
    assert_eq!(parse_greeting(b"\x05\x01\x02"), Err(SocksError::Method));
    assert_eq!(parse_greeting(b"\x05\x00"), Err(SocksError::Method));
    assert_eq!(parse_greeting(b"\x04"), Err(SocksError::Version(4)));
    assert_eq!(SocksError::Method.answer(), b"\x05\xff");
}

#[test]
fn destinations() {
    let name = |name: &str| SocksDestination::Name(name.to_owned());
    for (kind, address, destination) in [
        (1, &[127, 0, 0, 1][..], SocksDestination::Address(Ipv4Addr::LOCALHOST.into())),
        (4, &Ipv6Addr::LOCALHOST.octets(), SocksDestination::Address(Ipv6Addr::LOCALHOST.into())),
        (3, b"\x07example", name("example")),
        (3, b"\x00", name("")),
        (3, b"\x02\xff\0", name("\u{fffd}\0")),
    ] {
        let bytes = request(kind, address, 443);
        let expected = SocksRequest { destination, port: 443 };
        assert_eq!(parse_request(&bytes), Ok(Some((expected, bytes.len()))));
    }
}

#[test]
fn what_is_not_offered() {
    let check = |bytes: &[u8], err: SocksError, answer: u8| {
        assert_eq!(parse_request(bytes), Err(err));
        assert_eq!(err.answer(), [VERSION, answer, 0, 1, 0, 0, 0, 0, 0, 0]);
    };
    check(b"\x04", SocksError::Version(4), 1);
    check(b"\x05\x02", SocksError::Command(2), 7);
    check(b"\x05\x03", SocksError::Command(3), 7);
    check(b"\x05\x01\x01", SocksError::Reserved(1), 1);
    check(b"\x05\x01\x00\x02", SocksError::AddressKind(2), 8);
    check(&request(1, &[1, 1, 1, 1], 0), SocksError::Port, 1);
}

#[test]
fn the_longest_messages() {
    let greeting = [&[VERSION, 255][..], &[0; 255]].concat();
    let request = request(KIND_NAME, &[&[255][..], &[b'a'; 255]].concat(), 1);
    assert_eq!(parse_greeting(&greeting), Ok(Some(greeting.len())));
    let parsed = parse_request(&request).expect("the request is well formed");
    assert_eq!(parsed.map(|(_, length)| length), Some(request.len()));
}

/// Returns the parser's result for the shortest prefix that has one.
fn first<T>(
    bytes: &[u8],
    parse: impl Fn(&[u8]) -> Result<Option<T>, SocksError>,
) -> Result<Option<T>, SocksError> {
    let prefixes = (0..=bytes.len()).map(|length| bytes.get(..length).unwrap_or_default());
    prefixes.map(parse).find(|parsed| !matches!(parsed, Ok(None))).unwrap_or(Ok(None))
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        start in prop::sample::select(vec![vec![], vec![5], vec![5, 1, 0], vec![5, 1, 0, 1], vec![5, 1, 0, 3, 4]]),
        rest in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let bytes = [start, rest].concat();
        prop_assert_eq!(parse_greeting(&bytes), first(&bytes, parse_greeting));
        prop_assert_eq!(parse_request(&bytes), first(&bytes, parse_request));
    }
}
