//! The rules that «always» adds for a call that someone was asked about. The narrow ones are about this very call. The wide
//! ones spare the question for calls of the same kind, and are no wider than can be read at a glance. Nothing is added here.

use haft_contract::{CommandLine, PatternVariables};

use crate::access::{PathSubject, ResolvedAccess};
use crate::decide::{PolicyRequest, SUGGESTION_BYTES_MAX, decide_access};
use crate::decision::RuleRemedy;
use crate::pattern::{escape, escape_path};
use crate::rule::{Conditions, Rule, RuleAction, RuleScope};
use crate::rule_set::RuleSet;

#[cfg(test)]
mod tests;

/// Rules that one answer «always» adds.
///
/// Limit (calls): no rule is added, and haft asks again next time.
pub const LASTING_RULES_MAX: usize = 20;

/// How much the rules of an answer «always» allow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlwaysWidth {
    /// This command with its arguments, this path, this host.
    Narrow,
    /// The subcommand with any arguments, the directory of the path, the host.
    Wide,
}

/// A program with subcommands. Each subcommand counts as a separate command.
struct ProgramFamily {
    program: &'static str,
    /// Subcommands that have subcommands, or names of things to run, themselves.
    deeper: &'static [&'static str],
    /// Subcommands that destroy, publish or run whatever they are given. A rule names these with all arguments.
    exact: &'static [&'static str],
}

const fn family(
    program: &'static str,
    deeper: &'static [&'static str],
    exact: &'static [&'static str],
) -> ProgramFamily {
    ProgramFamily { program, deeper, exact }
}

/// The programs whose subcommand is allowed with whatever follows. Every other program is allowed with the very
/// arguments that were shown: after `rm`, `sudo`, `sh`, `python` or `env`, arguments are everything.
#[rustfmt::skip]
const FAMILIES: &[ProgramFamily] = &[
    family("bundle", &[], &["exec"]),
    family("cargo", &[], &["install", "login", "owner", "publish", "uninstall", "yank"]),
    family("docker", &["builder", "buildx", "compose", "container", "image", "network", "system", "volume"],
        &["exec", "run"]),
    family("dotnet", &["nuget", "tool"], &["exec"]),
    family("gh", &["issue", "pr", "release", "repo", "run", "workflow"],
        &["alias", "api", "auth", "codespace", "extension", "secret", "ssh-key"]),
    family("git", &["bundle", "notes", "remote", "stash", "worktree"],
        // Options of some of these name programs to run, as --upload-pack does.
        &["archive", "bisect", "clean", "clone", "config", "difftool", "fetch", "filter-branch", "grep", "ls-remote", "mergetool",
            "pull", "push", "rebase", "reset", "submodule"]),
    family("go", &["mod", "work"], &["generate", "install", "run", "tool"]),
    family("gradle", &[], &[]),
    family("helm", &["repo"], &["delete", "plugin", "uninstall"]),
    family("just", &[], &[]),
    family("kubectl", &["config", "rollout"], &["apply", "cp", "delete", "exec", "proxy", "replace", "run"]),
    family("make", &[], &[]),
    family("mvn", &[], &[]),
    family("npm", &["run", "run-script"], &["adduser", "config", "exec", "login", "publish", "token", "x"]),
    family("pip", &["cache", "index"], &["config", "install", "uninstall"]),
    family("pip3", &["cache", "index"], &["config", "install", "uninstall"]),
    family("pnpm", &["run"], &["config", "dlx", "exec", "login", "publish"]),
    family("podman", &["compose", "container", "image", "network", "system", "volume"], &["exec", "run"]),
    family("poetry", &[], &["config", "publish", "run"]),
    family("rustup", &["component", "target", "toolchain"], &["run"]),
    family("terraform", &["state", "workspace"], &["apply", "console", "destroy", "import"]),
    family("uv", &["cache", "pip", "python", "tool"], &["run"]),
    family("yarn", &["run"], &["config", "dlx", "exec", "login", "publish"]),
];

