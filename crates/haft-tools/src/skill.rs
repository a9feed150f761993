//! `skill`: loads the instructions of one skill. The session knows the skills and lists them in the description of this
//! tool.

use std::fmt::Write as _;

use haft_contract::{ConnectionStore, Cx, Effect, LoadedSkill, Tool, ToolError, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::aliases;

/// The tag around a skill, without its brackets.
const TAG: &str = "skill_content";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SkillInput {
    /// The name of the skill, as the description of this tool lists it.
    name: String,
}

pub(crate) fn skill() -> Tool {
    Tool::new("skill")
        .description(
            "Load a skill: instructions for one kind of work, written by the user or the project. Load the one that fits \
             before you begin such work, and follow it as far as it serves what the user asked for.",
        )
        .kind(ToolKind::Think)
        .example_output(json!("what the skill says"))
        .keeps(ConnectionStore::Skills)
        .effect(Effect::Read)
        .aliases(aliases::SKILL)
        .execute_blocking(|wanted: SkillInput, cx: &Cx| {
            Ok::<_, ToolError>(skill_text(&cx.skills().load(&wanted.name)?))
        })
}

/// Returns a skill as a model gets it: between tags, with the paths of its files.
pub fn skill_text(skill: &LoadedSkill) -> String {
    let mut inner = skill.body.trim().to_owned();
    if let Some(directory) = &skill.directory {
        let directory = directory.display();
        let _ = write!(inner, "\n\nDirectory of this skill: {directory}");
        if skill.files.is_empty() {
            inner.push_str("\nIt has no other files.");
        } else {
            inner.push_str(
                "\nRelative paths in it start there. Its other files can be opened with read, by their whole paths; what \
                 lies outside the workspace commands do not see:",
            );
        }
        for file in &skill.files {
            let _ = write!(inner, "\n- {file}");
        }
        if skill.has_more_files {
            inner.push_str("\n- and more, which are not listed");
        }
    }
    let name = skill.name.replace('&', "&amp;").replace('"', "&quot;");
    let name = name.replace('<', "&lt;").replace('>', "&gt;");
    format!("<{TAG} name=\"{name}\">\n{}\n</{TAG}>", without_tags(&inner))
}

/// Returns a text without the tags that begin or end a skill: the bracket of such a tag becomes `&lt;`.
fn without_tags(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    // Readers of tags are lenient, so spaces, slashes and case do not matter here either.
    let is_between = |letter: char| matches!(letter, '/' | '\\') || letter.is_whitespace();
    while let Some((before, after)) = rest.split_once('<') {
        let name = after.trim_start_matches(is_between).get(..TAG.len());
        let begins_tag = name.is_some_and(|name| name.eq_ignore_ascii_case(TAG));
        safe.extend([before, if begins_tag { "&lt;" } else { "<" }]);
        rest = after;
    }
    safe + rest
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use expect_test::{Expect, expect};

    use super::*;

    fn loaded(body: &str, files: &[&str]) -> LoadedSkill {
        LoadedSkill {
            name: "release".to_owned(),
            body: body.to_owned(),
            directory: Some(PathBuf::from("/home/ada/.agents/skills/release")),
            files: files.iter().map(|file| (*file).to_owned()).collect(),
            has_more_files: false,
        }
    }

    #[test]
    fn a_skill_comes_between_tags_with_its_place_and_files() {
        let check = |skill: LoadedSkill, expect: &Expect| expect.assert_eq(&skill_text(&skill));
        check(
            loaded("\n# Release\n\nTag it.\n", &["notes.md", "scripts/tag.sh"]),
            &expect![[r#"
            <skill_content name="release">
            # Release

            Tag it.

            Directory of this skill: /home/ada/.agents/skills/release
            Relative paths in it start there. Its other files can be opened with read, by their whole paths; what lies outside the workspace commands do not see:
            - notes.md
            - scripts/tag.sh
            </skill_content>"#]],
        );
        check(
            loaded("Tag it.", &[]),
            &expect![[r#"
            <skill_content name="release">
            Tag it.

            Directory of this skill: /home/ada/.agents/skills/release
            It has no other files.
            </skill_content>"#]],
        );
        let bundled = LoadedSkill { directory: None, ..loaded("Tag it.", &[]) };
        check(
            bundled,
            &expect![[r#"
            <skill_content name="release">
            Tag it.
            </skill_content>"#]],
        );
        check(
            LoadedSkill { has_more_files: true, ..loaded("x", &["a"]) },
            &expect![[r#"
            <skill_content name="release">
            x

            Directory of this skill: /home/ada/.agents/skills/release
            Relative paths in it start there. Its other files can be opened with read, by their whole paths; what lies outside the workspace commands do not see:
            - a
            - and more, which are not listed
            </skill_content>"#]],
        );
    }

    #[test]
    fn nothing_in_a_skill_ends_it() {
        let check = |text: &str, expected: &str| assert_eq!(without_tags(text), expected);
        check("a < b </b> <skill> <<", "a < b </b> <skill> <<");
        check("x</skill_content>y", "x&lt;/skill_content>y");
        check("< / SKILL_content >", "&lt; / SKILL_content >");
        check("<</skill_content>", "<&lt;/skill_content>");
        check("<skill_content name=\"b\">", "&lt;skill_content name=\"b\">");
        check("ä<\u{a0}/Skill_Contents", "ä&lt;\u{a0}/Skill_Contents");
        let file = skill_text(&loaded("x", &["</skill_content>"]));
        assert_eq!(file.matches("</skill_content>").count(), 1, "{file}");
        let named = LoadedSkill { name: "a\"<&>b".to_owned(), ..loaded("x", &[]) };
        let text = skill_text(&named);
        assert!(text.starts_with("<skill_content name=\"a&quot;&lt;&amp;&gt;b\">\n"), "{text}");
    }
}
