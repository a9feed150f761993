use std::os::unix::fs::PermissionsExt as _;
use std::sync::Barrier;

use expect_test::expect;
use haft_policy::RuleAction;

use super::*;

struct Case {
    directory: tempfile::TempDir,
}

impl Case {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("work")).unwrap();
        Self { directory }
    }

    fn project(&self) -> ProjectRuleFile {
        let root = self.directory.path().join("work").canonicalize().unwrap();
        let name = sha256_hex(root.as_os_str().as_bytes());
        let path = self.directory.path().join(format!("state/projects/{name}.toml"));
        ProjectRuleFile { root, path }
    }
}

fn allow(pattern: &str) -> Rule {
    Rule::new("bash", pattern, RuleAction::Allow)
}

#[test]
fn what_is_added_is_there_once_and_in_order() {
    let case = Case::new();
    let project = case.project();
    assert_eq!(project.rules(ExampleChecks::Checked).unwrap(), []);
    assert!(!project.path().exists());
    assert_eq!(project.add(&[allow("b"), allow("a"), allow("b")]).unwrap(), 2);
    assert_eq!(project.add(&[allow("a"), allow("\"\u{1b}ä\n*")]).unwrap(), 1);
    let rules = project.rules(ExampleChecks::Checked).unwrap();
    assert_eq!(rules, [allow("b"), allow("a"), allow("\"\u{1b}ä\n*")]);
}

#[test]
fn rules_are_removed_by_their_number() {
    let case = Case::new();
    let project = case.project();
    project.add(&[allow("a"), allow("b"), allow("c")]).unwrap();
    assert_eq!(project.remove(2).unwrap(), allow("b"));
    assert_eq!(project.rules(ExampleChecks::Checked).unwrap(), [allow("a"), allow("c")]);
    let check = |number: usize, expect: &str| {
        assert_eq!(project.remove(number).unwrap_err().message, expect);
    };
    check(0, "no rule for this project has the number 0: expected 1 to 2");
    check(3, "no rule for this project has the number 3: expected 1 to 2");
    project.remove(1).unwrap();
    project.remove(1).unwrap();
    check(1, "no rule for this project has the number 1: there are none");
}

#[test]
fn the_file_can_be_read_by_people_and_by_nobody_else() {
    let case = Case::new();
    let project = case.project();
    project.add(&[allow("git status *")]).unwrap();
    let text = std::fs::read_to_string(project.path()).unwrap();
    let root = project.root.to_string_lossy().into_owned();
    expect![[r##"
        # Permission rules for the project below. haft added each of them when a person answered «always for
        # this project». haft lists these rules and removes one on request; you can also edit the file.
        root = "/work"

        [[permissions]]
        permission = "bash"
        pattern = "git status *"
        action = "allow"
    "##]]
    .assert_eq(&text.replace(&root, "/work"));
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(project.path()), 0o600);
    assert_eq!(mode(project.path().parent().unwrap()), 0o700);
}

#[test]
fn a_broken_file_says_where_and_is_not_overwritten() {
    let case = Case::new();
    let project = case.project();
    project.add(&[allow("a")]).unwrap();
    let root = &project.root;
    let text = format!("root = {root:?}\n\n[[permissions]]\npermision = \"bash\"\n");
    std::fs::write(project.path(), &text).unwrap();
    let message = project.rules(ExampleChecks::Checked).unwrap_err().message;
    let place = format!("{}:4:1: unknown key \"permision\"", project.path().display());
    assert!(message.contains(&place), "{message}");
    assert_eq!(project.add(&[allow("b")]).unwrap_err().message, message);
    assert_eq!(std::fs::read_to_string(project.path()).unwrap(), text);
}

#[test]
fn a_file_about_another_root_is_refused() {
    let case = Case::new();
    let project = case.project();
    project.add(&[allow("a")]).unwrap();
    for text in
        ["root = \"/elsewhere\"\n", "[[permissions]]\npermission = \"*\"\naction = \"allow\"\n"]
    {
        std::fs::write(project.path(), text).unwrap();
        let message = project.rules(ExampleChecks::Checked).unwrap_err().message;
        assert!(message.contains("are about another root"), "{message}");
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    const WRITERS: usize = 8;
    let case = Case::new();
    let project = case.project();
    let start = Barrier::new(WRITERS);
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (project, start) = (&project, &start);
            scope.spawn(move || {
                start.wait();
                for number in 0..5 {
                    project.add(&[allow(&format!("{writer} {number}"))]).unwrap();
                }
            });
        }
    });
    assert_eq!(project.rules(ExampleChecks::Checked).unwrap().len(), WRITERS * 5);
}

#[test]
fn rules_are_bounded_in_number() {
    let case = Case::new();
    let project = case.project();
    let rules: Vec<Rule> =
        (0..PROJECT_RULES_MAX).map(|number| allow(&number.to_string())).collect();
    assert_eq!(project.add(&rules).unwrap(), PROJECT_RULES_MAX);
    let message = project.add(&[allow("one more")]).unwrap_err().message;
    assert!(message.contains("PROJECT_RULES_MAX"), "{message}");
    assert_eq!(project.rules(ExampleChecks::Checked).unwrap().len(), PROJECT_RULES_MAX);
}

#[test]
fn files_are_bounded_in_bytes() {
    let case = Case::new();
    let project = case.project();
    project.add(&[allow("a")]).unwrap();
    let text = std::fs::read_to_string(project.path()).unwrap();
    let bytes = usize::try_from(PROJECT_BYTES_MAX).unwrap();
    let filled = |bytes: usize| format!("{text}#{}", "x".repeat(bytes - text.len() - 1));
    std::fs::write(project.path(), filled(bytes)).unwrap();
    assert!(project.rules(ExampleChecks::Checked).is_ok());
    std::fs::write(project.path(), filled(bytes + 1)).unwrap();
    let message = project.rules(ExampleChecks::Checked).unwrap_err().message;
    assert!(message.contains("PROJECT_BYTES_MAX"), "{message}");
}
