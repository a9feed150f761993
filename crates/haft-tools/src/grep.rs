//! The tool `grep`: finds lines by a regular expression. This file is the tool's face; the search itself, which
//! other profiles use too, is in `search`.

mod lines;
mod pattern;
mod search;
#[cfg(test)]
mod tests;

use haft_contract::limits::GREP_MATCHES_MAX;
use haft_contract::{
    Access, Cx, FsRequirement, OutputBody, OutputLimit, RequirementSet, Tool, ToolError, ToolKind,
    ToolOutput,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

pub(crate) use self::search::{GrepMatches, GrepQuery, search};
use crate::{aliases, walk};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepInput {
    /// Rust regex, matched line by line.
    pattern: String,
    /// File or directory to search; default: the root. A file is searched even if ignored.
    path: Option<String>,
    /// Only files that match this glob, relative to `path`: `*.rs`, `src/**/*.ts`; `!*.md` leaves out.
    glob: Option<String>,
    /// Ignore case.
    ignore_case: Option<bool>,
    /// Lines to show before and after each match.
    #[schemars(range(max = 50))]
    context: Option<u32>,
}

/// Returns the tool.
pub(crate) fn grep() -> Tool {
    Tool::new("grep")
        .description(
            "Search file contents. Answers `file:line:text`, sorted by path. Skips hidden and binary files and files \
             ignored by .gitignore.",
        )
        .kind(ToolKind::Search)
        .example_output(json!({"matches": ["a.txt:1:the line"]}))
        .output_limit(OutputLimit::Entries(GREP_MATCHES_MAX))
        .aliases(aliases::GREP)
        .aliases(aliases::DIRECTORY)
        .requires(RequirementSet {
            fs: FsRequirement { read: vec!["{workspace}/**".to_owned()], write: Vec::new() },
            ..RequirementSet::default()
        })
        .accesses(|args: &GrepInput| vec![Access::read(args.path.as_deref().unwrap_or("."))])
        .execute_blocking(|args: GrepInput, cx: &Cx| {
            let request = GrepQuery {
                pattern: args.pattern,
                path: args.path.unwrap_or_else(|| ".".to_owned()),
                glob: args.glob,
                ignore_case: args.ignore_case.unwrap_or(false),
                context_lines: args.context.unwrap_or(0),
                threads: walk::threads_available(),
            };
            let GrepMatches { entries, incomplete, searched } = search(cx, &request)?;
            let empty_note = entries.is_empty().then(|| searched.without_match(request.glob.as_deref()));
            let body = OutputBody::Lines { key: "matches", lines: entries, incomplete };
            Ok::<_, ToolError>(ToolOutput { empty_note, ..ToolOutput::new(body) })
        })
}
