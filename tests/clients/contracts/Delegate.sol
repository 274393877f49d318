// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// What an account becomes by a delegation (EIP-7702): it makes several calls in one transaction, in its own name.
contract Delegate {
    struct Call {
        address to;
        uint256 value;
        bytes data;
    }

    event Ran(address indexed account, uint256 calls);

    error CallFailed(uint256 index);

    function run(Call[] calldata calls) external payable {
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success,) = calls[i].to.call{value: calls[i].value}(calls[i].data);
            if (!success) revert CallFailed(i);
        }
        emit Ran(address(this), calls.length);
    }

    receive() external payable {}
}
