//! Commands that any process may leave for the owner of an account, who obeys them. A command is a row that is created
//! without an epoch and deleted in the commit that carries it out.

use super::{AccountId, Authority, Commit, Fees, Precondition, RequestId, Write, key, quantity};
use serde::{Deserialize, Serialize};
use types::Time;

/// What is to be done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CommandKind {
    /// Cancel a request.
    Cancel(RequestId),
    /// Cancel a request, unless something of it has left.
    Withdraw(RequestId),
    /// Bump the fees of a pending transaction, to these at least if there are any.
    Replace(RequestId, Option<Fees>),
    /// Bind no more nonces.
    Pause,
    /// Go on.
    Resume,
    /// Look at the chain and forget free nonces that nothing needs.
    Reset,
}

/// A command.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Command {
    /// Its name.
    pub id: RequestId,
    /// Whose owner is to obey.
    pub account: AccountId,
    /// When it was given.
    #[serde(with = "quantity::time")]
    pub at: Time,
    /// What is to be done.
    pub kind: CommandKind,
}

impl Command {
    /// Its row.
    pub fn key(&self) -> String {
        key::command(self.account, self.at, &self.id)
    }

    /// Leaves it.
    pub fn commit(&self) -> Result<Commit, serde_json::Error> {
        let key = self.key();
        Ok(Commit {
            authority: Authority::Intake,
            preconditions: vec![Precondition::Absent(key.clone())],
            writes: vec![Write::Put(key, serde_json::to_vec(self)?)],
        })
    }
}
