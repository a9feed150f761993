//! The sections of the inspector, as every page lists them.

/// A section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// No section: an error.
    None,
    Asks,
    Runs,
    Doubts,
    Sessions,
    Plans,
    Permissions,
}

/// The sections with their paths and names, in the order of the page.
const SECTIONS: [(Section, &str, &str); 6] = [
    (Section::Asks, "/asks", "Asks"),
    (Section::Runs, "/runs", "Runs"),
    (Section::Doubts, "/doubts", "In doubt"),
    (Section::Sessions, "/sessions", "Sessions"),
    (Section::Plans, "/plans", "Plans"),
    (Section::Permissions, "/permissions", "Permissions"),
];

/// The sections, of which one is shown.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sections(pub(crate) Section);

/// A link to a section.
pub(crate) struct SectionLink {
    pub(crate) path: &'static str,
    pub(crate) name: &'static str,
    pub(crate) is_current: bool,
}

impl Sections {
    /// Returns the links to all sections.
    pub(crate) fn links(self) -> impl Iterator<Item = SectionLink> {
        SECTIONS.into_iter().map(move |(section, path, name)| SectionLink {
            path,
            name,
            is_current: section == self.0,
        })
    }
}
