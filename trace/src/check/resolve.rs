//! Looking up the names of a model.
use super::instances::{Binding, Indexed as _, bindings, numbered};
use super::model::{Action, Check, Expected, Member, Model, ModelError, Occurrence, Part, Rule, Says, Set};
use crate::expr::parse::Nth;
use crate::expr::{Directory, ExprError, Simple, Span, Word, resolve_simple};
use crate::nearest;
use crate::pattern::{Pattern, PatternKey};
use std::collections::HashMap;

/// How many combinations of nodes a `parallel` may mean: `*` in each of its places stands for every node.
const MOST_COMBINATIONS: usize = 4096;

/// Looks up every name of some models; what one calls an event, the later ones may use.
pub(super) fn resolve(models: &[Model], directory: &Directory) -> Result<Vec<Check>, ModelError> {
    let mut lookup = Lookup { text: "", directory, names: HashMap::new(), preds: HashMap::new() };
    let mut checks = Vec::new();
    for model in models {
        lookup.text = &model.source.text;
        lookup.statements(model, &mut checks).map_err(|error| ModelError::new(&model.source, error))?;
    }
    Ok(checks)
}

struct Lookup<'a> {
    text: &'a str,
    directory: &'a Directory,
    names: HashMap<String, Pattern>,
    /// The check of each action that a `pred` is about.
    preds: HashMap<(PatternKey, bool), usize>,
}

