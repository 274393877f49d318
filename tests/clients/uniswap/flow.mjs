// Uniswap v2 from its own npm packages: liquidity is added, and a swap follows at once, with the gas that the node
// estimates while the liquidity is still in the open block.
import { createRequire } from "node:module";
import { Contract, ContractFactory, JsonRpcProvider, MaxUint256, NonceManager, Wallet } from "ethers";
import { artifact, holds, http, keys, same } from "../given.mjs";

const require = createRequire(import.meta.url);
const factoryOf = ({ abi, bytecode }) => new ContractFactory(abi, bytecode, alice);
const node = new JsonRpcProvider(http, undefined, { polling: true, pollingInterval: 100, cacheTimeout: -1 });
const wallet = new Wallet(keys[0], node);
const alice = new NonceManager(wallet);
const UNIT = 10n ** 18n;

const deploy = async (built, ...args) => {
  const contract = await factoryOf(built).deploy(...args);
  return contract.waitForDeployment();
};
const mined = async (sent) => {
  const receipt = await (await sent).wait();
  same(`status of ${receipt.hash}`, receipt.status, 1);
  return receipt;
};

const factory = await deploy(require("@uniswap/v2-core/build/UniswapV2Factory.json"), wallet.address);
const weth = await deploy(require("@uniswap/v2-periphery/build/WETH9.json"));
const router = await deploy(require("@uniswap/v2-periphery/build/UniswapV2Router02.json"), await factory.getAddress(), await weth.getAddress());
const token = artifact("Token");
const [red, blue] = [await deploy(token, "Red", 1_000_000n * UNIT), await deploy(token, "Blue", 1_000_000n * UNIT)];
const [redAt, blueAt, routerAt] = await Promise.all([red, blue, router].map((contract) => contract.getAddress()));

// None of these waits for the one before it: each estimate must see what was accepted already.
const deadline = MaxUint256;
const sent = [
  await red.approve(routerAt, MaxUint256),
  await blue.approve(routerAt, MaxUint256),
  await router.addLiquidity(redAt, blueAt, 10_000n * UNIT, 20_000n * UNIT, 0n, 0n, wallet.address, deadline),
  await router.swapExactTokensForTokens(100n * UNIT, 0n, [redAt, blueAt], wallet.address, deadline),
];
for (const one of sent) await mined(one);

const pair = new Contract(await factory.getPair(redAt, blueAt), require("@uniswap/v2-core/build/UniswapV2Pair.json").abi, node);
const reserves = (await pair.getReserves()).slice(0, 2).map(BigInt).sort((a, b) => (a < b ? -1 : 1));
same("the red reserve", reserves[0], 10_100n * UNIT);
holds(`the blue reserve, ${reserves[1]}`, reserves[1] < 20_000n * UNIT && reserves[1] > 19_800n * UNIT);
process.exit(0);
