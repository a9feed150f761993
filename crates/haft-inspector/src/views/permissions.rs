//! The rules in force with their origin, what they would make of a call, and a new rule. A new rule is shown with its scope and
//! its file before it is written, and nothing wider than the shown rule is written.

use std::path::PathBuf;
use std::sync::Arc;

use askama::Template;
use haft_app::host::AppHost;
use haft_app::settings::EffectiveSettings;
use haft_app::{RuleOrigin, compose, list_rules, permission_names};
use haft_policy::{Conditions, Rule, RuleAction, RuleScope, RuleSet};

use crate::change::ShownChange;
use crate::navigation::{Section, Sections};
use crate::page_error::PageError;
use crate::request::InspectorRequest;
use crate::response::{self, PageResponse};
use crate::source::Source;
use crate::text::{on_one_line, shown, url_part};

#[derive(Template)]
#[template(path = "permissions.html")]
struct PermissionsPage {
    sections: Sections,
    root: String,
    rules: Vec<RuleLine>,
    untrusted: Vec<String>,
    tool: String,
    input: String,
    judged: Option<JudgedCall>,
    action: &'static str,
    permission: String,
    pattern: String,
    offered: Option<OfferedRule>,
    problem: String,
}

/// A rule on one line.
struct RuleLine {
    scope: String,
    action: String,
    permission: String,
    pattern: String,
    when: String,
    origin: String,
}

/// The judgement about a call.
struct JudgedCall {
    outcome: &'static str,
    style: &'static str,
    refusal: String,
    accesses: Vec<(String, String, String)>,
    reasons: Vec<String>,
}

/// A rule that can be added.
struct OfferedRule {
    rule: String,
    file: String,
    nonce: String,
}

/// The workspace that the rules are for.
struct RuledWorkspace {
    settings: EffectiveSettings,
    host: AppHost,
}

/// The actions of a rule, with their names.
const ACTIONS: [(&str, RuleAction); 3] =
    [("allow", RuleAction::Allow), ("ask", RuleAction::Ask), ("deny", RuleAction::Deny)];

/// Shows the rules, and what a person asks about them.
pub(crate) async fn show(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let workspace = RuledWorkspace::of(source, request.query("root"));
    let text = |name: &str| request.query(name).unwrap_or_default().to_owned();
    let (action, _) = action(request.query("action"));
    let mut page = PermissionsPage {
        sections: Sections(Section::Permissions),
        root: workspace.settings.root.to_string_lossy().into_owned(),
        rules: Vec::new(),
        untrusted: workspace
            .settings
            .untrusted
            .iter()
            .map(|untrusted| on_one_line(&untrusted.file.display().to_string()))
            .collect(),
        tool: text("tool"),
        input: text("input"),
        judged: None,
        action,
        permission: text("permission"),
        pattern: text("pattern"),
        offered: None,
        problem: String::new(),
    };
    let rules = list_rules(&workspace.settings, &workspace.host).await?;
    page.rules = rules.iter().map(rule_line).collect();
    if !page.tool.is_empty() {
        match workspace.judge(&page.tool, &page.input).await {
            Ok(judged) => page.judged = Some(judged),
            Err(err) => page.problem = shown(&err.message),
        }
    }
    if !page.permission.is_empty() {
        match workspace.new_rule(&page.permission, &page.pattern, request.query("action")).await {
            Ok(rule) => page.offered = Some(workspace.offer(source, request, &rule)?),
            Err(err) => page.problem = shown(&err.message),
        }
    }
    response::html(&page)
}

/// Adds the rule that the person saw.
pub(crate) async fn add(
    source: &Arc<Source>,
    request: &InspectorRequest,
) -> Result<PageResponse, PageError> {
    let workspace = RuledWorkspace::of(source, request.form("root"));
    let permission = request.form("permission").unwrap_or_default();
    let pattern = request.form("pattern").unwrap_or_default();
    let rule = workspace.new_rule(permission, pattern, request.form("action")).await?;
    workspace.change_of(&rule).check(source, request)?;
    workspace.settings.project.add(std::slice::from_ref(&rule))?;
    let root = url_part(&workspace.settings.root.to_string_lossy());
    Ok(response::go_to(&format!("/permissions?root={root}")))
}

fn action(named: Option<&str>) -> (&'static str, RuleAction) {
    let found = ACTIONS.into_iter().find(|(word, _)| Some(*word) == named);
    found.unwrap_or(("allow", RuleAction::Allow))
}

