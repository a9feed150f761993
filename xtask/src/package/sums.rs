//! Checksums of the packages, by the program sha256sum, and a signature over them, by the program minisign.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, ensure};

use crate::process::run as run_program;

/// The file with the checksums, as `sha256sum --check` reads it.
pub(super) const SUMS: &str = "SHA256SUMS";

/// Returns the SHA-256 of bytes.
pub(super) fn sha256(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut sha256sum = Command::new("sha256sum");
    sha256sum.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = sha256sum.spawn().context("cannot start `sha256sum`")?;
    // The program prints nothing before it has read everything.
    child.stdin.take().context("sha256sum has no standard input")?.write_all(bytes)?;
    let mut text = String::new();
    let output = child.stdout.as_mut().context("sha256sum has no standard output")?;
    output.read_to_string(&mut text)?;
    ensure!(child.wait()?.success(), "sha256sum failed");
    let digits = text.split_whitespace().next().unwrap_or_default();
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16));
    let bytes: Vec<u8> =
        bytes.collect::<Result<_, _>>().context("sha256sum printed no checksum")?;
    ensure!(bytes.len() == 32, "sha256sum printed no checksum");
    Ok(bytes)
}

/// Signs the checksums in a directory with a secret key, by the program minisign at a path.
pub(super) fn sign(dir: &Path, minisign: &Path, key: &Path, comment: &str) -> anyhow::Result<()> {
    let mut minisign = Command::new(minisign);
    minisign.current_dir(dir).args(["-S", "-m", SUMS, "-t", comment, "-s"]).arg(key);
    run_program(&mut minisign).context("the checksums cannot be signed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use crate::process::succeeds;

    #[test]
    fn a_signature_verifies_and_a_change_is_seen() {
        let minisign = std::env::var_os("HAFT_TEST_MINISIGN");
        let minisign = minisign.expect("run `cargo xtask test`, which installs minisign");
        let dir = std::env::temp_dir().join(format!("haft-signature-{}", std::process::id()));
        files::create_dir(&dir).unwrap();
        files::write(&dir.join(SUMS), "ab  a\n").unwrap();
        let minisign = Path::new(&minisign);
        let run =
            |arguments: &[&str]| succeeds(Command::new(minisign).current_dir(&dir).args(arguments));
        assert!(run(&["-G", "-W", "-p", "public", "-s", "secret"]));
        sign(&dir, minisign, &dir.join("secret"), "haft 1.2.3").unwrap();
        let verify = ["-V", "-p", "public", "-m", SUMS];
        let is_valid = run(&verify);
        files::write(&dir.join(SUMS), "cd  a\n").unwrap();
        let is_valid_after_a_change = run(&verify);
        files::remove_dir(&dir).unwrap();
        assert!(is_valid && !is_valid_after_a_change);
    }

    #[test]
    fn checksums_are_those_of_the_standard() {
        let hex: String =
            sha256(b"abc").unwrap().iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
}
