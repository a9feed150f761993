//! The paths that rules keep from the processes of a call. A process opens files that no argument names, so the kernel
//! has to hold these denies; this module only says which paths they are. It looks at no file.
//!
//! Three decisions differ from [`decide`](crate::decide()), because they are about what a process sees:
//!
//! - A rule about every path counts only if its permission names reading or changing files: `deny fs.write "*"` makes a
//!   process change nothing, while `deny * "*"` is about calls.
//! - A rule for a tool with all that it does (`allow bash "*"`) lifts no rule about a path.
//! - A path about which a rule asks is kept back, unless the call was allowed that path.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use haft_contract::ToolId;

use crate::access::PathSubject;
use crate::glob::Glob;
use crate::grant::{Grant, GrantRules};
use crate::pattern::{LastName, PathPattern, PatternDomain};
use crate::rank::RankedRule;
use crate::rule::{Permission, RuleAction, RuleScope, ScopedRule};
use crate::rule_set::{CompiledRule, RuleSet};

#[cfg(test)]
mod tests;

/// The paths that rules keep from the processes of one call.
#[derive(Clone, Debug)]
pub struct PathDenials {
    read: DenialSide,
    write: DenialSide,
    names: DenialNames,
}

/// The rules about reading, or those about changing.
#[derive(Clone, Debug)]
struct DenialSide {
    capability: &'static str,
    layers: Vec<DenialLayer>,
    /// The paths that the call was allowed.
    approved: Vec<PathSubject>,
}

/// The rules of one set.
#[derive(Clone, Debug)]
struct DenialLayer {
    all: GrantRules,
    /// Those that pick paths, without presets: a preset counts only where no other rule matches.
    picking: GrantRules,
}

/// Which names a path can have that begins to match a rule.
#[derive(Clone, Debug, Default)]
struct DenialNames {
    literals: HashSet<Vec<u8>>,
    globs: Vec<Glob>,
    /// Whether some rule picks all entries of a directory.
    has_any: bool,
    /// Whether a file that is moved with a directory around it can get out of a rule.
    depends_on_place: bool,
    key: String,
}

/// A rule as far as the kernel can hold it around processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldRule {
    /// The rule.
    pub rule: ScopedRule,
    /// Why the kernel cannot hold it; `None` if the kernel holds it wherever processes have their own mounts.
    pub not_held: Option<NotHeldReason>,
}

/// Why the kernel cannot hold a rule about paths around processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NotHeldReason {
    /// The permission is a tool, so the rule binds that tool and no process.
    OneTool,
    /// The rule is about every call, and names no path.
    EveryCall,
    /// The pattern holds signs and is about places outside the workspace, which are not searched.
    OutsideWorkspace,
}

impl Grant {
    /// Returns the paths that the rules keep from the processes of this call.
    pub fn path_denials(&self) -> PathDenials {
        let read = DenialSide::new("fs.read", self.reads());
        PathDenials::new(read, DenialSide::new("fs.write", self.writes()))
    }
}

impl PathDenials {
    /// Returns the paths that the rules keep from the processes of a tool, whatever its calls were allowed.
    pub fn of_tool(tool: &ToolId, rules: &RuleSet) -> Self {
        let side = |capability| {
            let sets = std::iter::once(rules).chain(&*rules.restrictions);
            let layers: Vec<_> = sets.map(|set| GrantRules::new(tool, capability, set)).collect();
            DenialSide::new(capability, (layers.iter(), &[]))
        };
        Self::new(side("fs.read"), side("fs.write"))
    }

    fn new(read: DenialSide, write: DenialSide) -> Self {
        let mut names = DenialNames::default();
        for layer in read.layers.iter().chain(&write.layers) {
            for (_, rule) in &layer.picking.rules {
                names.add(rule);
            }
        }
        names.close();
        Self { read, write, names }
    }

    /// Returns whether the rules keep no path from a process.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// Returns the rule that keeps a process from reading the path, if there is one.
    pub fn read_rule(&self, path: &PathSubject) -> Option<ScopedRule> {
        self.read.deciding_rule(path).map(ScopedRule::from)
    }

    /// Returns the rule that keeps a process from changing the path, if there is one.
    pub fn write_rule(&self, path: &PathSubject) -> Option<ScopedRule> {
        self.write.deciding_rule(path).map(ScopedRule::from)
    }

    /// Returns whether a process must not read the path.
    pub fn denies_read(&self, path: &PathSubject) -> bool {
        self.read.deciding_rule(path).is_some()
    }

