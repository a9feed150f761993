//! The arguments that several commands share.

pub(crate) mod call_address;
pub(crate) mod candidates;
pub(crate) mod cli_context;
pub(crate) mod hint;
pub(crate) mod input;
pub(crate) mod input_words;
pub(crate) mod latest;
pub(crate) mod named_values;
pub(crate) mod run_address;
pub(crate) mod setting_args;
