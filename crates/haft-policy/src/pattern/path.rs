//! Patterns over resolved paths, name by name, on bytes and without case folding. The file system is not looked
//! at: whether a name is a directory is not known here.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component as PathComponent, Path, PathBuf};

use haft_contract::PatternVariables;

use super::{MatchWidth, PatternFault};
use crate::access::{PathReach, PathSubject, components};
use crate::glob::Glob;

/// A path pattern; several alternatives where a variable stands for several directories, none where it is empty.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    alternatives: Vec<Anchored>,
}

#[derive(Clone, Debug)]
struct Anchored {
    anchor: Anchor,
    names: Vec<Name>,
    /// Without glob signs: what lies beneath matches too.
    is_plain: bool,
    /// Written as one name without a slash: a deny or ask of it holds at any depth, as in ignore files.
    is_bare_name: bool,
    spelled: Spelled,
}

#[derive(Clone, Copy, Debug)]
enum Anchor {
    WorkspaceRoot,
    FileSystemRoot,
}

/// How many bytes a pattern spells out before its first glob sign, and from where they count.
#[derive(Clone, Copy, Debug)]
enum Spelled {
    FromWorkspaceRoot(usize),
    FromFileSystemRoot(usize),
}

impl Anchor {
    /// Returns the part of a path that a pattern speaks of, if the path lies where the pattern begins.
    fn part_of(self, path: &PathSubject) -> Option<&Path> {
        match self {
            Self::FileSystemRoot => Some(path.absolute.as_path()),
            Self::WorkspaceRoot => path.relative.as_deref(),
        }
    }
}

