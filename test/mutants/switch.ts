// Runs before each test file: which mutant is in force, and which ones its tests reach.
import { appendFileSync } from 'node:fs';
import { afterAll, beforeAll, expect } from 'vitest';

const { GW_MUTANT, GW_MUTANT_LOG } = process.env;
const inForce = Number(GW_MUTANT);
const reached = new Set<number>();
const startedMs = performance.now();
/** What runs when a module is loaded runs for the first file that imports it alone, as files share a process. */
let onImport: number[] = [];

Object.assign(globalThis, {
  mutant(number: number) {
    reached.add(number);
    return number === inForce;
  },
});

if (GW_MUTANT_LOG) {
  beforeAll(() => {
    onImport = [...reached];
  });
  afterAll(() => {
    const file = expect.getState().testPath;
    const milliseconds = performance.now() - startedMs;
    appendFileSync(
      GW_MUTANT_LOG,
      `${JSON.stringify({ file, milliseconds, reached: [...reached], onImport })}\n`,
    );
  });
}
