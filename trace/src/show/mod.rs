//! Pictures of a trace: a listing, a space-time diagram, graphs. All are text, made without a board or a terminal.
//!
//! What a picture is of is a [`Selection`]: every view leaves out events, never the order among those it shows.
mod dot;
mod evidence;
mod graph;
mod html;
mod labels;
mod lanes;
mod layout;
mod linked;
mod listing;
mod page;
mod places;
#[cfg(test)]
mod restricted_tests;
mod selection;
mod style;
mod svg;
mod terminal;
#[cfg(test)]
mod tests;
mod ticks;
mod tracks;

pub use dot::dot;
pub use evidence::{Evidence, evidence};
pub use graph::{Arc, Graph, GraphKind, Spot};
pub use html::html;
pub use lanes::{Arrow, Bar, CutLine, Lanes, Mark};
pub use layout::graph_svg;
pub use linked::linked_html;
pub use listing::{Line, listing};
pub use places::{PlacedNotes, place_notes};
pub use selection::{Bounds, Selection};
pub use svg::{Picture, svg};
pub use terminal::diagram;
pub use ticks::time_text;
