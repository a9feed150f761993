//! The tool `glob`: lists files by the shape of their paths. `walk::glob` decides what a pattern means;
//! `walk::ignore_rules` decides which files can be seen at all.

#[cfg(test)]
mod tests;

use std::num::NonZeroUsize;

use haft_contract::limits::{GLOB_ENTRIES_MAX, SEARCH_SIDECAR_BYTES_MAX};
use haft_contract::{
    Access, Cx, ErrorCode, FsEntryKind, FsRequirement, OutputBody, OutputLimit, RequirementSet,
    Tool, ToolError, ToolKind, ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;
use crate::text_file::missing_file_error;
use crate::walk::{self, DirectoryWalk, WalkGlob, skipped_note};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GlobInput {
    /// Relative to `path`. Without a slash: at any depth (`./*.rs`: top only). Ending in a slash: directories.
    pattern: String,
    /// Directory to look in; default: the root.
    path: Option<String>,
}

/// Returns the tool.
pub(crate) fn glob() -> Tool {
    Tool::new("glob")
        .description(
            "Find files by glob (`*`, `**`, `?`, `[a-z]`, `{a,b}`), sorted by path. Skips files ignored by .gitignore, \
             and hidden files unless the pattern names them (`**/.env*`).",
        )
        .kind(ToolKind::Search)
        .example_output(json!({"paths": ["a.txt", "b/c.txt"]}))
        .output_limit(OutputLimit::Entries(GLOB_ENTRIES_MAX))
        .aliases(aliases::GLOB)
        .aliases(aliases::DIRECTORY)
        .requires(RequirementSet {
            fs: FsRequirement { read: vec!["{workspace}/**".to_owned()], write: Vec::new() },
            ..RequirementSet::default()
        })
        .try_accesses(|args: &GlobInput| {
            args.check_pattern()?;
            Ok(vec![Access::read(args.base())])
        })
        .execute_blocking(|args: GlobInput, cx: &Cx| run(&args, cx, walk::threads_available()))
}

impl GlobInput {
    fn path(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }

    /// Refuses a pattern that leads out of the workspace by its spelling.
    fn check_pattern(&self) -> Result<(), ToolError> {
        let starts_at_root = matches!(self.path(), "" | "." | "./");
        if !starts_at_root || self.pattern.split('/').find(|part| *part != ".") != Some("..") {
            return Ok(());
        }
        let message = format!(
            "pattern {:?} leads out of the workspace: leave \"..\" out, as in {{\"pattern\": \"*\"}}",
            self.pattern
        );
        Err(ToolError::new(ErrorCode::PathEscape, message))
    }

    /// Returns where the walk starts, which may be narrower than `path`, or elsewhere for an absolute pattern.
    fn base(&self) -> String {
        WalkGlob::parse(&self.pattern).base(self.path())
    }
}

fn run(args: &GlobInput, cx: &Cx, threads: NonZeroUsize) -> Result<ToolOutput, ToolError> {
    let pattern = WalkGlob::parse(&args.pattern);
    let selector = pattern.selector()?;
    let base = pattern.base(args.path());
    let listing = match cx.fs().resolve(&base)? {
        (base, Some(FsEntryKind::Directory)) => {
            DirectoryWalk { cx, base: &base, selector: &selector, threads }.run()?
        }
        // A pattern whose directories do not exist matches nothing, but a `path` has to be one.
        _ if pattern.has_directory()
            && cx.fs().resolve(args.path())?.1 == Some(FsEntryKind::Directory) =>
        {
            let name = args.pattern.rsplit('/').next().unwrap_or_default();
            let note = format!(
                "No file matches {:?}: its directory does not exist. \"**/{name}\" searches every directory.",
                args.pattern
            );
            return Ok(lines(Vec::new(), false, &note));
        }
        (_, None) => {
            let (place, _) = cx.fs().resolve(args.path())?;
            return Err(missing_file_error(cx.fs(), args.path(), &place));
        }
        (place, Some(found)) => {
            let message = format!(
                "path {:?} is {}, not a directory: name a directory in path",
                place.display(),
                found.with_article()
            );
            return Err(ToolError::new(ErrorCode::PathInvalid, message));
        }
    };
    let skipped = skipped_note(&[
        (listing.passed_over(), "hidden or ignored"),
        (cx.fs().unlisted(), "not permitted"),
    ]);
    let note = format!("No file matches {:?}{skipped}.", args.pattern);
    let mut paths = Vec::new();
    let mut bytes = 0;
    for path in listing.displays() {
        bytes += path.len() + 1;
        if bytes > SEARCH_SIDECAR_BYTES_MAX {
            return Ok(lines(paths, true, &note));
        }
        paths.push(path);
    }
    if cx.is_cancelled() && paths.is_empty() {
        return Err(ToolError::new(
            ErrorCode::ToolTimeout,
            "the walk was stopped before it found anything: name a narrower directory in `path`",
        ));
    }
    Ok(lines(paths, !listing.is_complete(), &note))
}

fn lines(lines: Vec<String>, incomplete: bool, empty_note: &str) -> ToolOutput {
    let empty_note = lines.is_empty().then(|| empty_note.to_owned());
    let body = OutputBody::Lines { key: "paths", lines, incomplete };
    ToolOutput { empty_note, ..ToolOutput::new(body) }
}