/// Returns the rules that, added for the session, allow every access of the call that has to ask; none if no rules that
/// could be added do, or too many were needed.
///
/// A line whose commands are not known gives none: the only rule that would help allows every line.
pub fn lasting_rules(
    question: &PolicyRequest<'_>,
    rules: &RuleSet,
    variables: &PatternVariables,
    width: AlwaysWidth,
) -> Vec<Rule> {
    let accesses: Vec<Option<&ResolvedAccess>> = match question.accesses {
        [] => vec![None],
        accesses => accesses.iter().map(Some).collect(),
    };
    let mut added: Vec<Rule> = Vec::new();
    let mut with_added = rules.clone();
    for access in accesses {
        let action = |rules: &RuleSet| decide_access(question.tool, access, rules).action;
        if action(&with_added) == RuleAction::Allow {
            continue;
        }
        let decision = decide_access(question.tool, access, rules);
        let Some(RuleRemedy::Add(remedy)) = decision.remedy else { return Vec::new() };
        // The most general rule comes first.
        let candidates: Vec<Rule> = match access {
            Some(ResolvedAccess::Shell {
                command: CommandLine::Partial(_) | CommandLine::Unknown(_),
            }) => Vec::new(),
            Some(ResolvedAccess::Shell { command: CommandLine::Argv(argv) }) => {
                let wide = if width == AlwaysWidth::Wide { of_family(argv) } else { None };
                let patterns = [wide, exact(argv)].into_iter().flatten();
                patterns.map(|pattern| Rule { pattern, ..remedy.clone() }).collect()
            }
            Some(
                ResolvedAccess::Read { .. }
                | ResolvedAccess::Write { .. }
                | ResolvedAccess::Net { .. }
                | ResolvedAccess::Named { .. },
            ) if remedy.pattern == "*" => Vec::new(),
            Some(ResolvedAccess::Read { path } | ResolvedAccess::Write { path })
                if width == AlwaysWidth::Wide =>
            {
                let wide = directory_of(path).map(|pattern| Rule { pattern, ..remedy.clone() });
                wide.into_iter().chain([remedy]).collect()
            }
            Some(_) | None => vec![remedy],
        };
        let found = candidates.into_iter().find_map(|rule| {
            let session_rule = (RuleScope::Session, rule.clone());
            let with_rule =
                with_added.with_added([session_rule], variables, Conditions::default()).ok()?;
            (action(&with_rule) == RuleAction::Allow).then_some((rule, with_rule))
        });
        let Some((rule, with_rule)) = found else { return Vec::new() };
        added.push(rule);
        with_added = with_rule;
    }
    if added.len() > LASTING_RULES_MAX { Vec::new() } else { added }
}

/// Returns the pattern of the program's subcommand with whatever follows.
fn of_family(argv: &[String]) -> Option<String> {
    let (program, arguments) = argv.split_first()?;
    let family = FAMILIES.iter().find(|family| family.program == program)?;
    let subcommand = arguments.first().filter(|word| is_plain(word))?.as_str();
    if family.exact.contains(&subcommand) {
        return None;
    }
    if !family.deeper.contains(&subcommand) {
        return Some(format!("{program} {subcommand} *"));
    }
    let second = arguments.get(1).filter(|word| is_plain(word))?;
    Some(format!("{program} {subcommand} {second} *"))
}

/// Returns the pattern of everything in the directory of a path. A root as a whole gives none: that is no rule to add in
/// passing.
fn directory_of(path: &PathSubject) -> Option<String> {
    let directory = path.relative.as_ref()?.parent()?;
    let is_root = directory.as_os_str().is_empty();
    let pattern = format!("{}/**", escape_path(directory));
    (!is_root && pattern.len() <= SUGGESTION_BYTES_MAX).then_some(pattern)
}

/// Returns whether the word can be a subcommand: no option, no path, no assignment, nothing to be escaped.
fn is_plain(word: &str) -> bool {
    let is_good = |char: char| char.is_ascii_alphanumeric() || "-_:".contains(char);
    word.starts_with(|first: char| first.is_ascii_alphanumeric()) && word.chars().all(is_good)
}

/// Returns the pattern of this command and no other; `None` where it cannot be spelled, or is too long to be read.
pub(crate) fn exact(argv: &[String]) -> Option<String> {
    if argv.is_empty() || argv.iter().any(String::is_empty) {
        return None;
    }
    let mut words: Vec<String> = argv.iter().map(|word| escape(word)).collect();
    words.push("$".to_owned());
    Some(words.join(" ")).filter(|pattern| pattern.len() <= SUGGESTION_BYTES_MAX)
}
