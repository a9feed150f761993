//! Counts the steps of a check against a server's schema. A short schema can have parts that each refer to the next one twice.
//! Its check would not end, because no time limit stops a running check. The cost of a recursive schema depends on the input,
//! so the crate haft counts it with each input.

use std::collections::HashMap;

use haft::part_at;
use serde_json::Value;

use super::limits::{SERVER_SCHEMA_DEPTH_MAX, SERVER_SCHEMA_NAMED_MAX, SERVER_SCHEMA_STEPS_MAX};

/// Keywords whose schemas are about what the schema around them is about.
const IN_PLACE: [&str; 7] = ["allOf", "anyOf", "else", "if", "not", "oneOf", "then"];
/// Keywords whose schemas are about a part of that.
const WITHIN: [&str; 9] = [
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "items",
    "prefixItems",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
];

#[derive(Clone, Copy)]
enum CountedSchemaPart {
    /// It is being counted, and it was come to so deep in the input.
    Counting {
        level: usize,
    },
    Steps(u64),
}

/// Says that a schema takes too long to check, if it does.
pub(super) fn check_steps(schema: &Value) -> Result<(), String> {
    let mut counter = SchemaStepCounter {
        schema,
        known: HashMap::new(),
        input_depth: 0,
        depth: 0,
        named_references: 0,
    };
    let steps = counter.steps(schema);
    if counter.named_references > SERVER_SCHEMA_NAMED_MAX {
        return Err(format!(
            "its schema refers more than {SERVER_SCHEMA_NAMED_MAX} times to parts by names of their own"
        ));
    }
    match steps > SERVER_SCHEMA_STEPS_MAX {
        true => Err(format!("its schema takes more than {SERVER_SCHEMA_STEPS_MAX} steps to check")),
        false => Ok(()),
    }
}

struct SchemaStepCounter<'a> {
    schema: &'a Value,
    known: HashMap<&'a str, CountedSchemaPart>,
    /// How deep in the input the part is that is counted.
    input_depth: usize,
    depth: usize,
    /// References that are no paths from the root of the schema: where they lead is not looked for.
    named_references: usize,
}

impl<'a> SchemaStepCounter<'a> {
    /// Returns how many steps it takes to check something against a part, with each reference followed.
    fn steps(&mut self, part: &'a Value) -> u64 {
        let Value::Object(keywords) = part else { return 1 };
        if self.depth == SERVER_SCHEMA_DEPTH_MAX {
            return u64::MAX;
        }
        self.depth += 1;
        let mut steps = 1_u64;
        for (keyword, value) in keywords {
            let own = match (keyword.as_str(), value) {
                ("$ref", Value::String(target)) => self.count_reference(target),
                ("$dynamicRef" | "$recursiveRef", _) => {
                    self.named_references += 1;
                    1
                }
                ("dependencies" | "dependentSchemas", Value::Object(schemas)) => {
                    self.count_all(schemas.values())
                }
                ("patternProperties" | "properties", Value::Object(schemas)) => {
                    self.count_nested(schemas.values())
                }
                (keyword, Value::Array(schemas)) if IN_PLACE.contains(&keyword) => {
                    self.count_all(schemas.iter())
                }
                (keyword, schema) if IN_PLACE.contains(&keyword) => self.steps(schema),
                (keyword, Value::Array(schemas)) if WITHIN.contains(&keyword) => {
                    self.count_nested(schemas.iter())
                }
                (keyword, schema) if WITHIN.contains(&keyword) => {
                    self.count_nested([schema].into_iter())
                }
                // Other keywords are no schemas. A part of them may be one, and counts where a reference leads to it.
                (_, _) => 1,
            };
            steps = steps.saturating_add(own);
        }
        self.depth -= 1;
        steps
    }

    fn count_all(&mut self, schemas: impl Iterator<Item = &'a Value>) -> u64 {
        schemas.fold(0, |steps, schema| steps.saturating_add(self.steps(schema)))
    }

    fn count_nested(&mut self, schemas: impl Iterator<Item = &'a Value>) -> u64 {
        self.input_depth += 1;
        let steps = self.count_all(schemas);
        self.input_depth -= 1;
        steps
    }

