//! `awk`: a script runs commands through `system`, pipes, and indirect calls, and reads and writes
//! files by name. A script without any of these characters is plain.

use crate::analysis::{CommandWord, UnknownReason};

/// Text that a script needs to start a command or to name a file.
const REACHING: &[&str] = &["system", "|", ">", "getline", "@", "ARGV"];
const FLAGS: &[&str] = &["-P", "--posix", "-S", "--sandbox", "-b", "-c"];

/// Returns why the script does more than read its operands, as far as its text shows.
pub(super) fn unknown_reason(arguments: &[CommandWord]) -> Option<UnknownReason> {
    let is_running = |script: &str| {
        let after_bar = script.replace("||", " ");
        let mut piped = after_bar.split('|').skip(1).map(str::trim_start);
        script.contains("system")
            || piped.any(|rest| rest.starts_with(['"', '&']) || rest.starts_with("getline"))
    };
    if is_plain(arguments) {
        None
    } else if arguments.iter().filter_map(CommandWord::literal).any(is_running) {
        Some(UnknownReason::RunsOthers)
    } else {
        Some(UnknownReason::StartsOthers)
    }
}

/// Returns whether the script is literal and plain, and no other code is loaded.
fn is_plain(arguments: &[CommandWord]) -> bool {
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        let Some(text) = first.literal() else { return false };
        rest = after;
        match text {
            "-F" | "-v" => rest = rest.get(1..).unwrap_or_default(),
            "--version" => return true,
            "--" => {
                let script = rest.first().and_then(CommandWord::literal);
                return script.is_some_and(is_plain_script);
            }
            text if text.starts_with("-F") || text.starts_with("-v") || FLAGS.contains(&text) => {}
            text if text.starts_with('-') => return false,
            script => return is_plain_script(script),
        }
    }
    true
}

fn is_plain_script(script: &str) -> bool {
    let script = script.replace("||", " ");
    !REACHING.iter().any(|reaching| script.contains(reaching))
}

/// Returns the files that are read: the words after the script that are not assignments.
pub(crate) fn files(arguments: &[CommandWord]) -> Vec<&str> {
    let mut operands = Vec::new();
    let mut rest = arguments;
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first.literal() {
            Some("-F" | "-v") => rest = rest.get(1..).unwrap_or_default(),
            Some("--") => {
                operands.extend(rest.iter().filter_map(CommandWord::literal));
                break;
            }
            Some(text) if operands.is_empty() && text.starts_with('-') => {}
            Some(text) => operands.push(text),
            None => {}
        }
    }
    operands.into_iter().skip(1).filter(|text| !text.contains('=')).collect()
}
