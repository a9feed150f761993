//! Reads the paths in a patch's headers: git's quoting, time stamps, `/dev/null`, `a/` and `b/`.
//!
//! Whether a path may be touched is not judged here.

use super::PATH_BYTES_MAX;

/// The old and the new name of a file; `None` stands for `/dev/null`.
pub(crate) type PatchNames = (Option<String>, Option<String>);

/// The content of a valid header line, for messages.
pub(crate) const EXPECTED: &str =
    "a path of 1 to 4096 bytes, in UTF-8, without NUL, quoted as git does or not at all";

/// Returns the path in a header line, without the time stamp that may follow a tab.
pub(crate) fn parse(raw: &str) -> Option<Option<String>> {
    let path = match raw.strip_prefix('"') {
        Some(quoted) => {
            let (path, rest) = unquoted(quoted)?;
            if !rest.is_empty() && !rest.starts_with(char::is_whitespace) {
                return None;
            }
            path
        }
        None => raw.split('\t').next()?.trim_end().to_owned(),
    };
    if path == "/dev/null" {
        return Some(None);
    }
    checked(path).map(Some)
}

/// Returns the two paths of a `diff --git` line, where it says clearly which two they are.
pub(crate) fn parse_git(raw: &str) -> Option<PatchNames> {
    if let Some(quoted) = raw.strip_prefix('"') {
        let (old, rest) = unquoted(quoted)?;
        return Some((Some(checked(old)?), parse(rest.strip_prefix(' ')?)?));
    }
    if let Some((old, new)) = raw.split_once(" \"") {
        let (new, rest) = unquoted(new)?;
        return rest.is_empty().then_some((Some(checked(old.to_owned())?), Some(checked(new)?)));
    }
    // The names may hold spaces, so they are split in the middle or before the only ` b/`.
    let raw = raw.trim_end();
    if let Some((old, new)) = raw.split_at_checked(raw.len() / 2)
        && let Some(new) = new.strip_prefix(' ')
        && (old == new
            || old.strip_prefix("a/").is_some_and(|name| new.strip_prefix("b/") == Some(name)))
    {
        return Some((parse(old)?, parse(new)?));
    }
    let at = raw.find(" b/").filter(|_| raw.matches(" b/").count() == 1)?;
    Some((parse(raw.get(..at)?)?, parse(raw.get(at + 1..)?)?))
}

/// Removes git's prefixes where both sides have them, or where that makes the two the same.
///
/// A lone prefix that does not is a directory, and stays.
pub(crate) fn without_prefixes(names: PatchNames) -> PatchNames {
    let old = names.0.as_deref().and_then(|old| stripped(old, "a/"));
    let new = names.1.as_deref().and_then(|new| stripped(new, "b/"));
    match (&names, old, new) {
        ((_, None), Some(old), _) => (Some(old), None),
        ((None, _), _, Some(new)) => (None, Some(new)),
        (_, Some(old), Some(new)) => (Some(old), Some(new)),
        ((_, Some(new)), Some(old), None) if old == *new => (Some(old), names.1),
        ((Some(old), _), None, Some(new)) if new == *old => (names.0, Some(new)),
        _ => names,
    }
}

fn stripped(path: &str, prefix: &str) -> Option<String> {
    path.strip_prefix(prefix).filter(|rest| !rest.is_empty()).map(str::to_owned)
}

pub(crate) fn checked(path: String) -> Option<String> {
    let fits = !path.is_empty() && path.len() <= PATH_BYTES_MAX && !path.contains('\0');
    fits.then_some(path)
}

/// Undoes git's quoting of a path without its opening quote. Also returns the text after the closing quote.
fn unquoted(quoted: &str) -> Option<(String, &str)> {
    let mut bytes = Vec::new();
    let mut chars = quoted.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let rest = quoted.get(at + 1..)?;
                return Some((String::from_utf8(bytes).ok()?, rest));
            }
            '\\' => bytes.push(match chars.next()?.1 {
                'a' => 7,
                'b' => 8,
                't' => b'\t',
                'n' => b'\n',
                'v' => 11,
                'f' => 12,
                'r' => b'\r',
                '"' => b'"',
                '\\' => b'\\',
                digit @ '0'..='7' => {
                    let others = chars.by_ref().take(2).map(|(_, digit)| digit);
                    let digits: String = std::iter::once(digit).chain(others).collect();
                    u8::from_str_radix(&digits, 8).ok().filter(|_| digits.len() == 3)?
                }
                _ => return None,
            }),
            _ => bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    None
}
