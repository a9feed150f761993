//! Capabilities: the parts of root's power. A command has none and cannot get any, whichever user
//! runs it. User and group do not change; the other layers limit root's rights as the owner of
//! files.

use std::io;

use libc::{c_int, c_ulong};
use rustix::io::Errno;
use rustix::thread::{
    CapabilitiesSecureBits, CapabilitySet, CapabilitySets, capabilities, capabilities_secure_bits,
    clear_ambient_capability_set, no_new_privs, set_capabilities, set_capabilities_secure_bits,
    set_no_new_privs,
};

/// The kernel stores capabilities in 64 bits.
const CAPABILITY_MAX: c_ulong = 63;

pub(super) const NONE: CapabilitySets = CapabilitySets {
    effective: CapabilitySet::empty(),
    permitted: CapabilitySet::empty(),
    inheritable: CapabilitySet::empty(),
};

/// Drops every capability permanently; with `no_new_privs`, none can be regained. Fails if any is
/// left.
pub(crate) fn drop_all() -> io::Result<()> {
    set_no_new_privs(true)?;
    // Emptying the bounding set needs a privilege. A process without that privilege gains nothing
    // from the set, because of `no_new_privs`.
    let mut is_bounded = true;
    for capability in 0..=CAPABILITY_MAX {
        match bounding(libc::PR_CAPBSET_DROP, capability) {
            Ok(_) => {}
            // The first number that this kernel does not know.
            Err(Errno::INVAL) => break,
            Err(Errno::PERM) => {
                is_bounded = false;
                break;
            }
            Err(errno) => return Err(errno.into()),
        }
    }
    // With these bits, being root restores no capability. The same condition applies.
    let is_locked = match set_capabilities_secure_bits(locked()) {
        Ok(()) => true,
        Err(Errno::PERM) => false,
        Err(errno) => return Err(errno.into()),
    };
    clear_ambient_capability_set()?;
    set_capabilities(None, NONE)?;
    let mut has_bounding_set = false;
    for capability in (0..=CAPABILITY_MAX).take_while(|_| is_bounded) {
        match bounding(libc::PR_CAPBSET_READ, capability) {
            Ok(is_set) => has_bounding_set |= is_set != 0,
            Err(Errno::INVAL) => break,
            Err(errno) => return Err(errno.into()),
        }
    }
    let is_clean = capabilities(None)? == NONE
        && no_new_privs()?
        && !has_bounding_set
        && (!is_locked || capabilities_secure_bits()? == locked());
    if is_clean {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "some capability could not be given up"))
}

/// Neither executing as root nor becoming root grants capabilities, none are kept, and these bits
/// are locked.
fn locked() -> CapabilitiesSecureBits {
    CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED
}

/// Called by number, because a newer kernel may have capabilities without a name in the library.
fn bounding(operation: c_int, capability: c_ulong) -> rustix::io::Result<c_int> {
    const UNUSED: c_ulong = 0;
    #[expect(unsafe_code, reason = "no safe interface takes capabilities without a name")]
    // SAFETY: both operations take only numbers and touch no memory of this process.
    let result = unsafe { libc::prctl(operation, capability, UNUSED, UNUSED, UNUSED) };
    if result >= 0 {
        return Ok(result);
    }
    Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests;
