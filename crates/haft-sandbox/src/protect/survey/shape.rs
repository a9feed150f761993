//! Whether a directory has the shape of a git repository, whatever its name. It deliberately decides by names alone, so
//! that it costs nothing while a directory is read.

/// Which of the names by which git knows a repository are in a directory. What they stand for is not looked at: git
/// follows links there.
#[derive(Debug, Default)]
pub(super) struct Shape {
    head: bool,
    objects: bool,
    refs: bool,
    commondir: bool,
}

impl Shape {
    /// Takes note of one folded name.
    pub(super) fn see(&mut self, folded: &[u8]) {
        match folded {
            b"head" => self.head = true,
            b"objects" => self.objects = true,
            b"refs" => self.refs = true,
            b"commondir" => self.commondir = true,
            _ => {}
        }
    }

    /// Tells whether git would take the directory for a repository, or for the own part of a linked worktree.
    pub(super) fn is_repository(&self) -> bool {
        self.head && (self.commondir || (self.objects && self.refs))
    }
}
