//! References inside a node's inputs, to outputs of earlier nodes and to the input of the plan. How they are written
//! stands at [`Template`]. Nothing here evaluates anything: there are no filters and no defaults.

mod path;
mod read;
mod resolve;
mod template;
#[cfg(test)]
mod tests;
mod trail;

pub(crate) use path::index_of;
pub use path::{Path, Segment};
pub use template::{Reference, ReferenceError, Source, Template, Unresolved};

pub(crate) use template::{Malformed, TemplateError};
pub(crate) use trail::{Trail, named};
