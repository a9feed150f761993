//! Where the skills of this machine are: the user's directories, what this program brings along, and what the settings
//! name. What a skill is, and which of two counts, is the library's business.

use std::path::{Path, PathBuf};

use haft::{BundledSkill, Session, SkillPlaces};

use crate::output;
use crate::settings::Settings;

/// Problems of skills that a session says when it begins; of more it says how many.
pub(crate) const SKILL_PROBLEMS_SAID_MAX: usize = 5;

/// The skills of this program.
const BUNDLED: &[BundledSkill] =
    &[BundledSkill { name: "haft-plans", text: include_str!("../skills/haft-plans/SKILL.md") }];

/// Returns where the skills for a workspace are looked for.
pub(crate) fn places(settings: &Settings) -> SkillPlaces {
    let home = own_home();
    SkillPlaces {
        root: Some(settings.root.clone()),
        user: user_directories(home.as_deref(), named_config()),
        home,
        bundled: BUNDLED.to_vec(),
        configured: settings.skill_paths.clone(),
    }
}

/// Returns the directory that the user keeps configuration in, whether there is one or not.
pub(crate) fn config_directory() -> Option<PathBuf> {
    config_of(own_home().as_deref(), named_config())
}

fn own_home() -> Option<PathBuf> {
    std::env::home_dir().filter(|home| home.is_absolute())
}

fn named_config() -> Option<PathBuf> {
    std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from)
}

fn config_of(home: Option<&Path>, named: Option<PathBuf>) -> Option<PathBuf> {
    // The XDG specification wants a relative path there to be ignored.
    let named = named.filter(|path| path.is_absolute());
    named.or_else(|| Some(home?.join(".config")))
}

fn user_directories(home: Option<&Path>, config: Option<PathBuf>) -> Vec<PathBuf> {
    let config = config_of(home, config);
    let own = [".agents/skills", ".claude/skills"].map(|name| home.map(|home| home.join(name)));
    own.into_iter().flatten().chain(config.map(|config| config.join("haft/skills"))).collect()
}

/// Says what is wrong with skills that a session could offer.
pub(crate) fn warn_of_problems(session: &Session) {
    let problems = session.skill_problems();
    for problem in problems.iter().take(SKILL_PROBLEMS_SAID_MAX) {
        output::warning(problem, None);
    }
    if let Some(more) = problems.len().checked_sub(SKILL_PROBLEMS_SAID_MAX).filter(|more| *more > 0)
    {
        let message = format!("{more} more problems with skills");
        output::warning(&message, Some("haft skills check"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_user_has_three_directories_of_skills() {
        let check = |home: Option<&str>, config: Option<&str>, expected: &[&str]| {
            let found = user_directories(home.map(Path::new), config.map(PathBuf::from));
            assert_eq!(found, expected.iter().map(PathBuf::from).collect::<Vec<_>>());
        };
        let usual = ["/h/.agents/skills", "/h/.claude/skills", "/h/.config/haft/skills"];
        check(Some("/h"), None, &usual);
        check(Some("/h"), Some("relative"), &usual);
        let named = ["/h/.agents/skills", "/h/.claude/skills", "/c/haft/skills"];
        check(Some("/h"), Some("/c"), &named);
        check(None, None, &[]);
    }

    #[test]
    fn what_the_program_brings_along_can_be_used() {
        let found =
            haft::find_skills(&SkillPlaces { bundled: BUNDLED.to_vec(), ..SkillPlaces::default() });
        assert_eq!(found.problems, []);
        assert_eq!(found.skills.len(), BUNDLED.len());
        for (skill, bundled) in found.skills.iter().zip(BUNDLED) {
            assert_eq!(skill.name, bundled.name);
        }
    }
}
