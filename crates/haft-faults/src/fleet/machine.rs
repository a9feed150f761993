//! A simulated machine: whether it runs, what it reaches, and how wrong its clock is.

/// The longest distance of a clock from the true time, in milliseconds. It is more than the longest lease.
pub(super) const SKEW_MS_MAX: u64 = 20 * 60_000;

/// The virtual time at which a history begins, in milliseconds since 1970.
const BEGINNING_MS: u64 = 1_700_000_000_000;

/// A machine of the fleet.
#[derive(Clone, Debug)]
pub(super) struct FleetMachine {
    pub(super) is_up: bool,
    /// How often it was killed.
    pub(super) kills: u32,
    /// It stands still until then.
    pub(super) paused_until_ms: u64,
    /// It does not reach the journal until then.
    pub(super) journal_back_ms: u64,
    /// It does not reach the engine until then.
    pub(super) engine_back_ms: u64,
    /// The distance of its clock from the true time.
    pub(super) skew_ms: i64,
}

impl FleetMachine {
    pub(super) fn new() -> Self {
        Self {
            is_up: true,
            kills: 0,
            paused_until_ms: 0,
            journal_back_ms: 0,
            engine_back_ms: 0,
            skew_ms: 0,
        }
    }

    /// Returns whether the engine hears nothing of it.
    pub(super) fn is_silent(&self, now_ms: u64) -> bool {
        !self.is_up || self.paused_until_ms > now_ms || self.engine_back_ms > now_ms
    }

    /// Returns the time that its clock shows.
    pub(super) fn clock_ms(&self, now_ms: u64) -> u64 {
        (BEGINNING_MS + now_ms).saturating_add_signed(self.skew_ms)
    }
}
