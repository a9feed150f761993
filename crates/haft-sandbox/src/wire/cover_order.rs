//! A request to cover paths in the view of a running command, as its launcher sends it to the supervisor. A socket for the
//! answer travels with it: the number of an error, or zero.

use std::io;

use super::{SPEC_HEADER_BYTES, WireCover};
use crate::bytes::{WireReader, WireWriter};

/// Size of the answer.
pub(crate) const COVER_ANSWER_BYTES: usize = 4;

/// Returns the frame of a request.
pub(crate) fn encode_covers(covers: &[WireCover]) -> io::Result<Vec<u8>> {
    let mut writer = WireWriter::default();
    WireCover::write_all(covers, &mut writer);
    let body = writer.finish();
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut frame = Vec::with_capacity(SPEC_HEADER_BYTES + body.len());
    frame.extend_from_slice(&length.to_le_bytes());
    frame.extend_from_slice(&body);
    Ok(frame)
}

/// Returns the covers of a request without its header.
pub(crate) fn decode_covers(body: &[u8]) -> io::Result<Vec<WireCover>> {
    WireCover::read_all(&mut WireReader::new(body))
}
