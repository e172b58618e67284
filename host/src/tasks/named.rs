//! A task by its name.
use super::{Task, TaskReport};

impl TaskReport {
    /// The task of a node by the name of its function, and which of a pool if there are several.
    ///
    /// # Errors
    /// There is no such task, or there are several: a sentence that names those that there are.
    pub fn find(&self, node: &str, name: &str, instance: Option<u64>) -> Result<&Task, String> {
        let of_node = |task: &&Task| task.node.as_deref() == Some(node) || task.node.is_none() && task.board == node;
        let is_called = |task: &Task| {
            task.name == name
                || task.path == name
                || task.path.strip_suffix(name).is_some_and(|rest| rest.ends_with("::"))
        };
        let own: Vec<&Task> = self.tasks.iter().filter(of_node).collect();
        let found: Vec<&Task> = own
            .iter()
            .copied()
            .filter(|task| is_called(task) && instance.is_none_or(|instance| instance == task.instance.0))
            .collect();
        let list = |tasks: &[&Task]| tasks.iter().map(|task| task.title()).collect::<Vec<_>>().join(", ");
        match found.as_slice() {
            [one] => Ok(one),
            [] if own.is_empty() => Err(format!("{node} has no tasks")),
            [] => {
                let wanted = instance.map_or_else(|| name.to_owned(), |instance| format!("{name}[{instance}]"));
                let hint = crate::did_you_mean(name, own.iter().map(|task| task.name.as_str()));
                Err(format!("{node} has no task {wanted}, but {}{hint}", list(&own)))
            }
            several => Err(format!("{node} has several tasks {name}; choose one of {}", list(several))),
        }
    }
}
