//! Agents from one end to the other: the real program, real tools in a real directory, and a scripted model on a real
//! socket. The tests run whole tasks with subagents, kill haft between any two events, and check the refusals for whole
//! trees of agents. Tests in the agent crate cover one turn, and those in `agent` cover the output.

mod editing;
mod escaping;
mod killing;
mod mending;
mod plan_nodes;
mod postgres;
mod refusing;
mod transcript;
mod worker;
