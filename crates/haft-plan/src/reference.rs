//! References inside a node's inputs, to outputs of earlier nodes and to the input of the plan. How they are written
//! stands at [`InputTemplate`]. Nothing here evaluates anything: there are no filters and no defaults.

mod location;
mod path;
mod piece;
mod read;
mod resolve;
mod template;
#[cfg(test)]
mod tests;

pub(crate) use path::index_of;
pub use path::{ReferencePath, ReferencePathSegment};
pub use piece::{Reference, ReferenceError, ReferenceSource, UnresolvedReason};
pub use template::InputTemplate;

pub(crate) use location::{ValueLocation, named};
pub(crate) use piece::InputTemplateFault;
pub(crate) use read::read_path;
