//! Reading a trace frame by frame, with no more of it in memory than one frame.
use super::envelope::{FrameError, PREFIX};
use super::frame::{Body, MAGIC};
use super::{Chunk, Damage, Header, MAX_BODY, TraceError};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

/// A trace that is being read.
///
/// To have all of it at once use [`TraceFile`](crate::TraceFile).
#[derive(Debug)]
pub struct TraceReader<R = BufReader<File>> {
    /// What was recorded.
    pub header: Header,
    /// How long the recording took, in microseconds, once its end was read.
    pub ended: Option<u64>,
    /// What keeps the rest of the file from being read.
    pub damage: Option<Damage>,
    /// How much was read.
    pub offset: u64,
    /// How much there is.
    pub size: u64,
    input: R,
    frame: Vec<u8>,
    path: PathBuf,
}

impl TraceReader {
    /// Opens a file and reads its header.
    pub fn open(path: &Path) -> Result<Self, TraceError> {
        let read = |source| TraceError::Read { path: path.to_owned(), source };
        let file = File::open(path).map_err(read)?;
        let size = file.metadata().map_err(read)?.len();
        Self::over(BufReader::with_capacity(1 << 16, file), size, path)
    }
}

impl<R: Read> TraceReader<R> {
    /// Reads from anything of `size` bytes; `path` is for messages.
    pub fn over(mut input: R, size: u64, path: &Path) -> Result<Self, TraceError> {
        let read = |source| TraceError::Read { path: path.to_owned(), source };
        let mut magic = Vec::new();
        input.by_ref().take(MAGIC.len() as u64).read_to_end(&mut magic).map_err(read)?;
        if magic != MAGIC {
            return Err(TraceError::NotATrace(path.to_owned()));
        }
        let (header, frame, offset) = (Header::default(), Vec::new(), MAGIC.len() as u64);
        let mut reader = Self { header, ended: None, damage: None, offset, size, input, frame, path: path.to_owned() };
        let in_header = |why| TraceError::Header { path: path.to_owned(), offset, why };
        match reader.frame().map_err(read)? {
            Ok(Some(Body::Header(header))) => reader.header = *header,
            Ok(Some(_)) => return Err(in_header(FrameError::Body("it is not the header".into()))),
            Ok(None) => return Err(in_header(FrameError::Truncated)),
            Err(why) => return Err(in_header(why)),
        }
        Ok(reader)
    }

    /// The next piece of log; none at the end, which is where the file ends or is damaged.
    pub fn chunk(&mut self) -> Result<Option<Chunk>, TraceError> {
        while self.damage.is_none() {
            let at = self.offset;
            let body = self.frame().map_err(|source| TraceError::Read { path: self.path.clone(), source })?;
            let why = match body {
                Ok(Some(Body::Log(chunk))) => return Ok(Some(chunk)),
                Ok(Some(Body::End(wall))) => {
                    self.ended = Some(wall);
                    continue;
                }
                Ok(None) => return Ok(None),
                // Whatever follows speaks of other nodes than the first header does.
                Ok(Some(Body::Header(_))) => FrameError::SecondHeader,
                Err(why) => why,
            };
            self.damage = Some(Damage { offset: at, why, lost: self.size.saturating_sub(at) });
        }
        Ok(None)
    }

    /// The next frame, whatever it is.
    fn frame(&mut self) -> io::Result<Result<Option<Body>, FrameError>> {
        self.frame.clear();
        self.fill(PREFIX)?;
        if let Some(length) = self.frame.first_chunk().map(|length| u32::from_le_bytes(*length) as usize)
            && length <= MAX_BODY
        {
            self.fill(PREFIX + length)?;
        }
        let decoded = Body::decode(&self.frame);
        if let Ok(Some((_, length))) = &decoded {
            self.offset += *length as u64;
        }
        Ok(decoded.map(|decoded| decoded.map(|(body, _)| body)))
    }

    /// Reads on until there are so many bytes of the frame, or no more.
    fn fill(&mut self, length: usize) -> io::Result<()> {
        let more = length.saturating_sub(self.frame.len()) as u64;
        self.input.by_ref().take(more).read_to_end(&mut self.frame).map(drop)
    }
}
