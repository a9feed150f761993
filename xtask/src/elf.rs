//! The head of a program file of Linux. Only as much of the format is read as a check needs: ELF, 64 bits, least
//! significant byte first.

use anyhow::{Context as _, ensure};

/// The kind of a section that holds the symbols of all functions; a stripped program has none.
const SYMBOLS: u64 = 2;

/// Returns whether a program still has its table of symbols.
pub(crate) fn has_symbols(program: &[u8]) -> anyhow::Result<bool> {
    ensure!(program.starts_with(b"\x7fELF\x02\x01"), "this is no ELF program of 64 bits");
    let number = |at: usize, bytes: usize| {
        let bytes = program.get(at..at.saturating_add(bytes)).context("the program is cut off")?;
        anyhow::Ok(bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    };
    // Where the section headers begin, how long one is, and how many there are.
    let (begin, size, count) = (number(0x28, 8)?, number(0x3a, 2)?, number(0x3c, 2)?);
    for section in 0..count {
        let header = usize::try_from(begin + section * size)?;
        if number(header + 4, 4)? == SYMBOLS {
            return Ok(true);
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the head of a program with these kinds of sections.
    fn program(kinds: &[u32]) -> Vec<u8> {
        let mut program = vec![0; 0x40];
        program[..6].copy_from_slice(b"\x7fELF\x02\x01");
        program[0x28] = 0x40;
        program[0x3a] = 0x40;
        program[0x3c] = u8::try_from(kinds.len()).expect("there are few");
        for kind in kinds {
            let mut header = [0; 0x40];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            program.extend(header);
        }
        program
    }

    #[test]
    fn a_table_of_symbols_is_seen() {
        assert!(!has_symbols(&program(&[0, 1, 11])).unwrap());
        assert!(has_symbols(&program(&[0, 1, 2])).unwrap());
        assert!(has_symbols(&program(&[0, 1])[..0x60]).is_err());
        assert!(has_symbols(b"#!/bin/sh").is_err());
    }

    #[test]
    fn a_test_program_has_symbols() {
        let own = std::env::current_exe().and_then(std::fs::read).expect("it runs");
        assert!(has_symbols(&own).unwrap());
    }
}
