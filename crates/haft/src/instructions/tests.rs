use std::fs;
use std::os::unix::fs::symlink;

use expect_test::expect;
use tempfile::TempDir;

use super::*;

/// A repository with a directory below it.
fn project(files: &[(&str, &str)]) -> TempDir {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir_all(place.path().join("project/.git")).unwrap();
    fs::create_dir_all(place.path().join("project/part")).unwrap();
    for (name, text) in files {
        fs::write(place.path().join(name), text).unwrap();
    }
    place
}

fn collected(place: &TempDir) -> Instructions {
    load_instructions(&place.path().join("project/part"), None)
}

/// Returns the text and the problems, without the path of this project.
fn shown(place: &TempDir) -> String {
    let collected = collected(place);
    let place = place.path().canonicalize().unwrap();
    let text = format!("{}\n{:?}", collected.text(), collected.problems);
    text.replace(place.to_str().unwrap(), "")
}

#[test]
fn the_nearest_file_has_the_last_word() {
    let place = project(&[
        ("AGENTS.md", "above the project\n"),
        ("project/AGENTS.md", "all\n"),
        ("project/CONTEXT.md", "context of all\n"),
        ("project/part/CLAUDE.md", "part\n"),
        ("project/part/AGENTS.md", "agents of part\n"),
    ]);
    expect![[r#"
        # /project/AGENTS.md

        all

        # /project/CONTEXT.md

        context of all

        # /project/part/AGENTS.md

        agents of part

        # /project/part/CLAUDE.md

        part
        []"#]]
    .assert_eq(&shown(&place));
    assert_eq!(Instructions::default().text(), "");
}

#[test]
fn one_file_with_two_names_is_read_once_and_links_lead_nowhere_else() {
    let place = project(&[("project/AGENTS.md", "all"), ("secret", "secret")]);
    symlink("AGENTS.md", place.path().join("project/CLAUDE.md")).unwrap();
    symlink("../AGENTS.md", place.path().join("project/part/AGENTS.md")).unwrap();
    symlink(place.path().join("secret"), place.path().join("project/CONTEXT.md")).unwrap();
    fs::create_dir(place.path().join("project/part/CONTEXT.md")).unwrap();
    fs::write(place.path().join("project/part/CLAUDE.md"), b"\xff").unwrap();
    expect![[r##"
        # /project/part/AGENTS.md

        all
        ["/project/part/CONTEXT.md: left out: part/CONTEXT.md is not a regular file but a directory", "/project/part/CLAUDE.md: left out: expected UTF-8, found other bytes", "/project/CONTEXT.md: left out, because it is a link that leads out of the project"]"##]].assert_eq(&shown(&place));
}

#[test]
fn a_linked_file_has_the_first_of_its_names() {
    let place = project(&[("project/CLAUDE.md", "all"), ("project/part/CONTEXT.md", "part")]);
    symlink("CLAUDE.md", place.path().join("project/AGENTS.md")).unwrap();
    symlink("CONTEXT.md", place.path().join("project/part/CLAUDE.md")).unwrap();
    expect![[r##"
        # /project/AGENTS.md

        all

        # /project/part/CLAUDE.md

        part
        []"##]]
    .assert_eq(&shown(&place));
}

#[test]
fn a_link_to_a_file_of_another_name_is_not_followed() {
    let place = project(&[("project/.env", "KEY=secret"), ("project/notes.md", "notes")]);
    symlink("../.env", place.path().join("project/part/AGENTS.md")).unwrap();
    symlink(".env", place.path().join("project/CLAUDE.md")).unwrap();
    symlink("notes.md", place.path().join("project/AGENTS.md")).unwrap();
    expect![[r#"

        ["/project/part/AGENTS.md: left out, because it is a link to a file that is not called AGENTS.md, CLAUDE.md or CONTEXT.md: copy the file, or rename it", "/project/AGENTS.md: left out, because it is a link to a file that is not called AGENTS.md, CLAUDE.md or CONTEXT.md: copy the file, or rename it", "/project/CLAUDE.md: left out, because it is a link to a file that is not called AGENTS.md, CLAUDE.md or CONTEXT.md: copy the file, or rename it"]"#]]
    .assert_eq(&shown(&place));
}

#[test]
fn no_more_files_are_collected_than_there_may_be() {
    let place = tempfile::tempdir().unwrap();
    fs::create_dir(place.path().join(".git")).unwrap();
    let mut nearest = place.path().to_path_buf();
    let mut names = Vec::new();
    // One in each directory, and one more than there may be.
    for number in 0..=INSTRUCTION_FILES_MAX {
        fs::write(nearest.join("AGENTS.md"), number.to_string()).unwrap();
        names.push(nearest.clone());
        nearest.push("d");
        fs::create_dir(&nearest).unwrap();
    }
    let all = load_instructions(&names[INSTRUCTION_FILES_MAX - 1], None);
    assert_eq!((all.files.len(), all.problems.len()), (INSTRUCTION_FILES_MAX, 0));
    let cut = load_instructions(&names[INSTRUCTION_FILES_MAX], None);
    let kept: Vec<&str> = cut.files.iter().map(|file| file.text.as_str()).collect();
    let expected: Vec<String> =
        (1..=INSTRUCTION_FILES_MAX).map(|number| number.to_string()).collect();
    assert_eq!(kept, expected);
    let outermost = place.path().canonicalize().unwrap().join("AGENTS.md");
    let why = "left out, because nearer files take all the room that there is";
    assert_eq!(cut.problems, [format!("{}: {why}", outermost.display())]);
}

#[test]
fn the_nearest_files_take_first_what_they_need() {
    let whole = "a".repeat(BYTES_MAX);
    let place = project(&[("project/part/AGENTS.md", &whole)]);
    let all = collected(&place);
    assert_eq!((all.tokens(), all.files[0].is_cut), (INSTRUCTIONS_TOKENS_MAX, false));

    let more = format!("{}ä", "a".repeat(BYTES_MAX - 1));
    let place = project(&[("project/part/AGENTS.md", &more)]);
    let cut = collected(&place);
    assert_eq!((cut.files[0].text.len(), cut.files[0].is_cut), (BYTES_MAX - 1, true));

    let near = "n".repeat(BYTES_MAX - 10);
    let place = project(&[
        ("project/part/AGENTS.md", near.as_str()),
        ("project/CONTEXT.md", "0123456789abc"),
        ("project/AGENTS.md", "left out"),
    ]);
    let shared = collected(&place);
    let texts: Vec<&str> = shared.files.iter().map(|file| file.text.as_str()).collect();
    assert_eq!(texts, ["0123456789", near.as_str()]);
    assert_eq!((shared.files[0].is_cut, shared.problems.len()), (true, 1));
}
