//! One specification on its way: from the launcher to the supervisor, and from there to the first process of new
//! namespaces, with the descriptors that belong to it.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use crate::wire::{self, SPEC_BYTES_MAX, SPEC_HEADER_BYTES, Spec};

/// A specification as it came and as it is meant, so that it can be passed on without being put together again.
pub(super) struct Order {
    message: Vec<u8>,
    pub(super) spec: Spec,
    pub(super) descriptors: Vec<OwnedFd>,
}

impl Order {
    /// Receives a whole one, or nothing if the other side has closed without a word.
    pub(super) fn receive(socket: &OwnedFd) -> io::Result<Option<Order>> {
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
        let spec = Spec::decode(body)?;
        Ok(Some(Order { message, spec, descriptors }))
    }

    /// Passes it on, with other descriptors.
    pub(super) fn pass_on(
        &self,
        socket: &OwnedFd,
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        wire::send_all(socket, &self.message, descriptors)
    }
}

/// Fills a buffer; tells whether the other side sent anything before it closed.
fn fill(
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
