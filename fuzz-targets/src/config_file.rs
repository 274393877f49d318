//! The text of a configuration file: it can be used, or one short sentence says why not.

use node::cli::check_config;

/// Nobody writes that much, and it costs that much to look at every key that is not known.
const SENTENCE_BYTES_MAX: usize = 4 << 10;

pub(super) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Err(why) = check_config(text) {
        assert!(!why.is_empty(), "no reason");
        assert!(why.len() <= SENTENCE_BYTES_MAX + 2 * text.len(), "{} bytes of reasons", why.len());
    }
}

pub(super) fn seeds() -> Vec<(String, Vec<u8>)> {
    let files = [
        ("small", "chain-spec = \"net/chain-spec.json\"\nbuilder-key = \"net/builder.key\"\n"),
        (
            "many",
            "# A node.\nchain-spec = 'a.json'\ngenesis = 'b.json'\nslot-ms = 6000\nhttp-addr = \"::1\"\nhttp-port = 9\n\
             queue-policy = \"spec\"\nlog-format = \"json\"\ndry-run = true\nmin-gas-price = 1_000\n\
             fee-recipient = \"0x00000000000000000000000000000000000000fe\"\n",
        ),
        ("nearly", "http_port = 1\nchain-sepc = 'a'\n"),
        ("wrong", "http-port = 70000\ndata-dir = [1, {a = 1979-05-27T07:32:00Z}]\n[table]\nx = 1e9\n"),
    ];
    files.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into()
}
