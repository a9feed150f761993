//! An access as it is judged: what a tool declared, after the runtime resolved its paths. Resolving is not done here;
//! a path that still holds `..` is never inside a capability.

use std::fmt;
use std::path::{Path, PathBuf};

use haft_contract::CommandLine;

/// Longest command shown in a message, in characters.
pub(crate) const SHOWN_CHARS_MAX: usize = 200;

/// One thing outside that a call would touch, resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ResolvedAccess {
    /// Reads a file, or anything below a directory.
    Read {
        /// The resolved path.
        path: PathSubject,
    },
    /// Creates, changes or removes a file.
    Write {
        /// The resolved path.
        path: PathSubject,
    },
    /// Reaches a host.
    Net {
        /// The host's name or address.
        host: String,
    },
    /// Runs a command.
    Shell {
        /// The command.
        command: CommandLine,
    },
    /// Uses a named capability.
    Named {
        /// The capability's name.
        name: String,
    },
}

/// A path with its symlinks and `..` resolved.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PathSubject {
    /// The whole path.
    pub absolute: PathBuf,
    /// The path from the workspace root that it lies beneath, empty for the root itself; `None` outside all roots.
    pub relative: Option<PathBuf>,
    /// How far the access goes from there.
    pub reach: PathReach,
}

/// How far an access goes from its path. The order is from near to far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathReach {
    /// The path itself. If the call reaches a path beneath it, that path is judged separately.
    #[default]
    PathOnly,
    /// The path and everything beneath it. Paths beneath it are not judged again.
    Tree,
}

/// The subject that a pattern is matched against.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MatchSubject<'a> {
    Path(&'a PathSubject),
    Command(&'a CommandLine),
    Host(&'a str),
    Name(&'a str),
    /// A call that touches nothing outside.
    Nothing,
}

impl ResolvedAccess {
    /// Returns the name of the capability that the access needs.
    pub fn capability(&self) -> &str {
        match self {
            Self::Read { .. } => "fs.read",
            Self::Write { .. } => "fs.write",
            Self::Net { .. } => "net.fetch",
            Self::Shell { .. } => "shell.run",
            Self::Named { name } => name,
        }
    }

    pub(crate) fn subject(&self) -> MatchSubject<'_> {
        match self {
            Self::Read { path } | Self::Write { path } => MatchSubject::Path(path),
            Self::Net { host } => MatchSubject::Host(host),
            Self::Shell { command } => MatchSubject::Command(command),
            Self::Named { name } => MatchSubject::Name(name),
        }
    }
}

impl fmt::Display for ResolvedAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path } | Self::Write { path } => {
                write!(f, "{} of {:?}", self.capability(), path.to_string())
            }
            Self::Net { host } => write!(f, "net.fetch of {host:?}"),
            Self::Shell { command } => {
                let mut line = command.line();
                if let Some((end, _)) = line.char_indices().nth(SHOWN_CHARS_MAX) {
                    line.truncate(end);
                    line.push('…');
                }
                write!(f, "shell.run of {line:?}")
            }
            Self::Named { name } => write!(f, "use of {name:?}"),
        }
    }
}

impl PathSubject {
    /// Returns the path `relative` beneath the workspace root `root`.
    pub fn in_root(root: &Path, relative: &Path) -> Self {
        let absolute =
            if relative.as_os_str().is_empty() { root.to_owned() } else { root.join(relative) };
        Self { absolute, relative: Some(relative.to_owned()), reach: PathReach::PathOnly }
    }

    /// Returns a path outside all workspace roots.
    pub fn outside_roots(absolute: impl Into<PathBuf>) -> Self {
        Self { absolute: absolute.into(), relative: None, reach: PathReach::PathOnly }
    }

    /// Returns the same path, reached so far.
    #[must_use]
    pub fn with_reach(self, reach: PathReach) -> Self {
        Self { reach, ..self }
    }

    /// Returns how many bytes of the whole path lie before the part relative to the root.
    pub(crate) fn root_bytes(&self) -> usize {
        self.relative.as_ref().map_or(0, |relative| {
            self.absolute.as_os_str().len().saturating_sub(relative.as_os_str().len())
        })
    }

    /// Returns whether the path is not resolved after all, so that no pattern can vouch for it.
    pub(crate) fn is_unresolved(&self) -> bool {
        let has_parent = |path: &Path| components(path).any(|name| name == b"..");
        has_parent(&self.absolute) || self.relative.as_deref().is_some_and(has_parent)
    }
}

impl fmt::Display for PathSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.relative {
            Some(relative) if relative.as_os_str().is_empty() => f.write_str("."),
            Some(relative) => write!(f, "{}", relative.display()),
            None => write!(f, "{}", self.absolute.display()),
        }
    }
}

/// Returns the names that make up a path, as bytes: paths need not be UTF-8, and a deny must not depend on it.
pub(crate) fn components(path: &Path) -> impl Iterator<Item = &[u8]> + Clone {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.split(|byte| *byte == b'/').filter(|name| !name.is_empty() && *name != b".")
}
