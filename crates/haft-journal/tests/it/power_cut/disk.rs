//! A disk that keeps what was synced, and of everything else whatever chance decides: names, lengths, and each sector by
//! itself, so that pages are torn. It can be laid out as files at any moment.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

use super::trace::Change;

const SECTOR_BYTES: usize = 512;

/// The part of the unsynced changes that is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Loss {
    All,
    None,
    /// Chance decides, by this seed.
    Some(u64),
}

/// Numbers that follow from a seed (splitmix64).
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Files beneath one directory, and what is certain of them.
pub(super) struct Disk {
    home: PathBuf,
    /// Whatever had a name once.
    contents: Vec<Contents>,
    files: BTreeMap<PathBuf, Name<usize>>,
    directories: BTreeMap<PathBuf, Name<()>>,
    /// Of the syncs that are under way, by process: what each covers.
    syncs: HashMap<u32, Covered>,
}

/// The files that a name led to, one after the other; before that there was none.
struct Name<T> {
    led_to: Vec<Option<T>>,
    /// How many of these changes are on disk for certain.
    certain: usize,
}

#[derive(Default)]
struct Contents {
    /// The content that is on the disk for certain.
    synced: Vec<u8>,
    /// The writes since then.
    pending: Vec<Pending>,
    /// How much was ever done to it.
    done: usize,
}

/// The changes that a sync covers.
enum Covered {
    Contents { file: usize, done: usize },
    Names { files: Vec<(PathBuf, usize)>, directories: Vec<(PathBuf, usize)> },
}

#[derive(Clone)]
enum Pending {
    Sector { offset: usize, data: Vec<u8> },
    Truncate { bytes: usize },
}

impl Disk {
    pub(super) fn new(home: &Path) -> Self {
        Self {
            home: home.to_owned(),
            contents: Vec::new(),
            files: BTreeMap::new(),
            directories: BTreeMap::new(),
            syncs: HashMap::new(),
        }
    }

    /// Does what a process did.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Create { path } => drop(self.file(path)),
            Change::MakeDirectory { path } => {
                self.directories.entry(path.clone()).or_default().lead_to(Some(()));
            }
            Change::Write { path, offset, data } => {
                self.change(path, sectors(*offset as usize, data));
            }
            Change::Truncate { path, bytes } => {
                self.change(path, vec![Pending::Truncate { bytes: *bytes as usize }]);
            }
            Change::SyncBegin { process, path } => {
                let covered = self.covered(path);
                self.syncs.insert(*process, covered);
            }
            Change::Sync { process, .. } => {
                let covered = self.syncs.remove(process).expect("a sync ends after it began");
                self.sync(covered);
            }
            Change::Remove { path } => {
                self.files.entry(path.clone()).or_default().lead_to(None);
            }
            Change::Said { .. } => {}
        }
    }

    /// Returns what the name leads to, which is made if there is nothing.
    fn file(&mut self, path: &Path) -> usize {
        let name = self.files.entry(path.to_owned()).or_default();
        name.now().unwrap_or_else(|| {
            self.contents.push(Contents::default());
            name.lead_to(Some(self.contents.len() - 1));
            self.contents.len() - 1
        })
    }

    fn change(&mut self, path: &Path, changes: Vec<Pending>) {
        let file = self.file(path);
        self.contents[file].done += changes.len();
        self.contents[file].pending.extend(changes);
    }

    fn covered(&mut self, path: &Path) -> Covered {
        if self.files.contains_key(path) {
            let file = self.file(path);
            return Covered::Contents { file, done: self.contents[file].done };
        }
        Covered::Names {
            files: within(path, &self.files),
            directories: within(path, &self.directories),
        }
    }

    fn sync(&mut self, covered: Covered) {
        match covered {
            Covered::Contents { file, done } => self.contents[file].sync(done),
            Covered::Names { files, directories } => {
                for (path, done) in files {
                    self.files.entry(path).or_default().sync(done);
                }
                for (path, done) in directories {
                    self.directories.entry(path).or_default().sync(done);
                }
            }
        }
    }

    /// Writes the files as they are found when the power is back.
    pub(super) fn lay_out(&self, place: &Path, loss: &Loss) {
        let mut chance = Chance::of(loss);
        let mut lost = Vec::new();
        for (path, name) in &self.directories {
            match chance.choose(name) {
                Some(()) => std::fs::create_dir(self.moved(path, place)).unwrap(),
                None => lost.push(path.clone()),
            }
        }
        for (path, name) in &self.files {
            let is_lost = lost.iter().any(|directory| path.starts_with(directory));
            // The first process that opens the log makes its index anew.
            let is_index = path.extension().is_some_and(|extension| extension == "db-shm");
            let Some(file) = chance.choose(name).filter(|_| !is_lost && !is_index) else {
                continue;
            };
            let mut contents = self.contents[file].synced.clone();
            for pending in self.contents[file].pending.iter().filter(|_| chance.strikes()) {
                pending.apply(&mut contents);
            }
            std::fs::write(self.moved(path, place), contents).unwrap();
        }
    }

    fn moved(&self, path: &Path, place: &Path) -> PathBuf {
        place.join(path.strip_prefix(&self.home).unwrap())
    }
}