    /// Returns whether a process must not change the path.
    pub fn denies_write(&self, path: &PathSubject) -> bool {
        self.write.deciding_rule(path).is_some()
    }

    /// Returns whether a rule may be about a path for its last name.
    ///
    /// A path of another name is treated as the directory that it lies in, unless
    /// [`picks_all_in`](Self::picks_all_in) is true of that directory.
    pub fn may_concern(&self, name: &[u8]) -> bool {
        self.names.literals.contains(name) || self.names.globs.iter().any(|glob| glob.matches(name))
    }

    /// Returns whether some rule is about all entries of some directory.
    pub fn picks_all(&self) -> bool {
        self.names.has_any
    }

    /// Returns whether a rule may be about the entries of a directory, whatever their names are.
    pub fn picks_all_in(&self, directory: &PathSubject) -> bool {
        self.names.has_any && self.picking_patterns().any(|it| it.picks_all_in(directory))
    }

    /// Returns a text that is the same for the same answers of [`may_concern`](Self::may_concern).
    pub fn names_key(&self) -> &str {
        &self.names.key
    }

    /// Returns a text that is the same for the same denials. It is empty if the rules keep no path from a process.
    pub fn fingerprint(&self) -> String {
        if self.is_empty() {
            return String::new();
        }
        let mut lines = Vec::new();
        for (side, layer) in [&self.read, &self.write].into_iter().flat_map(|side| side.layers()) {
            let rules = layer.all.rules.iter().map(|(_, rule)| ScopedRule::from(&**rule));
            let mut rules: Vec<String> = rules.map(|rule| rule.to_string()).collect();
            rules.sort();
            lines.push(side.capability.to_owned());
            lines.extend(rules);
        }
        for side in [&self.read, &self.write] {
            let approved = side.approved.iter().map(|path| format!("{:?}", path.absolute));
            lines.extend(approved.collect::<BTreeSet<_>>());
        }
        lines.join("\n")
    }

    /// Returns whether a file that is moved with a directory around it can get out of a rule. It cannot if all rules
    /// name a file wherever it lies.
    pub fn depends_on_place(&self) -> bool {
        self.names.depends_on_place
    }

    /// Returns the places outside the roots that a process must not read. Patterns with signs name no such place.
    pub fn outside(&self, roots: &[PathBuf]) -> Vec<PathBuf> {
        let is_apart = |place: &PathBuf| {
            place.parent().is_some()
                && !roots.iter().any(|root| place.starts_with(root) || root.starts_with(place))
        };
        let named = self.read.layers.iter().flat_map(|layer| &layer.picking.rules);
        let named = named.filter(|(_, rule)| rule.rule.action != RuleAction::Allow);
        let places = named.filter_map(|(_, rule)| rule.pattern.as_path());
        let places = places.flat_map(|pattern| pattern.directories(&[])).filter(is_apart);
        let places = places.filter(|it| self.denies_read(&PathSubject::outside_roots(it)));
        places.collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn picking_patterns(&self) -> impl Iterator<Item = &PathPattern> {
        let layers = self.read.layers.iter().chain(&self.write.layers);
        let rules = layers.flat_map(|layer| &layer.picking.rules);
        rules.filter_map(|(_, rule)| rule.pattern.as_path())
    }
}

impl DenialSide {
    fn new<'a>(
        capability: &'static str,
        (layers, approved): (impl Iterator<Item = &'a GrantRules>, &[PathSubject]),
    ) -> Self {
        let picks = |rule: &CompiledRule| picks_paths(rule) && rule.scope != RuleScope::Preset;
        let layers = layers.map(|all| {
            let rules = all.rules.iter().filter(|(_, rule)| picks(rule)).cloned().collect();
            DenialLayer { all: all.clone(), picking: GrantRules { rules } }
        });
        let layers: Vec<DenialLayer> = layers.collect();
        // An answer matters only where a rule asks.
        let asks = |path: &&PathSubject| {
            layers.iter().any(|layer| {
                let verdict = layer.picking.verdict(path);
                verdict.winner.is_some() && verdict.action == RuleAction::Ask
            })
        };
        let approved = approved.iter().filter(asks).cloned().collect();
        Self { capability, layers, approved }
    }

    fn layers(&self) -> impl Iterator<Item = (&DenialSide, &DenialLayer)> {
        self.layers.iter().map(move |layer| (self, layer))
    }

    fn is_empty(&self) -> bool {
        let mut rules = self.layers.iter().flat_map(|layer| &layer.all.rules);
        !rules.any(|(_, rule)| match rule.rule.action {
            RuleAction::Allow => false,
            RuleAction::Ask => picks_paths(rule),
            RuleAction::Deny => picks_paths(rule) || self.names_files(rule),
        })
    }

