//! The profile `smithers`: the five Smithers tools with their exact schemas, messages and codes. Answers are bare
//! strings, `edit` takes a unified diff, and `bash` never parses.
//!
//! Its messages are the published ones, so they do not follow the style of the others.

use haft_contract::limits::{
    BASH_ARG_CHARS_MAX, BASH_ARGS_MAX, BASH_CMD_CHARS_MAX, BASH_CWD_CHARS_MAX,
};
use haft_contract::{
    Access, Body, Command, Cx, Effect, ErrorCode, FileChange, Kind, Output, Precondition,
    ShellRequest, Tool, ToolError,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::edit::changing;
use crate::text_file::{TextFile, changes_workspace, load, reads_workspace};
use crate::{bash, grep, patch, walk, write};

/// Returns the five tools.
pub(crate) fn tools() -> Vec<Tool> {
    vec![smithers_bash(), smithers_edit(), smithers_grep(), smithers_read(), smithers_write()]
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadInput {
    /// File path, relative to rootDir or absolute within it.
    path: String,
}

fn smithers_read() -> Tool {
    Tool::new("read")
        .description("Read a UTF-8 file from the sandbox.")
        .kind(Kind::Read)
        .requires(reads_workspace())
        .accesses(|input: &ReadInput| vec![Access::read(&input.path)])
        .execute_blocking(|input: ReadInput, cx: &Cx| {
            load_whole(cx, &input.path).map(|file| file.text)
        })
}

/// Loads a file; the only difference to the contract's read is the message when it is too large.
fn load_whole(cx: &Cx, path: &str) -> Result<TextFile, ToolError> {
    load(cx, path).map_err(|err| match err.code {
        ErrorCode::FileTooLarge => ToolError::new(err.code, "File too large"),
        _ => err,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct WriteInput {
    /// Destination path, relative to rootDir or absolute within it.
    path: String,
    /// File contents.
    content: String,
}

fn smithers_write() -> Tool {
    Tool::new("write")
        .description("Write content to a file, creating parent directories as needed.")
        .kind(Kind::Edit)
        .effect(Effect::Once)
        .dangerous()
        // The former content is read too, for its line ends.
        .requires(changes_workspace())
        .digested(&["content"])
        .only_changes_files()
        .accesses(|input: &WriteInput| vec![Access::write(&input.path)])
        .execute_blocking(|input: WriteInput, cx: &Cx| {
            if input.content.len() > cx.max_output_bytes() {
                return Err(ToolError::new(ErrorCode::ContentTooLarge, "Content too large"));
            }
            write::replace(cx, &input.path, input.content)
        })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct EditInput {
    /// File to patch. Must already exist.
    path: String,
    /// A unified diff. Applied against the current contents.
    patch: String,
}

fn smithers_edit() -> Tool {
    Tool::new("edit")
        .description("Apply a unified-diff patch to an existing file.")
        .kind(Kind::Edit)
        .effect(Effect::Once)
        .dangerous()
        .requires(changes_workspace())
        .digested(&["patch"])
        .only_changes_files()
        .accesses(|input: &EditInput| vec![Access::read(&input.path), Access::write(&input.path)])
        .execute_blocking(edit)
}

fn edit(input: EditInput, cx: &Cx) -> Result<&'static str, ToolError> {
    if input.patch.len() > cx.max_output_bytes() {
        return Err(ToolError::new(ErrorCode::PatchTooLarge, "Patch too large"));
    }
    let failed = |why: String| {
        ToolError::new(ErrorCode::PatchFailed, format!("Failed to apply patch: {why}"))
            .recorded_as("Failed to apply patch")
    };
    let hunks = patch::parse_single(&input.patch).map_err(|err| failed(err.to_string()))?;
    changing(cx, || {
        let file = load_whole(cx, &input.path)?;
        let patched =
            patch::apply_hunks(&hunks, &file.text).map_err(|err| failed(err.to_string()))?;
        let change = FileChange::Write {
            path: file.path,
            contents: patched.into_bytes(),
            mode: None,
            precondition: Precondition::Unchanged(file.stamp),
        };
        Ok((vec![change], "ok"))
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct GrepInput {
    /// Regex to search for.
    pattern: String,
    /// Directory or file to search, relative to rootDir.
    path: Option<String>,
}

fn smithers_grep() -> Tool {
    Tool::new("grep")
        .description("Search for a regex pattern in files (rg -n).")
        .kind(Kind::Search)
        .requires(reads_workspace())
        .accesses(|input: &GrepInput| vec![Access::read(input.path.as_deref().unwrap_or("."))])
        .execute_blocking(|input: GrepInput, cx: &Cx| {
            let request = grep::Request {
                pattern: input.pattern,
                path: input.path.unwrap_or_else(|| ".".to_owned()),
                glob: None,
                ignore_case: false,
                context_lines: 0,
                threads: walk::threads_available(),
            };
            grep::search(cx, &request).map(|found| found.entries.join("\n"))
        })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashInput {
    /// Executable name or path.
    #[schemars(length(min = 1, max = BASH_CMD_CHARS_MAX))]
    cmd: String,
    /// Arguments.
    #[schemars(length(max = BASH_ARGS_MAX), inner(length(max = BASH_ARG_CHARS_MAX)))]
    args: Option<Vec<String>>,
    opts: Option<BashOpts>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct BashOpts {
    /// Working directory, sandboxed under rootDir.
    #[schemars(length(max = BASH_CWD_CHARS_MAX))]
    cwd: Option<String>,
}

fn smithers_bash() -> Tool {
    Tool::new("bash")
        .description("Run an executable with arguments. There is no shell parsing.")
        .kind(Kind::Execute)
        .effect(Effect::Once)
        .dangerous()
        .requires(bash::requires())
        .accesses(|input: &BashInput| {
            let cwd = input.opts.as_ref().and_then(|opts| opts.cwd.as_ref());
            let argv =
                std::iter::once(&input.cmd).chain(input.args.iter().flatten()).cloned().collect();
            let shell = Access::Shell { command: Command::Argv(argv) };
            std::iter::once(shell).chain(cwd.map(Access::read)).collect()
        })
        .execute_with(|input: BashInput, cx: Cx| async move { run(input, &cx).await })
}

async fn run(input: BashInput, cx: &Cx) -> Result<Output, ToolError> {
    let cwd = input.opts.and_then(|opts| opts.cwd);
    let request =
        ShellRequest { program: input.cmd.clone(), args: input.args.unwrap_or_default(), cwd };
    let outcome = cx.shell().run(request).await?;
    let mut output = bash::answer(&input.cmd, cx, outcome, "")?;
    // The whole output is a bare string; a cut one keeps its head, its tail and the way to the rest.
    output.body = match output.body {
        Body::Excerpt(excerpt) if !excerpt.truncated() => Body::Text(excerpt.head),
        body => body,
    };
    Ok(output)
}
