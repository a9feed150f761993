//! The laws of restrictions: however rules and requirements are stacked, a lower level never allows more.

use haft_contract::{FsRequirement, NetRequirement, RequirementSet, ShellRequirement};
use haft_policy::{
    AlwaysWidth, Capabilities, Conditions, Grant, HostScope, PathReach, PathSubject, PolicyRequest,
    ResolvedAccess, RuleAction, RuleRemedy, RuleScope, RuleSet, ToolScope, decide, decide_access,
    decide_restrictions, lasting_rules,
};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use crate::vocabulary::{
    Scoped, access, accesses, action, path, rule, rule_set, rules, tool, variables,
};

const HOSTS: &[&str] = &["example.com", "a.example.com", "localhost", "10.0.0.1"];
const PLACES: &[&str] =
    &["{workspace}/**", "src", "src/**", "src/gen/**", "docs", "**/*.rs", "/etc/**"];
const NAMES: &[&str] = &["*", "bash", "re*", "[be]*", "cal", "edit"];

/// One restriction: rules, and perhaps requirements and tools.
#[derive(Clone, Debug)]
struct Level {
    rules: Vec<Scoped>,
    requires: Option<RequirementSet>,
    tools: Option<Vec<String>>,
}

fn texts(from: &'static [&'static str]) -> impl Strategy<Value = Vec<String>> {
    let some = subsequence(from.to_vec(), 0..=from.len());
    some.prop_map(|texts| texts.into_iter().map(str::to_owned).collect())
}

fn requires() -> impl Strategy<Value = RequirementSet> {
    let hosts = texts(&["*", "*.example.com", "example.com", "localhost"]);
    let shell = texts(&["*", "git", "rm"]);
    (texts(PLACES), texts(PLACES), hosts, shell, any::<bool>()).prop_map(
        |(read, write, hosts, shell, calendar)| RequirementSet {
            fs: FsRequirement { read, write },
            net: NetRequirement { hosts },
            shell: shell.into_iter().map(|cmd| ShellRequirement { cmd, args: None }).collect(),
            capabilities: calendar.then(|| "calendar".to_owned()).into_iter().collect(),
        },
    )
}

fn level() -> impl Strategy<Value = Level> {
    let rules = prop::collection::vec(rule(Just(RuleScope::Agent), action()), 0..4);
    (rules, prop::option::of(requires()), prop::option::of(texts(NAMES)))
        .prop_map(|(rules, requires, tools)| Level { rules, requires, tools })
}

fn levels() -> impl Strategy<Value = Vec<Level>> {
    prop::collection::vec(level(), 1..4)
}

/// The restrictions of one session in a chain.
#[derive(Clone)]
struct Held {
    rules: RuleSet,
    capabilities: Capabilities,
    tools: Vec<ToolScope>,
}

impl Held {
    fn narrowed(&self, level: &Level) -> Self {
        let bound = level.requires.as_ref();
        let bound =
            bound.map(|it| Capabilities::compile(it, &variables()).expect("they are valid"));
        let tools =
            level.tools.as_ref().map(|texts| ToolScope::compile(texts).expect("they are valid"));
        Self {
            rules: self.rules.restricted_by(&rule_set(&level.rules)),
            capabilities: match bound {
                Some(bound) => self.capabilities.restricted_to(&bound),
                None => self.capabilities.clone(),
            },
            tools: self.tools.iter().cloned().chain(tools).collect(),
        }
    }
}

/// Returns what each of a chain is held to, from the session of the front end down.
fn chain(rules: &[Scoped], own: &RequirementSet, levels: &[Level]) -> Vec<Held> {
    let capabilities = Capabilities::compile(own, &variables()).expect("they are valid");
    let mut chain = vec![Held { rules: rule_set(rules), capabilities, tools: Vec::new() }];
    for level in levels {
        let narrowed = chain[chain.len() - 1].narrowed(level);
        chain.push(narrowed);
    }
    chain
}

