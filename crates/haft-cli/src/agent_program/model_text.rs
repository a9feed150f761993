//! The retries of a model, the tokens that it used and the context that is left, for people.

use haft_app::manifest::ModelPrices;
use haft_model::ModelUsage;

use crate::views::path_text::counted;
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

/// Returns the tokens of a session and the number of its answers, in words.
pub(crate) fn session_usage_summary(usage: ModelUsage, answers: u32) -> String {
    let cached = match usage.cache_read {
        0 => String::new(),
        cached => format!(" ({cached} read tokens came from the cache)"),
    };
    let answers = counted(usize::try_from(answers).unwrap_or(usize::MAX), "answer");
    format!("{} in {answers}{cached}", usage_summary(usage))
}

/// Returns the price of tokens, in words. Small prices have more digits.
pub(crate) fn cost_in_words(prices: &ModelPrices, usage: ModelUsage) -> String {
    let micro_dollars = prices.micro_dollars(usage);
    let (dollars, rest) = (micro_dollars / 1_000_000, micro_dollars % 1_000_000);
    match dollars {
        0 => format!("$0.{:04}", rest / 100),
        dollars => format!("${dollars}.{:02}", rest / 10_000),
    }
}

/// Returns the share of the model's context that is left after an answer, in percent. Returns `None` if the model reports no
/// tokens.
pub(crate) fn context_left_percent(usage: ModelUsage, context_tokens: u64) -> Option<u64> {
    let used = [usage.input, usage.cache_read, usage.cache_write, usage.output, usage.reasoning];
    let used = used.into_iter().fold(0, u64::saturating_add);
    if used == 0 {
        return None;
    }
    context_tokens.saturating_sub(used).saturating_mul(100).checked_div(context_tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_prices_have_more_digits() {
        let check = |input: u64, expect: &str| {
            let section = haft_app::manifest::ModelSection {
                name: Some("openai/m".to_owned()),
                input_cents: Some(300),
                output_cents: Some(1_500),
                ..Default::default()
            };
            let usage = ModelUsage { input, ..ModelUsage::default() };
            assert_eq!(cost_in_words(&section.prices().unwrap(), usage), expect);
        };
        check(0, "$0.0000");
        check(4_200, "$0.0126");
        check(1_000_000, "$3.00");
        check(1_250_000, "$3.75");
    }

    #[test]
    fn what_is_left_of_the_context_is_rounded_down() {
        let check = |input: u64, context_tokens: u64, expect: Option<u64>| {
            let usage = ModelUsage { input, ..ModelUsage::default() };
            assert_eq!(context_left_percent(usage, context_tokens), expect);
        };
        check(0, 100, None);
        check(1, 100, Some(99));
        check(1, 1_000, Some(99));
        check(2_000, 1_000, Some(0));
        check(1, 0, None);
    }

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
