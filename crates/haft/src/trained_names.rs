//! Names of tools that models know from other agents, and the tool to use here. A model calls them from habit, and no edit
//! distance leads from `cat` to `read`.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{Contract, ToolId};
use serde_json::Value;

use crate::model_view::{ModelView, published_name};
use crate::suggestions::{near_matches, plain_name};

/// Tools that the answer about an unknown tool names.
const NAMED_TOOLS_MAX: usize = 20;
/// Longest path of an input that an example repeats, in bytes.
const EXAMPLE_PATH_BYTES_MAX: usize = 100;
/// Parameters of other agents that hold the path of a file or a directory.
const PATH_NAMES: &[&str] = &[
    "path",
    "file_path",
    "filePath",
    "target_file",
    "relative_workspace_path",
    "dir_path",
    "directory",
];

/// Plain names from other agents, the tool to use, and an example of its input if its parameters do not say enough. Sorted by
/// name.
const TRAINED_NAMES: &[(&str, &str, Option<&str>)] = &[
    ("agent", "task", None),
    ("applydiff", "apply_patch", None),
    ("ask", "question", None),
    ("askfollowupquestion", "question", None),
    ("askquestion", "question", None),
    ("askuser", "question", None),
    ("askuserquestion", "question", None),
    ("bashtool", "bash", None),
    ("browse", "web_fetch", None),
    ("browser", "web_fetch", None),
    ("cat", "read", None),
    ("cmd", "bash", None),
    ("codebasesearch", "grep", None),
    ("codesearch", "grep", None),
    ("copyfile", "bash", Some(r#"{"cmd": "cp OLD NEW"}"#)),
    ("create", "write", None),
    ("createdirectory", "bash", Some(r#"{"cmd": "mkdir -p DIRECTORY"}"#)),
    ("createfile", "write", None),
    ("delete", "bash", Some(r#"{"cmd": "rm FILE"}"#)),
    ("deletefile", "bash", Some(r#"{"cmd": "rm FILE"}"#)),
    ("diff", "apply_patch", None),
    ("dir", "glob", Some(r#"{"pattern": "*"}"#)),
    ("directorytree", "glob", Some(r#"{"pattern": "**"}"#)),
    ("dispatchagent", "task", None),
    ("editfile", "edit", None),
    ("execcommand", "bash", None),
    ("execute", "bash", None),
    ("executebash", "bash", None),
    ("executecode", "bash", Some(r#"{"cmd": "python3 FILE"}"#)),
    ("executecommand", "bash", None),
    ("fetch", "web_fetch", None),
    ("fetchurl", "web_fetch", None),
    ("fetchwebpage", "web_fetch", None),
    ("fileedit", "edit", None),
    ("filesearch", "glob", None),
    ("filewrite", "write", None),
    ("find", "glob", None),
    ("findfiles", "glob", None),
    ("findinfiles", "grep", None),
    ("fsread", "read", None),
    ("fswrite", "write", None),
    ("git", "bash", Some(r#"{"cmd": "git status"}"#)),
    ("gitcommit", "bash", Some(r#"{"cmd": "git commit -m MESSAGE"}"#)),
    ("gitdiff", "bash", Some(r#"{"cmd": "git diff"}"#)),
    ("gitstatus", "bash", Some(r#"{"cmd": "git status"}"#)),
    ("globfilesearch", "glob", None),
    ("google", "web_search", None),
    ("googlesearch", "web_search", None),
    ("googlewebsearch", "web_search", None),
    ("grepsearch", "grep", None),
    ("head", "read", None),
    ("httprequest", "web_fetch", None),
    ("internetsearch", "web_search", None),
    ("listdir", "glob", Some(r#"{"pattern": "*"}"#)),
    ("listdirectory", "glob", Some(r#"{"pattern": "*"}"#)),
    ("listfiles", "glob", Some(r#"{"pattern": "*"}"#)),
    ("loadskill", "skill", None),
    ("localshell", "bash", None),
    ("ls", "glob", Some(r#"{"pattern": "*"}"#)),
    ("managetodolist", "todo", None),
    ("mkdir", "bash", Some(r#"{"cmd": "mkdir -p DIRECTORY"}"#)),
    ("movefile", "bash", Some(r#"{"cmd": "mv OLD NEW"}"#)),
    ("multiedit", "edit", None),
    ("mv", "bash", Some(r#"{"cmd": "mv OLD NEW"}"#)),
    ("newtask", "task", None),
    ("notebookedit", "edit", None),
    ("notebookread", "view", None),
    ("open", "read", None),
    ("openfile", "read", None),
    ("openurl", "web_fetch", None),
    ("patch", "apply_patch", None),
    ("plan", "todo", None),
    ("powershell", "bash", None),
    ("python", "bash", Some(r#"{"cmd": "python3 FILE"}"#)),
    ("readfile", "read", None),
    ("readfiles", "read", None),
    ("readimage", "view", None),
    ("readmanyfiles", "read", None),
    ("readmediafile", "view", None),
    ("readnotebook", "view", None),
    ("readpdf", "view", None),
    ("readtextfile", "read", None),
    ("readurl", "web_fetch", None),
    ("readwebpage", "web_fetch", None),
    ("removefile", "bash", Some(r#"{"cmd": "rm FILE"}"#)),
    ("renamefile", "bash", Some(r#"{"cmd": "mv OLD NEW"}"#)),
    ("replace", "edit", None),
    ("replaceinfile", "edit", None),
    ("requestuserinput", "question", None),
    ("rg", "grep", None),
    ("ripgrep", "grep", None),
    ("rm", "bash", Some(r#"{"cmd": "rm FILE"}"#)),
    ("runcommand", "bash", None),
    ("runinterminal", "bash", None),
    ("runpython", "bash", Some(r#"{"cmd": "python3 FILE"}"#)),
    ("runshellcommand", "bash", None),
    ("runsubagent", "task", None),
    ("runterminalcmd", "bash", None),
    ("runterminalcommand", "bash", None),
    ("runtests", "bash", Some(r#"{"cmd": "COMMAND"}"#)),
    ("savefile", "write", None),
    ("search", "grep", None),
    ("searchandreplace", "edit", None),
    ("searchcode", "grep", None),
    ("searchfilecontent", "grep", None),
    ("searchfiles", "grep", None),
    ("searchreplace", "edit", None),
    ("searchtext", "grep", None),
    ("searchweb", "web_search", None),
    ("sh", "bash", None),
    ("shell", "bash", None),
    ("shellcommand", "bash", None),
    ("spawnagent", "task", None),
    ("strreplace", "edit", None),
    ("strreplacebasededittool", "edit", None),
    ("strreplaceeditor", "edit", None),
    ("subagent", "task", None),
    ("tail", "read", None),
    ("taskcreate", "todo", None),
    ("terminal", "bash", None),
    ("todoread", "todo", None),
    ("todowrite", "todo", None),
    ("tree", "glob", Some(r#"{"pattern": "**"}"#)),
    ("updatefile", "edit", None),
    ("updateplan", "todo", None),
    ("useskill", "skill", None),
    ("view", "read", None),
    ("viewfile", "read", None),
    ("viewimage", "view", None),
    ("writefile", "write", None),
    ("writetodos", "todo", None),
    ("writetofile", "write", None),
    ("zsh", "bash", None),
];

/// Returns whether a name that no tool has means this tool: spelled otherwise, or as other agents call it.
pub(crate) fn means_tool(name: &str, id: &ToolId) -> bool {
    let plain = plain_name(name);
    let trained = TRAINED_NAMES.binary_search_by(|(trained, ..)| (*trained).cmp(plain.as_str()));
    let trained = trained.ok().and_then(|place| TRAINED_NAMES.get(place));
    plain_name(id.as_str()) == plain || trained.is_some_and(|(_, tool, _)| id.as_str() == *tool)
}

/// Returns what to do about a call of a tool that does not exist: the tool to use, similar names, or the names that there are.
pub(crate) fn unknown_tool_message(
    name: &str,
    input: &Value,
    tools: &[&Arc<Contract>],
    view: Option<ModelView>,
) -> String {
    let published = |contract: &Contract| published_name(&contract.id, view);
    let plain = plain_name(name);
    if let Some(contract) = tools.iter().find(|it| plain_name(it.id.as_str()) == plain) {
        let input = parameter_list(contract);
        return format!("no tool is called {name:?}: use {} {input}", published(contract));
    }
    let known = TRAINED_NAMES.binary_search_by(|(trained, ..)| (*trained).cmp(plain.as_str()));
    let known = known.ok().and_then(|place| TRAINED_NAMES.get(place));
    if let Some((_, tool, example)) = known
        && let Some(contract) = tools.iter().find(|contract| contract.id.as_str() == *tool)
    {
        let input = match example {
            Some(example) => example_about(example, input),
            None => parameter_list(contract),
        };
        return format!("no tool is called {name:?}: use {} {input}", published(contract));
    }
    let names: Vec<String> = tools.iter().map(|contract| published(contract)).collect();
    let near = near_matches(name, names.iter().map(String::as_str));
    if !near.is_empty() {
        return format!("no tool is called {name:?}: did you mean {}?", near.join(" or "));
    }
    format!("no tool is called {name:?}: {}", tool_list(&names))
}

/// Returns an example of an input that is about the path in the input that was sent.
fn example_about(example: &str, input: &Value) -> String {
    let is_plain = |path: &&str| {
        path.len() <= EXAMPLE_PATH_BYTES_MAX
            && path
                .starts_with(|first: char| first.is_ascii_alphanumeric() || "./_".contains(first))
            && path.chars().all(|one| one.is_ascii_alphanumeric() || "./_-".contains(one))
    };
    let sent = PATH_NAMES.iter().find_map(|name| input.get(name)?.as_str()).filter(is_plain);
    let Some(path) = sent else { return example.to_owned() };
    for place in ["FILE", "DIRECTORY"] {
        if example.contains(place) {
            return example.replace(place, path);
        }
    }
    let Some(listing) = example.strip_suffix('}').filter(|it| it.contains(r#""pattern""#)) else {
        return example.to_owned();
    };
    // Of a file, the directory around it is listed.
    let given = Path::new(path);
    let directory = match given.extension() {
        Some(_) => given.parent().unwrap_or(Path::new("")),
        None => given,
    };
    match directory.to_str().filter(|it| !matches!(*it, "" | "." | "./")) {
        Some(directory) => format!(r#"{listing}, "path": "{directory}"}}"#),
        None => example.to_owned(),
    }
}

/// Returns the names of the tools, in words for a model.
pub(crate) fn tool_list(names: &[String]) -> String {
    match names {
        [] => "there are no tools here".to_owned(),
        names if names.len() > NAMED_TOOLS_MAX => {
            let named: Vec<&str> = names.iter().take(NAMED_TOOLS_MAX).map(String::as_str).collect();
            let more = names.len() - NAMED_TOOLS_MAX;
            format!("use a listed tool ({} or {more} more)", named.join(", "))
        }
        names => format!("use a listed tool ({})", names.join(", ")),
    }
}

/// Returns the parameters of a tool: `{path, limit?}`.
fn parameter_list(contract: &Contract) -> String {
    let properties = contract.parameters.get("properties").and_then(Value::as_object);
    let required = contract.parameters.get("required").and_then(Value::as_array);
    let is_required =
        |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
    let names = || properties.into_iter().flat_map(|all| all.keys());
    let first = names().filter(|name| is_required(name)).cloned();
    let others = names().filter(|name| !is_required(name)).map(|name| format!("{name}?"));
    format!("{{{}}}", first.chain(others).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use haft_contract::{Tool, ToolError};
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_sorted_and_its_names_are_plain() {
        assert!(TRAINED_NAMES.is_sorted_by_key(|(name, ..)| name));
        assert!(TRAINED_NAMES.iter().all(|(name, ..)| plain_name(name) == *name));
    }

    #[test]
    fn an_unknown_tool_is_answered_with_the_tool_to_use() {
        let schema = json!({
            "type": "object",
            "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}},
            "required": ["path"],
        });
        let tool = |id: &str| {
            let builder = Tool::new(id);
            let tool =
                builder.execute_json(schema.clone(), |_, _| async { Ok::<_, ToolError>("") });
            Arc::clone(tool.valid_contract().unwrap())
        };
        let tools: Vec<Arc<Contract>> =
            ["read", "glob", "lsp", "calc.boom"].map(tool).into_iter().collect();
        let tools: Vec<&Arc<Contract>> = tools.iter().collect();
        let check = |name: &str, expect: Expect| {
            expect.assert_eq(&unknown_tool_message(
                name,
                &json!({}),
                &tools,
                Some(ModelView::default()),
            ));
        };
        check("cat", expect![[r#"no tool is called "cat": use read {path, limit?}"#]]);
        check("View", expect![[r#"no tool is called "View": use read {path, limit?}"#]]);
        check("ls", expect![[r#"no tool is called "ls": use glob {"pattern": "*"}"#]]);
        check("Read", expect![[r#"no tool is called "Read": use read {path, limit?}"#]]);
        check("calc.bom", expect![[r#"no tool is called "calc.bom": did you mean calc__boom?"#]]);
        // There is no tool to run a command.
        check(
            "shell",
            expect![[
                r#"no tool is called "shell": use a listed tool (read, glob, lsp, calc__boom)"#
            ]],
        );
        let none = unknown_tool_message("shell", &json!({}), &[], None);
        assert_eq!(none, r#"no tool is called "shell": there are no tools here"#);
        let calc = unknown_tool_message("calc__bom", &json!({}), &tools, None);
        assert_eq!(calc, r#"no tool is called "calc__bom": did you mean calc.boom?"#);
    }

    #[test]
    fn an_example_is_about_the_path_that_was_sent() {
        let check = |example: &str, input: Value, expect: &str| {
            assert_eq!(example_about(example, &input), expect, "for {input}");
        };
        let list = r#"{"pattern": "*"}"#;
        check(list, json!({"path": "src"}), r#"{"pattern": "*", "path": "src"}"#);
        check(list, json!({"path": "src/main.py"}), r#"{"pattern": "*", "path": "src"}"#);
        check(list, json!({"path": "main.py"}), list);
        check(list, json!({"path": "."}), list);
        check(list, json!({"path": 5}), list);
        check(list, json!({"path": "a \"b"}), list);
        let remove = r#"{"cmd": "rm FILE"}"#;
        check(remove, json!({"file_path": "a/b.txt"}), r#"{"cmd": "rm a/b.txt"}"#);
        check(remove, json!({"path": "-rf /"}), remove);
        check(remove, json!({"path": "a; b"}), remove);
    }
}
