// A daemon without HTTP, made to be killed: it admits and settles as fast as it can and says what was acknowledged.
// Usage: node simulator-crash.mjs DATABASE NAME. Prints `slot N`, `held ID AMOUNT`, `answered ID COST`, `settled ID COST`.
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createCalendar } from '../../dist/calendar.js';
import { systemClock } from '../../dist/clock.js';
import { createRequestIds } from '../../dist/ids.js';
import { lastRequestId, registerDaemon } from '../../dist/store/database/daemons.js';
import { acquireLock } from '../../dist/store/database/lock.js';
import { openDatabase } from '../../dist/store/database/open.js';
import { createLedger } from '../../dist/store/ledger/ledger.js';
import { NO_USAGE } from '../../dist/usage.js';

const [path, name] = process.argv.slice(2);
const CLIENTS = 20;
// Written at once: what was acknowledged has left this process before anything can kill it.
const say = (line) => writeSync(1, `${line}\n`);

const lockPath = `${path}.${name}.lock`;
const lock = acquireLock(lockPath);
process.once('exit', () => lock?.release());
const db = await openDatabase(path, { busyTimeoutMs: 20 });
// At its start it waits for the database as a daemon does.
db.pragma('busy_timeout = 5000');
const slot = registerDaemon(db, { instanceId: name, pid: process.pid, lockPath, startedAt: Date.now() });
db.pragma('busy_timeout = 20');
const calendar = createCalendar('UTC');
const ledger = createLedger({ db, clock: systemClock, calendar: () => calendar, slot });
const nextId = createRequestIds(slot, Date.now, lastRequestId(db));
say(`slot ${slot}`);

function head(id, model = `m${id % 5}`) {
  const projectId = 1 + (id % 2);
  return {
    id,
    projectId,
    keyId: 1,
    endpoint: 'chat/completions',
    provider: 'openai',
    model,
    askedModel: 'm',
  };
}

function record(id, costNanoUsd, outcome, model) {
  return {
    ...head(id, model),
    status: 200,
    outcome,
    flags: 0,
    usage: { ...NO_USAGE, inputTokens: costNanoUsd, outputTokens: 1 },
    costNanoUsd,
    savedTokens: 0,
    savedNanoUsd: 0,
    durationMs: 1,
    firstByteMs: null,
  };
}

function ask(id, amount, model, more) {
  return ledger.admit({
    ...head(id, model),
    ...{ stream: false, isFinal: true, ...more },
    offer: { amount, least: amount, blockedRecord: () => record(id, 0, 'blocked') },
  });
}

async function client() {
  for (;;) {
    const id = nextId();
    let amount = 1 + Math.floor(Math.random() * 10);
    let model = `m${id % 5}`;
    let result = await ask(id, amount, model, { mayFallBack: { before: undefined } });
    if (result.kind === 'fallback') {
      amount = 1;
      model = 'cheap';
      result = await ask(id, amount, model, { fallenFrom: result.standings[0].budget.id });
    }
    if (result.kind !== 'held') {
      await pause(5);
      continue;
    }
    say(`held ${id} ${amount}`);
    await pause(Math.random() * 5);
    const cost = Math.floor(Math.random() * (amount + 1));
    const ended = record(id, cost, 'ok', model);
    // The client has its answer before the settlement is committed.
    const late = ledger.settleLate(ended);
    say(`answered ${id} ${cost}`);
    await (late?.committed ?? ledger.settle(ended));
    say(`settled ${id} ${cost}`);
  }
}

// Timers of the clock keep no process alive; a daemon's listener does.
setInterval(() => {}, 60_000);
await Promise.all(Array.from({ length: CLIENTS }, client));
