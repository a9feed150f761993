//! Short simulated histories of a fleet: they keep all promises, follow from their seeds, and notice a broken rule.

use haft_faults::fleet::{BrokenRule, FleetCounts, FleetOptions, simulate_fleet};

const HISTORIES: u64 = 12;

/// Histories in which a broken rule must be noticed at least once.
const BROKEN_HISTORIES: u64 = 6;

fn options(seed: u64, broken_rule: Option<BrokenRule>) -> FleetOptions {
    FleetOptions { seed, workers: 40, calls: 1_000, broken_rule }
}

#[test]
fn a_fleet_keeps_its_promises_whatever_fails() {
    let mut counts = FleetCounts::default();
    for seed in 0..HISTORIES {
        match simulate_fleet(options(seed, None)) {
            Ok(history) => counts.add_history(&history),
            Err(failure) => panic!("{failure}"),
        }
    }
    // The histories must reach each of these cases often enough.
    let FleetCounts {
        kills, pauses, partitions, cuts, takeovers, refused, settled, answers, ..
    } = counts;
    let seen = [kills, pauses, partitions, cuts, takeovers, refused, settled, answers];
    assert!(seen.iter().all(|count| *count >= 20), "{counts}");
    assert!(counts.calls >= 900 * HISTORIES, "{counts}");
}

#[test]
fn a_history_follows_from_its_seed() {
    let first = simulate_fleet(options(7, None)).unwrap();
    assert_eq!(simulate_fleet(options(7, None)).unwrap(), first);
    assert_ne!(simulate_fleet(options(8, None)).unwrap(), first);
}

#[test]
fn a_broken_rule_is_noticed_and_its_failure_is_repeatable() {
    let check = |rule: BrokenRule, expect: &str| {
        let mut histories = (0..BROKEN_HISTORIES).map(|seed| options(seed, Some(rule)));
        let failure = histories.find_map(|options| simulate_fleet(options).err());
        let failure = failure.unwrap_or_else(|| panic!("{rule:?} was not noticed"));
        assert!(failure.reason.contains(expect), "{failure}");
        assert!(failure.to_string().starts_with(&format!("seed {} with", failure.options.seed)));
        assert_eq!(simulate_fleet(failure.options).unwrap_err(), failure);
    };
    check(BrokenRule::Fencing, "former owner");
    check(BrokenRule::OpenCalls, "neither in doubt nor answered");
    check(BrokenRule::Doubt, "no person had repeated");
}
