//! The rules about paths as the sandbox asks for them: which access they leave a process at each path.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::{ConfinementReport, DecidingRule, WithheldAccess, WithheldPath};
use haft_policy::{PathDenials, PathSubject, ScopedRule, subjects_of};
use haft_sandbox::{PathAccess, PathRules, RuledPath, RuledPaths};

/// Denied paths that one envelope lists.
///
/// Limit (commands): the others are counted.
pub(crate) const WITHHELD_PATHS_MAX: usize = 20;

/// A name that no rule spells, for an entry that only rules about its directory concern.
const UNNAMED: &str = "\u{1}an entry that no rule names";

/// The paths that rules keep from one process.
#[derive(Debug)]
pub(crate) struct DeniedPaths {
    /// The rules, with the answers to them.
    denials: PathDenials,
    /// The workspace roots, as canonical paths.
    roots: Vec<PathBuf>,
}

impl DeniedPaths {
    /// Returns the paths that these rules keep from a process; `None` if they keep none.
    pub(crate) fn new(denials: PathDenials, roots: Vec<PathBuf>) -> Option<Arc<Self>> {
        (!denials.is_empty()).then(|| Arc::new(Self { denials, roots }))
    }

    /// Returns the rules as the sandbox asks for them.
    pub(crate) fn ruled_paths(self: &Arc<Self>) -> RuledPaths {
        let rules: Arc<dyn PathRules> = Arc::clone(self) as _;
        RuledPaths { roots: self.roots.clone(), rules: Some(rules) }
    }

    /// Returns a text that is the same for the same denied paths.
    pub(crate) fn fingerprint(&self) -> String {
        self.denials.fingerprint()
    }

    /// Returns the places outside the roots that a process must not read.
    pub(crate) fn outside(&self) -> Vec<PathBuf> {
        self.denials.outside(&self.roots)
    }

    /// Adds the paths that were kept from a process to the report about it.
    pub(crate) fn report(&self, denied: &[RuledPath], report: &mut ConfinementReport) {
        let mut withheld = denied.iter().filter_map(|denied| self.withheld_path(denied));
        report.withheld.extend(withheld.by_ref().take(WITHHELD_PATHS_MAX));
        report.withheld_unlisted = u64::try_from(withheld.count()).unwrap_or(u64::MAX);
    }

    /// Adds the denied paths that appeared while a process ran to the report about it.
    pub(crate) fn report_appeared(&self, appeared: &[RuledPath], report: &mut ConfinementReport) {
        let shown = appeared.iter().take(WITHHELD_PATHS_MAX);
        report.appeared.extend(shown.map(|path| self.shown_path(&path.path)));
    }

    /// Returns a denied path with the rule that denies it, for the envelope.
    pub(crate) fn withheld_path(&self, denied: &RuledPath) -> Option<WithheldPath> {
        let access = match denied.access {
            PathAccess::Nothing => WithheldAccess::Read,
            PathAccess::ReadOnly | PathAccess::Full => WithheldAccess::Write,
        };
        let named = denied.named_as.as_ref().unwrap_or(&denied.path);
        let rule =
            self.rule_at(named, access).or_else(|| self.rule_at(&named.join(UNNAMED), access));
        let ScopedRule { scope, rule } = rule?;
        let rule = DecidingRule {
            scope: scope.to_string(),
            permission: rule.permission,
            pattern: rule.pattern,
            action: rule.action.to_string(),
        };
        Some(WithheldPath { path: self.shown_path(&denied.path), access, rule })
    }

    /// Returns the rule that keeps a process from a path, if there is one.
    pub(crate) fn withheld_at(&self, path: &Path) -> Option<WithheldPath> {
        let (access, around) = (self.access(path), PathAccess::Full);
        let (path, named_as, identity) = (path.to_path_buf(), None, (0, 0));
        let denied = RuledPath { path, named_as, access, around, identity };
        if denied.is_denied() { self.withheld_path(&denied) } else { None }
    }

    /// Returns the paths that a shown path may stand for, one beneath each root.
    pub(crate) fn full_paths(&self, shown: &str) -> Vec<PathBuf> {
        let of_root = |root: &PathBuf| if shown == "." { root.clone() } else { root.join(shown) };
        self.roots.iter().map(of_root).collect()
    }

    /// Returns a path as messages show it.
    pub(crate) fn shown_path(&self, path: &Path) -> String {
        let subject = subjects_of(path, &self.roots).next();
        subject.map_or_else(|| path.display().to_string(), |subject| subject.to_string())
    }

    fn rule_at(&self, path: &Path, access: WithheldAccess) -> Option<ScopedRule> {
        subjects_of(path, &self.roots).find_map(|subject| match access {
            WithheldAccess::Read => self.denials.read_rule(&subject),
            WithheldAccess::Write => self.denials.write_rule(&subject),
        })
    }

    fn any(&self, path: &Path, is_true: impl Fn(&PathSubject) -> bool) -> bool {
        subjects_of(path, &self.roots).any(|subject| is_true(&subject))
    }
}

impl PathRules for DeniedPaths {
    fn access(&self, path: &Path) -> PathAccess {
        if self.any(path, |subject| self.denials.denies_read(subject)) {
            PathAccess::Nothing
        } else if self.any(path, |subject| self.denials.denies_write(subject)) {
            PathAccess::ReadOnly
        } else {
            PathAccess::Full
        }
    }

    fn access_beneath(&self, directory: &Path) -> PathAccess {
        self.access(&directory.join(UNNAMED))
    }

    fn may_concern(&self, name: &[u8]) -> bool {
        self.denials.may_concern(name)
    }

    fn picks_all(&self) -> bool {
        self.denials.picks_all()
    }

    fn picks_all_in(&self, directory: &Path) -> bool {
        self.any(directory, |subject| self.denials.picks_all_in(subject))
    }

    fn names_key(&self) -> &str {
        self.denials.names_key()
    }

    fn depends_on_place(&self) -> bool {
        self.denials.depends_on_place()
    }
}
