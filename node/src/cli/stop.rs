//! Being asked to stop, by `SIGTERM` or from the keyboard.
//!
//! Whoever runs begins to listen before it does anything else: a signal before that ends the process at once, one after
//! it is never lost, however early it comes. The first lets everything be finished, a second one does not wait for that:
//! nothing that was acknowledged depends on it.

use super::{Failure, setup};
use std::{future::Future, time::Duration};
use tokio::sync::watch;

/// How long work that nobody waits for any more, such as a backup, may keep the process from ending.
const LEFT_TIMEOUT: Duration = Duration::from_secs(10);

/// Whether the process has been asked to stop.
#[derive(Debug)]
pub(super) struct Stop(watch::Receiver<bool>);

/// Runs something that listens for the signal to stop.
pub(super) fn run<F: Future<Output = Result<(), Failure>>>(
    act: impl FnOnce(Stop) -> F,
) -> Result<(), Failure> {
    let runtime = setup::runtime()?;
    let ended = runtime.block_on(async { act(Stop::listen()?).await });
    runtime.shutdown_timeout(LEFT_TIMEOUT);
    ended
}

impl Stop {
    fn listen() -> Result<Self, Failure> {
        let mut signals = Signals::new().map_err(Failure::runtime)?;
        let (stop, stopped) = watch::channel(false);
        tokio::spawn(async move {
            signals.next().await;
            stop.send_replace(true);
            signals.next().await;
            tracing::warn!(
                "asked to stop a second time: ended at once; nothing that was acknowledged is lost"
            );
            std::process::exit(1);
        });
        Ok(Self(stopped))
    }

    /// Waits until the process is asked to stop.
    pub(super) async fn asked(&mut self) {
        if self.0.wait_for(|asked| *asked).await.is_err() {
            // Nobody can ask any more.
            std::future::pending::<()>().await;
        }
    }

    /// Starts something, unless the process is asked to stop before it is ready.
    pub(super) async fn unless<T>(
        &mut self,
        start: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Option<T>, Failure> {
        tokio::select! {
            started = start => started.map(Some),
            () = self.asked() => {
                tracing::info!("stopped before it was ready");
                Ok(None)
            }
        }
    }
}

#[cfg(unix)]
struct Signals {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        drop(tokio::signal::ctrl_c().await);
    }
}
