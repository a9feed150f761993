//! Passes on one specification with its descriptors: from the launcher to the supervisor, and from
//! there to the first process of new namespaces.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::wire::{self, SPEC_BYTES_MAX, SPEC_HEADER_BYTES, WireCommandSpec};

/// A specification in encoded and decoded form, so that it can be forwarded without encoding it
/// again.
pub(super) struct SpawnOrder {
    message: Vec<u8>,
    pub(super) spec: WireCommandSpec,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl SpawnOrder {
    /// Receives one specification, or `None` if the other side closes without sending one.
    pub(super) fn receive_order(socket: &OwnedFd) -> io::Result<Option<SpawnOrder>> {
        let mut descriptors = Vec::new();
        let mut message = vec![0; SPEC_HEADER_BYTES];
        if !fill(socket, &mut message, &mut descriptors)? {
            return Ok(None);
        }
        let header = message.first_chunk().copied().unwrap_or_default();
        let length = usize::try_from(u32::from_le_bytes(header)).map_err(io::Error::other)?;
        if length > SPEC_BYTES_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        message.resize(SPEC_HEADER_BYTES + length, 0);
        let body = message.get_mut(SPEC_HEADER_BYTES..).unwrap_or_default();
        if !fill(socket, body, &mut descriptors)? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let spec = WireCommandSpec::decode(body)?;
        Ok(Some(SpawnOrder { message, spec, descriptors }))
    }

    /// Forwards it with other descriptors.
    pub(super) fn forward(
        &self,
        socket: &OwnedFd,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        wire::send_all(socket, &self.message, descriptors)
    }
}

/// Fills a buffer; returns whether the other side sent anything before it closed.
pub(super) fn fill(
    socket: &OwnedFd,
    mut buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> io::Result<bool> {
    let mut is_first = true;
    while !buffer.is_empty() {
        match wire::receive(socket, buffer, descriptors)? {
            0 if is_first => return Ok(false),
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => buffer = buffer.get_mut(count..).unwrap_or_default(),
        }
        is_first = false;
    }
    Ok(true)
}
