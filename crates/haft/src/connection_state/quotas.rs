//! Counts for the length of a session, over all its runs. They limit how often a front end can use some tools. They are
//! not stored, so a new session starts at zero.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use haft_contract::Quotas;

/// The counts of one session.
#[derive(Default)]
pub(crate) struct ConnectionQuotas {
    /// Written by each call that is counted, a few times a minute; parallel calls must not count past the bound together.
    counts: Mutex<BTreeMap<String, u32>>,
}

impl Quotas for ConnectionQuotas {
    fn take(&self, name: &str, per_session_max: u32) -> bool {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry(name.to_owned()).or_default();
        if *count >= per_session_max {
            return false;
        }
        *count += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_counted_to_its_own_bound() {
        let quotas = ConnectionQuotas::default();
        let taken = |name: &str| (0..5).filter(|_| quotas.take(name, 3)).count();
        assert_eq!((taken("search"), taken("other"), taken("search")), (3, 3, 0));
        assert!(quotas.take("search", 4), "a bound that was raised counts on");
        assert!(!quotas.take("never", 0));
    }
}
