use super::*;
use std::io::Read as _;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _, symlink};
use std::process::Command;

fn put(path: &Path, text: &str) -> io::Result<u64> {
    OutputFile::at(path).write(|to| to.write_all(text.as_bytes()))
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = entries.map(|name| name.into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_regular_file_is_replaced_whole_or_not_at_all_and_keeps_its_permissions() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    assert_eq!(put(&path, "new").unwrap(), 3);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::write(folder.path().join("file.part"), "of another program").unwrap();
    let before = path.metadata().unwrap().ino();
    put(&path, "newer").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"newer");
    assert_ne!(path.metadata().unwrap().ino(), before, "readers of the old file keep it");
    assert_eq!(path.metadata().unwrap().mode() & 0o7777, 0o640);
    let failed = OutputFile::at(&path).write(|to| {
        to.write_all(&vec![b'x'; 1 << 20])?;
        Err(io::Error::other("no more"))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more");
    let cancelled = AtomicBool::new(false);
    let failed = OutputFile::at(&path).cancelled_by(&cancelled).write(|to| {
        to.write_all(&vec![b'x'; 1 << 20])?;
        cancelled.store(true, Ordering::Relaxed);
        to.write_all(b"x")
    });
    assert_eq!(failed.unwrap_err().to_string(), "cancelled");
    assert_eq!(std::fs::read(&path).unwrap(), b"newer");
    assert_eq!(names(folder.path()), ["file", "file.part"]);
    assert_eq!(std::fs::read(folder.path().join("file.part")).unwrap(), b"of another program");
}

#[test]
fn a_new_file_never_takes_the_place_of_anything() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let raced = OutputFile::at(&path).new_only().write(|to| {
        std::fs::write(&path, "faster")?;
        to.write_all(b"slower")
    });
    assert_eq!(raced.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    let link = folder.path().join("link");
    symlink("nowhere", &link).unwrap();
    let linked = OutputFile::at(&link).new_only().write(|to| to.write_all(b"x"));
    assert_eq!(linked.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    assert_eq!(std::fs::read(&path).unwrap(), b"faster");
    assert_eq!(names(folder.path()), ["file", "link"]);
}

#[test]
fn a_symbolic_link_stays_one_and_the_file_it_leads_to_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir(at("deep")).unwrap();
    std::fs::write(at("deep/file"), "old").unwrap();
    symlink("deep/other", at("link")).unwrap();
    symlink("file", at("deep/other")).unwrap();
    put(&at("link"), "new").unwrap();
    assert!(at("link").is_symlink() && at("deep/other").is_symlink());
    assert_eq!(std::fs::read(at("deep/file")).unwrap(), b"new");
    // One that leads to a file that is not there yet.
    symlink("deep/later", at("ahead")).unwrap();
    put(&at("ahead"), "made").unwrap();
    assert!(at("ahead").is_symlink());
    assert_eq!(std::fs::read(at("deep/later")).unwrap(), b"made");
    symlink("circle", at("circle")).unwrap();
    put(&at("circle"), "x").unwrap_err();
    assert_eq!(names(&at("deep")), ["file", "later", "other"]);
}

#[test]
fn a_fifo_is_written_to_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    let reader = {
        let path = path.clone();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            File::open(path).unwrap().read_to_end(&mut text).unwrap();
            text
        })
    };
    let long = "y".repeat(1 << 20);
    assert_eq!(put(&path, &long).unwrap(), 1 << 20);
    assert_eq!(reader.join().unwrap(), long.as_bytes());
    assert!(path.metadata().unwrap().file_type().is_fifo());
    // Without a reader it waits until it is cancelled.
    let cancelled = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writing = scope.spawn(|| OutputFile::at(&path).cancelled_by(&cancelled).write(|to| to.write_all(b"x")));
        cancelled.store(true, Ordering::Relaxed);
        assert_eq!(writing.join().unwrap().unwrap_err().to_string(), "cancelled");
    });
    assert_eq!(names(folder.path()), ["fifo"]);
}

#[test]
fn a_device_is_written_to_and_stays_also_behind_a_link() {
    let folder = tempfile::tempdir().unwrap();
    let [node, full, link] = ["null", "full", "link"].map(|name| folder.path().join(name));
    // Nodes of our own: those of the machine must not be at risk.
    let make = |node: &Path, minor: &str| {
        let made = Command::new("mknod").arg(node).args(["c", "1", minor]).stderr(std::process::Stdio::null()).status();
        made.is_ok_and(|status| status.success()) && File::options().write(true).open(node).is_ok()
    };
    if !make(&node, "3") || !make(&full, "7") {
        eprintln!("not tried: this user cannot make or open a device node");
        return;
    }
    assert_eq!(put(&full, "x").unwrap_err().kind(), io::ErrorKind::StorageFull);
    assert!(full.symlink_metadata().unwrap().file_type().is_char_device());
    symlink("null", &link).unwrap();
    for path in [&node, &link] {
        assert_eq!(put(path, "gone").unwrap(), 4);
        assert!(node.symlink_metadata().unwrap().file_type().is_char_device());
    }
    assert!(link.is_symlink());
    assert_eq!(names(folder.path()), ["full", "link", "null"]);
}

#[test]
fn what_a_killed_process_left_is_removed_and_what_another_writes_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at(".stillpoint-abc123.part"), "left").unwrap();
    std::fs::write(at(".stillpoint-notes.part"), "of the user").unwrap();
    symlink("target", at(".stillpoint-link12.part")).unwrap();
    std::fs::write(at("target"), "behind a link").unwrap();
    let other = Aside::beside(&at("other")).unwrap();
    put(&at("file"), "new").unwrap();
    let left = names(folder.path());
    assert!(!left.contains(&".stillpoint-abc123.part".to_owned()), "{left:?}");
    other.finish_new(&at("other")).unwrap();
    assert_eq!(names(folder.path()), [".stillpoint-link12.part", ".stillpoint-notes.part", "file", "other", "target"]);
}
