use expect_test::{Expect, expect};

use super::*;

fn check(text: &str, expect: Expect) {
    let told =
        SessionId::parse(text).map_or_else(|err| err.to_string(), |id| format!("{:x}", id.bits()));
    expect.assert_eq(&told);
}

#[test]
fn an_id_is_its_prefix_and_26_digits() {
    check("ses_01k65atf2dbsq71081jangbhpq", expect!["1998aad3c4d5e6e70810192ab05c6d7"]);
    check("ses_7zzzzzzzzzzzzzzzzzzzzzzzzz", expect!["ffffffffffffffffffffffffffffffff"]);
    check(
        "ses_8zzzzzzzzzzzzzzzzzzzzzzzzz",
        expect![[
            r#""ses_8zzzzzzzzzzzzzzzzzzzzzzzzz" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#
        ]],
    );
    check(
        "ses_7zzzzzzzzzzzzzzzzzzzzzzzzu",
        expect![[
            r#""ses_7zzzzzzzzzzzzzzzzzzzzzzzzu" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#
        ]],
    );
    check(
        "ses_7ZZZZZZZZZZZZZZZZZZZZZZZZZ",
        expect![[
            r#""ses_7ZZZZZZZZZZZZZZZZZZZZZZZZZ" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#
        ]],
    );
    check(
        "ses_7zzz",
        expect![[
            r#""ses_7zzz" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#
        ]],
    );
    check(
        "msg_01k65atf2dbsq71081jangbhpq",
        expect![[
            r#""msg_01k65atf2dbsq71081jangbhpq" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#
        ]],
    );
    check(
        &"x".repeat(200),
        expect![[
            r#""xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" is no id of a session: expected ses_ and 26 digits and letters, such as ses_01k652pf2dbsqq10cjmetcbnq7"#
        ]],
    );
}

#[test]
fn ids_sort_as_their_bits_do() {
    let bits = [0, 1, 31, 32, 1 << 80, (1 << 80) + 1, u128::MAX >> 1, u128::MAX];
    let ids = bits.map(PartId::from_bits);
    assert!(ids.is_sorted());
    assert_eq!(ids.map(|id| id.bits()), bits);
}

#[test]
fn the_run_of_a_session_has_its_name() {
    let id = SessionId::from_bits(7);
    assert_eq!(id.run().as_str(), id.as_str());
}
