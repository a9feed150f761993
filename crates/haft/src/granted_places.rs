//! Directories and files outside the roots that requirements name: by `{user-data}`, by `{ad-hoc}`, or as absolute paths. Paths
//! resolve beneath them as beneath a root. Capabilities and rules judge every such path; this only says where paths can lead.

use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::{PatternVariables, RequirementSet};
use haft_policy::PathSubject;
use haft_sandbox::Root;

use crate::roots::WorkspaceRoots;

/// Files and directories that one connection can add by hand.
///
/// Limit (files): a further one is not added.
pub(crate) const AD_HOC_PLACES_MAX: usize = 64;

/// The pattern of the places that were added by hand, in requirements and rules.
pub const AD_HOC_PATTERN: &str = "{ad-hoc}";

/// Places outside the roots. Cloning is cheap; clones share the places that are added later.
#[derive(Clone, Debug, Default)]
pub(crate) struct GrantedPlaces {
    /// Those that requirements name.
    required: Arc<[GrantedPlace]>,
    /// Those that were added by hand. A place never changes, so that paths in it stay valid.
    ad_hoc: Arc<AdHocPlaces>,
}

#[derive(Debug)]
struct AdHocPlaces([OnceLock<GrantedPlace>; AD_HOC_PLACES_MAX]);

impl Default for AdHocPlaces {
    fn default() -> Self {
        Self([const { OnceLock::new() }; AD_HOC_PLACES_MAX])
    }
}

/// A directory, or a file in one.
#[derive(Debug)]
struct GrantedPlace {
    /// The directory, or the one that the file lies in.
    root: Root,
    /// The canonical path of the place.
    path: PathBuf,
    /// The path as it was spelled, which models repeat.
    spelled_path: PathBuf,
}

impl GrantedPlaces {
    /// Opens the places that requirements name. One that is not there is left out: a manifest may be shared by machines on
    /// which these places differ. One that lies in a root is reached there.
    pub(crate) fn open(
        requires: &RequirementSet,
        variables: &PatternVariables,
        roots: &[PathBuf],
    ) -> Self {
        let mut required: Vec<GrantedPlace> = Vec::new();
        for pattern in requires.fs.read.iter().chain(&requires.fs.write) {
            for base in outside_bases(pattern, variables) {
                let place = GrantedPlace::open(&base);
                let is_known =
                    |place: &GrantedPlace| required.iter().any(|known| known.path == place.path);
                let is_inside =
                    |place: &GrantedPlace| roots.iter().any(|root| place.path.starts_with(root));
                required.extend(place.filter(|place| !is_known(place) && !is_inside(place)));
            }
        }
        Self { required: required.into(), ad_hoc: Arc::default() }
    }

    /// Returns the same required places, with none that was added by hand.
    pub(crate) fn without_ad_hoc(&self) -> Self {
        Self { required: Arc::clone(&self.required), ad_hoc: Arc::default() }
    }

    /// Returns the same places, which do not share those that are added later.
    pub(crate) fn detached(&self) -> Self {
        let detached = self.without_ad_hoc();
        for path in self.ad_hoc_paths() {
            detached.add(&path);
        }
        detached
    }

    /// Adds a place by hand, and returns its canonical path. Returns `None` if it cannot be opened, or if there are too many.
    pub(crate) fn add(&self, path: &Path) -> Option<PathBuf> {
        let place = GrantedPlace::open(path)?;
        let canonical = place.path.clone();
        let mut place = Some(place);
        for slot in &self.ad_hoc.0 {
            if slot.get_or_init(|| place.take().expect("it was not put anywhere yet")).path
                == canonical
            {
                return Some(canonical);
            }
            // The slot had another place, or the place of a caller at the same time.
            if place.is_none() {
                return Some(canonical);
            }
        }
        None
    }

    /// Returns the canonical paths of the places that were added by hand.
    pub(crate) fn ad_hoc_paths(&self) -> Vec<PathBuf> {
        self.ad_hoc.0.iter().map_while(OnceLock::get).map(|place| place.path.clone()).collect()
    }

