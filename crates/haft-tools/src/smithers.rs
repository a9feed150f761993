//! The profile `smithers`: the five Smithers tools with their exact schemas, messages and codes. Answers are bare
//! strings, `edit` takes a unified diff, and `bash` never parses.
//!
//! Its messages are the published ones, so they do not follow the style of the others.

use haft_contract::limits::{
    BASH_ARG_CHARS_MAX, BASH_ARGS_MAX, BASH_CMD_CHARS_MAX, BASH_CWD_CHARS_MAX,
};
use haft_contract::{
    Access, CommandLine, Cx, Effect, ErrorCode, FileChange, OutputBody, Precondition,
    ShellParameter, ShellRequest, Tool, ToolError, ToolKind,
};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::edit::apply_with_retries;
use crate::text_file::{
    FileUser, TextFile, load_text_file, workspace_read_requirements, workspace_write_requirements,
};
use crate::{bash, grep, walk, write};

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmithersReadInput {
    /// File path, relative to rootDir or absolute within it.
    path: String,
}

/// Returns the five tools.
pub(crate) fn tools() -> Vec<Tool> {
    let bash_tool = Tool::new("bash")
        .description("Run an executable with arguments. There is no shell parsing.")
        .kind(ToolKind::Execute)
        .effect(Effect::Once)
        .dangerous()
        .shell_line(ShellParameter { parameter: "cmd", words: "args" })
        .requires(bash::shell_requirements())
        .accesses(|input: &SmithersBashInput| {
            let cwd = input.opts.as_ref().and_then(|opts| opts.cwd.as_ref());
            let argv =
                std::iter::once(&input.cmd).chain(input.args.iter().flatten()).cloned().collect();
            let shell = Access::Shell { command: CommandLine::Argv(argv) };
            std::iter::once(shell).chain(cwd.map(Access::read)).collect()
        })
        .execute_with(|input: SmithersBashInput, cx: Cx| async move {
            let cwd = input.opts.and_then(|opts| opts.cwd);
            let request = ShellRequest {
                program: input.cmd.clone(),
                args: input.args.unwrap_or_default(),
                cwd,
            };
            let outcome = cx.shell().run(request).await?;
            let mut output = bash::command_output(&input.cmd, &cx, outcome, "")?;
            // The whole output is a bare string; a cut one keeps its head, its tail and the way to the rest.
            output.body = match output.body {
                OutputBody::Excerpt(excerpt) if !excerpt.truncated() => {
                    OutputBody::Text(excerpt.head)
                }
                body => body,
            };
            Ok::<_, ToolError>(output)
        });
    let edit_tool = Tool::new("edit")
        .description("Apply a unified-diff patch to an existing file.")
        .kind(ToolKind::Edit)
        .effect(Effect::Once)
        .dangerous()
        .requires(workspace_write_requirements())
        .redacted(&["patch"])
        .only_changes_files()
        .accesses(|input: &SmithersEditInput| {
            vec![Access::read(&input.path), Access::write(&input.path)]
        })
        .execute_blocking(edit);
    let grep_tool = Tool::new("grep")
        .description("Search for a regex pattern in files (rg -n).")
        .kind(ToolKind::Search)
        .requires(workspace_read_requirements())
        .accesses(|input: &SmithersGrepInput| {
            vec![Access::read(input.path.as_deref().unwrap_or("."))]
        })
        .execute_blocking(|input: SmithersGrepInput, cx: &Cx| {
            let request = grep::GrepQuery {
                pattern: input.pattern,
                path: input.path.unwrap_or_else(|| ".".to_owned()),
                glob: None,
                ignore_case: false,
                context_lines: 0,
                threads: walk::threads_available(),
            };
            grep::search(cx, &request).map(|found| found.entries.join("\n"))
        });
    let read_tool = Tool::new("read")
        .description("Read a UTF-8 file from the sandbox.")
        .kind(ToolKind::Read)
        .requires(workspace_read_requirements())
        .accesses(|input: &SmithersReadInput| vec![Access::read(&input.path)])
        .execute_blocking(|input: SmithersReadInput, cx: &Cx| {
            load_whole(cx, &input.path).map(|file| file.text)
        });
    let write_tool = Tool::new("write")
        .description("Write content to a file, creating parent directories as needed.")
        .kind(ToolKind::Edit)
        .effect(Effect::Once)
        .dangerous()
        // The former content is read too, for its line ends.
        .requires(workspace_write_requirements())
        .redacted(&["content"])
        .only_changes_files()
        .accesses(|input: &SmithersWriteInput| vec![Access::write(&input.path)])
        .execute_blocking(|input: SmithersWriteInput, cx: &Cx| {
            if input.content.len() > cx.max_output_bytes() {
                return Err(ToolError::new(ErrorCode::ContentTooLarge, "Content too large"));
            }
            write::write_file(cx, &input.path, input.content)
        });
    vec![bash_tool, edit_tool, grep_tool, read_tool, write_tool]
}

fn edit(input: SmithersEditInput, cx: &Cx) -> Result<&'static str, ToolError> {
    if input.patch.len() > cx.max_output_bytes() {
        return Err(ToolError::new(ErrorCode::PatchTooLarge, "Patch too large"));
    }
    let failed = |why: String| {
        ToolError::new(ErrorCode::PatchFailed, format!("Failed to apply patch: {why}"))
            .recorded_as("Failed to apply patch")
    };
    let hunks = haft_patch::parse_single(&input.patch).map_err(|err| failed(err.to_string()))?;
    apply_with_retries(cx, || {
        let file = load_whole(cx, &input.path)?;
        let patched =
            haft_patch::apply_hunks(&hunks, &file.text).map_err(|err| failed(err.to_string()))?;
        let change = FileChange::Write {
            path: file.path,
            contents: patched.into_bytes(),
            mode: None,
            precondition: Precondition::Unchanged(file.stamp),
        };
        Ok((vec![change], "ok"))
    })
}

/// Loads a file. Only the message about a large file differs from the contract's read.
fn load_whole(cx: &Cx, path: &str) -> Result<TextFile, ToolError> {
    load_text_file(cx, path, FileUser::Read).map_err(|err| match err.code {
        ErrorCode::FileTooLarge => ToolError::new(err.code, "File too large"),
        _ => err,
    })
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmithersWriteInput {
    /// Destination path, relative to rootDir or absolute within it.
    path: String,
    /// File contents.
    content: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmithersEditInput {
    /// File to patch. Must already exist.
    path: String,
    /// A unified diff. Applied against the current contents.
    patch: String,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmithersGrepInput {
    /// Regex to search for.
    pattern: String,
    /// Directory or file to search, relative to rootDir.
    path: Option<String>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmithersBashInput {
    /// Executable name or path.
    #[schemars(length(min = 1, max = BASH_CMD_CHARS_MAX))]
    cmd: String,
    /// Arguments.
    #[schemars(length(max = BASH_ARGS_MAX), inner(length(max = BASH_ARG_CHARS_MAX)))]
    args: Option<Vec<String>>,
    opts: Option<SmithersBashOptions>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SmithersBashOptions {
    /// Working directory, sandboxed under rootDir.
    #[schemars(length(max = BASH_CWD_CHARS_MAX))]
    cwd: Option<String>,
}
