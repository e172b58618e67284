//! The three graphs beside each other on one page; what is clicked in one is marked in all (Hyder 6.4.1).
use super::layout::graph_svg;
use super::page::{PAGE_STYLE, page};
use super::svg::Drawing;
use super::{Graph, GraphKind, Lanes, Selection};
use crate::History;
use serde_json::json;

/// Program graph, elaborated graph and event graph of a selection. `whole` is what the first two are made from.
#[must_use]
pub fn linked_html(history: &History, whole: &Selection, shown: &Selection, title: &str) -> String {
    let program = Graph::new(history, whole, GraphKind::Program);
    let elaborated = Graph::new(history, whole, GraphKind::Elaborated);
    let events = Graph::new(history, shown, GraphKind::Event);
    let lanes = Lanes::new(history, shown);
    // The diagram has its events in the order of its lanes, the graph in that of the history.
    let at: std::collections::HashMap<usize, usize> =
        shown.places.iter().enumerate().map(|(spot, place)| (*place, spot)).collect();
    let marks = lanes.marks.iter().map(|mark| {
        let spot = &events.spots[at[&mark.place]];
        json!([spot.action, spot.template])
    });
    let marks: Vec<_> = marks.collect();
    let about = lanes.marks.iter().position(|mark| Some(mark.place) == lanes.about);
    let keys =
        |graph: &Graph| -> Vec<_> { graph.spots.iter().map(|spot| json!([spot.action, spot.template])).collect() };
    let data = json!({ "program": keys(&program), "elaborated": keys(&elaborated), "event": marks, "about": about });
    let picture = format!(
        "<div class=\"pane\" id=\"program\">{}</div><div class=\"pane\" id=\"elaborated\">{}</div><div class=\"pane\" id=\"event\">{}</div>",
        graph_svg(&program, "program graph"),
        graph_svg(&elaborated, "elaborated graph"),
        Drawing::new(&lanes, "event graph").picture().svg
    );
    let notes: Vec<String> = history.notes().iter().map(|note| note.say(&history.header)).collect();
    page(
        title,
        "click an event, an action or a template",
        &notes,
        &picture,
        &data,
        &format!("{PAGE_STYLE}{STYLE}"),
        SCRIPT,
    )
}

const STYLE: &str = "\
#stage{display:flex;cursor:auto;touch-action:auto}.pane{flex:1 1 0;min-width:0;overflow:auto;border-right:1px solid var(--line)}\
#stage svg{width:auto;height:auto}#find{display:none}#program{flex-grow:.6}#side{width:14em}.spot,.event{cursor:pointer}.hit .box{stroke:var(--hit);stroke-width:3}\
.hit .dot{stroke:var(--hit);stroke-width:4}.hit text{font-weight:700}";

const SCRIPT: &str = r#"
const side=document.getElementById('side'),panes=['program','elaborated','event'];
const hint='click in one graph: what it maps to is marked in all three';side.textContent=hint;
const items=id=>[...document.querySelectorAll('#'+id+(id==='event'?' .event':' .spot'))];
const key=(id,g)=>data[id][id==='event'?+g.id.slice(1):+g.dataset.at];
function pick(id,g){const [action,template]=key(id,g);let said=[];
  panes.forEach(p=>{let n=0,first=null;items(p).forEach(o=>{const [a,t]=key(p,o);
    const hit=o===g||(id==='event'&&p==='event'?false:t===template&&(p==='program'||action===null||a===action));
    o.classList.toggle('hit',hit);if(hit){n++;first=first||o}});
    if(first&&first!==g)first.scrollIntoView({block:'nearest',inline:'nearest'});said.push(n+' marked in the '+p+' graph')});
  side.textContent=(action||template)+'\ntemplate '+template+'\n\n'+said.join('\n')+'\n\n'+hint}
panes.forEach(id=>items(id).forEach(g=>g.addEventListener('click',()=>pick(id,g))));
const go=i=>{const g=document.querySelector('#event #e'+i);pick('event',g);g.scrollIntoView({block:'center',inline:'nearest'})};
if(data.about!==null)go(data.about);
"#;
