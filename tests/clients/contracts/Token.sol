// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity ^0.8.28;

/// An ERC-20 with everything that a client must be able to show: events with and without indexed values, a custom error
/// with arguments, a reason in words, and a panic.
contract Token {
    string public name;
    string public constant symbol = "JAM";
    uint8 public constant decimals = 18;
    uint256 public totalSupply;
    mapping(address owner => uint256) public balanceOf;
    mapping(address owner => mapping(address spender => uint256)) public allowance;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event Approval(address indexed owner, address indexed spender, uint256 value);

    error InsufficientBalance(address owner, uint256 has, uint256 wants);

    constructor(string memory name_, uint256 supply) {
        name = name_;
        totalSupply = supply;
        balanceOf[msg.sender] = supply;
        emit Transfer(address(0), msg.sender, supply);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        return move(msg.sender, to, value);
    }

    function approve(address spender, uint256 value) external returns (bool) {
        require(spender != address(0), "nobody can be allowed nothing");
        allowance[msg.sender][spender] = value;
        emit Approval(msg.sender, spender, value);
        return true;
    }

    function transferFrom(address from, address to, uint256 value) external returns (bool) {
        // More than was allowed is an arithmetic panic, 0x11.
        allowance[from][msg.sender] -= value;
        return move(from, to, value);
    }

    function move(address from, address to, uint256 value) private returns (bool) {
        uint256 has = balanceOf[from];
        if (has < value) revert InsufficientBalance(from, has, value);
        balanceOf[from] = has - value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
        return true;
    }
}
