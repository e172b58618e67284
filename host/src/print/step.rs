//! From a value to a part of it: a field, an element, what a pointer points to.
use super::PrintError;
use super::live::Live;
use super::parse::Step;
use super::read::Reader;
use crate::dwarf::{Member, Place, Type};
use crate::expr::{ExprError, Span};
use crate::nearest;

impl Reader<'_> {
    pub(super) fn step(&mut self, at: Place, step: &Step, text: &str) -> Result<Place, PrintError> {
        let wrong = |span: &Span, problem: String, advice: String| {
            PrintError::Expression(ExprError { problem, advice, text: text.to_owned(), span: span.clone() })
        };
        // Cells and atomics are looked through.
        let layers = self.layers(at)?;
        let at = layers.last().copied().unwrap_or(at);
        let name = self.types.type_name(at.ty);
        match step {
            Step::Deref(span) => match self.types.get(at.ty) {
                Type::Pointer(Some(to)) => {
                    Ok(Place { address: self.number(at.address, self.size(at)?)? as u64, ty: to })
                }
                Type::Pointer(None) => Err(wrong(span, format!("{name} points to anything"), String::new())),
                _ if self.slice(at).is_some() => {
                    Err(wrong(span, format!("{name} points to several things"), "say which, as in [0]".into()))
                }
                _ => Err(wrong(span, format!("{name} is no pointer"), "leave out the star".into())),
            },
            Step::Index(index, span) => {
                let elements = match self.live(at)? {
                    Live::Elements(elements) | Live::Text(elements) => elements,
                    Live::Damaged(why) => return Err(wrong(span, format!("{name} is {why}"), String::new())),
                    Live::No => return Err(wrong(span, format!("{name} has no elements"), "use .field".into())),
                };
                let count = elements.count;
                if *index >= count {
                    let advice =
                        if count == 0 { "it is empty".into() } else { format!("the last one is [{}]", count - 1) };
                    return Err(wrong(span, format!("there are only {count} elements"), advice));
                }
                Ok(elements.place(*index))
            }
            Step::Field(word) => {
                let tuple = format!("__{}", word.text);
                // A field of the value is meant before one of a wrapper.
                for layer in layers.iter().rev() {
                    let members = self.members(*layer)?;
                    let found = members.iter().find(|member| member.name == word.text || member.name == tuple);
                    if let Some(member) = found {
                        return Ok(Place { address: layer.address + member.offset, ty: member.ty });
                    }
                }
                let members = self.members(at)?;
                let names: Vec<&str> = members.iter().map(|of| of.name.trim_start_matches("__")).collect();
                let advice = match (nearest(&word.text, names.iter().copied()), self.types.get(at.ty)) {
                    (Some(name), _) => format!("did you mean `.{name}`? it has {}", names.join(", ")),
                    (None, Type::Pointer(_)) => "it is a pointer: print what it points to with `*`".into(),
                    (None, _) if names.is_empty() => "it has no fields".into(),
                    (None, _) => format!("it has {}", names.join(", ")),
                };
                Err(wrong(&word.span, format!("{name} has no field `{}` now", word.text), advice))
            }
        }
    }

    /// The fields of a struct, or of the variant that an enum is now.
    fn members(&mut self, at: Place) -> Result<Vec<Member>, PrintError> {
        Ok(match self.types.get(at.ty) {
            Type::Struct { members, .. } | Type::Union(members) => members,
            Type::Choice(choice) => {
                let content = self.variant(at, &choice)?.and_then(|variant| variant.content);
                let Some(content) = content else { return Ok(Vec::new()) };
                let inner = match self.types.get(content.ty) {
                    Type::Struct { members, .. } => members,
                    _ => return Ok(vec![content]),
                };
                let shift = |member: Member| Member { offset: member.offset + content.offset, ..member };
                inner.into_iter().map(shift).collect()
            }
            _ => Vec::new(),
        })
    }
}
