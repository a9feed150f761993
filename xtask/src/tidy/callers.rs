//! Functions that only one place may call, because a second caller would be a second way around a guard.

use super::TidyViolation;
use crate::repository::RepositoryFile;
use crate::rust_text::has_word;

/// A function, where it is defined, and the one file of production code that calls it.
pub(super) struct SoleCaller {
    pub(super) function: &'static str,
    pub(super) defined_in: &'static str,
    pub(super) called_in: &'static str,
    pub(super) why: &'static str,
}

pub(super) const SOLE_CALLERS: &[SoleCaller] = &[SoleCaller {
    function: "call_unguarded",
    defined_in: "crates/haft-contract/src/tool.rs",
    called_in: "crates/haft/src/pipeline/execute.rs",
    why: "every call of a tool passes the whole pipeline",
}];

/// Fails a second caller in production code, and a row whose caller is gone.
pub(super) fn check(sources: &[RepositoryFile], rows: &[SoleCaller]) -> Vec<TidyViolation> {
    let mut violations = Vec::new();
    for row in rows {
        let mut is_called = false;
        for source in sources.iter().filter(|source| !source.is_test()) {
            let Some(rust) = &source.rust else { continue };
            for (index, line) in rust.code.lines().enumerate() {
                if !has_word(line, row.function) || source.path == row.defined_in {
                    continue;
                }
                is_called |= source.path == row.called_in;
                if source.path != row.called_in {
                    let message = format!(
                        "`{}` is called in {} only: {}",
                        row.function, row.called_in, row.why
                    );
                    violations.push(TidyViolation::new(&source.path, index + 1, message));
                }
            }
        }
        let is_defined = sources.iter().any(|source| source.path == row.defined_in);
        if is_defined && !is_called {
            let message =
                format!("`{}` is not called here any more: mend the row in tidy", row.function);
            violations.push(TidyViolation::new(row.called_in, 1, message));
        }
    }
    violations
}
