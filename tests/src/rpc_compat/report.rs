//! The table, and what was not expected.

use super::{Fixture, allowed, judge};
use harness::{http::Client, openrpc::Schemas};
use serde_json::Value;
use std::{collections::BTreeMap, fmt, io};

/// How one method did.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Line {
    /// Files with all answers equal.
    pub exact: usize,
    /// Files with all answers allowed.
    pub schema: usize,
    /// All files.
    pub total: usize,
}

/// How all did.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// By method.
    pub methods: BTreeMap<String, Line>,
    /// Files that miss, and why.
    pub misses: BTreeMap<String, String>,
    /// Misses that are not on the list.
    pub unexpected: Vec<String>,
    /// On the list, but no miss.
    pub stale: Vec<String>,
}

impl Report {
    /// Replays files against a server.
    pub fn of(url: &str, fixtures: &[Fixture], schemas: &Schemas) -> io::Result<Self> {
        let mut report = Self::default();
        let list = allowed();
        for fixture in fixtures {
            // Each file has a connection of its own, so that a broken one hurts nobody else.
            let mut client = Client::connect(url)?;
            let (exact, schema) = replay(&mut client, fixture, schemas);
            let line = report.methods.entry(fixture.method.clone()).or_default();
            line.total += 1;
            line.exact += usize::from(exact.is_ok());
            line.schema += usize::from(schema.is_ok());
            let passed = if fixture.spec_only { schema } else { exact };
            let whole = format!("{}/*", fixture.method);
            let listed = list.contains_key(&*fixture.name) || list.contains_key(&*whole);
            match passed {
                Ok(()) if list.contains_key(&*fixture.name) => report.stale.push(fixture.name.clone()),
                Ok(()) => {}
                Err(why) => {
                    if !listed {
                        report.unexpected.push(fixture.name.clone());
                    }
                    report.misses.insert(fixture.name.clone(), why);
                }
            }
        }
        Ok(report)
    }

    /// The sums over all methods.
    pub fn sum(&self) -> Line {
        self.methods.values().fold(Line::default(), |sum, line| Line {
            exact: sum.exact + line.exact,
            schema: sum.schema + line.schema,
            total: sum.total + line.total,
        })
    }
}

type Outcome = Result<(), String>;

fn replay(client: &mut Client, fixture: &Fixture, schemas: &Schemas) -> (Outcome, Outcome) {
    let (mut exact, mut schema) = (Ok(()), Ok(()));
    for (request, recorded) in &fixture.exchanges {
        let answer = match client.post(request.as_bytes()) {
            Ok(answer) if answer.status == 200 => {
                serde_json::from_slice::<Value>(&answer.body).map_err(|error| error.to_string())
            }
            Ok(answer) => Err(format!("HTTP status {}", answer.status)),
            Err(error) => Err(format!("no answer: {error}")),
        };
        match answer {
            Ok(answer) => {
                let verdict = judge(schemas, request, recorded, &answer);
                exact = exact.and(verdict.exact);
                schema = schema.and(verdict.schema);
            }
            Err(why) => {
                exact = exact.and(Err(why.clone()));
                schema = schema.and(Err(why));
            }
        }
    }
    (exact, schema)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:42} {:>5} {:>6} {:>5}", "method", "exact", "schema", "total")?;
        for (method, line) in &self.methods {
            writeln!(f, "{method:42} {:>5} {:>6} {:>5}", line.exact, line.schema, line.total)?;
        }
        for (name, why) in &self.misses {
            let expected = if self.unexpected.contains(name) { "MISS" } else { "allowed" };
            writeln!(f, "{expected} {name}: {why}")?;
        }
        for name in &self.stale {
            writeln!(f, "STALE {name} is on the list of misses and passes")?;
        }
        let Line { exact, schema, total } = self.sum();
        write!(f, "rpc-compat: exact {exact} of {total}, schema {schema} of {total}")
    }
}