/// Returns the names in a directory, and how often each was changed.
fn within<T>(directory: &Path, names: &BTreeMap<PathBuf, Name<T>>) -> Vec<(PathBuf, usize)> {
    let names = names.iter().filter(|(path, _)| path.parent() == Some(directory));
    names.map(|(path, name)| (path.clone(), name.led_to.len())).collect()
}

impl<T> Default for Name<T> {
    fn default() -> Self {
        Self { led_to: Vec::new(), certain: 0 }
    }
}

impl<T: Copy> Name<T> {
    fn lead_to(&mut self, now: Option<T>) {
        self.led_to.push(now);
    }

    fn now(&self) -> Option<T> {
        self.after(self.led_to.len())
    }

    /// Returns what it led to after so many changes.
    fn after(&self, changes: usize) -> Option<T> {
        changes.checked_sub(1).and_then(|last| self.led_to[last])
    }

    fn sync(&mut self, done: usize) {
        // Another sync may have begun later and ended earlier.
        self.certain = self.certain.max(done);
    }
}

impl Contents {
    fn sync(&mut self, done: usize) {
        // Another sync may have begun later and ended earlier.
        let synced = self.done - self.pending.len();
        for pending in self.pending.drain(..done.saturating_sub(synced)) {
            pending.apply(&mut self.synced);
        }
    }
}

/// Decides about each thing that is not certain.
enum Chance {
    Never,
    Always,
    Random(Random),
}

impl Chance {
    fn of(loss: &Loss) -> Self {
        match loss {
            Loss::All => Self::Never,
            Loss::None => Self::Always,
            Loss::Some(seed) => Self::Random(Random::new(*seed)),
        }
    }

    /// Returns whether something that was done reached the disk.
    fn strikes(&mut self) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Random(random) => random.below(2) == 0,
        }
    }

    /// Returns what a name leads to when the power is back.
    fn choose<T: Copy>(&mut self, name: &Name<T>) -> Option<T> {
        let uncertain = name.led_to.len() - name.certain;
        name.after(match self {
            Self::Never => name.certain,
            Self::Always => name.led_to.len(),
            Self::Random(random) => name.certain + random.below(uncertain as u64 + 1) as usize,
        })
    }
}

impl Pending {
    fn apply(&self, contents: &mut Vec<u8>) {
        match self {
            Self::Truncate { bytes } => contents.resize(*bytes, 0),
            Self::Sector { offset, data } => {
                let end = offset + data.len();
                if contents.len() < end {
                    contents.resize(end, 0);
                }
                contents[*offset..end].copy_from_slice(data);
            }
        }
    }
}

/// Cuts a write where sectors of the disk end.
fn sectors(offset: usize, data: &[u8]) -> Vec<Pending> {
    let mut sectors = Vec::new();
    let (mut at, mut rest) = (offset, data);
    while !rest.is_empty() {
        let length = (SECTOR_BYTES - at % SECTOR_BYTES).min(rest.len());
        let (sector, after) = rest.split_at(length);
        sectors.push(Pending::Sector { offset: at, data: sector.to_vec() });
        (at, rest) = (at + length, after);
    }
    sectors
}
