//! Tests of reading pages: a corpus of pages with the expected content of each beside it, and harmful pages. All pages were
//! written for these tests.

mod corpus;
mod harm;
