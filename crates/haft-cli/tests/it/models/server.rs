//! Servers on this machine that speak providers' wires, as the tests of models use them: a script of texts, and a command
//! that asks them with a key.

use std::process::Command;

pub(crate) use haft_scripted_model::WireProtocol;
use haft_scripted_model::{ModelScript, RecordedModelRequest, ScriptedReply, ScriptedServer};

use crate::world::World;

/// The key that requests carry, and that nothing else may.
pub(crate) const KEY: &str = "sk-live-0123456789abcdefghijklmnop";

/// Returns a reply byte for byte.
pub(crate) fn http(status: u16, content_type: &str, body: &str) -> ScriptedReply {
    ScriptedReply::raw(format!(
        "HTTP/1.1 {status} Text\r\ncontent-type: {content_type}\r\nconnection: close\r\n\r\n{body}"
    ))
}

/// Returns a reply that never comes.
pub(crate) fn silence() -> ScriptedReply {
    ScriptedReply::new().waiting_for("nothing that happens")
}

pub(crate) struct ModelServer {
    wire: WireProtocol,
    server: ScriptedServer,
}

impl ModelServer {
    /// Starts a server that answers with these texts.
    pub(crate) fn saying(wire: WireProtocol, texts: &[&str]) -> Self {
        Self::start(wire, texts.iter().map(|text| ScriptedReply::new().text(text)))
    }

    /// Starts a server with these replies.
    pub(crate) fn start(
        wire: WireProtocol,
        replies: impl IntoIterator<Item = ScriptedReply>,
    ) -> Self {
        Self { wire, server: ScriptedServer::start(ModelScript::from_replies(replies)).unwrap() }
    }

    pub(crate) fn url(&self) -> String {
        self.server.base_url()
    }

    /// Returns what was asked so far.
    pub(crate) fn asked(&self) -> Vec<RecordedModelRequest> {
        self.server.requests()
    }

    /// Waits until so many requests came.
    pub(crate) fn wait_for(&self, count: usize) {
        self.server.wait_for_requests(count);
    }

    /// Returns a command that asks this server, with a key.
    pub(crate) fn haft(&self, world: &World, args: &[&str]) -> Command {
        let mut command = world.haft(args);
        command
            .env("HAFT_MODEL", format!("{}/test", self.wire.provider()))
            .env("HAFT_BASE_URL", self.url())
            .env("HAFT_KEY_VARIABLE", "TEST_KEY")
            .env("TEST_KEY", KEY);
        command
    }

    /// Runs a command that asks this server; returns all that can be seen of it, in which there is no key.
    pub(crate) fn shown(&self, world: &World, args: &[&str]) -> String {
        let shown = world.shown(&self.haft(world, args).output().unwrap());
        assert!(!shown.contains(&KEY[8..16]), "{shown}");
        shown
    }
}
