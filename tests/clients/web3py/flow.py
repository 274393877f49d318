"""web3.py: the blocking client over HTTP, and the asynchronous one over a WebSocket for subscriptions."""

import asyncio
import json
import os
from pathlib import Path

from eth_account import Account
from web3 import AsyncWeb3, HTTPProvider, Web3, WebSocketProvider
from web3.exceptions import ContractCustomError, ContractLogicError, ContractPanicError, Web3RPCError
from web3.logs import STRICT
from web3.types import RPCEndpoint

CHAIN_ID = 732846
NAME = "Pectin Token"
SUPPLY = 1_000_000
NOBODY = "0x" + "00" * 20

node = Web3(HTTPProvider(os.environ["PECTIN_HTTP"]))
alice, bob = [Account.from_key(key) for key in os.environ["PECTIN_KEYS"].split(",")[:2]]


def artifact(name):
    return json.loads((Path(__file__).parent.parent / "artifacts" / f"{name}.json").read_text())


def same(what, actual, expected):
    """Ends the flow unless two values are the same."""
    if actual != expected:
        raise SystemExit(f"{what}: {actual!r} instead of {expected!r}")


def failure(what, kind, act):
    """The error that something must end with."""
    try:
        result = act()
    except kind as error:
        return error
    raise SystemExit(f"{what} did not fail, but gave {result!r}")


def send(function, **more):
    """Signs and sends a call of a contract, or a transaction without one; gives its hash."""
    fields = {"from": alice.address, "chainId": CHAIN_ID, "nonce": node.eth.get_transaction_count(alice.address), **more}
    if function is not None:
        fields = function.build_transaction(fields)
    return node.eth.send_raw_transaction(alice.sign_transaction(fields).raw_transaction)


def mined(sent, status=1):
    receipt = node.eth.wait_for_transaction_receipt(sent, timeout=60, poll_latency=0.1)
    same(f"status of {sent.to_0x_hex()}", receipt["status"], status)
    return receipt


def transfers(receipt):
    return [dict(event["args"]) for event in token.events.Transfer().process_receipt(receipt, errors=STRICT)]


# Deploy, and wait for two confirmations.
same("chain id", node.eth.chain_id, CHAIN_ID)
token = node.eth.contract(**artifact("Token"))
deployed = mined(send(token.constructor(NAME, SUPPLY)))
token = node.eth.contract(address=deployed["contractAddress"], abi=token.abi)
blocks = node.eth.filter("latest")
while node.eth.block_number < deployed["blockNumber"] + 2:
    blocks.get_new_entries()
call = token.functions

# Reads, also several in one request.
same("reads", [call.name().call(), call.symbol().call(), call.decimals().call()], [NAME, "JAM", 18])
with node.batch_requests() as batch:
    batch.add(call.totalSupply())
    batch.add(call.balanceOf(alice.address))
    same("a batch of reads", batch.execute(), [SUPPLY, SUPPLY])

# Filters are there before what they shall show.
log_filter = token.events.Transfer.create_filter(from_block=deployed["blockNumber"])
pending_filter = node.eth.filter("pending")
block_filter = node.eth.filter("latest")


async def subscribed(sent):
    """Subscribes, lets a transaction be sent, and gives the first log, head and transaction that come."""
    async with AsyncWeb3(WebSocketProvider(os.environ["PECTIN_WS"])) as live:
        names = {
            await live.eth.subscribe("newHeads"): "head",
            await live.eth.subscribe("logs", {"address": token.address}): "log",
            await live.eth.subscribe("newPendingTransactions"): "pending",
        }
        sent_hash = await asyncio.to_thread(sent)
        seen = {}
        async for message in live.socket.process_subscriptions():
            seen.setdefault(names[message["subscription"]], message["result"])
            if len(seen) == len(names):
                break
        for name in names:
            same("the subscription ends", await live.eth.unsubscribe(name), True)
        return sent_hash, seen


# Write.
transfer = call.transfer(bob.address, 100)
same("a simulated result", transfer.call({"from": alice.address}), True)
gas = transfer.estimate_gas({"from": alice.address})
sent, seen = asyncio.run(asyncio.wait_for(subscribed(lambda: send(transfer)), 60))
receipt = mined(sent)
same("the estimate suffices", gas >= receipt["gasUsed"] and gas < 100_000, True)
event = {"from": alice.address, "to": bob.address, "value": 100}
same("the event", transfers(receipt), [event])
same("balances", [call.balanceOf(who.address).call() for who in (alice, bob)], [SUPPLY - 100, 100])

# The same by logs, by filters, and by subscriptions.
logs = token.events.Transfer.get_logs(from_block=deployed["blockNumber"], argument_filters={"to": bob.address})
same("logs by a topic", [(log["transactionHash"], dict(log["args"])) for log in logs], [(sent, event)])
same("logs of a block", len(node.eth.get_logs({"address": token.address, "blockHash": receipt["blockHash"]})), 1)
same("the filter's logs", [dict(log["args"]) for log in log_filter.get_new_entries()], [event])
same("all of the filter's", len(log_filter.get_all_entries()), 2)
same("the filter's transactions have it", sent in pending_filter.get_new_entries(), True)
same("the filter's blocks have it", receipt["blockHash"] in block_filter.get_new_entries(), True)
for one in (log_filter, pending_filter, block_filter):
    same("the filter ends", node.eth.uninstall_filter(one.filter_id), True)
