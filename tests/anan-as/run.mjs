// The service's program in another virtual machine: anan-as, of typeberry. Output, exports and gas must be those of ours.
//
//   node run.mjs CASES.json      cases as tests/tests/it/blocks/anan_as.rs writes them
import fs from 'node:fs';
import * as pvm from '@fluffylabs/anan-as';

const HALT = 0;
const HOST_CALL = 3;
const NONE = 2n ** 64n - 1n;
const WHAT = NONE - 1n;
const CALL_GAS = 10n;
const bytes = (hex) => Buffer.from(hex, 'hex');

// One host call: what goes into register 7.
function call(number, registers, memory, world) {
  const [r7, r8, r9, r10, r11, r12] = registers.slice(7);
  const give = (value, to, from, length) => {
    if (value === undefined) return NONE;
    const start = Math.min(Number(from), value.length);
    const part = value.subarray(start, start + Math.min(Number(length), value.length - start));
    if (part.length > 0) memory.write(Number(to), part);
    return BigInt(value.length);
  };
  switch (number) {
    case 1: return give(world.fetch[`${r10},${r11}`], r7, r8, r9);
    case 6: return give(world.preimages[memory.read(Number(r8), 32).toString('hex')], r9, r10, r11);
    case 7: world.exports.push(memory.read(Number(r7), Number(r8)).toString('hex')); return BigInt(world.exports.length - 1);
    // What the program says of its work. This host has no such call.
    case 100: return WHAT;
    default: throw new Error(`host call ${number} with ${r12}`);
  }
}

function run(code, given) {
  const program = pvm.prepareProgram(pvm.InputKind.SPI, pvm.HasMetadata.Yes, [...code], [], [], [], [...bytes(given.arguments)], 0);
  const machine = pvm.pvmStart(program, false);
  const memory = {
    read: (at, length) => Buffer.from(pvm.pvmReadMemory(machine, at, length)),
    write: (at, value) => { if (!pvm.pvmWriteMemory(machine, at, value)) throw new Error(`cannot write at ${at}`); },
  };
  const world = { fetch: {}, preimages: { [given.codeHash]: code }, exports: [] };
  for (const [key, hex] of Object.entries(given.fetch)) world.fetch[key] = bytes(hex);
  const start = BigInt(given.start);
  for (let gas = start, pc = 0; ;) {
    const paused = pvm.pvmResume(machine, gas, pc, false);
    if (paused.status !== HOST_CALL) {
      const output = paused.status === HALT
        ? memory.read(Number(paused.registers[7]), Number(paused.registers[8])).toString('hex') : `status ${paused.status}`;
      return { output, gas: String(start - paused.gas), exports: world.exports };
    }
    const registers = [...paused.registers];
    registers[7] = call(paused.exitCode, registers, memory, world);
    pvm.pvmSetRegisters(machine, registers);
    [gas, pc] = [paused.gas - CALL_GAS, paused.nextPc ?? paused.pc];
  }
}

const { code, cases } = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));
let equal = 0;
for (const given of cases) {
  const found = run(bytes(code), given);
  const same = ['output', 'gas'].every((field) => found[field] === given[field])
    && JSON.stringify(found.exports) === JSON.stringify(given.exports);
  equal += same ? 1 : 0;
  console.log(`${given.name}: ${same ? 'equal' : `different: ${found.output} gas ${found.gas}, ours ${given.output} gas ${given.gas}`}`);
}
console.log(`anan-as: programs=${cases.length} equal=${equal}`);
process.exit(equal === cases.length ? 0 : 1);
