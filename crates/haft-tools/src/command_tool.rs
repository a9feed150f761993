//! Tools that are declared rather than written: a command whose words are a template, filled in from the input of a call. No
//! shell reads it, and each value is one word. It is judged and run as `bash` runs a command with `args`. Where a declaration
//! is read from is not known here.

mod check;
mod template;
#[cfg(test)]
mod tests;

use haft_contract::limits::{BASH_ARG_CHARS_MAX, BASH_ARGS_MAX};
use haft_contract::{
    Access, Effect, ErrorCode, RequirementSet, ShellRequest, ShellRequirement, Tool, ToolError,
    ToolId, ToolKind, ToolOrigin,
};
use haft_shell::analyze_argv;
use serde::Deserialize;
use serde_json::Value;

pub use self::check::CommandToolProblem;
use self::check::{ANY_PROGRAM, CheckedCommandTool};
use crate::bash;
use crate::text_file::{workspace_read_requirements, workspace_write_requirements};

/// A command that is declared as a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandToolSpec {
    /// The tool's id.
    pub id: ToolId,
    /// The text by which a model decides whether to call it.
    pub description: String,
    /// JSON Schema of the input.
    pub parameters: Value,
    /// The program and its arguments.
    pub argv: Vec<ArgvItem>,
    /// Parameters whose values may begin with a dash where a program would take that for an option.
    pub allow_dash: Vec<String>,
    /// Working directory within the root; the root unless named.
    pub cwd: Option<String>,
    /// Time for a call, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// The effect of a call.
    pub effect: Effect,
    /// Whether a plan runs it only when the user named it.
    pub dangerous: bool,
    /// The access that the command needs besides the programs of its template; the workspace, as far as its effect goes, and no host
    /// unless given.
    pub requires: Option<RequirementSet>,
    /// How an editor draws it.
    pub kind: ToolKind,
}

/// A part of the template of a command.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a word, or a list of words that belong together")]
pub enum ArgvItem {
    /// One word, with parameters in braces. One that is a parameter and nothing else is a word for each entry of a list.
    Word(String),
    /// Words that are left out together when the input does not have one of their parameters.
    Group(Vec<String>),
}

/// Returns the tool that a declaration makes, or everything that is wrong with it.
pub fn command_tool(spec: CommandToolSpec) -> Result<Tool, Vec<CommandToolProblem>> {
    let CheckedCommandTool { template, parameters, programs } = check::check_spec(&spec)?;
    let CommandToolSpec {
        id, description, cwd, timeout_ms, effect, dangerous, requires, kind, ..
    } = spec;
    let mut around = requires.unwrap_or_else(|| match effect.side_effect() {
        true => workspace_write_requirements(),
        false => workspace_read_requirements(),
    });
    let is_bounded = !around.shell.is_empty();
    let programs = programs.into_iter().filter(|cmd| !(is_bounded && cmd == ANY_PROGRAM));
    around.shell.extend(programs.map(|cmd| ShellRequirement { cmd, args: None }));
    let capabilities = around.capabilities.clone();
    let builder = Tool::new(id.as_str())
        .description(description)
        .effect(effect)
        .kind(kind)
        .origin(ToolOrigin::Declared)
        .requires(around)
        .timeout_ms(move |_: &Value| timeout_ms);
    let builder = if dangerous { builder.dangerous() } else { builder };
    let (judged, judged_cwd) = (template.clone(), cwd.clone());
    let tool = builder
        .try_accesses(move |input: &Value| {
            let argv = judged.fill(input)?;
            let invalid = |message| Err(ToolError::new(ErrorCode::InvalidInput, message));
            let args = argv.len().saturating_sub(1);
            if args > BASH_ARGS_MAX {
                return invalid(format!(
                    "the command would have {args} arguments: expected at most {BASH_ARGS_MAX}"
                ));
            }
            let longest = argv.iter().map(|word| word.chars().count()).max().unwrap_or(0);
            if longest > BASH_ARG_CHARS_MAX {
                return invalid(format!("an argument of the command would have {longest} characters: expected at most {BASH_ARG_CHARS_MAX}"));
            }
            let (analysis, line) = (analyze_argv(&argv), argv.join(" "));
            let mut accesses = bash::accesses_of(&analysis, &line, judged_cwd.as_deref());
            accesses.extend(capabilities.iter().map(|name| Access::Named { name: name.clone() }));
            Ok(accesses)
        })
        .execute_json(parameters, move |input, cx| {
            let (words, cwd) = (template.fill(&input), cwd.clone());
            async move {
                let mut words = words?.into_iter();
                let program = words.next().unwrap_or_default();
                let request = ShellRequest { program: program.clone(), args: words.collect(), cwd };
                let outcome = cx.shell().run(request).await?;
                let longer = ": timeout_ms of its declaration gives it longer";
                bash::command_output(&program, &cx, outcome, longer)
            }
        });
    Ok(tool)
}
