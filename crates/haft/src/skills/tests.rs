use std::fs;
use std::os::unix::fs::symlink;

use expect_test::{Expect, expect};
use haft_contract::{ErrorCode, Skills as _};
use tempfile::TempDir;

use super::*;
use crate::front_matter::FRONT_MATTER_BYTES_MAX;

/// A home with a project in it.
struct World(TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.path("home/project/part")).unwrap();
        fs::create_dir_all(world.path("home/project/.git")).unwrap();
        world
    }

    fn path(&self, relative: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(relative)
    }

    fn file(&self, relative: &str, text: impl AsRef<[u8]>) -> &Self {
        let path = self.path(relative);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    /// Writes a skill that says who it is in its description.
    fn skill(&self, directory: &str, name: &str) -> &Self {
        self.file(&format!("{directory}/SKILL.md"), text(name, directory))
    }

    fn places(&self) -> SkillSearchPaths {
        SkillSearchPaths {
            root: Some(self.path("home/project/part")),
            home: Some(self.path("home")),
            user: vec![self.path("home/.agents/skills"), self.path("home/.claude/skills")],
            ..SkillSearchPaths::default()
        }
    }

    /// Returns what is found, without the path of this world.
    fn found(&self, places: &SkillSearchPaths) -> String {
        self.shown(&find_skills(places))
    }

    fn shown(&self, found: &FoundSkills) -> String {
        let mut text = String::new();
        for skill in &found.skills {
            let source = skill.source;
            text.push_str(&format!("{} [{source:?}] {}\n", skill.name, skill.description));
        }
        for problem in &found.problems {
            text.push_str(&format!("{problem}\n"));
        }
        text.replace(self.path("").to_str().unwrap(), "")
    }
}

fn text(name: &str, description: &str) -> String {
    format!("---\nname: {name}\ndescription: {description}\n---\n# {name}\n")
}

