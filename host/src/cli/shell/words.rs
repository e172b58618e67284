//! From a line of text to the words of a command.
//!
//! Words are those of a POSIX shell: blanks part them, quotes and backslashes keep blanks, `#` begins a comment. Commands
//! whose argument is an expression take it as it stands, quotes and all, so that nobody has to quote it twice: it goes on to
//! the end of the line, or to the first word that begins with `--`.

/// Commands that end with an expression.
const WITH_EXPRESSION: [&str; 3] = ["break", "stop", "when"];
/// What follows `break` if it is no expression.
const VERBS: [&str; 4] = ["list", "rm", "help", "{"];

/// The words of a line; none if it is blank or a comment. `Err` says what is wrong with it.
pub fn words(line: &str) -> Result<Vec<String>, String> {
    let line = line.trim();
    let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if WITH_EXPRESSION.contains(&first)
        && let Some(words) = with_expression(first, rest)
    {
        return words;
    }
    split(line)
}

fn split(line: &str) -> Result<Vec<String>, String> {
    shlex::split(line).ok_or_else(|| "a quote is never closed, or the line ends with a backslash".to_owned())
}

/// `None` if the rest is made of ordinary words.
fn with_expression(command: &str, rest: &str) -> Option<Result<Vec<String>, String>> {
    let rest = without_comment(rest).trim();
    let first = rest.split_whitespace().next()?;
    // An expression in quotes of its own is one word already.
    if first.starts_with(['-', '\'', '"']) || VERBS.contains(&first) {
        return None;
    }
    let options_at = options_at(rest);
    let (expression, options) = rest.split_at(options_at);
    Some(split(options).map(|options| {
        let mut words = vec![command.to_owned(), expression.trim_end().to_owned()];
        words.extend(options);
        words
    }))
}

/// The places of a text that are not between double quotes.
fn outside_quotes(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut quoted = false;
    text.char_indices().filter_map(move |(at, letter)| {
        if letter == '"' {
            quoted = !quoted;
        }
        (!quoted).then(|| (at, &text[at..]))
    })
}

fn begins_word(text: &str, at: usize) -> bool {
    at == 0 || text[..at].ends_with(char::is_whitespace)
}

fn without_comment(text: &str) -> &str {
    let comment = outside_quotes(text).find(|(at, rest)| rest.starts_with('#') && begins_word(text, *at));
    comment.map_or(text, |(at, _)| &text[..at])
}

/// Where the first word stands that begins with `--`. The commands between braces have options of their own.
fn options_at(text: &str) -> usize {
    let begins = |at: usize, rest: &str, sign: &str| rest.starts_with(sign) && begins_word(text, at);
    let open = outside_quotes(text).find(|(at, rest)| begins(*at, rest, "{")).map_or(text.len(), |(at, _)| at);
    let close = outside_quotes(text).filter(|(_, rest)| rest.starts_with('}')).last().map_or(0, |(at, _)| at);
    let is_within = |at: usize| (open..close).contains(&at);
    let option = outside_quotes(text).find(|(at, rest)| begins(*at, rest, "--") && !is_within(*at));
    option.map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(line: &str, expected: &[&str]) {
        assert_eq!(words(line).unwrap(), expected, "{line}");
    }

    #[test]
    fn blanks_part_words_quotes_keep_them_and_comments_are_nothing() {
        check("halt  --at right0", &["halt", "--at", "right0"]);
        check("  cut --full # all of it", &["cut", "--full"]);
        check("source 'my file'", &["source", "my file"]);
        check("# nothing", &[]);
        check("", &[]);
        assert!(words("source 'my file").unwrap_err().contains("quote"));
    }

    #[test]
    fn an_expression_needs_no_quotes_and_keeps_its_own() {
        check("break left0:send(ring) -> right1.holding == 1", &["break", "left0:send(ring) -> right1.holding == 1"]);
        check("break left0:trace(\"token taken\")", &["break", "left0:trace(\"token taken\")"]);
        check("break left0:trace(\"a # b --c\") # why", &["break", "left0:trace(\"a # b --c\")"]);
        check("break left0.lap > 3 --no-wait --json", &["break", "left0.lap > 3", "--no-wait", "--json"]);
        check("stop in left0 at recv(ring) if lap > 3", &["stop", "in left0 at recv(ring) if lap > 3"]);
    }

    #[test]
    fn what_is_no_expression_is_made_of_words() {
        check("break list", &["break", "list"]);
        check("break rm all", &["break", "rm", "all"]);
        check("break --no-wait 'left0.lap > 3'", &["break", "--no-wait", "left0.lap > 3"]);
        check("break \"left0.lap > 3\" --no-wait", &["break", "left0.lap > 3", "--no-wait"]);
        check("break", &["break"]);
    }

    #[test]
    fn options_between_braces_belong_to_the_commands_there() {
        let when = "left0.lap > 3 do { cut --full; resume }";
        check(&format!("when {when}"), &["when", when]);
        check(&format!("when {when} --times 2"), &["when", when, "--times", "2"]);
    }
}
