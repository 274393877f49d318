import { buildModule } from "@nomicfoundation/hardhat-ignition/modules";
import { NAME, SUPPLY } from "../../../given.mjs";

export default buildModule("Tokens", (module) => {
  const token = module.contract("Token", [NAME, SUPPLY]);
  const lock = module.contract("TimeLock", [3600n], { after: [token] });
  module.call(token, "transfer", [module.getParameter("receiver"), 100n], { after: [lock] });
  return { token, lock };
});
