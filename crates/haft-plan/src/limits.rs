//! The limits of a plan and of its check, each with its unit in its name.

/// Largest plan, in bytes.
///
/// Limit (plans): the plan is refused.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Nodes of a plan.
///
/// Limit (plans): the plan is refused.
pub const PLAN_NODES_MAX: usize = 20_000;
/// Nesting of the inputs of a node.
///
/// Limit (plans): the plan is refused.
pub const INPUTS_DEPTH_MAX: usize = 64;
/// Largest `retry` of a node.
///
/// Limit (plans): the plan is refused.
pub const RETRIES_MAX: u8 = 10;
/// Default timeout of one attempt of a node, in seconds.
///
/// Limit (plans): the attempt is stopped.
pub const NODE_TIMEOUT_S_DEFAULT: u32 = 60;
/// Default timeout of one attempt of an agent node, in seconds.
///
/// Limit (plans): the attempt is stopped.
pub const AGENT_TIMEOUT_S_DEFAULT: u32 = 600;
/// Largest `max_steps` of an agent node.
///
/// Limit (plans): the plan is refused.
pub const AGENT_NODE_STEPS_MAX: u32 = 10_000;
/// Largest `max_iterations` of a node.
///
/// Limit (plans): the plan is refused.
pub const ITERATIONS_MAX: u32 = 100;
/// Longest answer of an iteration that the agent of the next one reads, in bytes.
pub const ITERATION_SHOWN_BYTES_MAX: usize = 16 * 1024;
/// Longest timeout of a node, in seconds.
///
/// Limit (plans): the plan is refused.
pub const NODE_TIMEOUT_S_MAX: u32 = 3_600;
/// Resources of a node.
///
/// Limit (plans): the plan is refused.
pub const RESOURCES_MAX: usize = 16;
/// Longest name of a resource, in characters.
///
/// Limit (plans): the plan is refused.
pub const RESOURCE_CHARS_MAX: usize = 128;
/// Problems of one plan that are listed.
pub const PROBLEMS_MAX: usize = 200;
/// Longest piece of a plan that a message repeats, in characters.
pub const FOUND_CHARS_MAX: usize = 60;
/// Names that a message lists when it says which there are.
pub const NAMES_LISTED_MAX: usize = 12;
/// Segments in the path of a reference.
///
/// Limit (plans): the plan is refused.
pub const PATH_SEGMENTS_MAX: usize = 64;
/// Values that the references of one node bring in together, in bytes.
///
/// Limit (plans): the node fails before it is called.
pub const RESOLVED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Boxes of a drawing in a terminal.
///
/// Limit (plans): the plan is drawn as a list.
pub const BOXES_MAX: usize = 60;
/// Longest label of a box, in characters.
pub const LABEL_CHARS_MAX: usize = 28;
/// Points that edges pass beneath nodes of one drawing, beyond which edges are drawn straight.
pub const WAYPOINTS_MAX: usize = 20_000;
