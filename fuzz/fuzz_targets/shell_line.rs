//! Judges an arbitrary line: nothing of ours panics, nothing hangs, what comes out is bounded, and a command that is
//! judged wholly known is judged the same when it is spelled anew.
#![no_main]

use haft_shell::analyze_line;
use libfuzzer_sys::fuzz_target;

/// More findings of one kind than a judgement may hold.
const FINDINGS_MAX: usize = 2_048;

fuzz_target!(
    // libFuzzer takes every panic for a crash. Those of the parser are caught, and make a line unknown.
    init: {
        let crash = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !panic.location().is_some_and(|location| location.file().contains("shuck-parser")) {
                crash(panic);
            }
        }));
    },
    |input: &[u8]| {
        let Ok(line) = std::str::from_utf8(input) else { return };
        let judgement = analyze_line(line);
        assert!(judgement.commands.len() <= FINDINGS_MAX && judgement.files.len() <= FINDINGS_MAX);
        if judgement.is_known() {
            check_spelling(line);
        }
    }
);

fn check_spelling(line: &str) {
    let judgement = analyze_line(line);
    for command in judgement.commands.iter().filter(|command| command.launchers.is_empty()) {
        let again = analyze_line(&command.text());
        // Only the line shows a function, and a command that another program runs has no separate line.
        if again.is_known() {
            let argv = again.commands.first().and_then(|command| command.argv());
            assert_eq!(argv, command.argv(), "{line:?}");
        }
    }
}
