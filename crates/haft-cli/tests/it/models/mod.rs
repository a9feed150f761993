//! Models on the command line, against servers on this machine that speak the providers' wires: models make plans, and
//! requests are done with these plans. Tests in the model crate cover the content and the failures of a wire.

mod doing;
mod making;
pub(crate) mod server;

/// A plan of two nodes that both read, one the output of the other.
const READS: &str = r#"{"nodes":[{"id":0,"tool":"glob","inputs":{"pattern":"*.txt"},"depends_on":[],"metadata":{"purpose":"find the notes"}},{"id":1,"tool":"read","inputs":{"path":"{{STEPS.0.paths[0]}}"},"depends_on":[0],"metadata":{"purpose":"read them"}}],"final_output_node":1}"#;
/// The same plan with a mistake.
const MISSPELT: &str = r#"{"nodes":[{"id":0,"tool":"glib","inputs":{"pattern":"*.txt"},"depends_on":[]},{"id":1,"tool":"read","inputs":{"file":"notes.txt"},"depends_on":[0]}],"final_output_node":1}"#;
/// A plan that runs a command.
const COMMAND: &str = r#"{"nodes":[{"id":0,"tool":"bash","inputs":{"cmd":"env; echo ran > ran.txt"},"depends_on":[]}],"final_output_node":0}"#;
/// The answer of an honest model.
const MISSING: &str = r#"{"missing_capability":"sending mail"}"#;
