//! The table `[model]` of a manifest: which model makes plans and puts outcomes into words, and where it is asked. Keys are
//! never written here: they come from the environment, and a manifest can only say which variable holds one.

use std::time::Duration;

use haft_model::{ModelAnswerBounds, ModelUsage};
use serde::Deserialize;

use super::problem::{KeyProblem, out_of_bounds};

/// Largest `model.timeout_ms` and `model.idle_ms`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const MODEL_MS_MAX: u64 = 3_600_000;

/// Largest `model.input_cents`, `model.output_cents` and `model.cached_cents`.
///
/// Limit (settings): the manifest is refused.
pub(crate) const MODEL_CENTS_MAX: u64 = 1_000_000;

/// The prices of a model, in US cents for a million tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPrices {
    /// The model, as `provider/name`.
    pub model: String,
    input_cents: u64,
    output_cents: u64,
    cached_cents: u64,
}

impl ModelPrices {
    /// Returns the price of these tokens, in millionths of a US dollar.
    pub fn micro_dollars(&self, usage: ModelUsage) -> u64 {
        let of_kinds = [
            (usage.input.saturating_add(usage.cache_write), self.input_cents),
            (usage.cache_read, self.cached_cents),
            (usage.output.saturating_add(usage.reasoning), self.output_cents),
        ];
        // A cent for a million tokens is a hundredth of a millionth of a dollar for each.
        let all = of_kinds.iter().map(|(tokens, cents)| tokens.saturating_mul(*cents));
        all.fold(0, u64::saturating_add) / 100
    }
}

/// The values of the table. Every key is optional; a missing key has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSection {
    /// `provider/name`.
    pub name: Option<String>,
    /// Where the provider is instead of its usual place.
    pub base_url: Option<String>,
    /// The environment variable that holds the key, instead of the provider's usual one.
    pub key_variable: Option<String>,
    /// Whether the model sees images.
    pub images: Option<bool>,
    /// The price of a million tokens that the model reads, in US cents.
    pub input_cents: Option<u64>,
    /// The price of a million tokens that the model writes, in US cents.
    pub output_cents: Option<u64>,
    /// The price of a million tokens that come from the provider's cache, in US cents; that of other input unless given.
    pub cached_cents: Option<u64>,
    /// How long an answer may take with all attempts at it.
    pub timeout_ms: Option<u64>,
    /// How long the model may be silent.
    pub idle_ms: Option<u64>,
}

impl ModelSection {
    /// Returns what the model is asked with; nothing if the table names none.
    pub fn settings(&self) -> Option<haft_model::ModelSettings> {
        let Self { name, base_url, key_variable, images, .. } = self.clone();
        let settings =
            haft_model::ModelSettings { base_url, key_variable, images, ..Default::default() };
        name.map(|model| haft_model::ModelSettings { model, ..settings })
    }

    /// Returns this section with the values of another one, which come first. Server and key belong to the model that is
    /// named beside them.
    pub(crate) fn overridden_by(self, first: Self) -> Self {
        let (timeout_ms, idle_ms) =
            (first.timeout_ms.or(self.timeout_ms), first.idle_ms.or(self.idle_ms));
        let named = if first.name.is_some() { first } else { self };
        Self { timeout_ms, idle_ms, ..named }
    }

    /// Returns the prices of the model, if both prices and the model are named.
    pub fn prices(&self) -> Option<ModelPrices> {
        let (input_cents, output_cents) = (self.input_cents?, self.output_cents?);
        let cached_cents = self.cached_cents.unwrap_or(input_cents);
        Some(ModelPrices { model: self.name.clone()?, input_cents, output_cents, cached_cents })
    }

    /// Returns how long is waited for an answer, of whichever model.
    pub fn bounds(&self) -> ModelAnswerBounds {
        let defaults = ModelAnswerBounds::default();
        ModelAnswerBounds {
            total: self.timeout_ms.map_or(defaults.total, Duration::from_millis),
            idle: self.idle_ms.map_or(defaults.idle, Duration::from_millis),
            ..defaults
        }
    }

    /// Returns the keys whose values cannot be used, and what is wrong with them.
    pub(super) fn problems(&self) -> Vec<KeyProblem> {
        let times = [("timeout_ms", self.timeout_ms), ("idle_ms", self.idle_ms)].into_iter();
        let mut problems: Vec<KeyProblem> = times
            .filter_map(|(key, ms)| out_of_bounds(key, ms, 1..=MODEL_MS_MAX, "milliseconds"))
            .collect();
        let prices = [
            ("input_cents", self.input_cents),
            ("output_cents", self.output_cents),
            ("cached_cents", self.cached_cents),
        ];
        problems.extend(prices.into_iter().filter_map(|(key, cents)| {
            out_of_bounds(key, cents, 0..=MODEL_CENTS_MAX, "cents for a million tokens")
        }));
        let Some(settings) = self.settings() else {
            let set = [("base_url", &self.base_url), ("key_variable", &self.key_variable)];
            let lonely = set.into_iter().filter(|(_, value)| value.is_some());
            problems.extend(lonely.map(|(key, _)| {
                let message = format!(
                    "{key}: belongs to a model, and there is no name: expected name = \"provider/name\", too"
                );
                (key, message)
            }));
            return problems;
        };
        let of_name =
            haft_model::ModelSettings { model: settings.model.clone(), ..Default::default() };
        let of_place = haft_model::ModelSettings { key_variable: None, ..settings.clone() };
        // A wrong part makes all that come after it look wrong, so only the first problem counts.
        if let Err(err) = of_name.check() {
            problems.push(("name", format!("name: {err}")));
        } else if let Err(err) = of_place.check() {
            problems.push(("base_url", err.to_string()));
        } else if let Err(err) = settings.check() {
            problems.push(("key_variable", err.to_string()));
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_have_the_prices_that_are_named() {
        let section = |input_cents, output_cents, cached_cents| ModelSection {
            name: Some("openai/m".to_owned()),
            input_cents,
            output_cents,
            cached_cents,
            ..ModelSection::default()
        };
        assert_eq!(section(Some(300), None, Some(30)).prices(), None);
        let usage = ModelUsage {
            input: 1_000_000,
            output: 100_000,
            reasoning: 100_000,
            cache_read: 1_000_000,
            cache_write: 0,
        };
        let price = |section: ModelSection| section.prices().unwrap().micro_dollars(usage);
        assert_eq!(price(section(Some(300), Some(1_500), Some(30))), 6_300_000);
        assert_eq!(price(section(Some(300), Some(1_500), None)), 9_000_000);
        assert_eq!(price(section(Some(0), Some(0), None)), 0);
        assert!(section(Some(MODEL_CENTS_MAX), Some(0), None).problems().is_empty());
        assert_eq!(section(Some(MODEL_CENTS_MAX + 1), Some(0), None).problems().len(), 1);
    }
}
