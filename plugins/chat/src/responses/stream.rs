//! A stream of chunks as the events of a response: around the translation that makes the chunks.

use gatehouse_sdk::{Chunk, Sse, TextFailure, Usage};
use gatehouse_text_protocols::relay::Translation;
use gatehouse_text_protocols::responses::{Echo, Reader};
use gatehouse_text_protocols::usage::TokenCounts;

/// The chunks of `inner`, read into events.
pub(crate) struct Responses<T> {
    inner: T,
    reader: Reader,
}

impl<T: Translation> Responses<T> {
    pub(crate) fn new(inner: T, echo: Echo) -> Self {
        Self { inner, reader: Reader::new(echo) }
    }

    fn translated(
        &mut self,
        translate: impl FnOnce(&mut T, &mut Chunk) -> Result<(), TextFailure>,
        out: &mut Chunk,
    ) -> Result<(), TextFailure> {
        let mut chunks = Chunk::default();
        let done = translate(&mut self.inner, &mut chunks);
        // The same text, whatever it is wrapped in.
        out.output_bytes = out.output_bytes.saturating_add(chunks.output_bytes);
        for chunk in chunks.send {
            self.reader.chunk(&chunk.data, self.inner.usage(), out);
        }
        done
    }
}

impl<T: Translation> Translation for Responses<T> {
    fn event(&mut self, event: Sse, out: &mut Chunk) -> Result<(), TextFailure> {
        self.translated(|inner, chunks| inner.event(event, chunks), out)
    }

    fn repeat(&mut self, event: &Sse, out: &mut Chunk) -> bool {
        let mut is_done = false;
        let repeat = |inner: &mut T, chunks: &mut Chunk| {
            is_done = inner.repeat(event, chunks);
            Ok(())
        };
        // What is repeated does not fail.
        let _ = self.translated(repeat, out);
        is_done
    }

    fn end(&mut self, out: &mut Chunk) -> Result<(), TextFailure> {
        self.translated(|inner, chunks| inner.end(chunks), out)
    }

    fn usage(&self) -> Option<Usage> {
        self.inner.usage()
    }

    fn counts(&self) -> &TokenCounts {
        self.inner.counts()
    }
}
