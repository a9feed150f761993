//! A small repository with a bug in it, and a script of how an agent finds and mends it: a subagent looks where the mistake
//! is, the agent reads, sees the test fail, edits, and sees it pass.

use haft_scripted_model::{ReplyCondition, ScriptedReply};
use serde_json::json;

use crate::world::World;

pub(crate) const PROMPT: &str = "The test fails. Find out why, and mend it.";
pub(crate) const ANSWER: &str =
    "Mended: src/sum.sh:3 subtracted where it should add. The test passes.";
const TEST: &str = "sh test.sh";

/// Returns a world whose working directory is the repository.
pub(crate) fn with_bug() -> World {
    let world = World::new();
    world.write(
        "work/src/sum.sh",
        "# Prints the sum of two numbers.\nsum() {\n    echo $(($1 - $2))\n}\n",
    );
    world.write(
        "work/test.sh",
        ". ./src/sum.sh\nfound=$(sum 2 3)\n[ \"$found\" = 5 ] || { echo \"expected 5, found $found\"; exit 1; }\necho passed\n",
    );
    world.write("work/AGENTS.md", "Tests are run by `sh test.sh`.\n");
    world
}

/// Returns whether the bug is gone.
pub(crate) fn is_mended(world: &World) -> bool {
    world.read("work/src/sum.sh").contains("$1 + $2")
}

/// Returns the replies of the model: those of the subagent are told by its prompt.
pub(crate) fn replies() -> Vec<ScriptedReply> {
    let of_explorer = || ReplyCondition {
        system: Some("You find things".to_owned()),
        ..ReplyCondition::default()
    };
    let of_agent = || ReplyCondition {
        system: Some("You are an agent".to_owned()),
        ..ReplyCondition::default()
    };
    let task =
        json!({"subagent_type": "explore", "prompt": "Where is the sum of two numbers computed?"});
    let edit = json!({"path": "src/sum.sh", "old_string": "$1 - $2", "new_string": "$1 + $2"});
    vec![
        ScriptedReply::new().call("grep", json!({"pattern": "sum"})).when(of_explorer()),
        ScriptedReply::new().text("src/sum.sh:2 defines sum.").when(of_explorer()),
        ScriptedReply::new()
            .reasoning("Somebody else can look.")
            .text("First I find the code.")
            .call("task", task)
            .when(of_agent()),
        ScriptedReply::new()
            .call("read", json!({"path": "src/sum.sh"}))
            .call("read", json!({"path": "test.sh"}))
            .when(of_agent()),
        ScriptedReply::new().call("bash", json!({"cmd": TEST})).when(of_agent()),
        ScriptedReply::new().text("It subtracts.").call("edit", edit).when(of_agent()),
        ScriptedReply::new().call("bash", json!({"cmd": TEST})).when(of_agent()),
        ScriptedReply::new().text(ANSWER).when(of_agent()),
    ]
}
