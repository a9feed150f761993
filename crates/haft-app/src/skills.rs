//! Names the places of skills: the user's directories, this program, and the directories of the settings. The library
//! reads skills, and decides which of two with one name counts.

use std::path::{Path, PathBuf};

use haft::{BundledSkill, Connection, SkillSearchPaths};

use crate::app_error::NextStep;
use crate::host::AppHost;
use crate::settings::EffectiveSettings;

/// Problems of skills that a session says when it begins; of more it says how many.
pub const SKILL_PROBLEMS_SAID_MAX: usize = 5;

/// The skills of this program.
const BUNDLED: &[BundledSkill] =
    &[BundledSkill { name: "haft-plans", text: include_str!("../skills/haft-plans/SKILL.md") }];

/// Returns where the skills for a workspace are looked for.
pub fn skill_paths(settings: &EffectiveSettings, host: &AppHost) -> SkillSearchPaths {
    SkillSearchPaths {
        root: Some(settings.root.clone()),
        user: user_directories(host.absolute_home(), host.config_directory()),
        home: host.absolute_home().map(Path::to_path_buf),
        bundled: BUNDLED.to_vec(),
        configured: settings.skill_paths.clone(),
    }
}

/// Returns the user's own directories of skills.
fn user_directories(home: Option<&Path>, config: Option<PathBuf>) -> Vec<PathBuf> {
    let own = [".agents/skills", ".claude/skills"].map(|name| home.map(|home| home.join(name)));
    own.into_iter().flatten().chain(config.map(|config| config.join("haft/skills"))).collect()
}

/// Says what is wrong with skills that a session could offer.
pub fn warn_of_problems(session: &Connection, host: &AppHost) {
    let problems = session.skill_problems();
    for problem in problems.iter().take(SKILL_PROBLEMS_SAID_MAX) {
        host.warn(problem);
    }
    if let Some(more) = problems.len().checked_sub(SKILL_PROBLEMS_SAID_MAX).filter(|more| *more > 0)
    {
        let message = format!("{more} more problems with skills");
        host.warn_with(message, NextStep::CheckSkills);
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
        check(Some("/h"), Some("/h/.config"), &usual);
        let named = ["/h/.agents/skills", "/h/.claude/skills", "/c/haft/skills"];
        check(Some("/h"), Some("/c"), &named);
        check(None, None, &[]);
    }

    #[test]
    fn what_the_program_brings_along_can_be_used() {
        let found = haft::find_skills(&SkillSearchPaths {
            bundled: BUNDLED.to_vec(),
            ..SkillSearchPaths::default()
        });
        assert_eq!(found.problems, []);
        assert_eq!(found.skills.len(), BUNDLED.len());
        for (skill, bundled) in found.skills.iter().zip(BUNDLED) {
            assert_eq!(skill.name, bundled.name);
        }
    }
}
