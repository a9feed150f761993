//! Round trips of everything that crosses the socket, and refusal of everything else.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn text() -> impl Strategy<Value = OsString> {
    vec(1_u8..=255, 0..40).prop_map(OsString::from_vec)
}

proptest! {
    #[test]
    fn a_specification_comes_through_whole(
        program in text(),
        args in vec(text(), 0..6),
        env in vec((text(), text()), 0..6),
    ) {
        let spec = Spec { program, args, env };
        prop_assert_eq!(Spec::decode(&spec.encode()).unwrap(), spec);
    }

    #[test]
    fn a_cut_specification_is_refused(args in vec(text(), 1..6), cut in 1_usize..8) {
        let spec = Spec { program: "x".into(), args, env: Vec::new() };
        let bytes = spec.encode();
        prop_assert!(Spec::decode(&bytes[..bytes.len() - cut]).is_err());
    }

    #[test]
    fn no_bytes_make_the_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = Spec::decode(&bytes);
    }
}

#[test]
fn replies_come_through_whole() {
    let stages = [Stage::Setup, Stage::Directory, Stage::Missing, Stage::Denied, Stage::Execute];
    let failed = stages.map(|stage| Reply::Failed(stage, -7));
    let others = [
        Reply::Forked(1),
        Reply::Started,
        Reply::Exited(255),
        Reply::Signalled(9),
        Reply::Survivors(i32::MAX),
    ];
    for reply in failed.into_iter().chain(others) {
        assert_eq!(Reply::decode(reply.encode()).unwrap(), reply);
    }
}

#[test]
fn unknown_replies_are_refused() {
    assert!(Reply::decode([6, 0, 0, 0, 0, 0]).is_err());
    assert!(Reply::decode([1, 5, 0, 0, 0, 0]).is_err());
}
