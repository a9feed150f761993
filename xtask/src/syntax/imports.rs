//! Which file of a crate imports from which other one.
//!
//! A path counts where it leads: `crate::a::Name` is an import from the file that defines `Name`, also if
//! module `a` passes the name on. Paths into the modules inside a module are no imports: a module
//! consists of them.

use std::collections::{BTreeMap, BTreeSet};

use super::{CodePath, Graph, ProductionFile};

/// How many times a name is followed through modules that pass it on.
const REEXPORTS_FOLLOWED_MAX: usize = 8;

/// The files of one crate and the imports among them.
pub(crate) struct CrateImports<'files> {
    pub(crate) files: Vec<&'files ProductionFile>,
    /// From each file to the files that it imports from, with the first line that does.
    pub(crate) imports: Vec<BTreeMap<usize, usize>>,
}

impl<'files> CrateImports<'files> {
    /// Resolves the paths in all files of one crate.
    pub(crate) fn resolve(files: &[&'files ProductionFile]) -> Self {
        let modules = CrateModules::new(files);
        let mut imports = vec![BTreeMap::new(); files.len()];
        for (index, (source, imports)) in files.iter().zip(&mut imports).enumerate() {
            let used = source.uses.iter().map(|declaration| &declaration.path);
            for path in used.chain(&source.paths) {
                let Some(target) = modules.target(index, path) else { continue };
                if !files[target].module.starts_with(&source.module) {
                    let line = imports.entry(target).or_insert(path.line);
                    *line = (*line).min(path.line);
                }
            }
        }
        Self { files: files.to_vec(), imports }
    }

    /// Returns the graph whose nodes are the files.
    pub(crate) fn file_graph(&self) -> Graph {
        Graph::new(self.imports.iter().map(|imports| imports.keys().copied().collect()).collect())
    }

    /// Returns the graph whose nodes are top-level modules, with their names. The root is left out.
    pub(crate) fn module_graph(&self) -> (Vec<&'files str>, Graph) {
        let top = |file: usize| self.files[file].module.first().map(String::as_str);
        let names: BTreeSet<&str> = (0..self.files.len()).filter_map(top).collect();
        let names: Vec<&str> = names.into_iter().collect();
        let position = |name: &str| names.iter().position(|known| *known == name);
        let mut edges = vec![BTreeSet::new(); names.len()];
        for (file, imports) in self.imports.iter().enumerate() {
            let Some(from) = top(file).and_then(position) else { continue };
            let targets = imports.keys().filter_map(|target| top(*target).and_then(position));
            edges[from].extend(targets.filter(|target| *target != from));
        }
        (names, Graph::new(edges))
    }
}

struct CrateModules<'files> {
    files: &'files [&'files ProductionFile],
    file_of: BTreeMap<&'files [String], usize>,
}

impl<'files> CrateModules<'files> {
    fn new(files: &'files [&'files ProductionFile]) -> Self {
        let mut file_of = BTreeMap::new();
        for (index, file) in files.iter().enumerate() {
            // A crate that has both roots is meant by its library.
            if file.path.ends_with("/lib.rs") || !file_of.contains_key(file.module.as_slice()) {
                file_of.insert(file.module.as_slice(), index);
            }
        }
        Self { files, file_of }
    }

    /// Returns the file that defines what a path names, if it is of this crate.
    fn target(&self, file: usize, path: &CodePath) -> Option<usize> {
        let mut file = file;
        let mut path = self.absolute(file, &path.segments, &path.inline)?;
        for _ in 0..REEXPORTS_FOLLOWED_MAX {
            let depth =
                (0..=path.len()).rev().find(|len| self.file_of.contains_key(&path[..*len]))?;
            file = self.file_of[&path[..depth]];
            let Some(name) = path.get(depth) else { break };
            let passed_on = self.files[file]
                .uses
                .iter()
                .filter(|declaration| declaration.path.inline.is_empty())
                .find(|declaration| declaration.name == *name);
            let Some(passed_on) = passed_on else { break };
            let Some(mut next) = self.absolute(file, &passed_on.path.segments, &[]) else { break };
            next.extend_from_slice(&path[depth + 1..]);
            if next == path {
                break;
            }
            path = next;
        }
        Some(file)
    }

    /// Returns a path from the crate's root, or `None` if it leads out of the crate.
    fn absolute(&self, file: usize, segments: &[String], inline: &[String]) -> Option<Vec<String>> {
        let file_module = &self.files[file].module;
        let mut module: Vec<String> = file_module.iter().chain(inline).cloned().collect();
        let mut rest = segments;
        match rest.first()?.as_str() {
            "crate" => {
                module.clear();
                rest = &rest[1..];
            }
            "self" => rest = &rest[1..],
            "super" => {
                while let [first, tail @ ..] = rest
                    && first == "super"
                {
                    module.pop()?;
                    rest = tail;
                }
            }
            child => {
                let mut child_module = file_module.clone();
                child_module.push(child.to_owned());
                if !self.file_of.contains_key(child_module.as_slice()) {
                    return None;
                }
                module = file_module.clone();
            }
        }
        module.extend_from_slice(rest);
        Some(module)
    }
}
