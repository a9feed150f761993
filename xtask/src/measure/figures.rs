//! The figures of a set of files: of one crate, of the shipped crates, of the workspace.

use std::collections::{BTreeMap, BTreeSet};

use crate::repository::{DependencyKind, DependencyOrigin, Repository};
use crate::rust_text::{is_word, words};
use crate::syntax::{
    CrateImports, DefinitionVisibility, FunctionDefinition, ProductionFile, by_crate,
    parse_production,
};

/// The package whose program is shipped, with all of its dependencies.
const SHIPPED_PACKAGE: &str = "haft-cli";

/// From how many definitions on a type name counts as repeated.
const REPEATED_DEFINITIONS_MIN: usize = 3;

/// The figures of a workspace and of its parts.
pub(super) struct WorkspaceFigures {
    /// By crate, the largest first.
    pub(super) crates: Vec<(String, CodeFigures)>,
    /// Without xtask and the crates that only tests use.
    pub(super) shipped: CodeFigures,
    pub(super) all: CodeFigures,
    /// Type names with at least `REPEATED_DEFINITIONS_MIN` definitions.
    pub(super) repeated_names: usize,
}

impl WorkspaceFigures {
    /// Measures all production code of a repository.
    pub(super) fn of(repository: &Repository) -> anyhow::Result<Self> {
        let files = parse_production(&repository.sources)?;
        let mut definitions: BTreeMap<&str, usize> = BTreeMap::new();
        for definition in files.iter().flat_map(|file| &file.types) {
            *definitions.entry(&definition.name).or_default() += 1;
        }
        let mut crates: Vec<(&str, CodeFigures)> = Vec::new();
        for (name, files) in by_crate(&files) {
            let mut figures = CodeFigures::default();
            for file in &files {
                figures.lines += file.lines.total;
                figures.blank_lines += file.lines.blank;
                figures.doc_lines += file.lines.doc;
                figures.comment_lines += file.lines.comment;
                figures.file_lines.push(file.lines.total);
                for function in &file.functions {
                    figures.function_lines.push(function.lines);
                    figures.parameters_max = figures.parameters_max.max(function.parameters);
                }
                figures.private_functions += private_functions(file).count();
                figures.single_use_functions += single_use_functions(file).count();
                figures.types += file.types.len();
                for definition in &file.types {
                    let count =
                        definitions.get(definition.name.as_str()).copied().unwrap_or_default();
                    let is_visible = definition.visibility == DefinitionVisibility::Visible;
                    figures.repeated_types += usize::from(count >= REPEATED_DEFINITIONS_MIN);
                    figures.repeated_visible_types += usize::from(is_visible && count > 1);
                }
                let packed: String = file.code.split_whitespace().collect();
                figures.shared_locks += shared_locks(&packed);
                figures.unwraps += packed.matches(".unwrap()").count();
                figures.expects += packed.matches(".expect(").count();
                figures.unsafes += packed.matches("unsafe{").count();
            }
            let imports = CrateImports::resolve(&files);
            let path = |file: usize| imports.files[file].path.clone();
            let paths = |cycle: Vec<usize>| cycle.into_iter().map(path).collect();
            figures.cycles = imports.file_graph().cycles().into_iter().map(paths).collect();
            let (_, modules) = imports.module_graph();
            figures.module_imports = modules.edge_count();
            figures.upward_imports = modules.upward(&modules.order()).len();
            crates.push((name, figures));
        }
        let mut shipped = BTreeSet::new();
        let mut open = vec![SHIPPED_PACKAGE];
        while let Some(name) = open.pop() {
            let package = repository.packages.iter().find(|package| package.name == name);
            let Some(package) = package.filter(|_| shipped.insert(name)) else { continue };
            let dependencies = package.dependencies.iter().filter(|dependency| {
                dependency.kind == DependencyKind::Normal
                    && dependency.origin == DependencyOrigin::Workspace
            });
            open.extend(dependencies.map(|dependency| dependency.name.as_str()));
        }
        let shipped = crates.iter().filter(|(name, _)| shipped.contains(name));
        let mut figures = Self {
            shipped: CodeFigures::sum(shipped.map(|(_, figures)| figures)),
            all: CodeFigures::sum(crates.iter().map(|(_, figures)| figures)),
            crates: crates.into_iter().map(|(name, figures)| (name.to_owned(), figures)).collect(),
            repeated_names: definitions
                .values()
                .filter(|count| **count >= REPEATED_DEFINITIONS_MIN)
                .count(),
        };
        figures.crates.sort_by_key(|(_, figures)| std::cmp::Reverse(figures.lines));
        Ok(figures)
    }
}

