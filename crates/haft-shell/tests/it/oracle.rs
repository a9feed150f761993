//! Compares the analysis with real effects: generated lines that are completely known run under
//! strace. Every executed program must be in the analysis, and every file that was read or changed.

use std::path::{Path, PathBuf};

use haft_shell::{FileUseMode, ShellAnalysis, analyze_line};
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::made_up;
use super::shown::shown;
use super::trace::{Touch, Touched, spellings, trace};

const LINES: u32 = 200;
/// Without a minimum, an analysis that calls everything unknown would pass.
const KNOWN_MIN: usize = 150;

#[test]
fn what_happens_was_judged() {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, b"what is judged is all that runs.");
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    let strategy = made_up::line();
    let mut known = 0;
    for _ in 0..LINES {
        let line = strategy.new_tree(&mut runner).expect("a line").current();
        let judgement = analyze_line(&line);
        if judgement.is_known() {
            known += 1;
            check(&line, &judgement);
        }
    }
    assert!(known >= KNOWN_MIN, "only {known} of {LINES} lines are known");
}

fn check(line: &str, judgement: &ShellAnalysis) {
    let scratch = tempfile::tempdir().expect("a directory");
    let top = scratch.path().canonicalize().expect("a path");
    // Deep enough that no line leaves it through `..`.
    let workspace = top.join("1/2/3/4/work");
    lay_out(&workspace);
    let uses = uses(judgement, &workspace);
    let seen = trace(line, &workspace, &top.join("trace"));
    for argv in &seen.executed {
        assert!(
            is_covered(argv, judgement),
            "{argv:?} ran and was not judged: {line}\n{}",
            shown(judgement)
        );
    }
    let is_inside = |touched: &&Touched| touched.path.starts_with(top.join("1"));
    for touched in seen.touched.iter().filter(is_inside) {
        assert!(
            is_named(touched, &uses),
            "{touched:?} happened and was not judged: {line}\n{}",
            shown(judgement)
        );
    }
}

/// Creates files for the lines to work on. `link` leads to a directory.
fn lay_out(workspace: &Path) {
    std::fs::create_dir_all(workspace.join("dir/sub")).expect("directories");
    for name in ["a.txt", "b.txt", "two words", "dir/a.txt", "dir/sub/c.txt"] {
        std::fs::write(workspace.join(name), "b\na\na 1\n").expect("a file");
    }
    std::os::unix::fs::symlink("dir/sub", workspace.join("link")).expect("a link");
}

/// Returns the files in the analysis, resolved before the line changes them.
fn uses(judgement: &ShellAnalysis, workspace: &Path) -> Vec<(PathBuf, FileUseMode)> {
    let spelled = |file: &haft_shell::FileUse| {
        let how = file.mode;
        spellings(&workspace.join(&file.path)).into_iter().map(move |path| (path, how))
    };
    judgement.files.iter().flat_map(spelled).collect()
}

fn is_covered(argv: &[String], judgement: &ShellAnalysis) -> bool {
    judgement.commands.iter().any(|command| {
        command.argv().as_deref() == Some(argv)
            || argv.first().is_some_and(|program| command.launchers.contains(program))
    })
}

fn is_named(touched: &Touched, uses: &[(PathBuf, FileUseMode)]) -> bool {
    let is_written = |path: &Path| {
        let mut spelled = spellings(path).into_iter();
        spelled.any(|path| {
            uses.iter().any(|(file, how)| *how == FileUseMode::Write && path.starts_with(file))
        })
    };
    let is_read = |path: &Path| {
        let mut spelled = spellings(path).into_iter();
        spelled.any(|path| uses.iter().any(|(file, _)| path.starts_with(file)))
    };
    match &touched.how {
        Touch::Read if touched.path.is_dir() => true,
        Touch::Read | Touch::List => is_read(&touched.path),
        Touch::Write | Touch::Create => is_written(&touched.path),
        Touch::Temporary(renamed) => is_written(renamed),
        // Parent directories that are created belong to creating the directory.
        Touch::MakeDirectory => {
            let is_on_the_way = |(file, how): &(PathBuf, FileUseMode)| {
                *how == FileUseMode::Write && file.starts_with(&touched.path)
            };
            is_written(&touched.path) || uses.iter().any(is_on_the_way)
        }
    }
}
