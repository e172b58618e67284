//! What all pictures share: colours for light and dark, text for markup.
use crate::Printable;

/// Colours and type, on a light or a dark background as the reader prefers.
const STYLE: &str = "\
:root{--bg:#ffffff;--ink:#1b1f24;--dim:#667080;--line:#b8c0cc;--msg:#2f6fde;--dot:#4a5361;--halt:#c0392b;--warn:#a86400;--hit:#7a3ff2;--data:#0f8a5f;--box:#f3f5f8}\
@media (prefers-color-scheme:dark){:root{--bg:#14171c;--ink:#e6e9ee;--dim:#98a3b3;--line:#444d5a;--msg:#72a7ff;--dot:#b4bfcd;\
--halt:#ff7b6b;--warn:#ffb454;--hit:#c9a6ff;--data:#5fd3a6;--box:#20252d}}\
svg{background:var(--bg)}text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:var(--ink)}\
.head{font-weight:700;font-size:14px;text-anchor:middle}.dim{fill:var(--dim)}.title{font-size:14px;font-weight:700}\
.lane{stroke:var(--line);stroke-width:2}.lost{stroke:var(--warn);stroke-width:3;stroke-dasharray:3 4}\
.span{fill:var(--hit);fill-opacity:.2;stroke:var(--hit);stroke-opacity:.5}.unended{stroke-dasharray:3 3}\
.msg{stroke:var(--msg);stroke-width:1.5;fill:none}.open{stroke-dasharray:5 4;stroke:var(--warn)}.away{stroke-dasharray:2 3}.data{stroke:var(--data);stroke-dasharray:7 3}.hidden{stroke-dasharray:1.5 4;stroke-linecap:round;stroke-width:2}\
.tip{fill:var(--msg)}.tip.open{fill:var(--warn)}.tip.data{fill:var(--data);stroke:none}.tip.hidden{fill:var(--bg);stroke:var(--msg);stroke-width:1.2;stroke-dasharray:none}\
.dot{fill:var(--dot);stroke:var(--bg);stroke-width:1.5}.dot.m{fill:var(--msg)}.dot.h{fill:var(--halt)}\
.dot.u{fill:var(--bg);stroke:var(--warn);stroke-width:2;stroke-dasharray:3 2}\
.label{paint-order:stroke;stroke:var(--bg);stroke-width:4px;stroke-linejoin:round}.warn{fill:var(--warn)}\
.cut{stroke:var(--halt);stroke-width:2;stroke-dasharray:9 4;fill:none}.cutname{fill:var(--halt);font-weight:700}\
.unordered{stroke:var(--halt);stroke-width:3;stroke-dasharray:2 5;stroke-linecap:round;opacity:.8}.found .dot{fill:var(--halt);stroke:var(--halt);stroke-width:5}.found text{font-weight:700;fill:var(--halt)}\
.about .dot{stroke:var(--hit);stroke-width:4}.about text{font-weight:700}\
.later{opacity:.4}.ground{fill:var(--bg)}.box{fill:var(--box);stroke:var(--line)}.then{stroke:var(--dim);stroke-width:1.2;fill:none}.never{stroke-dasharray:4 4;opacity:.7}";

/// The style of a picture. Each colour comes once more as itself, in light, for programs that know no variables: they take
/// that one and leave out what they do not understand.
pub(super) fn style() -> String {
    let colours = STYLE.split(['{', '}']).nth(1).unwrap_or_default();
    let colours: Vec<(&str, &str)> = colours.split(';').filter_map(|colour| colour.split_once(':')).collect();
    let mut style = String::new();
    for part in STYLE.split_inclusive(['{', '}', ';']) {
        if let Some((property, value)) = part.split_once(":var(")
            && let Some((name, _)) = value.split_once(')')
            && let Some((_, colour)) = colours.iter().find(|(own, _)| *own == name)
        {
            style.push_str(&format!("{property}:{colour};"));
        }
        style.push_str(part);
    }
    style
}

/// The width of a letter of the type above, in pixels.
pub(super) const LETTER: f64 = 7.3;

/// How wide a text is.
pub(super) fn width(text: &str) -> f64 {
    text.chars().count() as f64 * LETTER
}

/// A text as it stands in markup, made printable.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in Printable(text).to_string().chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::style;

    #[test]
    fn every_colour_is_there_for_programs_that_know_no_variables() {
        let style = style();
        assert!(style.contains(".lane{stroke:#b8c0cc;stroke:var(--line);stroke-width:2}"), "{style}");
        let declarations = style.split(['{', '}', ';']).collect::<Vec<_>>();
        for pair in declarations.windows(2) {
            let Some((property, _)) = pair[1].split_once(":var(") else { continue };
            assert!(pair[0].starts_with(&format!("{property}:#")), "{pair:?}");
        }
    }
}
