//! Everything that a tool publishes, as it is.

use haft_contract::Contract;

use crate::error::CommandError;
use crate::views::output;

pub(super) fn print_list(contracts: &[&Contract]) -> Result<(), CommandError> {
    output::write_json(&contracts)
}

pub(super) fn print_one(contract: &Contract) -> Result<(), CommandError> {
    output::write_json(contract)
}
