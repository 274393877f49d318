//! Events: one form for all that is told about a request, and a name that no other event ever has.

use super::harness::{Owner, account_id, id};
use crate::{Config, Event, Head, Inclusion, ReceiptAnswer, Subject};
use alloy_primitives::B256;
use types::Time;

fn events(owner: &Owner) -> Vec<Event> {
    let rows = owner.rows.iter().filter(|(key, _)| key.starts_with("e/"));
    rows.map(|(_, row)| serde_json::from_slice(row).unwrap()).collect()
}

#[test]
fn all_that_is_told_about_a_request_has_one_form() {
    let mut owner = Owner::new(Config::default());
    owner.accept("a");
    owner.run();
    let (nonce, hash) = owner.sent[0];
    let block = Head { number: 11, hash: B256::repeat_byte(11) };
    let inclusion = Inclusion { block, success: true, receipt: None };
    owner.view.latest_count += 1;
    owner.wait(1);
    owner.run();
    owner.account.handle_receipts(nonce, &[(hash, ReceiptAnswer::Found(inclusion))], owner.time());
    owner.commit();
    owner.accept("b");
    owner.account.cancel(&id("b"), owner.time()).unwrap();
    owner.commit();
    let told = events(&owner);
    let kinds: Vec<String> = told.iter().map(|event| format!("{:?}", event.kind)).collect();
    assert_eq!(kinds, ["Accepted", "Submitted", "Mined", "Accepted", "Cancelled"]);
    for event in &told {
        let data = event.data.as_object().unwrap();
        assert_eq!(data.keys().collect::<Vec<_>>(), ["attempts", "mined", "request"], "{:?}", event.kind);
        assert_eq!(data["request"]["events"], event.sequence);
        assert_eq!(Subject::Request(id(data["request"]["id"].as_str().unwrap())), event.subject);
        assert!(data["attempts"].is_array() && (data["mined"].is_null() || data["mined"].is_object()));
    }
    assert_eq!(told[1].data["attempts"][0]["hash"], format!("{hash}"));
    assert_eq!(told[2].data["mined"]["inclusion"]["block"]["number"], 11);
}

#[test]
fn no_two_events_have_the_same_name() {
    let (account, time) = (account_id(), |ms| Some(Time::from_millis(ms)));
    let of_account = Subject::Account(account);
    let disguised = Subject::Request(account.to_string().parse().unwrap());
    let twice = Subject::Request(id("order"));
    let longer = Subject::Request(id("order_5"));
    let names = [
        Event::id_of(&of_account, None, 1),
        Event::id_of(&of_account, None, 2),
        Event::id_of(&disguised, time(5), 1),
        // The same name again, after the first bearer was forgotten.
        Event::id_of(&twice, time(5), 1),
        Event::id_of(&twice, time(86_400_005), 1),
        Event::id_of(&longer, time(5), 1),
        Event::id_of(&longer, time(5), 5),
    ];
    let different: std::collections::BTreeSet<&String> = names.iter().collect();
    assert_eq!(different.len(), names.len(), "{names:?}");
}
