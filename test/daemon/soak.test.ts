import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Pool } from 'undici';
import { expect, onTestFinished, test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { createDashboardReader } from '../../src/store/dashboard/reader.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { OUTCOMES } from '../../src/store/ledger/record.ts';
import { MODEL } from '../support/gateway.ts';
import { prepareHome, type TestHome } from '../support/home.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';

/** Runs with the long tests only, or with GW_SOAK_SECONDS, such as 120 for a short run. */
const SECONDS = Number(process.env.GW_SOAK_SECONDS ?? 1_800);
const PER_SECOND = 500;
const TURN_MS = 20;
const MAX_LOG_BYTES = 64e6;

/** Starts the bench's provider in a separate process. Returns its URL. */
async function startProvider(): Promise<string> {
  const script = join(import.meta.dirname, '../bench/upstream.mjs');
  const child = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  const [port] = await once(child.stdout, 'data');
  return `http://127.0.0.1:${Number(port)}/v1`;
}

/** Sends requests at an even rate, every fifth a stream, without waiting for responses. Resolves with the errors. */
async function load(origin: string, key: string, ended: AbortSignal) {
  const pool = new Pool(origin, { connections: 400 });
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const messages = [{ role: 'user', content: 'How is the weather?' }];
  const running = new Set<Promise<void>>();
  const faults: string[] = [];
  let sent = 0;

  async function send(stream: boolean): Promise<void> {
    const body = JSON.stringify({ model: MODEL, messages, stream, max_tokens: 100 });
    const path = '/v1/chat/completions';
    const answer = await pool.request({ method: 'POST', path, headers, body });
    const text = await answer.body.text();
    const isWhole = stream ? text.endsWith('data: [DONE]\n\n') : text.startsWith('{') && text.endsWith('}');
    if (answer.statusCode !== 200 || !isWhole) faults.push(`${answer.statusCode} ${text.slice(-200)}`);
  }

  const started = performance.now();
  const timer = setInterval(() => {
    // By the clock, since a busy machine skips timer ticks.
    const due = ((performance.now() - started) / 1_000) * PER_SECOND;
    while (sent < due) {
      const request = send(sent++ % 5 === 0).catch((error) => void faults.push(String(error)));
      running.add(request);
      void request.then(() => running.delete(request));
    }
  }, TURN_MS);
  await once(ended, 'abort');
  clearInterval(timer);
  await Promise.all(running);
  await pool.close();
  return { sent, faults };
}

/** Reads what the dashboard reads, as often. */
async function watchDashboard({ paths }: TestHome): Promise<void> {
  const db = await openDatabase(paths.database, { readonly: true });
  const reader = createDashboardReader(db, createCalendar('UTC'));
  const filter = { kind: 'all', text: '' } as const;
  const timer = setInterval(() => {
    if (reader.changed()) reader.read({ window: 'hour', filter, now: Date.now() });
  }, 1_000);
  onTestFinished(() => {
    clearInterval(timer);
    db.close();
  });
}

/** Runs report commands now and then; collects the exit codes. */
function watchUsage(home: string): { codes: Promise<unknown>[]; stop(): void } {
  const codes: Promise<unknown>[] = [];
  const gw = join(import.meta.dirname, '../../bin/gw');
  const timer = setInterval(() => {
    const env = { PATH: process.env.PATH, HOME: home, GW_HOME: home };
    const child = spawn(process.execPath, [gw, 'usage'], { env, stdio: 'ignore' });
    codes.push(once(child, 'exit').then(([code]) => code));
  }, 5_000);
  return { codes, stop: () => clearInterval(timer) };
}

/** Samples the daemon's memory and the size of the write-ahead log once a second. */
function sample(child: ChildProcess, database: string) {
  const memory: number[] = [];
  const log: number[] = [];
  const timer = setInterval(() => {
    memory.push(Number(execFileSync('ps', ['-o', 'rss=', '-p', String(child.pid)])) / 1_024);
    log.push(statSync(`${database}-wal`).size);
  }, 1_000);
  return { memory, log, stop: () => clearInterval(timer) };
}

const highest = (values: number[]) => Math.max(...values);

test.runIf(process.env.GW_LONG || process.env.GW_SOAK_SECONDS)(
  `${PER_SECOND} requests a second for ${SECONDS} s, with the dashboard open and reports made, fail nowhere and leak nothing`,
  async () => {
    const home = tmpHome();
    const budget = { period: 'daily', capUsd: 100_000 } as const;
    const test = await prepareHome(home, { upstreamUrl: await startProvider(), budget });
    const daemon = await spawnDaemon(home);
    await watchDashboard(test);
    const usage = watchUsage(home);
    const samples = sample(daemon.child, test.paths.database);
    const { sent, faults } = await load(
      new URL(daemon.url).origin,
      test.key,
      AbortSignal.timeout(SECONDS * 1_000),
    );
    usage.stop();
    samples.stop();

    expect(faults.slice(0, 5)).toEqual([]);
    expect(sent).toBeGreaterThan(PER_SECOND * SECONDS * 0.9);
    expect(new Set(await Promise.all(usage.codes))).toEqual(new Set([0]));
    const byOutcome = test.db
      .prepare(
        'SELECT outcome, status, flags & ~1 AS flags, detail, count(*) AS count FROM request_log GROUP BY 1, 2, 3, 4',
      )
      .all();
    expect({ byOutcome, holds: test.holds() }).toEqual({
      byOutcome: [{ outcome: OUTCOMES.ok, status: 200, flags: 0, detail: null, count: sent }],
      holds: 0,
    });
    expect(highest(samples.log)).toBeLessThan(MAX_LOG_BYTES);
    const third = Math.floor(samples.memory.length / 3);
    const [middle, last] = [samples.memory.slice(third, 2 * third), samples.memory.slice(2 * third)];
    console.log(
      `${sent} requests; RSS at most ${highest(middle).toFixed(0)} MB, then ${highest(last).toFixed(0)}; log ${highest(samples.log)} bytes`,
    );
    expect(highest(last)).toBeLessThan(highest(middle) * 1.15);
  },
  (SECONDS + 120) * 1_000,
);
