// Runs the built dashboard on the data of a file, at a time that stands still: node show-sample.mjs FILE
import { readFileSync } from 'node:fs';
import { BLOCKS } from '../../../dist/terminal/bars.js';
import { COLOURED } from '../../../dist/terminal/terminal.js';
import { createTimeFormat } from '../../../dist/terminal/time.js';
import { runDashboard } from '../../../dist/tui/run.js';

const { now, data, request, daemon } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
data.series = data.series.map((cost) => cost ?? undefined);
const clock = { now: () => now, monotonic: () => 0, after: () => () => {} };
let isRead = false;

await runDashboard({
  source: {
    changed: () => !isRead,
    read: async () => {
      isRead = true;
      return data;
    },
    request: async () => request,
    team: async () => ({ name: null }),
    daemon: async () => daemon,
    agents: async () => [{ name: 'codex', bypassed: 0 }],
    perform: () => new Promise(() => {}),
  },
  clock,
  look: {
    gw: 'gw',
    palette: COLOURED,
    symbols: BLOCKS,
    times: createTimeFormat('Europe/Paris'),
    timezone: 'Europe/Paris',
  },
  version: '0.1.0',
  baseUrl: 'http://localhost:4747/v1',
  readonly: false,
  stdin: process.stdin,
  stdout: process.stdout,
});
