//! Turns the remedies of a refusal into commands of the command line. Only this module does so: the crates below return
//! values.

use haft_app::quote;
use haft_contract::{AllowingRule, DecidingRule, Refusal, RefusalSource, Remedy};
use haft_policy::RuleScope;

/// Advice for a person at a terminal about a refusal.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TerminalAdvice {
    /// Options that lift the refusal, quoted for a shell.
    pub(crate) options: Option<String>,
    /// A command that lifts the refusal, or says more about it.
    pub(crate) command: Option<String>,
    /// The text behind the reason.
    sentence: String,
}

/// Returns what a model can do about a refusal. It has no terminal of haft's, so the user gets the one thing to type.
pub(crate) fn advice_for_model(refusal: &Refusal) -> Option<String> {
    refusal.advice_for_model(|remedy| match remedy {
        Remedy::AllowHost(host) => format!("start haft with --allow-host {}", quote::shell(host)),
        Remedy::AllowTool(tool) => format!("start haft with --allow {tool}"),
        Remedy::AddRule(AllowingRule { permission, pattern }) => {
            format!("add the rule allow {permission} {pattern:?} to haft.toml")
        }
        Remedy::Unprotect(pattern) => {
            format!("add {pattern:?} to unprotect of [sandbox] in haft.toml")
        }
        Remedy::Settle(call) => {
            format!("run haft runs settle {call} happened|not-happened|retry")
        }
        Remedy::Login(server) => format!("run haft mcp login {}", quote::shell(server)),
        Remedy::Trust => "run haft trust".to_owned(),
        Remedy::AnswerQuestion(run) => {
            format!(
                "run haft resume {} at a terminal, or set asks = \"wait\" in haft.toml and answer with haft asks",
                quote::shell(run)
            )
        }
        Remedy::NameFiles(_) => remedy.to_string(),
    })
}

/// Returns the reason of a refusal, with what lifts it.
pub(crate) fn text_with_advice(text: &str, refusal: Option<&Refusal>) -> String {
    let sentence = refusal.map(|refusal| terminal_advice(refusal).sentence).unwrap_or_default();
    format!("{text}{sentence}")
}

