//! The wheels of PyPI, with the layout that maturin gives to programs: each is a script of the package, so that pip, pipx and
//! uv put them side by side.

use super::program_set::{GLIBC_OLDEST, ProgramSet};
use super::release::{DESCRIPTION, ReleaseFacts};
use super::tar::ArchiveEntry;
use super::{sums, zip};

/// The name on PyPI, where the name haft belongs to another project.
pub(super) const NAME: &str = "haft-runtime";

/// Makes `uvx haft-runtime` start haft: uv looks for a program that is named like the package.
const ALIAS: &str = "#!/bin/sh\nexec \"$(dirname \"$(readlink -f \"$0\")\")/haft\" \"$@\"\n";

/// Returns the package.
pub(super) fn package(
    set: &ProgramSet,
    release: &ReleaseFacts,
    bill: &str,
) -> anyhow::Result<ArchiveEntry> {
    // The names of files have no hyphen inside a part.
    let stem = format!("{}-{}", NAME.replace('-', "_"), release.version);
    let platforms = platform_tags(set);
    let mut entries: Vec<ArchiveEntry> = set
        .programs
        .iter()
        .map(|(name, contents)| {
            ArchiveEntry::program(format!("{stem}.data/scripts/{name}"), contents.as_slice())
        })
        .collect();
    entries.push(ArchiveEntry::program(format!("{stem}.data/scripts/{NAME}"), ALIAS));
    let information = format!("{stem}.dist-info");
    let file = |name: &str, text: String| ArchiveEntry::file(format!("{information}/{name}"), text);
    entries.push(file("METADATA", metadata(release)));
    let tags = platforms.iter().map(|platform| format!("Tag: py3-none-{platform}\n"));
    entries.push(file(
        "WHEEL",
        format!(
            "Wheel-Version: 1.0\nGenerator: haft ({})\nRoot-Is-Purelib: false\n{}",
            release.version,
            tags.collect::<String>()
        ),
    ));
    entries.extend(release.license_files(&format!("{information}/licenses/")));
    entries.push(file("sboms/haft.cyclonedx.json", bill.to_owned()));
    let record = record(&entries, &format!("{information}/RECORD"))?;
    entries.push(file("RECORD", record));
    let name = format!("{stem}-py3-none-{}.whl", platforms.join("."));
    Ok(ArchiveEntry::file(name, zip::archive(&entries, release.compression)?))
}

/// Returns the names of the platforms that the programs run on.
fn platform_tags(set: &ProgramSet) -> Vec<String> {
    let (glibc, processor) = (set.glibc, set.platform.wheel);
    let mut tags = vec![format!("manylinux_{}_{}_{processor}", glibc.major, glibc.minor)];
    if glibc == GLIBC_OLDEST {
        // The name that installers had before they knew the numbers.
        tags.push(format!("manylinux2014_{processor}"));
    }
    tags
}

fn metadata(release: &ReleaseFacts) -> String {
    let licenses = release.licenses.iter().map(|(name, _)| format!("License-File: {name}\n"));
    format!(
        "Metadata-Version: 2.4\n\
         Name: {NAME}\n\
         Version: {version}\n\
         Classifier: Environment :: Console\n\
         Classifier: Operating System :: POSIX :: Linux\n\
         Classifier: Programming Language :: Rust\n\
         {licenses}\
         Summary: {DESCRIPTION}\n\
         License-Expression: {license}\n\
         Requires-Python: >=3.8\n\
         Description-Content-Type: text/markdown; charset=UTF-8; variant=GFM\n\
         Project-URL: Source Code, {repository}\n\n\
         {readme}",
        version = release.version,
        licenses = licenses.collect::<String>(),
        license = release.license,
        repository = release.repository,
        readme = release.readme,
    )
}

/// Returns the list of all files with their checksums, which ends with the list itself.
fn record(entries: &[ArchiveEntry], own_path: &str) -> anyhow::Result<String> {
    let mut lines = String::new();
    for entry in entries {
        let contents = entry.contents.as_deref().unwrap_or_default();
        let sum = base64_url(&sums::sha256(contents)?);
        lines.push_str(&format!("{},sha256={sum},{}\n", entry.path, contents.len()));
    }
    lines.push_str(&format!("{own_path},,\n"));
    Ok(lines)
}

/// Returns bytes as text of 64 characters that are safe in addresses, without padding.
fn base64_url(bytes: &[u8]) -> String {
    const CHARACTERS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or_default());
        let number = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..=chunk.len() {
            let index = number >> (18 - 6 * place) & 0x3f;
            text.push(char::from(CHARACTERS[index as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::program_set::PLATFORMS;
    use super::super::release::tests::release;
    use super::*;
    use crate::elf::GlibcVersion;

    fn set(minor: u32) -> ProgramSet {
        ProgramSet {
            platform: &PLATFORMS[0],
            glibc: GlibcVersion { major: 2, minor },
            needs_compiler_library: false,
            programs: vec![("haft", b"program".to_vec())],
        }
    }

    #[test]
    fn the_name_says_which_machines_the_programs_run_on() {
        let name = |minor| package(&set(minor), &release(), "{}").unwrap().path;
        assert_eq!(
            name(17),
            "haft_runtime-1.2.3-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl"
        );
        assert_eq!(name(36), "haft_runtime-1.2.3-py3-none-manylinux_2_36_x86_64.whl");
    }

    #[test]
    fn the_record_has_checksums_as_installers_read_them() {
        let entries = [ArchiveEntry::file("a", "haft")];
        // python3 -c 'import base64,hashlib; print(base64.urlsafe_b64encode(hashlib.sha256(b"haft").digest()))'
        assert_eq!(
            record(&entries, "RECORD").unwrap(),
            "a,sha256=DahQlCL3L-FqhHo1wkYnGhpx4r1k8YXdet8af8-qVuk,4\nRECORD,,\n"
        );
    }

    #[test]
    fn text_of_every_length_is_encoded() {
        let texts = ["", "f", "fo", "foo", "foob"].map(|text| base64_url(text.as_bytes()));
        assert_eq!(texts, ["", "Zg", "Zm8", "Zm9v", "Zm9vYg"]);
        assert_eq!(base64_url(&[0xfb, 0xff]), "-_8");
    }
}