    fn deciding_rule(&self, path: &PathSubject) -> Option<&CompiledRule> {
        self.layers.iter().find_map(|layer| {
            let picked = layer.picking.verdict(path);
            let is_kept = match picked.action {
                RuleAction::Allow => false,
                RuleAction::Deny => true,
                RuleAction::Ask => !self.approved.iter().any(|approved| {
                    let is_same = || picked.is_same_rule(&layer.picking.verdict(approved));
                    path.absolute == approved.absolute
                        || path.absolute.starts_with(&approved.absolute) && is_same()
                }),
            };
            if let Some(winner) = picked.winner.filter(|_| is_kept) {
                return Some(winner.rule);
            }
            let all = layer.all.verdict(path);
            let is_held =
                |winner: &RankedRule<'_>| picks_paths(winner.rule) || self.names_files(winner.rule);
            let winner = all.winner.filter(|_| all.action == RuleAction::Deny).filter(is_held)?;
            Some(winner.rule)
        })
    }

    /// Returns whether the permission names this use of files.
    fn names_files(&self, rule: &CompiledRule) -> bool {
        match &rule.permission {
            Permission::Everything => false,
            permission => permission.names(self.capability),
        }
    }
}

impl DenialNames {
    fn add(&mut self, rule: &CompiledRule) {
        let Some(pattern) = rule.pattern.as_path() else { return };
        for last in pattern.last_names() {
            match last {
                LastName::Literal(literal) => {
                    self.literals.insert(literal.to_vec());
                }
                LastName::Glob(glob) => self.globs.push(glob.clone()),
                LastName::Any => self.has_any = true,
            }
        }
        self.depends_on_place |= rule.rule.action == RuleAction::Allow || !pattern.is_bare_name();
    }

    fn close(&mut self) {
        let mut names: Vec<String> = self.literals.iter().map(|it| format!("{it:?}")).collect();
        names.extend(self.globs.iter().map(|glob| format!("{glob:?}")));
        names.sort();
        names.dedup();
        self.key = names.join(" ");
    }
}

/// Returns the rules of a set that keep paths back, and whether the kernel can hold them around processes.
///
/// `roots` are the roots of the workspace.
pub fn held_rules(rules: &RuleSet, roots: &[PathBuf]) -> Vec<HeldRule> {
    rules.iter().filter_map(|rule| HeldRule::of(rule, roots)).collect()
}

impl HeldRule {
    /// Returns what is known of a rule that keeps paths back, or `None` if the rule is none of these.
    fn of(rule: &CompiledRule, roots: &[PathBuf]) -> Option<Self> {
        let held = |not_held| Some(Self { rule: rule.into(), not_held });
        let is_about_files = ["fs.read", "fs.write"].iter().any(|it| rule.permission.names(it));
        let picks = picks_paths(rule);
        match rule.rule.action {
            RuleAction::Allow => return None,
            RuleAction::Ask if !picks => return None,
            RuleAction::Ask | RuleAction::Deny => {}
        }
        if !is_about_files {
            return match rule.rule.domain() {
                PatternDomain::Path => held(Some(NotHeldReason::OneTool)),
                PatternDomain::Any | PatternDomain::Command | PatternDomain::Host => None,
            };
        }
        if !picks {
            return match rule.permission {
                Permission::Everything => held(Some(NotHeldReason::EveryCall)),
                Permission::Partial(_) | Permission::Exact(_) | Permission::McpTool(_) => {
                    held(None)
                }
            };
        }
        let is_within = |pattern: &PathPattern| {
            pattern.may_concern_roots(roots) || !pattern.directories(&[]).is_empty()
        };
        let is_searched = rule.pattern.as_path().is_some_and(is_within);
        held((!is_searched).then_some(NotHeldReason::OutsideWorkspace))
    }
}

/// Returns whether the rule picks some paths.
fn picks_paths(rule: &CompiledRule) -> bool {
    rule.pattern.as_path().is_some_and(|pattern| !pattern.is_void())
}

/// Returns the path as rules judge it, from each root that it lies beneath.
pub fn subjects_of<'a>(
    path: &'a Path,
    roots: &'a [PathBuf],
) -> impl Iterator<Item = PathSubject> + 'a {
    let within = roots.iter().filter_map(move |root| {
        path.strip_prefix(root).ok().map(|relative| PathSubject::in_root(root, relative))
    });
    let outside = !roots.iter().any(|root| path.starts_with(root));
    within.chain(outside.then(|| PathSubject::outside_roots(path)))
}
