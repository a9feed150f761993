//! The directories that processes of a connection's calls can reach: all roots, without those that restrictions keep
//! back. Rules about single paths within them are held by `sandbox/denied_paths`.

use std::path::{Path, PathBuf};

use haft_contract::{ErrorCode, ToolError, ToolId};
use haft_policy::{
    Capabilities, DirectoryTrees, HostScope, PathDenials, PathReach, PathSubject, ResolvedAccess,
    RuleAction, RuleSet, decide_access, decide_restrictions,
};

use super::ConnectionState;
use crate::sandbox::Sandbox;

/// Stands for a tool that no rule names, so that only rules about capabilities decide.
const UNNAMED_PLACES: &str = "places_of_commands";

impl ConnectionState {
    /// Returns the directories of roots that processes of a call of this tool can read, and those that they can change as
    /// well.
    pub(crate) fn process_trees(&self, tool: &ToolId) -> DirectoryTrees {
        let roots = self.shared.parts.roots.paths();
        if self.restrictions.access_key().is_empty() {
            return DirectoryTrees { readable: Vec::new(), writable: roots };
        }
        let left = match self.restrictions.capability_limit() {
            Some(bound) => bound.contained_directories(&roots),
            None => DirectoryTrees { readable: Vec::new(), writable: roots.clone() },
        };
        let rules = self.rules();
        let sandbox = &self.shared.parts.sandbox;
        let judged = DirectoryJudge { tool, rules: &rules, roots: &roots, sandbox };
        let mut trees = DirectoryTrees::default();
        for place in left.writable {
            if !judged.may_show(&place) {
                continue;
            }
            let path = judged.subject(&place).filter(|path| sandbox.check_write(path).is_ok());
            let may_change =
                path.is_some_and(|path| judged.allows_access(&ResolvedAccess::Write { path }));
            let side = if may_change { &mut trees.writable } else { &mut trees.readable };
            side.push(place);
        }
        trees.readable.extend(left.readable.into_iter().filter(|place| judged.may_show(place)));
        trees
    }

    /// Returns the places outside the roots that a command of a call can read, and those that it can change as well: the places
    /// that rules about files allow as a whole, and of the others the files that the call names and such rules allow.
    pub(crate) fn outside_trees(
        &self,
        tool: &ToolId,
        capabilities: &Capabilities,
        accesses: &[ResolvedAccess],
    ) -> DirectoryTrees {
        let mut trees = DirectoryTrees::default();
        let places = self.paths.granted.paths();
        if places.is_empty() {
            return trees;
        }
        let rules = self.rules();
        // A rule that lets commands run says nothing about places that they do not name.
        let unnamed = ToolId::parse(UNNAMED_PLACES).expect("the name of no tool is an id");
        let may = |access: ResolvedAccess| {
            capabilities.check(&access).is_ok()
                && decide_access(&unnamed, Some(&access), &rules).action == RuleAction::Allow
                && decide_access(tool, Some(&access), &rules).action != RuleAction::Deny
        };
        let denials = PathDenials::of_tool(tool, &rules);
        let roots = self.shared.parts.roots.paths();
        // A place around a root would show the root beside what the root itself shows.
        let is_around = |place: &PathBuf| roots.iter().any(|root| root.starts_with(place));
        for place in places.iter().filter(|place| !is_around(place)) {
            // The kernel holds denied names in the roots alone, so a directory elsewhere is shown only if nothing is denied.
            if place.is_dir() && !denials.is_empty() {
                continue;
            }
            let reach = if place.is_dir() { PathReach::Tree } else { PathReach::PathOnly };
            let path = PathSubject::outside_roots(place).with_reach(reach);
            if self.shared.parts.sandbox.check_read(&path).is_err() {
                continue;
            }
            if !may(ResolvedAccess::Read { path: path.clone() }) {
                continue;
            }
            let is_changed = place.is_dir() && may(ResolvedAccess::Write { path });
            let side = if is_changed { &mut trees.writable } else { &mut trees.readable };
            side.push(place.clone());
        }
        // Of other places, a file that the command names. A directory would show more than was named.
        for access in accesses {
            let ResolvedAccess::Read { path } = access else { continue };
            let is_granted = places.iter().any(|place| path.absolute.starts_with(place));
            let is_shown = trees
                .writable
                .iter()
                .chain(&trees.readable)
                .any(|place| path.absolute.starts_with(place));
            if path.relative.is_none()
                && is_granted
                && !is_shown
                && path.absolute.is_file()
                && may(access.clone())
            {
                trees.readable.push(path.absolute.clone());
            }
        }
        trees
    }

