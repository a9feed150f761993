//! The proxy over the wire, with correct and incorrect clients. Servers are on loopback, so hosts
//! are granted at any address unless the test is about that refusal.

mod clients;
mod http;
mod limits;
mod tunnel;
mod world;
