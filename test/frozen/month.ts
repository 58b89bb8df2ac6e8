import { mkdirSync, writeFileSync } from 'node:fs';
import { CLI_KEY_LABEL } from '../../src/cli/client/cli-keys.ts';
import { formatRequestId, type RequestId } from '../../src/ids.ts';
import type { Paths } from '../../src/paths.ts';
import { createKey, revokeKey, rotateKey } from '../../src/store/accounts/keys.ts';
import { setPrice } from '../../src/store/accounts/prices.ts';
import { createProject, removeProject, setPaused } from '../../src/store/accounts/projects.ts';
import { importUsage } from '../../src/store/archive/import-usage.ts';
import { type BudgetSettings, setBudget } from '../../src/store/budgets/budgets.ts';
import { raiseBudget } from '../../src/store/budgets/raise-budget.ts';
import { type Db, openDatabase } from '../../src/store/database/open.ts';
import { inTransaction } from '../../src/store/database/write.ts';
import { FLAGS, type RequestRecord } from '../../src/store/ledger/record.ts';
import { createLimitRows } from '../../src/store/limits/limit-rows.ts';
import { createFeedbackStore } from '../../src/store/requests/feedback.ts';
import { packBodies } from '../../src/store/requests/kept-bodies.ts';
import { createOutbox } from '../../src/store/webhooks/outbox.ts';
import { NO_USAGE } from '../../src/usage.ts';
import { createWebhookService } from '../../src/webhooks/service.ts';
import { layDatabase } from '../support/migrated.ts';
import { seededRandom } from '../support/random.ts';
import { admissionOf, createWorld, recordOf, startDaemon } from '../support/simulator.ts';

/** The clocks of this zone change on 29 March. */
export const TIMEZONE = 'Europe/Paris';
const FIRST = Date.UTC(2026, 2, 1, 8);
export const NOW = Date.UTC(2026, 2, 31, 15, 30);
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const USD = 1e9;
const SHOP = '/home/me/shop';

export interface Month {
  adminKey: string;
  /** Of the project `web`. */
  webKey: string;
  /** Of a project whose only budget has no room and asks. */
  askingKey: string;
  /** Requests that commands and endpoints are asked for, by what is special of them. */
  ids: Record<string, string>;
}

/** A plan whose five hours fill too fast. */
function addLimits(db: Db): void {
  const rows = createLimitRows(db);
  for (let i = 0; i < 7; i++) {
    const updatedAt = NOW - (6 - i) * 10 * MINUTE;
    const plan = { login: 'claude-3f9a2c1d0e', service: 'anthropic', status: 'allowed', updatedAt } as const;
    rows.write({ ...plan, window: '5h', model: '', usedPpm: 200_000 + i * 70_000, resetsAt: NOW + 2 * HOUR });
    rows.write({ ...plan, window: '7d', model: '', usedPpm: 310_000, resetsAt: NOW + 3 * DAY });
  }
}

/** Everything that can differ between requests, each a few times: the fields that request `i` of the month has. */
function requestOf(i: number): Partial<RequestRecord> {
  const model = ['gpt-5-mini', 'gpt-4.1', 'test-model', 'claude-sonnet-4-5'][i % 4] ?? '';
  const provider = ['openai', 'openai', 'mock', 'anthropic'][i % 4] ?? '';
  const inputTokens = 1_000 + ((i * 7_919) % 50_000);
  const usage = {
    ...NO_USAGE,
    inputTokens,
    cachedInputTokens: i % 3 === 0 ? inputTokens >> 1 : 0,
    cacheWriteTokens: i % 5 === 0 ? 400 : 0,
    outputTokens: 50 + ((i * 31) % 900),
    reasoningTokens: i % 4 === 0 ? 40 : 0,
  };
  const agents = [
    { agent: 'claude', agentVersion: '2.1.0', session: `thread-${i % 5}` },
    { agent: 'codex', agentVersion: '0.98.0', session: `run-${i % 3}` },
    {},
  ];
  const trial = { conversation: i, heldOut: i % 12 === 0, level: 'safe', originalTokens: inputTokens + 900 };
  const cause = i % 16 === 3 ? 'idle_past_ttl' : 'tools_changed';
  return {
    ...{ provider, model, usage, askedModel: i % 11 === 0 ? 'fast' : model },
    endpoint: provider === 'anthropic' ? 'messages' : 'chat/completions',
    flags: i % 2 === 0 ? FLAGS.stream : 0,
    costNanoUsd: usage.inputTokens * 2_000 + usage.outputTokens * 8_000,
    ...{ durationMs: 400 + ((i * 131) % 9_000), firstByteMs: 120 + (i % 7) * 15 },
    timings: { body: 1.25, ...(i % 3 === 0 ? { compressed: 3.5 } : {}), held: 5, sent: 6.75 },
    origin: { process: ['', 'node agent.mjs', 'curl', 'curl'][i % 4] ?? '', repo: i % 4 === 1 ? SHOP : '' },
    ...agents[i % agents.length],
    ...(i % 6 === 0 ? { savedTokens: 900, savedNanoUsd: 1_800_000, trial } : {}),
    ...(i % 8 === 3 ? { missed: { tokens: 700 + i, nanoUsd: 630_000, cause } } : {}),
  };
}