/// The last name of a pattern that is not `**`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LastName<'a> {
    Literal(&'a [u8]),
    Glob(&'a Glob),
    /// Any name.
    Any,
}

#[derive(Clone, Debug)]
enum Name {
    Literal(Vec<u8>),
    Glob(Glob),
    /// `**`: any number of names, also none.
    AnyDepth,
}

impl PathPattern {
    /// Compiles the pattern of a rule.
    pub(crate) fn compile(text: &str, variables: &PatternVariables) -> Result<Self, PatternFault> {
        if text.starts_with('~') {
            return Err(PatternFault::Home);
        }
        if text.trim().is_empty() {
            return Err(PatternFault::Blank);
        }
        if let Some((values, rest)) =
            variables.split(text).map_err(|err| PatternFault::UnknownVariable(err.name))?
        {
            return Self::compile_expanded(text, values, rest);
        }
        let names = parse_names(text)?;
        let anchored = if text.starts_with('/') {
            let spelled = Spelled::FromFileSystemRoot(spelled_bytes(&names));
            Anchored::new(Anchor::FileSystemRoot, names, spelled)
        } else {
            let spelled = Spelled::FromWorkspaceRoot(spelled_bytes(&names));
            let is_bare_name = !text.contains('/')
                && matches!(names.as_slice(), [Name::Literal(_) | Name::Glob(_)]);
            Anchored { is_bare_name, ..Anchored::new(Anchor::WorkspaceRoot, names, spelled) }
        };
        Ok(Self { alternatives: vec![anchored] })
    }

    /// Compiles the pattern of a requirement, where `*` and `**` reach no further than the workspace roots.
    pub(crate) fn compile_requirement(
        text: &str,
        variables: &PatternVariables,
    ) -> Result<Self, PatternFault> {
        match text {
            "*" => Self::compile("**", variables),
            _ => Self::compile(text, variables),
        }
    }

    /// Returns how many bytes of the path the pattern spells out, or `None` if it does not match.
    pub(crate) fn fit(&self, path: &PathSubject, reading: MatchWidth) -> Option<usize> {
        self.alternatives
            .iter()
            .filter(|alternative| alternative.matches(path, reading))
            // They count from the file system root, so that relative and absolute patterns compare.
            .map(|alternative| match alternative.spelled {
                Spelled::FromFileSystemRoot(0) | Spelled::FromWorkspaceRoot(0) => 0,
                // The slash that an absolute path starts with.
                Spelled::FromFileSystemRoot(bytes) => 1 + bytes,
                Spelled::FromWorkspaceRoot(bytes) => path.root_bytes() + bytes,
            })
            .max()
    }

    /// Returns whether there can be a path beneath this one that matches.
    pub(crate) fn may_fit_beneath(&self, directory: &PathSubject) -> bool {
        self.alternatives.iter().any(|Anchored { names, is_bare_name, anchor, .. }| {
            let Some(directory) = anchor.part_of(directory) else { return false };
            if *is_bare_name {
                return true;
            }
            // The counts of names that the parts so far may stand for.
            let mut taken = with_skipped_stars(names, BTreeSet::from([0]));
            for part in components(directory) {
                let step = |at: usize| match names.get(at) {
                    Some(Name::AnyDepth) => Some(at),
                    Some(name) => name.matches(part).then_some(at + 1),
                    None => None,
                };
                taken = with_skipped_stars(names, taken.into_iter().filter_map(step).collect());
            }
            taken.into_iter().any(|at| at < names.len())
        })
    }

    /// Returns what the pattern says about the last name of a path that begins to match.
    ///
    /// A path that is not beneath a matching one begins to match only if its last name matches one of these.
    pub(crate) fn last_names(&self) -> impl Iterator<Item = LastName<'_>> {
        self.alternatives.iter().filter_map(|it| match it.last()? {
            (_, Name::Literal(literal)) => Some(LastName::Literal(literal)),
            (_, Name::Glob(glob)) if glob.is_everything() => Some(LastName::Any),
            (_, Name::Glob(glob)) => Some(LastName::Glob(glob)),
            (_, Name::AnyDepth) => None,
        })
    }

    /// Returns whether the entries of a directory match whatever their names are, as those of `secrets` match `secrets/*`.
    pub(crate) fn picks_all_in(&self, directory: &PathSubject) -> bool {
        self.alternatives.iter().any(|it| {
            let Some((at, Name::Glob(glob))) = it.last() else { return false };
            let Some(directory) = it.anchor.part_of(directory) else { return false };
            let parent = it.names.get(..at).unwrap_or_default();
            glob.is_everything() && names_match(parent, components(directory), false)
        })
    }

    /// Returns whether the pattern can match a path in one of the roots.
    pub(crate) fn may_concern_roots(&self, roots: &[PathBuf]) -> bool {
        roots.iter().any(|root| {
            let root = PathSubject::in_root(root, Path::new(""));
            self.fit(&root, MatchWidth::Wide).is_some() || self.may_fit_beneath(&root)
        })
    }

    /// Returns whether the pattern is one name that a deny matches at any depth.
    pub(crate) fn is_bare_name(&self) -> bool {
        self.alternatives.iter().all(|it| it.is_bare_name)
    }

    /// Returns the directories that the pattern names with all that is beneath them, from each of these roots where it does
    /// not begin at the top.
    pub(crate) fn directories(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        self.alternatives.iter().flat_map(|it| it.directories(roots)).collect()
    }

    /// Returns whether no path can match, because a variable is empty.
    pub(crate) fn is_void(&self) -> bool {
        self.alternatives.is_empty()
    }

    fn compile_expanded(text: &str, values: &[PathBuf], rest: &str) -> Result<Self, PatternFault> {
        if !rest.is_empty() && !rest.starts_with('/') {
            return Err(PatternFault::AfterVariable);
        }
        let below = parse_names(rest)?;
        let is_workspace = text.starts_with("{workspace}");
        let alternative = |value: &PathBuf| {
            let has_parent = value.components().any(|part| part == PathComponent::ParentDir);
            if !value.is_absolute() || has_parent {
                return Err(PatternFault::VariableValue(value.to_owned()));
            }
            // The names of a variable's value are literal, whatever signs they hold.
            let names = components(value).map(|name| Name::Literal(name.to_vec()));
            let names: Vec<Name> = names.chain(below.iter().cloned()).collect();
            // Beneath the workspace a pattern is as specific as the same pattern written relative to it.
            let spelled = if is_workspace {
                Spelled::FromWorkspaceRoot(spelled_bytes(&below))
            } else {
                Spelled::FromFileSystemRoot(spelled_bytes(&names))
            };
            Ok(Anchored::new(Anchor::FileSystemRoot, names, spelled))
        };
        let alternatives = values.iter().map(alternative).collect::<Result<_, PatternFault>>()?;
        Ok(Self { alternatives })
    }
}

impl Anchored {
    fn new(anchor: Anchor, names: Vec<Name>, spelled: Spelled) -> Self {
        let is_plain = names.iter().all(|name| matches!(name, Name::Literal(_)));
        Self { anchor, names, is_plain, is_bare_name: false, spelled }
    }