impl Lookup<'_> {
    fn error<T>(&self, span: &Span, problem: impl Into<String>, advice: impl Into<String>) -> Result<T, ExprError> {
        Err(ExprError::new(self.text, span.clone(), problem, advice))
    }

    fn statements(&mut self, model: &Model, checks: &mut Vec<Check>) -> Result<(), ExprError> {
        // Statements come in the order of the text, so lines are counted once.
        let (mut line, mut counted) = (1, 0);
        for statement in &model.statements {
            line += self.text[counted..statement.span.start].matches('\n').count();
            counted = statement.span.start;
            let place = format!("{}:{line}", model.source.name);
            let node_names: Vec<&str> = self.directory.names().collect();
            let numbers = |family: &str| numbered(family, node_names.iter().copied());
            for binding in bindings(&statement.says, self.text, &numbers)? {
                let mut says = statement.says.clone();
                says.bind(&binding);
                let title = title(model, statement, &binding);
                self.statement(&says, &statement.span, place.clone(), title, checks)?;
            }
        }
        Ok(())
    }

    fn statement(
        &mut self,
        says: &Says,
        span: &Span,
        place: String,
        title: String,
        checks: &mut Vec<Check>,
    ) -> Result<(), ExprError> {
        let rule = match says {
            Says::Event(name, action) => {
                let pattern = self.action(action, &[])?;
                return self.define(name, pattern);
            }
            Says::Pred { of, before, immediate } => {
                let members = before;
                let of = self.action(of, &[])?;
                let before = before.iter().map(|action| self.action(action, &[])).collect::<Result<Vec<_>, _>>()?;
                self.check_variables(&of, &before, members)?;
                // Two commands for the same action are or-ed (Hyder 6.5.3).
                let at = *self.preds.entry((of.key(), *immediate)).or_insert(checks.len());
                if let Some(Check { rule: Rule::Pred(_, sets) | Rule::Immediate(_, sets), text, .. }) =
                    checks.get_mut(at)
                {
                    sets.push(before);
                    text.push_str(" or ");
                    text.push_str(&title);
                    return Ok(());
                }
                if *immediate { Rule::Immediate(of, vec![before]) } else { Rule::Pred(of, vec![before]) }
            }
            Says::Parallel { actions, never } => self.parallel(actions, *never)?,
            Says::Model(_, parts) => Rule::Order(self.expected(parts, span)?),
        };
        checks.push(Check { place, text: title, rule });
        Ok(())
    }

    /// A variable in the braces means the occurrence that the event itself is.
    fn check_variables(&self, of: &Pattern, before: &[Pattern], actions: &[Action]) -> Result<(), ExprError> {
        for (pattern, action) in before.iter().zip(actions) {
            let Some((variable, _)) = &pattern.index else { continue };
            if of.index.as_ref().is_none_or(|(known, _)| known != variable) {
                let problem = format!("nothing says what `{variable}` is");
                let advice = format!("write ^{variable} behind the event before the braces, too");
                return self.error(action.span(), problem, advice);
            }
        }
        Ok(())
    }

    fn define(&mut self, name: &Word, pattern: Pattern) -> Result<(), ExprError> {
        if self.names.contains_key(&name.text) {
            return self.error(
                &name.span,
                format!("`{}` is the name of another event", name.text),
                "choose another name",
            );
        }
        self.names.insert(name.text.clone(), pattern);
        Ok(())
    }

    /// A set of events; `more` are names that are known here only.
    fn action(&self, action: &Action, more: &[(String, Pattern)]) -> Result<Pattern, ExprError> {
        match action {
            Action::Name(word) => {
                let local = more.iter().find(|(name, _)| *name == word.text).map(|(_, pattern)| pattern);
                local.or_else(|| self.names.get(&word.text)).map_or_else(
                    || {
                        let problem = format!("no event is called `{}`", word.text);
                        let mut known: Vec<_> = more.iter().map(|(name, _)| name).chain(self.names.keys()).collect();
                        known.sort();
                        let near = nearest(&word.text, known.into_iter().map(String::as_str));
                        let advice = near.map_or_else(
                            || format!("give it the name: event {} = left0:send(ring)", word.text),
                            |name| format!("did you mean `{name}`?"),
                        );
                        self.error(&word.span, problem, advice)
                    },
                    |pattern| Ok(Pattern { text: word.text.clone(), ..pattern.clone() }),
                )
            }
            Action::Any(simples, span) => {
                let mut terms = Vec::new();
                for simple in simples {
                    terms.extend(self.terms(simple)?);
                }
                let index = |simple: &Simple| simple.nth.as_ref().map(|nth| (nth.variable.text.clone(), nth.offset));
                let index = simples.first().and_then(index);
                let text = said(&self.text[span.clone()], simples);
                Ok(Pattern { text, terms, index })
            }
        }
    }

    fn terms(&self, simple: &Simple) -> Result<Vec<(crate::expr::Term, Option<u16>)>, ExprError> {
        let terms = resolve_simple(self.text, simple, self.directory)?;
        let counted = |term: crate::expr::Term| {
            let nth = simple.occurrence.as_ref().map(|_| term.occurrences);
            (term, nth)
        };
        Ok(terms.into_iter().map(counted).collect())
    }

    fn parallel(&self, actions: &[Action], never: bool) -> Result<Rule, ExprError> {
        let patterns = actions.iter().map(|action| self.action(action, &[])).collect::<Result<Vec<_>, _>>()?;
        let mut combinations = 1_usize;
        for (at, pattern) in patterns.iter().enumerate() {
            let nodes = pattern.nodes();
            combinations = combinations.saturating_mul(nodes.len());
            let alone = |other: &&Pattern| nodes.len() == 1 && other.nodes() == nodes;
            if let Some(other) = patterns[..at].iter().find(alone) {
                let problem = format!("`{}` and `{}` are of one node", other.text, pattern.text);
                return self.error(
                    actions[at].span(),
                    problem,
                    "what one node does is never concurrent: name events of two",
                );
            }
        }
        if combinations > MOST_COMBINATIONS {
            let span = actions[0].span().start..actions[actions.len() - 1].span().end;
            let problem = format!("this means {combinations} combinations of nodes");
            return self.error(&span, problem, "say which nodes you mean in place of some `*`");
        }
        Ok(Rule::Parallel { patterns, never })
    }

    fn expected(&self, parts: &[Part], span: &Span) -> Result<Expected, ExprError> {
        let mut model = Expected::default();
        let node_names: Vec<&str> = self.directory.names().collect();
        let nodes = |family: &str| numbered(family, node_names.iter().copied());
        for part in parts {
            let Part::Action(..) = part else { continue };
            for binding in bindings(part, self.text, &nodes)? {
                let mut part = part.clone();
                part.bind(&binding);
                if let Part::Action(member, action) = &part {
                    self.add_action(&mut model, &member.name, action)?;
                }
            }
        }
        for part in parts.iter().filter(|part| !matches!(part, Part::Action(..))) {
            let names: Vec<String> = model.actions.iter().map(|(name, _)| name.clone()).collect();
            let actions = |family: &str| numbered(family, names.iter().map(String::as_str));
            for binding in bindings(part, self.text, &actions)? {
                let mut part = part.clone();
                part.bind(&binding);
                self.add_rule(&mut model, &part)?;
            }
        }
        let count = model.actions.len();
        model.fires.resize(count, Vec::new());
        model.routes.resize(count, Vec::new());
        if model.flow.is_empty() && model.fires.iter().chain(&model.routes).all(Vec::is_empty) {
            return self.error(span, "the model says nothing about order", "add `a -> b`, `in a {b}` or `out a {b}`");
        }
        Ok(model)
    }

    fn add_action(&self, model: &mut Expected, name: &Word, action: &Action) -> Result<(), ExprError> {
        if model.actions.iter().any(|(known, _)| *known == name.text) {
            let problem = format!("`{}` is in the model already", name.text);
            return self.error(&name.span, problem, "choose another name");
        }
        let pattern = self.action(action, &[])?;
        if let Some((variable, _)) = &pattern.index {
            let problem = format!("an action is all of its occurrences, not the `{variable}`-th");
            return self.error(action.span(), problem, "write ^ in the rules: in one^i {zero^i}");
        }
        model.actions.push((name.text.clone(), pattern));
        Ok(())
    }

    fn add_rule(&self, model: &mut Expected, part: &Part) -> Result<(), ExprError> {
        match part {
            Part::Action(..) => {}
            Part::Flow(names) => {
                let path = names.iter().map(|name| self.member(model, name)).collect::<Result<Vec<_>, _>>()?;
                model.flow.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
            }
            Part::Rule { of, routes, sets } => {
                let action = self.member(model, of)?;
                let variable = match &of.nth {
                    Some(Nth::Index(index)) => Some(index.variable.text.as_str()),
                    _ => None,
                };
                for set in sets {
                    let mut members = Vec::new();
                    for member in set {
                        members.push((self.member(model, member)?, self.occurrence(member, variable)?));
                    }
                    members.sort_by_key(|(action, _)| *action);
                    members.dedup_by_key(|(action, _)| *action);
                    // A rule is about dependences, so whom it names depends.
                    let other = members.iter().map(|(other, _)| *other);
                    model.flow.extend(other.map(|other| if *routes { (action, other) } else { (other, action) }));
                    let count = model.actions.len();
                    let rules = if *routes { &mut model.routes } else { &mut model.fires };
                    rules.resize(count, Vec::new());
                    rules[action].push(Set { of: self.occurrence(of, variable)?, members });
                }
            }
        }
        Ok(())
    }

    /// Which occurrence a member of a rule is; `variable` is that of the rule's own action.
    fn occurrence(&self, member: &Member, variable: Option<&str>) -> Result<Option<Occurrence>, ExprError> {
        match &member.nth {
            None => Ok(None),
            Some(Nth::Number(number, _)) => Ok(Some(Occurrence::Number(*number))),
            Some(Nth::Index(index)) if variable == Some(index.variable.text.as_str()) => {
                Ok(Some(Occurrence::Variable { offset: index.offset }))
            }
            Some(Nth::Index(index)) => {
                let problem = format!("nothing says what `{}` is", index.variable.text);
                let advice = format!("write ^{} behind the action that the rule is about, too", index.variable.text);
                self.error(&index.variable.span, problem, advice)
            }
        }
    }

    /// An action of the model; an event that has a name belongs to it as soon as it is used.
    fn member(&self, model: &mut Expected, member: &Member) -> Result<usize, ExprError> {
        let name = &member.name;
        if let Some(at) = model.actions.iter().position(|(known, _)| *known == name.text) {
            return Ok(at);
        }
        let pattern = self.action(&Action::Name(name.clone()), &model.actions)?;
        model.actions.push((name.text.clone(), pattern));
        Ok(model.actions.len() - 1)
    }
}

/// A statement in one line, with the values of its variables.
fn title(model: &Model, statement: &super::model::Statement, binding: &Binding) -> String {
    let text = match &statement.says {
        Says::Model(name, _) => format!("model {}", name.text),
        _ => one_line(&model.source.text[statement.span.clone()]),
    };
    let values: Vec<String> = binding.iter().map(|(variable, value)| format!("{variable} = {value}")).collect();
    if values.is_empty() { text } else { format!("{text} with {}", values.join(", ")) }
}

/// A pattern as it is written; members of families with their numbers.
fn said(text: &str, simples: &[Simple]) -> String {
    let text = one_line(text);
    match (simples, text.split_once('['), text.split_once(']')) {
        ([only], Some(_), Some((_, behind))) => format!("{}{behind}", only.node.text),
        _ => text,
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
