//! Debugging information entries to types.
use super::{Choice, DebugTypes, Entry, Member, Slice, Type, TypeId, Variant};
use gimli::AttributeValue;

type Node<'a, 't> = gimli::EntriesTreeNode<'a, 't, Slice>;

impl DebugTypes {
    /// The type, or [`Type::Other`] for one that is not understood.
    #[must_use]
    pub fn get(&self, id: TypeId) -> Type {
        self.parse(id).ok().flatten().unwrap_or(Type::Other)
    }

    /// The name of a type, as the source has it.
    #[must_use]
    pub fn type_name(&self, id: TypeId) -> String {
        match self.get(id) {
            Type::Array { element, count } => format!("[{}; {count}]", self.type_name(element)),
            _ => {
                let entry = self.units[id.unit].entry(id.offset).ok();
                entry.and_then(|entry| self.name(id.unit, &entry)).unwrap_or_default()
            }
        }
    }

    /// How many bytes a value of the type has.
    pub(crate) fn size(&self, id: TypeId) -> Option<u64> {
        let entry = self.units[id.unit].entry(id.offset).ok()?;
        match entry.tag() {
            gimli::DW_TAG_array_type => match self.get(id) {
                Type::Array { element, count } => self.size(element)?.checked_mul(count),
                _ => None,
            },
            gimli::DW_TAG_pointer_type => Some(self.units[id.unit].encoding().address_size.into()),
            tag if is_alias(tag) => self.size(self.type_of(id.unit, &entry)?),
            _ => entry.attr_value(gimli::DW_AT_byte_size)?.udata_value(),
        }
    }

    fn parse(&self, id: TypeId) -> Result<Option<Type>, gimli::Error> {
        let mut tree = self.units[id.unit].entries_tree(Some(id.offset))?;
        let root = tree.root()?;
        let name = self.name(id.unit, root.entry()).unwrap_or_default();
        let element = self.type_of(id.unit, root.entry());
        Ok(match root.entry().tag() {
            gimli::DW_TAG_base_type => base(root.entry()),
            gimli::DW_TAG_structure_type => Some(self.parse_struct(id.unit, name, root)?),
            gimli::DW_TAG_union_type => match self.parse_struct(id.unit, name, root)? {
                Type::Struct { members, .. } => Some(Type::Union(members)),
                _ => None,
            },
            gimli::DW_TAG_pointer_type => Some(Type::Pointer(element)),
            // What C calls by another name. No type is its own alias, unless the file is damaged.
            tag if is_alias(tag) => element.filter(|element| *element != id).map(|element| self.get(element)),
            gimli::DW_TAG_enumeration_type => Some(self.parse_enumeration(id, name, root)?),
            gimli::DW_TAG_array_type => match element {
                Some(element) => count(root)?.map(|count| Type::Array { element, count }),
                None => None,
            },
            _ => None,
        })
    }

    fn parse_struct(&self, unit: usize, name: String, node: Node<'_, '_>) -> Result<Type, gimli::Error> {
        let (mut members, mut parameters, mut choice) = (Vec::new(), Vec::new(), None);
        let mut children = node.children();
        while let Some(child) = children.next()? {
            match child.entry().tag() {
                gimli::DW_TAG_member => members.extend(self.member(unit, child.entry())),
                gimli::DW_TAG_template_type_parameter => {
                    let name = self.name(unit, child.entry());
                    parameters.extend(name.zip(self.type_of(unit, child.entry())));
                }
                gimli::DW_TAG_variant_part => choice = Some(self.parse_variants(unit, &name, child)?),
                _ => {}
            }
        }
        Ok(match choice {
            Some(choice) => Type::Choice(choice),
            None => Type::Struct { name, members, parameters },
        })
    }

    fn parse_variants(&self, unit: usize, name: &str, node: Node<'_, '_>) -> Result<Choice, gimli::Error> {
        let tag = match node.entry().attr_value(gimli::DW_AT_discr) {
            Some(AttributeValue::UnitRef(offset)) => {
                let entry = self.units[unit].entry(offset)?;
                self.member(unit, &entry).and_then(|member| Some((member.offset, self.size(member.ty)?)))
            }
            _ => None,
        };
        let mut variants = Vec::new();
        let mut children = node.children();
        while let Some(child) = children.next()? {
            if child.entry().tag() != gimli::DW_TAG_variant {
                continue;
            }
            let number = child.entry().attr_value(gimli::DW_AT_discr_value).and_then(|value| constant(&value, tag));
            let mut inside = child.children();
            while let Some(content) = inside.next()? {
                if let Some(member) = self.member(unit, content.entry()) {
                    let declared = declared(content.entry());
                    variants.push(Variant { name: member.name.clone(), number, content: Some(member), declared });
                }
            }
        }
        Ok(Choice { name: name.to_owned(), tag, variants })
    }