const FREE = { usage: NO_USAGE, costNanoUsd: 0, savedTokens: 0, savedNanoUsd: 0 };

/** What goes wrong or is rare: the fields of requests of the last two days. */
const RARE: Partial<RequestRecord>[] = [
  { flags: FLAGS.estimated | FLAGS.stream, outcome: 'client_gone', status: 499 },
  { flags: FLAGS.unpriced, costNanoUsd: 0, model: 'secret-model' },
  { ...FREE, flags: FLAGS.unmetered },
  { flags: FLAGS.overrun | FLAGS.underheld, costNanoUsd: 0.09 * USD },
  { flags: FLAGS.not_billed, agent: 'claude', agentVersion: '2.1.0', session: 'thread-1' },
  { flags: FLAGS.other_model, detail: { served_model: 'gpt-5-mini-2' } },
  { flags: FLAGS.inconsistent, detail: { conflicts: { total_tokens: [120, 100] } } },
  { flags: FLAGS.stream | FLAGS.estimated, outcome: 'capped', lowered: { asked: 4_096, sent: 512 } },
  { outcome: 'crashed', status: 500, flags: FLAGS.estimated },
  { detail: { attempts: [{ provider: 'openai', status: 429 }] }, upstreamMessageId: 'msg_1' },
  { ...FREE, outcome: 'upstream_error', status: 429, detail: { error: 'rate_limited' } },
  { ...FREE, outcome: 'upstream_failed', status: 502, detail: { error: 'timeout' } },
];