    fn count_reference(&mut self, target: &'a str) -> u64 {
        match self.known.get(target) {
            Some(CountedSchemaPart::Steps(steps)) => return *steps,
            // A part that leads back to itself without going into the input never ends.
            Some(CountedSchemaPart::Counting { level }) if *level == self.input_depth => {
                return u64::MAX;
            }
            // It ends where the input does, with which it is counted.
            Some(CountedSchemaPart::Counting { .. }) => return 1,
            None => {}
        }
        let path = target.strip_prefix('#').filter(|path| path.is_empty() || path.starts_with('/'));
        let Some(path) = path else {
            self.named_references += 1;
            return 1;
        };
        // A reference that leads nowhere is an error, which the compiler of the schema reports.
        let Some(part) = part_at(self.schema, path) else { return 1 };
        self.known.insert(target, CountedSchemaPart::Counting { level: self.input_depth });
        let steps = self.steps(part);
        self.known.insert(target, CountedSchemaPart::Steps(steps));
        steps
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, json};

    use super::*;

    /// A schema of parts that each refer to the next one twice, by references that begin with `prefix`.
    fn doubling(parts: usize, prefix: &str) -> Value {
        let part = |number: usize| {
            let next = json!({"$ref": format!("{prefix}{}", number + 1)});
            (number.to_string(), json!({"allOf": [next, next]}))
        };
        let mut parts: Map<String, Value> = (0..parts).map(part).collect();
        parts.insert(parts.len().to_string(), json!({"type": "object"}));
        json!({"$ref": format!("{prefix}0"), "$defs": parts})
    }

    const ENDLESS: &str = "its schema takes more than 1000000 steps to check";

    #[track_caller]
    fn check(schema: Value, expect: Result<(), &str>) {
        assert_eq!(check_steps(&schema), expect.map_err(str::to_owned), "{schema}");
    }

    #[test]
    fn steps_double_with_each_part() {
        check(doubling(10, "#/$defs/"), Ok(()));
        check(doubling(60, "#/$defs/"), Err(ENDLESS));
        check(doubling(60, "#/%24defs/"), Err(ENDLESS));
        let named = "its schema refers more than 16 times to parts by names of their own";
        check(json!({"allOf": vec![json!({"$ref": "#a"}); SERVER_SCHEMA_NAMED_MAX]}), Ok(()));
        check(
            json!({"allOf": vec![json!({"$dynamicRef": "#a"}); SERVER_SCHEMA_NAMED_MAX + 1]}),
            Err(named),
        );
    }

    #[test]
    fn a_part_may_lead_back_to_itself_for_what_is_within() {
        check(json!({"type": "object", "properties": {"child": {"$ref": "#"}}}), Ok(()));
        let list = json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/list"}]}});
        check(
            json!({"$defs": {"list": list}, "properties": {"all": {"$ref": "#/$defs/list"}}}),
            Ok(()),
        );
        check(
            json!({"$defs": {"a": {"allOf": [{"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}),
            Err(ENDLESS),
        );
        // A part that is called as a keyword is none.
        let items = json!({"items": {"allOf": [{"$ref": "#/$defs/items"}]}});
        check(json!({"$defs": items, "$ref": "#/$defs/items"}), Err(ENDLESS));
    }

    #[test]
    fn the_bounds_are_those_of_the_table() {
        let parts = usize::try_from(SERVER_SCHEMA_STEPS_MAX).unwrap() - 1;
        check(json!({"anyOf": vec![Value::Bool(true); parts]}), Ok(()));
        check(json!({"anyOf": vec![Value::Bool(true); parts + 1]}), Err(ENDLESS));
        let nested = |depth: usize| (1..depth).fold(json!({}), |inner, _| json!({"not": inner}));
        assert_eq!(check_steps(&nested(SERVER_SCHEMA_DEPTH_MAX)), Ok(()));
        assert!(check_steps(&nested(SERVER_SCHEMA_DEPTH_MAX + 1)).is_err());
    }
}
