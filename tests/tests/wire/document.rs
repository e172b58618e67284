//! The wire document as data: its sections, examples and tables.

/// One fenced example: bytes and what they mean, alternating.
pub struct Example {
    /// What the bytes are; names a decoder.
    pub name: String,
    /// `key=value` words after the name.
    pub parameters: Vec<(String, String)>,
    pub cases: Vec<Case>,
    /// The line of the fence, for messages.
    pub line: usize,
}

/// Bytes and the meaning the document states for them.
pub struct Case {
    pub bytes: Vec<u8>,
    pub meaning: String,
}

/// What stands below one `## ` heading.
pub struct Section {
    pub title: String,
    pub examples: Vec<Example>,
    /// The cells of every table row, headings and rules left out.
    pub rows: Vec<Vec<String>>,
}

/// Reads the document, or says which line is not what it should be.
pub fn parse(text: &str) -> Result<Vec<Section>, String> {
    let mut sections: Vec<Section> = Vec::new();
    let mut lines = text.lines().enumerate().map(|(index, line)| (index + 1, line));
    while let Some((number, line)) = lines.next() {
        if let Some(title) = line.strip_prefix("## ") {
            sections.push(Section { title: title.into(), examples: Vec::new(), rows: Vec::new() });
        } else if let Some(head) = line.strip_prefix("```") {
            let body: Vec<_> = lines.by_ref().take_while(|(_, line)| *line != "```").collect();
            if let Some(head) = head.strip_prefix("text example: ") {
                let section = sections.last_mut().ok_or(format!("line {number}: an example before any section"))?;
                section.examples.push(example(number, head, &body)?);
            } else if head.contains("example") {
                return Err(format!("line {number}: write ```text example: name"));
            }
        } else if let (Some(row), Some(section)) = (line.strip_prefix("| "), sections.last_mut()) {
            section.rows.push(row.trim_end_matches('|').split(" |").map(|cell| cell.trim().into()).collect());
        }
    }
    Ok(sections)
}

fn example(line: usize, head: &str, body: &[(usize, &str)]) -> Result<Example, String> {
    let mut words = head.split_whitespace();
    let name = words.next().ok_or(format!("line {line}: an example without a name"))?.into();
    let parameters = words
        .map(|word| word.split_once('=').map(|(key, value)| (key.into(), value.into())))
        .collect::<Option<_>>()
        .ok_or(format!("line {line}: parameters are key=value"))?;
    let mut cases = Vec::new();
    let mut bytes = Vec::new();
    for (number, text) in body {
        if let Some(meaning) = text.strip_prefix("=>") {
            if bytes.is_empty() {
                return Err(format!("line {number}: a meaning without bytes"));
            }
            cases.push(Case { bytes: std::mem::take(&mut bytes), meaning: meaning.trim().into() });
        } else {
            for byte in text.split_whitespace() {
                bytes.push(u8::from_str_radix(byte, 16).map_err(|_| format!("line {number}: {byte} is not a byte"))?);
            }
        }
    }
    if !bytes.is_empty() || cases.is_empty() {
        return Err(format!("line {line}: bytes without a meaning"));
    }
    Ok(Example { name, parameters, cases, line })
}
