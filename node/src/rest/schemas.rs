//! The schemas of the document: what comes out, to the last field, and what may come in.

use serde_json::{Map, Value, json};

fn reference(schema: &str) -> Value {
    json!({ "$ref": format!("#/components/schemas/{schema}") })
}

/// An object that has these fields and no others; those with a `?` may be missing.
fn object(description: &str, fields: &[(&str, Value)]) -> Value {
    let name = |field: &str| field.trim_end_matches('?').to_owned();
    let required = fields.iter().filter(|(field, _)| !field.ends_with('?')).map(|(field, _)| *field);
    let properties = fields.iter().map(|(field, schema)| (name(field), schema.clone()));
    json!({
        "type": "object",
        "description": description,
        "properties": properties.collect::<Map<_, _>>(),
        "required": required.collect::<Vec<_>>(),
        "additionalProperties": false,
    })
}

fn list(items: &str) -> Value {
    json!({ "type": "array", "items": reference(items) })
}

fn page(items: &str) -> Value {
    let next =
        json!({ "type": ["string", "null"], "description": "The next page's `after`; null after the last." });
    object("A part of a list.", &[("items", list(items)), ("next", next)])
}

fn nullable(schema: &str) -> Value {
    json!({ "anyOf": [reference(schema), { "type": "null" }] })
}

fn described(kind: &str, description: &str) -> Value {
    json!({ "type": kind, "description": description })
}

fn count(description: &str) -> Value {
    json!({ "type": "integer", "minimum": 0, "description": description })
}

fn maybe_count(description: &str) -> Value {
    json!({ "type": ["integer", "null"], "minimum": 0, "description": description })
}

fn one_of(description: &str, values: &[&str]) -> Value {
    json!({ "type": "string", "description": description, "enum": values })
}

const STATES: [&str; 10] = [
    "accepted",
    "bound",
    "submitted",
    "cancelling",
    "mined",
    "confirmed",
    "reverted",
    "cancelled",
    "expired",
    "failed",
];

/// The states that do not change any more.
const ENDS: [&str; 5] = ["confirmed", "reverted", "cancelled", "expired", "failed"];

/// What may stand in a path or a query under a name.
pub(super) fn parameter(name: &str) -> Value {
    match name {
        "address" => reference("Address"),
        "hash" => reference("Hash"),
        "key" => reference("RequestId"),
        "state" => one_of("Only in this state.", &STATES),
        "chainId" => count("The chain; the node's own by default."),
        "limit" => count("So many at most."),
        "after" => described("string", "The `next` of the page before."),
        "endpoint" => described("string", "Only to this endpoint."),
        "group" => described("string", "Only of this group's accounts."),
        _ => described("string", "Its name."),
    }
}

/// All schemas by name.
pub(super) fn all() -> Value {
    let parts = [values(), transactions(), states(), accounts(), groups(), webhooks()];
    Value::Object(parts.into_iter().flatten().map(|(name, schema)| (name.to_owned(), schema)).collect())
}

