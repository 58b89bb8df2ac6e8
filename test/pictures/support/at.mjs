// Runs the built gw as if it were another time: node at.mjs UTC_MS ARGS...
import { fileURLToPath } from 'node:url';
import { processContext } from '../../../dist/cli/context.js';
import { runCli } from '../../../dist/cli/run-cli.js';
import { systemClock } from '../../../dist/clock.js';

const [, , time, ...args] = process.argv;
const ahead = Number(time) - Date.now();
const program = fileURLToPath(new URL('../../../bin/gw', import.meta.url));
const context = processContext({ program, version: '0.3.0' });
process.exitCode = await runCli(args, {
  ...context,
  gw: 'gw',
  clock: { ...systemClock, now: () => Date.now() + ahead },
});
