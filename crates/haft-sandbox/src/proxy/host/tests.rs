use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

fn check(inputs: &[&str], expect: Expect) {
    let lines = inputs.iter().map(|input| match Host::parse_bracketed(input) {
        Ok(host) => format!("{input:?} is {host}, {}\n", host.bracketed()),
        Err(err) => format!("{input:?}: {err:?}\n"),
    });
    expect.assert_eq(&lines.collect::<String>());
}

#[test]
fn names_are_lower_case_and_without_a_trailing_dot() {
    check(
        &[
            "example.org",
            "EXAMPLE.Org.",
            "localhost",
            "xn--bcher-kva.example",
            "1.2.3.4.example",
            "a-.b",
        ],
        expect![[r#"
            "example.org" is example.org, example.org
            "EXAMPLE.Org." is example.org, example.org
            "localhost" is localhost, localhost
            "xn--bcher-kva.example" is xn--bcher-kva.example, xn--bcher-kva.example
            "1.2.3.4.example" is 1.2.3.4.example, 1.2.3.4.example
            "a-.b" is a-.b, a-.b
        "#]],
    );
}

#[test]
fn names_that_are_none() {
    check(
        &[
            "",
            ".",
            "..",
            ".a",
            "a..b",
            "a..",
            "bücher.example",
            "a_b",
            "a b",
            "a%2eb",
            "a\0b",
            "a/b",
            "*.a",
        ],
        expect![[r#"
            "": Empty
            ".": Empty
            "..": EmptyLabel
            ".a": EmptyLabel
            "a..b": EmptyLabel
            "a..": EmptyLabel
            "bücher.example": Character('ü')
            "a_b": Character('_')
            "a b": Character(' ')
            "a%2eb": Character('%')
            "a\0b": Character('\0')
            "a/b": Character('/')
            "*.a": Character('*')
        "#]],
    );
}

#[test]
fn addresses_have_one_spelling() {
    check(
        &["127.0.0.1", "255.255.255.255", "[::1]", "[2001:DB8:0:0::1]", "[64:ff9b::1.2.3.4]"],
        expect![[r#"
            "127.0.0.1" is 127.0.0.1, 127.0.0.1
            "255.255.255.255" is 255.255.255.255, 255.255.255.255
            "[::1]" is ::1, [::1]
            "[2001:DB8:0:0::1]" is 2001:db8::1, [2001:db8::1]
            "[64:ff9b::1.2.3.4]" is 64:ff9b::102:304, [64:ff9b::102:304]
        "#]],
    );
}

#[test]
fn odd_spellings_of_addresses_are_refused() {
    check(
        &[
            "127.1",
            "2130706433",
            "0x7f000001",
            "0x7f.0.0.1",
            "0177.0.0.1",
            "127.0.0.01",
            "127.0.0.1.",
            "1.2.3.4.5",
            "256.0.0.1",
            "a.1",
            "a.0x",
            "a.0X1F",
            "::1",
            "[127.0.0.1]",
            "[::1",
            "::1]",
            "[]",
            "[::ffff:127.0.0.1]",
            "[::ffff:7f00:1]",
            "[fe80::1%eth0]",
            "[fe80::1%25eth0]",
            "[example.org]",
            "１２７.0.0.1",
        ],
        expect![[r#"
            "127.1": Number
            "2130706433": Number
            "0x7f000001": Number
            "0x7f.0.0.1": Number
            "0177.0.0.1": Number
            "127.0.0.01": Number
            "127.0.0.1.": Number
            "1.2.3.4.5": Number
            "256.0.0.1": Number
            "a.1": Number
            "a.0x": Number
            "a.0X1F": Number
            "::1": Ipv6
            "[127.0.0.1]": Ipv6
            "[::1": Ipv6
            "::1]": Ipv6
            "[]": Ipv6
            "[::ffff:127.0.0.1]": Mapped(127.0.0.1)
            "[::ffff:7f00:1]": Mapped(127.0.0.1)
            "[fe80::1%eth0]": Ipv6
            "[fe80::1%25eth0]": Ipv6
            "[example.org]": Ipv6
            "１２７.0.0.1": Number
        "#]],
    );
}

#[test]
fn lengths_at_their_bounds() {
    let label = "a".repeat(LABEL_CHARS_MAX);
    assert!(Host::parse(&label).is_ok());
    assert_eq!(Host::parse(&format!("{label}a")), Err(HostError::TooLong));
    let name = format!("{label}.{label}.{label}.{}", "b".repeat(NAME_CHARS_MAX - 3 * 64));
    assert_eq!(name.len(), NAME_CHARS_MAX);
    assert_eq!(Host::parse(&format!("{name}.")).map(|host| host.to_string()), Ok(name.clone()));
    assert_eq!(Host::parse(&format!("{name}b")), Err(HostError::TooLong));
}

proptest! {
    #[test]
    fn what_is_printed_reads_back_as_itself(text in "[-a-zA-Z0-9.:x\\[\\]%]{0,24}|\\PC{0,12}") {
        if let Ok(host) = Host::parse_bracketed(&text) {
            prop_assert_eq!(Host::parse(&host.to_string()), Ok(host.clone()));
            prop_assert_eq!(Host::parse_bracketed(&host.bracketed()), Ok(host));
        }
    }

    /// The system's resolver accepts many spellings of an address; none of them may be accepted as
    /// a name.
    #[test]
    fn no_name_is_an_address_to_others(text in "[0-9xX.a-f]{1,16}") {
        if let Ok(host) = Host::parse(&text)
            && host.address().is_none()
        {
            let last = text.trim_end_matches('.').rsplit('.').next().unwrap_or_default();
            let digits = last.trim_start_matches("0x").trim_start_matches("0X");
            prop_assert!(last.parse::<u128>().is_err());
            prop_assert!(digits == last || u128::from_str_radix(digits, 16).is_err());
        }
    }
}
