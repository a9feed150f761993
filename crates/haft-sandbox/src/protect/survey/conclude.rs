//! What two looks differ in, and putting it right. It deliberately trusts only what cannot have been changed: a file that
//! a mount held, known by its identity wherever it is now, or one in the very state that it was in before.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::Survey;
use super::directory::{Identity, Kind, State};
use super::judge::{Judge, Verdict};
use super::look::{Entry, Links, Look, Place, beneath};
use super::report::{Holding, Remedy, SurveyError, Undone};
use crate::protect::pattern::Extent;
use crate::protect::undo::{Taken, Undoer, read_small};

/// Looks again, and undoes what is new, changed or missing.
pub(super) fn conclude(survey: &Survey) -> Vec<Undone> {
    let before = &survey.before.entries;
    let links = before.iter().filter_map(|it| Some((it.path.as_path(), it.target.as_deref()?)));
    let links: HashMap<&Path, &CStr> = links.collect();
    let states: HashSet<State> = before.iter().map(|entry| entry.state).collect();
    // A new link is undone itself, and what it leads to is not its fault.
    let was_there = |entry: &Entry| {
        states.contains(&entry.state)
            || links.get(entry.path.as_path()).copied() == entry.target.as_deref()
    };
    let mut undone = Vec::new();
    for look in 1..=LOOKS_MAX {
        let mut after = Look::take(survey.scope(), Links::If(&was_there));
        let problem = after.problem.take();
        let mut conclusion = Conclusion::new(survey, &after);
        conclusion.undo_new();
        let made_room = conclusion.undone.iter().any(|it| !matches!(it.how, Remedy::Failed(_)));
        if problem.is_none() {
            // Only a complete look knows what is missing.
            conclusion.restore_missing();
        }
        undone.append(&mut conclusion.undone);
        match problem {
            // What was in the way of a complete look may have been taken away just now.
            Some(_) if made_room && look < LOOKS_MAX => {}
            Some(problem) => {
                undone.push(unknown(survey, &problem));
                return undone;
            }
            None => return undone,
        }
    }
    undone
}

/// How often it is looked again, because what was undone was in the way.
pub(crate) const LOOKS_MAX: usize = 8;

/// Reports that there may be more than was found. The next command of these roots is refused until it can be known.
fn unknown(survey: &Survey, problem: &SurveyError) -> Undone {
    let path = survey.roots.first().map(|root| root.path.clone()).unwrap_or_default();
    Undone { path, pattern: String::new(), how: Remedy::Failed(problem.to_string()) }
}

struct Conclusion<'a> {
    survey: &'a Survey,
    after: &'a Look,
    /// What was there before, by its path.
    by_path: HashMap<&'a Path, &'a Entry>,
    /// The same by which file it is. Names that share one share its state.
    by_identity: HashMap<Identity, &'a Entry>,
    /// What is there now. A file can be under a protected name still, because a directory around it was renamed.
    there: HashSet<State>,
    undoer: Undoer<'a>,
    undone: Vec<Undone>,
}

/// How an entry stands to what was there before.
enum Standing<'a> {
    /// It is as it was, also all that is in it.
    Held,
    /// It is a directory that was there, in which anything can have happened.
    Known,
    /// It was not there, or was something else; then what it was.
    New(Option<&'a Entry>),
}

