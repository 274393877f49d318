// What anan-as reads after a word that reaches over the end of a page: see docs/anan-as.md.
import * as pvm from '@fluffylabs/anan-as';

const START = 0x20000;
const byte = (at) => ((at - START) * 7 + ((at - START) >> 8)) & 0xff;

// r0 = u64 [r1]; r2 = u8 [r1 + 8]; trap
function read(from) {
  const code = [130, 0x10, 124, 0x12, 8, 0];
  const program = [0, 0, code.length, ...code, 0b00100101];
  const registers = new Array(13).fill(0n);
  registers[1] = BigInt(from);
  const pages = [{ address: START, length: 0x2000, access: 2 }];
  const chunks = [{ address: START, data: Array.from({ length: 0x2000 }, (_, i) => byte(START + i)) }];
  const prepared = pvm.prepareProgram(pvm.InputKind.Generic, pvm.HasMetadata.No, program, registers, pages, chunks, [], 0);
  return Number(pvm.pvmResume(pvm.pvmStart(prepared, false), 100n, 0, false).registers[2]);
}

for (const from of [0x20ff0, 0x20ffc]) {
  console.log(`from=0x${from.toString(16)} read=${read(from)} written=${byte(from + 8)}`);
}
