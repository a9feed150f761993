//! The private network of a command: a loopback interface and, if there is a proxy, its listening
//! socket. The process that serves the socket decides which connections are allowed.

use std::ffi::c_short;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};

use crate::confinement::PROXY_PORT;
use crate::wire::{StartFailure, StartStage};

/// The name of the loopback interface, which every new network namespace has.
const LOOPBACK: &[u8] = b"lo";

/// Brings the loopback interface up.
pub(super) fn raise_loopback() -> Result<(), StartFailure> {
    let raise = || -> io::Result<()> {
        let kind = SocketType::DGRAM;
        let socket = socket_with(AddressFamily::INET, kind, SocketFlags::CLOEXEC, None)?;
        let flags = c_short::try_from(libc::IFF_UP).map_err(io::Error::other)?;
        let mut name = [0; libc::IFNAMSIZ];
        for (place, byte) in name.iter_mut().zip(LOOPBACK) {
            *place = libc::c_char::try_from(*byte).map_err(io::Error::other)?;
        }
        let request = libc::ifreq {
            ifr_name: name,
            ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags },
        };
        #[expect(unsafe_code, reason = "no safe interface sets the flags of an interface")]
        // SAFETY: the kernel reads one request, which lives through the call.
        let answer =
            unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    raise().map_err(StartStage::Confine.at("raising the loopback interface"))
}

/// Listens on the proxy's port. The socket belongs to this network even after it is sent to another
/// process.
pub(super) fn listen() -> Result<OwnedFd, StartFailure> {
    let listen = || -> io::Result<OwnedFd> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PROXY_PORT))?;
        // This is a property of the socket, not of the descriptor, so the receiver has it too.
        listener.set_nonblocking(true)?;
        Ok(OwnedFd::from(listener))
    };
    listen().map_err(StartStage::Confine.at("listening on the proxy's port"))
}
