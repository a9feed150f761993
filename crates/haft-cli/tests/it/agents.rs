//! `haft agents`: which agents there are, what they hide, what is wrong with them, and what an untrusted workspace may not.

use expect_test::expect;
use serde_json::json;

use crate::world::World;

fn agent(description: &str, more: &str) -> String {
    format!("---\ndescription: {description}\n{more}---\nYou are a test.\n")
}

fn with_agents() -> World {
    let world = World::with_files();
    world.write(
        "work/agents/review.md",
        &agent("Reviews changes", "mode: subagent\ntools: [read, grep]\n"),
    );
    world.write("work/agents/README.md", "no agent\n");
    world.write("home/.config/haft/agents/mail.md", &agent("Writes mail", "mode: primary\n"));
    world.write("home/.config/haft/agents/plan.md", &agent("Plans my way", "mode: primary\n"));
    world
}

#[test]
fn agents_are_listed_with_their_places_and_what_they_hide() {
    with_agents().check(&["agents", "list"], &expect![[r#"
        AGENT    MODE      FILE                           DESCRIPTION
        build    primary   (bundled)                      Does any work in the workspace, from research to verification; start with this agent
        explore  subagent  (bundled)                      Finds things in the workspace quickly and answers with places and facts; reads only. Good for "where is", "what uses" and "how does this work"
        general  subagent  (bundled)                      Does a self-contained task, with all tools, and answers with the outcome
        mail     primary   ~/.config/haft/agents/mail.md  Writes mail
        plan     primary   ~/.config/haft/agents/plan.md  Plans my way (hides the bundled one)
        review   subagent  agents/review.md               Reviews changes
        --- status 0
    "#]]);
    let found = with_agents().json(&["agents", "list", "--json"]);
    let names: Vec<&str> =
        found.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["build", "explore", "general", "mail", "plan", "review"]);
    assert_eq!(found[4]["hides"], json!([{"name": "plan", "source": "bundled"}]));
}

#[test]
fn an_agent_is_shown_with_its_prompt() {
    let world = with_agents();
    world.check(
        &["agents", "show", "review"],
        &expect![[r#"
        review: Reviews changes
        file: /world/work/agents/review.md
        mode: subagent: other agents give it tasks
        model: that of the agent that calls it
        tools: read, grep

        You are a test.
        --- status 0
    "#]],
    );
    world.check(
        &["agents", "show", "revew"],
        &expect![[r#"
        --- stderr
        error: no agent is called "revew": did you mean review?

        hint: haft agents list
        --- status 2
    "#]],
    );
    let bundled = world.json(&["agents", "show", "explore", "--json"]);
    assert_eq!((&bundled["mode"], &bundled["source"]), (&json!("subagent"), &json!("bundled")));
    assert_eq!(bundled["tools"], json!(["read", "view", "glob", "grep", "repo_overview", "lsp"]));
}

#[test]
fn agents_are_checked_with_file_and_line() {
    let world = with_agents();
    world.check(
        &["agents", "check"],
        &expect![[r#"
        6 agents, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    world.write("work/agents/broken.md", &agent("x", "tools: Read, Grep\nmodes: all\n"));
    world.check(&["agents", "check"], &expect![[r#"
        /world/work/agents/broken.md:3: error: tools: expected a list, found a text: write tools: [Read, Grep]
        /world/work/agents/broken.md:4: error: unknown key "modes": did you mean mode?
        6 agents, 2 errors, 0 warnings
        --- status 1
    "#]]);
    world.check(&["agents", "show", "broken"], &expect![[r#"
        --- stderr
        error: no agent is called "broken": expected one of build, explore, general, mail, plan, review
        /world/work/agents/broken.md:3: error: tools: expected a list, found a text: write tools: [Read, Grep]

        hint: haft agents list
        --- status 2
    "#]]);
    world.check(
        &["agents", "check", "agents/review.md"],
        &expect![[r#"
        1 agent, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    world.check(
        &["agents", "check", "nowhere"],
        &expect![[r#"
        nowhere: error: expected a file NAME.md or a directory of such files, found nothing
        0 agents, 1 error, 0 warnings
        --- status 1
    "#]],
    );
    let answer = world.json(&["agents", "list", "--json"]);
    assert_eq!(answer.as_array().unwrap().len(), 6);
}

#[test]
fn a_tool_that_there_is_not_is_warned_of() {
    let world = World::with_files();
    let front = "tools: [raed, grep, wbe_*, \"web_*\", lsp, foo]\n\
                 requires:\n  capabilities: [deploy, payments]\n\
                 permissions:\n  - {permission: bsh, action: deny}\n  - {permission: fs.write, action: ask}\n";
    world.write("work/agents/typing.md", &agent("Types badly", front));
    world.write("work/haft.toml", "[requires]\ncapabilities = [\"deploy\"]\n");
    world.json(&["trust", "--json"]);
    world.check(
        &["agents", "check"],
        &expect![[r#"
            /world/work/agents/typing.md:3: warning: tools: no tool is called "raed": did you mean read?
            /world/work/agents/typing.md:3: warning: tools: no tool is called "wbe_*": haft tools list shows those there are
            /world/work/agents/typing.md:3: warning: tools: no tool is called "foo": haft tools list shows those there are
            /world/work/agents/typing.md:5: warning: requires.capabilities: no tool needs "payments"
            /world/work/agents/typing.md:7: warning: permissions: "bsh" names no tool and no capability: did you mean "bash"?
            5 agents, 0 errors, 5 warnings
            --- status 0
        "#]],
    );
    let checked = world.json(&["agents", "check", "--json"]);
    assert_eq!(checked["problems"][0]["line"], 3);
    // A tool of the user's own is one, too.
    let command = "[requires]\ncapabilities = [\"deploy\"]\n[[commands]]\nid = \"foo\"\ndescription = \"Says foo\"\nargv = [\"echo\", \"foo\"]\n";
    world.write("work/haft.toml", command);
    world.json(&["trust", "--json"]);
    let checked = world.json(&["agents", "check", "--json"]);
    let lines = checked["problems"].as_array().unwrap().iter().map(|it| it["message"].to_string());
    assert!(!lines.into_iter().any(|message| message.contains("foo")), "{checked}");
}

#[test]
fn a_workspace_replaces_agents_and_names_models_only_when_it_is_trusted() {
    let world = with_agents();
    world.write("work/agents/build.md", &agent("Builds their way", ""));
    world.write("work/agents/own.md", &agent("Has a model", "model: openai/theirs\n"));
    let model = |world: &World| {
        let own = world.json(&["agents", "show", "own", "--json"]);
        let build = world.json(&["agents", "show", "build", "--json"]);
        (own["model"].clone(), build["source"].clone())
    };
    world.check(&["agents", "check"], &expect![[r#"
        /world/work/agents/build.md: warning: there is another agent called build, and this one may not take its place, because this workspace is not trusted: it is left out. Rename it, or trust the workspace's haft.toml
        /world/work/agents/own.md: warning: this workspace is not trusted, so its agents do not choose a model: openai/theirs is not used. Trust the workspace's haft.toml, or keep the agent in your own configuration
        7 agents, 0 errors, 2 warnings
        --- status 0
    "#]]);
    assert_eq!(model(&world), (json!(null), json!("bundled")));
    // A manifest of somewhere else says nothing about this workspace.
    world.write("elsewhere.toml", "");
    let elsewhere = world.path("elsewhere.toml");
    let root = world.path("work");
    let args = [
        "agents",
        "show",
        "own",
        "--json",
        "--config",
        elsewhere.to_str().unwrap(),
        "--root",
        root.to_str().unwrap(),
    ];
    assert_eq!(world.json(&args)["model"], json!(null));
    world.write("work/haft.toml", "");
    assert_eq!(model(&world), (json!(null), json!("bundled")));
    let trusted = world.json(&["trust", "--json"]);
    assert_eq!(trusted["agents"][0], json!({"agent": "build", "hides": ["bundled"]}));
    assert_eq!(model(&world), (json!("openai/theirs"), json!("workspace")));
    world.check(
        &["trust"],
        &expect![[r#"
        /world/work/haft.toml is trusted; it grants nothing beyond the defaults
        3 agents in agents/ are trusted as well, and so is what will be there later:
          build: takes the place of the bundled one
          own: asks openai/theirs
          review
        --- status 0
    "#]],
    );
}

#[test]
fn tools_do_not_change_the_agents_of_a_trusted_workspace() {
    let world = with_agents();
    let write = r#"{"path":"agents/review.md","content":"---"}"#;
    world.write("work/haft.toml", "");
    world.json(&["trust", "--json"]);
    world.check(&["call", "write", write], &expect![[r#"
        --- stderr
        error: agents/review.md is protected by "work/agents/*.md", because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    // An agent that does not exist yet is protected, too. A file of the same name elsewhere is not.
    world.check(&["call", "write", &write.replace("review", "new")], &expect![[r#"
        --- stderr
        error: agents/new.md is protected by "work/agents/*.md", because others run or obey what it says: leave it, or tell the user what to change
        --- status 3
    "#]]);
    world.check(
        &["call", "write", &write.replace("agents/", "src/agents/")],
        &expect![[r#"
        ok
        --- status 0
    "#]],
    );
    world.write("work/haft.toml", "[sandbox]\nunprotect = [\"agents/*.md\"]\n");
    world.json(&["trust", "--json"]);
    world.check(
        &["call", "write", write],
        &expect![[r#"
        ok
        --- stderr
        warning: not protected any more (sandbox.unprotect): agents/*.md
        --- status 0
    "#]],
    );
}