    fn parse_enumeration(&self, id: TypeId, name: String, node: Node<'_, '_>) -> Result<Type, gimli::Error> {
        let unit = id.unit;
        let tag = self.size(id).map(|size| (0, size));
        let mut variants = Vec::new();
        let mut children = node.children();
        while let Some(child) = children.next()? {
            if child.entry().tag() == gimli::DW_TAG_enumerator {
                let name = self.name(unit, child.entry()).unwrap_or_default();
                let number = child.entry().attr_value(gimli::DW_AT_const_value).and_then(|value| constant(&value, tag));
                variants.push(Variant { name, number, content: None, declared: None });
            }
        }
        Ok(Type::Choice(Choice { name, tag, variants }))
    }

    fn member(&self, unit: usize, entry: &Entry) -> Option<Member> {
        let ty = self.type_of(unit, entry)?;
        let offset = entry.attr_value(gimli::DW_AT_data_member_location).and_then(|value| value.udata_value());
        Some(Member { name: self.name(unit, entry).unwrap_or_default(), offset: offset.unwrap_or(0), ty })
    }
}

/// Where the source has an entry: the number of the file in its unit, and the line.
pub(super) fn declared(entry: &Entry) -> Option<(u64, u32)> {
    let file = match entry.attr_value(gimli::DW_AT_decl_file)? {
        AttributeValue::FileIndex(index) => index,
        value => value.udata_value()?,
    };
    let line = entry.attr_value(gimli::DW_AT_decl_line)?.udata_value()?;
    Some((file, u32::try_from(line).ok().filter(|line| *line > 0)?))
}

/// Whether a type is another one under a name or with a quality of its own.
fn is_alias(tag: gimli::DwTag) -> bool {
    [gimli::DW_TAG_typedef, gimli::DW_TAG_const_type, gimli::DW_TAG_volatile_type].contains(&tag)
}

/// A constant, as many bytes of it as the tag has: -1 and 255 are the same in one byte.
fn constant(value: &AttributeValue<Slice>, tag: Option<(u64, u64)>) -> Option<u128> {
    let unsigned = value.udata_value().map(u128::from);
    let number = unsigned.or_else(|| value.sdata_value().map(|number| i128::from(number) as u128))?;
    let bits = 8 * tag.map_or(16, |(_, size)| size.min(16)) as u32;
    Some(if bits >= 128 { number } else { number & ((1 << bits) - 1) })
}

fn base(entry: &Entry) -> Option<Type> {
    let bytes = entry.attr_value(gimli::DW_AT_byte_size)?.udata_value()?;
    let AttributeValue::Encoding(encoding) = entry.attr_value(gimli::DW_AT_encoding)? else { return None };
    Some(match encoding {
        // The unit type is a number without bytes.
        _ if bytes == 0 => Type::Struct { name: "()".into(), members: Vec::new(), parameters: Vec::new() },
        gimli::DW_ATE_unsigned => Type::Unsigned(bytes),
        gimli::DW_ATE_signed => Type::Signed(bytes),
        gimli::DW_ATE_boolean => Type::Bool,
        gimli::DW_ATE_float => Type::Float(bytes),
        gimli::DW_ATE_UTF => Type::Char,
        _ => return None,
    })
}

fn count(node: Node<'_, '_>) -> Result<Option<u64>, gimli::Error> {
    let mut children = node.children();
    while let Some(child) = children.next()? {
        let entry = child.entry();
        let count = entry.attr_value(gimli::DW_AT_count).and_then(|value| value.udata_value());
        let last = entry.attr_value(gimli::DW_AT_upper_bound).and_then(|value| value.udata_value());
        if let Some(count) = count.or(last.map(|last| last + 1)) {
            return Ok(Some(count));
        }
    }
    Ok(None)
}
