//! Two things that no test with a server sees: how URLs are read, and how texts are stored.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::address::Address;
use super::text::{restored, stored};

fn check(urls: &[&str], expect: Expect) {
    let told = urls.iter().fold(String::new(), |mut told, url| {
        match Address::parse(url) {
            Ok(Address { path, config, trust }) => {
                let mode = config.get_ssl_mode();
                writeln!(told, "{} {mode:?} {trust:?}", path.display()).unwrap();
            }
            Err(err) => writeln!(told, "{err}").unwrap(),
        }
        told
    });
    expect.assert_eq(&told);
}

#[test]
fn a_place_is_named_without_its_password() {
    check(
        &[
            "postgres://user:secret@box:5433/journal",
            "postgresql://user:secret@box/journal?password=secret",
            "postgres://user:secret@one,two:5433/journal",
            "postgres://user@%2Frun%2Fpostgresql/journal",
            "postgres://box?user=me",
            "postgres://user:secret@box:port/journal",
            "postgres://user:secret@box/journal?colour=red",
            "host=box password=secret",
        ],
        expect![[r#"
            postgres://box:5433/journal Prefer Anyone
            postgres://box:5432/journal Prefer Anyone
            postgres://one:5432,two:5433/journal Prefer Anyone
            postgres:///run/postgresql:5432/journal Prefer Anyone
            postgres://box:5432/me Prefer Anyone
            cannot reach journal postgres: invalid connection string: invalid value for option `port`; check the URL, and that the server runs and lets you in
            cannot reach journal postgres: invalid connection string: unknown option `colour`; check the URL, and that the server runs and lets you in
            cannot reach journal postgres: expected a URL that begins with postgres://; check the URL, and that the server runs and lets you in
        "#]],
    );
}

#[test]
fn protection_is_what_the_url_says() {
    check(
        &[
            "postgres://box/j?sslmode=disable",
            "postgres://box/j?sslmode=prefer",
            "postgres://box/j?sslmode=require",
            "postgres://box/j?sslmode=require&sslrootcert=/etc/my%20roots.pem",
            "postgres://box/j?sslrootcert=system&sslmode=verify-ca",
            "postgres://box/j?sslmode=disable&sslmode=verify-full",
            "postgres://box/j?sslmode=maybe",
            "postgres://box/j?sslrootcert=%zz",
        ],
        expect![[r#"
            postgres://box:5432/j Disable Anyone
            postgres://box:5432/j Prefer Anyone
            postgres://box:5432/j Require Anyone
            postgres://box:5432/j Require Authority(File("/etc/my roots.pem"))
            postgres://box:5432/j Require Authority(System)
            postgres://box:5432/j Require AuthorityAndName(System)
            cannot reach journal postgres://box:5432/j: sslmode is "maybe"; expected disable, prefer, require, verify-ca or verify-full; check the URL, and that the server runs and lets you in
            cannot reach journal postgres://box:5432/j: "%zz" has a percent sign without two digits; check the URL, and that the server runs and lets you in
        "#]],
    );
}

proptest! {
    #[test]
    fn every_text_comes_back_and_holds_no_nul(text in "[\0\u{1a}01a-z\\PC]*", other in "[\0\u{1a}01]*") {
        for text in [&text, &other] {
            prop_assert!(!stored(text).contains('\0'));
            prop_assert_eq!(&restored(stored(text).into_owned()), text);
        }
        prop_assert_eq!(stored(&text) == stored(&other), text == other);
    }
}

#[test]
fn an_ordinary_text_is_stored_as_it_is() {
    assert!(matches!(stored(r#"{"path":"a\u0000b"}"#), std::borrow::Cow::Borrowed(_)));
    assert_eq!(restored("a\u{1a}z\u{1a}".to_owned()), "a\u{1a}z\u{1a}");
}
