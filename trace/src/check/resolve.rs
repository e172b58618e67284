//! Looking up the names of a model.
use super::model::{Action, Check, Expected, Model, ModelError, Part, Rule, Says};
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
    preds: HashMap<PatternKey, usize>,
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
            let rule = match &statement.says {
                Says::Event(name, action) => {
                    let pattern = self.action(action, &[])?;
                    self.define(name, pattern)?;
                    continue;
                }
                Says::Pred(of, before) => {
                    let of = self.action(of, &[])?;
                    let before = before.iter().map(|action| self.action(action, &[])).collect::<Result<Vec<_>, _>>()?;
                    // Two commands for the same action are or-ed (Hyder 6.5.3).
                    let at = *self.preds.entry(of.key()).or_insert(checks.len());
                    if let Some(Check { rule: Rule::Pred(_, sets), text, .. }) = checks.get_mut(at) {
                        sets.push(before);
                        text.push_str(" or ");
                        text.push_str(&one_line(&self.text[statement.span.clone()]));
                        continue;
                    }
                    Rule::Pred(of, vec![before])
                }
                Says::Parallel { actions, never } => self.parallel(actions, *never)?,
                Says::Model(_, parts) => Rule::Order(self.expected(parts, &statement.span)?),
            };
            let place = format!("{}:{line}", model.source.name);
            checks.push(Check { place, text: title(model, statement), rule });
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
                Ok(Pattern { text: one_line(&self.text[span.clone()]), terms })
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
        for part in parts {
            if let Part::Action(name, action) = part {
                if model.actions.iter().any(|(known, _)| *known == name.text) {
                    return self.error(
                        &name.span,
                        format!("`{}` is in the model already", name.text),
                        "choose another name",
                    );
                }
                let pattern = self.action(action, &[])?;
                model.actions.push((name.text.clone(), pattern));
            }
        }
        for part in parts {
            match part {
                Part::Action(..) => {}
                Part::Flow(names) => {
                    let path = names.iter().map(|name| self.member(&mut model, name)).collect::<Result<Vec<_>, _>>()?;
                    model.flow.extend(path.windows(2).map(|pair| (pair[0], pair[1])));
                }
                Part::Rule { of, routes, sets } => {
                    let action = self.member(&mut model, of)?;
                    let sets = sets.iter().map(|set| {
                        let mut members =
                            set.iter().map(|name| self.member(&mut model, name)).collect::<Result<Vec<_>, _>>()?;
                        members.sort_unstable();
                        members.dedup();
                        Ok(members)
                    });
                    let sets = sets.collect::<Result<Vec<_>, _>>()?;
                    // A rule is about dependences, so whom it names depends.
                    let other = sets.iter().flatten().copied();
                    model.flow.extend(other.map(|other| if *routes { (action, other) } else { (other, action) }));
                    let count = model.actions.len();
                    let rules = if *routes { &mut model.routes } else { &mut model.fires };
                    rules.resize(count, None);
                    rules[action].get_or_insert_with(Vec::new).extend(sets);
                }
            }
        }
        let count = model.actions.len();
        model.fires.resize(count, None);
        model.routes.resize(count, None);
        if model.flow.is_empty() && model.fires.iter().chain(&model.routes).all(Option::is_none) {
            return self.error(span, "the model says nothing about order", "add `a -> b`, `in a {b}` or `out a {b}`");
        }
        Ok(model)
    }

    /// An action of the model; an event that has a name belongs to it as soon as it is used.
    fn member(&self, model: &mut Expected, name: &Word) -> Result<usize, ExprError> {
        if let Some(at) = model.actions.iter().position(|(known, _)| *known == name.text) {
            return Ok(at);
        }
        let pattern = self.action(&Action::Name(name.clone()), &model.actions)?;
        model.actions.push((name.text.clone(), pattern));
        Ok(model.actions.len() - 1)
    }
}

fn title(model: &Model, statement: &super::model::Statement) -> String {
    match &statement.says {
        Says::Model(name, _) => format!("model {}", name.text),
        _ => one_line(&model.source.text[statement.span.clone()]),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
