//! A machine without QEMU, without root, without network: one sentence that says what to do, and nothing half done.
mod support;

use support::{Dir, assert_refused, said};

const DEMO: &[&str] = &["demo"];
const ANY_USER: (&str, &str) = ("id", "echo 1000");
const ROOT: (&str, &str) = ("id", "echo 0");
const QEMU: &str = r#"echo "QEMU emulator version 7.2.22 (Debian 1:7.2)""#;

#[test]
fn without_qemu_and_without_apt_every_package_manager_is_named() {
    let output = Dir::new("no-apt").run(DEMO);
    assert_refused(
        &output,
        &[
            "qemu-system-arm is missing: this machine has no apt",
            "sudo apt-get install qemu-system-arm",
            "sudo dnf install qemu-system-arm",
            "sudo pacman -S qemu-system-arm",
            "brew install qemu",
        ],
    );
}

#[test]
fn without_root_nothing_is_installed_and_the_command_is_named() {
    let machine = Dir::new("no-root");
    let trace = machine.path("installed");
    let apt = format!("[ \"$1\" = --version ] || echo > {}", trace.display());
    let machine = machine.with_programs(&[("apt-get", &apt), ANY_USER]);
    assert_refused(&machine.run(DEMO), &["needs root", "sudo apt-get install qemu-system-arm"]);
    assert!(!trace.exists(), "apt was only asked for its version");
}

#[test]
fn without_network_the_words_of_apt_are_passed_on() {
    let apt = "[ \"$1\" = --version ] || { echo 'E: Temporary failure resolving deb.example' >&2; exit 100; }";
    let machine = Dir::new("no-network").with_programs(&[("apt-get", apt), ROOT]);
    assert_refused(&machine.run(DEMO), &["apt could not install", "no network?", "Temporary failure resolving"]);
}

#[test]
fn a_missing_qemu_is_installed_and_one_line_says_so() {
    let machine = Dir::new("install");
    let qemu = machine.path("qemu-system-arm");
    let apt = format!(
        "case \"$*\" in *install*qemu-system-arm*) printf '#!/bin/sh\\n%s\\n' '{QEMU}' > {0}; /bin/chmod +x {0};; esac",
        qemu.display()
    );
    let machine = machine.with_programs(&[("apt-get", &apt), ROOT]);
    let output = machine.run(DEMO);
    assert!(said(&output).contains("install  qemu-system-arm (apt)"), "{}", said(&output));
    // With QEMU in place the demo goes on to the target of its firmware.
    assert_refused(&output, &["rustup could not add it"]);
    let again = machine.run(DEMO);
    assert!(!said(&again).contains("install  qemu"), "nothing is missing the second time: {}", said(&again));
}

/// An apt whose list has one QEMU until it is updated, and another one afterwards. It writes down what it is asked.
fn apt_with_an_old_list(machine: &Dir, before: &str, after: &str) -> String {
    let (qemu, asked, fresh) = (machine.path("qemu-system-arm"), machine.path("asked"), machine.path("fresh"));
    let [qemu, asked, fresh] = [qemu, asked, fresh].map(|path| path.display().to_string());
    format!(
        "echo \"$1\" >> {asked}
case \"$*\" in
    update) echo > {fresh};;
    *install*) version='{before}'; [ -e {fresh} ] && version='{after}'
        printf '#!/bin/sh\necho \"QEMU emulator version %s\"\n' \"$version\" > {qemu}; /bin/chmod +x {qemu};;
esac"
    )
}

#[test]
fn what_apt_installs_too_old_is_installed_again_from_fresh_lists() {
    let machine = Dir::new("old-list");
    let apt = apt_with_an_old_list(&machine, "5.2.0", "7.2.22");
    let machine = machine.with_programs(&[("apt-get", &apt), ROOT]);
    let output = machine.run(DEMO);
    assert!(said(&output).contains("update  the package lists (apt)"), "{}", said(&output));
    assert_refused(&output, &["rustup could not add it"]);
    let asked = std::fs::read_to_string(machine.path("asked")).unwrap();
    assert_eq!(asked, "--version\ninstall\nupdate\ninstall\n");
}

#[test]
fn what_is_too_old_in_fresh_lists_as_well_is_refused_after_one_more_try() {
    let machine = Dir::new("old-everywhere");
    let apt = apt_with_an_old_list(&machine, "5.2.0", "6.0.0");
    let machine = machine.with_programs(&[("apt-get", &apt), ROOT]);
    assert_refused(&machine.run(DEMO), &["qemu-system-arm 6.0.0 is too old"]);
    let asked = std::fs::read_to_string(machine.path("asked")).unwrap();
    assert_eq!(asked, "--version\ninstall\nupdate\ninstall\n");
}

/// Debian's compiler is looked for at its fixed place, so this is about machines that do not have it.
#[test]
fn debians_compiler_is_looked_for_in_fresh_lists_before_it_is_given_up() {
    if std::path::Path::new("/usr/bin/rustc").exists() {
        println!("skipped: this machine has a /usr/bin/rustc");
        return;
    }
    let machine = Dir::new("old-debian");
    let asked = machine.path("asked");
    let apt = format!("echo \"$1\" >> {}", asked.display());
    let machine = machine.with_programs(&[("apt-get", &apt), ROOT, ("qemu-system-arm", QEMU), ("rustc", "exit 1")]);
    let output =
        support::xtask(&["size"]).env("PATH", machine.path("")).env("STILLPOINT_TOOLCHAIN", "debian").output().unwrap();
    assert_refused(&output, &["from fresh package lists, but /usr/bin/rustc is not there"]);
    assert_eq!(std::fs::read_to_string(asked).unwrap(), "--version\ninstall\nupdate\ninstall\n");
}

#[test]
fn an_old_qemu_is_refused_with_the_version_needed() {
    let old = r#"echo "QEMU emulator version 5.2.0 (Debian 1:5.2+dfsg-11)""#;
    let output = Dir::new("old").with_programs(&[("qemu-system-arm", old)]).run(DEMO);
    assert_refused(&output, &["qemu-system-arm 5.2.0 is too old", "needs 7.2.0 or newer"]);
}

#[test]
fn a_qemu_that_does_not_run_is_told_apart_from_a_missing_one() {
    let output = Dir::new("broken").with_programs(&[("qemu-system-arm", "echo libfoo.so >&2; exit 127")]).run(DEMO);
    assert_refused(&output, &["does not run", "libfoo.so", "reinstall"]);
}

#[test]
fn a_target_that_rustup_cannot_add_is_an_error_when_rustup_is_forced() {
    let machine = Dir::new("no-target").with_programs(&[
        ("qemu-system-arm", QEMU),
        ("rustc", "echo /no/such/sysroot"),
        ("rustup", "echo 'error: could not download file' >&2; exit 1"),
    ]);
    let output =
        support::xtask(&["size"]).env("PATH", machine.path("")).env("STILLPOINT_TOOLCHAIN", "rustup").output().unwrap();
    assert_refused(&output, &["rustup could not add it", "could not download file"]);
}

#[test]
fn a_mistyped_toolchain_is_refused_with_the_names_there_are() {
    let output = support::xtask(&["size"]).env("STILLPOINT_TOOLCHAIN", "debain").output().unwrap();
    assert_refused(&output, &["\"debain\" is no toolchain", "rustup, debian"]);
}

#[test]
fn a_mistyped_tier_suggests_the_one_that_was_meant() {
    let output = support::xtask(&["test", "traget"]).output().unwrap();
    assert_refused(&output, &["there is no tier \"traget\"", "Did you mean `target`?", "lint"]);
}
