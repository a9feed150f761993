use super::*;

#[test]
fn no_more_directories_are_named_than_there_may_be() {
    let problems = |count: usize| SkillsSection { paths: vec!["skills".into(); count] }.problems();
    assert!(problems(SKILL_PATHS_MAX).is_empty());
    let message = "paths: expected at most 16 directories of skills, found 17".to_owned();
    assert_eq!(problems(SKILL_PATHS_MAX + 1), [("paths", message)]);
}
