"""web3.py with accounts whose keys the node holds: nothing is signed here."""

import os

from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from web3 import Web3


def same(what, actual, expected):
    if actual != expected:
        raise SystemExit(f"{what}: {actual} instead of {expected}")


node = Web3(Web3.HTTPProvider(os.environ["PECTIN_HTTP"]))
account = node.eth.accounts[5]
to = Web3.to_checksum_address("0x00000000000000000000000000000000000a0003")

sent = [node.eth.send_transaction({"from": account, "to": to, "value": 1}) for _ in range(5)]
receipts = [node.eth.wait_for_transaction_receipt(tx, poll_latency=0.1) for tx in sent]
same("status", [receipt["status"] for receipt in receipts], [1] * 5)
same("nonces", [node.eth.get_transaction(tx)["nonce"] for tx in sent], [0, 1, 2, 3, 4])
same("balance", node.eth.get_balance(to), 5)

message = "words to be signed"
answer = node.provider.make_request("personal_sign", [Web3.to_hex(text=message), account])
same("message", Account.recover_message(encode_defunct(text=message), signature=answer["result"]), account)
typed = {
    "types": {
        "EIP712Domain": [{"name": "name", "type": "string"}, {"name": "chainId", "type": "uint256"}],
        "Order": [{"name": "id", "type": "uint256"}, {"name": "by", "type": "address"}],
    },
    "primaryType": "Order",
    "domain": {"name": "Pectin", "chainId": 732846},
    "message": {"id": 7, "by": account},
}
# web3.py's own call is for the method of that name without a version, which has meant several things.
answer = node.provider.make_request("eth_signTypedData_v4", [account, typed])
signed = encode_typed_data(full_message=typed)
same("typed data", Account.recover_message(signed, signature=answer["result"]), account)
