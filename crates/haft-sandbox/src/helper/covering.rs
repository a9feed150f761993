//! Covers paths in the view of a running command. The command has no capabilities in its namespaces, and neither has its
//! first process. A new process gets them all when it enters, because this helper's user owns the namespaces.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::process::{WaitOptions, waitpid};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use super::order::fill;
use crate::confine;
use crate::fork::{ForkSide, exit, fork};
use crate::wire::{self, SPEC_BYTES_MAX, SPEC_HEADER_BYTES, WireCover, decode_covers};

/// Receives a request and serves it; returns whether there was one.
pub(super) fn serve(lifeline: &OwnedFd, view: &[OwnedFd]) -> io::Result<bool> {
    let mut descriptors = Vec::new();
    let mut header = [0; SPEC_HEADER_BYTES];
    if !fill(lifeline, &mut header, &mut descriptors)? {
        return Ok(false);
    }
    let length = usize::try_from(u32::from_le_bytes(header)).map_err(io::Error::other)?;
    if length > SPEC_BYTES_MAX {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut body = vec![0; length];
    if !fill(lifeline, &mut body, &mut descriptors)? && length > 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let answer = descriptors.into_iter().next().ok_or(io::ErrorKind::InvalidData)?;
    let covered = decode_covers(&body).and_then(|covers| cover(&covers, view));
    let number = covered.err().map_or(0, |err| err.raw_os_error().unwrap_or(libc::EINVAL));
    // The launcher may have given up.
    let _ = wire::send_all(&answer, &number.to_le_bytes(), &[]);
    Ok(true)
}

/// Covers the paths in a process of their own.
fn cover(covers: &[WireCover], view: &[OwnedFd]) -> io::Result<()> {
    let [user, mounts] = view else { return Err(io::ErrorKind::Unsupported.into()) };
    match fork()? {
        ForkSide::Child => {
            let entered = move_into_link_name_space(user.as_fd(), Some(LinkNameSpaceType::User))
                .and_then(|()| {
                    move_into_link_name_space(mounts.as_fd(), Some(LinkNameSpaceType::Mount))
                });
            let covered =
                entered.map_err(io::Error::from).and_then(|()| confine::cover_paths(covers));
            exit(covered.err().map_or(0, |err| err.raw_os_error().unwrap_or(libc::EINVAL)));
        }
        ForkSide::Parent(pid) => match waitpid(Some(pid), WaitOptions::empty())? {
            Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
            Some((_, status)) => {
                let number = status.exit_status().unwrap_or(libc::ECHILD);
                Err(io::Error::from_raw_os_error(number))
            }
            None => Err(io::ErrorKind::NotFound.into()),
        },
    }
}
