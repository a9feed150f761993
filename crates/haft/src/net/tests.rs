//! Which URLs are asked, as which host and at which port, and which are not.

use expect_test::{Expect, expect};

use super::target::HttpTarget;

#[track_caller]
fn check(text: &str, expected: Expect) {
    let said = match HttpTarget::parse(text) {
        Ok(HttpTarget { url, host, port }) => format!("{url} is {host} port {port}"),
        Err(err) => format!("{}: {}", err.code.as_str(), err.message),
    };
    expected.assert_eq(&said);
}

#[test]
fn a_target_has_one_spelling() {
    check(
        "HTTP://Example.ORG.:80/a?b#c",
        expect!["http://example.org/a?b#c is example.org port 80"],
    );
    check(
        "https://example.org:8443",
        expect!["https://example.org:8443/ is example.org port 8443"],
    );
    check("http://127.1/", expect!["http://127.0.0.1/ is 127.0.0.1 port 80"]);
    check("http://0x7f000001:1/", expect!["http://127.0.0.1:1/ is 127.0.0.1 port 1"]);
    check("http://[0:0:0:0:0:0:0:1]/", expect!["http://[::1]/ is ::1 port 80"]);
    check(
        "http://bücher.example/",
        expect!["http://xn--bcher-kva.example/ is xn--bcher-kva.example port 80"],
    );
}

#[test]
fn what_can_be_read_in_two_ways_or_holds_a_secret_is_not_asked() {
    check(
        "http://you:secret@example.org/",
        expect![
            "INVALID_INPUT: the URL holds a user name or a password, and neither is ever sent: leave them out"
        ],
    );
    check(
        "http://you@example.org/",
        expect![
            "INVALID_INPUT: the URL holds a user name or a password, and neither is ever sent: leave them out"
        ],
    );
    check(
        "http://[::ffff:127.0.0.1]/",
        expect![
            "INVALID_INPUT: its host cannot be asked: the host is an IPv4 address written as IPv6; write 127.0.0.1"
        ],
    );
    check(
        "http://exa_mple.org/",
        expect![
            "INVALID_INPUT: its host cannot be asked: the host name has the character '_'; only a-z, 0-9, `.` and `-` are taken, and names in other scripts in their encoded form (xn--…)"
        ],
    );
    check(
        "http://you:secret@exa mple.org/",
        expect![
            "INVALID_INPUT: what is to be asked is no URL (invalid international domain name): write it as https://host/path"
        ],
    );
    check(
        "file:///etc/passwd",
        expect!["INVALID_INPUT: a URL of file: cannot be asked: expected http or https"],
    );
    check(
        "example.org",
        expect![
            "INVALID_INPUT: what is to be asked is no URL (relative URL without a base): write it as https://host/path"
        ],
    );
    check(
        "http:///",
        expect![
            "INVALID_INPUT: what is to be asked is no URL (empty host): write it as https://host/path"
        ],
    );
}
