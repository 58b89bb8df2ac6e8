// The ledger's CPU time per request: admit and settle in turns of 20, against one daily budget (or what is asked for).
// Usage: npm run build && node test/support/simulator-bench.mjs [REQUESTS] [none|daily|rolling|all] [MINUTES] [FILE]
// MINUTES: the window of the rolling budget, each of whose minutes has had spend.
// FILE: a database to work in (`npm run bench -- --rounds 0 --database FILE` makes large ones); otherwise an empty one.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCalendar } from '../../dist/calendar.js';
import { systemClock } from '../../dist/clock.js';
import { createRequestIds } from '../../dist/ids.js';
import { createProject } from '../../dist/store/accounts/projects.js';
import { setBudget } from '../../dist/store/budgets/budgets.js';
import { openDatabase } from '../../dist/store/database/open.js';
import { createLedger } from '../../dist/store/ledger/ledger.js';
import { NO_USAGE } from '../../dist/usage.js';

const requests = Number(process.argv[2] ?? 60_000);
const kind = process.argv[3] ?? 'daily';
const minutes = Number(process.argv[4] ?? 60);
const TURN = 20;
const BUDGETS = { none: [], daily: ['daily'], rolling: ['rolling'], all: ['daily', 'monthly', 'rolling'] }[
  kind
];

const directory = mkdtempSync(join(tmpdir(), 'gw-bench-'));
const db = await openDatabase(process.argv[5] ?? join(directory, 'gw.db'));
const calendar = createCalendar('Europe/Paris');
const project = await createProject(db, { name: `bench-${Date.now()}`, now: Date.now() });
for (const period of BUDGETS) {
  const window = period === 'rolling' ? { windowMs: minutes * 60_000 } : {};
  await setBudget(db, project, { period, capNanoUsd: 1e15, ...window }, { calendar, now: Date.now() });
}
const spent = db.prepare(`INSERT INTO budget_periods (budget_id, start, posted_nano_usd, pending_nano_usd)
  SELECT id, ?, 5, 0 FROM budgets WHERE period = 'rolling'`);
const thisMinute = Date.now() - (Date.now() % 60_000);
db.transaction(() => {
  for (let i = 2; i < minutes * 3; i++) spent.run(thisMinute - i * 60_000);
})();
const ledger = createLedger({ db, clock: systemClock, calendar: () => calendar, slot: 0 });
const nextId = createRequestIds(0, Date.now);
const usage = { ...NO_USAGE, inputTokens: 1_000, cachedInputTokens: 500, outputTokens: 100 };

// Written out: spreading objects took a third of the time that was to be measured.
function admission(id) {
  return {
    id,
    projectId: project.id,
    keyId: 1,
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-5-mini',
    askedModel: 'auto',
    stream: true,
    offer: { amount: 500_000, least: 500_000, blockedRecord: () => record(id) },
    isFinal: false,
  };
}

function record(id) {
  return {
    id,
    projectId: project.id,
    keyId: 1,
    endpoint: 'chat/completions',
    provider: 'openai',
    model: 'gpt-5-mini',
    askedModel: 'auto',
    status: 200,
    outcome: 'ok',
    flags: 1,
    usage,
    costNanoUsd: 123_456,
    savedTokens: 10,
    savedNanoUsd: 20,
    durationMs: 900,
    firstByteMs: 300,
  };
}

async function turn() {
  const ids = Array.from({ length: TURN }, nextId);
  await Promise.all(ids.map((id) => ledger.admit(admission(id))));
  await Promise.all(ids.map((id) => ledger.settle(record(id))));
}

for (let i = 0; i < 200; i++) await turn();
const before = process.cpuUsage();
for (let i = 0; i < requests; i += TURN) await turn();
const { user, system } = process.cpuUsage(before);
const each = (micros) => (micros / requests).toFixed(1);
console.log(
  `${kind}: ${each(user + system)} us of CPU a request (user ${each(user)}, system ${each(system)})`,
);
db.close();
rmSync(directory, { recursive: true });