/// Returns what a person at a terminal can do about a refusal.
pub(crate) fn terminal_advice(refusal: &Refusal) -> TerminalAdvice {
    let mut advice = TerminalAdvice::default();
    let (mut hosts, mut tools, mut rules, mut others) = (vec![], vec![], vec![], vec![]);
    let mut settling = None;
    // TOML escapes a text as JSON does.
    let quoted_text = |text: &str| serde_json::Value::from(text).to_string();
    for remedy in &refusal.remedies {
        match remedy {
            Remedy::AllowHost(host) => hosts.push(host),
            Remedy::AllowTool(tool) => tools.push(tool),
            Remedy::AddRule(AllowingRule { permission, pattern }) => rules.push(format!(
                "[[permissions]]\npermission = {}\npattern = {}\naction = \"allow\"",
                quoted_text(permission),
                quoted_text(pattern)
            )),
            Remedy::Settle(call) => {
                settling = Some(format!(
                    "Find out which, then say so with: haft runs settle {call} happened|not-happened|retry"
                ));
            }
            Remedy::Login(server) => {
                advice.command = Some(format!("haft mcp login {}", quote::shell(server)));
            }
            Remedy::Trust => advice.command = Some("haft trust".to_owned()),
            Remedy::NameFiles(_) => others.push(remedy.to_string()),
            Remedy::AnswerQuestion(run) => {
                let command = format!("haft resume {}", quote::shell(run));
                advice.sentence.push_str(&format!(
                    "; to answer, run at a terminal, or with asks = \"wait\" in haft.toml: {command}"
                ));
                advice.command = Some(command);
            }
            // The reason says to leave the file: `haft permissions explain` names the setting.
            Remedy::Unprotect(_) => {}
        }
    }
    let flags = |flag: &str, values: &[String]| {
        let values = values.iter().map(|value| format!("{flag} {value}"));
        values.collect::<Vec<_>>().join(" ")
    };
    let quoted = |values: &[String]| values.iter().map(|it| quote::shell(it)).collect::<Vec<_>>();
    let hosts: Vec<String> = hosts.into_iter().cloned().collect();
    let tools: Vec<String> = tools.into_iter().map(ToString::to_string).collect();
    let mut ways = Vec::new();
    if !hosts.is_empty() {
        advice.options = Some(flags("--allow-host", &quoted(&hosts)));
        ways.push(format!("start haft with `{}`", flags("--allow-host", &hosts)));
    }
    if !tools.is_empty() {
        advice.options.get_or_insert_with(|| flags("--allow", &quoted(&tools)));
        let start = format!("start haft with `{}`", flags("--allow", &tools));
        ways.push(match refusal.decided_by {
            RefusalSource::DangerousTool => {
                format!("{start} (all dangerous tools: `--allow-dangerous`)")
            }
            _ => format!("{start}, which allows all that {} does", tools.join(", ")),
        });
    }
    if !rules.is_empty() {
        ways.push(format!("put this into haft.toml and run `haft trust`:\n{}", rules.join("\n")));
    }
    match &refusal.decided_by {
        // The rule is named, and so is one that would allow the call if a preset denies it.
        RefusalSource::Rule(rule) => {
            ways.clear();
            advice.command = listing_of(rule);
        }
        // The reason says to have the list of names off.
        RefusalSource::NetworkGuard => {
            ways.clear();
            advice.options.get_or_insert_with(|| "--network-guard kernel".to_owned());
        }
        RefusalSource::Watchdog if refusal.code == haft_contract::ErrorCode::PermissionDenied => {
            advice.sentence.push_str(
                ": use a front end that can ask (without the built-in one: reference_watchdog = false)",
            );
        }
        RefusalSource::Sandbox => {
            advice.sentence.push_str(
                "; see haft doctor for what is missing, or run haft with --unsafe-no-sandbox to do without",
            );
            advice.command = Some("haft doctor".to_owned());
        }
        RefusalSource::Contract
        | RefusalSource::Capabilities
        | RefusalSource::Person
        | RefusalSource::NoAnswer
        | RefusalSource::Watchdog
        | RefusalSource::ProtectedPath
        | RefusalSource::HiddenPath
        | RefusalSource::Roots
        | RefusalSource::DangerousTool
        | RefusalSource::Server
        | RefusalSource::Journal
        | RefusalSource::Caller => {}
    }
    ways.extend(others);
    if !ways.is_empty() {
        advice.sentence.push_str(&format!("; to allow it, {}", ways.join(", or ")));
    }
    if let Some(settling) = settling {
        // The reason of a call in doubt is a whole sentence, unless a call that would be made again is refused as well.
        let stop = if ways.is_empty() { " " } else { ". " };
        advice.sentence.push_str(&format!("{stop}{settling}"));
    }
    advice
}

/// Returns the command that shows the file of a rule. The manifest is a file that the person knows.
fn listing_of(rule: &DecidingRule) -> Option<String> {
    let is_elsewhere =
        [RuleScope::Project, RuleScope::User].iter().any(|scope| scope.to_string() == rule.scope);
    is_elsewhere.then(|| "haft permissions list --source".to_owned())
}

