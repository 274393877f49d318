//! Wrong certificates, wrong names, wrong protocols, on either side.

use super::{
    Target, limits,
    rogue::{Papers, connect, connect_with, listen},
};
use jam::{Ed25519Key, Ed25519Secret, Hash, HeaderHash};
use network::DialError;
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};

fn key(index: u32) -> Ed25519Key {
    Ed25519Secret::trivial(index).public()
}

/// Why the target does not want to talk to a server with these papers, which it takes for peer `index`.
async fn dialled(target: &Target, papers: &Papers, index: u32) -> String {
    let addr = listen(papers, |connection| async move { drop(connection.closed().await) });
    match target.endpoint.dial(key(index), addr).await {
        Err(DialError::Handshake(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// Why the target does not let a client with these papers in.
async fn knocked(target: &mut Target, papers: &Papers) -> String {
    let connection = connect(papers, target.endpoint.local_addr().unwrap()).await;
    if let Ok(connection) = connection {
        connection.closed().await;
    }
    target.notes("handshake failed").await
}

#[tokio::test]
async fn wrong_certificate() {
    let mut target = Target::start(limits());
    let ecdsa = Papers {
        key: KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).unwrap(),
        ..Papers::proper(1, target.genesis)
    };
    // A client is not even asked to use another kind of key; if it has none that fits it shows nothing.
    let why = knocked(&mut target, &ecdsa).await;
    assert!(why.contains("peer sent no certificates") || why.contains("not an Ed25519 key"), "{why}");
    let why = dialled(&target, &ecdsa, 1).await;
    assert!(why.contains("handshake"), "{why}");
    let nothing = Papers::proper(1, target.genesis).client(false);
    if let Ok(connection) = connect_with(nothing, target.endpoint.local_addr().unwrap()).await {
        connection.closed().await;
    }
    let why = target.notes("handshake failed").await;
    assert!(why.contains("peer sent no certificates"), "{why}");
    // Somebody else's certificate without the key cannot be shown: TLS wants a signature of the handshake.
    assert!(target.endpoint.connections().is_empty());
    target.is_well().await;
}

#[tokio::test]
async fn wrong_name() {
    let mut target = Target::start(limits());
    let named = |names: &[&str]| {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        Papers { names, ..Papers::proper(1, target.genesis) }
    };
    let (own, other) = (key(1).certificate_name(), key(2).certificate_name());
    let not_its_own = named(&[&other]);
    let (two, none, address) = (named(&[&own, &other]), named(&[]), named(&["127.0.0.1"]));
    for papers in [&two, &none, &address] {
        let why = knocked(&mut target, papers).await;
        assert!(why.contains("Names"), "{why}");
        let why = dialled(&target, papers, 1).await;
        assert!(why.contains("Names"), "{why}");
    }
    let why = knocked(&mut target, &not_its_own).await;
    assert!(why.contains("OtherName"), "{why}");
    // Who was dialled is not who answers.
    let why = dialled(&target, &Papers::proper(1, target.genesis), 3).await;
    assert!(why.contains("OtherPeer"), "{why}");
    assert!(target.endpoint.connections().is_empty());
    target.is_well().await;
}

#[tokio::test]
async fn wrong_alpn() {
    let mut target = Target::start(limits());
    let other_chain = Papers::proper(1, HeaderHash(Hash::repeat_byte(7)));
    let why = knocked(&mut target, &other_chain).await;
    assert!(why.contains("peer doesn't support any known protocol"), "{why}");
    // Error 120 of TLS: no application protocol in common.
    let why = dialled(&target, &other_chain, 1).await;
    assert!(why.contains("error 120"), "{why}");
    let old = Papers { protocol: b"h3".to_vec(), ..Papers::proper(1, target.genesis) };
    knocked(&mut target, &old).await;
    assert!(target.endpoint.connections().is_empty());
    target.is_well().await;
}
