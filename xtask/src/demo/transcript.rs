//! Comparing two runs of the demo: numbers differ from run to run, the story does not.

/// The lines that every run prints: commands, certificates, breakpoints that fired; every number as `#`.
fn stable_lines(transcript: &str) -> Vec<String> {
    let told = |line: &&str| line.starts_with("$ ") || line.contains("certificate") || line.contains("fired");
    transcript.lines().filter(told).map(masked).collect()
}

/// The first line in which two runs tell another story, as the first and as the second tells it.
pub fn same_story(one: &str, other: &str) -> Result<(), (String, String)> {
    let (one, other) = (stable_lines(one), stable_lines(other));
    let nothing = || "nothing more".to_owned();
    let longest = one.len().max(other.len());
    let line = |lines: &[String], index: usize| lines.get(index).cloned().unwrap_or_else(nothing);
    let differs = (0..longest).map(|index| (line(&one, index), line(&other, index))).find(|(one, other)| one != other);
    differs.map_or(Ok(()), Err)
}

/// The part of the demo that the README shows: the breakpoint, and of the cut who holds the token and what is in flight.
pub fn excerpt(transcript: &str) -> String {
    let mut shown = String::new();
    let mut command = "";
    let mut is_in_flight = false;
    for line in transcript.lines() {
        command = line.strip_prefix("$ stillpoint ").unwrap_or(command);
        is_in_flight = (is_in_flight || line == "in flight") && line != "breakpoints";
        let is_shown = match command {
            "cut" => line.starts_with('$') || line.starts_with("  right1   event") || is_in_flight,
            other => other.starts_with("break "),
        };
        if is_shown {
            shown.push_str(line);
            shown.push('\n');
        }
    }
    shown
}

/// A line in which every number that is a word of its own is `#`; in `left0` the digit belongs to the name.
fn masked(line: &str) -> String {
    let words = line.split(' ').map(|word| {
        let digits = word.trim_end_matches([',', ':']);
        let is_number = !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit() || letter == '.');
        if is_number { format!("#{}", &word[digits.len()..]) } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str =
        "$ stillpoint halt\nleft0 event 17 initiated\ncertificate: halt 2 is one moment of 4 nodes, in 9.8 ms\n";

    #[test]
    fn runs_that_differ_in_numbers_tell_the_same_story() {
        let other = RUN.replace("17", "99").replace("9.8", "11.25").replace("halt 2", "halt 3");
        assert_eq!(same_story(RUN, &other), Ok(()));
        assert_eq!(stable_lines(RUN)[1], "certificate: halt # is one moment of # nodes, in # ms");
    }

    #[test]
    fn the_excerpt_is_the_breakpoint_and_what_is_wrong_in_the_cut() {
        let run = "$ stillpoint up\nboard A\n$ stillpoint break \"x\"\nfired\n$ stillpoint cut\nvalid\nfrontier\n  left0    event 2\n\
                   \u{20} right1   event 3  here\n      main\nin flight\n  one message\nbreakpoints\n0 fired\n$ stillpoint down\n";
        let shown =
            "$ stillpoint break \"x\"\nfired\n$ stillpoint cut\n  right1   event 3  here\nin flight\n  one message\n";
        assert_eq!(excerpt(run), shown);
    }

    #[test]
    fn a_run_without_its_certificate_tells_another() {
        let other = RUN.replace("certificate: halt 2 is", "no certificate: halt 2:");
        assert!(same_story(RUN, &other).is_err());
        let shorter = RUN.lines().take(2).collect::<Vec<_>>().join("\n");
        assert_eq!(same_story(RUN, &shorter).unwrap_err().1, "nothing more");
    }
}
