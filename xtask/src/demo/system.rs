//! The folder in which the demo's system lives.
use std::io;
use std::path::{Path, PathBuf};

/// A folder with a system file for two joined boards that run the same firmware.
pub struct SystemFolder(PathBuf);

/// Boards: A is left, B is right.
const BOARDS: [&str; 2] = ["A", "B"];

impl SystemFolder {
    /// Writes the system file. `words` are what the firmware of both boards finds on its command line, besides its name.
    pub fn write(folder: PathBuf, firmware: &Path, words: &[&str]) -> io::Result<Self> {
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("stillpoint.toml"), system_file(firmware, words))?;
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

fn system_file(firmware: &Path, words: &[&str]) -> String {
    let board = |name: &str| {
        let arguments: Vec<String> =
            [format!("board={name}")].into_iter().chain(words.iter().map(|word| (*word).to_owned())).collect();
        format!(
            "[[board]]\nname = \"{name}\"\nchip = \"mps2-an521\"\nprobe = \"qemu\"\nfirmware = {:?}\narguments = {arguments:?}\n\n",
            firmware.display().to_string()
        )
    };
    BOARDS.map(board).concat() + "[[link]]\nbetween = [\"A.uart1\", \"B.uart1\"]\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_boards_get_the_words_and_are_joined() {
        let text = system_file(Path::new("/fw/ring"), &["bug=duplicate"]);
        assert!(text.contains("firmware = \"/fw/ring\"\narguments = [\"board=A\", \"bug=duplicate\"]\n"), "{text}");
        assert!(text.contains("[\"board=B\", \"bug=duplicate\"]"), "{text}");
        assert!(text.ends_with("between = [\"A.uart1\", \"B.uart1\"]\n"), "{text}");
    }
}
