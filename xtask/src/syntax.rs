//! The structure of production code: files, types, functions and imports, read with a Rust parser.
//!
//! Test code is left out: files of tests, and items under `#[cfg(test)]`. Macros are not expanded. Of
//! the tokens in a macro call only paths that start with `crate` or `super` are read.

mod collector;
mod graph;
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

use anyhow::Context as _;

use crate::repository::RepositoryFile;
pub(crate) use graph::Graph;
pub(crate) use imports::CrateImports;

/// One file of production code.
pub(crate) struct ProductionFile {
    /// Relative to the root of the repository.
    pub(crate) path: String,
    /// The directory of the crate, such as `haft-cli`, which is also its name.
    pub(crate) crate_name: String,
    /// The file's module inside the crate; empty for `lib.rs` and `main.rs`.
    pub(crate) module: Vec<String>,
    /// The code without comments, contents of literals and test items. Lines keep their numbers.
    pub(crate) code: String,
    pub(crate) lines: LineCounts,
    pub(crate) types: Vec<TypeDefinition>,
    pub(crate) functions: Vec<FunctionDefinition>,
    uses: Vec<UseDeclaration>,
    paths: Vec<CodePath>,
    test_modules: Vec<Vec<String>>,
    test_lines: Vec<RangeInclusive<usize>>,
}

impl ProductionFile {
    /// Returns whether a line, counted from 1, belongs to a test item.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.test_lines.iter().any(|lines| lines.contains(&line))
    }
}

/// How many lines a file has outside of its test items.
#[derive(Clone, Copy, Default)]
pub(crate) struct LineCounts {
    pub(crate) total: usize,
    pub(crate) blank: usize,
    pub(crate) doc: usize,
    /// Lines that hold nothing but a comment that is no documentation.
    pub(crate) comment: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum DefinitionVisibility {
    /// Without any `pub`.
    Private,
    /// With `pub`, restricted or not.
    Visible,
}

/// A struct, enum, union, trait or type alias.
pub(crate) struct TypeDefinition {
    pub(crate) name: String,
    pub(crate) visibility: DefinitionVisibility,
    pub(crate) line: usize,
}

/// A function or method with a body.
pub(crate) struct FunctionDefinition {
    pub(crate) name: String,
    /// Methods of trait implementations have the visibility of the trait, and count as visible.
    pub(crate) visibility: DefinitionVisibility,
    /// From `fn` to the closing brace.
    pub(crate) lines: usize,
    /// With `self`.
    pub(crate) parameters: usize,
}

/// One name that a `use` declaration brings into a module.
struct UseDeclaration {
    path: CodePath,
    /// The name in this module; `*` for all names of the path.
    name: String,
}

/// A path as it is written, with the inline modules around it.
struct CodePath {
    segments: Vec<String>,
    /// The inline modules inside the file that contain the path.
    inline: Vec<String>,
    line: usize,
}

/// Reads all production code among files of the repository.
pub(crate) fn parse_production(sources: &[RepositoryFile]) -> anyhow::Result<Vec<ProductionFile>> {
    let mut files = Vec::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let Some(rust) = &source.rust else { continue };
        let path = source.path.strip_prefix("crates/").unwrap_or(&source.path);
        let Some((crate_name, rest)) = path.split_once("/src/") else { continue };
        let Some(stem) = rest.strip_suffix(".rs") else { continue };
        if crate_name.contains('/') || rest.starts_with("bin/") {
            continue;
        }
        let mut module: Vec<String> = stem.split('/').map(ToOwned::to_owned).collect();
        if ["lib", "main"].contains(&stem) || module.last().is_some_and(|last| last == "mod") {
            module.pop();
        }
        let file = collector::collect(source, rust, crate_name, module)
            .with_context(|| format!("{} is not Rust that the parser knows", source.path))?;
        files.push(file);
    }
    let test_modules: BTreeSet<(String, Vec<String>)> = files
        .iter()
        .flat_map(|file| {
            file.test_modules.iter().map(|module| (file.crate_name.clone(), module.clone()))
        })
        .collect();
    files.retain(|file| {
        (1..=file.module.len()).all(|len| {
            !test_modules.contains(&(file.crate_name.clone(), file.module[..len].into()))
        })
    });
    Ok(files)
}

/// Groups files by crate.
pub(crate) fn by_crate(files: &[ProductionFile]) -> BTreeMap<&str, Vec<&ProductionFile>> {
    let mut crates: BTreeMap<&str, Vec<&ProductionFile>> = BTreeMap::new();
    for file in files {
        crates.entry(&file.crate_name).or_default().push(file);
    }
    crates
}
