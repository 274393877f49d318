use super::*;
use crate::http::{Client, Rules};
use alloy_primitives::{address, hex, keccak256};
use futures_util::FutureExt;
use std::{net::SocketAddr, os::unix::fs::PermissionsExt};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// For tests that are not about how long it takes.
const QUICK: Cost = Cost { log_n: 4 };

fn password(text: &str) -> Password {
    Password::new(text.to_owned()).unwrap()
}

fn key() -> SecretKey {
    SecretKey::parse("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80").unwrap()
}

/// A keystore around a key derivation.
fn example(kdf: &str, iv: &str, ciphertext: &str, mac: &str) -> String {
    format!(
        r#"{{"crypto":{{"cipher":"aes-128-ctr","cipherparams":{{"iv":"{iv}"}},"ciphertext":"{ciphertext}",
        {kdf},"mac":"{mac}"}},"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}}"#
    )
}

#[test]
fn keystores_that_others_made_are_opened() {
    // Made by OpenSSL's scrypt and AES.
    let scrypt = example(
        r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":262144,"p":1,"r":8,
        "salt":"ab0c7876052600dd703518d6fc3fe8984592145b591fc8fb5c6d43190334ba19"}"#,
        "83dbcc02d8ccb40e466191a123791e0e",
        "b160ff7e6d855b53a3f8d65e4b2850584cfaa01751807f19d07c298de16f802d",
        "daeeba49ffae86381ae33f74c05dc0038888a7806267a04a1ae2183a7f2b7b17",
    );
    // The example of the format's definition.
    let pbkdf2 = example(
        r#""kdf":"pbkdf2","kdfparams":{"c":262144,"dklen":32,"prf":"hmac-sha256",
        "salt":"ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"}"#,
        "6087dab2f9fdbbfaddc31a909735c1e6",
        "5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46",
        "517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2",
    );
    let expected =
        SecretKey::parse("7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d").unwrap();
    for text in [scrypt, pbkdf2] {
        let keystore = Keystore::from_json(&text).unwrap();
        assert_eq!(keystore.decrypt(&password("testpassword")).unwrap().address(), expected.address());
        let error = keystore.decrypt(&password("another")).unwrap_err();
        assert!(matches!(error, KeystoreError::WrongPassword));
    }
}

#[test]
fn what_would_take_too_much_is_refused_before_it_is_begun() {
    let with = |kdf: &str| {
        let text = example(kdf, &"00".repeat(16), &"00".repeat(32), &"00".repeat(32));
        Keystore::from_json(&text).and_then(|keystore| keystore.decrypt(&password("x")))
    };
    for kdf in [
        r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":1099511627776,"p":1,"r":8,"salt":"00"}"#,
        r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":262144,"p":1,"r":4294967295,"salt":"00"}"#,
        r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":3,"p":1,"r":8,"salt":"00"}"#,
        r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":0,"p":1,"r":8,"salt":"00"}"#,
        r#""kdf":"scrypt","kdfparams":{"dklen":32,"n":4,"p":4294967295,"r":8,"salt":"00"}"#,
        r#""kdf":"pbkdf2","kdfparams":{"c":4294967295,"dklen":32,"prf":"hmac-sha256","salt":"00"}"#,
        r#""kdf":"pbkdf2","kdfparams":{"c":1,"dklen":32,"prf":"md5","salt":"00"}"#,
        r#""kdf":"none","kdfparams":{}"#,
    ] {
        assert!(matches!(with(kdf), Err(KeystoreError::Unsupported(_))), "{kdf}");
    }
    for text in ["", "{}", "[]", r#"{"version":3,"crypto":"canary"}"#] {
        let error = Keystore::from_json(text).unwrap_err().to_string();
        assert!(!error.contains("canary"), "{error}");
    }
}

#[tokio::test]
async fn a_directory_of_keys_is_opened_and_grows() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let file = Keystores::store(&path, &key(), &password("secret"), QUICK).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
    let again = Keystores::store(&path, &key(), &password("other"), QUICK).unwrap_err();
    assert!(matches!(again, KeysError::Exists(_)), "{again}");
    let keys = Keystores::open(&path, password("secret"), QUICK).unwrap();
    let made = keys.create().await.unwrap();
    let known = address!("f39Fd6e51aad88F6F4ce6aB8827279cffFb92266");
    assert_eq!(keys.addresses(), [known, made]);
    // What was made is there for the next one.
    let mut again = Keystores::open(&path, password("secret"), QUICK).unwrap().addresses();
    again.sort();
    let mut all = [known, made];
    all.sort();
    assert_eq!(again, all);
    let signature = keys.signer(made).unwrap().sign(b"words").await.unwrap();
    assert_eq!(signature.recover_address_from_prehash(&keccak256(b"words")).unwrap(), made);
    let error = Keystores::open(&path, password("wrong"), QUICK).unwrap_err();
    assert!(error.to_string().ends_with("the password is wrong"), "{error}");
    std::fs::write(path.join("zz.json"), "not a keystore").unwrap();
    let error = Keystores::open(&path, password("secret"), QUICK).unwrap_err().to_string();
    assert!(error.contains("zz.json") && error.contains("not a keystore that can be used"), "{error}");
}

