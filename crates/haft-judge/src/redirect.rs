//! Where redirections lead: files that are read or written, devices that are neither, and the two paths by which bash
//! itself reaches the network.

use crate::judgement::{How, UnknownReason, Why};
use crate::syntax::{Redirect, RedirectHow};
use crate::walk::{Scope, Walk};
use crate::word::{self, Decoded};

/// Devices that hold nothing. The descriptors were opened by something else that counts.
const DEVICES: &[&str] = &[
    "/dev/full",
    "/dev/null",
    "/dev/random",
    "/dev/stderr",
    "/dev/stdin",
    "/dev/stdout",
    "/dev/tty",
    "/dev/urandom",
    "/dev/zero",
];
const SOCKETS: &[&str] = &["/dev/tcp/", "/dev/udp/"];

pub(crate) fn is_device(path: &str) -> bool {
    let descriptor = path.strip_prefix("/dev/fd/");
    let is_descriptor =
        descriptor.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_descriptor || DEVICES.contains(&path)
}

pub(crate) fn judge(walk: &mut Walk, redirect: &Redirect, scope: &Scope) {
    let target = &redirect.target;
    let uses: &[How] = match redirect.how {
        RedirectHow::Read => &[How::Read],
        RedirectHow::Write => &[How::Write],
        RedirectHow::ReadWrite => &[How::Read, How::Write],
        RedirectHow::HereString => {
            walk.text(target, scope);
            return;
        }
        RedirectHow::Document => {
            walk.code(target, scope);
            match word::decode_document(target) {
                Ok(Decoded::Dynamic { has_arithmetic, .. }) => {
                    walk.data.evaluates |= has_arithmetic;
                }
                Ok(Decoded::Literal(_)) => {}
                Err(reason) => walk.unknown(&target.source, reason),
            }
            return;
        }
        RedirectHow::QuotedDocument => return,
    };
    walk.code(target, scope);
    match word::decode(target) {
        Ok(Decoded::Literal(path)) => {
            if let Some(address) = SOCKETS.iter().find_map(|socket| path.strip_prefix(socket)) {
                let host = address.split('/').next().unwrap_or_default();
                walk.host(&host.to_ascii_lowercase());
                return walk.unknown(&path, UnknownReason::Network);
            }
            for how in uses {
                walk.file(&path, (*how, Why::Redirect), scope);
            }
        }
        // The commands on the other side of a process substitution were walked as the code of the word.
        Ok(Decoded::Dynamic { .. }) if is_process(target) => {}
        Ok(Decoded::Dynamic { .. }) => walk.unknown(&target.source, UnknownReason::RedirectTarget),
        Err(reason) => walk.unknown(&target.source, reason),
    }
}

fn is_process(target: &crate::syntax::Word) -> bool {
    let whole = 0..target.source.len();
    matches!(target.holes.as_slice(), [hole] if hole.range == whole
        && matches!(hole.code, crate::syntax::Code::Process(_)))
}