/// Returns the setting that would change a refusal which no rule decided. A refusal by a rule names the rule itself.
pub(crate) fn changing_setting(refusal: &Refusal) -> Option<String> {
    match &refusal.decided_by {
        RefusalSource::NetworkGuard => Some(
            "--allow-host HOST grants hosts and takes the list of names away; network_guard = \"kernel\" in haft.toml, or \
             --network-guard kernel, takes it away alone"
                .to_owned(),
        ),
        RefusalSource::Roots => {
            Some("a directory under roots in haft.toml, or another --root".to_owned())
        }
        RefusalSource::Watchdog => Some(
            "the watchdog: a program under watchdogs in haft.toml, or the built-in one, which reference_watchdog = false \
             switches off"
                .to_owned(),
        ),
        RefusalSource::ProtectedPath => refusal.remedies.iter().find_map(|remedy| {
            let Remedy::Unprotect(pattern) = remedy else { return None };
            Some(format!(
                "unprotect = [{pattern:?}] under [sandbox] in haft.toml, for a person who may change it"
            ))
        }),
        RefusalSource::HiddenPath => {
            Some("nothing: no setting shows credentials and haft's own state to a call".to_owned())
        }
        RefusalSource::Capabilities => Some("more under requires in haft.toml".to_owned()),
        RefusalSource::Contract
        | RefusalSource::Rule(_)
        | RefusalSource::Person
        | RefusalSource::NoAnswer
        | RefusalSource::Sandbox
        | RefusalSource::DangerousTool
        | RefusalSource::Server
        | RefusalSource::Journal
        | RefusalSource::Caller => None,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use haft_contract::{ErrorCode, RefusalGrounds, ToolId};

    use super::*;

    fn refusal(decided_by: RefusalSource, remedies: Vec<Remedy>) -> Refusal {
        let grounds = RefusalGrounds { decided_by, remedies };
        grounds.into_refusal(ErrorCode::PermissionDenied, "denied".to_owned())
    }

    fn bash() -> Remedy {
        Remedy::AllowTool(ToolId::parse("bash").unwrap())
    }

    fn host(name: &str) -> Remedy {
        Remedy::AllowHost(name.to_owned())
    }

    #[test]
    fn a_refusal_is_worded_for_a_terminal() {
        let check = |decided_by, remedies, text: Expect, next: Expect| {
            let refusal = refusal(decided_by, remedies);
            text.assert_eq(&text_with_advice(&refusal.because, Some(&refusal)));
            let TerminalAdvice { options, command, .. } = terminal_advice(&refusal);
            next.assert_eq(&options.or(command).unwrap_or_default());
        };
        check(
            RefusalSource::NoAnswer,
            vec![host("a.org"), host("$(x)")],
            expect!["denied; to allow it, start haft with `--allow-host a.org --allow-host $(x)`"],
            expect!["--allow-host a.org --allow-host '$(x)'"],
        );
        let rule = AllowingRule { permission: "bash".to_owned(), pattern: "a \"b\"".to_owned() };
        check(
            RefusalSource::NoAnswer,
            vec![bash(), Remedy::AddRule(rule)],
            expect![[r#"
                denied; to allow it, start haft with `--allow bash`, which allows all that bash does, or put this into haft.toml and run `haft trust`:
                [[permissions]]
                permission = "bash"
                pattern = "a \"b\""
                action = "allow""#]],
            expect!["--allow bash"],
        );
        check(
            RefusalSource::DangerousTool,
            vec![bash(), Remedy::Settle("r/n/0/1/1".to_owned())],
            expect![
                "denied; to allow it, start haft with `--allow bash` (all dangerous tools: `--allow-dangerous`). Find out which, then say so with: haft runs settle r/n/0/1/1 happened|not-happened|retry"
            ],
            expect!["--allow bash"],
        );
        check(
            RefusalSource::NetworkGuard,
            vec![],
            expect!["denied"],
            expect!["--network-guard kernel"],
        );
        check(RefusalSource::Person, vec![], expect!["denied"], expect![""]);
        let of_rule = |scope: &str| {
            RefusalSource::Rule(DecidingRule {
                scope: scope.to_owned(),
                permission: "fs.read".to_owned(),
                pattern: ".env".to_owned(),
                action: "deny".to_owned(),
            })
        };
        let list = expect!["haft permissions list --source"];
        check(of_rule("project"), vec![], expect!["denied"], list);
        check(of_rule("preset"), vec![bash()], expect!["denied"], expect!["--allow bash"]);
        check(
            RefusalSource::Server,
            vec![Remedy::Login("far".to_owned())],
            expect!["denied"],
            expect!["haft mcp login far"],
        );
    }

    #[test]
    fn the_source_of_a_refusal_tells_which_setting_changes_it() {
        let check = |decided_by, remedies, expect: Expect| {
            expect.assert_eq(&changing_setting(&refusal(decided_by, remedies)).unwrap_or_default());
        };
        check(
            RefusalSource::ProtectedPath,
            vec![Remedy::Unprotect(".git/config".to_owned())],
            expect![[
                r#"unprotect = [".git/config"] under [sandbox] in haft.toml, for a person who may change it"#
            ]],
        );
        check(
            RefusalSource::HiddenPath,
            vec![],
            expect!["nothing: no setting shows credentials and haft's own state to a call"],
        );
        check(RefusalSource::Capabilities, vec![], expect!["more under requires in haft.toml"]);
        check(RefusalSource::NoAnswer, vec![bash()], expect![""]);
    }
}
