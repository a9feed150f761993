//! Tries tools that METADATA calls deterministic: each is called twice with the same sample input, in two fresh processes.
//! The processes only read, as those that parse the files. Equal answers prove nothing; differing ones are a finding.

use std::time::Duration;

use haft_contract::{BackgroundProcesses, Effect, ProcessWriteAccess, ToolError};
use serde_json::{Map, Value, json};

use crate::check::CheckedTool;
use crate::directory::ToolDirectory;
use crate::limits::TRIAL_MS_MAX;
use crate::problem::{ProblemCode, ToolFileProblem, ToolFileSeverity};
use crate::worker::{PythonAnswer, PythonWorker, WorkerScope, WorkerSpec, cut_middle};

/// Largest part of an answer that a finding shows, in bytes.
const SHOWN_BYTES_MAX: usize = 200;

/// Tries all tools of a directory that METADATA calls deterministic, and returns what differs.
pub async fn try_deterministic_tools(
    directory: &ToolDirectory,
    tools: &[CheckedTool],
    processes: &dyn BackgroundProcesses,
) -> Vec<ToolFileProblem> {
    let mut problems = Vec::new();
    for tool in tools.iter().filter(|tool| tool.deterministic) {
        problems.extend(try_tool(directory, tool, processes).await);
    }
    problems
}

async fn try_tool(
    directory: &ToolDirectory,
    tool: &CheckedTool,
    processes: &dyn BackgroundProcesses,
) -> Option<ToolFileProblem> {
    if tool.effect != Effect::Read || tool.reaches_more_than_files() {
        let message = "METADATA says deterministic, and haft cannot try that: the tool has an effect or reaches hosts";
        let mend = "leave deterministic out, or take side_effect, dangerous and requires out if it only reads";
        return Some(finding(tool, message.to_owned(), mend));
    }
    let input = sample_input(&tool.parameters);
    let answers = [
        answer(directory, tool, &input, processes).await,
        answer(directory, tool, &input, processes).await,
    ];
    let [first, second] = match answers {
        [Ok(first), Ok(second)] => [first, second],
        [Err(err), _] | [_, Err(err)] => {
            let message = format!(
                "METADATA says deterministic, and the tool cannot be tried: {}",
                err.message
            );
            return Some(finding(tool, message, "call it with haft call, and mend what is wrong"));
        }
    };
    if first == second {
        return None;
    }
    let shown = |answer: &str| cut_middle(answer, SHOWN_BYTES_MAX);
    let message = format!(
        "METADATA says deterministic, but two calls with {input} in fresh processes answered {} and {}",
        shown(&first),
        shown(&second)
    );
    let mend = "sort what has no order, and take times and random values out of the answer; or leave deterministic out";
    Some(finding(tool, message, mend))
}

fn finding(tool: &CheckedTool, message: String, mend: &str) -> ToolFileProblem {
    ToolFileProblem {
        file: tool.source.name.clone(),
        line: tool.lines.get("/deterministic").copied(),
        field: Some("deterministic".to_owned()),
        severity: ToolFileSeverity::Warning,
        code: ProblemCode::NotDeterministic,
        message,
        mend: mend.to_owned(),
    }
}

/// Returns the answer of a fresh process as text: the result, or the exception without its traceback.
async fn answer(
    directory: &ToolDirectory,
    tool: &CheckedTool,
    input: &Value,
    processes: &dyn BackgroundProcesses,
) -> Result<String, ToolError> {
    let spec = WorkerSpec {
        directory: directory.clone(),
        source: tool.source.clone(),
        function: tool.function.clone(),
        writable: ProcessWriteAccess::Nothing,
        is_granted_more: false,
        memory_bytes: None,
        is_stateful: true,
    };
    let scope =
        WorkerScope { root: directory.path.clone(), run: None, restrictions: String::new() };
    let mut worker = PythonWorker::start(&spec, scope, processes).await?;
    // A context of a call that was not made would only differ by chance.
    let context = tool.takes_context.then(|| json!({}));
    let asked = async {
        match worker.load(&spec).await {
            PythonAnswer::Result(_) => worker.call(input, context).await,
            failed => failed,
        }
    };
    let answered = tokio::time::timeout(Duration::from_millis(TRIAL_MS_MAX), asked).await;
    let text = match answered {
        Ok(PythonAnswer::Result(value)) => Ok(value.to_string()),
        Ok(PythonAnswer::Failure(failure)) => {
            Ok(format!("{}: {}", failure.exception, failure.message))
        }
        Ok(PythonAnswer::NotSent(how)) => Err(unusable(format!("its process {how}"))),
        Ok(PythonAnswer::Lost(lost)) => Err(unusable(lost.into_text())),
        Err(_) => Err(unusable(format!("a call took more than {TRIAL_MS_MAX} ms"))),
    };
    worker.end().await;
    text
}

fn unusable(message: String) -> ToolError {
    ToolError::new(haft_contract::ErrorCode::ToolFailed, message)
}

/// Returns an input that satisfies simple schemas: examples and defaults first, else a small value of the type. Parameters
/// that may be left out are left out, unless they have an example.
fn sample_input(schema: &Value) -> Value {
    let is_required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|required| required == name))
    };
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let sample = |(name, property): (&String, &Value)| {
        let example = property.get("examples").and_then(|examples| examples.get(0)).cloned();
        let value = match example {
            Some(example) => example,
            None if is_required(name) => sample_value(property),
            None => return None,
        };
        Some((name.clone(), value))
    };
    Value::Object(properties.iter().filter_map(sample).collect())
}

fn sample_value(property: &Value) -> Value {
    let given = property
        .get("default")
        .or_else(|| property.get("const"))
        .or_else(|| property.get("enum").and_then(|values| values.get(0)));
    if let Some(given) = given {
        return given.clone();
    }
    let kind = match property.get("type") {
        Some(Value::Array(types)) => types.first().and_then(Value::as_str),
        Some(Value::String(name)) => Some(name.as_str()),
        _ => None,
    };
    match kind {
        Some("number" | "integer") => property.get("minimum").cloned().unwrap_or(json!(1)),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => sample_input(property),
        _ => json!("example"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_takes_what_the_schema_gives() {
        let property = |extra: Value| {
            let schema = json!({"properties": {"a": extra}, "required": ["a"]});
            sample_input(&schema)["a"].clone()
        };
        assert_eq!(property(json!({"type": "string"})), "example");
        assert_eq!(property(json!({"type": "string", "examples": ["Berlin"]})), "Berlin");
        assert_eq!(property(json!({"type": "string", "enum": ["b", "c"]})), "b");
        assert_eq!(property(json!({"type": ["integer", "null"], "minimum": 7})), 7);
        assert_eq!(property(json!({"type": "array", "default": [1]})), json!([1]));
        let optional = json!({"properties": {"a": {"type": "string"}}});
        assert_eq!(sample_input(&optional), json!({}));
    }
}
