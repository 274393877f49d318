// Hardhat Ignition: a module with two contracts and a call between them. By default it waits for five confirmations of
// each transaction, on a chain where nobody else sends anything.
import { rmSync } from "node:fs";
import hre from "hardhat";
import { NAME, SUPPLY, same } from "../given.mjs";
import Tokens from "./ignition/modules/Tokens.js";

// Ignition resumes what it finds here for the same chain id, but every run has a chain of its own.
rmSync(new URL("./deployments", import.meta.url), { recursive: true, force: true });
const connection = await hre.network.connect("pectin");
const [alice, bob] = await connection.ethers.getSigners();
const { token, lock } = await connection.ignition.deploy(Tokens, { parameters: { Tokens: { receiver: bob.address } } });
same("the token", [await token.name(), await token.totalSupply()], [NAME, SUPPLY]);
same("the module's call", [await token.balanceOf(bob), await token.balanceOf(alice)], [100n, SUPPLY - 100n]);
same("the lock", await lock.isOpen(), false);
process.exit(0);