    /// Returns the canonical paths of all places.
    pub(crate) fn paths(&self) -> Vec<PathBuf> {
        self.iter().map(|(_, place)| place.path.clone()).collect()
    }

    /// Returns the place that an absolute path lies in by its spelling, and the path relative to the place's root.
    pub(crate) fn locate(&self, path: &Path) -> Option<(usize, &Root, PathBuf)> {
        self.iter().find_map(|(index, place)| {
            let names = [place.path.as_path(), place.spelled_path.as_path()];
            let beyond = names.into_iter().find_map(|name| path.strip_prefix(name).ok())?;
            // Joined to nothing, an empty rest would leave a slash at the end.
            let mut relative = place.path.strip_prefix(place.root.path()).ok()?.to_path_buf();
            relative.extend(beyond.components());
            Some((index, &place.root, relative))
        })
    }

    /// Returns the root of the place with this index.
    pub(crate) fn root(&self, index: usize) -> Option<&Root> {
        self.iter().find(|(known, _)| *known == index).map(|(_, place)| &place.root)
    }

    /// Returns the form of a path that rules and grants judge. A path that lies in a workspace root is judged as such.
    pub(crate) fn subject(
        &self,
        index: usize,
        relative: &Path,
        roots: &WorkspaceRoots,
    ) -> PathSubject {
        let absolute = match self.root(index) {
            Some(root) if relative.as_os_str().is_empty() => root.path().to_path_buf(),
            Some(root) => root.path().join(relative),
            None => relative.to_path_buf(),
        };
        let within = roots.all().find_map(|root| {
            let relative = absolute.strip_prefix(root.path()).ok()?;
            Some(PathSubject::in_root(root.path(), relative))
        });
        within.unwrap_or_else(|| PathSubject::outside_roots(absolute))
    }

    /// Returns the places with their indexes: the required ones first, and those that were added by hand after them.
    fn iter(&self) -> impl Iterator<Item = (usize, &GrantedPlace)> {
        let ad_hoc = self.ad_hoc.0.iter().map_while(OnceLock::get);
        self.required.iter().chain(ad_hoc).enumerate()
    }
}

impl GrantedPlace {
    fn open(spelled: &Path) -> Option<Self> {
        let path = spelled.canonicalize().ok()?;
        let metadata = path.metadata().ok()?;
        let directory = if metadata.is_dir() { path.as_path() } else { path.parent()? };
        // Nothing is left outside of everything.
        let root = (directory != Path::new("/")).then(|| Root::open(directory).ok()).flatten()?;
        Some(Self { root, path, spelled_path: spelled.to_path_buf() })
    }
}

/// Returns whether a pattern can name a place outside the roots.
pub(crate) fn is_outside_pattern(pattern: &str) -> bool {
    pattern.starts_with('/') || (pattern.starts_with('{') && !pattern.starts_with("{workspace}"))
}

/// Returns the longest paths without wildcards that a pattern outside the roots begins with.
fn outside_bases(pattern: &str, variables: &PatternVariables) -> Vec<PathBuf> {
    if !is_outside_pattern(pattern) {
        return Vec::new();
    }
    let (starts, rest) = match variables.split(pattern) {
        Ok(Some((values, rest))) => (values.to_vec(), rest),
        Ok(None) => (vec![PathBuf::from("/")], pattern),
        Err(_) => return Vec::new(),
    };
    let literal = Path::new(rest).components().filter_map(|component| match component {
        Component::Normal(name) => Some(name),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            None
        }
    });
    let literal: PathBuf = literal
        .take_while(|name| !name.to_string_lossy().contains(['*', '?', '[', '\\']))
        .collect();
    let joined = |start: PathBuf| {
        if literal.as_os_str().is_empty() { start } else { start.join(&literal) }
    };
    starts.into_iter().map(joined).collect()
}