impl<'a> Conclusion<'a> {
    fn new(survey: &'a Survey, after: &'a Look) -> Conclusion<'a> {
        let before = &survey.before.entries;
        Conclusion {
            survey,
            after,
            by_path: before.iter().map(|entry| (entry.path.as_path(), entry)).collect(),
            by_identity: before.iter().map(|entry| (entry.state.identity, entry)).collect(),
            there: after.entries.iter().map(|entry| entry.state).collect(),
            undoer: Undoer::new(survey.means.quarantine.as_deref()),
            undone: Vec::new(),
        }
    }

    /// Goes through what is there now, directories before what is in them.
    fn undo_new(&mut self) {
        let judge = Judge { scope: self.survey.scope(), look: self.after };
        let after = self.after;
        let mut settled: Option<&Path> = None;
        let mut held: Option<&Path> = None;
        for entry in &after.entries {
            let is_in =
                |directory: Option<&Path>| directory.is_some_and(|it| entry.path.starts_with(it));
            if is_in(settled) || (is_in(held) && !self.has_other_names(entry)) {
                continue;
            }
            let previous = match self.standing(entry) {
                Standing::Held if entry.state.kind == Kind::Directory => {
                    held = Some(&entry.path);
                    continue;
                }
                Standing::Held | Standing::Known => continue,
                Standing::New(_) if self.is_later_work(&entry.state) => continue,
                Standing::New(previous) => previous,
            };
            let content = previous.and_then(|previous| self.survey.copies.get(&previous.path));
            let verdict = match previous {
                // Nothing of another kind may take the place of what was there.
                Some(previous) if previous.state.kind != entry.state.kind => Verdict::Undo,
                Some(_) | None => judge.judge(entry, content.map(|content| &**content)),
            };
            match verdict {
                Verdict::Keep if entry.state.kind == Kind::Directory && is_whole(entry) => {
                    settled = Some(&entry.path);
                }
                Verdict::Keep | Verdict::Enter => {}
                Verdict::Undo => {
                    settled = Some(&entry.path);
                    self.undo(entry, previous);
                }
            }
        }
    }

    /// Tells whether something was changed when the command was dead already. Nobody can set that time by hand.
    fn is_later_work(&self, state: &State) -> bool {
        self.survey.ended.is_some_and(|ended| state.changed > ended)
    }

    fn standing(&self, entry: &Entry) -> Standing<'a> {
        let same_place = self.by_path.get(entry.path.as_path()).copied();
        let same_file = self.by_identity.get(&entry.state.identity).copied();
        let same_file = same_file.filter(|before| before.state.kind == entry.state.kind);
        match entry.state.kind {
            Kind::Directory => self.standing_of_directory(entry, same_place, same_file),
            Kind::Symlink => {
                let is_alike = |before: &Entry| before.target == entry.target;
                let is_there = same_file.is_some_and(is_alike)
                    || same_place.is_some_and(is_alike)
                    || self.survey.elders.had(entry);
                if is_there { Standing::Held } else { Standing::New(same_place) }
            }
            Kind::File | Kind::Other => match same_file {
                // A mount held it where it was. By another of its names it can have been changed.
                Some(before)
                    if self.is_pinned() && before.path == entry.path && before.state.links < 2 =>
                {
                    Standing::Held
                }
                Some(before) if before.state == entry.state => Standing::Held,
                Some(_) | None if self.has_same_content(entry, same_place) => Standing::Held,
                Some(_) | None => Standing::New(same_place),
            },
        }
    }

    fn standing_of_directory(
        &self,
        entry: &Entry,
        same_place: Option<&'a Entry>,
        same_file: Option<&'a Entry>,
    ) -> Standing<'a> {
        match (self.survey.means.holding, same_file) {
            (Holding::Pinning, Some(before)) if is_tree_end(before) && is_tree_end(entry) => {
                Standing::Held
            }
            (Holding::Pinning | Holding::Comparing, Some(_)) => Standing::Known,
            // A directory comes back as another one.
            (Holding::Comparing, None)
                if same_place.is_some_and(|it| it.state.kind == Kind::Directory) =>
            {
                Standing::Known
            }
            (Holding::Pinning | Holding::Comparing, None) => Standing::New(same_place),
        }
    }

    /// Tells whether a file had several names, by one of which it can have been changed although a mount held another.
    fn has_other_names(&self, entry: &Entry) -> bool {
        let before = self.by_path.get(entry.path.as_path());
        before.is_some_and(|before| before.state.kind == Kind::File && before.state.links > 1)
    }

    fn is_pinned(&self) -> bool {
        match self.survey.means.holding {
            Holding::Pinning => true,
            Holding::Comparing => false,
        }
    }

    /// Tells whether the file at a place holds what the file at this place held.
    fn has_same_content(&self, entry: &Entry, before: Option<&Entry>) -> bool {
        let is_alike = |before: &&Entry| {
            (before.state.mode, before.state.kind) == (entry.state.mode, Kind::File)
        };
        let Some(before) = before.filter(is_alike).filter(|_| entry.state.kind == Kind::File)
        else {
            return false;
        };
        let Some(copy) = self.survey.copies.get(&before.path) else { return false };
        let Some((root, relative)) = beneath(&self.survey.roots, &entry.path) else { return false };
        let Some(root) = self.survey.roots.get(root) else { return false };
        let read = read_small(root.directory.as_fd(), relative, before.state.size_bytes);
        matches!(read, Ok(Some((content, _))) if content == **copy)
    }

    /// Takes an entry away and puts back what was in its place.
    fn undo(&mut self, entry: &Entry, previous: Option<&Entry>) {
        let taken = self.take_away(&entry.path);
        let how = match taken {
            Err(error) => Remedy::Failed(error.to_string()),
            Ok(Taken::Quarantined(path)) => Remedy::Quarantined(path),
            Ok(Taken::Removed) => Remedy::Removed,
        };
        self.report(entry, how);
        if let Some(previous) = previous {
            self.restore(previous);
        }
    }

    fn take_away(&mut self, path: &Path) -> std::io::Result<Taken> {
        let Some((index, relative)) = beneath(&self.survey.roots, path) else {
            return Err(std::io::Error::from(std::io::ErrorKind::InvalidInput));
        };
        let survey = self.survey;
        let root = survey.roots.get(index).expect("the path was just found beneath this root");
        self.undoer.take_away(root.directory.as_fd(), relative)
    }

    /// Puts back what is gone. What a mount held and is gone was taken by somebody else, who may.
    fn restore_missing(&mut self) {
        let survey = self.survey;
        for entry in &survey.before.entries {
            let is_held_link = entry.place == Place::Inside;
            let could_go =
                !self.is_pinned() || (entry.state.kind == Kind::Symlink && !is_held_link);
            let is_at_its_place = entry.path.symlink_metadata().is_ok();
            if could_go && !is_at_its_place && !self.was_taken_later(&entry.path) {
                self.restore(entry);
            }
        }
    }

    /// Tells whether names went out of the directory around a path, or the next that is left of it, when the command was dead
    /// already. Which ones is not told; then what is missing is taken for somebody's choice.
    fn was_taken_later(&self, path: &Path) -> bool {
        if self.survey.ended.is_none() {
            return false;
        }
        let around = path.ancestors().skip(1).find_map(|directory| {
            let (root, relative) = beneath(&self.survey.roots, directory)?;
            let root = self.survey.roots.get(root)?;
            let relative = CString::new(relative.as_os_str().as_bytes()).ok()?;
            State::at(root.directory.as_fd(), &relative).ok()
        });
        around.is_none_or(|state| self.is_later_work(&state))
    }

    fn restore(&mut self, before: &Entry) {
        // What another command may have planted is not put back, since its own conclusion takes it away.
        if self.there.contains(&before.state) || !self.survey.elders.vouch_for(before) {
            return;
        }
        let Some((index, relative)) = beneath(&self.survey.roots, &before.path) else { return };
        let survey = self.survey;
        let Some(root) = survey.roots.get(index) else { return };
        let root = root.directory.as_fd();
        let restored = match (&before.target, survey.copies.get(&before.path)) {
            (Some(target), _) => self.undoer.restore_link(root, relative, target),
            (None, Some(content)) => {
                self.undoer.restore_file(root, relative, (content, before.state.mode))
            }
            // Directories come back with what is in them; of pipes and large files there is no copy.
            (None, None) => return,
        };
        let how = match restored {
            Ok(()) => Remedy::Restored,
            Err(error) => Remedy::Failed(error.to_string()),
        };
        self.report(before, how);
    }

    fn report(&mut self, entry: &Entry, how: Remedy) {
        let pattern = self.survey.names.text(entry.pattern).to_owned();
        self.undone.push(Undone { path: entry.path.clone(), pattern, how });
    }
}

fn is_tree_end(entry: &Entry) -> bool {
    matches!(entry.place, Place::End { extent: Extent::Tree, .. })
}

/// Tells whether an entry stands for all that is beneath it.
fn is_whole(entry: &Entry) -> bool {
    !matches!(entry.place, Place::End { extent: Extent::Name, .. })
}

#[cfg(test)]
mod tests;