    fn matches(&self, path: &PathSubject, reading: MatchWidth) -> bool {
        if reading == MatchWidth::Narrow && path.reach == PathReach::Tree {
            // Everything beneath the path must match, too.
            let is_any = |name: &Name| match name {
                Name::Literal(_) => false,
                Name::Glob(glob) => glob.is_everything(),
                Name::AnyDepth => true,
            };
            let stars = self.names.iter().rposition(|name| matches!(name, Name::AnyDepth));
            let after_stars = stars.and_then(|at| self.names.get(at..));
            if !self.is_plain && !after_stars.is_some_and(|names| names.iter().all(is_any)) {
                return false;
            }
        }
        let Some(path) = self.anchor.part_of(path) else {
            // Outside the roots, a name that is denied at any depth is denied, too. The directories above it say nothing: a
            // rule about `tmp` is not about `/tmp/a`.
            let is_named = self.is_bare_name && reading == MatchWidth::Wide;
            let name = path.absolute.file_name().filter(|_| is_named);
            return name.is_some_and(|name| {
                self.names.iter().all(|pattern| pattern.matches(name.as_bytes()))
            });
        };
        let mut parts = components(path);
        if self.is_bare_name && reading == MatchWidth::Wide {
            return parts.any(|part| self.names.iter().all(|name| name.matches(part)));
        }
        let reaches_beneath = self.is_plain || reading == MatchWidth::Wide;
        names_match(&self.names, parts, reaches_beneath)
    }

    /// Returns the last name that is not `**`, and its place.
    fn last(&self) -> Option<(usize, &Name)> {
        let mut names = self.names.iter().enumerate();
        names.rfind(|(_, name)| !matches!(name, Name::AnyDepth))
    }

    fn directories(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let literals = self.names.iter().map_while(|name| match name {
            Name::Literal(literal) => Some(OsStr::from_bytes(literal)),
            Name::Glob(_) | Name::AnyDepth => None,
        });
        let below: PathBuf = literals.collect();
        let ends_there = |name: &Name| matches!(name, Name::AnyDepth);
        let is_whole = self.names.iter().skip(below.iter().count()).all(ends_there);
        match self.anchor {
            _ if !is_whole => Vec::new(),
            Anchor::FileSystemRoot => vec![Path::new("/").join(below)],
            Anchor::WorkspaceRoot => roots.iter().map(|root| root.join(&below)).collect(),
        }
    }
}

/// Returns whether the names match all parts of a path, or with `reaches_beneath` the first of them.
fn names_match<'p>(
    names: &[Name],
    mut parts: impl Iterator<Item = &'p [u8]> + Clone,
    reaches_beneath: bool,
) -> bool {
    // This is the algorithm of `Glob::matches`, with names for characters and `**` for the star.
    let mut name_at = 0;
    let mut retry = None;
    loop {
        let fits = match names.get(name_at) {
            Some(Name::AnyDepth) => {
                name_at += 1;
                retry = Some((name_at, parts.clone()));
                continue;
            }
            Some(name) => parts.next().is_some_and(|part| name.matches(part)),
            None if reaches_beneath => return true,
            None if parts.next().is_none() => return true,
            None => false,
        };
        if fits {
            name_at += 1;
            continue;
        }
        let Some((after_stars, stars_end)) = retry.as_mut() else { return false };
        if stars_end.next().is_none() {
            return false;
        }
        name_at = *after_stars;
        parts = stars_end.clone();
    }
}

/// Adds what is reached where `**` stands for no name.
fn with_skipped_stars(names: &[Name], mut taken: BTreeSet<usize>) -> BTreeSet<usize> {
    for (at, name) in names.iter().enumerate() {
        if matches!(name, Name::AnyDepth) && taken.contains(&at) {
            taken.insert(at + 1);
        }
    }
    taken
}

impl Name {
    fn matches(&self, part: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => literal == part,
            Self::Glob(glob) => glob.matches(part),
            Self::AnyDepth => true,
        }
    }
}

fn parse_names(text: &str) -> Result<Vec<Name>, PatternFault> {
    let mut names = Vec::new();
    for text in text.split('/').filter(|name| !name.is_empty() && *name != ".") {
        if text == "**" {
            names.push(Name::AnyDepth);
            continue;
        }
        if text.contains("**") {
            return Err(PatternFault::StarsInName);
        }
        let glob = Glob::parse(text)?;
        names.push(match glob.literal() {
            Some(literal) if literal == b".." => return Err(PatternFault::ParentDirectory),
            Some(literal) => Name::Literal(literal),
            None => Name::Glob(glob),
        });
    }
    Ok(names)
}

/// Counts the bytes before the first glob sign, slashes between names included and a first or last one not.
fn spelled_bytes(names: &[Name]) -> usize {
    let mut bytes = 0;
    for name in names {
        let slash = usize::from(bytes > 0);
        match name {
            Name::Literal(literal) => bytes += slash + literal.len(),
            Name::Glob(glob) => {
                let prefix = glob.literal_prefix().len();
                return if prefix > 0 { bytes + slash + prefix } else { bytes };
            }
            Name::AnyDepth => return bytes,
        }
    }
    bytes
}