    /// Refuses a process with restricted directories or hosts if the sandbox is off, because nothing would enforce the
    /// restriction.
    pub(crate) fn check_enforceable(
        &self,
        trees: &DirectoryTrees,
        hosts: &HostScope,
    ) -> Result<(), ToolError> {
        let roots = self.shared.parts.roots.paths();
        let is_all = roots.iter().all(|root| trees.writable.contains(root));
        if !self.shared.parts.sandbox.is_off() || (is_all && hosts.is_unrestricted()) {
            return Ok(());
        }
        let message = "this agent may reach less than other commands here, and without the sandbox nothing holds a command to \
                       that: use tools that run no commands, or ask the user to have the sandbox on";
        Err(ToolError::new(ErrorCode::SandboxUnavailable, message).not_begun())
    }
}

/// Refuses to start a process in a directory that it would not see.
pub(crate) fn check_start_directory(
    directory: &Path,
    trees: &DirectoryTrees,
) -> Result<(), ToolError> {
    let seen = || trees.writable.iter().chain(&trees.readable);
    if seen().any(|place| directory.starts_with(place)) {
        return Ok(());
    }
    let places: Vec<String> = seen().map(|place| format!("{:?}", place.display())).collect();
    let message = if places.is_empty() {
        "this agent may see no directory of the workspace, so no command is started for it"
            .to_owned()
    } else {
        format!(
            "this agent may not see {:?}: start in one of {}",
            directory.display(),
            places.join(", ")
        )
    };
    Err(ToolError::new(ErrorCode::CapabilityDenied, message).not_begun())
}

/// The decision of a connection's restrictions about whole directories.
struct DirectoryJudge<'a> {
    /// The tool whose call starts the process.
    tool: &'a ToolId,
    /// The rules of the connection, with those of its restrictions.
    rules: &'a RuleSet,
    /// The workspace roots, as canonical paths.
    roots: &'a [PathBuf],
    /// The sandbox, which hides places and protects files.
    sandbox: &'a Sandbox,
}

impl DirectoryJudge<'_> {
    /// Returns whether a process may read the directory with everything in it. The directory must be its canonical
    /// path.
    fn may_show(&self, place: &Path) -> bool {
        let path = self.subject(place).filter(|path| self.sandbox.check_read(path).is_ok());
        // A link may lead to another directory than the one that is allowed.
        let is_root = self.roots.iter().any(|root| root == place);
        let is_canonical =
            is_root || place.canonicalize().is_ok_and(|real| real == place && real.is_dir());
        is_canonical && path.is_some_and(|path| self.allows_access(&ResolvedAccess::Read { path }))
    }

    /// Returns whether no restriction denies the access.
    fn allows_access(&self, access: &ResolvedAccess) -> bool {
        decide_restrictions(self.tool, Some(access), self.rules) != RuleAction::Deny
    }

    /// Returns the place as rules judge it, or `None` outside of all roots.
    fn subject(&self, place: &Path) -> Option<PathSubject> {
        self.roots.iter().find_map(|root| {
            let relative = place.strip_prefix(root).ok()?;
            Some(PathSubject::in_root(root, relative))
        })
    }
}
