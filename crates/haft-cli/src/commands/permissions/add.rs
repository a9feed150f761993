//! `haft permissions allow`, `deny` and `ask`: adds one rule for the project or for the user, and shows it with its file. The
//! command writes no rule that names something unknown.

use std::path::Path;

use clap::Args;
use haft_policy::{Conditions, Rule, RuleAction, RuleScope, RuleSet};
use serde::Serialize;

use super::export::toml_text;
use crate::arguments::cli_context::CliContext;
use crate::error::{CommandError, CommandResult, CommandStatus};
use crate::manifest_edit::{ManifestEdit, ManifestPlace};
use haft_app::{compose, permission_names};

/// The rule to add.
#[derive(Args)]
pub(crate) struct AddRuleArgs {
    /// A tool or a capability, such as bash, fs.read, fs.write, net.fetch or mcp:SERVER:TOOL
    permission: String,
    /// The paths, commands or hosts that the rule is about
    #[arg(default_value = "*")]
    pattern: String,
    /// Write it to your own configuration, for all of your projects
    #[arg(long)]
    user: bool,
}

#[derive(Serialize)]
struct PermissionAddReport<'a> {
    added: bool,
    scope: RuleScope,
    rule: &'a Rule,
    file: &'a Path,
    /// Whether the rule holds.
    trusted: bool,
}

/// Runs the command.
pub(super) async fn run(action: RuleAction, args: &AddRuleArgs, cx: &CliContext) -> CommandResult {
    let settings = cx.resolve_settings()?;
    let rule = Rule::new(&args.permission, &args.pattern, action);
    let registry = compose::registry(&settings, &cx.host).await?;
    let known = permission_names::known(&settings.requires.capabilities, &registry);
    let has_omitted = settings.untrusted.iter().any(|untrusted| untrusted.names.has_tools());
    if let Some(problem) = permission_names::problem(&rule.permission, &known)
        && !has_omitted
    {
        return Err(CommandError::usage(problem).hint("haft tools list"));
    }
    let scope = if args.user { RuleScope::User } else { RuleScope::Project };
    let variables = compose::variables(&compose::roots(&settings)?, &settings, &cx.host);
    RuleSet::compile([(scope, rule.clone())], &variables, Conditions::default())
        .map_err(CommandError::usage)?;
    let (added, file, note) = match scope {
        RuleScope::User => {
            let edit = ManifestEdit::open(ManifestPlace::User, &cx.setting_args, &cx.host)?;
            match edit.parse(&edit.file)?.permissions.contains(&rule) {
                true => (false, edit.file.path().to_owned(), String::new()),
                false => {
                    let entry = toml_text(std::slice::from_ref(&rule))?;
                    let text = edit.with_entry(&entry)?;
                    let changed = edit.write(text)?;
                    (true, changed.file.path().to_owned(), changed.trust_note())
                }
            }
        }
        _ => {
            let added = settings.project.add(std::slice::from_ref(&rule))? > 0;
            (added, settings.project.path().to_owned(), String::new())
        }
    };
    let trusted = note.is_empty();
    let report = PermissionAddReport { added, scope, rule: &rule, file: &file, trusted };
    cx.print_answer(&report, || {
        let verb = if added { "added" } else { "known already:" };
        let whose = if args.user { "all of your projects" } else { "this project" };
        format!("{verb} `{rule}` for {whose}, in {}\n{note}", file.display())
    })?;
    Ok(CommandStatus::Done)
}
