//! Instances: a statement with `mult[j]` stands for one statement for each node, or action, of the family.
use super::model::{Action, Member, Part, Says};
use crate::expr::parse::Nth;
use crate::expr::{ExprError, Index, Simple, Word};
use std::collections::{BTreeMap, BTreeSet};

/// Instances that one statement may stand for.
const MOST: usize = 4096;

/// The values of the variables of a statement.
pub(super) type Binding = BTreeMap<String, i64>;

/// Something whose variables can be replaced by numbers.
pub(super) trait Indexed: Clone {
    /// Calls `each` with the name and the index of every member of a family in it.
    fn families(&self, each: &mut dyn FnMut(&Word, &Index));
    /// Replaces variables that `binding` has by their values.
    fn bind(&mut self, binding: &Binding);
}

/// Every binding for which all members of families in `of` exist; `numbers` has the members of a family.
pub(super) fn bindings<T: Indexed>(
    of: &T,
    text: &str,
    numbers: &dyn Fn(&str) -> BTreeSet<i64>,
) -> Result<Vec<Binding>, ExprError> {
    let mut domains: BTreeMap<String, BTreeSet<i64>> = BTreeMap::new();
    let mut empty = None;
    of.families(&mut |name, index| {
        let members: BTreeSet<i64> = numbers(&name.text).iter().map(|number| number - index.offset).collect();
        if members.is_empty() {
            empty.get_or_insert_with(|| name.clone());
        }
        let domain = domains.entry(index.variable.text.clone()).or_insert_with(|| members.clone());
        *domain = domain.intersection(&members).copied().collect();
    });
    if let Some(name) = empty {
        let problem = format!("nothing is called `{0}1` or `{0}2`", name.text);
        let advice = "`name[j]` is each node whose name is `name` and a number, or each such action of the model";
        return Err(ExprError::new(text, name.span, problem, advice));
    }
    let mut all = vec![Binding::new()];
    for (variable, domain) in domains {
        let with = |binding: &Binding, value: i64| {
            let mut longer = binding.clone();
            longer.insert(variable.clone(), value);
            longer
        };
        all = all.iter().flat_map(|binding| domain.iter().map(move |value| with(binding, *value))).collect();
        if all.len() > MOST {
            let problem = format!("this stands for more than {MOST} instances");
            return Err(ExprError::new(text, 0..0, problem, "use fewer variables"));
        }
    }
    Ok(all)
}

/// The numbers behind `family` in some names: 1 and 2 of `mult` in `mult1`, `mult2`.
pub(super) fn numbered<'a>(family: &str, names: impl Iterator<Item = &'a str>) -> BTreeSet<i64> {
    names.filter_map(|name| name.strip_prefix(family)?.parse::<u32>().ok().map(i64::from)).collect()
}

fn value(index: &Index, binding: &Binding) -> Option<i64> {
    binding.get(&index.variable.text).map(|value| value + index.offset)
}

impl Indexed for Simple {
    fn families(&self, each: &mut dyn FnMut(&Word, &Index)) {
        if let Some(index) = &self.instance {
            each(&self.node, index);
        }
    }

    fn bind(&mut self, binding: &Binding) {
        if let Some(number) = self.instance.as_ref().and_then(|index| value(index, binding)) {
            self.node.text = format!("{}{number}", self.node.text);
            self.instance = None;
        }
        if let Some(number) = self.nth.as_ref().and_then(|index| value(index, binding)) {
            let span = self.nth.take().map_or(0..0, |index| index.variable.span);
            self.occurrence = Some((number, span));
        }
    }
}

impl Indexed for Action {
    fn families(&self, each: &mut dyn FnMut(&Word, &Index)) {
        if let Self::Any(simples, _) = self {
            simples.iter().for_each(|simple| simple.families(each));
        }
    }

    fn bind(&mut self, binding: &Binding) {
        if let Self::Any(simples, _) = self {
            simples.iter_mut().for_each(|simple| simple.bind(binding));
        }
    }
}

impl Indexed for Says {
    fn families(&self, each: &mut dyn FnMut(&Word, &Index)) {
        match self {
            Self::Event(_, action) => action.families(each),
            Self::Pred { of, before, .. } => {
                of.families(each);
                before.iter().for_each(|action| action.families(each));
            }
            Self::Parallel { actions, .. } => actions.iter().for_each(|action| action.families(each)),
            Self::Model(..) => {}
        }
    }

    fn bind(&mut self, binding: &Binding) {
        match self {
            Self::Event(_, action) => action.bind(binding),
            Self::Pred { of, before, .. } => {
                of.bind(binding);
                before.iter_mut().for_each(|action| action.bind(binding));
            }
            Self::Parallel { actions, .. } => actions.iter_mut().for_each(|action| action.bind(binding)),
            Self::Model(..) => {}
        }
    }
}

impl Indexed for Member {
    fn families(&self, each: &mut dyn FnMut(&Word, &Index)) {
        if let Some(index) = &self.instance {
            each(&self.name, index);
        }
    }

    fn bind(&mut self, binding: &Binding) {
        if let Some(number) = self.instance.as_ref().and_then(|index| value(index, binding)) {
            self.name.text = format!("{}{number}", self.name.text);
            self.instance = None;
        }
        if let Some(Nth::Index(index)) = &self.nth
            && let Some(number) = value(index, binding)
        {
            self.nth = Some(Nth::Number(number, index.variable.span.clone()));
        }
    }
}

impl Indexed for Part {
    fn families(&self, each: &mut dyn FnMut(&Word, &Index)) {
        match self {
            // The family is that of the nodes; the action is named after each.
            Self::Action(_, action) => action.families(each),
            Self::Flow(names) => names.iter().for_each(|name| name.families(each)),
            Self::Rule { of, sets, .. } => {
                of.families(each);
                sets.iter().flatten().for_each(|member| member.families(each));
            }
        }
    }

    fn bind(&mut self, binding: &Binding) {
        match self {
            Self::Action(name, action) => {
                name.bind(binding);
                action.bind(binding);
            }
            Self::Flow(names) => names.iter_mut().for_each(|name| name.bind(binding)),
            Self::Rule { of, sets, .. } => {
                of.bind(binding);
                sets.iter_mut().flatten().for_each(|member| member.bind(binding));
            }
        }
    }
}
