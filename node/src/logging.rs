//! Log lines: the queue's and the node's, for people or for machines.

use crate::cli::LogFormat;
use std::{fmt, io::IsTerminal};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    EnvFilter,
    fmt::{
        FmtContext, FormatEvent, FormatFields, FormattedFields,
        format::Writer,
        time::{FormatTime, SystemTime},
    },
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

/// Which lines are written, or what is wrong with the words for it; `info` if there are none.
pub fn filter(words: Option<&str>) -> Result<EnvFilter, String> {
    let words = words.unwrap_or("info");
    EnvFilter::try_new(words).map_err(|why| format!("--log {words:?}: {why}"))
}

/// Starts writing log lines to standard output, or says what is wrong with the filter.
pub fn start(format: LogFormat, words: Option<&str>) -> Result<(), String> {
    let filter = filter(words)?;
    let registry = tracing_subscriber::registry().with(filter);
    let started = match format {
        LogFormat::Text | LogFormat::Spec => {
            let colours = std::io::stdout().is_terminal();
            let lines = tracing_subscriber::fmt::layer().with_ansi(colours).event_format(Line { colours });
            registry.with(lines).try_init()
        }
        LogFormat::Json => {
            registry.with(tracing_subscriber::fmt::layer().json().flatten_event(true)).try_init()
        }
    };
    // A second start in one process, as in tests, changes nothing.
    drop(started);
    Ok(())
}

/// One aligned line: time, level, the spans that it is in, the message and its fields.
struct Line {
    colours: bool,
}

impl<S, N> FormatEvent<S, N> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        SystemTime.format_time(&mut writer)?;
        let level = *event.metadata().level();
        let (on, off) = match (self.colours, level) {
            (true, Level::ERROR) => ("\u{1b}[31m", "\u{1b}[0m"),
            (true, Level::WARN) => ("\u{1b}[33m", "\u{1b}[0m"),
            _ => ("", ""),
        };
        write!(writer, " {on}{:<5}{off} ", level.as_str())?;
        for span in context.event_scope().into_iter().flat_map(|scope| scope.from_root()) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<N>>().map_or("", |fields| fields.as_str());
            write!(writer, "{}{{{fields}}}: ", span.name())?;
        }
        context.format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
