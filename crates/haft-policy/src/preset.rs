//! The presets: manifests that come with haft. They are only text here; front ends parse them as any manifest and
//! load their rules in the preset scope.

#[cfg(test)]
mod tests;

/// Name and text of every preset, strictest first.
pub const PRESETS: &[(&str, &str)] = &[
    ("read-only", include_str!("../presets/read-only.toml")),
    ("ask", include_str!("../presets/ask.toml")),
    ("workspace", include_str!("../presets/workspace.toml")),
    ("full", include_str!("../presets/full.toml")),
];
