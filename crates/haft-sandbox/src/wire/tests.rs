//! Round trips of every message that crosses a socket, and rejection of all other input.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::channel::CommandChannel;
use crate::confinement::{Mechanisms, Network, ResourceLimits};
use crate::exit::ExceededLimit;

fn text() -> impl Strategy<Value = OsString> {
    vec(1_u8..=255, 0..40).prop_map(OsString::from_vec)
}

fn paths() -> impl Strategy<Value = Vec<PathBuf>> {
    vec(text().prop_map(PathBuf::from), 0..4)
}

fn channel() -> impl Strategy<Value = Option<CommandChannel>> {
    let channel = prop_oneof![Just(CommandChannel::Descriptor), Just(CommandChannel::Stdio)];
    proptest::option::of(channel)
}

fn bounds() -> impl Strategy<Value = WireConfinement> {
    let network = prop_oneof![Just(Network::Loopback), Just(Network::Proxied), Just(Network::Host)];
    let pinned = (text(), any::<bool>())
        .prop_map(|(path, is_writable)| WireMount { path: path.into(), is_writable });
    let cover = (text(), any::<[bool; 2]>()).prop_map(|(path, [is_readable, keeps_place])| {
        WireCover { path: path.into(), is_readable, keeps_place }
    });
    let resources =
        (any::<[u64; 3]>(), any::<[u32; 2]>()).prop_map(|(bytes, counts)| ResourceLimits {
            memory_bytes: bytes[0],
            temp_bytes: bytes[1],
            file_bytes: bytes[2],
            processes: counts[0],
            open_files: counts[1],
        });
    let mechanisms = any::<[bool; 3]>().prop_map(|[namespaces, landlock, seccomp]| Mechanisms {
        namespaces,
        landlock,
        seccomp,
    });
    let lists = (paths(), paths(), paths(), vec(pinned, 0..3), vec(cover, 0..3));
    let kinds = (network, mechanisms, any::<bool>());
    (lists, text(), kinds, resources).prop_map(
        |((writable, readable, hidden, pinned, covers), home, kinds, resources)| WireConfinement {
            writable,
            readable,
            hidden,
            mounts: pinned,
            covers,
            takes_covers: kinds.2,
            home: home.into(),
            network: kinds.0,
            resources,
            mechanisms: kinds.1,
            wants_group: kinds.2,
        },
    )
}

proptest! {
    #[test]
    fn a_specification_comes_through_whole(
        program in text(),
        args in vec(text(), 0..6),
        env in vec((text(), text()), 0..6),
        bounds in proptest::option::of(bounds()),
        channel in channel(),
    ) {
        let spec = WireCommandSpec { program, args, env, channel, bounds };
        prop_assert_eq!(WireCommandSpec::decode(&spec.encode()).unwrap(), spec);
    }

    #[test]
    fn a_cut_specification_is_refused(bounds in bounds(), cut in 1_usize..8) {
        let (program, bounds) = ("x".into(), Some(bounds));
        let spec = WireCommandSpec { program, args: vec![], env: vec![], channel: None, bounds };
        let bytes = spec.encode();
        prop_assert!(WireCommandSpec::decode(&bytes[..bytes.len() - cut]).is_err());
    }

    #[test]
    fn no_bytes_make_a_decoder_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = WireCommandSpec::decode(&bytes);
        let _ = HelperReply::decode(&bytes);
    }

    #[test]
    fn every_mechanism_is_told_from_the_others(set in any::<[bool; 5]>()) {
        let [namespaces, landlock, seccomp, limits, process_bound] = set;
        let reply = HelperReply::Started(MechanismFlags { namespaces, landlock, seccomp, limits, process_bound });
        prop_assert_eq!(HelperReply::decode(&reply.encode()).unwrap(), reply);
    }
}

#[test]
fn replies_come_through_whole() {
    let applied = MechanismFlags { landlock: true, limits: true, ..MechanismFlags::default() };
    let failure = |stage| StartFailure { stage, errno: -7, at: "mounting /ä".to_owned() };
    let stages = [
        StartStage::Setup,
        StartStage::Confine,
        StartStage::Directory,
        StartStage::Missing,
        StartStage::Denied,
        StartStage::Execute,
    ];
    let failed = stages.map(|stage| HelperReply::Failed(failure(stage)));
    let others = [
        HelperReply::Ready(applied, None),
        HelperReply::Ready(applied, Some(failure(StartStage::Confine))),
        HelperReply::Supervising(2),
        HelperReply::Forked(1),
        HelperReply::Lacking(applied, None),
        HelperReply::Lacking(applied, Some(failure(StartStage::Setup))),
        HelperReply::Exceeded(ExceededLimit::Memory),
        HelperReply::Exceeded(ExceededLimit::Processes),
        HelperReply::Exited(255),
        HelperReply::Signalled(9),
        HelperReply::Clearing,
        HelperReply::Survivors(i32::MAX),
        HelperReply::Orphaned(9),
    ];
    for reply in failed.into_iter().chain(others) {
        assert_eq!(HelperReply::decode(&reply.encode()).unwrap(), reply);
    }
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let at = format!("x{}", "ä".repeat(2_000));
    let reply = HelperReply::Failed(StartFailure { stage: StartStage::Confine, errno: 1, at });
    let HelperReply::Failed(failure) = HelperReply::decode(&reply.encode()).unwrap() else {
        panic!()
    };
    assert_eq!(failure.at, format!("x{}", "ä".repeat(511)));
}

#[test]
fn unknown_replies_are_refused() {
    for frame in [
        [13, 0, 0, 0, 0, 0, 0, 0].as_slice(),
        &[4, 0, 0, 0, 0, 0, 0, 0],
        &[4, 0xe0, 0, 0, 0, 0, 0, 0],
        &[9, 0, 0, 0, 0, 0, 1, 0],
        &[9, 0, 0, 0, 0, 0, 0],
        &[6, 0, 2, 0, 0, 0, 0, 0],
    ] {
        assert!(HelperReply::decode(frame).is_err(), "{frame:?}");
    }
}
