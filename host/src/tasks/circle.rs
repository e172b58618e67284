//! Circles of waits.
use super::{Task, TaskState, Wait, WaitKind};

/// Marks the waits that form a circle: none of their tasks goes on before another of them does. A task that also waits for a
/// timer goes on by itself, and so does one to which a message is on its way.
pub(super) fn mark_circles(tasks: &mut [Task]) {
    let blocks = |task: &Task| {
        let goes_on = |wait: &Wait| wait.kind == WaitKind::Timer || wait.in_flight.is_some_and(|count| count > 0);
        task.state == TaskState::Waiting && !task.waits.is_empty() && !task.waits.iter().any(goes_on)
    };
    let ids: Vec<String> = tasks.iter().map(Task::id).collect();
    let place = |id: &String| ids.iter().position(|of| of == id);
    // From each task the tasks that it waits for.
    let edges: Vec<Vec<usize>> = tasks
        .iter()
        .map(|task| match blocks(task) {
            true => task.waits.iter().flat_map(|wait| &wait.tasks).filter_map(place).collect(),
            false => Vec::new(),
        })
        .collect();
    let reaches = |from: usize, to: usize| {
        let (mut seen, mut next) = (vec![false; edges.len()], vec![from]);
        while let Some(at) = next.pop() {
            if at == to {
                return true;
            }
            if !std::mem::replace(&mut seen[at], true) {
                next.extend(&edges[at]);
            }
        }
        false
    };
    let mut circles = Vec::new();
    for (index, task) in tasks.iter().enumerate().filter(|(_, task)| blocks(task)) {
        for (number, wait) in task.waits.iter().enumerate() {
            let on_circle = |of: &usize| reaches(*of, index);
            if wait.tasks.iter().filter_map(place).any(|of| on_circle(&of)) {
                circles.push((index, number));
            }
        }
    }
    for (task, wait) in circles {
        tasks[task].waits[wait].circle = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(node: &str, waits: &[(&str, WaitKind, Option<usize>)]) -> Task {
        let wait = |(on, kind, in_flight): &(&str, WaitKind, Option<usize>)| Wait {
            thing: String::new(),
            kind: *kind,
            port: None,
            remaining: None,
            in_flight: *in_flight,
            node: None,
            tasks: if on.is_empty() { Vec::new() } else { vec![format!("{on}/pass")] },
            doing: None,
            circle: false,
        };
        Task {
            node: Some(node.into()),
            board: "A".into(),
            name: "pass".into(),
            path: "ring::pass".into(),
            instance: (0, 1),
            address: 0,
            state: TaskState::Waiting,
            woken: false,
            line: None,
            chain: None,
            backtrace: None,
            waits: waits.iter().map(wait).collect(),
            note: None,
            at: None,
            on: 0,
            stale: None,
        }
    }

    fn circles(tasks: &mut [Task]) -> Vec<bool> {
        mark_circles(tasks);
        tasks.iter().map(|task| task.waits.iter().any(|wait| wait.circle)).collect()
    }

    #[test]
    fn a_circle_is_marked_and_what_leads_to_it_is_not() {
        let receive = |on| vec![(on, WaitKind::Receive, Some(0))];
        let of = |node: &str, on: &'static str| task(node, &receive(on));
        assert_eq!(circles(&mut [of("a", "b"), of("b", "c"), of("c", "a"), of("d", "a")]), [true, true, true, false]);
        assert_eq!(circles(&mut [of("a", "b"), of("b", "")]), [false, false]);
        assert_eq!(circles(&mut [of("a", "a")]), [true]);
    }

    #[test]
    fn a_message_on_its_way_or_a_timer_breaks_a_circle() {
        let of = |node: &str, on: &'static str| task(node, &[(on, WaitKind::Receive, Some(0))]);
        let mut tasks = [of("a", "b"), task("b", &[("a", WaitKind::Receive, Some(1))])];
        assert_eq!(circles(&mut tasks), [false, false]);
        let timer = ("", WaitKind::Timer, None);
        let mut tasks = [of("a", "b"), task("b", &[("a", WaitKind::Receive, Some(0)), timer])];
        assert_eq!(circles(&mut tasks), [false, false]);
        let mut tasks = [of("a", "b"), of("b", "a")];
        tasks[1].state = TaskState::Ready;
        assert_eq!(circles(&mut tasks), [false, false]);
    }
}
