//! Comparing two runs of the tutorial: everything must be the same but what no two runs share.

/// A number that differs from run to run, by the word before it.
const BEFORE: [&str; 3] = ["process", "event", "stamp"];
/// By the word behind it: times, and the size of an image, which is the compiler's choice.
const BEHIND: [&str; 7] = ["us", "ms", "s", "bytes", "events", "KiB", "MiB"];

/// A line without what differs from run to run: process and event numbers, times, sizes; and the blanks that make columns of
/// them. Counts of messages, nodes and laps, names, values and places in the source stay.
fn normal(line: &str) -> String {
    let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    for at in 0..words.len() {
        let bare = |word: &str| word.trim_matches([',', ':', ';', '.', '(', ')', '#', '+']).to_owned();
        let before = at.checked_sub(1).map(|at| bare(&words[at])).unwrap_or_default();
        let behind = words.get(at + 1).map(|word| bare(word)).unwrap_or_default();
        let varies = is_time(&words[at]) || BEFORE.contains(&before.as_str()) || BEHIND.contains(&behind.as_str());
        if varies && words[at].chars().any(|letter| letter.is_ascii_digit()) {
            words[at] = masked(&words[at]);
        }
    }
    // A stamp is a row of bytes up to the end of its line.
    if let Some(at) = words.iter().position(|word| word == "stamp") {
        words.truncate(at + 1);
    }
    words.join(" ")
}

/// Seconds with six decimals, as a log shows them.
fn is_time(word: &str) -> bool {
    let digits = |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_digit());
    word.split_once('.').is_some_and(|(whole, rest)| digits(whole) && digits(rest) && rest.len() == 6)
}

/// A word with every number in it as `#`.
fn masked(word: &str) -> String {
    let mut text = String::new();
    for letter in word.chars() {
        match letter {
            '0'..='9' if text.ends_with('#') => {}
            '0'..='9' => text.push('#'),
            '.' if text.ends_with('#') => {}
            other => text.push(other),
        }
    }
    text
}

/// The first line in which two outputs of a command differ, as the first and as the second has it.
pub fn first_difference(one: &str, other: &str) -> Option<(String, String)> {
    let (mut one, mut other) = (one.lines(), other.lines());
    loop {
        let (left, right) = (one.next(), other.next());
        if left.is_none() && right.is_none() {
            return None;
        }
        let show = |line: Option<&str>| line.map_or_else(|| "nothing more".to_owned(), str::to_owned);
        if left.map(normal) != right.map(normal) {
            return Some((show(left), show(right)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_differ_in_times_and_event_numbers_are_the_same() {
        let one = "board A  started, process 9899\nright1  event 75       initiated\nreached in 77.1 ms\n  3  Token { lap: 9 }   stamp 6f 08\n 0.006312  left1  warn\n";
        let other = "board A  started, process 12\nright1  event 1075  initiated\nreached in 9 ms\n  3  Token { lap: 9 }   stamp 70 09 01\n12.006312  left1  warn\n";
        assert_eq!(first_difference(one, other), None);
    }

    #[test]
    fn counts_names_values_and_places_are_compared() {
        for (one, other) in [
            ("6 channels, 1 message in flight", "6 channels, 2 messages in flight"),
            ("left0.lap = 1999", "left0.lap = 2000"),
            ("token_ring.rs:127", "token_ring.rs:128"),
            ("halt 1 is one moment", "halt 2 is one moment"),
            ("left0 event 3", "left1 event 3"),
        ] {
            assert!(first_difference(one, other).is_some(), "{one} is not {other}");
        }
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(("nothing more".into(), "b".into())));
    }
}
