//! The files that a cache has a result for.

use super::*;

fn stamp(changed_ns: i128) -> InodeStamp {
    InodeStamp { device: 1, inode: 2, size_bytes: 3, modified_ns: 4, changed_ns, mode: 0o100_644 }
}

fn check_settled(changed_ns: i128, taken_ns: i128, expected: bool) {
    assert_eq!(is_stable(&stamp(changed_ns), taken_ns), expected, "{changed_ns} {taken_ns}");
}

#[test]
fn files_changed_in_the_same_tick_or_later_are_not_spoken_for() {
    check_settled(99, 100, true);
    check_settled(100, 100, false);
    check_settled(101, 100, false);
    check_settled(i128::MAX, 100, false);
}

#[test]
fn whole_seconds_may_stand_for_two() {
    let second = SECOND_NS;
    check_settled(5 * second, 6 * second + second - 1, false);
    check_settled(5 * second, 7 * second, true);
    check_settled(5 * second + 1, 5 * second + 2, true);
}

fn entries() -> Vec<CachedEntry> {
    let content = ContentId(ObjectId([7; ID_BYTES]));
    let entry = |name: &str, known| CachedEntry { name: name.into(), stamp: stamp(5), known };
    vec![entry("a", CachedContent::Content(content)), entry("b", CachedContent::Oversized)]
}

/// Writes a cache of one directory, and returns its location.
fn written() -> (tempfile::TempDir, ObjectId) {
    let directory = tempfile::tempdir().unwrap();
    let objects = ObjectStore::open(directory.path()).unwrap();
    let fingerprint = ObjectId::of(b"these bounds");
    let mut fresh =
        RecordCacheWriter::begin_cache(&objects, directory.path(), fingerprint).unwrap();
    fresh.add(Path::new("some/where"), TreeId(ObjectId([1; ID_BYTES])), &entries());
    fresh.finish(&RecordCache::default()).unwrap();
    (directory, fingerprint)
}

#[test]
fn a_cache_is_read_back() {
    let (directory, fingerprint) = written();
    let cache = RecordCache::load(directory.path(), fingerprint).unwrap_or_default();
    let cached = cache.directory(Path::new("some/where")).unwrap();
    assert_eq!(cached.tree, TreeId(ObjectId([1; ID_BYTES])));
    let known = |name: &str, stamp: InodeStamp| cache.known(cached, OsStr::new(name), &stamp);
    assert_eq!(
        known("a", stamp(5)),
        Some(CachedContent::Content(ContentId(ObjectId([7; ID_BYTES]))))
    );
    assert_eq!(known("b", stamp(5)), Some(CachedContent::Oversized));
    assert_eq!(known("c", stamp(5)), None);
    for other in [
        InodeStamp { device: 0, ..stamp(5) },
        InodeStamp { inode: 0, ..stamp(5) },
        InodeStamp { size_bytes: 0, ..stamp(5) },
        InodeStamp { modified_ns: 0, ..stamp(5) },
        InodeStamp { changed_ns: 6, ..stamp(5) },
        InodeStamp { mode: 0, ..stamp(5) },
    ] {
        assert_eq!(known("a", other), None, "{other:?}");
    }
}

#[test]
fn other_bounds_have_a_cache_of_their_own() {
    let (directory, _) = written();
    assert!(RecordCache::load(directory.path(), ObjectId::of(b"other bounds")).is_none());
}

#[test]
fn a_cache_without_news_is_not_written() {
    let (directory, fingerprint) = written();
    let former = RecordCache::load(directory.path(), fingerprint).unwrap_or_default();
    fs::write(directory.path().join(CACHE_NAME), "untouched").unwrap();
    let objects = ObjectStore::open(directory.path()).unwrap();
    let finish = |is_news: bool| {
        let mut fresh =
            RecordCacheWriter::begin_cache(&objects, directory.path(), fingerprint).unwrap();
        fresh.add(Path::new("some/where"), TreeId(ObjectId([1; ID_BYTES])), &entries());
        if is_news {
            fresh.mark_changed();
        }
        fresh.finish(&former).unwrap();
        fs::read(directory.path().join(CACHE_NAME)).unwrap() == b"untouched"
    };
    assert!(finish(false));
    assert!(!finish(true));
    assert_eq!(fs::read_dir(directory.path().join("tmp")).unwrap().count(), 0);
}
