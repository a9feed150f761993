//! Rules, calls and paths made of few words, so that random ones often meet.

use std::path::{Path, PathBuf};

use haft_contract::{CommandLine, PatternVariables, ToolId};
use haft_policy::{
    Conditions, PathReach, PathSubject, ResolvedAccess, Rule, RuleAction, RuleScope, RuleSet,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

/// A rule and its scope, as front ends hand them over.
pub(crate) type Scoped = (RuleScope, Rule);

const PERMISSIONS: &[&str] = &[
    "bash",
    "read",
    "edit",
    "cal",
    "fs.read",
    "fs.write",
    "fs.*",
    "shell.run",
    "net.fetch",
    "calendar",
    "*",
    "b*",
    "re*",
    "mcp:*",
];
const TOOLS: &[&str] = &["bash", "read", "edit", "cal"];
const PATH_WORDS: &[&str] = &["src", "src/gen", "docs", "a.rs", ".env"];
const COMMAND_WORDS: &[&str] = &["git", "git push", "push", "rm", "/bin/git", "-f", "-C"];
const PATTERNS: &[&str] = &[
    "*",
    "**",
    "src",
    "src/**",
    "src/*",
    "**/*.rs",
    "**/.env",
    "src/gen/a.rs",
    "/work/src",
    "{workspace}/**",
    "{workspace}/src/gen",
    "{ad-hoc}/**",
    "git",
    "git *",
    "git push",
    "git push*",
    "git push $",
    "git * $",
    "/bin/git push",
    "* push",
    "git ?",
    "rm -f",
    "example.com",
    "*.example.com",
    "calendar",
];

pub(crate) fn variables() -> PatternVariables {
    PatternVariables { workspace: vec![PathBuf::from("/work")], ..PatternVariables::default() }
}

pub(crate) fn rule_set(rules: &[Scoped]) -> RuleSet {
    RuleSet::compile(rules.iter().cloned(), &variables(), Conditions::default())
        .expect("each rule compiles alone, so all do")
}

pub(crate) fn scope() -> impl Strategy<Value = RuleScope> {
    select(vec![
        RuleScope::Preset,
        RuleScope::Builtin,
        RuleScope::Manifest,
        RuleScope::Agent,
        RuleScope::Project,
        RuleScope::Session,
    ])
}

pub(crate) fn action() -> impl Strategy<Value = RuleAction> {
    select(vec![RuleAction::Allow, RuleAction::Ask, RuleAction::Deny])
}

/// A rule that can be compiled.
pub(crate) fn rule(
    scope: impl Strategy<Value = RuleScope>,
    action: impl Strategy<Value = RuleAction>,
) -> impl Strategy<Value = Scoped> {
    (scope, select(PERMISSIONS), select(PATTERNS), action)
        .prop_map(|(scope, permission, pattern, action)| {
            (scope, Rule::new(permission, pattern, action))
        })
        .prop_filter("the pattern has to suit the permission", |scoped| {
            RuleSet::compile([scoped.clone()], &variables(), Conditions::default()).is_ok()
        })
}

pub(crate) fn rules() -> impl Strategy<Value = Vec<Scoped>> {
    prop::collection::vec(rule(scope(), action()), 0..8)
}

pub(crate) fn tool() -> impl Strategy<Value = ToolId> {
    select(TOOLS).prop_map(|id| ToolId::parse(id).expect("the ids are valid"))
}

pub(crate) fn path() -> impl Strategy<Value = PathSubject> {
    let relative = subsequence(PATH_WORDS.to_vec(), 0..=3).prop_map(|words| words.join("/"));
    (relative, prop::bool::weighted(0.9), reach()).prop_map(|(relative, is_inside, reach)| {
        let path = if is_inside {
            PathSubject::in_root(Path::new("/work"), Path::new(&relative))
        } else {
            PathSubject::outside_roots(Path::new("/etc").join(relative))
        };
        path.with_reach(reach)
    })
}

fn reach() -> impl Strategy<Value = PathReach> {
    prop_oneof![3 => Just(PathReach::PathOnly), 1 => Just(PathReach::Tree)]
}

pub(crate) fn command() -> impl Strategy<Value = CommandLine> {
    let argv = prop::collection::vec(select(COMMAND_WORDS), 1..4);
    prop_oneof![
        4 => argv.prop_map(|words| CommandLine::Argv(words.into_iter().map(str::to_owned).collect())),
        1 => Just(CommandLine::Unknown("git push | cat".to_owned())),
    ]
}

pub(crate) fn access() -> impl Strategy<Value = ResolvedAccess> {
    prop_oneof![
        3 => path().prop_map(|path| ResolvedAccess::Read { path }),
        3 => path().prop_map(|path| ResolvedAccess::Write { path }),
        4 => command().prop_map(|command| ResolvedAccess::Shell { command }),
        1 => select(vec!["example.com", "a.example.com"]).prop_map(|host| ResolvedAccess::Net { host: host.to_owned() }),
        1 => Just(ResolvedAccess::Named { name: "calendar".to_owned() }),
    ]
}

pub(crate) fn accesses() -> impl Strategy<Value = Vec<ResolvedAccess>> {
    prop::collection::vec(access(), 0..4)
}
