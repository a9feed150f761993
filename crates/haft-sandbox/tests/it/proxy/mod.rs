//! The proxy, asked over the wire by clients that behave and clients that do not. Servers are on loopback, so hosts are
//! granted at any address unless the refusal is what is tested.

mod clients;
mod http;
mod limits;
mod tunnel;
mod world;
