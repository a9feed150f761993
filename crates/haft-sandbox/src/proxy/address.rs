//! The addresses that belong to private networks, or to the host of a virtual machine. The names of
//! a granted host lead only to the public internet, whatever their DNS owner configures. The module
//! knows only ranges: `destination` finds out which addresses this machine has.

#[cfg(test)]
mod tests;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses. IPv4 addresses have the form that IPv6 has for them, `::ffff:a.b.c.d`.
struct AddressRange {
    network: u128,
    bits: u32,
    name: &'static str,
}

const PRIVATE: &str = "private";
const LOOPBACK: &str = "loopback";
const LINK_LOCAL: &str = "link-local";
const MULTICAST: &str = "multicast";
const DOCUMENTATION: &str = "reserved for documentation";
const PLATFORM: &str = "the host's of a virtual machine";
const SPECIAL: &str = "reserved for special purposes";

/// The IANA registry of special-purpose IPv4 addresses, multicast, and addresses that cloud
/// providers reserve.
const IPV4_RANGES: &[AddressRange] = &[
    ipv4([0, 0, 0, 0], 8, "unspecified"),
    ipv4([10, 0, 0, 0], 8, PRIVATE),
    ipv4([100, 64, 0, 0], 10, "shared by customers of a provider"),
    ipv4([127, 0, 0, 0], 8, LOOPBACK),
    // Not in a registry: virtual machines in Azure reach their host at this public address. It
    // serves DNS, DHCP, and the machine's settings and certificates. See "What is IP address
    // 168.63.129.16?" at
    // https://learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16.
    ipv4([168, 63, 129, 16], 32, PLATFORM),
    ipv4([169, 254, 0, 0], 16, LINK_LOCAL),
    ipv4([172, 16, 0, 0], 12, PRIVATE),
    ipv4([192, 0, 0, 0], 24, SPECIAL),
    ipv4([192, 0, 2, 0], 24, DOCUMENTATION),
    ipv4([192, 88, 99, 0], 24, SPECIAL),
    ipv4([192, 168, 0, 0], 16, PRIVATE),
    ipv4([198, 18, 0, 0], 15, "reserved for benchmarks"),
    ipv4([198, 51, 100, 0], 24, DOCUMENTATION),
    ipv4([203, 0, 113, 0], 24, DOCUMENTATION),
    ipv4([224, 0, 0, 0], 4, MULTICAST),
    ipv4([255, 255, 255, 255], 32, "broadcast"),
    ipv4([240, 0, 0, 0], 4, SPECIAL),
];

/// The same for IPv6, narrower ranges first. Addresses outside of 2000::/3 that are not listed here
/// are not assigned.
const IPV6_RANGES: &[AddressRange] = &[
    ipv6([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified"),
    ipv6([0, 0, 0, 0, 0, 0, 0, 1], 128, LOOPBACK),
    // Local-use NAT64 addresses are blocked whatever IPv4 address they embed.
    ipv6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, PRIVATE),
    ipv6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "reserved for discarding"),
    // Teredo, ORCHID and benchmarks among others.
    ipv6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, SPECIAL),
    ipv6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, DOCUMENTATION),
    ipv6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, DOCUMENTATION),
    ipv6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, PRIVATE),
    ipv6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, LINK_LOCAL),
    ipv6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, PRIVATE),
    ipv6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, MULTICAST),
];

/// Addresses at which clouds give out the credentials of a machine.
const METADATA: &[AddressRange] = &[
    ipv4([100, 100, 100, 200], 32, METADATA_SERVICE),
    ipv4([168, 63, 129, 16], 32, METADATA_SERVICE),
    ipv4([169, 254, 169, 254], 32, METADATA_SERVICE),
    ipv4([169, 254, 170, 2], 32, METADATA_SERVICE),
    ipv4([169, 254, 170, 23], 32, METADATA_SERVICE),
    ipv4([192, 0, 0, 192], 32, METADATA_SERVICE),
    ipv6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x23], 128, METADATA_SERVICE),
    ipv6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254], 128, METADATA_SERVICE),
    ipv6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, METADATA_SERVICE),
];
const METADATA_SERVICE: &str = "a metadata service";

const GLOBAL_UNICAST: AddressRange = ipv6([0x2000, 0, 0, 0, 0, 0, 0, 0], 3, "global unicast");
const TRANSLATED: AddressRange = ipv6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "translated to IPv4");
const TUNNELLED: AddressRange = ipv6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4");

/// Returns the range that an address is reserved for, or `None` for an address on the public
/// internet.
///
/// # Example
///
/// ```
/// use haft_sandbox::proxy::reserved_range;
///
/// assert_eq!(reserved_range([169, 254, 169, 254].into()), Some("link-local"));
/// assert_eq!(reserved_range([1, 1, 1, 1].into()), None);
/// ```
#[must_use]
pub fn reserved_range(address: IpAddr) -> Option<&'static str> {
    let address = match address {
        IpAddr::V4(address) => return reserved_ipv4(address),
        IpAddr::V6(address) => address,
    };
    // The IPv4 address at which packets to this IPv6 address would arrive.
    let [_, _, a, b, c, d, .., w, x, y, z] = address.octets();
    if address.to_ipv4_mapped().is_some() || TRANSLATED.contains(address) {
        return reserved_ipv4(Ipv4Addr::new(w, x, y, z));
    }
    if TUNNELLED.contains(address) {
        return reserved_ipv4(Ipv4Addr::new(a, b, c, d));
    }
    match IPV6_RANGES.iter().find(|range| range.contains(address)) {
        Some(range) => Some(range.name),
        None if GLOBAL_UNICAST.contains(address) => None,
        None => Some("not assigned"),
    }
}

/// Returns whether clouds give out the credentials of a machine at this address, in any form that the address has.
///
/// # Example
///
/// ```
/// use haft_sandbox::proxy::is_metadata_address;
///
/// assert!(is_metadata_address([169, 254, 169, 254].into()));
/// assert!(!is_metadata_address([169, 254, 1, 1].into()));
/// ```
#[must_use]
pub fn is_metadata_address(address: IpAddr) -> bool {
    let address = match address {
        IpAddr::V4(address) => address.to_ipv6_mapped(),
        IpAddr::V6(address) => address,
    };
    let [_, _, a, b, c, d, .., w, x, y, z] = address.octets();
    let embedded = if TRANSLATED.contains(address) {
        Ipv4Addr::new(w, x, y, z).to_ipv6_mapped()
    } else if TUNNELLED.contains(address) {
        Ipv4Addr::new(a, b, c, d).to_ipv6_mapped()
    } else {
        address
    };
    METADATA.iter().any(|range| range.contains(embedded))
}

fn reserved_ipv4(address: Ipv4Addr) -> Option<&'static str> {
    let address = address.to_ipv6_mapped();
    IPV4_RANGES.iter().find(|range| range.contains(address)).map(|range| range.name)
}

impl AddressRange {
    fn contains(&self, address: Ipv6Addr) -> bool {
        (address.to_bits() ^ self.network).leading_zeros() >= self.bits
    }
}

const fn ipv4([a, b, c, d]: [u8; 4], bits: u32, name: &'static str) -> AddressRange {
    let network = Ipv4Addr::new(a, b, c, d).to_ipv6_mapped().to_bits();
    AddressRange { network, bits: 96 + bits, name }
}

const fn ipv6([a, b, c, d, e, f, g, h]: [u16; 8], bits: u32, name: &'static str) -> AddressRange {
    AddressRange { network: Ipv6Addr::new(a, b, c, d, e, f, g, h).to_bits(), bits, name }
}
