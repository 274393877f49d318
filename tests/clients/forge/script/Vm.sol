// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// The part of forge's cheat codes that is used here.
interface Vm {
    function startBroadcast(uint256 key) external;
    function stopBroadcast() external;
    function signAndAttachDelegation(address implementation, uint256 key) external;
    function envUint(string calldata name, string calldata delimiter) external returns (uint256[] memory);
    function envAddress(string calldata name) external returns (address);
    function addr(uint256 key) external returns (address);
    function expectRevert(bytes calldata data) external;
    function expectEmit(bool, bool, bool, bool, address emitter) external;
    function prank(address sender) external;
}

// Where forge answers them.
Vm constant vm = Vm(address(uint160(uint256(keccak256("hevm cheat code")))));
