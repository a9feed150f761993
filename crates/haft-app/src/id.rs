//! Names for runs and sessions: sortable by the time they were made, and never made twice.

use rustix::rand::{GetRandomFlags, getrandom};

use crate::app_error::AppError;

/// Digits without those that look like others, in the order of their values.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Random bytes in a name.
const RANDOM_BYTES: usize = 10;
/// Characters of a name after its prefix: 48 bits of time and 80 random ones.
const CHARS: u32 = 26;

/// Returns a new name: the prefix, `now_ms` in milliseconds since 1970, and 80 random bits.
///
/// # Errors
///
/// Fails if the system gives no random bytes.
pub fn new(prefix: &str, now_ms: u64) -> Result<String, AppError> {
    Ok(spell(prefix, now_ms, random_bytes()?))
}

/// Returns random bytes of the system, fit for secrets.
///
/// # Errors
///
/// Fails if the system gives none.
pub fn random_bytes<const COUNT: usize>() -> Result<[u8; COUNT], AppError> {
    let mut random = [0; COUNT];
    let mut filled = 0;
    while let Some(rest) = random.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match getrandom(rest, GetRandomFlags::empty()) {
            Ok(count) => filled += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(err) => {
                return Err(AppError::failed(format!("the system gives no random bytes: {err}")));
            }
        }
    }
    Ok(random)
}

/// Returns an id of a prefix, a time and random digits. Later ids sort behind earlier ones.
fn spell(prefix: &str, now_ms: u64, random: [u8; RANDOM_BYTES]) -> String {
    let time = u128::from(now_ms & 0xffff_ffff_ffff);
    let number = random.iter().fold(time, |number, byte| (number << 8) | u128::from(*byte));
    let digits = (0..CHARS).rev().map(|place| {
        let digit = usize::try_from((number >> (place * 5)) & 31).unwrap_or_default();
        char::from(DIGITS.get(digit).copied().unwrap_or(b'0'))
    });
    format!("{prefix}_{}", digits.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_sort_by_time_and_hold_every_bit() {
        assert_eq!(spell("run", 0, [0; RANDOM_BYTES]), "run_00000000000000000000000000");
        assert_eq!(spell("run", u64::MAX, [0xff; RANDOM_BYTES]), "run_7zzzzzzzzzzzzzzzzzzzzzzzzz");
        assert_eq!(spell("run", 1, [0; RANDOM_BYTES]), "run_00000000010000000000000000");
        assert!(spell("run", 31, [0xff; RANDOM_BYTES]) < spell("run", 32, [0; RANDOM_BYTES]));
    }

    #[test]
    fn no_name_is_made_twice() {
        let names: std::collections::HashSet<String> =
            (0..1_000).map(|_| new("run", 7).unwrap()).collect();
        assert_eq!(names.len(), 1_000);
    }
}
