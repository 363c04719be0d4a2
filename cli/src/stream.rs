//! What `decode` and `encode` share about streams: progress, and what happens to bad messages.

use std::fmt;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::args::OnError;
use crate::failure::{Failure, Outcome, say};
use crate::input::InputName;

/// A stream on its way through.
pub struct Progress {
    name: InputName,
    on_error: OnError,
    bar: ProgressBar,
    messages: u64,
    skipped: u64,
    drawn: u64,
}

/// How many bytes pass between two looks at the clock.
const STEP: u64 = 256 << 10;

impl Progress {
    /// Starts. The bar shows only where a person sees stderr, and nothing else comes by.
    pub fn new(name: &InputName, length: Option<u64>, on_error: OnError) -> Progress {
        let visible = std::io::stderr().is_terminal() && !std::io::stdout().is_terminal();
        let bar = match visible {
            false => ProgressBar::hidden(),
            true => {
                let (bar, template) = match length {
                    Some(length) => (ProgressBar::new(length), "{bar:30} {bytes} of {total_bytes}"),
                    None => (ProgressBar::new_spinner(), "{spinner} {bytes}"),
                };
                let template = format!("{template}, {{binary_bytes_per_sec}}, {{msg}}");
                let style = ProgressStyle::with_template(&template).unwrap_or_else(|_| ProgressStyle::default_bar());
                let target = ProgressDrawTarget::stderr_with_hz(10);
                let bar = bar.with_style(style);
                bar.set_draw_target(target);
                bar
            }
        };
        Progress { name: name.clone(), on_error, bar, messages: 0, skipped: 0, drawn: 0 }
    }

    /// The next message, which starts at this offset in the stream.
    pub fn next(&mut self, offset: u64) {
        self.messages += 1;
        if offset >= self.drawn + STEP {
            self.drawn = offset;
            self.bar.set_position(offset);
            self.bar.set_message(format!("{} messages", self.messages));
        }
    }

    /// This message is bad: an error, or a remark where such messages are skipped.
    pub fn bad(&mut self, offset: u64, what: impl fmt::Display) -> Outcome {
        let text = format!("message {} (at byte {offset}): {what}", self.messages);
        match self.on_error {
            OnError::Stop => Err(Failure::input(&self.name, text)),
            OnError::Skip => {
                self.skipped += 1;
                self.bar.suspend(|| say("skipped", format_args!("{}: {text}", self.name)));
                Ok(())
            }
        }
    }

    /// The stream is at its end.
    pub fn finish(self) {
        self.bar.finish_and_clear();
        if self.skipped > 0 {
            say("note", format_args!("{}: {} of {} messages were skipped", self.name, self.skipped, self.messages));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
