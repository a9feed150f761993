//! `haft skills`, and the tools that tell a model of skills and ask a person.

use expect_test::{Expect, expect};
use serde_json::json;

use crate::terminal::Terminal;
use crate::world::World;

fn with_skills() -> World {
    let world = World::with_files();
    world.write(
        "work/.agents/skills/release/SKILL.md",
        "---\nname: release\ndescription: Make a release. Load it before you tag.\n---\n\n# Release\n\nRead notes.md.\n",
    );
    world.write("work/.agents/skills/release/notes.md", "tag with v\n");
    world.write(
        "work/.claude/skills/broken/SKILL.md",
        "---\nname: broken\ndescription: a: b\n---\n",
    );
    world.write(
        "home/.agents/skills/mail/SKILL.md",
        "---\nname: mail\ndescription: Write mail.\n---\nBe kind.\n",
    );
    world.write("home/.agents/skills/mail/signature.txt", "Ada\n");
    world
}

#[test]
fn skills_are_listed_with_their_places() {
    with_skills().check(&["skills", "list"], &expect![[r#"
        SKILL       DIRECTORY               DESCRIPTION
        haft-plans  (bundled)               Write, check and run a haft plan - a JSON file of tool calls that run in parallel where they can, survive a crash and can be resumed. Load it when work consists of many tool calls whose order is known beforehand, or when a person asks for a plan file.
        mail        ~/.agents/skills/mail   Write mail.
        release     .agents/skills/release  Make a release. Load it before you tag.
        --- stderr
        warning: something is wrong with a skill

        hint: haft skills check

        --- status 0
    "#]]);
    let found = with_skills().json(&["skills", "list", "--json"]);
    let names: Vec<&str> =
        found.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["haft-plans", "mail", "release"]);
    assert_eq!(found[1]["source"], "user");
}

#[test]
fn a_skill_is_shown_as_a_model_gets_it() {
    let world = with_skills();
    world.check(&["skills", "show", "release"], &expect![[r#"
        <skill_content name="release">
        # Release

        Read notes.md.

        Directory of this skill: /world/work/.agents/skills/release
        Relative paths in it start there. Its other files can be opened with read, by their whole paths; what lies outside the workspace commands do not see:
        - notes.md
        </skill_content>
        --- status 0
    "#]]);
    world.check(&["call", "skill", r#"{"name":"release"}"#], &expect![[r#"
        <skill_content name="release">
        # Release

        Read notes.md.

        Directory of this skill: /world/work/.agents/skills/release
        Relative paths in it start there. Its other files can be opened with read, by their whole paths; what lies outside the workspace commands do not see:
        - notes.md
        </skill_content>
        --- status 0
    "#]]);
    world.check(
        &["skills", "show", "releas"],
        &expect![[r#"
        --- stderr
        error: no skill is called "releas": did you mean release?

        hint: haft skills list
        --- status 2
    "#]],
    );
    world.check(&["skills", "show", "broken"], &expect![[r#"
        --- stderr
        error: no skill is called "broken": expected one of haft-plans, mail, release
        /world/work/.claude/skills/broken/SKILL.md:3: error: the front matter is not YAML with a text for name and description: mapping values are not allowed in this context; put a text that holds a colon into quotes

        hint: haft skills list
        --- status 2
    "#]]);
    world.check(&["call", "skill", r#"{"name":"releas"}"#], &expect![[r#"
        --- stderr
        error: no skill is called "releas": did you mean release? There are haft-plans, mail, release

        hint: haft tools show skill
        --- status 2
    "#]]);
}

#[test]
fn skills_are_checked_with_file_and_line() {
    let world = with_skills();
    world.check(&["skills", "check"], &expect![[r#"
        /world/work/.claude/skills/broken/SKILL.md:3: error: the front matter is not YAML with a text for name and description: mapping values are not allowed in this context; put a text that holds a colon into quotes
        3 skills, 1 error, 0 warnings
        --- status 1
    "#]]);
    world.check(
        &["skills", "check", ".agents/skills"],
        &expect![[r#"
        1 skill, 0 errors, 0 warnings
        --- status 0
    "#]],
    );
    world.check(
        &["skills", "check", "nowhere"],
        &expect![[r#"
        nowhere: error: expected a skill or a directory of skills
        0 skills, 1 error, 0 warnings
        --- status 1
    "#]],
    );
}

#[test]
fn directories_of_a_manifest_come_last_and_outside_of_it_only_when_trusted() {
    let world = with_skills();
    let skill = |name: &str| format!("---\nname: {name}\ndescription: {name}\n---\n");
    world.write("work/tools/skills/inside/SKILL.md", &skill("inside"));
    world.write("elsewhere/outside/SKILL.md", &skill("outside"));
    world.write("work/haft.toml", "[skills]\npaths = [\"tools/skills\", \"../elsewhere\"]\n");
    world.check(&["skills", "list"], &expect![[r#"
        SKILL       DIRECTORY               DESCRIPTION
        haft-plans  (bundled)               Write, check and run a haft plan - a JSON file of tool calls that run in parallel where they can, survive a crash and can be resumed. Load it when work consists of many tool calls whose order is known beforehand, or when a person asks for a plan file.
        inside      tools/skills/inside     inside
        mail        ~/.agents/skills/mail   Write mail.
        release     .agents/skills/release  Make a release. Load it before you tag.
        --- stderr
        warning: /world/work/haft.toml is not trusted yet. haft ignores these settings of it:
          skills.paths = ["../elsewhere"]

        hint: haft trust /world/work/haft.toml

        warning: something is wrong with a skill

        hint: haft skills check

        --- status 0
    "#]]);
}

#[test]
fn instructions_are_one_text() {
    let world = World::with_files();
    world.check(
        &["skills", "instructions"],
        &expect![[r#"
        --- stderr
        there are no instructions: no AGENTS.md, CLAUDE.md or CONTEXT.md was found
        --- status 0
    "#]],
    );
    world.write("work/AGENTS.md", "Use tabs.\n");
    world.write("work/CONTEXT.md", "A test.\n");
    world.check(
        &["skills", "instructions"],
        &expect![[r#"
        # /world/work/AGENTS.md

        Use tabs.

        # /world/work/CONTEXT.md

        A test.
        --- status 0
    "#]],
    );
    let answer = world.json(&["skills", "instructions", "--json"]);
    assert_eq!((&answer["tokens"], answer["files"].as_array().unwrap().len()), (&json!(5), 2));
}

#[test]
fn the_files_of_a_loaded_skill_can_be_read_in_the_session() {
    let world = with_skills();
    let file = world.path("home/.agents/skills/mail/signature.txt");
    let read = json!({"path": file});
    let plan = |depends: serde_json::Value, first: &str| {
        json!({"nodes": [
            {"id": 0, "tool": "skill", "inputs": {"name": first}, "depends_on": []},
            {"id": 1, "tool": "read", "inputs": read, "depends_on": depends},
        ], "final_output_node": 1})
    };
    world.write("work/loaded.json", &plan(json!([0]), "mail").to_string());
    world.check(
        &["run", "loaded.json"],
        &expect![[r#"
        Ada
        --- stderr
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX: 2 nodes
        0 skill succeeded in 0 ms
        1 read  succeeded in 0 ms
        run run_XXXXXXXXXXXXXXXXXXXXXXXXXX finished in 0 ms: 2 of 2 nodes succeeded
        --- status 0
    "#]],
    );
    world.write("work/other.json", &plan(json!([0]), "release").to_string());
    let answer = world.shown(&world.haft(&["run", "other.json"]).output().unwrap());
    assert!(answer.contains("TOOL_PATH_ESCAPE"), "{answer}");
}

fn asked(input: &str, answers: &[&str], expect: &Expect) {
    let world = World::with_files();
    let mut terminal = Terminal::new();
    let child = terminal.start(&mut world.haft(&["call", "question", input]));
    for answer in answers {
        terminal.wait_for(": ");
        terminal.type_text(answer);
    }
    let (shown, stdout, status) = terminal.finish(child);
    expect.assert_eq(&format!("{shown}--- stdout\n{stdout}--- status {}\n", status.unwrap_or(-1)));
}

#[test]
fn the_person_at_the_terminal_answers_questions() {
    let questions = json!({"questions": [
        {"question": "Which database?", "header": "Storage", "options": [
            {"label": "SQLite", "description": "one file"}, {"label": "PostgreSQL"}]},
        {"question": "Which platforms?", "multi_select": true, "options": [
            {"label": "Linux"}, {"label": "macOS"}]},
        {"question": "What is it called?"},
    ]});
    asked(
        &questions.to_string(),
        &["\n", "2\n", "1,2\n", "haft\n"],
        &expect![[r#"

        The agent has 3 questions; what you answer allows nothing.

        1 of 3 · Storage:
          Which database?

           1. SQLite: one file
           2. PostgreSQL

        Your answer (a number, or your own words): 
        Please answer, or press Ctrl-D to leave it.

        Your answer (a number, or your own words): 2

        2 of 3:
          Which platforms?

           1. Linux
           2. macOS

        Your answer (numbers, separated by commas, or your own words): 1,2

        3 of 3:
          What is it called?

        Your answer: haft
        --- stdout
        {"answers":[["PostgreSQL"],["Linux","macOS"],["haft"]]}
        --- status 0
    "#]],
    );
    let one = json!({"questions": [{"question": "Sure?"}]}).to_string();
    asked(
        &one,
        &["\u{4}"],
        &expect![[r#"

            The agent has a question; what you answer allows nothing.

              Sure?

            Your answer: 
            No answer.
            error: the user did not answer: do not ask the same again; go on with your best assumption and say which one you made
            --- stdout
            --- status 1
        "#]],
    );
}

#[test]
fn without_a_terminal_nobody_answers() {
    let input = json!({"questions": [{"question": "Sure?"}]}).to_string();
    World::with_files().check(&["call", "question", &input], &expect![[r#"
        --- stderr
        error: No one is here to answer. Do not ask; go on with your best assumption and say which one you made.
        --- status 1
    "#]]);
}
