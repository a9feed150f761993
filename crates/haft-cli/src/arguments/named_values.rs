//! Arguments that take one of several named values.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// Returns a parser of values, each with its name and its help.
pub(crate) fn named_values<T: Clone + Send + Sync + 'static, const N: usize>(
    values: [(&'static str, &'static str, T); N],
) -> impl TypedValueParser<Value = T> {
    let names = values.each_ref().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).map(move |name| {
        let named = values.iter().find(|(known, ..)| *known == name);
        named.map(|(.., value)| value.clone()).expect("the parser takes these names alone")
    })
}
