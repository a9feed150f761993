//! The retries of a model and the tokens that it used, in words.

use haft_model::ModelUsage;

use crate::views::time::duration_in_words;

/// Returns the words about a retry: the error, the pause and the number of the attempt.
pub(crate) fn retrying(error: &str, wait_ms: u64, attempt: u32, attempts_max: u32) -> String {
    format!(
        "{error}: trying again in {} (attempt {attempt} of {attempts_max})",
        duration_in_words(wait_ms)
    )
}

/// Returns the tokens that requests used, in words.
pub(crate) fn usage_summary(usage: ModelUsage) -> String {
    let read = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
    let written = usage.output.saturating_add(usage.reasoning);
    if read == 0 && written == 0 {
        return "no tokens reported".to_owned();
    }
    format!("{read} tokens read, {written} written")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_that_is_asked_again_is_said_to_be() {
        let said = retrying("openai cannot answer at the moment (HTTP 503)", 2_000, 3, 4);
        let expect =
            "openai cannot answer at the moment (HTTP 503): trying again in 2.0 s (attempt 3 of 4)";
        assert_eq!(said, expect);
    }

    #[test]
    fn what_a_model_does_not_report_is_not_taken_for_nothing() {
        assert_eq!(usage_summary(ModelUsage::default()), "no tokens reported");
        let usage = ModelUsage { input: 1, reasoning: 2, ..ModelUsage::default() };
        assert_eq!(usage_summary(usage), "1 tokens read, 2 written");
    }
}
