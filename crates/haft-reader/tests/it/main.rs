//! What is read of pages, seen from outside: a corpus of pages in the manner of real ones, with all that is read of each
//! beside it, and pages that were made to do harm. The pages were written for this; none is anybody else's.

mod corpus;
mod harm;
