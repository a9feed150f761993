//! A disk that keeps what was synced, and of everything else whatever chance decides: names, lengths, and each sector by
//! itself, so that pages are torn. It can be laid out as files at any moment.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::trace::Change;

const SECTOR_BYTES: usize = 512;

/// What is lost of that which was not synced.
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
    files: BTreeMap<PathBuf, File>,
    directories: BTreeMap<PathBuf, Name>,
}

#[derive(Clone, Default)]
struct File {
    name: Name,
    /// What is there for certain.
    synced: Vec<u8>,
    /// What was done to it since.
    pending: Vec<Pending>,
}

/// Whether a name is there.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Name {
    /// It was made, and its directory was not synced since.
    #[default]
    Made,
    Certain,
    /// It was removed, and its directory was not synced since.
    Removed,
}

#[derive(Clone)]
enum Pending {
    Sector { offset: usize, data: Vec<u8> },
    Truncate { bytes: usize },
}

impl Disk {
    pub(super) fn new(home: &Path) -> Self {
        Self { home: home.to_owned(), files: BTreeMap::new(), directories: BTreeMap::new() }
    }

    /// Does what a process did.
    pub(super) fn apply(&mut self, change: &Change) {
        match change {
            Change::Create { path } => {
                let file = self.files.entry(path.clone()).or_default();
                if file.name == Name::Removed {
                    *file = File::default();
                }
            }
            Change::MakeDirectory { path } => {
                self.directories.insert(path.clone(), Name::Made);
            }
            Change::Write { path, offset, data } => {
                let file = self.files.entry(path.clone()).or_default();
                file.pending.extend(sectors(*offset as usize, data));
            }
            Change::Truncate { path, bytes } => {
                let file = self.files.entry(path.clone()).or_default();
                file.pending.push(Pending::Truncate { bytes: *bytes as usize });
            }
            Change::Sync { path } => self.sync(path),
            Change::Remove { path } => {
                if let Some(file) = self.files.get_mut(path) {
                    file.name = Name::Removed;
                }
            }
            Change::Said { .. } => {}
        }
    }

    fn sync(&mut self, path: &Path) {
        if let Some(file) = self.files.get_mut(path) {
            for pending in std::mem::take(&mut file.pending) {
                pending.apply(&mut file.synced);
            }
            return;
        }
        let is_within = |other: &Path| other.parent() == Some(path);
        self.files.retain(|name, file| !(is_within(name) && file.name == Name::Removed));
        let names = self.files.iter_mut().map(|(path, file)| (path, &mut file.name));
        for (_, name) in names.chain(self.directories.iter_mut()).filter(|(it, _)| is_within(it)) {
            *name = Name::Certain;
        }
    }

    /// Writes the files as they are found when the power is back.
    pub(super) fn lay_out(&self, place: &Path, loss: &Loss) {
        let mut chance = Chance::of(loss);
        let mut lost = Vec::new();
        for (path, name) in &self.directories {
            match chance.keeps(*name) {
                true => std::fs::create_dir(self.moved(path, place)).unwrap(),
                false => lost.push(path.clone()),
            }
        }
        for (path, file) in &self.files {
            let is_lost = lost.iter().any(|directory| path.starts_with(directory));
            // The index of the log is made anew by whoever opens it first.
            let is_index = path.extension().is_some_and(|extension| extension == "db-shm");
            if is_lost || is_index || !chance.keeps(file.name) {
                continue;
            }
            let mut contents = file.synced.clone();
            for pending in file.pending.iter().filter(|_| chance.strikes()) {
                pending.apply(&mut contents);
            }
            std::fs::write(self.moved(path, place), contents).unwrap();
        }
    }

    fn moved(&self, path: &Path, place: &Path) -> PathBuf {
        place.join(path.strip_prefix(&self.home).unwrap())
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

    fn keeps(&mut self, name: Name) -> bool {
        match name {
            Name::Certain => true,
            Name::Made => self.strikes(),
            Name::Removed => !self.strikes(),
        }
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
