//! The store for several processes: Redis, with one script for each commit.
//!
//! The script looks at the epoch, at the lease's end by the server's clock, at all preconditions, and then writes: nothing
//! comes in between, because Redis runs one script at a time. There is no `WATCH`: a transaction that it aborts comes
//! back as an empty success in common clients.
//!
//! Rows are one hash, their names one sorted set, leases one hash; all three share a hash tag, so they live on one node
//! of a cluster. How durable a commit is, is the server's configuration: [`Redis::durability`] says it, and an operator
//! must be told if it is anything but [`Durability::EveryWrite`].

use super::{
    Acquired, Outcome, Pending, SCAN_ROWS_MAX, Store, StoreError,
    scripts::{COMMIT, LEASE, SCAN},
};
use core::fmt;
use redis::{
    Client, RedisError, Script,
    aio::{ConnectionManager, ConnectionManagerConfig},
};
use sender_model::{Authority, Commit, Fence, Key, Precondition, Value, Write};
use std::sync::{Arc, Mutex, PoisonError};
use types::{Duration, Time};

/// How the server is reached.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisOptions {
    /// The server's address, `redis://…`. It may hold a password and is therefore never printed.
    pub url: String,
    /// What all names begin with, so that several installations can share a server.
    pub namespace: String,
    /// How long an answer is waited for.
    pub answer_ms: u64,
}

impl fmt::Debug for RedisOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RedisOptions");
        shown.field("namespace", &self.namespace).field("answer_ms", &self.answer_ms).finish_non_exhaustive()
    }
}

/// What survives if the server loses power.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    /// Everything: the append-only file is synced at every write.
    EveryWrite,
    /// All but the last second.
    EverySecond,
    /// Nobody knows: the server does not say how it syncs.
    Unspecified,
    /// Possibly nothing: there is no append-only file.
    None,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::EveryWrite => "Redis syncs its append-only file at every write",
            Self::EverySecond => {
                "WARNING: Redis syncs its append-only file once a second: a power failure can lose the last second of \
                 accepted requests and bound nonces. Set appendfsync always"
            }
            Self::Unspecified => {
                "WARNING: Redis has an append-only file but does not say when it is synced. Set appendfsync always"
            }
            Self::None => {
                "WARNING: Redis has no append-only file: a restart can lose accepted requests and bound nonces. Set \
                 appendonly yes and appendfsync always"
            }
        })
    }
}

/// A Redis server. See the [module](self).
#[derive(Clone)]
pub struct Redis {
    connection: ConnectionManager,
    keys: [String; 3],
    durability: Durability,
    /// Why the last question had no answer, if it had none.
    trouble: Arc<Mutex<Option<String>>>,
}

impl fmt::Debug for Redis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redis").field("keys", &self.keys).field("durability", &self.durability).finish()
    }
}

impl Redis {
    /// Connects, and asks the server how durable it is.
    pub async fn connect(options: &RedisOptions) -> Result<Self, StoreError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
        if options.namespace.is_empty() || !options.namespace.bytes().all(plain) {
            return Err(StoreError::Unusable("a namespace has letters, digits and _ - . : only".into()));
        }
        // Errors of the address are not passed on: they might hold the password.
        let client = Client::open(options.url.as_str())
            .map_err(|_| StoreError::Unusable("the address of the Redis server is not one".into()))?;
        let patience = Some(Duration::from_millis(options.answer_ms));
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(patience)
            .set_connection_timeout(patience)
            .set_number_of_retries(2);
        let mut connection = ConnectionManager::new_with_config(client, config).await.map_err(unusable)?;
        let durability = ask_durability(&mut connection).await?;
        let name = |part: &str| format!("{{{}}}:{part}", options.namespace);
        Ok(Self {
            connection,
            keys: [name("rows"), name("names"), name("leases")],
            durability,
            trouble: Arc::default(),
        })
    }

    /// How durable commits are. Whoever starts this store tells the operator.
    pub fn durability(&self) -> Durability {
        self.durability
    }

    /// Runs a script. An error leaves open whether it ran.
    async fn run(&self, script: &'static str, arguments: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, StoreError> {
        let script = Script::new(script);
        let mut connection = self.connection.clone();
        let mut invocation = script.prepare_invoke();
        for key in &self.keys {
            invocation.key(key);
        }
        for argument in &arguments {
            invocation.arg(argument);
        }
        let answer: Result<Vec<Vec<u8>>, RedisError> = invocation.invoke_async(&mut connection).await;
        self.noted(answer).map_err(|error| StoreError::Unknown(error.to_string()))
    }

    /// Remembers whether the server answers.
    fn noted<T>(&self, answer: Result<T, RedisError>) -> Result<T, RedisError> {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        *trouble = answer.as_ref().err().map(|error| format!("Redis does not answer: {}", error.category()));
        answer
    }

    async fn keep(&self, what: &str, fence: Fence, ttl_ms: u64) -> Result<bool, StoreError> {
        let arguments = [what.to_owned(), fence.lease, fence.epoch.to_string(), ttl_ms.to_string()];
        let answer = self.run(LEASE, arguments.map(String::into_bytes).to_vec()).await?;
        Ok(answer.first().is_some_and(|word| word == b"kept"))
    }
}

fn unusable(error: impl fmt::Display) -> StoreError {
    StoreError::Unusable(error.to_string())
}