same("the subscribed transaction", seen["pending"], sent)
same("the subscribed log", seen["log"]["transactionHash"], sent)
same("the subscribed head follows", seen["head"]["number"] > deployed["blockNumber"], True)

# Fees.
history = node.eth.fee_history(4, "latest", [25, 75])
same("a fee history", len(history["baseFeePerGas"]), len(history["gasUsedRatio"]) + 1)
same("fees", node.eth.gas_price >= 10**9 and node.eth.max_priority_fee >= 0, True)

# Why something fails, by name.
poor = failure("too much", ContractCustomError, lambda: call.transfer(alice.address, 101).call({"from": bob.address}))
selector = Web3.keccak(text="InsufficientBalance(address,uint256,uint256)")[:4]
words = bytes.fromhex(poor.data[2:])
same("the custom error", words[:4], bytes(selector))
arguments = node.codec.decode(["address", "uint256", "uint256"], words[4:])
same("its arguments", [Web3.to_checksum_address(arguments[0]), *arguments[1:]], [bob.address, 100, 101])
nobody = lambda: call.approve(NOBODY, 1).call({"from": alice.address})
same("the reason", failure("nobody", ContractLogicError, nobody).message, "execution reverted: nobody can be allowed nothing")
estimated = lambda: call.approve(NOBODY, 1).estimate_gas({"from": alice.address})
same("an estimate's reason", failure("nobody", ContractLogicError, estimated).message, "execution reverted: nobody can be allowed nothing")
failure("not allowed", ContractPanicError, lambda: call.transferFrom(alice.address, bob.address, 1).call({"from": bob.address}))
mined(send(call.transfer(bob.address, SUPPLY), gas=100_000), status=0)
known = failure("an old nonce", Web3RPCError, lambda: send(transfer, nonce=0, gas=100_000))
same("an old nonce", "nonce too low" in str(known), True)

# Fifty in a row, none waits for another.
first = node.eth.get_transaction_count(alice.address)
hashes = [send(call.transfer(bob.address, 1), nonce=first + n, gas=100_000) for n in range(50)]
for one in hashes:
    mined(one)
same("after fifty", [call.balanceOf(bob.address).call(), node.eth.get_transaction_count(alice.address)], [150, first + 50])

# Access lists: made by the node, used in types 1 and 2.
one_more = {"from": alice.address, "to": token.address, "data": token.encode_abi("transfer", [bob.address, 1])}
access_list = node.eth.create_access_list(one_more)["accessList"]
same("whose storage", [(entry["address"], len(entry["storageKeys"])) for entry in access_list], [(token.address, 2)])
plain = [dict(entry) for entry in access_list]
price = node.eth.gas_price
for kind, fees in ((1, {"gasPrice": price}), (2, {"maxFeePerGas": price, "maxPriorityFeePerGas": 0})):
    fields = {"to": token.address, "data": one_more["data"], "value": 0, "gas": 100_000, "accessList": plain, **fees}
    found = node.eth.get_transaction(mined(send(None, **fields, type=kind))["transactionHash"])
    same(f"an access list in type {kind}", (found["type"], found["accessList"]), (kind, access_list))

# The receipt is the answer.
fields = {"to": bob.address, "value": Web3.to_wei(1, "ether"), "gas": 21_000, "chainId": CHAIN_ID, "maxPriorityFeePerGas": 0}
fields |= {"nonce": node.eth.get_transaction_count(alice.address), "maxFeePerGas": price, "type": 2}
raw = alice.sign_transaction(fields).raw_transaction
sync = node.provider.make_request(RPCEndpoint("eth_sendRawTransactionSync"), [raw.to_0x_hex()])
same("a receipt at once", (sync["result"]["status"], sync["result"]["to"]), ("0x1", bob.address.lower()))

# Delegation: a fresh account becomes a contract, in whose name calls are made, and then is none again.
carol = Account.create()
delegate = node.eth.contract(**artifact("Delegate"))
code = mined(send(delegate.constructor()))["contractAddress"]
mined(send(call.transfer(carol.address, 7)))


def authorize(address, nonce):
    return carol.sign_authorization({"chainId": CHAIN_ID, "address": address, "nonce": nonce})


carol_runs = node.eth.contract(address=carol.address, abi=delegate.abi)
calls = [(token.address, 0, token.encode_abi("transfer", [bob.address, value])) for value in (1, 2)]
fields = {"to": carol.address, "value": 0, "gas": 500_000, "maxFeePerGas": price, "maxPriorityFeePerGas": 0}
run = mined(send(None, **fields, data=carol_runs.encode_abi("run", [calls]), authorizationList=[authorize(code, 0)], type=4))
same("the type of a delegation", run["type"], 4)
same("the delegation", node.eth.get_code(carol.address).to_0x_hex(), "0xef0100" + code[2:].lower())
ran = carol_runs.events.Ran().process_log(run["logs"][-1])
same("who ran", dict(ran["args"]), {"account": carol.address, "calls": 2})
same("what is left", call.balanceOf(carol.address).call(), 4)
mined(send(None, **fields, data="0x", authorizationList=[authorize(NOBODY, 1)], type=4))
same("no delegation", bytes(node.eth.get_code(carol.address)), b"")
