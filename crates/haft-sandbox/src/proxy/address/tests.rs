use super::*;

#[track_caller]
fn check(address: &str, range: Option<&str>) {
    let parsed = address.parse().expect("the test spells an address");
    assert_eq!(reserved_range(parsed), range, "{address}");
}

#[test]
fn ipv4_ranges_end_where_they_should() {
    for (first, last, range) in [
        ("0.0.0.0", "0.255.255.255", "unspecified"),
        ("10.0.0.0", "10.255.255.255", PRIVATE),
        ("100.64.0.0", "100.127.255.255", "shared by customers of a provider"),
        ("127.0.0.0", "127.255.255.255", LOOPBACK),
        ("168.63.129.16", "168.63.129.16", PLATFORM),
        ("169.254.0.0", "169.254.255.255", LINK_LOCAL),
        ("172.16.0.0", "172.31.255.255", PRIVATE),
        ("192.168.0.0", "192.168.255.255", PRIVATE),
        ("198.18.0.0", "198.19.255.255", "reserved for benchmarks"),
        ("203.0.113.0", "203.0.113.255", DOCUMENTATION),
        ("224.0.0.0", "239.255.255.255", MULTICAST),
        ("240.0.0.0", "255.255.255.254", SPECIAL),
        ("255.255.255.255", "255.255.255.255", "broadcast"),
    ] {
        check(first, Some(range));
        check(last, Some(range));
    }
    for public in [
        "1.0.0.0",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "168.63.129.15",
        "168.63.129.17",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "203.0.112.255",
        "223.255.255.255",
    ] {
        check(public, None);
    }
}

#[test]
fn ipv6_ranges() {
    for (address, range) in [
        ("::", Some("unspecified")),
        ("::1", Some(LOOPBACK)),
        ("::2", Some("not assigned")),
        ("64:ff9b:1::1", Some(PRIVATE)),
        ("100::1", Some("reserved for discarding")),
        ("2001::1", Some(SPECIAL)),
        ("2001:2::1", Some(SPECIAL)),
        ("2001:db8::1", Some(DOCUMENTATION)),
        ("3fff:fff::1", Some(DOCUMENTATION)),
        ("5f00::1", Some("not assigned")),
        ("fc00::1", Some(PRIVATE)),
        ("fdff::1", Some(PRIVATE)),
        ("fe80::1", Some(LINK_LOCAL)),
        ("febf::1", Some(LINK_LOCAL)),
        ("fec0::1", Some(PRIVATE)),
        ("ff02::1", Some(MULTICAST)),
        ("2001:200::1", None),
        ("2606:4700:4700::1111", None),
        ("3ffe:ffff::1", None),
    ] {
        check(address, range);
    }
}

#[test]
fn an_embedded_address_counts() {
    for (address, range) in [
        ("::ffff:127.0.0.1", Some(LOOPBACK)),
        ("::ffff:169.254.169.254", Some(LINK_LOCAL)),
        ("::ffff:168.63.129.16", Some(PLATFORM)),
        ("::ffff:1.1.1.1", None),
        // The deprecated form also embeds an address, but is not routed.
        ("::127.0.0.1", Some("not assigned")),
        ("::1.1.1.1", Some("not assigned")),
        ("64:ff9b::10.0.0.1", Some(PRIVATE)),
        ("64:ff9b::1.1.1.1", None),
        ("2002:7f00:1::", Some(LOOPBACK)),
        ("2002:c0a8:101::1", Some(PRIVATE)),
        ("2002:101:101::1", None),
        // IPv4-translated.
        ("::ffff:0:127.0.0.1", Some("not assigned")),
    ] {
        check(address, range);
    }
}