fn strange() -> StoreError {
    StoreError::Unknown("the Redis server gave an answer that it should not give".into())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn number(bytes: &[u8]) -> Result<u64, StoreError> {
    text(bytes).parse().map_err(|_| strange())
}

async fn ask_durability(connection: &mut ConnectionManager) -> Result<Durability, StoreError> {
    let info: String =
        redis::cmd("INFO").arg("persistence").query_async(connection).await.map_err(unusable)?;
    if !info.lines().any(|line| line.trim() == "aof_enabled:1") {
        return Ok(Durability::None);
    }
    // Servers that are rented often do not answer this.
    let policy: Result<Vec<String>, RedisError> =
        redis::cmd("CONFIG").arg("GET").arg("appendfsync").query_async(connection).await;
    Ok(match policy.ok().and_then(|pair| pair.into_iter().nth(1)).as_deref() {
        Some("always") => Durability::EveryWrite,
        Some("everysec") => Durability::EverySecond,
        _ => Durability::Unspecified,
    })
}

/// A commit as the script takes it: lease and epoch, preconditions, writes; three arguments each.
fn commit_arguments(commit: Commit) -> Vec<Vec<u8>> {
    let (lease, epoch) = match commit.authority {
        Authority::Holder(fence) => (fence.lease, fence.epoch.to_string()),
        Authority::Intake => (String::new(), String::new()),
    };
    let count = commit.preconditions.len().to_string();
    let mut arguments = vec![lease.into_bytes(), epoch.into_bytes(), count.into_bytes()];
    for precondition in commit.preconditions {
        let (kind, key, value) = match precondition {
            Precondition::Absent(key) => (b"A", key, vec![]),
            Precondition::Is(key, value) => (b"I", key, value),
        };
        arguments.extend([kind.to_vec(), key.into_bytes(), value]);
    }
    for write in commit.writes {
        let (kind, key, value) = match write {
            Write::Put(key, value) => (b"P", key, value),
            Write::Delete(key) => (b"D", key, vec![]),
        };
        arguments.extend([kind.to_vec(), key.into_bytes(), value]);
    }
    arguments
}

impl Store for Redis {
    fn commit(&self, commit: Commit) -> Pending<'_, Outcome> {
        Box::pin(async move {
            commit.check()?;
            let answer = self.run(COMMIT, commit_arguments(commit)).await?;
            match answer.as_slice() {
                [word] if word == b"committed" => Ok(Outcome::Committed),
                [word] if word == b"stale" => Ok(Outcome::Stale),
                [word, key] if word == b"conflict" => Ok(Outcome::Conflict(text(key))),
                _ => Err(strange()),
            }
        })
    }

    fn get(&self, keys: Vec<Key>) -> Pending<'_, Vec<Option<Value>>> {
        Box::pin(async move {
            if keys.is_empty() {
                return Ok(vec![]);
            }
            let mut connection = self.connection.clone();
            let mut command = redis::cmd("HMGET");
            command.arg(&self.keys[0]).arg(keys);
            self.noted(command.query_async(&mut connection).await).map_err(unusable)
        })
    }

    fn scan(&self, prefix: Key, after: Option<Key>, limit: usize) -> Pending<'_, Vec<(Key, Value)>> {
        Box::pin(async move {
            let from = match after.filter(|after| *after >= prefix) {
                Some(after) => format!("({after}"),
                None => format!("[{prefix}"),
            };
            let mut to = format!("({prefix}").into_bytes();
            to.push(0xff);
            let limit = limit.min(SCAN_ROWS_MAX).to_string();
            let rows = self.run(SCAN, vec![from.into_bytes(), to, limit.into_bytes()]).await?;
            let pairs = rows.chunks_exact(2).map(|pair| (text(&pair[0]), pair[1].clone()));
            Ok(pairs.collect())
        })
    }

    fn acquire(&self, lease: String, holder: String, ttl_ms: u64, force: bool) -> Pending<'_, Acquired> {
        Box::pin(async move {
            let force = if force { "force" } else { "" };
            let arguments = ["acquire".into(), lease, holder, ttl_ms.to_string(), force.into()];
            let answer = self.run(LEASE, arguments.map(String::into_bytes).to_vec()).await?;
            match answer.as_slice() {
                [word, epoch, until] if word == b"taken" => {
                    Ok(Acquired::Taken { epoch: number(epoch)?, until: Time::from_millis(number(until)?) })
                }
                [word, holder, until] if word == b"held" => {
                    Ok(Acquired::Held { holder: text(holder), until: Time::from_millis(number(until)?) })
                }
                _ => Err(strange()),
            }
        })
    }

    fn renew(&self, fence: Fence, ttl_ms: u64) -> Pending<'_, bool> {
        Box::pin(self.keep("renew", fence, ttl_ms))
    }

    fn release(&self, fence: Fence) -> Pending<'_, bool> {
        Box::pin(self.keep("release", fence, 0))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn trouble(&self) -> Option<String> {
        self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_password_is_not_printed() {
        let url = "redis://:hunter2@127.0.0.1:1/0".to_owned();
        let options = RedisOptions { url, namespace: "ours".to_owned(), answer_ms: 100 };
        let refused = Redis::connect(&options).await.unwrap_err();
        let printed = format!("{options:?} {refused:?} {refused}");
        assert!(printed.contains("ours") && !printed.contains("hunter2"), "{printed}");
    }
}
