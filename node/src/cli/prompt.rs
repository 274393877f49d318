//! Passwords: from a file, or asked for on the terminal without showing them. Never from the command line, which every
//! process of the machine can read.

use super::Failure;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use sender::keys::{Password, PasswordError};
use std::{
    io::{self, BufRead, IsTerminal, Write},
    path::Path,
};
use zeroize::Zeroizing;

/// Turns the terminal's echo on again, whatever happens.
struct Silence(Termios);

impl Silence {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        silent.local_modes.remove(LocalModes::ECHO);
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        Ok(Self(before))
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        // If the terminal is gone nobody needs its echo.
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        eprintln!();
    }
}

/// The password of a file, or the one that is typed in; `twice` for one that nobody could check.
pub(super) fn password(file: Option<&Path>, what: &str, twice: bool) -> Result<Password, Failure> {
    if let Some(file) = file {
        let password = Password::read(file).map_err(Failure::usage)?;
        warn_if_others_can_read(file);
        return Ok(password);
    }
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage(format!("{what} is needed: give a password file, or run on a terminal")));
    }
    let first = ask(what)?;
    if twice && ask(&format!("{what}, again"))? != first {
        return Err(Failure::usage("the two passwords differ"));
    }
    Ok(first)
}

/// A password that others can read protects nothing. Some secret stores leave no choice, so it is no error.
fn warn_if_others_can_read(file: &Path) {
    #[cfg(unix)]
    if let Ok(found) = std::fs::metadata(file) {
        let mode = std::os::unix::fs::PermissionsExt::mode(&found.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            let why = format!("{} can be read by others (mode {mode:o}); chmod 600 it", file.display());
            // Commands that run to their end have no log.
            if tracing::dispatcher::has_been_set() {
                tracing::warn!("{why}");
            } else {
                eprintln!("pectin: warning: {why}");
            }
        }
    }
}

fn ask(what: &str) -> Result<Password, Failure> {
    eprint!("{what}: ");
    drop(io::stderr().flush());
    let silence = Silence::begin().map_err(Failure::usage)?;
    let mut line = Zeroizing::new(String::new());
    let read = io::stdin().lock().read_line(&mut line);
    drop(silence);
    read.map_err(Failure::usage)?;
    Password::new(std::mem::take(&mut *line)).map_err(|why: PasswordError| Failure::usage(why))
}
