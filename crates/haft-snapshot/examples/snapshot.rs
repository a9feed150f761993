//! Measures records of a directory: the first one, one without changes, one after a change with a
//! full scan, one with the changed path named, and one of that path alone. Prints each sample in
//! nanoseconds, as `case<TAB>entrant<TAB>nanoseconds`. Stores are created beside the directory and
//! removed. One file of the directory is changed and restored. It checks nothing.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Instant;

use haft_sandbox::{InodeKind, Root};
use haft_snapshot::{ChangeScope, RecordDurability, RecordOptions, SnapshotStore, TreeId};

/// Default number of samples of each kind of record.
const ROUNDS: usize = 41;

/// Default number of samples of the first record, which takes long.
const FIRST_ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let directory = PathBuf::from(std::env::args_os().nth(1).ok_or("expected a directory")?);
    let rounds =
        std::env::args().nth(2).map(|rounds| rounds.parse()).transpose()?.unwrap_or(ROUNDS);
    let root = Root::open(&directory)?;
    let changing = first_file(&root)?;
    let original = std::fs::read(root.path().join(&changing))?;
    let measured = measure(&root, &changing, &original, rounds);
    std::fs::write(root.path().join(&changing), original)?;
    measured
}

fn measure(
    root: &Root,
    changing: &Path,
    original: &[u8],
    rounds: usize,
) -> Result<(), Box<dyn Error>> {
    let parent = root.path().parent().ok_or("expected a directory beside which there is room")?;
    let options = RecordOptions::default();
    let mut first = Vec::new();
    // All stores are removed at the end: some file systems create files slowly soon after others
    // were removed.
    let path = |round| parent.join(format!("haft-snapshot-measured-{round}"));
    for round in 0..FIRST_ROUNDS {
        let store = SnapshotStore::open(&path(round))?;
        first.push(timed(|| store.record(root, &options, ChangeScope::Anything))?.0);
    }
    let store = SnapshotStore::open(&path(0))?;
    // Files that were changed just before the first record are read once more.
    let mut tree = store.record(root, &options, ChangeScope::Anything)?.tree;
    let (mut same, mut anything, mut beneath) = (Vec::new(), Vec::new(), Vec::new());
    let (alone, mut only) = (
        RecordOptions { durability: RecordDurability::Later, ..RecordOptions::default() },
        Vec::new(),
    );
    for round in 0..rounds {
        same.push(timed(|| store.record(root, &options, ChangeScope::Anything))?.0);
        change(root, changing, original, 2 * round)?;
        let (taken_ns, recorded) = timed(|| store.record(root, &options, ChangeScope::Anything))?;
        anything.push(taken_ns);
        require_new(&mut tree, recorded.tree)?;
        change(root, changing, original, 2 * round + 1)?;
        let paths = [changing.to_path_buf()];
        let changed = ChangeScope::Beneath { previous: tree, paths: &paths };
        let (taken_ns, recorded) = timed(|| store.record(root, &options, changed))?;
        beneath.push(taken_ns);
        require_new(&mut tree, recorded.tree)?;
        change(root, changing, original, 2 * rounds + round)?;
        only.push(timed(|| store.record(root, &alone, ChangeScope::Only { paths: &paths }))?.0);
    }
    let recorded = store.record(root, &options, ChangeScope::Anything)?;
    for round in 0..FIRST_ROUNDS {
        std::fs::remove_dir_all(path(round))?;
    }
    for (name, samples) in [
        ("one change, looked for", anything),
        ("one change, its file named", beneath),
        ("one change, its file alone", only),
        ("no change", same),
        ("first record", first),
    ] {
        for nanoseconds in samples {
            println!("{} names\t{name}\t{nanoseconds}", recorded.files);
        }
    }
    Ok(())
}

/// Returns the first file of the deepest first directories.
fn first_file(root: &Root) -> Result<PathBuf, Box<dyn Error>> {
    let mut path = PathBuf::new();
    loop {
        let entries = root.list(&path)?;
        let wanted =
            |kind| entries.iter().find(move |entry| entry.kind == kind && entry.name != ".git");
        if let Some(directory) = wanted(InodeKind::Directory) {
            path.push(&directory.name);
        } else {
            let file = wanted(InodeKind::Regular).ok_or("expected a file")?;
            return Ok(path.join(&file.name));
        }
    }
}

fn change(root: &Root, path: &Path, original: &[u8], round: usize) -> std::io::Result<()> {
    std::fs::write(root.path().join(path), [original, round.to_string().as_bytes()].concat())
}

fn require_new(tree: &mut TreeId, recorded: TreeId) -> Result<(), Box<dyn Error>> {
    if std::mem::replace(tree, recorded) == recorded {
        return Err("a change was not recorded".into());
    }
    Ok(())
}

fn timed<T, E>(run: impl FnOnce() -> Result<T, E>) -> Result<(u128, T), E> {
    let begun = Instant::now();
    let answer = run()?;
    Ok((begun.elapsed().as_nanos(), answer))
}
