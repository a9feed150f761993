//! The instructions of the server for a model. Every word costs each conversation, so they contain only facts that fit into no
//! tool's description.

use haft::{Connection, Runtime};

pub(crate) fn instructions(runtime: &Runtime, session: &Connection) -> String {
    let registry = runtime.registry();
    let mut text = format!(
        "Tools that work in {}. Paths are relative to that directory, or absolute inside it. What \
         each call did is recorded.",
        runtime.roots().workspace().display()
    );
    if registry.contract("read").is_some() {
        text.push_str(
            " A long output is cut and says where all of it is: get the part you need with read.",
        );
    }
    text.push_str(
        " What a rule or a missing capability refuses will be refused again: do not look for a way \
         around it, tell the user what you need and what the message says would allow it.",
    );
    if registry.contract("bash").is_some() {
        text.push_str(
            " bash runs in a sandbox: without network unless hosts are granted, with its own /tmp and home, which \
             go when the command ends.",
        );
    }
    if registry.contract("skill").is_some() {
        text.push_str(
            " Before work that a skill is for, load it: the description of the tool skill lists them.",
        );
    }
    let unlisted = session.unlisted_count();
    if unlisted > 0 {
        text.push_str(&format!(
            " {unlisted} further tools are not listed: find those that a task needs with tool_search, which lists them."
        ));
    }
    text
}
