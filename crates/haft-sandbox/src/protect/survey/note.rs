//! What a survey knows, in bytes, so that another process can conclude it. What the command had open is gone then; which
//! file was which, and what was in the small ones, is not. It deliberately guesses nothing: a note that is not whole is none.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copies::Copies;
use super::directory::{Identity, Kind, Moment, State};
use super::elders::Elders;
use super::look::{Bounds, Entry, Look, OpenRoot, Place};
use super::report::{Holding, Means, Undone};
use super::{Survey, SurveyCache};
use crate::protect::ProtectedNames;
use crate::protect::pattern::Extent;
use crate::wire::{Reader, Writer};

/// What a note begins with. Another build may read it.
const FORMAT: u8 = 1;

/// Concludes surveys of commands whose process is gone, the oldest first. `ended` is when nothing of them was alive any
/// more: what was changed later is not their work. Returns what was undone, and what could not be looked at.
pub(crate) fn settle(
    notes: &[Vec<u8>],
    quarantine: Option<&Path>,
    ended: Option<Moment>,
) -> (Vec<Undone>, Vec<String>) {
    let cache = SurveyCache::default();
    let (mut undone, mut problems) = (Vec::new(), Vec::new());
    let mut elders: Vec<Survey> = Vec::new();
    for note in notes {
        let survey = decode(note).and_then(|noted| noted.reopen(&cache, quarantine, ended));
        match survey {
            Ok(Some(mut survey)) => {
                let older = elders.iter().map(|elder| (elder.roots.as_slice(), &elder.before));
                survey.elders = Elders::remembered(older, &survey.roots);
                undone.extend(survey.conclude());
                elders.push(survey);
            }
            Ok(None) => {}
            Err(err) => problems.push(format!(
                "what a command had under way when its haft was killed cannot be known: {err}; look through what is new \
                 under protected names before you go on"
            )),
        }
    }
    (undone, problems)
}

/// Returns when the last helper marked the end of all commands in its file, if it could.
pub(crate) fn moment_of_end(file: BorrowedFd<'_>) -> io::Result<Option<Moment>> {
    let state = State::of_open(file)?;
    Ok((state.size_bytes > 0).then_some(state.modified))
}

/// What a note says.
struct Noted {
    roots: Vec<(PathBuf, Identity)>,
    names: ProtectedNames,
    holding: Holding,
    entries: Vec<Entry>,
    copies: Copies,
}

impl Survey {
    /// Returns what another process needs to conclude this.
    pub(super) fn encode(&self) -> io::Result<Vec<u8>> {
        let mut note = Writer::default();
        note.byte(FORMAT);
        note.count(self.roots.len());
        for root in &self.roots {
            note.text(root.path.as_os_str());
            identity(&mut note, State::of_open(root.directory.as_fd())?.identity);
        }
        note.count(self.names.patterns().count());
        self.names.patterns().for_each(|pattern| note.text(OsStr::new(pattern)));
        note.byte(match self.means.holding {
            Holding::Pinning => 0,
            Holding::Comparing => 1,
        });
        note.count(self.before.entries.len());
        self.before.entries.iter().for_each(|it| entry(&mut note, it));
        note.count(self.copies.iter().count());
        for (path, content) in self.copies.iter() {
            note.text(path.as_os_str());
            note.text(OsStr::from_bytes(content));
        }
        Ok(note.finish())
    }
}

fn identity(note: &mut Writer, identity: Identity) {
    note.number(identity.device);
    note.number(identity.inode);
}

fn entry(note: &mut Writer, entry: &Entry) {
    let Entry { path, pattern, place, state, target } = entry;
    note.text(path.as_os_str());
    note.count(*pattern);
    note.byte(match place {
        Place::Inside => 0,
        Place::End { extent: Extent::Tree, has_parent: false } => 1,
        Place::End { extent: Extent::Tree, has_parent: true } => 2,
        Place::End { extent: Extent::Name, has_parent: false } => 3,
        Place::End { extent: Extent::Name, has_parent: true } => 4,
    });
    note.byte(match state.kind {
        Kind::Directory => 0,
        Kind::File => 1,
        Kind::Symlink => 2,
        Kind::Other => 3,
    });
    identity(note, state.identity);
    for moment in [state.modified, state.changed] {
        note.number(moment.seconds.cast_unsigned());
        note.number(moment.nanoseconds.cast_unsigned());
    }
    for number in [state.size_bytes, state.mode.into(), state.owner.into(), state.links] {
        note.number(number);
    }
    note.byte(target.is_some().into());
    if let Some(target) = target {
        note.text(OsStr::from_bytes(target.to_bytes()));
    }
}

