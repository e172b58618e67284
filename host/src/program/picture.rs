//! The distributed control flow graph as a picture.
use super::SystemProgram;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write as _;
use stillpoint_analysis::{Action, ChannelId, Class, Pairs, Point, Recognition, StatementId, TaskId};

/// A graph of what is seen from outside: sends, receives, sets and waits, without the statements between them.
struct Graph<'a> {
    program: &'a SystemProgram,
    marks: Option<&'a Recognition>,
    /// The shown statements of each shown task, in the order of the source.
    tasks: Vec<(TaskId, Vec<StatementId>)>,
    flow: BTreeSet<(StatementId, StatementId)>,
    messages: Vec<(StatementId, StatementId, ChannelId)>,
}

impl<'a> Graph<'a> {
    fn new(program: &'a SystemProgram, marks: Option<&'a Recognition>) -> Self {
        let graph = &program.extracted.program;
        let mut tasks: BTreeMap<TaskId, Vec<StatementId>> = BTreeMap::new();
        for id in graph.statements() {
            let statement = graph.statement(id);
            if statement.action != Action::Local || graph.tasks()[statement.task.index()].entry == id {
                tasks.entry(statement.task).or_default().push(id);
            }
        }
        // A task that neither sends nor receives nor sets anything shows nothing.
        let speaks = |id: &StatementId| !matches!(graph.action(*id), Action::Local | Action::Wait);
        tasks.retain(|_, statements| statements.iter().any(speaks));
        let shown: BTreeSet<_> = tasks.values().flatten().copied().collect();
        let flow = shown.iter().flat_map(|from| next(program, &shown, *from).into_iter().map(|to| (*from, to)));
        let flow = flow.collect();
        let pairs = Pairs::new(graph);
        let messages = shown.iter().filter_map(|send| match graph.action(*send) {
            Action::Send(channel) => Some((*send, channel)),
            _ => None,
        });
        let messages = messages
            .flat_map(|(send, channel)| pairs.receives(send).iter().map(move |receive| (send, *receive, channel)));
        Self { program, marks, messages: messages.collect(), flow, tasks: tasks.into_iter().collect() }
    }

    fn label(&self, id: StatementId) -> String {
        let found = &self.program.extracted;
        let line = found.place(id).map(|place| format!(" :{}", place.line)).unwrap_or_default();
        let what = match found.program.action(id) {
            Action::Local => {
                let task = found.program.statement(id).task;
                let place = found.place(id).map(|place| format!(" {}:{}", place.file, place.line));
                return format!("{}{}", found.task_name(task), place.unwrap_or_default());
            }
            Action::Wait => "await".to_owned(),
            Action::Send(channel) => {
                let name = &found.program.channels()[channel.index()].name;
                format!("send({})", name.split_once('.').map_or("", |(_, port)| port))
            }
            Action::Receive(channel) => format!("recv({})", self.program.receiving_port(channel)),
            Action::Write(watch) => {
                let name = &found.program.watches()[watch.index()].name;
                format!("set {}", name.split_once('.').map_or("", |(_, watch)| watch))
            }
        };
        format!("{what}{line}")
    }

    fn is_recognised(&self, id: StatementId) -> bool {
        let found = &self.program.extracted.program;
        self.marks.is_some_and(|marks| {
            found.node_of(id) == marks.node
                && marks.points.iter().any(|point| match (point, found.action(id)) {
                    (Point::Receive(channel), Action::Receive(own)) => *channel == own,
                    (Point::Write(watch), Action::Write(own)) => *watch == own,
                    _ => false,
                })
        })
    }

    fn is_carried(&self, channel: ChannelId) -> bool {
        self.marks.is_some_and(|marks| marks.carried().contains(&channel))
    }

    fn is_release(&self, channel: ChannelId) -> bool {
        let releases = self.marks.into_iter().flat_map(|marks| marks.holds.iter().filter_map(|hold| hold.release));
        releases.into_iter().any(|release| release.sent == channel || release.received == channel)
    }

    /// What the marks mean, with the class of each component.
    fn legend(&self) -> Vec<String> {
        let Some(marks) = self.marks else { return Vec::new() };
        let class = |class| match class {
            Class::Monotonic => "monotonic",
            Class::Dependent => "dependent",
            Class::GeneralisedDependent => "generalised dependent",
        };
        let at = self.program.node_name(marks.node);
        let holds = marks.holds.iter().map(|hold| match hold.release {
            None if hold.carriers.is_empty() => format!("component {}: evaluated at {at}", hold.component + 1),
            _ => format!("component {}: {}", hold.component + 1, class(hold.class)),
        });
        let meaning =
            "double frame: recognised here; thick: carries a bit and a count; dashed: lets a component change"
                .to_owned();
        std::iter::once(meaning).chain(holds).collect()
    }
}

