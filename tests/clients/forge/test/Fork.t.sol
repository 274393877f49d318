// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

import {Token} from "../src/Token.sol";
import {vm} from "../script/Vm.sol";

/// Tests that run on the node's state, which forge reads as it needs it.
contract ForkTest {
    Token private token;
    address private alice;
    address private bob;

    function setUp() external {
        uint256[] memory keys = vm.envUint("PECTIN_KEYS", ",");
        (alice, bob) = (vm.addr(keys[0]), vm.addr(keys[1]));
        token = Token(vm.envAddress("TOKEN"));
    }

    function testWhatWasDeployedIsThere() external view {
        require(keccak256(bytes(token.name())) == keccak256("Pectin Token"), "the name");
        require(token.balanceOf(alice) + token.balanceOf(bob) <= token.totalSupply(), "the sum");
        require(block.chainid == 732846, "the chain");
    }

    function testATransferTellsOfItself() external {
        vm.expectEmit(true, true, false, true, address(token));
        emit Token.Transfer(alice, bob, 3);
        vm.prank(alice);
        token.transfer(bob, 3);
    }

    function testErrorsHaveNames() external {
        uint256 has = token.balanceOf(bob);
        vm.expectRevert(abi.encodeWithSelector(Token.InsufficientBalance.selector, bob, has, has + 1));
        vm.prank(bob);
        token.transfer(alice, has + 1);
        vm.expectRevert("nobody can be allowed nothing");
        token.approve(address(0), 1);
    }
}