impl RuledWorkspace {
    /// Returns the workspace of a root; without one, that of the inspector.
    fn of(source: &Source, root: Option<&str>) -> Self {
        let (settings, host) = match root {
            Some(root) => source.settings_in(&PathBuf::from(root)),
            None => (source.settings.clone(), source.host.clone()),
        };
        Self { settings, host }
    }

    /// Returns what would become of a call. Nothing is executed or recorded.
    async fn judge(&self, tool: &str, input: &str) -> Result<JudgedCall, PageError> {
        let input = if input.trim().is_empty() { "{}" } else { input };
        let input = serde_json::from_str(input)
            .map_err(|err| PageError::bad_request(format!("The input is not JSON: {err}")))?;
        let runtime = compose::unrecorded_runtime(&self.settings, &self.host).await?;
        let connection =
            compose::open_connection(&runtime, &self.settings, &self.host, "inspector")?;
        let explained = connection.explain(tool, input).await;
        runtime.shut_down().await;
        let explained = explained.map_err(PageError::failed)?;
        let (outcome, style) = match explained.outcome {
            RuleAction::Allow => ("The call would be executed.", "succeeded"),
            RuleAction::Ask => {
                ("haft would ask a person. Without one, it would refuse the call.", "unknown")
            }
            RuleAction::Deny => ("The call would be refused.", "failed"),
        };
        let accesses = explained
            .accesses
            .iter()
            .map(|it| (it.action.to_string(), on_one_line(&it.access), on_one_line(&it.text)));
        Ok(JudgedCall {
            outcome,
            style,
            refusal: explained.refusal.as_ref().map(|it| shown(&it.because)).unwrap_or_default(),
            accesses: accesses.collect(),
            reasons: explained.reasons.iter().map(|reason| on_one_line(reason)).collect(),
        })
    }

    /// Returns a rule, if it can be used here.
    async fn new_rule(
        &self,
        permission: &str,
        pattern: &str,
        named: Option<&str>,
    ) -> Result<Rule, PageError> {
        let pattern = if pattern.trim().is_empty() { "*" } else { pattern.trim() };
        let rule = Rule::new(permission.trim(), pattern, action(named).1);
        let registry = compose::registry(&self.settings, &self.host).await?;
        let known = permission_names::known(&self.settings.requires.capabilities, &registry);
        let has_omitted = self.settings.untrusted.iter().any(|file| file.names.has_tools());
        if let Some(problem) = permission_names::problem(&rule.permission, &known)
            && !has_omitted
        {
            return Err(PageError::bad_request(problem));
        }
        let variables =
            compose::variables(&compose::roots(&self.settings)?, &self.settings, &self.host);
        RuleSet::compile([(RuleScope::Project, rule.clone())], &variables, Conditions::default())
            .map_err(|err| PageError::bad_request(err.to_string()))?;
        Ok(rule)
    }

    /// Returns the change that adds a rule.
    fn change_of(&self, rule: &Rule) -> ShownChange {
        let file = self.settings.project.path().display();
        let shown = format!("{rule:?}\n{file}\n{}", self.settings.root.display());
        ShownChange::new("add rule".to_owned(), &shown)
    }

    fn offer(
        &self,
        source: &Source,
        request: &InspectorRequest,
        rule: &Rule,
    ) -> Result<OfferedRule, PageError> {
        Ok(OfferedRule {
            rule: on_one_line(&rule.to_string()),
            file: on_one_line(&self.settings.project.path().display().to_string()),
            nonce: self.change_of(rule).offer(source, request)?,
        })
    }
}

fn rule_line(listed: &haft_app::ListedRule) -> RuleLine {
    let origin = match &listed.origin {
        RuleOrigin::Preset(preset) => format!("preset {}", preset.name()),
        RuleOrigin::Haft => "haft".to_owned(),
        RuleOrigin::File(None) => "no file".to_owned(),
        RuleOrigin::File(Some(path)) => match listed.line {
            Some(line) => format!("{}:{line}", path.display()),
            None => path.display().to_string(),
        },
        RuleOrigin::Agent => "the agent's file".to_owned(),
        RuleOrigin::Process => "this inspector's options".to_owned(),
    };
    RuleLine {
        scope: listed.scope.to_string(),
        action: listed.rule.action.to_string(),
        permission: on_one_line(&listed.rule.permission),
        pattern: on_one_line(&listed.rule.pattern),
        when: listed.rule.when.map_or_else(String::new, |when| when.to_string()),
        origin: on_one_line(&origin),
    }
}