fn decode(note: &[u8]) -> io::Result<Noted> {
    let mut reader = Reader::new(note);
    if reader.byte()? != FORMAT {
        return Err(malformed());
    }
    let roots = (0..reader.count()?)
        .map(|_| Ok((PathBuf::from(reader.text()?), read_identity(&mut reader)?)))
        .collect::<io::Result<_>>()?;
    let patterns: Vec<String> = (0..reader.count()?)
        .map(|_| reader.text()?.into_string().map_err(|_| malformed()))
        .collect::<io::Result<_>>()?;
    let names = ProtectedNames::new(patterns).map_err(io::Error::other)?;
    let holding = if reader.is_set()? { Holding::Comparing } else { Holding::Pinning };
    let entries =
        (0..reader.count()?).map(|_| read_entry(&mut reader)).collect::<io::Result<_>>()?;
    let copies = (0..reader.count()?)
        .map(|_| {
            let path = PathBuf::from(reader.text()?);
            Ok((path, Arc::from(reader.text()?.into_vec())))
        })
        .collect::<io::Result<_>>()?;
    if !reader.is_empty() {
        return Err(malformed());
    }
    Ok(Noted { roots, names, holding, entries, copies })
}

fn read_identity(reader: &mut Reader<'_>) -> io::Result<Identity> {
    Ok(Identity { device: reader.number()?, inode: reader.number()? })
}

fn read_entry(reader: &mut Reader<'_>) -> io::Result<Entry> {
    let path = PathBuf::from(reader.text()?);
    let pattern = usize::try_from(reader.count()?).map_err(|_| malformed())?;
    let place = match reader.byte()? {
        0 => Place::Inside,
        1 => Place::End { extent: Extent::Tree, has_parent: false },
        2 => Place::End { extent: Extent::Tree, has_parent: true },
        3 => Place::End { extent: Extent::Name, has_parent: false },
        4 => Place::End { extent: Extent::Name, has_parent: true },
        _ => return Err(malformed()),
    };
    let kind = match reader.byte()? {
        0 => Kind::Directory,
        1 => Kind::File,
        2 => Kind::Symlink,
        3 => Kind::Other,
        _ => return Err(malformed()),
    };
    let identity = read_identity(reader)?;
    let mut moment = || -> io::Result<Moment> {
        let seconds = reader.number()?.cast_signed();
        Ok(Moment { seconds, nanoseconds: reader.number()?.cast_signed() })
    };
    let (modified, changed) = (moment()?, moment()?);
    let size_bytes = reader.number()?;
    let (mode, owner) = (reader.small_number()?, reader.small_number()?);
    let links = reader.number()?;
    let state = State { identity, kind, modified, changed, size_bytes, mode, owner, links };
    let target = if reader.is_set()? {
        Some(CString::new(reader.text()?.into_vec()).map_err(|_| malformed())?)
    } else {
        None
    };
    Ok(Entry { path, pattern, place, state, target })
}

impl Noted {
    /// Opens what is still there of the roots. One that was replaced as a whole was replaced by somebody else, since no
    /// command can.
    fn reopen(
        self,
        cache: &SurveyCache,
        quarantine: Option<&Path>,
        ended: Option<Moment>,
    ) -> io::Result<Option<Survey>> {
        let mut roots = Vec::new();
        for (path, identity) in self.roots {
            let Ok(directory) = File::open(&path) else { continue };
            if State::of_open(directory.as_fd())?.identity == identity {
                roots.push(OpenRoot { path, directory: OwnedFd::from(directory) });
            }
        }
        if roots.is_empty() {
            return Ok(None);
        }
        let means = Means {
            holding: self.holding,
            hidden: Vec::new(),
            quarantine: quarantine.map(Path::to_path_buf),
        };
        Ok(Some(Survey {
            roots,
            names: self.names,
            cache: cache.clone(),
            means,
            bounds: Bounds::DEFAULT,
            before: Arc::new(Look::remembered(self.entries)),
            elders: Elders::none(),
            copies: self.copies,
            pins: Vec::new(),
            note: None,
            ended,
        }))
    }
}

fn malformed() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "its note is not whole, or of another build of haft")
}
