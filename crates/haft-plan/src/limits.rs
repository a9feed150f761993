//! Every bound of a plan and of its check, each with its unit in its name, and the table that the generated document
//! is made of.

use haft_contract::limits::Limit;

/// Longest text of a plan, in bytes.
pub const PLAN_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Nodes of a plan.
pub const PLAN_NODES_MAX: usize = 20_000;
/// Depth of a node's inputs: objects and arrays inside one another.
pub const INPUTS_DEPTH_MAX: usize = 64;
/// Retries of a node.
pub const RETRIES_MAX: u8 = 10;
/// Time for one attempt of a node that names none, in seconds.
pub const NODE_TIMEOUT_S_DEFAULT: u32 = 60;
/// Longest time for one attempt of a node, in seconds.
pub const NODE_TIMEOUT_S_MAX: u32 = 3_600;
/// Resources that one node names.
pub const RESOURCES_MAX: usize = 16;
/// Longest name of a resource, in characters.
pub const RESOURCE_CHARS_MAX: usize = 128;
/// Problems of one plan that are listed.
pub const PROBLEMS_MAX: usize = 200;
/// Longest piece of a plan that a message repeats, in characters.
pub const FOUND_CHARS_MAX: usize = 60;
/// Names that a message lists when it says which there are.
pub const NAMES_LISTED_MAX: usize = 12;
/// Names and indices in the path of one reference.
pub const PATH_SEGMENTS_MAX: usize = 64;
/// What the references of one node bring in together, in bytes.
pub const RESOLVED_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Nodes that are drawn as boxes in a terminal.
pub const BOXES_MAX: usize = 60;
/// Longest label of a box, in characters.
pub const LABEL_CHARS_MAX: usize = 28;
/// Points that edges pass beneath nodes of one drawing, beyond which edges are drawn straight.
pub const WAYPOINTS_MAX: usize = 20_000;

/// All bounds of plans, in the order of the generated document.
pub const TABLE: &[Limit] = &[
    Limit::new(
        "PLAN_BYTES_MAX",
        PLAN_BYTES_MAX as u64,
        "bytes",
        "the text of a plan",
        "the plan is refused",
    ),
    Limit::new("PLAN_NODES_MAX", PLAN_NODES_MAX as u64, "nodes", "a plan", "the plan is refused"),
    Limit::new(
        "INPUTS_DEPTH_MAX",
        INPUTS_DEPTH_MAX as u64,
        "levels",
        "objects and arrays inside one another in the inputs of a node",
        "the plan is refused",
    ),
    Limit::new(
        "RETRIES_MAX",
        RETRIES_MAX as u64,
        "retries",
        "retry of a node",
        "the plan is refused",
    ),
    Limit::new(
        "NODE_TIMEOUT_S_DEFAULT",
        NODE_TIMEOUT_S_DEFAULT as u64,
        "seconds",
        "one attempt of a node that names no timeout",
        "the attempt is stopped",
    ),
    Limit::new(
        "NODE_TIMEOUT_S_MAX",
        NODE_TIMEOUT_S_MAX as u64,
        "seconds",
        "timeout of a node",
        "the plan is refused",
    ),
    Limit::new(
        "RESOURCES_MAX",
        RESOURCES_MAX as u64,
        "names",
        "resources of a node",
        "the plan is refused",
    ),
    Limit::new(
        "RESOURCE_CHARS_MAX",
        RESOURCE_CHARS_MAX as u64,
        "characters",
        "the name of a resource",
        "the plan is refused",
    ),
    Limit::new(
        "PROBLEMS_MAX",
        PROBLEMS_MAX as u64,
        "problems",
        "what is listed of a plan that is not valid",
        "further ones are counted",
    ),
    Limit::new(
        "FOUND_CHARS_MAX",
        FOUND_CHARS_MAX as u64,
        "characters",
        "a piece of a plan repeated in a message",
        "it is cut",
    ),
    Limit::new(
        "NAMES_LISTED_MAX",
        NAMES_LISTED_MAX as u64,
        "names",
        "what a message lists when it says which there are",
        "further ones are counted",
    ),
    Limit::new(
        "PATH_SEGMENTS_MAX",
        PATH_SEGMENTS_MAX as u64,
        "names",
        "the path of a reference",
        "the plan is refused",
    ),
    Limit::new(
        "RESOLVED_BYTES_MAX",
        RESOLVED_BYTES_MAX as u64,
        "bytes",
        "what the references of one node bring in together",
        "the node fails before it is called",
    ),
    Limit::new(
        "BOXES_MAX",
        BOXES_MAX as u64,
        "nodes",
        "a drawing of boxes in a terminal",
        "the plan is drawn as a list",
    ),
    Limit::new(
        "LABEL_CHARS_MAX",
        LABEL_CHARS_MAX as u64,
        "characters",
        "the label of a drawn node",
        "it is cut",
    ),
    Limit::new(
        "WAYPOINTS_MAX",
        WAYPOINTS_MAX as u64,
        "points",
        "what edges of a drawing pass by on their way",
        "edges are drawn straight",
    ),
];
