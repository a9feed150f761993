//! Forms that servers ask for while they work. They are declined unless the embedding program fills them in.

use haft_contract::BoxFuture;
use serde_json::{Map, Value, json};

/// Fills in forms.
pub trait FormFiller: Send + Sync {
    /// Returns what was filled in for the fields of a schema; nothing if that is declined. Fields that are left out get the
    /// values that the form itself has for them.
    fn fill<'a>(
        &'a self,
        message: &'a str,
        schema: &'a Value,
    ) -> BoxFuture<'a, Option<Map<String, Value>>>;
}

/// Returns the answer to a request for a form, as the protocol has it.
pub(super) async fn fill_form(forms: &dyn FormFiller, params: &Value) -> Value {
    let declined = json!({ "action": "decline" });
    let message = params.get("message").and_then(Value::as_str).unwrap_or_default();
    // One that sends a person to an address has no schema.
    let Some(schema) = params.get("requestedSchema") else { return declined };
    let Some(mut content) = forms.fill(message, schema).await else { return declined };
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    for (name, field) in fields {
        if let Some(usual) = field.get("default")
            && !content.contains_key(name)
        {
            content.insert(name.clone(), usual.clone());
        }
    }
    json!({ "action": "accept", "content": content })
}
