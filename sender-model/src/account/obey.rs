//! Commands that other processes have left.

use super::{Account, OperationError, watch::millis};
use crate::{Command, CommandKind, Write};
use types::Time;

/// How long a command is kept that cannot be obeyed yet.
const COMMAND_AGE_MAX_MS: u64 = 600_000;

impl Account {
    /// Obeys a command that somebody left, and deletes it in the same commit. One that cannot be obeyed yet is kept for a
    /// while; whoever left it has no other way to hear of it than that it is done.
    pub fn handle_command(&mut self, command: &Command, now: Time) -> Result<(), OperationError> {
        if command.account != self.id {
            return Err(OperationError::NotInFlight);
        }
        let obeyed = self.obey(&command.kind, now);
        let young = now.since(command.at) < millis(COMMAND_AGE_MAX_MS);
        if !(young && obeyed.is_err_and(|why| why.should_retry())) {
            self.changes.write(Write::Delete(command.key()));
        }
        obeyed
    }

    fn obey(&mut self, kind: &CommandKind, now: Time) -> Result<(), OperationError> {
        match kind {
            CommandKind::Cancel(id) => self.cancel(id, now).map(|_| ()),
            CommandKind::Withdraw(id) => self.withdraw(id, now).map(|_| ()),
            CommandKind::Replace(id, fees) => self.replace(id, *fees, now),
            CommandKind::Pause => {
                self.pause_sending(true);
                Ok(())
            }
            CommandKind::Resume => {
                self.pause_sending(false);
                Ok(())
            }
            CommandKind::Reset => self.reset(now),
        }
    }
}
