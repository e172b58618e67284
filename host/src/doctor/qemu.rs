//! Whether QEMU is here and new enough for emulated boards.
use super::{Answer, Check, Finding, Surroundings};

pub(super) struct QemuCheck;

const PROGRAM: &str = "qemu-system-arm";
/// The oldest version whose mps2-an521 was tried.
const OLDEST: (u32, u32) = (7, 2);

impl Check for QemuCheck {
    fn name(&self) -> &'static str {
        "QEMU"
    }

    fn findings(&self, around: &Surroundings) -> Vec<Finding> {
        // Without a system file the next one may well be for emulated boards.
        let needed = around.emulates();
        let missing = |what: String, fix: String| vec![Finding::missing(self.name(), needed, what, fix)];
        let said = match around.ask(PROGRAM, ["--version"]) {
            Answer::Said(said) => said,
            Answer::Missing => {
                let why = if needed { "emulated boards need it" } else { "no board here needs it" };
                return missing(format!("{PROGRAM} is not on the PATH; {why}"), around.install(PROGRAM));
            }
            Answer::Failed(why) => return missing(format!("{PROGRAM} does not run: {why}"), around.install(PROGRAM)),
        };
        let Some((version, number)) = version(&said) else {
            let what = format!("{PROGRAM} --version names no version: {:?}", said.lines().next().unwrap_or_default());
            return missing(what, format!("which {PROGRAM}    # is another program in its place?"));
        };
        if number < OLDEST {
            let (major, minor) = OLDEST;
            let what = format!("{PROGRAM} {version} is too old: the board mps2-an521 needs {major}.{minor} or newer");
            return missing(what, around.install(PROGRAM));
        }
        vec![Finding::ok(self.name(), format!("{PROGRAM} {version}"))]
    }
}

/// The version in `QEMU emulator version 7.2.22 (Debian ...)`, as text and as major and minor number.
fn version(said: &str) -> Option<(&str, (u32, u32))> {
    let text = said.lines().next()?.split_once("version ")?.1.split_whitespace().next()?;
    let mut numbers = text.split(|letter: char| !letter.is_ascii_digit()).map(str::parse);
    let mut next = || numbers.next()?.ok();
    Some((text, (next()?, next()?)))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::super::surroundings::Fake;
    use super::*;

    fn one(fake: &Fake) -> Finding {
        QemuCheck.findings(&fake.around()).remove(0)
    }

    #[test]
    fn a_missing_qemu_is_wrong_only_where_a_board_is_emulated() {
        assert_eq!(one(&Fake::new()).verdict, Verdict::Note);
        let found = one(&Fake::new().board("A", "mps2-an521", "qemu"));
        assert_eq!(
            (found.verdict, found.fix.as_deref()),
            (Verdict::Wrong, Some("sudo apt-get install qemu-system-arm"))
        );
    }

    #[test]
    fn old_broken_and_strange_ones_are_told_apart_from_a_good_one() {
        let with = |script: &str| one(&Fake::new().board("A", "mps2-an521", "qemu").program(PROGRAM, script));
        let good = with("echo 'QEMU emulator version 7.2.22 (Debian 1:7.2)'");
        assert_eq!((good.verdict, good.what.as_str()), (Verdict::Ok, "qemu-system-arm 7.2.22"));
        assert_eq!(with("echo QEMU emulator version 10.0.0-rc1").verdict, Verdict::Ok);
        for (script, why) in [
            ("echo QEMU emulator version 5.2.0", "5.2.0 is too old"),
            ("echo libfoo.so >&2; exit 127", "does not run: libfoo.so"),
            ("echo hello", "names no version: \"hello\""),
        ] {
            let found = with(script);
            assert_eq!(found.verdict, Verdict::Wrong);
            assert!(found.what.contains(why), "{found:?}");
        }
    }
}
