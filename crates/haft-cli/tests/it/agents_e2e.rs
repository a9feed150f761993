//! Agents from one end to the other: the real program, real tools in a real directory, and a model that is a script on a
//! real socket. Whole tasks with subagents, kills between any two events, and what is refused to whole trees of agents.
//! What happens in one turn is tested in the agent crate, and what people see of it in `agent`.

mod editing;
mod escaping;
mod killing;
mod mending;
mod postgres;
mod refusing;
mod transcript;
mod worker;
