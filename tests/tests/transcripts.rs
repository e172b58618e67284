//! Every file in `transcripts/` says what happens, and it does. Rewrite them with `REWRITE=1`, then read the difference.
use std::{env, fs, path::Path};
use stillpoint_tests::transcript::{difference, replay};

#[test]
fn every_transcript_says_what_happens() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("transcripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= 8, "where are the transcripts?");
    for file in files {
        let expected = fs::read_to_string(&file).unwrap();
        let got = replay(&expected);
        assert!(!got.contains("not understood"), "{}: {got}", file.display());
        assert!(!got.contains("VIOLATION"), "{}: {got}", file.display());
        if env::var_os("REWRITE").is_some() {
            fs::write(&file, got).unwrap();
        } else if let Some(difference) = difference(&expected, &got) {
            panic!("{}, {difference}", file.display());
        }
    }
}

#[test]
fn a_transcript_that_says_something_else_is_noticed() {
    let true_story = replay("system 2 0->1\nsend 0->1 \"ping\"\n----\n");
    let false_story = true_story.replace("ping\" -> 1", "pong\" -> 1");
    let noticed = difference(&false_story, &replay(&false_story)).unwrap();
    assert!(noticed.starts_with("line 4") && noticed.contains("but came: 0: send \"ping\" -> 1"), "{noticed}");
}