#[test]
fn a_file_that_could_not_be_written_whole_is_not_there() {
    let directory = tempfile::tempdir().unwrap();
    let (path, names) = (directory.path().join("key.json"), || std::fs::read_dir(directory.path()).unwrap());
    let full = whole_file::create(directory.path(), &path, |file| {
        std::io::Write::write_all(file, b"{ \"crypto\": ")?;
        // The power may go at this moment: what is there is no keystore, and nobody takes it for one.
        assert_eq!(names().count(), 1);
        assert_eq!(Keystores::list(directory.path()).unwrap(), []);
        Err(std::io::ErrorKind::StorageFull.into())
    });
    assert_eq!(full.unwrap_err().kind(), std::io::ErrorKind::StorageFull);
    assert_eq!(names().count(), 0);
    whole_file::create(directory.path(), &path, |file| std::io::Write::write_all(file, b"first")).unwrap();
    let taken = whole_file::create(directory.path(), &path, |_| Ok(())).unwrap_err();
    assert_eq!(taken.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!((std::fs::read(&path).unwrap().as_slice(), names().count()), (&b"first"[..], 1));
}

#[test]
fn what_an_interrupted_write_left_behind_keeps_no_node_from_starting() {
    let directory = tempfile::tempdir().unwrap();
    Keystores::store(directory.path(), &key(), &password("secret"), QUICK).unwrap();
    std::fs::write(directory.path().join(".unfinished-00"), "{ \"cry").unwrap();
    assert_eq!(Keystores::list(directory.path()).unwrap().len(), 1);
    assert_eq!(Keystores::open(directory.path(), password("secret"), QUICK).unwrap().addresses().len(), 1);
}

#[tokio::test]
async fn a_key_that_nobody_waits_for_is_managed_all_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let keys = Keystores::open(directory.path(), password("secret"), QUICK).unwrap();
    {
        let mut making = keys.create();
        // It is begun, and whoever asked for it goes away.
        assert!((&mut making).now_or_never().is_none());
    }
    // The turn comes back when it is done.
    let _turn = keys.making.acquire().await.unwrap();
    assert_eq!(Keystores::list(directory.path()).unwrap().len(), 1);
    assert_eq!(keys.addresses().len(), 1);
}

#[tokio::test]
async fn keys_are_made_one_at_a_time() {
    let directory = tempfile::tempdir().unwrap();
    let keys = Keystores::open(directory.path(), password("secret"), QUICK).unwrap();
    let turn = keys.making.acquire().await.unwrap();
    let mut waiting = keys.create();
    assert!((&mut waiting).now_or_never().is_none());
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!((&mut waiting).now_or_never().is_none());
    assert_eq!(Keystores::list(directory.path()).unwrap(), []);
    // Whoever gives up while it waits has begun nothing.
    drop(waiting);
    drop(turn);
    assert_eq!(Keystores::list(directory.path()).unwrap(), []);
    let made = [keys.create(), keys.create(), keys.create()];
    assert!(futures_util::future::join_all(made).await.iter().all(Result::is_ok));
    assert_eq!(keys.addresses().len(), 3);
}

#[test]
fn our_own_files_cost_what_they_must() {
    assert_eq!(Cost::default().log_n, 18);
    let keystore = Keystore::encrypt(&key(), &password("secret"), Cost::default()).unwrap();
    assert!(keystore.to_json().contains("\"n\": 262144"));
    assert_eq!(keystore.decrypt(&password("secret")).unwrap().address(), key().address());
}

