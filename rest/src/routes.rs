//! The table: every path with who answers it and what the document says about it.

use super::{Answer, Rest, accounts, call::Call, problem::Problem, transactions, webhooks};
use futures_util::future::BoxFuture;

/// An answer that is on its way.
pub(super) type Handled<'a> = BoxFuture<'a, Result<Answer, Problem>>;

/// One path with one method.
pub(super) struct Route {
    pub(super) method: &'static str,
    pub(super) path: &'static str,
    pub(super) handler: for<'a> fn(&'a Rest, &'a Call) -> Handled<'a>,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    /// Names of the query, by their names in `schemas::query`.
    pub(super) query: &'static [&'static str],
    /// The schema of the body.
    pub(super) body: Option<&'static str>,
    /// Whether `Idempotency-Key` means something.
    pub(super) idempotent: bool,
    /// Status, meaning and schema of what comes back when all is well.
    pub(super) answers: &'static [(u16, &'static str, Option<&'static str>)],
}

const fn route(
    method: &'static str,
    path: &'static str,
    handler: for<'a> fn(&'a Rest, &'a Call) -> Handled<'a>,
    tag: &'static str,
    summary: &'static str,
    answers: &'static [(u16, &'static str, Option<&'static str>)],
) -> Route {
    Route { method, path, handler, tag, summary, query: &[], body: None, idempotent: false, answers }
}

impl Route {
    const fn query(self, query: &'static [&'static str]) -> Self {
        Self { query, ..self }
    }

    const fn body(self, schema: &'static str) -> Self {
        Self { body: Some(schema), ..self }
    }

    const fn idempotent(self) -> Self {
        Self { idempotent: true, ..self }
    }
}

const TRANSACTIONS: &str = "transactions";
const ACCOUNTS: &str = "accounts";
const NONCES: &str = "nonces";
const GROUPS: &str = "groups";
const WEBHOOKS: &str = "webhooks";
const SERVICE: &str = "service";

const TRANSACTION: &[(u16, &str, Option<&str>)] = &[(200, "The transaction.", Some("Transaction"))];
const TAKEN: &[(u16, &str, Option<&str>)] = &[
    (202, "It is durable.", Some("Transaction")),
    (200, "It was known already; Idempotency-Replayed is true.", Some("Transaction")),
];
const DONE: &[(u16, &str, Option<&str>)] = &[(200, "It is done, or ordered.", Some("Done"))];
const NOTHING: &[(u16, &str, Option<&str>)] = &[(204, "It is done.", None)];
const LETTERS: &[&str] = &["chainId", "address", "endpoint", "after", "limit"];

