// Runs the built dashboard with a fault in it: node faulty.mjs component|timer|rejection

import { systemClock } from '../../../dist/clock.js';
import { BLOCKS } from '../../../dist/terminal/bars.js';
import { PLAIN } from '../../../dist/terminal/palette.js';
import { createTimeFormat } from '../../../dist/terminal/time.js';
import { runDashboard } from '../../../dist/tui/run.js';

const [place] = process.argv.slice(2);
const never = () => new Promise(() => {});
const fault = () => {
  throw new Error(`a fault in a ${place}`);
};
if (place === 'timer') setTimeout(fault, 300);
if (place === 'rejection') setTimeout(async () => fault(), 300);
const noDatabase = () => {
  throw new Error('no database');
};
/** What a panel falls over; the other faults leave the screen as it is. */
const broken = {
  running: [],
  waiting: [],
  get requests() {
    return fault();
  },
};

await runDashboard({
  source: {
    changed: () => false,
    read: () => (place === 'component' ? broken : noDatabase()),
    request: never,
    team: never,
    daemon: never,
    agents: never,
    perform: never,
  },
  clock: systemClock,
  look: { palette: PLAIN, symbols: BLOCKS, times: createTimeFormat('UTC'), timezone: 'UTC' },
  version: '0.1.0',
  baseUrl: '',
  readonly: true,
  stdin: process.stdin,
  stdout: process.stdout,
});
