//! The findings of an analysis so far, and the context of the statements that they are about.

use crate::analysis::{
    CommandWord, FileUse, FileUseMode, FileUseOrigin, ShellAnalysis, SimpleCommand, UnknownPart,
    UnknownReason,
};
use crate::arithmetic::DataFlow;
use crate::directories::WorkingDirectories;
use crate::links::LinkUses;

/// Commands that one command line runs.
///
/// Limit (commands): haft asks about the whole line.
pub const COMMANDS_MAX: usize = 256;
/// Maximum number of file uses in a line.
pub const FILES_MAX: usize = 1_024;
/// Maximum nesting of wrappers, and of lines within lines.
pub const THROUGH_MAX: usize = 8;
/// Devices without content. The standard descriptors were opened elsewhere, where they count.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];

/// The findings of a walk.
#[derive(Default)]
pub(crate) struct LineFindings {
    pub(crate) analysis: ShellAnalysis,
    pub(crate) data: DataFlow,
    pub(crate) links: LinkUses,
    /// There were more findings than the limits allow.
    pub(crate) is_full: bool,
    /// The line has changed its directory.
    pub(crate) directory_changed: bool,
    /// Lines that a command starts because of its words, and that are not analysed yet.
    pub(crate) started_lines: Vec<(String, StatementScope)>,
}

impl LineFindings {
    pub(crate) fn add_unknown(&mut self, text: &str, reason: UnknownReason) {
        let unknown = UnknownPart { text: text.to_owned(), reason };
        if !self.analysis.unknown.contains(&unknown) {
            self.analysis.unknown.push(unknown);
        }
        self.is_full |= self.analysis.unknown.len() > COMMANDS_MAX;
    }

    /// Records a line that runs because of a word of the current command.
    pub(crate) fn add_started_line(&mut self, line: &str, scope: StatementScope) {
        self.started_lines.push((line.to_owned(), scope));
    }

    pub(crate) fn add_command(&mut self, words: &[CommandWord], scope: &StatementScope) {
        let command = SimpleCommand { launchers: scope.launchers.clone(), words: words.to_vec() };
        if !self.analysis.commands.contains(&command) {
            self.analysis.commands.push(command);
        }
        self.is_full |= self.analysis.commands.len() > COMMANDS_MAX;
    }

    pub(crate) fn add_host(&mut self, host: &str) {
        self.analysis.hosts.push(host.to_owned());
    }

    pub(crate) fn add_file(
        &mut self,
        path: &str,
        kind: (FileUseMode, FileUseOrigin),
        scope: &StatementScope,
    ) {
        for path in self.add_file_uses(path, kind, scope) {
            self.links.add_use(&path, "");
        }
    }

    /// Records a file argument of a command that is spelled with the bare name of its program.
    /// Files that `ln` writes are links.
    pub(crate) fn add_operand(
        &mut self,
        (path, how): (&str, FileUseMode),
        command: &str,
        scope: &StatementScope,
    ) {
        let makes_link = how == FileUseMode::Write && command.starts_with("ln ");
        for path in self.add_file_uses(path, (how, FileUseOrigin::Operand), scope) {
            if makes_link {
                self.links.add_link(&path, command);
            } else {
                self.links.add_use(&path, command);
            }
        }
    }

    /// Records a file and returns its possible paths.
    fn add_file_uses(
        &mut self,
        path: &str,
        (how, why): (FileUseMode, FileUseOrigin),
        scope: &StatementScope,
    ) -> Vec<String> {
        // A dash is standard input for a program that reads.
        let is_input = path == "-" && how == FileUseMode::Read && why == FileUseOrigin::Operand;
        let is_descriptor = path
            .strip_prefix("/dev/fd/")
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        if path.is_empty() || is_input || is_descriptor || DEVICES.contains(&path) {
            return Vec::new();
        }
        let Some(paths) = scope.directories.resolve(path) else {
            self.add_unknown(path, UnknownReason::Directory);
            return Vec::new();
        };
        // If a `cd` failed, the path may lie outside of the start directory. Whether the line
        // touches that file is then unknown.
        let climbs = |path: &String| path == ".." || path.starts_with("../");
        let (outside, inside): (Vec<String>, Vec<String>) = paths.into_iter().partition(climbs);
        let is_open = !outside.is_empty() && !inside.is_empty();
        if is_open {
            self.add_unknown(path, UnknownReason::Directory);
        }
        let paths = if is_open { inside } else { [outside, inside].concat() };
        for path in &paths {
            let file = FileUse { path: path.clone(), mode: how, origin: why };
            if !self.analysis.files.contains(&file) {
                self.analysis.files.push(file);
            }
        }
        self.is_full |= self.analysis.files.len() + self.links.len() > FILES_MAX;
        paths
    }
}

/// The context in which statements run.
#[derive(Clone)]
pub(crate) struct StatementScope {
    /// The number of lines within lines that run in the same shell.
    nesting: usize,
    pub(crate) directories: WorkingDirectories,
    /// The programs that start them.
    pub(crate) launchers: Vec<String>,
}

impl StatementScope {
    pub(crate) fn start() -> Self {
        Self { nesting: 0, directories: WorkingDirectories::start(), launchers: Vec::new() }
    }

    /// Returns the scope of statements that run in `places`.
    pub(crate) fn in_directories(&self, places: WorkingDirectories) -> Self {
        Self { directories: places, ..self.clone() }
    }

    /// Returns the scope of statements that `program` starts.
    pub(crate) fn started_by(&self, program: &str) -> Self {
        let mut through = self.launchers.clone();
        through.push(program.to_owned());
        Self { launchers: through, ..self.clone() }
    }

    /// Returns the scope of a line that runs in the same shell, as the words of `eval` do.
    pub(crate) fn nested(&self) -> Self {
        Self { nesting: self.nesting + 1, ..self.clone() }
    }

    pub(crate) fn is_too_deep(&self) -> bool {
        self.launchers.len() + self.nesting > THROUGH_MAX
    }
}

/// The directories of the shell after a statement.
pub(crate) struct DirectoriesAfter {
    pub(crate) succeeded: WorkingDirectories,
    pub(crate) failed: WorkingDirectories,
}

impl DirectoriesAfter {
    /// For a statement that does not change the directory.
    pub(crate) fn unchanged(scope: &StatementScope) -> Self {
        Self { succeeded: scope.directories.clone(), failed: scope.directories.clone() }
    }

    pub(crate) fn unknown() -> Self {
        Self { succeeded: WorkingDirectories::Unknown, failed: WorkingDirectories::Unknown }
    }

    pub(crate) fn either(self) -> WorkingDirectories {
        self.succeeded.union(self.failed)
    }
}
