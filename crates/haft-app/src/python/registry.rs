//! The `registry.json` of a directory of Python tools. If there is one, it lists the tools to offer. The file of
//! a tool decides everything else about it, and nothing here writes the list.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use haft_python::{CheckedTool, RegistryFile};
use rustix::fs::OFlags;

/// The name of the list in its directory.
pub const REGISTRY_FILE_NAME: &str = "registry.json";
/// Largest `registry.json`, in bytes.
///
/// Limit (Python): no tool of the directory is offered.
pub(crate) const REGISTRY_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// The list of a directory.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolRegistry {
    /// There is none, and all tools are offered.
    Missing,
    /// There is one, and the tools that it names are offered.
    Listed(RegistryFile),
    /// There is one that cannot be used, for this reason. No tool is offered.
    Unusable(String),
}

impl ToolRegistry {
    /// Reads the list of a directory.
    pub fn read(directory: &Path) -> Self {
        match read_registry_text(&directory.join(REGISTRY_FILE_NAME)) {
            Ok(text) => match RegistryFile::parse(&text) {
                Ok(registry) => Self::Listed(registry),
                Err(err) => Self::Unusable(err.to_string()),
            },
            Err(err) if err.kind() == io::ErrorKind::NotFound => Self::Missing,
            Err(err) => Self::Unusable(err.to_string()),
        }
    }

    /// Returns whether a tool is offered.
    pub fn offers(&self, tool: &CheckedTool) -> bool {
        match self {
            Self::Missing => true,
            Self::Listed(registry) => registry.names(tool.id.as_str()),
            Self::Unusable(_) => false,
        }
    }
}

/// Returns the text of a regular file of bounded size.
///
/// # Errors
///
/// Fails if the file cannot be read, is not a regular file, is too large or is not UTF-8.
pub fn read_registry_text(path: &Path) -> io::Result<String> {
    // Without this flag, opening a FIFO would wait for a writer.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).map_err(io::Error::other)?;
    let file = File::options().read(true).custom_flags(flags).open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(REGISTRY_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > REGISTRY_BYTES_MAX) {
        return Err(io::Error::other(format!("it has more than {REGISTRY_BYTES_MAX} bytes")));
    }
    String::from_utf8(bytes).map_err(|err| {
        let byte = err.utf8_error().valid_up_to() + 1;
        io::Error::other(format!("it is no text in UTF-8, from byte {byte} on"))
    })
}
