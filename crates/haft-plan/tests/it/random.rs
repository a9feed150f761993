//! Plans of random shapes whose nodes fail in every way that a node can, driven with any number at the same time, and held
//! against a model that takes one node after the other: the whole trace, byte for byte. The nodes that a halt leaves undone
//! depend on time, so no node halts here.

use std::num::NonZeroUsize;

use haft_plan::drive::{PlanBounds, PlanRunOptions};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::stage::{Stage, plan};

/// The behaviour of a node, which does not depend on its input.
#[derive(Clone, Debug)]
enum Fate {
    /// It succeeds once so many attempts have failed, if it has more.
    Tries { fails: u32, retry: u32 },
    /// It hands on what earlier nodes answered.
    Joins,
    /// It takes longer than it may, each time.
    Lasts { retry: u32 },
    /// It is dangerous, and the user did not allow it.
    IsRefused,
    /// It refers to something that the node before does not answer.
    NamesNothing,
}

#[derive(Clone, Debug)]
struct Scripted {
    depends_on: Vec<usize>,
    fate: Fate,
}

fn scripted(place: usize) -> impl Strategy<Value = Scripted> {
    let earlier = proptest::collection::btree_set(0..place.max(1), 0..=place.min(3));
    let fate = prop_oneof![
        4 => (0_u32..3, 0_u32..3).prop_map(|(fails, retry)| Fate::Tries { fails, retry }),
        4 => Just(Fate::Joins),
        1 => (0_u32..2).prop_map(|retry| Fate::Lasts { retry }),
        1 => Just(Fate::IsRefused),
        1 => Just(Fate::NamesNothing),
    ];
    (earlier, fate).prop_map(move |(earlier, fate)| {
        let depends_on: Vec<usize> = earlier.into_iter().filter(|id| *id < place).collect();
        // Without an earlier node there is nothing to refer to.
        let fate = match fate {
            Fate::NamesNothing if depends_on.is_empty() => Fate::Joins,
            fate => fate,
        };
        Scripted { depends_on, fate }
    })
}

fn story() -> impl Strategy<Value = Vec<Scripted>> {
    (1_usize..16).prop_flat_map(|count| (0..count).map(scripted).collect::<Vec<_>>())
}

impl Scripted {
    fn tool(&self) -> &'static str {
        match self.fate {
            Fate::Tries { .. } => "flaky",
            Fate::Joins | Fate::NamesNothing => "echo",
            Fate::Lasts { .. } => "wait",
            Fate::IsRefused => "danger",
        }
    }

    fn node(&self, id: usize) -> Value {
        let step = |id: &usize| format!("{{{{STEPS.{id}}}}}");
        let (inputs, retry) = match &self.fate {
            Fate::Tries { fails, retry } => {
                (json!({"text": id.to_string(), "fails": fails}), *retry)
            }
            Fate::Joins => {
                (json!({"value": self.depends_on.iter().map(step).collect::<Vec<_>>()}), 0)
            }
            Fate::Lasts { retry } => (json!({"text": id.to_string()}), *retry),
            Fate::IsRefused => (json!({"text": id.to_string()}), 0),
            Fate::NamesNothing => {
                (json!({"value": format!("{{{{STEPS.{}.nothing}}}}", self.depends_on[0])}), 0)
            }
        };
        json!({
            "tool": self.tool(), "inputs": inputs, "depends_on": self.depends_on, "retry": retry,
            "timeout": 2, "on_fail": "continue"
        })
    }
}

/// The trace of each node when one is taken after the other.
fn model(story: &[Scripted]) -> Vec<Value> {
    let mut nodes: Vec<Value> = Vec::new();
    for (id, script) in story.iter().enumerate() {
        let lost = script.depends_on.iter().filter_map(|id| match nodes[*id]["status"].as_str() {
            Some("failed") => Some(*id as u64),
            Some("skipped") => nodes[*id]["because_of"].as_u64(),
            _ => None,
        });
        let fields = match lost.min() {
            Some(root) => json!({"status": "skipped", "attempts": 0, "because_of": root}),
            None => ended(id, script, &nodes),
        };
        let mut node = json!({"id": id, "tool": script.tool()});
        node.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        nodes.push(node);
    }
    nodes
}

fn ended(id: usize, script: &Scripted, nodes: &[Value]) -> Value {
    let failed = |inputs: Value, errors: Vec<Value>| {
        let (last, retried) = errors.split_last().unwrap();
        let mut fields =
            json!({"status": "failed", "attempts": errors.len(), "inputs": inputs, "error": last});
        if !retried.is_empty() {
            fields["retried"] = json!(retried);
        }
        fields
    };
    let text = id.to_string();
    match script.fate {
        Fate::Tries { fails, retry } => {
            let inputs = json!({"text": text, "fails": fails});
            let error =
                |attempt| json!({"code": "UNAVAILABLE", "text": format!("try {attempt} failed")});
            if fails > retry {
                return failed(inputs, (1..=retry + 1).map(error).collect());
            }
            let mut fields = json!({
                "status": "succeeded", "attempts": fails + 1, "inputs": inputs, "output": {"tries": fails + 1}
            });
            if fails > 0 {
                fields["retried"] = (1..=fails).map(error).collect();
            }
            fields
        }
        Fate::Joins => {
            let values: Vec<&Value> =
                script.depends_on.iter().map(|id| &nodes[*id]["output"]).collect();
            json!({"status": "succeeded", "attempts": 1, "inputs": {"value": values}, "output": values})
        }
        Fate::Lasts { retry } => {
            let why = format!("node {id} took longer than its timeout of 2 s and was stopped");
            let error = json!({"code": "TOOL_TIMEOUT", "text": why});
            failed(json!({"text": text}), vec![error; retry as usize + 1])
        }
        Fate::IsRefused => {
            let why = "danger is dangerous, and the user did not name it";
            let refusal = json!({
                "code": "PERMISSION_DENIED",
                "decided_by": "dangerous_tool",
                "because": why,
                "remedies": [{"allow_tool": "danger"}],
            });
            let error = json!({"code": "PERMISSION_DENIED", "text": why, "refusal": refusal});
            failed(json!({"text": text}), vec![error])
        }
        Fate::NamesNothing => {
            // The tests of references cover the text about the value that is there instead.
            json!({"status": "failed", "attempts": 1, "error": "names nothing"})
        }
    }
}

/// Leaves of an error about a reference only that it is one.
fn without_what_is_there(mut node: Value) -> Value {
    let is_it = |node: &Value| {
        node.get("inputs").is_none()
            && node["error"]["code"] == "INVALID_INPUT"
            && node["error"]["text"].as_str().is_some_and(|text| text.contains(" names nothing: "))
    };
    if is_it(&node) {
        node["error"] = json!("names nothing");
    }
    node
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_trace_is_that_of_a_sequential_model(story in story(), parallel in 1_usize..9) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(true)
            .build()
            .unwrap();
        let nodes: Vec<Value> = story.iter().enumerate().map(|(id, node)| node.node(id)).collect();
        let driven = runtime.block_on(async {
            let stage = Stage::new();
            let bounds =
                PlanBounds { parallel: NonZeroUsize::new(parallel).unwrap(), ..PlanBounds::default() };
            stage.drive(&plan(nodes), PlanRunOptions { bounds, ..stage.options() }).await
        });
        let trace = driven.trace.to_json();
        let found: Vec<Value> =
            trace["nodes"].as_array().unwrap().iter().cloned().map(without_what_is_there).collect();
        prop_assert_eq!(&trace["ending"], "finished");
        prop_assert_eq!(found, model(&story));
    }
}
