// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// Opens for everybody once its time has come, by the time of the block that it is called in.
contract TimeLock {
    uint256 public immutable opensAt;
    bool public isOpen;

    error TooEarly(uint256 opensAt, uint256 now);

    constructor(uint256 lastsSeconds) {
        opensAt = block.timestamp + lastsSeconds;
    }

    function open() external {
        if (block.timestamp < opensAt) revert TooEarly(opensAt, block.timestamp);
        isOpen = true;
    }
}
