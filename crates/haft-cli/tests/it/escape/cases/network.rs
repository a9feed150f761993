//! Attempts to reach servers of the machine: by name and by number, by every kind of socket that could, and through the
//! proxy of a call that has hosts granted.

use crate::escape::case::Configuration::{NoKernel, NoNamespaces, NoSeccomp};
use crate::escape::case::Control::{Bare, SameAsRoot, SameIfOffered};
use crate::escape::case::{Case, bash, python};

/// The requests to a proxy in the calls below. Without a proxy, they reach no server.
const DIRECT: &str = "cat < /dev/tcp/127.0.0.1/{tcp}";

pub(super) const CASES: &[Case] = &[
    bash("/dev/tcp", "cat < /dev/tcp/127.0.0.1/{tcp}")
        .open(&[NoKernel]),
    bash("/dev/tcp by name", "exec 3<> /dev/tcp/localhost/{tcp}; cat <&3")
        .open(&[NoKernel]),
    bash("/dev/tcp by IPv6", "cat < /dev/tcp/::1/{tcp6}")
        .open(&[NoKernel]),
    bash("/dev/udp", "echo x > /dev/udp/127.0.0.1/{udp}")
        .open(&[NoKernel]),
    bash("curl", "curl -s --http0.9 -m 5 http://127.0.0.1:{tcp}/"),
    bash("curl of an IPv6 address", "curl -s --http0.9 -m 5 'http://[::1]:{tcp6}/'"),
    bash("curl without a scheme", "curl -s --http0.9 -m 5 127.0.0.1:{tcp}"),
    bash("git clone", "git -c http.version=HTTP/1.1 clone http://127.0.0.1:{tcp}/x"),
    bash("npm", "npm ping --registry http://127.0.0.1:{tcp} --fetch-retries=0 --fetch-timeout=1000"),
    bash("node", "node -e 'require(\"net\").connect({tcp}, \"127.0.0.1\").on(\"data\", d => { console.log(String(d)); process.exit() })'"),
    bash("openssl s_client", "timeout 5 openssl s_client -connect 127.0.0.1:{tcp} < /dev/null"),
    bash("perl", "perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(\"127.0.0.1:{tcp}\")->getline'"),
    python("TCP", "print(socket.create_connection(('127.0.0.1', {tcp}), 5).recv(99))"),
    python("TCP by IPv6", "print(socket.create_connection(('::1', {tcp6}), 5).recv(99))"),
    python("TCP by a mapped address", "connection = socket.socket(socket.AF_INET6)\nconnection.connect(('::ffff:127.0.0.1', {tcp}))\nprint(connection.recv(99))"),
    python("TCP to another address of the loopback", "print(socket.create_connection(('0.0.0.0', {tcp}), 5).recv(99))"),
    python("TCP with data in its first packet", "connection = socket.socket()\nconnection.sendto(b'x', 0x20000000, ('127.0.0.1', {tcp}))\nprint(connection.recv(99))"),
    python("TCP from a socket that listens elsewhere", "connection = socket.socket()\nconnection.bind(('127.0.0.1', 0))\nconnection.connect(('127.0.0.1', {tcp}))\nprint(connection.recv(99))"),
    python("UDP", "connection = socket.socket(type=socket.SOCK_DGRAM)\nconnection.sendto(b'x', ('127.0.0.1', {udp}))\nconnection.settimeout(1)\nprint(connection.recv(99))"),
    python("UDP by IPv6", "connection = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\nconnection.sendto(b'x', ('::ffff:127.0.0.1', {udp}))\nconnection.settimeout(1)\nprint(connection.recv(99))"),
    python("an echo of the loopback", "connection = socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nconnection.settimeout(1)\nconnection.sendto(b'\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00', ('127.0.0.1', 0))\nconnection.recv(99)\nout()").control(SameAsRoot),
    python("an echo without rights", "connection = socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 1)\nconnection.settimeout(1)\nconnection.sendto(b'\\x08\\x00\\xf7\\xff\\x00\\x00\\x00\\x00', ('127.0.0.1', 0))\nconnection.recv(99)\nout(os.readlink('/proc/self/ns/net') == os.readlink('/proc/{haft}/ns/net'))").control(SameIfOffered),
    python("a unix socket outside", "connection = socket.socket(socket.AF_UNIX)\nconnection.connect('{socket}')\nprint(connection.recv(99))"),
    python("a unix socket in the root", "connection = socket.socket(socket.AF_UNIX)\nconnection.connect('{shared}')\nprint(connection.recv(99))").open(&[NoSeccomp]),
    python("a unix socket by a link", "os.symlink('{socket}', 'link')\nconnection = socket.socket(socket.AF_UNIX)\nconnection.connect('link')\nprint(connection.recv(99))"),
    python("a unix socket of haft's root", "connection = socket.socket(socket.AF_UNIX)\nconnection.connect('/proc/{haft}/root{socket}')\nprint(connection.recv(99))"),
    python("the agent of the environment", "connection = socket.socket(socket.AF_UNIX)\nconnection.connect(os.environ['SSH_AUTH_SOCK'])\nprint(connection.recv(99))").control(Bare("python3 -c \"import os, socket; c = socket.socket(socket.AF_UNIX); c.connect(os.environ['SSH_AUTH_SOCK']); print(c.recv(99))\"")),
    python("an abstract unix socket", "connection = socket.socket(socket.AF_UNIX)\nconnection.connect('\\0{abstract}')\nprint(connection.recv(99))"),
    python("a datagram to a unix socket", "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'x', '{socket}')\nout()").control(SameIfOffered),
    bash("curl by a unix socket", "curl -s --http0.9 -m 5 --unix-socket {socket} http://x/"),
    bash("the container daemon", "test -S /run/docker.sock -o -S /var/run/docker.sock && printf got%s out").control(SameIfOffered),
    bash("the system bus", "test -S /run/dbus/system_bus_socket && printf got%s out").control(SameIfOffered),
    bash("the display", "ls /tmp/.X11-unix/* 2>/dev/null && printf got%s out").control(SameIfOffered),
    python("an interface that leads out", "names = [name for _, name in socket.if_nameindex()]\nprint(names)\nout(set(names) - {'lo'} and os.readlink('/proc/self/ns/net') == os.readlink('/proc/{haft}/ns/net'))").control(SameIfOffered),
    python("connections of the machine", "port = '%04X' % {tcp}\nout(any(port in line for line in open('/proc/net/tcp')))")
        .open(&[NoNamespaces]),
    python("a firewall rule", "connection = socket.socket(socket.AF_INET, socket.SOCK_RAW, 255)\nconnection.getsockopt(0, 64, 84)\nout()").control(SameIfOffered),
    bash("the proxy to the loopback", "curl -s --noproxy '' --http0.9 -m 5 http://127.0.0.1:{tcp}/")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("the proxy to the loopback by name", "curl -s --noproxy '' --http0.9 -m 5 http://localhost:{tcp}/")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("the proxy to the loopback by a short address", "curl -s --noproxy '' --http0.9 -m 5 --proxytunnel http://127.1:{tcp}/")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("the proxy to the loopback by a number", "curl -s --noproxy '' --http0.9 -m 5 http://2130706433:{tcp}/")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("the proxy to the loopback by IPv6", "curl -s --noproxy '' --http0.9 -m 5 'http://[::1]:{tcp6}/'")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("the proxy to the loopback by a mapped address", "curl -s --noproxy '' --http0.9 -m 5 'http://[::ffff:127.0.0.1]:{tcp}/'")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("the proxy to no address", "curl -s --noproxy '' --http0.9 -m 5 http://0.0.0.0:{tcp}/")
        .with_public_hosts()
        .open(&[NoKernel]),
    bash("CONNECT to the loopback", PROXIED_CONNECT).with_public_hosts().control(Bare(DIRECT)),
    bash("SOCKS to the loopback", "curl -s --noproxy '' --http0.9 -m 5 --proxy $ALL_PROXY http://127.0.0.1:{tcp}/")
        .with_public_hosts().control(Bare(DIRECT)),
    bash("SOCKS to the loopback by name", "curl -s --noproxy '' --http0.9 -m 5 --proxy $ALL_PROXY http://localhost:{tcp}/")
        .with_public_hosts().control(Bare(DIRECT)),
    bash("past the proxy", "curl -s --noproxy '*' --http0.9 -m 5 http://127.0.0.1:{tcp}/").with_public_hosts()
        .open(&[NoKernel]),
    bash("the machine's metadata through the proxy", "curl -s --noproxy '' -m 5 -o /dev/null -w '%{http_code}' http://169.254.169.254/ | grep -q '^2' && printf got%s out")
        .with_public_hosts().control(SameIfOffered),
    python("a smuggled host", "connection = socket.create_connection(('127.0.0.1', 47128), 5)\nconnection.sendall(b'GET http://127.0.0.1:{tcp}/ HTTP/1.1\\r\\nHost: example.com\\r\\n\\r\\n')\nprint(connection.recv(999))")
        .with_public_hosts().control(Bare(DIRECT)),
    python("a unix socket with hosts granted", "connection = socket.socket(socket.AF_UNIX)\nconnection.connect('{socket}')\nprint(connection.recv(99))")
        .with_public_hosts(),
    python("the proxy of another call", "print(socket.create_connection(('127.0.0.1', 47128), 5))\nout()")
        .control(Bare("python3 -c \"import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('got' + 'out')\"")),
];

const PROXIED_CONNECT: &str = "exec 3<> /dev/tcp/127.0.0.1/47128; printf 'CONNECT 127.0.0.1:{tcp} HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n' >&3; timeout 5 cat <&3";
