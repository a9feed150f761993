//! Decides whether a directory has the shape of a git repository, whatever its name. It uses names
//! only, so that it costs nothing while a directory is read.

/// The names in a directory by which git recognises a repository. Their kinds are not checked,
/// because git follows links there.
#[derive(Debug, Default)]
pub(super) struct RepositoryShape {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl RepositoryShape {
    /// Records one folded name.
    pub(super) fn add_name(&mut self, folded: &[u8]) {
        match folded {
            b"head" => self.head = true,
            b"objects" => self.objects = true,
            b"refs" => self.refs = true,
            b"commondir" => self.commondir = true,
            _ => {}
        }
    }

    /// Returns whether git would accept the directory as a repository, or as the private part of a
    /// linked worktree.
    pub(super) fn is_repository(&self) -> bool {
        self.head && (self.commondir || (self.objects && self.refs))
    }
}
