//! What documents say of file formats and expressions is true of the code.

mod break_docs;
mod dump_docs;
mod examples;
mod trace_docs;