/// The counts in a set of files. Sums of parts are the figures of the whole.
#[derive(Clone, Default)]
pub(super) struct CodeFigures {
    pub(super) lines: usize,
    pub(super) blank_lines: usize,
    pub(super) doc_lines: usize,
    pub(super) comment_lines: usize,
    pub(super) file_lines: Vec<usize>,
    pub(super) function_lines: Vec<usize>,
    pub(super) parameters_max: usize,
    pub(super) private_functions: usize,
    /// Private functions whose name is used once in their file, besides the definition.
    pub(super) single_use_functions: usize,
    pub(super) types: usize,
    /// Types whose name has at least `REPEATED_DEFINITIONS_MIN` definitions in the workspace.
    pub(super) repeated_types: usize,
    /// Types with any `pub` whose name has another definition in the workspace.
    pub(super) repeated_visible_types: usize,
    pub(super) shared_locks: usize,
    pub(super) unwraps: usize,
    pub(super) expects: usize,
    pub(super) unsafes: usize,
    /// Files that import one another, directly or not; the largest set of a crate comes first.
    pub(super) cycles: Vec<Vec<String>>,
    pub(super) module_imports: usize,
    /// Imports between top-level modules that run against the best order found.
    pub(super) upward_imports: usize,
}

impl CodeFigures {
    fn sum<'part>(parts: impl Iterator<Item = &'part Self>) -> Self {
        let mut sum = Self::default();
        for part in parts {
            sum.lines += part.lines;
            sum.blank_lines += part.blank_lines;
            sum.doc_lines += part.doc_lines;
            sum.comment_lines += part.comment_lines;
            sum.file_lines.extend_from_slice(&part.file_lines);
            sum.function_lines.extend_from_slice(&part.function_lines);
            sum.parameters_max = sum.parameters_max.max(part.parameters_max);
            sum.private_functions += part.private_functions;
            sum.single_use_functions += part.single_use_functions;
            sum.types += part.types;
            sum.repeated_types += part.repeated_types;
            sum.repeated_visible_types += part.repeated_visible_types;
            sum.shared_locks += part.shared_locks;
            sum.unwraps += part.unwraps;
            sum.expects += part.expects;
            sum.unsafes += part.unsafes;
            sum.cycles.extend_from_slice(&part.cycles);
            sum.module_imports += part.module_imports;
            sum.upward_imports += part.upward_imports;
        }
        sum
    }

    /// Returns the share of documentation in lines that are not blank, in percent.
    pub(super) fn doc_percent(&self) -> f64 {
        percent(self.doc_lines, self.lines - self.blank_lines)
    }

    /// Returns the share of other comments in lines that are not blank, in percent.
    pub(super) fn comment_percent(&self) -> f64 {
        percent(self.comment_lines, self.lines - self.blank_lines)
    }

    /// Returns the share of private functions that are used once, in percent.
    pub(super) fn single_use_percent(&self) -> f64 {
        percent(self.single_use_functions, self.private_functions)
    }

    /// Returns the share of types with a repeated name, in percent.
    pub(super) fn repeated_percent(&self) -> f64 {
        percent(self.repeated_types, self.types)
    }

    /// Returns the number of files in the largest cycle.
    pub(super) fn largest_cycle(&self) -> usize {
        self.cycles.iter().map(Vec::len).max().unwrap_or_default()
    }

    /// Returns the number of shared locks in 10,000 lines.
    pub(super) fn locks_per_10_000(&self) -> f64 {
        percent(self.shared_locks, self.lines) * 100.0
    }
}

/// Counts the types `Arc<Mutex<…>>` and `Arc<RwLock<…>>` in code without whitespace.
fn shared_locks(packed: &str) -> usize {
    let is_lock = |rest: &str| {
        let path = rest.split(|c: char| !is_word(c) && c != ':').next().unwrap_or_default();
        ["Mutex", "RwLock"].contains(&path.rsplit("::").next().unwrap_or_default())
    };
    packed
        .match_indices("Arc<")
        .filter(|(start, arc)| is_lock(&packed[start + arc.len()..]))
        .count()
}

#[expect(clippy::cast_precision_loss, reason = "counts of lines are far below 2^52")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 * 100.0 / whole as f64 }
}

/// Returns a percentile by nearest rank, or 0 for no values.
pub(super) fn percentile(values: &[usize], percent: usize) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() * percent).div_ceil(100);
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

fn private_functions(file: &ProductionFile) -> impl Iterator<Item = &FunctionDefinition> {
    file.functions.iter().filter(|function| function.visibility == DefinitionVisibility::Private)
}

/// Returns the private functions whose name is used once in their file, besides the definition.
pub(super) fn single_use_functions(
    file: &ProductionFile,
) -> impl Iterator<Item = &FunctionDefinition> {
    let mut uses: BTreeMap<&str, usize> = BTreeMap::new();
    for word in words(&file.code) {
        *uses.entry(word).or_default() += 1;
    }
    // The name occurs where it is defined and where it is used.
    private_functions(file).filter(move |function| uses.get(function.name.as_str()) == Some(&2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_by_nearest_rank() {
        let values: Vec<usize> = (1..=10).rev().collect();
        assert_eq!([50, 90, 99, 100].map(|rank| percentile(&values, rank)), [5, 9, 10, 10]);
        assert_eq!(percentile(&[], 50), 0);
    }

    #[test]
    fn shared_locks_are_types() {
        assert_eq!(shared_locks("a:Arc<Mutex<A>>,b:Arc<std::sync::RwLock<B>>"), 2);
        assert_eq!(shared_locks("Arc::new(Mutex::new(1)),Arc<A<Mutex<B>>>"), 0);
    }
}
