//! Feeds the patch parser and applier a patch and a text, separated by NUL.
//!
//! No input may panic, a patch that was parsed names no file twice, applying it has one result,
//! and messages stay short whatever the input.

#![no_main]

use std::collections::HashSet;
use std::fmt::Display;

use haft_patch::{Patch, PatchOperation, apply, apply_hunks, parse, parse_single};
use libfuzzer_sys::fuzz_target;

const MESSAGE_BYTES_MAX: usize = 32_000;

fuzz_target!(|input: &str| {
    let (patch, text) = input.split_once('\0').unwrap_or((input, ""));
    match parse(patch) {
        Ok(patch) => check_files(&patch, text),
        Err(err) => check_message(&err),
    }
    match parse_single(patch) {
        Ok(hunks) => {
            if let Err(err) = apply_hunks(&hunks, text) {
                check_message(&err);
            }
        }
        Err(err) => check_message(&err),
    }
});

fn check_files(patch: &Patch, text: &str) {
    assert!(!patch.files.is_empty());
    let mut named = HashSet::new();
    for file in &patch.files {
        let paths: HashSet<_> = file.old_path.iter().chain(&file.new_path).collect();
        assert!(!paths.is_empty());
        assert!(paths.into_iter().all(|path| named.insert(path)));
        for original in [None, Some(text)] {
            let result = apply(file, original);
            assert_eq!(result, apply(file, original));
            match result {
                Ok(result) => {
                    assert_eq!(original.is_none(), file.operation == PatchOperation::Create);
                    assert_eq!(result.is_none(), file.operation == PatchOperation::Delete);
                }
                Err(err) => check_message(&err),
            }
        }
    }
}

fn check_message(err: &impl Display) {
    assert!(err.to_string().len() < MESSAGE_BYTES_MAX);
}