/// Every pair of one who lies above and one who lies beneath.
fn pairs(chain: &[Held]) -> impl Iterator<Item = (&Held, &Held)> {
    let beneath = |at: usize| chain.iter().skip(at + 1);
    chain.iter().enumerate().flat_map(move |(at, above)| beneath(at).map(move |it| (above, it)))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn whoever_lies_beneath_is_judged_no_less_strictly(
        rules in rules(), own in requires(), levels in levels(), tool in tool(), accesses in accesses(),
    ) {
        let chain = chain(&rules, &own, &levels);
        for (above, beneath) in pairs(&chain) {
            let question = PolicyRequest { tool: &tool, accesses: &accesses };
            let (wide, narrow) = (decide(&question, &above.rules), decide(&question, &beneath.rules));
            prop_assert!(narrow.action >= wide.action);
            prop_assert!(decide_restrictions(&tool, accesses.first(), &beneath.rules) >= decide_restrictions(&tool, accesses.first(), &above.rules));
            for access in &accesses {
                let is_inside = |held: &Held| held.capabilities.check(access).is_ok();
                prop_assert!(!is_inside(beneath) || is_inside(above));
            }
            let has_tool = |held: &Held| held.tools.iter().all(|scope| scope.contains(&tool));
            prop_assert!(!has_tool(beneath) || has_tool(above));
        }
    }

    #[test]
    fn a_judgement_is_the_strictest_of_all_that_lies_above(
        rules in rules(), levels in levels(), tool in tool(), access in access(),
    ) {
        let chain = chain(&rules, &RequirementSet::default(), &levels);
        let apart = |rules: &[Scoped]| decide_access(&tool, Some(&access), &rule_set(rules));
        let opinions = levels.iter().map(|level| apart(&level.rules));
        // If no rule of an agent matches, the others decide.
        let opinions = opinions.filter(|it| it.reason.basis != haft_policy::DecisionBasis::NoRule);
        let strictest = opinions.map(|it| it.action).chain([apart(&rules).action]).max();
        let last = &chain[chain.len() - 1];
        prop_assert_eq!(Some(decide_access(&tool, Some(&access), &last.rules).action), strictest);
    }

    #[test]
    fn whoever_lies_beneath_reaches_no_other_path_on_a_walk(
        rules in rules(), own in requires(), levels in levels(), tool in tool(), place in path(), answered in path(),
    ) {
        let chain = chain(&rules, &own, &levels);
        let answered = [ResolvedAccess::Read { path: answered.clone() }, ResolvedAccess::Write { path: answered }];
        let grant = |held: &Held| Grant::of_call(&tool, &held.capabilities, &held.rules);
        for (above, beneath) in pairs(&chain) {
            let (wide, narrow) = (grant(above), grant(beneath));
            prop_assert!(!narrow.permits_read(&place) || wide.permits_read(&place));
            prop_assert!(!narrow.permits_write(&place) || wide.permits_write(&place));
            prop_assert!(narrow.denies_read(&place) || !wide.denies_read(&place));
            // So it is when the same was asked about, and answered alike.
            let (wide, narrow) = (wide.with_allowed(&answered), narrow.with_allowed(&answered));
            prop_assert!(!narrow.permits_read(&place) || wide.permits_read(&place));
            prop_assert!(!narrow.permits_write(&place) || wide.permits_write(&place));
        }
    }

    #[test]
    fn a_walk_agrees_with_the_judgement_of_each_path(
        rules in rules(), own in requires(), levels in levels(), tool in tool(), place in path(),
    ) {
        let held = chain(&rules, &own, &levels).pop().unwrap();
        let grant = Grant::of_call(&tool, &held.capabilities, &held.rules);
        let is_free = |access: &ResolvedAccess| {
            held.capabilities.check(access).is_ok() && decide_access(&tool, Some(access), &held.rules).action == RuleAction::Allow
        };
        prop_assert_eq!(grant.permits_read(&place), is_free(&ResolvedAccess::Read { path: place.clone() }));
        prop_assert_eq!(grant.permits_write(&place), is_free(&ResolvedAccess::Write { path: place.clone() }));
    }

    #[test]
    fn whoever_lies_beneath_reaches_no_other_host(
        rules in rules(), own in requires(), agent in requires(), levels in levels(), tool in tool(),
        host in select(HOSTS), was_asked in any::<bool>(),
    ) {
        let agent = Capabilities::compile(&agent, &variables()).unwrap();
        let chain = chain(&rules, &own, &levels);
        let answered = [ResolvedAccess::Net { host: host.to_owned() }];
        let scopes = |held: &Held| {
            let scopes = [
                HostScope::of_tool(&tool, &held.capabilities, &agent, &held.rules),
                HostScope::of_commands(&tool, &held.capabilities, &agent, &held.rules),
            ];
            scopes.map(|scope| if was_asked { scope.with_allowed(&answered).with_approval() } else { scope })
        };
        for (above, beneath) in pairs(&chain) {
            for (wide, narrow) in scopes(above).into_iter().zip(scopes(beneath)) {
                if let Some(granted) = narrow.admits(host) {
                    let above = wide.admits(host);
                    prop_assert!(above.is_some_and(|it| it.allows_private_addresses || !granted.allows_private_addresses));
                    prop_assert!(!narrow.is_empty());
                }
                prop_assert!(narrow.is_empty() || !wide.is_empty());
                prop_assert!(wide.is_unrestricted() || !narrow.is_unrestricted());
            }
        }
    }

    #[test]
    fn a_host_that_an_agent_denies_or_would_ask_about_is_closed_to_its_commands(
        rules in rules(), level in level(), tool in tool(), host in select(HOSTS),
    ) {
        let all = RequirementSet { net: NetRequirement { hosts: vec!["*".to_owned()] }, ..RequirementSet::default() };
        let all = Capabilities::compile(&all, &variables()).unwrap();
        let rules = rule_set(&rules).restricted_by(&rule_set(&level.rules));
        let access = ResolvedAccess::Net { host: host.to_owned() };
        let is_shut = decide_restrictions(&tool, Some(&access), &rules) != RuleAction::Allow;
        let scope = HostScope::of_tool(&tool, &all, &all, &rules);
        if is_shut {
            prop_assert_eq!(scope.admits(host), None);
            prop_assert!(!scope.is_unrestricted());
        }
    }

    #[test]
    fn what_always_adds_beneath_an_agent_lifts_nothing_of_the_agents(
        rules in rules(), levels in levels(), tool in tool(), accesses in accesses(), other in access(),
    ) {
        let held = chain(&rules, &RequirementSet::default(), &levels).pop().unwrap();
        let question = PolicyRequest { tool: &tool, accesses: &accesses };
        let added = lasting_rules(&question, &held.rules, &variables(), AlwaysWidth::Wide);
        let before = decide_restrictions(&tool, Some(&other), &held.rules);
        if added.is_empty() {
            return Ok(());
        }
        let added: Vec<_> = added.into_iter().map(|rule| (RuleScope::Session, rule)).collect();
        let after = held.rules.with_added(added, &variables(), Conditions::default()).unwrap();
        prop_assert_eq!(decide(&question, &after).action, RuleAction::Allow);
        prop_assert!(decide_access(&tool, Some(&other), &after).action >= before);
    }

    #[test]
    fn no_rule_of_any_other_scope_lifts_a_ceiling(
        rules in rules(), more in rules(), levels in levels(), tool in tool(), access in access(),
    ) {
        let held = chain(&rules, &RequirementSet::default(), &levels).pop().unwrap();
        let before = decide_restrictions(&tool, Some(&access), &held.rules);
        let after = held.rules.with_added(more, &variables(), Conditions::default()).unwrap();
        prop_assert_eq!(decide_restrictions(&tool, Some(&access), &after), before);
        prop_assert!(decide_access(&tool, Some(&access), &after).action >= before);
    }

    #[test]
    fn what_a_remedy_adds_beneath_ceilings_allows_the_access(
        rules in rules(), levels in levels(), tool in tool(), access in access(),
    ) {
        let held = chain(&rules, &RequirementSet::default(), &levels).pop().unwrap();
        let before = decide_access(&tool, Some(&access), &held.rules);
        prop_assert_eq!(before.remedy.is_none(), before.action == RuleAction::Allow);
        if let Some(RuleRemedy::Add(rule)) = before.remedy {
            let added = [(RuleScope::Session, rule)];
            let after = held.rules.with_added(added, &variables(), Conditions::default()).unwrap();
            prop_assert_eq!(decide_access(&tool, Some(&access), &after).action, RuleAction::Allow);
        }
    }

    #[test]
    fn directories_shown_to_processes_lie_inside_with_all_that_is_beneath(
        own in requires(), levels in levels(), within in select(vec!["", "a.rs", "gen", "x/y", ".env"]),
    ) {
        let roots = [std::path::PathBuf::from("/work")];
        let chain = chain(&[], &own, &levels);
        let inside = |held: &Held, place: &std::path::Path| {
            let place = place.join(within);
            let path = PathSubject::in_root(&roots[0], place.strip_prefix("/work").unwrap()).with_reach(PathReach::Tree);
            let is_read = held.capabilities.check(&ResolvedAccess::Read { path: path.clone() }).is_ok();
            (is_read, is_read && held.capabilities.check(&ResolvedAccess::Write { path }).is_ok())
        };
        for (above, beneath) in pairs(&chain) {
            let trees = beneath.capabilities.contained_directories(&roots);
            for place in &trees.readable {
                prop_assert!(inside(beneath, place).0 && inside(above, place).0);
            }
            for place in &trees.writable {
                prop_assert!(inside(beneath, place).1 && inside(above, place).1);
            }
            if within.is_empty() {
                prop_assert_eq!(trees.writable == roots, inside(beneath, &roots[0]).1);
            }
        }
    }
}
