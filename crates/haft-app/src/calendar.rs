//! Moments in UTC as logs and people read them. The calendar is computed here, because a whole library for one format
//! would cost more than it saves.

/// A day, in milliseconds.
pub const DAY_MS: u64 = 86_400_000;

/// Returns `2026-01-31T09:05:00.123Z` for milliseconds since 1970.
pub fn rfc3339(time_ms: u64) -> String {
    let (year, month, day) = date(time_ms / DAY_MS);
    let ms = time_ms % DAY_MS;
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1_000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", ms % 1_000)
}

/// Returns `2026-01-31` for milliseconds since 1970.
pub fn day(time_ms: u64) -> String {
    let (year, month, day) = date(time_ms / DAY_MS);
    format!("{year:04}-{month:02}-{day:02}")
}

/// Returns year, month and day of a day counted from 1970-01-01.
///
/// Years are counted from March, so that the leap day is the last one: then every month's start is a linear function.
fn date(days_since_1970: u64) -> (u64, u64, u64) {
    let days = days_since_1970 + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let (month, next_year) =
        if month_from_march < 10 { (month_from_march + 3, 0) } else { (month_from_march - 9, 1) };
    (era * 400 + year_of_era + next_year, month, day)
}

/// Returns the day counted from 1970-01-01, if there is that day.
pub fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    if year < 1970 || !(1..=12).contains(&month) || day == 0 {
        return None;
    }
    // As in `date`, years are counted from March.
    let (year_from_march, month_from_march) =
        if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year_from_march / 400;
    let year_of_era = year_from_march % 400;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
    (date(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_spelled_in_utc() {
        let check = |time_ms: u64, expect: &str| assert_eq!(rfc3339(time_ms), expect);
        check(0, "1970-01-01T00:00:00.000Z");
        check(951_782_400_000, "2000-02-29T00:00:00.000Z");
        check(951_868_800_000, "2000-03-01T00:00:00.000Z");
        check(4_107_542_399_999, "2100-02-28T23:59:59.999Z");
        check(4_107_542_400_000, "2100-03-01T00:00:00.000Z");
        check(1_767_225_599_001, "2025-12-31T23:59:59.001Z");
        check(253_402_300_800_000, "10000-01-01T00:00:00.000Z");
        assert_eq!(day(951_868_799_999), "2000-02-29");
    }
}