/** Writes a home with a month of everything, through the stores and the ledger. The same each time, but for the paths. */
export async function buildMonth(paths: Paths, upstreamUrl: string): Promise<Month> {
  mkdirSync(paths.home, { recursive: true, mode: 0o700 });
  await layDatabase(paths.database);
  const db = await openDatabase(paths.database);
  db.pragma('synchronous = OFF');
  const world = createWorld({ startMs: FIRST, timezone: TIMEZONE });
  const { clock, calendar } = world;
  const random = seededRandom('month');
  const write = (path: string, content: object | Buffer) =>
    writeFileSync(path, Buffer.isBuffer(content) ? content : JSON.stringify(content), { mode: 0o600 });
  write(paths.config, {
    timezone: TIMEZONE,
    aliases: { fast: 'openai/gpt-5-mini,mock/test-model' },
    requests: { keep_bodies: 'on' },
    limits: { max_memory_bytes: 2 ** 31 },
    providers: { mock: { baseUrl: upstreamUrl }, silent: { baseUrl: 'http://127.0.0.1:9/v1' } },
  });
  write(paths.credentials, { mock: 'provider-key' });

  const project = (name: string, plan: 'free' | 'pro' | 'team' = 'pro') =>
    createProject(db, { name, plan, now: clock.now() });
  const standard = await project('default');
  const web = await project('web', 'team');
  const idle = await project('idle', 'free');
  const gone = await project('gone');
  const asking = await project('asking');
  const key = (projectId: number, more: object = {}) =>
    createKey(db, { projectId, now: clock.now(), random, ...more });
  const main = await key(standard.id, { label: 'laptop' });
  const admin = await key(standard.id, { label: 'ops', admin: true });
  const webKey = await key(web.id, { label: 'ci', rpm: 600, models: ['gpt-*', 'mock/test-model'] });
  const old = await key(web.id, { label: 'old', expiresAt: NOW + 9 * DAY });
  const revoked = await key(web.id, { label: 'leaked' });
  await key(idle.id);
  const askingKey = await key(asking.id);
  // The command line makes one with random bytes where it has none.
  const cliKey = await key(standard.id, { label: CLI_KEY_LABEL });
  write(paths.cliKeys, { default: cliKey.key });
  await setPaused(db, idle.name, FIRST + DAY);
  const price = { inputPicoUsd: 1e6, outputPicoUsd: 2e6 };
  await setPrice(db, { ...price, provider: 'mock', model: 'test-model' }, clock.now());
  await setPrice(db, { ...price, provider: '', model: 'gpt-4.1', cachedInputPicoUsd: 5e5 }, clock.now());
  const budget = (capUsd: number, terms: Omit<BudgetSettings, 'capNanoUsd'>, of = standard) =>
    setBudget(db, of, { ...terms, capNanoUsd: capUsd * USD }, { calendar, now: clock.now() });
  await budget(2, { period: 'daily', alertPercents: [5, 10, 80] });
  await budget(6, { period: 'monthly', alertPercent: 50 });
  await budget(0.5, { period: 'daily', repo: SHOP });
  await budget(9, { period: 'lifetime', scope: { kind: 'agent', value: 'codex' } });
  await budget(4, { period: 'weekly', scope: { kind: 'each', value: 'session' } });
  await budget(5, { period: 'rolling', windowMs: HOUR });
  await budget(0.02, { period: 'daily', alertPercent: 50 }, web);
  await budget(1, { period: 'monthly', scope: { kind: 'key', value: 'ci' }, onLimit: 'ask' }, web);
  await budget(0, { period: 'monthly', onLimit: 'ask' }, asking);

  const webhooks = createWebhookService({
    db,
    write: async (command) => inTransaction(db, command),
    clock,
    calendar: () => calendar,
    send: () => Promise.reject(new Error('deliveries are played below')),
    policy: () => ({ allowLocal: true, ownPort: 4747 }),
    random,
  });
  const asAdmin = { admin: true, projectId: standard.id, project: standard.name };
  const slack = { url: 'https://hooks.slack.com/services/T0/B0/x', format: 'slack' };
  await webhooks.register(asAdmin, { url: 'http://127.0.0.1:9/hook?token=secret', project_id: 'default' });
  await webhooks.register(asAdmin, { ...slack, project_id: 'web', events: ['budget.exceeded'] });
  await webhooks.register(asAdmin, { url: 'https://chat.example.com/off', project_id: 'default' });
  await webhooks.update(asAdmin, 'wh_3', { enabled: false });

  const daemon = startDaemon(db, world, 0);
  const { ledger } = daemon;
  const outbox = createOutbox(db, async (command) => inTransaction(db, command));
  let sends = 0;
  /** Sends what is due, every fifth in vain. */
  async function deliver(): Promise<void> {
    const now = clock.now();
    for (;;) {
      const claims = await outbox.claim({ now, leaseMs: MINUTE });
      if (claims.length === 0) return;
      for (const claim of claims) {
        const attempt = { at: now, durationMs: 20 + ++sends, status: 204, error: null, response: '' };
        if (sends % 5 > 0) await outbox.delivered(claim, attempt, now);
        else
          await outbox.failed(claim, { ...attempt, status: 500, error: 'HTTP 500', response: 'oops' }, now);
      }
    }
  }

  /** A request as the gateway sends it through the ledger; one without room is blocked. */
  async function send(at: number, fields: Partial<RequestRecord>): Promise<RequestId> {
    clock.set(at);
    const id = daemon.nextId();
    const { projectId = standard.id, costNanoUsd = 0 } = fields;
    const record = recordOf(id, { keyId: main.id, ...fields, projectId });
    const held = Math.ceil(costNanoUsd * 1.5) + 1_000;
    const need = {
      ...{ inputTokens: record.usage.inputTokens + 100, inputBound: 'edit' as const, outputTokens: 1_024 },
      ...{
        outputAskedTokens: 2_048,
        inputNanoUsd: costNanoUsd,
        outputNanoUsd: held - costNanoUsd,
        feesNanoUsd: 0,
      },
    };
    const detail = { error: 'budget_exceeded' };
    const admission = admissionOf(id, held, {
      ...{ ...record, stream: (record.flags & FLAGS.stream) > 0 },
      needOf: () => need,
      notBilled: (record.flags & FLAGS.not_billed) > 0,
      blockedRecord: () => ({ ...record, ...FREE, status: 402, outcome: 'blocked', need, detail }),
    });
    const { kind } = await ledger.admit(admission);
    clock.set(at + record.durationMs);
    if (kind === 'held') await ledger.settle(record);
    await deliver();
    return id;
  }

  const times = Array.from({ length: 82 }, (_, i) => FIRST + i * 8 * HOUR + (i % 13) * 7 * MINUTE);
  const sent: RequestId[] = [];
  for (const [i, at] of times.entries()) {
    const projectId = i % 7 === 6 ? web.id : i === 4 ? gone.id : standard.id;
    const keyId = projectId === web.id ? (i % 2 ? webKey.id : old.id) : main.id;
    sent.push(await send(at, { ...requestOf(i), projectId, keyId }));
    if (i === 40) await daemon.takeOver();
  }
  const ofWeb = { projectId: web.id, keyId: webKey.id };
  const refuse = (status: number, error: string, more: Partial<RequestRecord>) =>
    ledger.record(recordOf(daemon.nextId(), { outcome: 'refused', status, detail: { error }, ...more }));
  // So many refusals of a key in a minute that the last ones share a row.
  clock.set(NOW - 3 * DAY);
  for (let i = 0; i < 104; i++) await refuse(429, 'rate_limit_exceeded', ofWeb);
  const rare: RequestId[] = [];
  for (const [i, fields] of RARE.entries())
    rare.push(await send(NOW - DAY + i * HOUR, { ...requestOf(i), ...fields }));
  await daemon.takeOver();
  while (await daemon.sumNextHour(NOW - HOUR));
  // The last hours are still in the journal.
  const kept = await send(NOW - 3 * HOUR, requestOf(6));
  const missed = await send(NOW - 2 * HOUR, requestOf(11));
  const blocked = await send(NOW - HOUR, { ...requestOf(2), ...ofWeb, costNanoUsd: USD });
  await refuse(404, 'model_not_found', { keyId: main.id });
  clock.set(NOW);
  await ledger.roll();
  await deliver();
  createFeedbackStore(db)(sent[60] ?? 0, 0.25);
  mkdirSync(paths.bodies, { mode: 0o700 });
  const bodyOf = (content: string) => Buffer.from(JSON.stringify({ messages: [{ role: 'user', content }] }));
  const [client, optimized] = [bodyOf('Hi \n\n'), bodyOf('Hi')];
  const endpoint = 'chat/completions';
  const bodies = { client, optimized, sent: optimized, endpoint, sentEndpoint: endpoint };
  write(`${paths.bodies}/${formatRequestId(kept)}.gz`, await packBodies(bodies));
  const logged = {
    agent: 'claude',
    agentVersion: '2.0.0',
    provider: 'anthropic',
    model: 'claude-sonnet-4-5',
  };
  const calls = Array.from({ length: 6 }, (_, i) => ({
    ...{ ...logged, key: `call-${i}`, session: `earlier-${i % 2}`, repo: SHOP },
    ...{ at: FIRST - 9 * DAY + i * 3 * DAY, costNanoUsd: i === 5 ? undefined : 12_000_000 },
    usage: { ...NO_USAGE, inputTokens: 3_000 + i, outputTokens: 200 },
  }));
  await importUsage(db, calls, { projectId: standard.id });
  await removeProject(db, gone.name, NOW - DAY);
  await revokeKey(db, revoked.id, NOW - 2 * DAY);
  await rotateKey(db, { id: old.id, overlapMs: 2 * DAY, now: NOW - DAY, random });
  const raise = { budget: 'default/daily', amountNanoUsd: USD, forMs: 6 * HOUR };
  await raiseBudget(db, raise, { calendar, now: NOW - HOUR });
  addLimits(db);
  db.close();
  const [failed, rated] = [rare.at(-1) ?? 0, sent[60] ?? 0];
  const ids = Object.entries({ blocked, failed, kept, missed, rated }).map(([name, id]) => [
    name,
    formatRequestId(id),
  ]);
  return {
    ...{ adminKey: admin.key, webKey: webKey.key, askingKey: askingKey.key },
    ids: Object.fromEntries(ids),
  };
}
