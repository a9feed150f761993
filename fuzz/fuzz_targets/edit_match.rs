//! Feeds the edit matcher a text, a passage and its replacement, separated by NUL.
//!
//! Without carriage returns, replacing all must equal the standard library's replacement and
//! replacing one must replace the only occurrence; messages stay short whatever the input.

#![no_main]

use haft_patch::{ReplaceError, ReplaceMode, replace};
use libfuzzer_sys::fuzz_target;

const MESSAGE_BYTES_MAX: usize = 32_000;

fuzz_target!(|input: &str| {
    let mut parts = input.splitn(3, '\0');
    let (Some(text), Some(old), Some(new)) = (parts.next(), parts.next(), parts.next()) else {
        return;
    };
    for mode in [ReplaceMode::One, ReplaceMode::All] {
        match replace(text, old, new, mode) {
            Ok(replaced) if !input.contains('\r') => {
                assert_eq!(replaced.text, text.replace(old, new));
                assert_eq!(replaced.replacements, text.matches(old).count());
            }
            Ok(replaced) => assert_ne!(replaced.text, text),
            Err(ReplaceError::NoMatch { .. }) if text.contains(old) => {
                panic!("a passage that is there was not found")
            }
            Err(err) => assert!(err.to_string().len() < MESSAGE_BYTES_MAX),
        }
    }
});
