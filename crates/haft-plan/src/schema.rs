//! The violations of a schema by the inputs of a node, in words by which a plan can be repaired. The value of a reference is
//! left open. Violations around it are the same that a call would be refused for.

use haft::{InputSchema, InputViolationKind, OpenValues};
use serde_json::Value;

use crate::message_text::listed;
use crate::near_names::did_you_mean;
use crate::problem::Code;
use crate::reference::{ReferencePathSegment, named};

/// Keywords by which a schema has parameters that it does not list under `properties`.
const WIDER: [&str; 7] = [
    "additionalProperties",
    "patternProperties",
    "unevaluatedProperties",
    "allOf",
    "anyOf",
    "oneOf",
    "$ref",
];

/// One thing that the inputs of a node violate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanInputViolation {
    /// Where, beneath the inputs: `.items[0].name`.
    pub(crate) field: String,
    pub(crate) code: Code,
    pub(crate) message: String,
}

/// Returns everything that `inputs` violate whatever their references become.
pub(crate) fn violations(
    schema: &InputSchema,
    inputs: &Value,
    open: &OpenValues,
) -> Vec<PlanInputViolation> {
    let json = schema.as_json();
    let mut list = Vec::new();
    // The schema neither names nor forbids these parameters, so it does not say what the tool does with them.
    if let (Some(fields), Some(properties)) =
        (inputs.as_object(), json.get("properties").and_then(Value::as_object))
        && !WIDER.iter().any(|keyword| json.get(keyword).is_some())
    {
        let invented = fields.keys().filter(|name| !properties.contains_key(*name));
        list.extend(
            invented.map(|name| unknown_parameter(named(name).to_string(), name, Some(json))),
        );
    }
    for violation in schema.violations(inputs, open) {
        // A JSON pointer, written as a path: `.a[0].b`.
        let segment = |name: &str| {
            let name = name.replace("~1", "/").replace("~0", "~");
            match crate::reference::index_of(&name) {
                Some(index) => ReferencePathSegment::Index(index).to_string(),
                None => named(&name).to_string(),
            }
        };
        let at: String = violation.pointer.split('/').skip(1).map(segment).collect();
        list.push(match violation.kind {
            InputViolationKind::Missing(name) => PlanInputViolation {
                field: format!("{at}{}", named(&name)),
                code: Code::MissingParameter,
                message: "the tool requires it, and it is missing: add it, or refer to an output"
                    .to_owned(),
            },
            InputViolationKind::Unknown(name) => {
                let object = violation.pointer.is_empty().then_some(json);
                unknown_parameter(format!("{at}{}", named(&name)), &name, object)
            }
            InputViolationKind::Unfit(message) => {
                PlanInputViolation { field: at, code: Code::BadInput, message }
            }
        });
    }
    list
}

fn unknown_parameter(field: String, name: &str, schema: Option<&Value>) -> PlanInputViolation {
    let properties = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let message = match properties {
        Some(properties) if !properties.is_empty() => {
            let names = || properties.keys().map(String::as_str);
            format!(
                "no such parameter: the tool has {}{}",
                listed(names()),
                did_you_mean(name, names())
            )
        }
        Some(_) => "no such parameter: the tool has none".to_owned(),
        None => "no such parameter: leave it out".to_owned(),
    };
    PlanInputViolation { field, code: Code::InventedParameter, message }
}
