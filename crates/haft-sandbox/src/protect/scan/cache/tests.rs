//! File times that the cache trusts.

use super::super::directory::{FileIdentity, FileTime, InodeState, ScannedKind};
use super::is_settled;

const NOW: FileTime = FileTime { seconds: 1_000, nanoseconds: 500_000_000 };

fn state(modified: (i64, i64), changed: (i64, i64)) -> InodeState {
    let moment = |(seconds, nanoseconds)| FileTime { seconds, nanoseconds };
    InodeState {
        identity: FileIdentity { device: 1, inode: 1 },
        kind: ScannedKind::Directory,
        modified: moment(modified),
        changed: moment(changed),
        size_bytes: 0,
        mode: 0o755,
        owner: 0,
        links: 2,
    }
}

#[test]
fn a_directory_that_was_just_changed_is_read_again() {
    let check = |modified, changed, expect: bool| {
        assert_eq!(is_settled(&state(modified, changed), NOW), expect, "{modified:?} {changed:?}");
    };
    check((1_000, 479_999_999), (1_000, 479_999_999), true);
    check((1_000, 480_000_000), (1_000, 480_000_000), false);
    check((1_000, 500_000_000), (1_000, 500_000_000), false);
    // Either of the two times counts. A time in the future is not trusted.
    check((1, 1), (1_000, 490_000_000), false);
    check((2_000, 1), (1, 1), false);
    check((999, 600_000_000), (999, 600_000_000), true);
    // Whole seconds are less precise.
    check((999, 0), (999, 0), false);
    check((997, 0), (997, 0), true);
    check((i64::MIN, 0), (i64::MIN, 0), true);
}
