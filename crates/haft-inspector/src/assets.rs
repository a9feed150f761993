//! The files of the pages, in the program. Browsers get them without a login, because they say nothing about anybody.

use std::sync::Arc;

use haft_server::{BrowserSessions, PageParts, PublicFile};

const SCRIPT: &str = "text/javascript; charset=utf-8";

/// The files that need no login.
pub(crate) const FILES: &[PublicFile] = &[
    PublicFile {
        path: "/assets/haft.css",
        media_type: "text/css; charset=utf-8",
        content: include_bytes!("../assets/haft.css"),
    },
    PublicFile {
        path: "/assets/haft.js",
        media_type: SCRIPT,
        content: include_bytes!("../assets/haft.js"),
    },
    PublicFile {
        path: "/assets/login.js",
        media_type: SCRIPT,
        content: include_bytes!("../assets/login.js"),
    },
    PublicFile {
        path: "/assets/icon.svg",
        media_type: "image/svg+xml",
        content: include_bytes!("../assets/icon.svg"),
    },
    PublicFile {
        path: "/assets/icon-ask.svg",
        media_type: "image/svg+xml",
        content: include_bytes!("../assets/icon-ask.svg"),
    },
];

/// The page of a browser that is not logged in.
const WELCOME: &[u8] = include_bytes!("../assets/welcome.html");

/// Returns the pages' part of the guard: who may see them, and what everybody may.
pub fn page_parts(sessions: &Arc<BrowserSessions>) -> PageParts {
    PageParts { sessions: Arc::clone(sessions), welcome: WELCOME, files: FILES }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// All files together, compressed, in bytes.
    const COMPRESSED_BYTES_MAX: usize = 100 * 1024;

    #[test]
    fn all_files_together_are_small() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        for content in FILES.iter().map(|file| file.content).chain([WELCOME]) {
            encoder.write_all(content).unwrap();
        }
        let bytes = encoder.finish().unwrap().len();
        assert!(bytes <= COMPRESSED_BYTES_MAX, "{bytes} bytes");
    }
}
