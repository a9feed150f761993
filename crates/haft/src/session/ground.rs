//! Which directories processes of a session's calls are shown: all roots, less what narrowings keep back. A process is held to
//! whole directories, by the kernel; what rules say of single files in them holds what is read off its words, as everywhere.

use std::path::{Path, PathBuf};

use haft_contract::{ErrorCode, ToolError, ToolId};
use haft_policy::{Action, Canonical, HostScope, PathSubject, RuleSet, Trees, judge_ceilings};

use super::SessionState;
use crate::sandbox::Sandbox;

impl SessionState {
    /// Returns the directories of roots that processes of a call of this tool can read, and those that they can change as
    /// well.
    pub(crate) fn trees(&self, tool: &ToolId) -> Trees {
        let roots = self.shared.parts.roots.paths();
        if self.narrowed.key().is_empty() {
            return Trees { readable: Vec::new(), writable: roots };
        }
        let left = match self.narrowed.bound() {
            Some(bound) => bound.trees(&roots),
            None => Trees { readable: Vec::new(), writable: roots.clone() },
        };
        let rules = self.rules();
        let sandbox = &self.shared.parts.sandbox;
        let judged = Judged { tool, rules: &rules, roots: &roots, sandbox };
        let mut trees = Trees::default();
        for place in left.writable {
            if !judged.may_show(&place) {
                continue;
            }
            let side =
                if judged.may_change(&place) { &mut trees.writable } else { &mut trees.readable };
            side.push(place);
        }
        trees.readable.extend(left.readable.into_iter().filter(|place| judged.may_show(place)));
        trees
    }

    /// Refuses a process that is to be held to less than commands of this program reach, where nothing holds any to anything.
    pub(crate) fn check_held(&self, trees: &Trees, hosts: &HostScope) -> Result<(), ToolError> {
        let roots = self.shared.parts.roots.paths();
        let is_all = roots.iter().all(|root| trees.writable.contains(root));
        if !self.shared.parts.sandbox.is_off() || (is_all && hosts.is_unbounded()) {
            return Ok(());
        }
        let message = "this agent may reach less than other commands here, and without the sandbox nothing holds a command to \
                       that: use tools that run no commands, or have haft started without --unsafe-no-sandbox";
        Err(ToolError::new(ErrorCode::SandboxUnavailable, message).not_begun())
    }
}

/// Refuses to start a process in a directory that it would not see.
pub(crate) fn check_start(directory: &Path, trees: &Trees) -> Result<(), ToolError> {
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

/// What the ceilings of a session say of whole directories.
struct Judged<'a> {
    tool: &'a ToolId,
    rules: &'a RuleSet,
    roots: &'a [PathBuf],
    sandbox: &'a Sandbox,
}

impl Judged<'_> {
    fn may_show(&self, place: &Path) -> bool {
        let path = self.subject(place).filter(|path| self.sandbox.check_read(path).is_ok());
        self.is_itself(place) && path.is_some_and(|path| self.leaves(&Canonical::Read { path }))
    }

    fn may_change(&self, place: &Path) -> bool {
        let path = self.subject(place).filter(|path| self.sandbox.check_write(path).is_ok());
        path.is_some_and(|path| self.leaves(&Canonical::Write { path }))
    }

    fn leaves(&self, access: &Canonical) -> bool {
        judge_ceilings(self.tool, Some(access), self.rules) != Action::Deny
    }

    fn subject(&self, place: &Path) -> Option<PathSubject> {
        self.roots.iter().find_map(|root| {
            let relative = place.strip_prefix(root).ok()?;
            Some(PathSubject::beneath(root, relative))
        })
    }

    /// Returns whether a directory is there under this name and no other: what a link leads to was not meant.
    fn is_itself(&self, place: &Path) -> bool {
        let is_root = self.roots.iter().any(|root| root == place);
        is_root || place.canonicalize().is_ok_and(|real| real == place && real.is_dir())
    }
}
