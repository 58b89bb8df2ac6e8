// Runs the built dashboard on the data of a file, at a time that stands still: node show-sample.mjs FILE DEPTH
import { readFileSync } from 'node:fs';
import { BLOCKS } from '../../../dist/terminal/bars.js';
import { paletteOf } from '../../../dist/terminal/palette.js';
import { createTimeFormat } from '../../../dist/terminal/time.js';
import { runDashboard } from '../../../dist/tui/run.js';

const [, , file, depth = '16'] = process.argv;
const { now, data, request, daemon } = JSON.parse(readFileSync(file, 'utf8'));
const known = (series) => series.map((cost) => cost ?? undefined);
data.series = known(data.series);
data.parts = data.parts.map((part) => ({ ...part, series: known(part.series) }));
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
    remember() {},
    perform: () => new Promise(() => {}),
  },
  clock,
  look: {
    gw: 'gw',
    palette: paletteOf({ depth: depth === 'true' ? depth : Number(depth) }),
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
