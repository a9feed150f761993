use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use expect_test::{Expect, expect};
use haft_contract::ToolId;
use haft_policy::Rule;
use tempfile::TempDir;

use super::*;
use crate::limits::{
    AGENT_BYTES_MAX, AGENT_DESCRIPTION_CHARS_MAX, AGENT_ENTRIES_MAX, AGENT_NAME_CHARS_MAX,
    AGENT_STEPS_MAX, AGENTS_MAX,
};

/// A workspace and a user's configuration.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.path("project/agents")).unwrap();
        fs::create_dir_all(world.path("config/agents")).unwrap();
        world
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(relative)
    }

    fn file(&self, relative: &str, text: impl AsRef<[u8]>) -> &Self {
        fs::write(self.path(relative), text).unwrap();
        self
    }

    fn places(&self, trust: WorkspaceTrust) -> AgentDirectories {
        AgentDirectories {
            root: Some(self.path("project")),
            trust,
            user: Some(self.path("config/agents")),
        }
    }

    fn found(&self, trust: WorkspaceTrust) -> String {
        self.shown(&find_agents(&self.places(trust)))
    }

    fn shown(&self, found: &AgentRegistry) -> String {
        let base = format!("{}/", self.path("").display()).replace("//", "/");
        let agents = found.iter().map(|agent| {
            let file = agent.file.as_deref().map_or("(bundled)".into(), Path::to_string_lossy);
            let model = agent.model.as_ref().map(|model| format!(" {model}"));
            format!(
                "{} [{}] {file}{}\n",
                agent.name,
                agent.mode.as_str(),
                model.unwrap_or_default()
            )
        });
        let hidden =
            found.hidden.iter().map(|one| format!("hidden: {} {:?}\n", one.name, one.source));
        let problems = found.problems.iter().map(|problem| format!("{problem}\n"));
        let all: String = agents.chain(hidden).chain(problems).collect();
        all.replace(&base, "")
    }
}

fn text(description: &str, more: &str) -> String {
    format!("---\ndescription: {description}\n{more}---\nYou are a test.\n")
}

/// Reads one agent and compares all that is wrong with it.
fn check(text: impl AsRef<[u8]>, expect: &Expect) {
    let world = World::new();
    world.file("config/agents/mine.md", text);
    let found = check_agent_files(&world.path("config/agents/mine.md"));
    let shown: String = found.problems.iter().map(|problem| format!("{problem}\n")).collect();
    let base = format!("{}/", world.path("config/agents").display());
    expect.assert_eq(&shown.replace(&base, ""));
    assert_eq!(found.agents.is_empty(), !found.problems.is_empty());
}

