//! The space-time diagram as one self-contained page: pan, zoom, point at an event, click for its past and future.
use super::Selection;
use super::labels::details;
use super::lanes::{Arrow, Lanes};
use super::page::{PAGE_STYLE, page};
use super::svg::Drawing;
use crate::History;
use serde_json::json;

/// Draws a selection as a page. `title` is what stands above it.
#[must_use]
pub fn html(history: &History, selection: &Selection, title: &str) -> String {
    let lanes = Lanes::new(history, selection);
    let picture = Drawing::new(&lanes, title).picture();
    let events = lanes.marks.iter().map(|mark| {
        let event = &history.events[mark.place];
        json!({
            "name": history.header.event_name(event.id),
            "place": mark.place,
            "node": event.id.node,
            "number": event.id.number,
            "counts": event.counts(),
            "clock": history.clock(mark.place),
            "text": details(history, mark.place),
        })
    });
    let events: Vec<_> = events.collect();
    let arrows = lanes.arrows.iter().map(|arrow| match arrow {
        Arrow::Hidden { from, to } | Arrow::Data { from, to } | Arrow::Message { from, to } => json!([from, to]),
        Arrow::Leaves { from, .. } => json!([from, null]),
        Arrow::Comes { to, .. } => json!([null, to]),
    });
    let arrows: Vec<_> = arrows.collect();
    let about = lanes.marks.iter().position(|mark| Some(mark.place) == lanes.about);
    let data = json!({ "events": events, "arrows": arrows, "about": about });
    let notes: Vec<String> = history.notes().iter().map(|note| note.say(&history.header)).collect();
    page(title, &summary(&lanes), &notes, &picture.svg, &data, &format!("{PAGE_STYLE}{STYLE}"), SCRIPT)
}

fn summary(lanes: &Lanes<'_>) -> String {
    let (before, after) = lanes.hidden;
    let shown = lanes.marks.len();
    if before + after == 0 {
        return format!("{shown} events of {} nodes", lanes.nodes.len());
    }
    format!(
        "a window: events {} to {} of {}; choose another with --from, --to, --around and --most",
        before + 1,
        before + shown,
        before + shown + after
    )
}

const STYLE: &str = "\
.event{cursor:pointer}.event:hover .dot{stroke:var(--hit);stroke-width:4}\
.picked .event,.picked .message{opacity:.18}.picked .event.past,.picked .event.future,.picked .event.self,.picked .message.on{opacity:1}\
.picked .past .dot{fill:#1f9d6b}.picked .future .dot{fill:#d9822b}.picked .self .dot{fill:var(--hit);stroke:var(--hit);stroke-width:4}\
.picked .self text{font-weight:700}";

const SCRIPT: &str = r#"
const svg=document.querySelector('#stage svg'),stage=document.getElementById('stage'),side=document.getElementById('side');
const at=i=>document.getElementById('e'+i),newer=(a,b)=>((b-a)|0)<0;
// Halts and resumes lie between two events: they are known with the later one.
const before=(a,b)=>{const x=data.events[a],y=data.events[b];if(x.node===y.node)return x.place<y.place;
  const known=y.clock[x.node];return known===undefined?false:x.counts?!newer(x.number,known):newer(known,x.number)};
function clear(){svg.classList.remove('picked');svg.querySelectorAll('.past,.future,.self,.on').forEach(e=>e.classList.remove('past','future','self','on'));
  side.textContent=hint}
function pick(i){clear();svg.classList.add('picked');let past=0,future=0;const cone=new Set([i]);
  data.events.forEach((_,j)=>{if(j===i)return;if(before(j,i)){past++;cone.add(j);at(j).classList.add('past')}
    else if(before(i,j)){future++;cone.add(j);at(j).classList.add('future')}});
  at(i).classList.add('self');
  const keep=(a,b)=>cone.has(a)&&cone.has(b)&&(b===i||a===i||before(b,i)||before(i,a));
  data.arrows.forEach(([a,b],k)=>{if(a!==null&&b!==null?keep(a,b):a===i||b===i)document.getElementById('m'+k).classList.add('on')});
  side.textContent=data.events[i].text+'\n\nof the events shown: '+past+' happened before it, '+future+' after it, '+
    (data.events.length-1-past-future)+' neither\n\nclick beside an event to let go'}
const hint='point at an event for its details, click it for its past (green) and future (orange); drag to move, wheel to zoom, 0 for all, 1 for full size';
side.textContent=hint;
data.events.forEach((e,i)=>{const g=at(i);g.addEventListener('pointerenter',()=>{if(!svg.classList.contains('picked'))side.textContent=e.text})});
panzoom(target=>{const g=target.closest('.event');g?pick(+g.id.slice(1)):clear()});
const go=i=>{pick(i);const b=at(i).getBBox();look(b.x+b.width/2,b.y)};
const find=document.getElementById('find');
find.addEventListener('change',()=>{const name=find.value.replace(/\s/g,''),i=data.events.findIndex(e=>e.name===name);
  if(i<0){side.textContent=name+' is not among the events shown';return}go(i)});
if(data.about!==null)go(data.about);
"#;