/// The next shown statements behind one.
fn next(program: &SystemProgram, shown: &BTreeSet<StatementId>, from: StatementId) -> BTreeSet<StatementId> {
    let graph = &program.extracted.program;
    let (mut seen, mut found) = (BTreeSet::new(), BTreeSet::new());
    let mut work: Vec<_> = graph.successors(from).collect();
    while let Some(at) = work.pop() {
        if shown.contains(&at) {
            found.insert(at);
        } else if seen.insert(at) {
            work.extend(graph.successors(at));
        }
    }
    found
}

/// The graph in the language of Graphviz. `marks` is how an event is recognised.
#[must_use]
pub fn dot(program: &SystemProgram, marks: Option<&Recognition>, title: &str) -> String {
    let graph = Graph::new(program, marks);
    let label = std::iter::once(title.to_owned()).chain(graph.legend()).collect::<Vec<_>>().join("\n");
    let mut text = format!(
        "digraph stillpoint {{\n  label={};\n  node [shape=box, style=rounded, fontname=\"monospace\"];\n",
        quote(&label)
    );
    let found = &program.extracted.program;
    for node in found.nodes() {
        let _ = writeln!(text, "  subgraph cluster_{} {{\n    label={};", node.0, quote(program.node_name(node)));
        for (_, statements) in graph.tasks.iter().filter(|(task, _)| found.tasks()[task.index()].node == node) {
            for id in statements {
                let frame = if graph.is_recognised(*id) { ", peripheries=2" } else { "" };
                let place = program.extracted.place(*id).map(|place| format!("{}:{}", place.file, place.line));
                let tooltip = quote(&place.unwrap_or_default());
                let _ = writeln!(text, "    s{} [label={}{frame}, tooltip={tooltip}];", id.0, quote(&graph.label(*id)));
            }
        }
        text.push_str("  }\n");
    }
    for (from, to) in &graph.flow {
        let _ = writeln!(text, "  s{} -> s{} [color=gray40];", from.0, to.0);
    }
    for (from, to, channel) in &graph.messages {
        let wide = if graph.is_carried(*channel) { ", penwidth=4" } else { "" };
        let dashed = if graph.is_release(*channel) { ", style=dashed" } else { "" };
        let _ = writeln!(text, "  s{} -> s{} [color=blue, constraint=false{wide}{dashed}];", from.0, to.0);
    }
    text.push_str("}\n");
    text
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

/// The size of a box: wide enough for the longest label of the demos.
const BOX: (f64, f64) = (226.0, 26.0);
const COLUMN: f64 = 360.0;
const ROW: f64 = 44.0;
const TOP: f64 = 120.0;
const LEFT: f64 = 80.0;

const STYLE: &str = "text{font:13px ui-monospace,monospace;fill:#222}.title{font-size:18px}.head{font-size:15px;font-weight:bold}\
    .legend{font-size:12px;fill:#555}.flow{fill:none;stroke:#999;stroke-width:1.2}.message{fill:none;stroke:#3465a4;stroke-width:1.3}\
    .carried{stroke:#e07b00;stroke-width:4}.release{stroke-dasharray:7 4}.task{fill:#eee;stroke:#777}.send{fill:#dce9f9;stroke:#3465a4}\
    .recv{fill:#e0f2dc;stroke:#3a7d2c}.set{fill:#fdf0cf;stroke:#b58900}.wait{fill:#fff;stroke:#bbb}.mark{fill:none;stroke:#c00;stroke-width:2}";

/// The graph as SVG. `marks` is how an event is recognised.
#[must_use]
pub fn svg(program: &SystemProgram, marks: Option<&Recognition>, title: &str) -> String {
    let graph = Graph::new(program, marks);
    let found = &program.extracted.program;
    let legend = graph.legend();
    let top = TOP + 16.0 * legend.len() as f64;
    let nodes = found.nodes();
    let mut places: HashMap<StatementId, (f64, f64)> = HashMap::new();
    let mut rows = vec![0usize; nodes.len()];
    let mut body = String::new();
    for (column, node) in nodes.iter().enumerate() {
        let x = LEFT + COLUMN * column as f64;
        let _ = writeln!(
            body,
            "<text class=\"head\" x=\"{:.0}\" y=\"{:.0}\">{}</text>",
            x,
            top - 24.0,
            escape(program.node_name(*node))
        );
        for (_, statements) in graph.tasks.iter().filter(|(task, _)| found.tasks()[task.index()].node == *node) {
            for id in statements {
                places.insert(*id, (x, top + ROW * rows[column] as f64));
                rows[column] += 1;
            }
            rows[column] += 1;
        }
    }
    for (from, to) in &graph.flow {
        draw_flow(&mut body, places[from], places[to]);
    }
    for (from, to, channel) in &graph.messages {
        let class = format!(
            "message{}{}",
            if graph.is_carried(*channel) { " carried" } else { "" },
            if graph.is_release(*channel) { " release" } else { "" }
        );
        let name = program.channel_name(*channel);
        draw_message(&mut body, places[from], places[to], &class, &name);
    }
    for id in graph.tasks.iter().flat_map(|(_, statements)| statements) {
        draw_box(&mut body, &graph, *id, places[id]);
    }
    let high = top + ROW * rows.iter().max().copied().unwrap_or_default() as f64 + 20.0;
    let wide = LEFT + COLUMN * nodes.len() as f64;
    let mut head = String::new();
    for (at, line) in legend.iter().enumerate() {
        let y = 52.0 + 18.0 * at as f64;
        let _ = writeln!(head, "<text class=\"legend\" x=\"20\" y=\"{y:.0}\">{}</text>", escape(line));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         role=\"img\"><style>{STYLE}</style>\n<defs>{}{}{}</defs><rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text class=\"title\" x=\"20\" y=\"30\">{}</text>\n{head}{body}</svg>\n",
        arrow("flow", "#999", 7),
        arrow("message", "#3465a4", 8),
        arrow("carried", "#e07b00", 4),
        escape(title)
    )
}

fn arrow(name: &str, colour: &str, size: u32) -> String {
    format!(
        "<marker id=\"{name}\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"{size}\" markerHeight=\"{size}\" \
         orient=\"auto\"><path d=\"M0 0L10 5L0 10z\" fill=\"{colour}\"/></marker>"
    )
}

fn draw_box(body: &mut String, graph: &Graph<'_>, id: StatementId, (x, y): (f64, f64)) {
    let found = &graph.program.extracted;
    let class = match found.program.action(id) {
        Action::Local => "task",
        Action::Wait => "wait",
        Action::Send(_) => "send",
        Action::Receive(_) => "recv",
        Action::Write(_) => "set",
    };
    let (wide, high) = BOX;
    let place = found.place(id).map(|place| format!("{}:{}", place.file, place.line)).unwrap_or_default();
    let _ = writeln!(
        body,
        "<g><title>{}</title><rect class=\"{class}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{wide}\" height=\"{high}\" rx=\"5\"/>",
        escape(&place)
    );
    if graph.is_recognised(id) {
        let _ = writeln!(
            body,
            "<rect class=\"mark\" x=\"{:.0}\" y=\"{:.0}\" width=\"{}\" height=\"{}\" rx=\"8\"/>",
            x - 4.0,
            y - 4.0,
            wide + 8.0,
            high + 8.0
        );
    }
    let _ = writeln!(body, "<text x=\"{:.0}\" y=\"{:.0}\">{}</text></g>", x + 8.0, y + 17.5, escape(&graph.label(id)));
}

/// Control flow: straight down to the next box, on the left side past others.
fn draw_flow(body: &mut String, (x, from): (f64, f64), (_, to): (f64, f64)) {
    let (wide, high) = BOX;
    let path = if to > from && to - from <= ROW + 1.0 {
        format!("M{:.0} {:.0}L{:.0} {:.0}", x + wide / 2.0, from + high, x + wide / 2.0, to)
    } else {
        let rows = ((to - from).abs() / ROW).max(1.0);
        let bend = x - (14.0 + 4.0 * rows).min(62.0);
        let (from, to) = (from + high / 2.0 + 4.0, to + high / 2.0 - 4.0);
        format!("M{x:.0} {from:.0}C{bend:.0} {from:.0} {bend:.0} {to:.0} {x:.0} {to:.0}")
    };
    let _ = writeln!(body, "<path class=\"flow\" marker-end=\"url(#flow)\" d=\"{path}\"/>");
}

/// A message: from the side of its send that faces the receiver.
fn draw_message(body: &mut String, (x, y): (f64, f64), (to_x, to_y): (f64, f64), class: &str, name: &str) {
    let (wide, high) = BOX;
    let (y, to_y) = (y + high / 2.0, to_y + high / 2.0);
    let rightwards = to_x > x;
    let (from, to) = if rightwards { (x + wide, to_x) } else { (x, to_x + wide) };
    let lean = if rightwards { 70.0 } else { -70.0 };
    let head = if class.contains("carried") { "carried" } else { "message" };
    let (out, into) = (from + lean, to - lean);
    let path = if (to_x - x).abs() < 1.5 * COLUMN {
        format!("M{from:.0} {y:.0}C{out:.0} {y:.0} {into:.0} {to_y:.0} {to:.0} {to_y:.0}")
    } else {
        // Past the columns between, above the row of the receive; the two directions beside each other.
        let lane = to_y - ROW / 2.0 + if rightwards { 3.5 } else { -3.5 };
        let (soon, late) = (from + lean / 2.0, to - lean / 2.0);
        format!(
            "M{from:.0} {y:.0}C{soon:.0} {y:.0} {soon:.0} {lane:.0} {out:.0} {lane:.0}L{into:.0} {lane:.0}\
             C{late:.0} {lane:.0} {late:.0} {to_y:.0} {to:.0} {to_y:.0}"
        )
    };
    let name = escape(name);
    let _ =
        writeln!(body, "<path class=\"{class}\" marker-end=\"url(#{head})\" d=\"{path}\"><title>{name}</title></path>");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