#[test]
fn all_that_can_be_said_is_read() {
    let agent = AgentDefinition::parse(
        "deploy",
        r#"---
description: >
  Deploys
  the thing
mode: all
model: anthropic/claude-x
tools: [read, "web_*", bash]
requires:
  fs:
    read: ["**"]
    write: [dist/**]
  net: {hosts: [api.example.org, "*.example.com"]}
  shell:
    - cmd: git
      args: [push, {prefix: origin}, {wildcard: true}]
    - {cmd: make}
  capabilities: [deploy]
permissions:
  - {permission: bash, pattern: "git push*", action: ask}
  - permission: write
    action: deny
inspectable: false
max_steps: 12
---

You deploy.

Carefully.
"#,
    )
    .unwrap();
    let expected = AgentDefinition {
        name: "deploy".to_owned(),
        description: "Deploys the thing".to_owned(),
        mode: AgentMode::All,
        model: Some("anthropic/claude-x".to_owned()),
        tools: Some(["read", "web_*", "bash"].map(str::to_owned).to_vec()),
        requires: Some(
            serde_json::from_value(serde_json::json!({
                "fs": {"read": ["**"], "write": ["dist/**"]},
                "net": {"hosts": ["api.example.org", "*.example.com"]},
                "shell": [
                    {"cmd": "git", "args": ["push", {"prefix": "origin"}, {"wildcard": true}]},
                    {"cmd": "make"},
                ],
                "capabilities": ["deploy"],
            }))
            .unwrap(),
        ),
        permissions: vec![
            Rule::new("bash", "git push*", haft_policy::RuleAction::Ask),
            Rule::new("write", "*", haft_policy::RuleAction::Deny),
        ],
        inspectable: false,
        max_steps: Some(12),
        prompt: "You deploy.\n\nCarefully.".to_owned(),
        source: AgentSource::User,
        file: None,
    };
    assert_eq!(agent, expected);
    let plain = AgentDefinition::parse("plain", &text("Plain", "")).unwrap();
    assert_eq!(
        (plain.mode, plain.tools, plain.requires, plain.inspectable, plain.max_steps),
        (AgentMode::All, None, None, true, None)
    );
}

#[test]
fn all_mistakes_are_told_at_once_with_their_lines() {
    check(
        r#"---
descripton: misspelt
description: 42
mode: boss
model: gpt-5
tools: Read, Grep
requires:
  fs:
    read: "src"
    wirte: [a]
  net:
    hosts: ["http://x"]
  shell: [git, {args: [1]}]
permissions:
  - {permission: bash, pattern: "git push*", action: forbid}
  - {pattern: "x"}
  - deny bash
inspectable: "yes"
max_steps: 0
---

"#,
        &expect![[r#"
            mine.md: error: expected a prompt below the front matter, found none: say what the agent is and how it works
            mine.md:2: error: unknown key "descripton": did you mean description?
            mine.md:3: error: description: expected a text, found a number; put it into quotes
            mine.md:4: error: mode: expected primary (people talk to it), subagent (other agents do) or all, found "boss"
            mine.md:5: error: model: "gpt-5" does not name a provider: expected provider/name, as in openai/gpt-5 or ollama/qwen3:8b
            mine.md:6: error: tools: expected a list, found a text: write tools: [Read, Grep]
            mine.md:9: error: requires.fs.read: expected a list, found a text: write read: [src]
            mine.md:10: error: unknown key "requires.fs.wirte": did you mean write?
            mine.md:12: error: requires.net.hosts: pattern "http://x" cannot be used: expected a host such as example.com, *.example.com for all below it, a range such as 10.0.0.0/8, or *
            mine.md:13: error: requires.shell: expected a table of cmd and args, as in {cmd: git}, found a text
            mine.md:13: error: requires.shell.args: expected a text, {wildcard: true} or {prefix: text}; put numbers into quotes
            mine.md:13: error: requires.shell: expected cmd, the name of a program or «*» for any, found none
            mine.md:15: error: permissions.action: expected allow, ask or deny, found "forbid"
            mine.md:16: error: permissions: expected permission in each rule, found none
            mine.md:16: error: permissions: expected action in each rule, found none
            mine.md:17: error: permissions: expected rules such as {permission: bash, pattern: "git push*", action: deny}, found a text
            mine.md:18: error: inspectable: expected true or false, found a text
            mine.md:19: error: max_steps: expected a number from 1 to 10000, found 0
        "#]],
    );
}

#[test]
fn what_is_no_front_matter_is_told() {
    check(
        "You are a test.\n",
        &expect![[r#"
        mine.md:1: error: expected front matter, which begins with a first line of three dashes (---), found none
    "#]],
    );
    check(
        "---\ndescription: a: b\n---\nx\n",
        &expect![[r#"
        mine.md:2: error: the front matter is not YAML: mapping values are not allowed in this context; put a text that holds a colon into quotes
    "#]],
    );
    check(
        "---\n- a\n---\nx\n",
        &expect![[r#"
        mine.md:2: error: expected front matter of lines «key: value», found something else
    "#]],
    );
    check(
        "---\n---\nx\n",
        &expect![[r#"
        mine.md: error: description: expected a line that says what the agent is good for, found none
    "#]],
    );
    check(
        text("x", "tools: [Read, 7, \"a b\", \"\"]\n"),
        &expect![[r#"
        mine.md:3: error: tools: expected a text, found a number; put it into quotes
        mine.md:3: error: tools: expected the id of a tool, found "Read": write read
        mine.md:3: error: tools: expected the id of a tool, or a glob such as web_* or "*", found "a b"
        mine.md:3: error: tools: expected the id of a tool, or a glob such as web_* or "*", found ""
    "#]],
    );
    check(
        text("x", "tools:\npermissions:\nrequires:\n"),
        &expect![[r#"
        mine.md:3: error: tools: expected a list, found nothing
        mine.md:4: error: permissions: expected a list, found nothing
        mine.md:5: error: requires: expected a table of fs, net, shell, capabilities, found nothing
    "#]],
    );
    check(
        b"---\ndescription: x\n---\n\xff\n",
        &expect![[r#"
        mine.md: error: expected UTF-8, found other bytes
    "#]],
    );
}

#[test]
fn names_are_those_of_files() {
    let names = |name: &str| AgentDefinition::parse(name, &text("x", "")).is_ok();
    assert!(names("a") && names("a-1-b") && names(&"a".repeat(AGENT_NAME_CHARS_MAX)));
    for name in ["", "A", "1a", "-a", "a_b", "a b", "ä", &"a".repeat(AGENT_NAME_CHARS_MAX + 1)] {
        assert!(!names(name), "{name}");
    }
    let world = World::new();
    world.file("config/agents/README.md", "no agent").file("config/agents/notes.txt", "none");
    world.file("config/agents/Big.md", text("x", ""));
    expect![[r#"
        config/agents/Big.md: error: the name of an agent is that of its file: expected at most 64 lower-case letters, digits and hyphens, a letter first, found "Big"; rename the file
    "#]].assert_eq(&world.shown(&check_agent_files(&world.path("config/agents"))));
}

#[test]
fn sizes_are_bounded() {
    let description =
        |chars: usize| AgentDefinition::parse("a", &text(&"d".repeat(chars), "")).is_ok();
    assert!(
        description(AGENT_DESCRIPTION_CHARS_MAX) && !description(AGENT_DESCRIPTION_CHARS_MAX + 1)
    );
    let steps = |steps: u32| {
        AgentDefinition::parse("a", &text("x", &format!("max_steps: {steps}\n"))).is_ok()
    };
    assert!(steps(1) && steps(AGENT_STEPS_MAX) && !steps(0) && !steps(AGENT_STEPS_MAX + 1));
    let world = World::new();
    let whole = |bytes: usize| {
        let begun = text("x", "");
        world.file("config/agents/a.md", format!("{begun}{}", "b".repeat(bytes - begun.len())));
        check_agent_files(&world.path("config/agents")).agents.len()
    };
    assert_eq!((whole(AGENT_BYTES_MAX), whole(AGENT_BYTES_MAX + 1)), (1, 0));
}

#[test]
fn only_so_many_are_found() {
    let world = World::new();
    let bundled = find_agents(&AgentDirectories::default()).agents.len();
    for place in 0..AGENTS_MAX {
        world.file(&format!("config/agents/a{place}.md"), text("x", ""));
    }
    let found = || find_agents(&world.places(WorkspaceTrust::Trusted));
    assert_eq!((found().agents.len(), found().problems.len()), (AGENTS_MAX + bundled, 0));
    world.file("config/agents/zz.md", text("x", ""));
    assert_eq!((found().agents.len(), found().problems.len()), (AGENTS_MAX + bundled, 1));
    let many = World::new();
    for place in 0..AGENT_ENTRIES_MAX {
        many.file(&format!("config/agents/{place}.txt"), "");
    }
    assert_eq!(check_agent_files(&many.path("config/agents")).problems, []);
    many.file("config/agents/one-more.txt", "");
    assert_eq!(check_agent_files(&many.path("config/agents")).problems.len(), 1);
}

#[test]
fn the_nearest_of_one_name_counts_where_the_workspace_is_trusted() {
    let world = World::new();
    world.file("project/agents/build.md", text("x", "model: openai/near\n"));
    world.file("project/agents/own.md", text("x", "model: openai/near\nmode: subagent\n"));
    world.file("config/agents/build.md", text("x", "model: openai/far\n"));
    world.file("config/agents/plan.md", text("x", "mode: primary\n"));
    expect![[r#"
        build [all] project/agents/build.md openai/near
        explore [subagent] (bundled)
        general [subagent] (bundled)
        own [subagent] project/agents/own.md openai/near
        plan [primary] config/agents/plan.md
        hidden: build User
        hidden: build Bundled
        hidden: plan Bundled
    "#]]
    .assert_eq(&world.found(WorkspaceTrust::Trusted));
}

#[test]
fn a_workspace_that_nobody_trusted_only_adds() {
    let world = World::new();
    world.file("project/agents/build.md", text("x", ""));
    world.file("project/agents/mine.md", text("x", ""));
    world.file("project/agents/own.md", text("x", "model: openai/near\n"));
    world.file("config/agents/mine.md", text("x", ""));
    expect![[r#"
        build [primary] (bundled)
        explore [subagent] (bundled)
        general [subagent] (bundled)
        mine [all] config/agents/mine.md
        own [all] project/agents/own.md
        plan [primary] (bundled)
        project/agents/build.md: warning: there is another agent called build, and this one may not take its place, because this workspace is not trusted: it is left out. Rename it, or trust the workspace's haft.toml
        project/agents/mine.md: warning: there is another agent called mine, and this one may not take its place, because this workspace is not trusted: it is left out. Rename it, or trust the workspace's haft.toml
        project/agents/own.md: warning: this workspace is not trusted, so its agents do not choose a model: openai/near is not used. Trust the workspace's haft.toml, or keep the agent in your own configuration
    "#]].assert_eq(&world.found(WorkspaceTrust::Untrusted));
}

#[test]
fn links_lead_nowhere_else_and_only_files_are_opened() {
    let world = World::new();
    world.file("secret.md", text("x", ""));
    symlink(world.path("secret.md"), world.path("project/agents/out.md")).unwrap();
    symlink(world.path("secret.md"), world.path("config/agents/linked.md")).unwrap();
    symlink(world.path("nowhere"), world.path("project/agents/gone.md")).unwrap();
    fs::create_dir(world.path("project/agents/directory.md")).unwrap();
    expect![[r#"
        build [primary] (bundled)
        explore [subagent] (bundled)
        general [subagent] (bundled)
        linked [all] config/agents/linked.md
        plan [primary] (bundled)
        project/agents/directory.md: error: expected a regular file, found something else
        project/agents/gone.md: error: cannot be read: No such file or directory (os error 2)
        project/agents/out.md: error: a link that leads out of the workspace is not followed: copy the file
    "#]].assert_eq(&world.found(WorkspaceTrust::Untrusted));
    // The directory itself may be such a link.
    let other = World::new();
    fs::remove_dir(other.path("project/agents")).unwrap();
    symlink(other.path("config/agents"), other.path("project/agents")).unwrap();
    other.file("config/agents/mine.md", text("x", ""));
    let places = AgentDirectories { user: None, ..other.places(WorkspaceTrust::Trusted) };
    expect![[r#"
        build [primary] (bundled)
        explore [subagent] (bundled)
        general [subagent] (bundled)
        plan [primary] (bundled)
        project/agents/mine.md: error: a link that leads out of the workspace is not followed: copy the file
    "#]].assert_eq(&other.shown(&find_agents(&places)));
}

#[test]
fn the_program_brings_agents_along() {
    let found = find_agents(&AgentDirectories::default());
    assert_eq!(found.problems, []);
    let subagents: Vec<_> = found.subagents().into_iter().map(|one| one.name).collect();
    assert_eq!(
        (found.names(), subagents),
        (
            vec!["build", "explore", "general", "plan"],
            vec!["explore".to_owned(), "general".to_owned()],
        )
    );
    assert_eq!(found.get(SUMMARY).unwrap().mode, AgentMode::Internal);
    let keeps = |agent: &str, tool: &str| {
        found.get(agent).unwrap().allows_tool(&ToolId::parse(tool).unwrap())
    };
    for tool in ["write", "edit", "apply_patch", "bash", "repo_clone", "acme_deploy"] {
        assert!(keeps("build", tool) && keeps("general", tool), "{tool}");
        assert!(!keeps("plan", tool) && !keeps("explore", tool) && !keeps(SUMMARY, tool), "{tool}");
    }
    assert!(keeps("plan", "task") && !keeps("explore", "task"));
}

#[test]
fn whoever_writes_a_summary_agent_only_changes_how_it_summarises() {
    let world = World::new();
    world.file("config/agents/summary.md", text("x", "mode: primary\nmodel: openai/small\n"));
    let found = find_agents(&world.places(WorkspaceTrust::Untrusted));
    let summary = found.get(SUMMARY).unwrap();
    assert_eq!(
        (summary.mode, summary.model.as_deref()),
        (AgentMode::Internal, Some("openai/small"))
    );
}

#[test]
fn agents_that_are_made_in_code_have_somebody_who_summarises() {
    let agent = AgentDefinition::parse("mine", &text("Mine", "")).unwrap();
    let found = AgentRegistry::from_definitions([agent]);
    assert_eq!(found.names(), ["mine"]);
    assert_eq!(found.get(SUMMARY).unwrap().source, AgentSource::Bundled);
    let own = AgentDefinition::parse(SUMMARY, &text("Short", "")).unwrap();
    let found = AgentRegistry::from_definitions([own]);
    assert_eq!(found.get(SUMMARY).unwrap().description, "Short");
    assert!(found.hidden.is_empty());
}

#[test]
fn what_the_files_of_agents_name_is_told_with_its_lines() {
    let world = World::new();
    let front = "tools:\n  - read\n  - \"web_*\"\nrequires: {capabilities: [deploy]}\n\
                 permissions:\n  - {permission: bash, action: deny}\n";
    world.file("project/agents/mine.md", text("Theirs", "tools: [grep]\n"));
    world.file("config/agents/mine.md", text("Mine", front));
    world.file("config/agents/broken.md", text("Broken", "tools: [read]\nmodes: all\n"));
    let told = |found: &AgentRegistry| -> Vec<String> {
        let base = format!("{}/", world.path("").display()).replace("//", "/");
        let one = |named: &AgentFileReference| {
            let file = named.file.display().to_string().replace(&base, "");
            format!("{file}:{} {:?} {}", named.line, named.field, named.name)
        };
        found.references.iter().map(one).collect()
    };
    let mine = [
        "config/agents/mine.md:4 Tools read",
        "config/agents/mine.md:5 Tools web_*",
        "config/agents/mine.md:6 Capabilities deploy",
        "config/agents/mine.md:8 Permissions bash",
    ];
    // References in agents that are hidden or left out do not count.
    assert_eq!(told(&find_agents(&world.places(WorkspaceTrust::Untrusted))), mine);
    let trusted = find_agents(&world.places(WorkspaceTrust::Trusted));
    assert_eq!(told(&trusted), ["project/agents/mine.md:3 Tools grep"]);
    assert_eq!(told(&check_agent_files(&world.path("config/agents"))), mine);
}
