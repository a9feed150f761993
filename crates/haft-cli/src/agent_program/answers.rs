//! Example outputs of haft's own tools. A model that makes a plan refers to outputs that it has not seen, and the contracts
//! promise no form, because an output may be cut. An example shows the form of an output that is not cut.

use haft_contract::ToolId;
use haft_tools::Profile;
use serde_json::{Value, json};

/// Returns an output of each tool of a profile.
pub(crate) fn answers(profile: Profile) -> Vec<(ToolId, Value)> {
    let examples = match profile {
        Profile::Contract => vec![
            (
                "apply_patch",
                json!({"status": "ok", "files": [{"operation": "modify", "path": "a.txt"}]}),
            ),
            ("bash", json!({"output": "what the command printed"})),
            ("edit", json!({"replacements": 1, "first_changed_line": 1})),
            ("glob", json!({"paths": ["a.txt", "b/c.txt"]})),
            ("grep", json!({"matches": ["a.txt:1:the line"]})),
            ("question", json!({"answers": [["what the user chose or wrote"]]})),
            ("read", json!("the text of the file")),
            (
                "repo_clone",
                json!({"path": "a", "url": "https://example.org/a.git", "commit": "4b825dc", "branch": "main"}),
            ),
            (
                "repo_overview",
                json!({"path": ".", "files": 1, "bytes": 1, "languages": [{"language": "Rust", "files": 1, "bytes": 1, "lines": 1}],
                       "entry_points": [{"path": "README.md", "kind": "document"}], "tree": "README.md"}),
            ),
            ("skill", json!("what the skill says")),
            ("task", json!({"output": "what the subagent said last", "session_id": "ses_01"})),
            ("todo", json!({"todos": [{"content": "a task", "status": "pending"}]})),
            ("tool_search", json!({"matches": [{"id": "a_tool", "description": "what it does"}]})),
            (
                "web_fetch",
                json!({"url": "https://example.org/", "title": "a title", "text": "the text of the page"}),
            ),
            (
                "web_search",
                json!({"results": [{"title": "a title", "url": "https://example.org/", "snippet": "a part of the text"}]}),
            ),
            ("write", json!("ok")),
        ],
        // The five tools answer in text.
        Profile::Smithers => Vec::new(),
    };
    let of_tool = |(id, answer)| ToolId::parse(id).ok().map(|id| (id, answer));
    examples.into_iter().filter_map(of_tool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_has_an_example() {
        let tools = haft::Registry::new(haft_tools::tools(
            Profile::Contract,
            &haft_tools::ToolOptions::default(),
        ))
        .unwrap();
        let ids: Vec<&ToolId> = tools.contracts().map(|contract| &contract.id).collect();
        let answers = answers(Profile::Contract);
        assert_eq!(answers.iter().map(|(id, _)| id).collect::<Vec<_>>(), ids);
    }
}
