//! A page around a picture, with everything in it: no file beside it, nothing from the network.
use super::style::{self, escape};
use crate::Printable;
use serde_json::Value;

/// The frame of a page.
pub(super) const PAGE_STYLE: &str = "\
html,body{margin:0;height:100%;background:var(--bg);color:var(--ink);font:14px system-ui,sans-serif}\
body{display:flex;flex-direction:column}header{display:flex;gap:1.2em;align-items:baseline;padding:.5em 1em;border-bottom:1px solid var(--line);flex-wrap:wrap}\
header b{font-size:15px}header span,summary{color:var(--dim)}details{color:var(--warn)}details ul{margin:.2em 0;max-height:8em;overflow:auto}\
#find{font:12px ui-monospace,monospace;background:var(--box);color:var(--ink);border:1px solid var(--line);padding:.2em .5em;border-radius:4px}\
main{flex:1;display:flex;min-height:0}#stage{flex:1;overflow:hidden;touch-action:none;cursor:grab}#stage svg{width:100%;height:100%;display:block}#heads rect{opacity:1}\
#side{width:22em;margin:0;padding:1em;border-left:1px solid var(--line);white-space:pre-wrap;overflow:auto;font:12px/1.5 ui-monospace,monospace;background:var(--box)}\
@media (max-width:700px){main{flex-direction:column}#side{width:auto;border-left:0;border-top:1px solid var(--line);max-height:9em}}";

/// Moves and scales the picture; the names of lanes stay in sight.
const PAN_ZOOM: &str = r#"
let view;
function panzoom(click){const box=svg.viewBox.baseVal,all={x:0,y:0,w:box.width,h:box.height},heads=document.getElementById('heads');
  svg.removeAttribute('width');svg.removeAttribute('height');svg.setAttribute('preserveAspectRatio','xMinYMin meet');
  const size=()=>svg.getBoundingClientRect();
  const set=()=>{box.x=view.x;box.y=view.y;box.width=view.w;box.height=view.h;
    if(heads)heads.setAttribute('transform','translate(0,'+Math.max(0,view.y-42)+')')};
  const fit=()=>{const r=size();view={...all};set()};
  const begin=()=>{const r=size(),s=Math.max(1,all.w/r.width);view={x:0,y:0,w:r.width*s,h:r.height*s};set()};
  const scale=()=>{const r=size();return Math.max(view.w/r.width,view.h/r.height)};
  // Into the middle, but never beyond an edge: the names of all lanes stay in sight where there is room for them.
  const keep=(to,seen,there)=>Math.max(0,Math.min(to,there-seen));
  window.look=(x,y)=>{view.x=keep(x-view.w/2,view.w,all.w);view.y=keep(y-view.h/2,view.h,all.h);set()};
  stage.addEventListener('wheel',e=>{e.preventDefault();const r=size(),s=scale(),k=Math.exp(e.deltaY*0.0012);
    const x=view.x+(e.clientX-r.left)*s,y=view.y+(e.clientY-r.top)*s;
    view={x:x-(x-view.x)*k,y:y-(y-view.y)*k,w:view.w*k,h:view.h*k};set()},{passive:false});
  let from=null,moved=false;
  stage.addEventListener('pointerdown',e=>{from={x:e.clientX,y:e.clientY,vx:view.x,vy:view.y,target:e.target};moved=false});
  stage.addEventListener('pointermove',e=>{if(!from)return;const dx=e.clientX-from.x,dy=e.clientY-from.y;
    if(!moved&&Math.hypot(dx,dy)<4)return;moved=true;const s=scale();view.x=from.vx-dx*s;view.y=from.vy-dy*s;set()});
  const up=()=>{if(from&&!moved)click(from.target);from=null};
  stage.addEventListener('pointerup',up);stage.addEventListener('pointerleave',()=>{from=null});
  addEventListener('keydown',e=>{if(e.target.tagName==='INPUT')return;if(e.key==='0')fit();if(e.key==='1')begin();
    const step={ArrowDown:[0,.1],ArrowUp:[0,-.1],ArrowRight:[.1,0],ArrowLeft:[-.1,0],PageDown:[0,.9],PageUp:[0,-.9]}[e.key];
    if(step){view.x+=step[0]*view.w;view.y+=step[1]*view.h;set();e.preventDefault()}});
  begin()}
"#;

/// The same data with every text in it made printable: scripts show them.
fn printable(data: &Value) -> Value {
    match data {
        Value::String(text) => Printable(text).to_string().into(),
        Value::Array(values) => values.iter().map(printable).collect(),
        Value::Object(fields) => fields.iter().map(|(key, value)| (key.clone(), printable(value))).collect(),
        other => other.clone(),
    }
}

/// A page around `picture`; `script` finds `data` under that name.
pub(super) fn page(
    title: &str,
    summary: &str,
    notes: &[String],
    picture: &str,
    data: &Value,
    style: &str,
    script: &str,
) -> String {
    let items: String = notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    let notes = match notes.len() {
        0 => String::new(),
        count => {
            format!("<details><summary>{count} notes: what is missing or broken</summary><ul>{items}</ul></details>")
        }
    };
    // A script ends at the first `</script`, wherever it stands.
    let data = printable(data).to_string().replace('<', "\\u003c");
    let (title, summary, common) = (escape(title), escape(summary), style::style());
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <meta name=\"color-scheme\" content=\"light dark\"><title>{title}</title><style>{common}{style}</style></head>\n\
         <body><header><b>{title}</b><span>{summary}</span><input id=\"find\" placeholder=\"left0#41\" aria-label=\"find an event\">{notes}</header>\n\
         <main><div id=\"stage\">{picture}</div><pre id=\"side\"></pre></main>\n\
         <script>\nconst data={data};{PAN_ZOOM}{script}</script></body></html>\n"
    )
}