#[test]
fn the_nearest_skill_of_a_name_counts_and_the_others_are_reported() {
    let world = World::new();
    for directory in [
        "home/project/part/.agents/skills/a",
        "home/project/part/.claude/skills/a",
        "home/project/.agents/skills/a",
        "home/project/.agents/skills/b",
        "home/.agents/skills/b",
        "home/.claude/skills/c",
        "home/.agents/skills/d",
        "extra/d",
        "extra/e",
    ] {
        world.skill(directory, directory.rsplit('/').next().unwrap());
    }
    // Above the repository nothing is the project's.
    world.skill("home/.agents/skills.not/x", "x").skill(".agents/skills/y", "y");
    let places = SkillSearchPaths {
        bundled: vec![
            BundledSkill { name: "c", text: "---\nname: c\ndescription: bundled\n---\n" },
            BundledSkill { name: "f", text: "---\nname: f\ndescription: bundled\n---\n" },
        ],
        configured: vec![world.path("extra"), world.path("missing")],
        ..world.places()
    };
    expect![[r#"
        a [Workspace] home/project/part/.agents/skills/a
        b [Workspace] home/project/.agents/skills/b
        c [User] home/.claude/skills/c
        d [User] home/.agents/skills/d
        e [Configured] extra/e
        f [Bundled] bundled
        home/project/part/.claude/skills/a/SKILL.md:2: warning: another skill is called "a" and comes first, so this one is left out: home/project/part/.agents/skills/a/SKILL.md
        home/project/.agents/skills/a/SKILL.md:2: warning: another skill is called "a" and comes first, so this one is left out: home/project/part/.agents/skills/a/SKILL.md
        home/.agents/skills/b/SKILL.md:2: warning: another skill is called "b" and comes first, so this one is left out: home/project/.agents/skills/b/SKILL.md
        (bundled) c:2: warning: another skill is called "c" and comes first, so this one is left out: home/.claude/skills/c/SKILL.md
        extra/d/SKILL.md:2: warning: another skill is called "d" and comes first, so this one is left out: home/.agents/skills/d/SKILL.md
        missing: error: expected a directory of skills, found nothing there
    "#]].assert_eq(&world.found(&places));
}

#[test]
fn the_way_up_ends_where_the_project_does() {
    let check = |root: &str, repository: Option<&str>, expected: &[&str]| {
        let world = World(tempfile::tempdir().unwrap());
        fs::create_dir_all(world.path("home/a/b")).unwrap();
        fs::create_dir_all(world.path("else/c/d")).unwrap();
        if let Some(repository) = repository {
            world.file(&format!("{repository}/.git"), "gitdir: elsewhere");
        }
        let found = project_directories(&world.path(root), Some(&world.path("home")));
        let expected: Vec<PathBuf> = expected.iter().map(|one| world.path(one)).collect();
        assert_eq!(found, expected, "{root} with {repository:?}");
    };
    check("home/a/b", None, &["home/a/b", "home/a"]);
    check("home/a/b", Some("home/a/b"), &["home/a/b"]);
    check("home/a/b", Some("home/a"), &["home/a/b", "home/a"]);
    check("home/a/b", Some("home"), &["home/a/b", "home/a"]);
    check("home", None, &["home"]);
    check("home", Some("home"), &["home"]);
    check("else/c/d", None, &["else/c/d"]);
    check("else/c/d", Some("else"), &["else/c/d", "else/c", "else"]);
    check("nowhere", None, &[]);
}

/// Compares what is said of one skill in a directory called `mine`.
fn check_text(text: impl AsRef<[u8]>, expect: &Expect) {
    let world = World::new();
    world.file("mine/SKILL.md", text);
    expect.assert_eq(&world.shown(&check_skills(&world.path("mine"))));
}

#[test]
fn front_matter_says_name_and_description() {
    check_text(
        "---\nname: mine\ndescription: does things\n---\nbody",
        &expect![[r#"
        mine [Configured] does things
    "#]],
    );
    let windows = "\u{feff}---\r\nname: mine\r\ndescription: \"a: b\"\r\n---  \r\nbody";
    check_text(
        windows,
        &expect![[r#"
        mine [Configured] a: b
    "#]],
    );
    check_text(
        "---\nname: mine\ndescription: \"a\\e[2Jb\\u202e c\u{e0041}\td\"\n---\n",
        &expect![[r#"
            mine [Configured] a[2Jb c d
        "#]],
    );
    let long = "---\nlicense: MIT\nmetadata: {a: [1, 2]}\nname: mine\ndescription: >\n  two\n  lines\nallowed-tools: bash\n---\n";
    check_text(
        long,
        &expect![[r#"
        mine [Configured] two lines
    "#]],
    );
    check_text(
        "---\nname: other\ndescription: x\n---\n",
        &expect![[r#"
        other [Configured] x
        mine/SKILL.md:2: warning: the name "other" is not that of its directory, "mine": rename one of them
    "#]],
    );
}

#[test]
fn a_long_description_is_cut_and_says_so() {
    let found = |chars: usize| {
        let world = World::new();
        world.file("mine/SKILL.md", text("mine", &"d".repeat(chars)));
        let found = check_skills(&world.path("mine"));
        let problems = found.problems.iter().map(|problem| problem.message.clone());
        (found.skills[0].description.len(), problems.collect::<Vec<_>>().join("\n"))
    };
    let most = SKILL_DESCRIPTION_CHARS_MAX;
    assert_eq!(found(most), (most, String::new()));
    let said =
        "description: expected at most 1024 characters, found 1025: the rest is not advertised";
    assert_eq!(found(most + 1), (most, said.to_owned()));
}

#[test]
fn broken_front_matter_is_reported_with_its_line() {
    check_text(
        "# Mine\n",
        &expect![[r#"
        mine/SKILL.md:1: error: expected front matter, which begins with a first line of three dashes (---), found none
    "#]],
    );
    check_text(
        "---\nname: mine\n",
        &expect![[r#"
        mine/SKILL.md:1: error: expected a line of three dashes (---) that ends the front matter within 16384 bytes, found none
    "#]],
    );
    check_text(
        "---\nname: mine\n---\n",
        &expect![[r#"
        mine/SKILL.md:1: error: description: expected a line that says what the skill does and when to load it, found none
    "#]],
    );
    check_text(
        "---\nname: mine\ndescription:\n---\n",
        &expect![[r#"
        mine/SKILL.md:3: error: description: expected a line that says what the skill does and when to load it, found none
    "#]],
    );
    check_text(
        "---\ndescription: x\n---\n",
        &expect![[r#"
        mine/SKILL.md:1: error: name: expected 1 to 64 lower-case letters, digits and single hyphens between them, found none
    "#]],
    );
    check_text(
        "---\nname: mine\ndescription: use when: asked\n---\n",
        &expect![[r#"
        mine/SKILL.md:3: error: the front matter is not YAML with a text for name and description: mapping values are not allowed in this context; put a text that holds a colon into quotes
    "#]],
    );
    check_text(
        "---\nname: mine\nname: mine\ndescription: x\n---\n",
        &expect![[r#"
        mine/SKILL.md:3: error: the front matter is not YAML with a text for name and description: duplicate mapping key: name
    "#]],
    );
    check_text(
        "---\nname: [a]\ndescription: x\n---\n",
        &expect![[r#"
        mine/SKILL.md:2: error: the front matter is not YAML with a text for name and description: expected string scalar
    "#]],
    );
    check_text(
        "---\n- name\n---\n",
        &expect![[r#"
        mine/SKILL.md:2: error: the front matter is not YAML with a text for name and description: expected mapping start
    "#]],
    );
}

#[test]
fn names_are_words_with_hyphens_between_them() {
    for name in ["Mine", "-mine", "mi--ne", "mine-", "a_b", "ä", "a/b", "\"\""] {
        let world = World::new();
        world.file("mine/SKILL.md", text(name, "x"));
        let found = check_skills(&world.path("mine"));
        assert!(found.skills.is_empty(), "{name}");
        assert_eq!(found.problems[0].line, Some(2), "{name}");
    }
    check_text(
        text(&"n".repeat(65), "x"),
        &expect![[r#"
        mine/SKILL.md:2: error: name: expected 1 to 64 lower-case letters, digits and single hyphens between them, found "nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn"
    "#]],
    );
    check_text(
        b"---\nname: mine\ndescription: \xff\n---\n",
        &expect![[r#"
        mine/SKILL.md:1: error: expected front matter in UTF-8, found other bytes
    "#]],
    );
}

#[test]
fn front_matter_is_bounded() {
    let padded = |bytes: usize| {
        let begun = "---\nname: mine\ndescription: x\nmore: ";
        let rest = bytes - (begun.len() - "---\n".len()) - 1;
        format!("{begun}{}\n---\n", "a".repeat(rest))
    };
    let count = |text: &str| {
        let world = World::new();
        world.file("mine/SKILL.md", text);
        check_skills(&world.path("mine")).skills.len()
    };
    assert_eq!(count(&padded(FRONT_MATTER_BYTES_MAX)), 1);
    assert_eq!(count(&padded(FRONT_MATTER_BYTES_MAX + 1)), 0);
    let bomb = (1..10).fold("a0: &a0 [x,x,x,x,x,x,x,x,x]\n".to_owned(), |text, place| {
        let before = place - 1;
        let list = vec![format!("*a{before}"); 9].join(",");
        format!("{text}a{place}: &a{place} [{list}]\n")
    });
    assert_eq!(count(&format!("---\nname: mine\ndescription: x\n{bomb}---\n")), 0);
    let deep = format!(
        "---\nname: mine\ndescription: x\nd: {}{}\n---\n",
        "[".repeat(5_000),
        "]".repeat(5_000)
    );
    assert_eq!(count(&deep), 0);
    let bytes = usize::try_from(SKILL_BYTES_MAX).unwrap();
    let whole = |bytes: usize| {
        let begun = text("mine", "x");
        format!("{begun}{}", "b".repeat(bytes - begun.len()))
    };
    assert_eq!((count(&whole(bytes)), count(&whole(bytes + 1))), (1, 0));
}

#[test]
fn links_lead_nowhere_else_and_only_files_are_opened() {
    let world = World::new();
    world.skill("elsewhere/secret", "secret").file("elsewhere/SKILL.md", text("out", "x"));
    let skills = world.path("home/project/part/.agents/skills");
    fs::create_dir_all(&skills).unwrap();
    symlink(world.path("elsewhere/secret"), skills.join("secret")).unwrap();
    fs::create_dir(skills.join("out")).unwrap();
    symlink(world.path("elsewhere/SKILL.md"), skills.join("out/SKILL.md")).unwrap();
    fs::create_dir(skills.join("pipe")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        skills.join("pipe/SKILL.md"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    fs::create_dir_all(skills.join("none")).unwrap();
    fs::write(skills.join("README.md"), "no skill").unwrap();
    // Both names of one directory are one skill.
    world.skill("home/project/part/.agents/skills/fine", "fine");
    fs::create_dir_all(world.path("home/project/part/.claude")).unwrap();
    symlink(&skills, world.path("home/project/part/.claude/skills")).unwrap();
    // The user may link directories from anywhere.
    fs::create_dir_all(world.path("home/.claude/skills")).unwrap();
    symlink(world.path("elsewhere/secret"), world.path("home/.claude/skills/secret")).unwrap();
    expect![[r#"
        fine [Workspace] home/project/part/.agents/skills/fine
        secret [User] elsewhere/secret
        home/project/part/.agents/skills/out/SKILL.md: error: a link that leads out of the skill's directory is not followed: copy the file
        home/project/part/.agents/skills/pipe/SKILL.md: error: SKILL.md is not a regular file but a named pipe
        home/project/part/.agents/skills/secret: error: a link that leads out of the workspace, to elsewhere/secret: copy the skill, or name its directory in skills.paths
    "#]].assert_eq(&world.found(&world.places()));
}

#[test]
fn a_link_out_of_the_workspace_is_not_followed_whoever_names_its_directory() {
    let world = World::new();
    world.skill("elsewhere/secret", "secret").skill("home/project/skills/mine", "mine");
    for directory in ["home/project/skills", "extra"] {
        fs::create_dir_all(world.path(directory)).unwrap();
        symlink(world.path("elsewhere/secret"), world.path(directory).join("link")).unwrap();
    }
    let configured = vec![world.path("home/project/skills")];
    let of_workspace = SkillSearchPaths { configured, ..world.places() };
    expect![[r#"
        mine [Configured] home/project/skills/mine
        home/project/skills/link: error: a link that leads out of the workspace, to elsewhere/secret: copy the skill, or name its directory in skills.paths
    "#]].assert_eq(&world.found(&of_workspace));
    let of_user = SkillSearchPaths { configured: vec![world.path("extra")], ..world.places() };
    expect![[r#"
        secret [Configured] elsewhere/secret
        extra/link/SKILL.md:2: warning: the name "secret" is not that of its directory, "link": rename one of them
    "#]].assert_eq(&world.found(&of_user));
}

#[test]
fn a_link_that_takes_the_place_of_a_skill_is_not_loaded() {
    let world = World::new();
    let directory = "home/project/part/.agents/skills/release";
    world.skill(directory, "release").skill("elsewhere/release", "release");
    let skills = ConnectionSkills::new(world.places());
    assert_eq!(skills.index().len(), 1);
    fs::remove_dir_all(world.path(directory)).unwrap();
    symlink(world.path("elsewhere/release"), world.path(directory)).unwrap();
    let err = skills.load("release").unwrap_err();
    assert!(err.message.contains("has taken its place"), "{}", err.message);
    assert_eq!(skills.loaded_roots().count(), 0);
}

#[test]
fn there_are_only_so_many() {
    let world = World::new();
    for place in 0..=SKILLS_MAX {
        let name = format!("s{place:03}");
        world.skill(&format!("home/.agents/skills/{name}"), &name);
    }
    let found = find_skills(&world.places());
    assert_eq!((found.skills.len(), found.problems.len()), (SKILLS_MAX, 1));
    let index = ConnectionSkills::new(world.places()).index();
    assert_eq!(index.len(), SKILLS_MAX);
}

#[test]
fn only_so_many_entries_of_a_directory_are_looked_at() {
    let world = World::new();
    let problems = || find_skills(&world.places()).problems.len();
    for place in 0..SKILL_ENTRIES_MAX {
        fs::create_dir_all(world.path(&format!("home/.agents/skills/{place:04}"))).unwrap();
    }
    assert_eq!(problems(), 0);
    world.skill("home/.agents/skills/z", "z");
    assert_eq!(problems(), 1);
    assert!(
        find_skills(&world.places()).skills.is_empty(),
        "it comes after all that are looked at"
    );
}

#[test]
fn files_are_looked_for_so_deep_and_among_so_many() {
    let loaded = |world: &World| ConnectionSkills::new(world.places()).load("deep").unwrap();
    let world = World::new();
    let directory = "home/.agents/skills/deep";
    let deepest = "d/".repeat(SKILL_DEPTH_MAX);
    world.skill(directory, "deep").file(&format!("{directory}/{deepest}a"), "");
    let found = loaded(&world);
    assert_eq!((found.files, found.has_more_files), (vec![format!("{deepest}a")], false));
    world.file(&format!("{directory}/{deepest}d/b"), "");
    assert_eq!((loaded(&world).files.len(), loaded(&world).has_more_files), (1, true));

    let world = World::new();
    world.skill(directory, "deep");
    // Hidden ones are not listed, but looked at; one entry is SKILL.md.
    for place in 1..SKILL_FILES_SEEN_MAX {
        world.file(&format!("{directory}/.{place}"), "");
    }
    assert!(!loaded(&world).has_more_files);
    world.file(&format!("{directory}/.one-more"), "");
    assert!(loaded(&world).has_more_files);
}

#[test]
fn a_skill_is_what_it_was_when_it_was_first_loaded() {
    let world = World::new();
    let directory = "home/.agents/skills/release";
    world.skill(directory, "release");
    world.file(&format!("{directory}/scripts/tag.sh"), "").file(&format!("{directory}/a.md"), "");
    world.file(&format!("{directory}/.hidden"), "").file("secret", "");
    symlink(world.path("secret"), world.path(directory).join("out")).unwrap();
    symlink(world.path(directory).join("a.md"), world.path(directory).join("b.md")).unwrap();
    let skills = ConnectionSkills::new(world.places());
    assert_eq!(skills.loaded_roots().count(), 0);
    let first = skills.load("release").unwrap();
    assert_eq!(first.body, "# release\n");
    assert_eq!(first.directory, Some(world.path(directory)));
    assert_eq!(first.files, ["a.md", "b.md", "scripts/tag.sh"]);
    assert_eq!(skills.loaded_roots().count(), 1);
    fs::remove_dir_all(world.path(directory)).unwrap();
    assert_eq!(skills.load("release").unwrap(), first);
    let gone = ConnectionSkills::new(world.places()).load("release").unwrap_err();
    assert_eq!(gone.code, ErrorCode::InvalidInput);
}

#[test]
fn a_skill_lists_only_so_many_files() {
    let world = World::new();
    let directory = "home/.agents/skills/many";
    world.skill(directory, "many");
    for place in 0..SKILL_FILES_MAX {
        world.file(&format!("{directory}/{place:03}"), "");
    }
    let load = || ConnectionSkills::new(world.places()).load("many").unwrap();
    assert_eq!((load().files.len(), load().has_more_files), (SKILL_FILES_MAX, false));
    world.file(&format!("{directory}/one-more"), "");
    assert_eq!((load().files.len(), load().has_more_files), (SKILL_FILES_MAX, true));
}

#[test]
fn an_unknown_name_is_answered_with_the_known_ones() {
    let world = World::new();
    world.skill("home/.agents/skills/release", "release").skill("home/.agents/skills/lint", "lint");
    let unknown = |name: &str| {
        let err = ConnectionSkills::new(world.places()).load(name).unwrap_err();
        format!("{}: {}", err.code.as_str(), err.message)
    };
    expect![[r#"INVALID_INPUT: no skill is called "releases": did you mean release? There are lint, release"#]].assert_eq(&unknown("releases"));
    expect![[r#"INVALID_INPUT: no skill is called "zzz": expected one of lint, release"#]]
        .assert_eq(&unknown("zzz"));
    let none = ConnectionSkills::default().load("zzz").unwrap_err();
    expect![[r#"no skill is called "zzz": there are none here"#]].assert_eq(&none.message);
}
