//! The profile that lets haft make user namespaces where AppArmor forbids them to ordinary programs, as Ubuntu 24.04 does. A
//! setting of the kernel would do that as well, but for every program of the machine. The package for Debian has the same profile.

use std::path::Path;

const TEMPLATE: &str = include_str!("apparmor.profile");
/// The file that AppArmor loads at each start of the machine.
const FILE: &str = "/etc/apparmor.d/haft";
/// Characters that mean something in a path of a profile.
const SPECIAL: &[char] = &['\\', '"', '?', '*', '[', ']', '{', '}', '^'];

/// Returns the profile for the program at this path and for haft-agent beside it.
pub(super) fn profile(program: &Path) -> String {
    let dir = program.parent().unwrap_or(Path::new("/")).to_string_lossy();
    let mut escaped = String::new();
    for character in dir.chars() {
        if SPECIAL.contains(&character) {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    TEMPLATE.replace("@PROGRAMS@", &format!("{escaped}/haft{{,-agent}}"))
}

/// Returns lines for a shell that load the profile. They start at the left, so that they can be pasted.
pub(super) fn commands(profile: &str) -> String {
    format!(
        "  A profile gives haft its namespaces, and no other program. To load it:\n\n\
         sudo tee {FILE} >/dev/null <<'EOF'\n{profile}EOF\n\
         sudo apparmor_parser --replace --write-cache {FILE}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profile_is_for_the_programs_of_this_directory() {
        let line = |program: &str| {
            let profile = profile(Path::new(program));
            let line = profile.lines().find(|line| line.starts_with("profile "));
            line.unwrap_or_default().to_owned()
        };
        assert_eq!(
            line("/usr/bin/haft"),
            r#"profile haft "/usr/bin/haft{,-agent}" flags=(unconfined) {"#
        );
        assert_eq!(
            line("/srv/a {b}/haft"),
            r#"profile haft "/srv/a \{b\}/haft{,-agent}" flags=(unconfined) {"#
        );
    }
}
