use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// Prints how much of a text is a chunked body.
fn check(inputs: &[&str], expect: Expect) {
    let lines = inputs.iter().map(|input| {
        let mut body = HttpBodyTracker::new(HttpBodyFraming::Chunked);
        let taken = body.take(input.as_bytes());
        format!("{input:?}: {taken:?}, {:?}\n", body.end())
    });
    expect.assert_eq(&lines.collect::<String>());
}

#[test]
fn chunks() {
    check(
        &[
            "0\r\n\r\nGET",
            "3\r\nabc\r\n0\r\n\r\n",
            "00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nrest",
            "1;name=\"value\"\r\na\r\n0 \r\n\r\n",
            "3\r\nab",
        ],
        expect![[r#"
            "0\r\n\r\nGET": Ok(5), Ok(())
            "3\r\nabc\r\n0\r\n\r\n": Ok(13), Ok(())
            "00A\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\nrest": Ok(34), Ok(())
            "1;name=\"value\"\r\na\r\n0 \r\n\r\n": Ok(25), Ok(())
            "3\r\nab": Ok(5), Err(Incomplete)
        "#]],
    );
}

#[test]
fn chunks_that_others_read_otherwise() {
    check(
        &[
            "\r\n",
            "g\r\n",
            "-1\r\n",
            "+1\r\n",
            "0x1\r\n",
            " 1\r\n",
            "1\na\r\n",
            "1\r\nab\r\n",
            "1\r\na\n",
            "1;a\nb\r\n",
            "1;a\rb",
            "1;\0",
            "0\r\n\n",
            "0\r\nA: b\n",
            "fffffffffffffffff\r\n",
            "0\r\n\r\r",
        ],
        expect![[r#"
            "\r\n": Err(Chunk(13)), Err(Incomplete)
            "g\r\n": Err(Chunk(103)), Err(Incomplete)
            "-1\r\n": Err(Chunk(45)), Err(Incomplete)
            "+1\r\n": Err(Chunk(43)), Err(Incomplete)
            "0x1\r\n": Err(Chunk(120)), Err(Incomplete)
            " 1\r\n": Err(Chunk(32)), Err(Incomplete)
            "1\na\r\n": Err(Chunk(10)), Err(Incomplete)
            "1\r\nab\r\n": Err(Chunk(98)), Err(Incomplete)
            "1\r\na\n": Err(Chunk(10)), Err(Incomplete)
            "1;a\nb\r\n": Err(Chunk(10)), Err(Incomplete)
            "1;a\rb": Err(Chunk(98)), Err(Incomplete)
            "1;\0": Err(Chunk(0)), Err(Incomplete)
            "0\r\n\n": Err(Chunk(10)), Err(Incomplete)
            "0\r\nA: b\n": Err(Chunk(10)), Err(Incomplete)
            "fffffffffffffffff\r\n": Err(Chunk(102)), Err(Incomplete)
            "0\r\n\r\r": Err(Chunk(13)), Err(Incomplete)
        "#]],
    );
}

#[test]
fn lengths_are_exact() {
    let mut body = HttpBodyTracker::new(HttpBodyFraming::Length(5));
    assert_eq!(body.take(b"abc"), Ok(3));
    assert_eq!(body.end(), Err(HttpBodyError::Incomplete));
    assert_eq!(body.take(b"defg"), Ok(2));
    assert!(body.is_complete());
    assert_eq!(body.take(b"more"), Ok(0));
    for empty in [HttpBodyFraming::Empty, HttpBodyFraming::Length(0)] {
        assert!(HttpBodyTracker::new(empty).is_complete());
    }
    let mut endless = HttpBodyTracker::new(HttpBodyFraming::UntilEnd);
    assert_eq!((endless.take(b"all"), endless.end()), (Ok(3), Ok(())));
    assert!(!endless.is_complete());
}

#[test]
fn lines_and_trailers_are_bounded() {
    let trailer = |bytes: usize| format!("0\r\nA: {}\r\n\r\n", "b".repeat(bytes));
    // The empty line and the field's name count too.
    let longest = trailer(LINE_BYTES_MAX - 7);
    assert_eq!(
        HttpBodyTracker::new(HttpBodyFraming::Chunked).take(longest.as_bytes()),
        Ok(longest.len())
    );
    let longer = trailer(LINE_BYTES_MAX - 6);
    assert_eq!(
        HttpBodyTracker::new(HttpBodyFraming::Chunked).take(longer.as_bytes()),
        Err(HttpBodyError::TooLong)
    );
    let many: String = (0..10_000).map(|_| "1;x\r\na\r\n").collect();
    assert_eq!(
        HttpBodyTracker::new(HttpBodyFraming::Chunked).take(many.as_bytes()),
        Ok(many.len())
    );
}

fn framings() -> impl Strategy<Value = HttpBodyFraming> {
    prop_oneof![
        Just(HttpBodyFraming::Chunked),
        Just(HttpBodyFraming::UntilEnd),
        (0_u64..40).prop_map(HttpBodyFraming::Length),
    ]
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        framing in framings(),
        parts in prop::collection::vec(
            prop_oneof![
                prop::sample::select(vec!["0\r\n", "\r\n", "3\r\nabc\r\n", "1;e\r\na\r\n", "A: b\r\n"])
                    .prop_map(|part| part.as_bytes().to_vec()),
                prop::collection::vec(any::<u8>(), 0..4),
            ],
            0..12,
        ),
    ) {
        let bytes = parts.concat();
        let mut whole = HttpBodyTracker::new(framing);
        let taken = whole.take(&bytes);
        let mut piecewise = HttpBodyTracker::new(framing);
        let pieces: Result<Vec<usize>, HttpBodyError> =
            bytes.iter().map(|byte| piecewise.take(&[*byte])).collect();
        prop_assert_eq!(taken, pieces.map(|pieces| pieces.iter().sum()));
        prop_assert_eq!(whole.end(), piecewise.end());
    }

    #[test]
    fn what_is_chunked_is_found_whole(
        chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..300), 0..6),
        rest in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = Vec::new();
        for chunk in &chunks {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        let length = bytes.len();
        bytes.extend_from_slice(&rest);
        let mut body = HttpBodyTracker::new(HttpBodyFraming::Chunked);
        prop_assert_eq!(body.take(&bytes), Ok(length));
        prop_assert!(body.is_complete());
    }
}
