//! Ages, moments and durations as people write and read them. The calendar has the moments in RFC 3339.

use haft_app::calendar::{DAY_MS, day, days_since_1970};

use crate::error::CommandError;

/// Days after which a moment is shown as a date.
const AGE_DAYS_MAX: u64 = 100;

/// Returns a duration as a person reads it: `340 ms`, `12.3 s`, `4 min 5 s`.
pub(crate) fn duration_in_words(duration_ms: u64) -> String {
    let (seconds, tenths) = (duration_ms / 1_000, duration_ms % 1_000 / 100);
    match seconds {
        0 => format!("{duration_ms} ms"),
        1..60 => format!("{seconds}.{tenths} s"),
        _ => format!("{} min {} s", seconds / 60, seconds % 60),
    }
}

/// Returns how long ago something was, as a person reads it: `now`, `40s ago`, `3m ago`, `5h ago`, `2d ago`. An older time is a
/// date.
pub(crate) fn age_in_words(time_ms: u64, now_ms: u64) -> String {
    let seconds = now_ms.saturating_sub(time_ms) / 1_000;
    match seconds {
        0..5 => "now".to_owned(),
        5..60 => format!("{seconds}s ago"),
        60..3_600 => format!("{}m ago", seconds / 60),
        3_600..86_400 => format!("{}h ago", seconds / 3_600),
        _ if seconds < AGE_DAYS_MAX * 86_400 => format!("{}d ago", seconds / 86_400),
        _ => day(time_ms),
    }
}

/// Returns how long `30d` is, in milliseconds: a number with s, m, h, d or w.
pub(crate) fn parse_age_ms(text: &str) -> Result<u64, CommandError> {
    age_ms(text).ok_or_else(|| {
        CommandError::usage(format!(
            "age {text:?} is not valid: expected a number with s, m, h, d or w, such as 30d"
        ))
    })
}

/// Returns the moment that an age before now, a date or a moment names, in milliseconds since 1970.
pub(crate) fn parse_since(text: &str, now_ms: u64) -> Result<u64, CommandError> {
    let midnight_ms = now_ms - now_ms % DAY_MS;
    let ago = match text {
        "today" => Some(midnight_ms),
        "yesterday" => Some(midnight_ms.saturating_sub(DAY_MS)),
        _ => age_ms(text).map(|age_ms| now_ms.saturating_sub(age_ms)),
    };
    ago.or_else(|| moment_ms(text)).ok_or_else(|| {
        CommandError::usage(format!(
            "{text:?} names no moment: expected an age such as 12h or 30d, today, yesterday, or UTC such as \
             2026-01-31 or 2026-01-31T09:05:00Z"
        ))
    })
}

fn age_ms(text: &str) -> Option<u64> {
    let unit = text.chars().next_back()?;
    let ms: u64 = match unit {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => DAY_MS,
        'w' => 7 * DAY_MS,
        _ => return None,
    };
    unsigned(text.strip_suffix(unit)?)?.checked_mul(ms)
}

fn moment_ms(text: &str) -> Option<u64> {
    let (date_text, time_text) = text.split_once('T').unwrap_or((text, "00:00:00Z"));
    let mut date_parts = date_text.splitn(3, '-');
    let [year, month, day] = [4, 2, 2].map(|digits| part(date_parts.next(), digits));
    let time_text = time_text.strip_suffix('Z')?;
    let (clock, fraction) = time_text.split_once('.').unwrap_or((time_text, "0"));
    let mut clock_parts = clock.splitn(3, ':');
    let [hours, minutes, seconds] = [2, 2, 2].map(|digits| part(clock_parts.next(), digits));
    let (hours, minutes, seconds) = (hours?, minutes?, seconds?);
    if hours > 23 || minutes > 59 || seconds > 59 || !(1..=9).contains(&fraction.len()) {
        return None;
    }
    unsigned(fraction)?;
    let ms = unsigned(format!("{fraction:0<3}").get(..3)?)?;
    let days = days_since_1970(year?, month?, day?)?;
    Some(days * DAY_MS + hours * 3_600_000 + minutes * 60_000 + seconds * 1_000 + ms)
}

/// Returns the number of a part that has so many digits.
fn part(text: Option<&str>, digits: usize) -> Option<u64> {
    text.filter(|text| text.len() == digits).and_then(unsigned)
}

/// Returns a number of digits alone, without a sign.
fn unsigned(text: &str) -> Option<u64> {
    // An empty text, too, parses as no number.
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_told_as_exactly_as_they_matter() {
        let check =
            |duration_ms: u64, expect: &str| assert_eq!(duration_in_words(duration_ms), expect);
        check(0, "0 ms");
        check(999, "999 ms");
        check(12_345, "12.3 s");
        check(245_900, "4 min 5 s");
    }

    #[test]
    fn an_age_has_the_largest_unit_that_fits() {
        let check = |seconds: u64, expect: &str| {
            assert_eq!(age_in_words(1_000, 1_000 + seconds * 1_000), expect);
        };
        check(0, "now");
        check(59, "59s ago");
        check(200, "3m ago");
        check(7_199, "1h ago");
        check(99 * 86_400, "99d ago");
        check(100 * 86_400, "1970-01-01");
    }

    #[test]
    fn what_is_spelled_is_read_back() {
        for time_ms in [0, 951_782_400_000, 4_107_542_399_999, 1_767_225_599_001] {
            assert_eq!(parse_since(&haft_app::calendar::rfc3339(time_ms), 0).unwrap(), time_ms);
        }
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(parse_since(text, 10 * DAY_MS).ok(), expect, "for {text:?}");
        };
        check("1970-01-02", Some(DAY_MS));
        check("1970-01-01T00:00:01.5Z", Some(1_500));
        check("3d", Some(7 * DAY_MS));
        check("today", Some(10 * DAY_MS));
        check("yesterday", Some(9 * DAY_MS));
        check("2w", Some(0));
        check("36h", Some(8 * DAY_MS + DAY_MS / 2));
        for text in [
            "",
            "d",
            "3",
            "-3d",
            "+3d",
            "3 d",
            "3y",
            "99999999999999999999d",
            "2026-02-29",
            "2026-13-01",
            "2026-01-01T00:00:00",
            "2026-1-1",
            "2026-01-01T24:00:00Z",
            "1969-12-31",
            "1970-01-01T00:00:00.Z",
            "18446744073709551615w",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn ages_have_a_unit() {
        let check = |text: &str, expect: Option<u64>| {
            assert_eq!(parse_age_ms(text).ok(), expect, "for {text:?}");
        };
        check("45s", Some(45_000));
        check("90m", Some(5_400_000));
        check("30d", Some(30 * DAY_MS));
        check("30", None);
    }
}