/// Every path there is.
pub(super) const ROUTES: &[Route] = &[
    route(
        "POST",
        "/v1/transactions",
        transactions::submit,
        TRANSACTIONS,
        "Hands over a transaction to be sent. When this answers it is durable.",
        TAKEN,
    )
    .body("NewTransaction")
    .idempotent(),
    route(
        "POST",
        "/v1/transactions/raw",
        transactions::submit_raw,
        TRANSACTIONS,
        "Hands over a transaction that was signed elsewhere for a nonce on loan.",
        TAKEN,
    )
    .body("RawTransaction")
    .idempotent(),
    route(
        "GET",
        "/v1/transactions",
        transactions::list,
        TRANSACTIONS,
        "Transactions, page by page.",
        &[(200, "A page.", Some("Transactions"))],
    )
    .query(&["chainId", "address", "group", "state", "after", "limit"]),
    route(
        "GET",
        "/v1/transactions/{id}",
        transactions::get,
        TRANSACTIONS,
        "A transaction by its name.",
        TRANSACTION,
    ),
    route(
        "GET",
        "/v1/transactions/by-hash/{hash}",
        transactions::by_hash,
        TRANSACTIONS,
        "A transaction by the hash of any of its attempts.",
        TRANSACTION,
    ),
    route(
        "GET",
        "/v1/transactions/by-key/{key}",
        transactions::by_key,
        TRANSACTIONS,
        "A transaction by its idempotency key.",
        TRANSACTION,
    ),
    route(
        "POST",
        "/v1/transactions/{id}/cancel",
        transactions::cancel,
        TRANSACTIONS,
        "Cancels: at once if nothing has left, otherwise by a transaction that competes with it.",
        &[(200, "How far that got.", Some("Cancelling"))],
    ),
    route(
        "POST",
        "/v1/transactions/{id}/replace",
        transactions::replace,
        TRANSACTIONS,
        "Makes it dearer now, at least to these fees if there are any.",
        DONE,
    )
    .body("Replacement"),
    route(
        "GET",
        "/v1/accounts",
        accounts::list,
        ACCOUNTS,
        "The accounts whose keys are held here.",
        &[(200, "All of them.", Some("Accounts"))],
    ),
    route(
        "POST",
        "/v1/accounts",
        accounts::create,
        ACCOUNTS,
        "Makes a key, and with it an account on every chain.",
        &[(201, "The key is kept.", Some("NewAccount"))],
    ),
    route(
        "GET",
        "/v1/accounts/{address}/health",
        accounts::health,
        ACCOUNTS,
        "How an account is doing.",
        &[(200, "Its health.", Some("Health"))],
    )
    .query(&["chainId"]),
    route(
        "POST",
        "/v1/accounts/{address}/pause",
        accounts::pause,
        ACCOUNTS,
        "Binds no more nonces. What is in flight goes on.",
        DONE,
    )
    .query(&["chainId"]),
    route("POST", "/v1/accounts/{address}/resume", accounts::resume, ACCOUNTS, "Goes on.", DONE)
        .query(&["chainId"]),
    route(
        "GET",
        "/v1/accounts/{address}/nonce/health",
        accounts::nonce_health,
        NONCES,
        "The nonce book in numbers.",
        &[(200, "The numbers.", Some("NonceHealth"))],
    )
    .query(&["chainId"]),
    route(
        "POST",
        "/v1/accounts/{address}/nonce/reserve",
        accounts::reserve,
        NONCES,
        "Lends a nonce to an outside signer.",
        &[(201, "It is lent.", Some("Loan"))],
    )
    .query(&["chainId"])
    .body("Reservation"),
    route(
        "POST",
        "/v1/accounts/{address}/nonce/release",
        accounts::release,
        NONCES,
        "Takes a nonce back that its signer has not used.",
        NOTHING,
    )
    .query(&["chainId"])
    .body("Release"),
    route(
        "POST",
        "/v1/accounts/{address}/nonce/reset",
        accounts::reset,
        NONCES,
        "Brings the nonce book in line with the chain. What is in flight or on loan keeps its nonce.",
        DONE,
    )
    .query(&["chainId"]),
    route(
        "GET",
        "/v1/groups",
        accounts::groups,
        GROUPS,
        "All groups.",
        &[(200, "All of them.", Some("Groups"))],
    ),
    route(
        "POST",
        "/v1/groups",
        accounts::create_group,
        GROUPS,
        "Makes a group, with as many new accounts as it needs.",
        &[(201, "It is there.", Some("Group"))],
    )
    .body("NewGroup"),
    route(
        "GET",
        "/v1/groups/{name}",
        accounts::group,
        GROUPS,
        "A group.",
        &[(200, "The group.", Some("Group"))],
    ),
    route(
        "POST",
        "/v1/groups/{name}/grow",
        accounts::grow_group,
        GROUPS,
        "Adds new accounts to a group, at most up to its greatest size.",
        &[(200, "The group.", Some("Group"))],
    )
    .body("Growth"),
    route(
        "GET",
        "/v1/fees",
        accounts::fees,
        SERVICE,
        "What a chain asks for, and what would be offered.",
        &[(200, "At most a few seconds old.", Some("Fees"))],
    )
    .query(&["chainId"]),
    route(
        "GET",
        "/v1/health",
        accounts::service_health,
        SERVICE,
        "How the sender is doing: its chains and its numbers.",
        &[(200, "How it is doing.", Some("ServiceHealth"))],
    ),
    route(
        "GET",
        "/v1/webhooks",
        webhooks::list,
        WEBHOOKS,
        "All endpoints.",
        &[(200, "All of them, without secrets.", Some("Endpoints"))],
    ),
    route(
        "POST",
        "/v1/webhooks",
        webhooks::create,
        WEBHOOKS,
        "Makes an endpoint. Its secret is shown now and never again.",
        &[(201, "It is told from now on.", Some("EndpointWithSecret"))],
    )
    .body("NewEndpoint"),
    route("DELETE", "/v1/webhooks/{id}", webhooks::remove, WEBHOOKS, "Removes an endpoint.", NOTHING),
    route(
        "POST",
        "/v1/webhooks/{id}/rotate",
        webhooks::rotate,
        WEBHOOKS,
        "Gives an endpoint a new secret. The old one signs too for a day.",
        &[(200, "The new secret, shown now and never again.", Some("EndpointWithSecret"))],
    ),
    route(
        "GET",
        "/v1/deliveries",
        webhooks::deliveries,
        WEBHOOKS,
        "Deliveries that are still to be made.",
        &[(200, "A page.", Some("Deliveries"))],
    )
    .query(LETTERS),
    route(
        "GET",
        "/v1/dead-letters",
        webhooks::dead_letters,
        WEBHOOKS,
        "Deliveries that were given up.",
        &[(200, "A page.", Some("Deliveries"))],
    )
    .query(LETTERS),
    route(
        "POST",
        "/v1/dead-letters/{id}/replay",
        webhooks::replay,
        WEBHOOKS,
        "Tries a dead letter again, from the start.",
        NOTHING,
    ),
];
