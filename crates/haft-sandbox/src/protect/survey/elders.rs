//! Which other commands were at work in the same directories when a survey was taken. What such a command had planted
//! under a protected name is in the survey like anything else, and must not come back when the command's own conclusion
//! has taken it away. It knows the commands of one process alone: this one, or one
//! that is gone.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::look::{Entry, Look, OpenRoot};

/// The surveys of this process that are not over.
#[derive(Debug, Clone, Default)]
pub(super) struct OpenSurveys {
    /// Held for the length of a few comparisons of paths.
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Those whose commands may run, as long as their tokens live.
    open: Vec<(Weak<()>, Arc<Baseline>)>,
    /// Those that are being taken.
    beginning: Vec<Weak<Beginning>>,
}

/// What was there before one command.
#[derive(Debug)]
struct Baseline {
    roots: Vec<PathBuf>,
    before: Arc<Look>,
}

/// A survey that is being taken.
#[derive(Debug)]
pub(super) struct Beginning {
    roots: Vec<PathBuf>,
    elders: Mutex<Vec<Arc<Baseline>>>,
}

/// The baselines of commands that ran already, in the same directories. Holding it keeps the own one open.
#[derive(Debug)]
pub(super) struct Elders {
    baselines: Vec<Arc<Baseline>>,
    _token: Arc<()>,
}

impl OpenSurveys {
    /// To be called before anything is looked at.
    pub(super) fn begin(&self, roots: &[OpenRoot]) -> Arc<Beginning> {
        let roots: Vec<PathBuf> = roots.iter().map(|root| root.path.clone()).collect();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.open.retain(|(token, _)| token.strong_count() > 0);
        let open = state.open.iter().map(|(_, baseline)| baseline);
        let elders = open.filter(|it| overlap(&it.roots, &roots)).cloned().collect();
        let beginning = Arc::new(Beginning { roots, elders: Mutex::new(elders) });
        state.beginning.retain(|it| it.strong_count() > 0);
        state.beginning.push(Arc::downgrade(&beginning));
        beginning
    }

    /// To be called when everything was looked at, and before the command starts.
    pub(super) fn open(&self, beginning: &Beginning, before: Arc<Look>) -> Elders {
        let baseline = Arc::new(Baseline { roots: beginning.roots.clone(), before });
        let token = Arc::new(());
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        // From now on the command may plant something that the others see.
        for other in state.beginning.iter().filter_map(Weak::upgrade) {
            if !std::ptr::eq(&raw const *other, beginning) && overlap(&other.roots, &baseline.roots)
            {
                let mut elders = other.elders.lock().unwrap_or_else(PoisonError::into_inner);
                elders.push(Arc::clone(&baseline));
            }
        }
        state.open.push((Arc::downgrade(&token), baseline));
        let mut elders = beginning.elders.lock().unwrap_or_else(PoisonError::into_inner);
        Elders { baselines: std::mem::take(&mut *elders), _token: token }
    }
}

impl Elders {
    pub(super) fn none() -> Elders {
        Elders { baselines: Vec::new(), _token: Arc::default() }
    }

    /// Returns those that concern the roots, of commands of another process.
    pub(super) fn remembered<'a>(
        older: impl Iterator<Item = (&'a [OpenRoot], &'a Arc<Look>)>,
        roots: &[OpenRoot],
    ) -> Elders {
        let paths = |roots: &[OpenRoot]| roots.iter().map(|root| root.path.clone()).collect();
        let roots: Vec<PathBuf> = paths(roots);
        let older = older
            .map(|(roots, before)| Baseline { roots: paths(roots), before: Arc::clone(before) });
        let baselines = older.filter(|it| overlap(&it.roots, &roots)).map(Arc::new).collect();
        Elders { baselines, _token: Arc::default() }
    }

    /// Tells whether something was there, as it is in the entry, before any of the other commands began.
    pub(super) fn vouch_for(&self, entry: &Entry) -> bool {
        self.baselines.iter().all(|baseline| match baseline.find(entry) {
            Some(Some(before)) => is_alike(before, entry),
            Some(None) => false,
            None => true,
        })
    }

    /// Tells whether an entry is what it was before one of the other commands began, which has put it back.
    pub(super) fn had(&self, entry: &Entry) -> bool {
        let mut found = self.baselines.iter().filter_map(|baseline| baseline.find(entry)?);
        found.any(|before| entry.target.is_some() && is_alike(before, entry))
    }
}

impl Baseline {
    /// Returns what was at the entry's place, if anything was; nothing if the place was not looked at.
    fn find(&self, entry: &Entry) -> Option<Option<&Entry>> {
        self.roots.iter().any(|root| entry.path.starts_with(root)).then(|| {
            let entries = &self.before.entries;
            let found = entries.binary_search_by(|it| it.path.cmp(&entry.path));
            found.ok().and_then(|index| entries.get(index))
        })
    }
}

fn is_alike(one: &Entry, other: &Entry) -> bool {
    match (&one.target, &other.target) {
        (Some(one), Some(other)) => one == other,
        (None, None) => one.state == other.state,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn overlap(some: &[PathBuf], others: &[PathBuf]) -> bool {
    let is_in = |one: &PathBuf, other: &PathBuf| one.starts_with(other) || other.starts_with(one);
    some.iter().any(|one| others.iter().any(|other| is_in(one, other)))
}
