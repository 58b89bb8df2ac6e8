import { describe, expect, test } from 'vitest';
import { requestIdAt } from '../../../src/ids.ts';
import { createKey } from '../../../src/store/accounts/keys.ts';
import { FLAGS } from '../../../src/store/ledger/record.ts';
import { getRequest, listRequests } from '../../../src/store/requests/request-log.ts';
import { NO_USAGE } from '../../../src/usage.ts';
import {
  addProjects,
  createWorld,
  memoryDatabase,
  NOON,
  recordOf,
  startDaemon,
} from '../../support/simulator.ts';

async function withRequests() {
  const db = await memoryDatabase();
  addProjects(db, 2);
  const { key } = await createKey(db, { projectId: 1, now: NOON });
  const world = createWorld({ startMs: NOON + 3_600_000 });
  const { ledger } = startDaemon(db, world, 0);
  const ids = [0, 1, 2, 3].map((minutes) => requestIdAt(NOON + minutes * 60_000));
  const [a = 0, b = 0, c = 0, d = 0] = ids;
  await Promise.all([
    ledger.record(recordOf(a)),
    ledger.record(recordOf(b, { projectId: 2, outcome: 'blocked', status: 402 })),
    ledger.record(recordOf(c, { outcome: 'upstream_error', status: 429 })),
    ledger.record(recordOf(d, { keyId: 99, provider: '', model: '', outcome: 'refused', status: 404 })),
  ]);
  return { db, key, ledger, a, b, c, d };
}

describe('getRequest()', () => {
  test('reads back what was recorded', async () => {
    const { db, key, ledger } = await withRequests();
    const id = requestIdAt(NOON + 3_600_000);
    const usage = {
      ...NO_USAGE,
      inputTokens: 1_000,
      cachedInputTokens: 400,
      cacheWriteTokens: 100,
      cacheWrite1hTokens: 50,
      outputTokens: 70,
      reasoningTokens: 30,
    };
    const detail = { attempts: [{ provider: 'openai', status: 500 }] };
    await ledger.record(
      recordOf(id, {
        usage,
        detail,
        askedModel: 'auto',
        flags: FLAGS.stream | FLAGS.noRoute,
        costNanoUsd: 12,
        savedTokens: 5,
        savedNanoUsd: 6,
        durationMs: 123.6,
        firstByteMs: 45.4,
        requestBytes: 4_321,
        labels: new Map([['customer', 'acme']]),
      }),
    );
    expect(await getRequest(db, id)).toEqual({
      id,
      timeMs: NOON + 3_600_000,
      project: 'p1',
      keyHint: key.slice(-4),
      endpoint: 'chat/completions',
      provider: 'openai',
      model: 'gpt-5-mini',
      askedModel: 'auto',
      status: 200,
      outcome: 'ok',
      flags: ['stream', 'noRoute'],
      inputTokens: 1_000,
      cachedInputTokens: 400,
      cacheWriteTokens: 150,
      outputTokens: 70,
      reasoningTokens: 30,
      savedTokens: 5,
      requestBytes: 4_321,
      costNanoUsd: 12,
      savedNanoUsd: 6,
      holdNanoUsd: 0,
      durationMs: 124,
      firstByteMs: 45,
      process: '',
      repo: '',
      agent: '',
      agentVersion: '',
      session: '',
      labels: '{"customer":"acme"}',
      source: 'gw',
      heldAt: null,
      settledAt: NOON + 3_600_000,
      timings: { body_ms: null, compressed_ms: null, held_ms: null, sent_ms: null },
      upstreamMessageId: null,
      detail,
    });
  });

  test('finds nothing under an id that was never used', async () => {
    const { db } = await withRequests();
    expect(await getRequest(db, 1)).toBeUndefined();
  });
});

describe('listRequests()', () => {
  test('shows the newest first, also of keys and models that are unknown', async () => {
    const { db, a, b, c, d } = await withRequests();
    const all = await listRequests(db);
    expect(all.map(({ id }) => id)).toEqual([d, c, b, a]);
    expect(all[0]).toMatchObject({ keyHint: '', provider: '', model: '', detail: {} });
  });

  test('filters by project, outcome, status, time and id, and by several at once', async () => {
    const { db, a, b, c, d } = await withRequests();
    const ids = async (filter: Parameters<typeof listRequests>[1]) =>
      (await listRequests(db, filter)).map(({ id }) => id);
    expect(await ids({ projectId: 2 })).toEqual([b]);
    expect(await ids({ outcomes: ['ok'] })).toEqual([a]);
    expect(await ids({ status: 429 })).toEqual([c]);
    expect(await ids({ since: NOON + 60_000 })).toEqual([d, c, b]);
    expect(await ids({ after: b })).toEqual([d, c]);
    expect(await ids({ limit: 1 })).toEqual([d]);
    expect(await ids({ projectId: 1, since: NOON + 60_000, limit: 5 })).toEqual([d, c]);
  });
});