#[test]
fn secrets_are_not_printed() {
    let canary = "00000000000000000000000000000000000000000000000000000000c0ffee00";
    let key = SecretKey::parse(canary).unwrap();
    let secret = password("hunter2");
    let signer = LocalSigner::from(&key);
    let directory = tempfile::tempdir().unwrap();
    Keystores::store(directory.path(), &key, &secret, QUICK).unwrap();
    let keys = Keystores::open(directory.path(), secret.clone(), QUICK).unwrap();
    let printed = format!("{key:?} {secret:?} {signer:?} {keys:?}");
    let wrong = SecretKey::parse(&format!("{canary}zz")).unwrap_err();
    let printed = format!("{printed} {wrong} {:?}", Password::new(String::new()).unwrap_err());
    assert!(!printed.contains("c0ffee") && !printed.contains("hunter2"), "{printed}");
    assert!(SecretKey::parse(&"0".repeat(64)).is_err() && SecretKey::parse(&"f".repeat(64)).is_err());
}

/// Speaks web3signer's interface with one key; `bad` answers with a signature of something else.
async fn web3signer(bad: bool) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let signer = key().signer();
    let public = signer.credential().verifying_key().to_encoded_point(false);
    let name = hex::encode_prefixed(&public.as_bytes()[1..]);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let mut bytes = vec![0; 64 * 1024];
            let length = stream.read(&mut bytes).await.unwrap();
            let text = String::from_utf8_lossy(&bytes[..length]).into_owned();
            let (status, body) = stub_answer(&text, &name, &signer, bad);
            let answer = format!(
                "HTTP/1.1 {status} X\r\ncontent-type: text/plain\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    at
}

fn stub_answer(
    request: &str,
    name: &str,
    signer: &alloy_signer_local::PrivateKeySigner,
    bad: bool,
) -> (u16, String) {
    use alloy_signer::SignerSync;
    if request.starts_with("GET /api/v1/eth1/publicKeys ") {
        return (200, format!("[\"{name}\"]"));
    }
    if !request.starts_with(&format!("POST /api/v1/eth1/sign/{name} ")) {
        return (404, "unknown key".into());
    }
    let body = request.split("\r\n\r\n").nth(1).unwrap();
    let body = serde_json::from_str::<serde_json::Value>(body).unwrap();
    let mut data = hex::decode(body["data"].as_str().unwrap()).unwrap();
    if data == b"forbidden" {
        return (400, "not that".into());
    }
    if bad {
        data.push(0);
    }
    let signature = signer.sign_hash_sync(&keccak256(&data)).unwrap();
    (200, hex::encode_prefixed(signature.as_bytes()))
}

#[tokio::test]
async fn a_remote_signer_signs_and_is_not_believed_blindly() {
    let client = || Client::new(Rules::anywhere());
    let at = web3signer(false).await;
    let remote = Web3Signer::connect(&format!("http://{at}/"), client()).await.unwrap();
    assert_eq!(remote.addresses(), [key().address()]);
    let signer = remote.signer(key().address()).unwrap();
    let signature = signer.sign(b"words").await.unwrap();
    assert_eq!(signature.recover_address_from_prehash(&keccak256(b"words")).unwrap(), key().address());
    assert_eq!(signer.sign(b"forbidden").await, Err(SignerError::Refused("not that".into())));
    assert!(matches!(remote.create().await, Err(SignerError::ReadOnly(_))));
    let at = web3signer(true).await;
    let remote = Web3Signer::connect(&format!("http://{at}"), client()).await.unwrap();
    let wrong = remote.signer(key().address()).unwrap().sign(b"words").await;
    assert!(matches!(wrong, Err(SignerError::Refused(_))), "{wrong:?}");
    let nobody = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let error = Web3Signer::connect(&format!("http://{nobody}/hunter2"), client()).await.unwrap_err();
    assert!(
        matches!(error, SignerError::Unavailable(_)) && !error.to_string().contains("hunter2"),
        "{error}"
    );
}

#[tokio::test]
async fn key_files_are_there_after_a_restart_and_only_for_their_owner() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("keys");
    let first = KeyFiles::open(&path).unwrap();
    assert_eq!(first.addresses(), Vec::<Address>::new());
    let (one, two) = (first.create().await.unwrap(), first.create().await.unwrap());
    let again = KeyFiles::open(&path).unwrap();
    let mut expected = vec![one, two];
    expected.sort();
    assert_eq!(again.addresses(), expected);
    let signature = again.signer(one).unwrap().sign(b"x").await.unwrap();
    assert_eq!(signature.recover_address_from_prehash(&keccak256(b"x")).unwrap(), one);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let file = path.join(hex::encode(one)).with_extension("key");
    assert_eq!((mode(&path), mode(&file)), (0o700, 0o600));
    // A file that is damaged is an error that does not repeat it.
    std::fs::write(&file, "canary").unwrap();
    let damaged = KeyFiles::open(&path).unwrap_err().to_string();
    assert!(damaged.contains(&hex::encode(one)) && !damaged.contains("canary"), "{damaged}");
}