type Schemas = Vec<(&'static str, Value)>;

fn pattern(pattern: &str, description: &str) -> Value {
    json!({ "type": "string", "pattern": pattern, "description": description })
}

fn values() -> Schemas {
    vec![
        ("Address", pattern("^0x[0-9a-fA-F]{40}$", "An account.")),
        ("Hash", pattern("^0x[0-9a-fA-F]{64}$", "A hash of 32 bytes.")),
        ("Bytes", pattern("^0x([0-9a-fA-F]{2})*$", "Bytes.")),
        ("Quantity", pattern("^0x[0-9a-fA-F]{1,64}$", "An amount in wei, or wei per gas.")),
        (
            "RequestId",
            pattern(
                "^[A-Za-z0-9_.:-]{1,128}$",
                "A transaction's name: its idempotency key if there was one.",
            ),
        ),
        (
            "Account",
            object(
                "One account on one chain.",
                &[("chainId", count("The chain.")), ("address", reference("Address"))],
            ),
        ),
        (
            "Subject",
            json!({ "oneOf": [
                object("A request.", &[("request", reference("RequestId"))]),
                object("An account.", &[("account", reference("Account"))]),
            ] }),
        ),
        (
            "Done",
            object(
                "How an order was taken.",
                &[(
                    "result",
                    one_of("Done, or left for the process that runs the account.", &["done", "ordered"]),
                )],
            ),
        ),
        (
            "Problem",
            json!({
                "type": "object",
                "description": "What went wrong (RFC 9457). With NONCE_CONFLICT come currentNonce and attemptedNonce; with \
                    REQUEST_FORGOTTEN come requestId, outcome, hash and completedAt of a request whose record was removed and \
                    whose name is still used; with UNKNOWN comes the requestId to ask for, if there is one; with \
                    CHAIN_MISMATCH come groupChainId and chainId.",
                "properties": {
                    "title": { "type": "string" },
                    "status": { "type": "integer" },
                    "detail": { "type": "string" },
                    "error": { "type": "string", "pattern": "^[A-Z_]+$", "description": "For programs." },
                    "shouldRetry": { "type": "boolean", "description": "Whether the same may work later." },
                    "currentNonce": { "type": "integer" },
                    "attemptedNonce": { "type": "integer" },
                    "requestId": reference("RequestId"),
                    "outcome": one_of("How the request ended.", &ENDS),
                    "hash": nullable("Hash"),
                    "completedAt": count("When the request ended."),
                    "groupChainId": count("The group's chain."),
                    "chainId": count("The chain that the request names."),
                },
                "required": ["title", "status", "detail", "error", "shouldRetry"],
                "additionalProperties": false,
            }),
        ),
    ]
}

fn transactions() -> Schemas {
    let quantity = || reference("Quantity");
    let fee_pair = |description: &str| {
        object(description, &[("maxFeePerGas", quantity()), ("maxPriorityFeePerGas", quantity())])
    };
    let access =
        object("Slots of an account.", &[("address", reference("Address")), ("storageKeys", list("Hash"))]);
    vec![
        (
            "NewTransaction",
            object(
                "What is to be done, by one account (from) or by the least loaded one of a group.",
                &[
                    ("from?", nullable("Address")),
                    ("group?", json!({ "type": ["string", "null"] })),
                    (
                        "chainId?",
                        maybe_count(
                            "The chain; the node's own by default, or the group's. Another one than the group's is refused.",
                        ),
                    ),
                    ("to?", nullable("Address")),
                    ("value?", nullable("Quantity")),
                    ("data?", nullable("Bytes")),
                    ("gas?", maybe_count("The gas limit; estimated by default.")),
                    ("maxFeePerGas?", nullable("Quantity")),
                    ("maxPriorityFeePerGas?", nullable("Quantity")),
                    ("feeCap?", nullable("Quantity")),
                    ("accessList?", json!({ "type": "array", "items": access })),
                    ("legacy?", described("boolean", "Whether to use the form from before EIP-1559.")),
                    ("expiresAt?", maybe_count("When it may not be bound any more.")),
                ],
            ),
        ),
        (
            "RawTransaction",
            object(
                "A signed transaction for a nonce on loan.",
                &[("rawTransaction", reference("Bytes")), ("token", described("string", "The loan's."))],
            ),
        ),
        (
            "Replacement",
            object(
                "The least fees of the next attempt.",
                &[("maxFeePerGas?", nullable("Quantity")), ("maxPriorityFeePerGas?", nullable("Quantity"))],
            ),
        ),
        (
            "Cancelling",
            object(
                "How a cancellation was taken.",
                &[("result", one_of("How far it got.", &["cancelled", "cancelling", "tooLate", "ordered"]))],
            ),
        ),
        ("FeePair", fee_pair("The two fee fields, in wei per gas.")),
        (
            "Intent",
            object(
                "What is wanted.",
                &[
                    ("to", nullable("Address")),
                    ("value", quantity()),
                    ("data", reference("Bytes")),
                    ("gas", maybe_count("The gas limit, if the caller insisted on one.")),
                    ("fees", nullable("FeePair")),
                    ("feeCap", nullable("Quantity")),
                    (
                        "accessList",
                        json!({ "type": "array", "items": {
                        "type": "array", "prefixItems": [reference("Address"), list("Hash")], "minItems": 2, "maxItems": 2,
                    } }),
                    ),
                    ("legacy", described("boolean", "Whether it has the form from before EIP-1559.")),
                ],
            ),
        ),
        ("Transaction", transaction()),
        ("Transactions", page("Transaction")),
    ]
}

fn transaction() -> Value {
    object(
        "A transaction with all that was signed for it.",
        &[
            ("id", reference("RequestId")),
            ("status", one_of("The state's name.", &STATES)),
            ("hash", nullable("Hash")),
            ("account", reference("Account")),
            ("intent", reference("Intent")),
            ("body", reference("Hash")),
            ("acceptedAt", count("When it became durable.")),
            ("expiresAt", maybe_count("When it may not be bound any more.")),
            ("raw", described("boolean", "Whether it was signed elsewhere.")),
            ("state", reference("State")),
            ("events", count("Events told about it.")),
            ("rebinds", count("How often it lost its nonce to a transaction that is not ours.")),
            ("past", list("PastAttempt")),
            ("completedAt", maybe_count("When it ended.")),
            ("attempts", list("Attempt")),
        ],
    )
}

fn states() -> Schemas {
    let nonce = || count("The nonce.");
    let named = |name: &str, schema: Value| object("", &[(name, schema)]);
    let bound = |name: &str| named(name, object("", &[("nonce", nonce())]));
    let ended = |name: &str| {
        let fields = [("nonce", nonce()), ("hash", reference("Hash")), ("inclusion", reference("Inclusion"))];
        named(name, object("", &fields))
    };
    let held = json!({ "enum": ["funds", "paused", "feeTooHigh", "policy", "unfinal", null], "description": "Why it waits, if it does." });
    let simulation = object("", &[("reason", json!({ "type": "string" })), ("data", reference("Bytes"))]);
    let failure = json!({ "oneOf": [
        named("simulation", simulation), named("rejected", json!({ "type": "string" })), { "const": "nonceTaken" },
    ] });
    let kind = || one_of("What it is for.", &["payload", "noop"]);
    vec![
        (
            "State",
            json!({ "description": "Where it stands.", "oneOf": [
                named("accepted", object("", &[("held", held)])),
                bound("bound"), bound("submitted"), bound("cancelling"), bound("mined"),
                ended("confirmed"), ended("reverted"),
                { "const": "cancelled" }, { "const": "expired" }, named("failed", failure),
            ] }),
        ),
        (
            "Inclusion",
            object(
                "Where it was included, and how it ended.",
                &[
                    ("block", object("", &[("number", count("Height.")), ("hash", reference("Hash"))])),
                    ("success", described("boolean", "Whether it did what it was to do.")),
                    ("receipt?", json!({ "type": "object", "description": "As the chain gave it." })),
                ],
            ),
        ),
        (
            "Attempt",
            object(
                "Something that was signed.",
                &[
                    ("nonce", nonce()),
                    ("hash", reference("Hash")),
                    ("kind", kind()),
                    ("fees", reference("FeePair")),
                    ("status", one_of("Where it stands.", &["pending", "sent", "mined", "dropped"])),
                ],
            ),
        ),
        (
            "PastAttempt",
            object(
                "Something that was signed under a nonce that is settled.",
                &[
                    ("nonce", nonce()),
                    ("hash", reference("Hash")),
                    ("fees", reference("FeePair")),
                    ("kind", kind()),
                    ("mined", described("boolean", "Whether it is the one that was mined.")),
                ],
            ),
        ),
    ]
}

fn accounts() -> Schemas {
    let quantity = || reference("Quantity");
    let managed = object(
        "An account whose key is held here.",
        &[
            ("chainId", count("The chain.")),
            ("address", reference("Address")),
            ("group", json!({ "type": ["string", "null"] })),
            ("active", described("boolean", "Whether a worker of this process runs it now.")),
        ],
    );
    let health = object(
        "How an account is doing.",
        &[
            ("balance", nullable("Quantity")),
            ("balanceThreshold", quantity()),
            ("balanceFetchedAt", maybe_count("When the balance was seen.")),
            ("lastConfirmationAt", maybe_count("When a transaction last became final.")),
            ("lastNonceMovementAt", count("When the chain's count last rose.")),
            ("nonceResets", json!({ "type": "array", "items": { "type": "integer" }, "maxItems": 5 })),
            ("paused", described("boolean", "Whether no new nonces are bound.")),
            ("waiting", count("Requests without a nonce.")),
            ("held", count("Of these, held for a reason.")),
            ("stalled", described("boolean", "Whether the next one has been waiting for long.")),
        ],
    );
    let nonces = object(
        "The nonce book in numbers.",
        &[
            ("address", reference("Address")),
            ("trackedNonce", count("The next nonce.")),
            ("chainNonce", maybe_count("The chain's count, if it was seen.")),
            ("pendingCount", count("Nonces that are bound and not used up.")),
            ("oldestPendingAge", maybe_count("How long the oldest has been bound, in milliseconds.")),
            ("gapCount", count("Free nonces below the next one.")),
        ],
    );
    let loan = [
        ("nonce", count("The nonce.")),
        ("token", described("string", "What to show when coming back.")),
        ("until", count("When it ends.")),
    ];
    let release = [("nonce", count("The nonce.")), ("token", described("string", "The loan's."))];
    let quote = object(
        "What the chain asks for.",
        &[
            ("baseFeePerGas", quantity()),
            ("priorityFeePerGas", quantity()),
            ("market", one_of("Whether the chain has EIP-1559, or one gas price.", &["dynamic", "gasPrice"])),
        ],
    );
    let fees = [
        ("chainId", count("The chain.")),
        ("quote", quote),
        ("firstAttempt", reference("FeePair")),
        ("feeCap", quantity()),
        ("fetchedAt", count("When it was asked.")),
    ];
    let provider = json!({
        "type": "object",
        "description": "A provider, by its position in the settings: whether it is asked (state), its newest trouble with \
                        the reason, what it lacks, its calls and failures, and its limit of calls per second.",
        "additionalProperties": true,
    });
    let chain = object(
        "",
        &[
            ("chainId", count("The chain.")),
            ("trouble", json!({ "type": ["string", "null"] })),
            ("providers", json!({ "type": "array", "items": provider })),
        ],
    );
    let service = [
        ("status", one_of("How it is doing.", &["ok", "degraded"])),
        ("homeChain", count("The chain of callers who name none.")),
        ("chains", json!({ "type": "array", "items": chain })),
        ("store", object("", &[("trouble", json!({ "type": ["string", "null"] }))])),
        (
            "totals",
            json!({ "type": "object", "description": "Counted since the start.", "additionalProperties": { "type": "integer" } }),
        ),
    ];
    vec![
        ("ManagedAccount", managed),
        ("Accounts", list("ManagedAccount")),
        ("NewAccount", object("A new account.", &[("address", reference("Address"))])),
        ("Health", health),
        ("NonceHealth", nonces),
        (
            "Reservation",
            object("For how long.", &[("ttlMs?", maybe_count("Milliseconds; a minute by default."))]),
        ),
        ("Loan", object("A nonce on loan.", &loan)),
        ("Release", object("A nonce that comes back.", &release)),
        ("Fees", object("What a chain asks for.", &fees)),
        ("ServiceHealth", object("How the sender is doing.", &service)),
    ]
}

fn groups() -> Schemas {
    let funding = object(
        "Who pays for the accounts.",
        &[
            ("owner", reference("Address")),
            ("threshold", reference("Quantity")),
            ("amount", reference("Quantity")),
        ],
    );
    let fields = |optional: bool| {
        let name = |name: &'static str, with: &'static str| if optional { with } else { name };
        vec![
            ("name", pattern("^[A-Za-z0-9_-]+$", "Its name.")),
            ("chainId", count("The chain.")),
            (name("members", "members?"), list("Address")),
            (name("sizeMin", "sizeMin?"), count("It never has fewer accounts.")),
            (name("sizeMax", "sizeMax?"), count("It never grows above this.")),
            (
                name("transactionsPerAccount", "transactionsPerAccount?"),
                count("It grows when every account has as many waiting or in flight."),
            ),
            (name("funding", "funding?"), nullable("Funding")),
        ]
    };
    let mut group = fields(false);
    let top_ups = json!({ "type": "object", "additionalProperties": { "type": "integer" }, "description": "How often each account was topped up." });
    group.push(("topUps", top_ups));
    let paid = json!({ "type": "array", "items": reference("Address"), "description": "Accounts that were seen with a balance." });
    group.push(("paid", paid));
    vec![
        ("Funding", funding),
        ("NewGroup", object("What a group is to be.", &fields(true))),
        ("Group", object("A group as it is.", &group)),
        ("Groups", list("Group")),
        ("Growth", object("How many more.", &[("accounts", count("New accounts."))])),
    ]
}

fn webhooks() -> Schemas {
    let kinds = [
        "accepted",
        "submitted",
        "send_attempt_nack",
        "mined",
        "confirmed",
        "reverted",
        "failed",
        "replaced",
        "cancelled",
        "expired",
        "low_balance",
        "stalled",
        "nonce_gap",
        "action_required",
    ];
    let events = json!({ "type": "array", "items": one_of("An event.", &kinds), "description": "Only these; all if there are none." });
    let url = || json!({ "type": "string", "pattern": "^https?://", "description": "Where to post to; a public address." });
    let legacy = || described("boolean", "Whether to add the older header x-signature-sha256.");
    let made = |secret: bool| {
        let mut fields = vec![
            ("id", described("string", "Its name.")),
            ("url", url()),
            ("events", events.clone()),
            ("legacySignature", legacy()),
            ("createdAt", count("When it was made.")),
            ("rotatingUntil", maybe_count("Until when the secret before signs too.")),
        ];
        if secret {
            fields.push(("secret", pattern("^whsec_", "What signs. It is not shown again.")));
        }
        fields
    };
    let delivery = [
        ("id", described("string", "Its name.")),
        ("eventId", described("string", "The event's name, webhook-id.")),
        ("account", reference("Account")),
        ("subject", reference("Subject")),
        ("sequence", count("Which of the subject's events.")),
        ("endpoint", described("string", "Whom to tell.")),
        ("tries", count("Failures so far.")),
        ("nextAt", count("When it is tried next; of a dead letter, when it was given up.")),
    ];
    let new = [("url", url()), ("events?", events.clone()), ("legacySignature?", legacy())];
    vec![
        ("NewEndpoint", object("What an endpoint is to be told, and where.", &new)),
        ("Endpoint", object("An endpoint.", &made(false))),
        ("Endpoints", list("Endpoint")),
        ("EndpointWithSecret", object("An endpoint with its new secret.", &made(true))),
        ("Delivery", object("An event that an endpoint is to be told.", &delivery)),
        ("Deliveries", page("Delivery")),
    ]
}
