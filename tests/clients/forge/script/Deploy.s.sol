// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Delegate} from "../src/Delegate.sol";
import {Token} from "../src/Token.sol";
import {vm} from "./Vm.sol";

/// Deploys the token and makes fifty transfers, each a transaction of its own.
contract Deploy {
    bool public constant IS_SCRIPT = true;

    function run() external returns (Token token) {
        uint256[] memory keys = vm.envUint("PECTIN_KEYS", ",");
        vm.startBroadcast(keys[0]);
        token = new Token("Pectin Token", 1_000_000);
        for (uint256 i = 0; i < 50; i++) token.transfer(vm.addr(keys[1]), 2);
        vm.stopBroadcast();
        require(token.balanceOf(vm.addr(keys[1])) == 100, "fifty transfers of two");
    }
}

/// Lets the third account become a contract, in whose name two calls are made.
contract Run {
    bool public constant IS_SCRIPT = true;

    function run() external returns (Delegate code) {
        uint256[] memory keys = vm.envUint("PECTIN_KEYS", ",");
        Token token = Token(vm.envAddress("TOKEN"));
        address carol = vm.addr(keys[2]);
        vm.startBroadcast(keys[0]);
        code = new Delegate();
        token.transfer(carol, 7);
        Delegate.Call[] memory calls = new Delegate.Call[](2);
        for (uint256 i = 0; i < 2; i++) {
            calls[i] = Delegate.Call(address(token), 0, abi.encodeCall(token.transfer, (vm.addr(keys[1]), 1)));
        }
        vm.signAndAttachDelegation(address(code), keys[2]);
        Delegate(payable(carol)).run(calls);
        vm.stopBroadcast();
        require(token.balanceOf(carol) == 5, "two transfers of one");
    }
}

/// Wants more than there is.
contract TooMuch {
    bool public constant IS_SCRIPT = true;

    function run() external {
        uint256[] memory keys = vm.envUint("PECTIN_KEYS", ",");
        vm.startBroadcast(keys[1]);
        Token(vm.envAddress("TOKEN")).transfer(vm.addr(keys[0]), 1_000_000);
        vm.stopBroadcast();
    }
}
