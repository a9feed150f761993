//! The .deb. Its scripts install the profile for AppArmor, and only where AppArmor knows the rule in it.

use std::path::Path;

use super::gzip::{CompressedBytes, Compression};
use super::installed_files::{PrintedTexts, apparmor_profile, installed_files};
use super::program_set::ProgramSet;
use super::release::{DESCRIPTION, MAINTAINER, ReleaseFacts};
use super::tar::{self, ArchiveEntry};
use crate::files;

/// Bytes in the unit of `Installed-Size`.
const KIBIBYTE: usize = 1_024;

/// Where the licence's text is on every Debian.
const APACHE_TEXT: &str = "/usr/share/common-licenses/Apache-2.0";

/// Returns the package.
pub(super) fn package(
    root: &Path,
    set: &ProgramSet,
    texts: &PrintedTexts,
    release: &ReleaseFacts,
    bill: &str,
) -> anyhow::Result<ArchiveEntry> {
    let compressed = |bytes: &[u8], compression| {
        anyhow::Ok(CompressedBytes::new(bytes, compression)?.into_gzip())
    };
    let mut entries = installed_files(set, texts, release, bill);
    for entry in &mut entries {
        // Debian has a separate place for completions of packages.
        entry.path = entry.path.replace("zsh/site-functions", "zsh/vendor-completions");
        entry.path = format!("./usr/{}", entry.path);
        let is_compressed =
            ["/man/man1/", "/CHANGELOG.md"].iter().any(|part| entry.path.contains(part));
        if let (true, Some(contents)) = (is_compressed, &mut entry.contents) {
            *contents = compressed(contents, Compression::Smallest)?;
            entry.path.push_str(".gz");
        }
    }
    let documents = "./usr/share/doc/haft";
    let changes = compressed(debian_changelog(release)?.as_bytes(), Compression::Smallest)?;
    entries.push(ArchiveEntry::file(format!("{documents}/changelog.gz"), changes));
    entries.push(ArchiveEntry::file(format!("{documents}/copyright"), copyright(release)));
    let profile = apparmor_profile(root, "/usr/bin")?;
    entries.push(ArchiveEntry::file("./usr/share/haft/apparmor-profile", profile));
    let bytes = entries.iter().filter_map(|entry| Some(entry.contents.as_ref()?.len())).sum();
    let script = |name: &str| files::read(&root.join("packaging/debian").join(name));
    let control = vec![
        ArchiveEntry::file("./control", control(set, release, bytes)),
        ArchiveEntry::program("./postinst", script("postinst")?),
        ArchiveEntry::program("./postrm", script("postrm")?),
    ];
    let control = tar::archive(control, release.time_s)?;
    let data = tar::archive(entries, release.time_s)?;
    let members = [
        ("debian-binary", b"2.0\n".to_vec()),
        ("control.tar.gz", compressed(&control, Compression::Smallest)?),
        ("data.tar.gz", compressed(&data, release.compression)?),
    ];
    let name = format!("haft_{}_{}.deb", release.version, set.platform.debian);
    Ok(ArchiveEntry::file(name, archive(&members, release.time_s)))
}

/// Returns the outer archive, of the format ar.
fn archive(members: &[(&str, Vec<u8>)], time_s: u64) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, contents) in members {
        let size = contents.len();
        bytes.extend(format!("{name:<16}{time_s:<12}0     0     100644  {size:<10}`\n").bytes());
        bytes.extend(contents);
        if size % 2 == 1 {
            bytes.push(b'\n');
        }
    }
    bytes
}

fn control(set: &ProgramSet, release: &ReleaseFacts, bytes: usize) -> String {
    let compiler_library = if set.needs_compiler_library { ", libgcc-s1" } else { "" };
    format!(
        "Package: haft\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: {MAINTAINER}\n\
         Installed-Size: {size}\n\
         Depends: libc6 (>= {glibc}){compiler_library}\n\
         Suggests: apparmor, git, python3\n\
         Section: utils\n\
         Priority: optional\n\
         Homepage: {repository}\n\
         Description: {DESCRIPTION}\n \
         haft validates every tool call of an agent, checks it against capabilities and\n \
         permissions, records it in a journal, and runs it confined by the kernel.\n",
        version = release.version,
        architecture = set.platform.debian,
        size = bytes.div_ceil(KIBIBYTE),
        glibc = set.glibc,
        repository = release.repository,
    )
}

fn debian_changelog(release: &ReleaseFacts) -> anyhow::Result<String> {
    Ok(format!(
        "haft ({version}) unstable; urgency=medium\n\n  * Release {version}; CHANGELOG.md.gz has the changes.\n\n -- \
         {MAINTAINER}  {date}\n",
        version = release.version,
        date = release.date("+%a, %d %b %Y %H:%M:%S +0000")?,
    ))
}

/// Returns the file in which Debian states the licences.
fn copyright(release: &ReleaseFacts) -> String {
    let paragraph = |text: &str| {
        let lines = text.trim_end().lines();
        let lines =
            lines.map(|line| if line.is_empty() { " .".to_owned() } else { format!(" {line}") });
        lines.collect::<Vec<_>>().join("\n")
    };
    let mit = release.licenses.iter().find(|(name, _)| *name == "LICENSE-MIT");
    let mit = mit.map_or("", |(_, text)| text);
    format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n\
         Upstream-Name: haft\n\
         Source: {repository}\n\n\
         Files: *\n\
         Copyright: The haft project\n\
         License: Expat or Apache-2.0\n\
         Comment: haft.cdx.json lists the parts of other authors, with their licences.\n\n\
         License: Expat\n{mit}\n\n\
         License: Apache-2.0\n The text is in {APACHE_TEXT}.\n",
        repository = release.repository,
        mit = paragraph(mit),
    )
}

#[cfg(test)]
mod tests {
    use super::super::program_set::{GLIBC_OLDEST, PLATFORMS};
    use super::super::release::tests::release;
    use super::*;

    #[test]
    fn the_control_file_names_what_the_programs_need() {
        let set = |needs_compiler_library| ProgramSet {
            platform: &PLATFORMS[1],
            glibc: GLIBC_OLDEST,
            needs_compiler_library,
            programs: Vec::new(),
        };
        let text = control(&set(true), &release(), 1_025);
        for line in
            ["Architecture: arm64", "Depends: libc6 (>= 2.17), libgcc-s1", "Installed-Size: 2"]
        {
            assert!(text.lines().any(|found| found == line), "{text}");
        }
        assert!(control(&set(false), &release(), 0).contains("\nDepends: libc6 (>= 2.17)\n"));
    }

    #[test]
    fn members_start_at_even_places() {
        let bytes = archive(&[("a", b"x".to_vec()), ("b", b"yz".to_vec())], 7);
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "!<arch>\na               7           0     0     100644  1         `\nx\n\
             b               7           0     0     100644  2         `\nyz"
        );
    }

    #[test]
    fn the_copyright_has_no_empty_line_inside_a_licence() {
        let mut release = release();
        release.licenses = vec![("LICENSE-MIT", "MIT\n\nPermission\n".to_owned())];
        assert!(
            copyright(&release)
                .contains("License: Expat\n MIT\n .\n Permission\n\nLicense: Apache-2.0\n")
        );
    }
}
