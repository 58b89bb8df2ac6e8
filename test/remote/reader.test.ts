import { describe, expect, test } from 'vitest';
import { createCalendar } from '../../src/calendar.ts';
import { formatRequestId } from '../../src/ids.ts';
import type { Reader } from '../../src/operations/registry.ts';
import { localDashboard } from '../../src/operations/run/dashboard.ts';
import { timeText } from '../../src/operations/times.ts';
import { connectRemote } from '../../src/remote/client.ts';
import { createRemoteReader } from '../../src/remote/reader.ts';
import { openDatabase } from '../../src/store/database/open.ts';
import { completion } from '../support/chat-scripts.ts';
import { createGate } from '../support/gate.ts';
import { PLAIN, startGateway, type TestGateway } from '../support/gateway.ts';
import { DIRECT } from '../support/network.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

const NOW = Date.UTC(2026, 0, 15, 12);

async function started() {
  const clock = createVirtualClock(NOW);
  const gateway = await startGateway({ clock, budget: { period: 'daily', capUsd: 5 } });
  const ask = connectRemote({ url: gateway.origin, key: gateway.adminKey }, { network: async () => DIRECT });
  return { ask, clock, gateway, reader: createRemoteReader(ask, clock) };
}

async function complete(gateway: TestGateway): Promise<string> {
  gateway.upstream.queue(completion());
  return (await gateway.post(PLAIN)).header('x-service-request-id') ?? '';
}

const ids = async (requests: ReturnType<Reader['requests']>) => (await requests).map(({ id }) => id);

describe('a remote reader', () => {
  test('reads as many pages as it needs', async () => {
    const { ask, clock, gateway } = await started();
    for (let i = 0; i < 7; i++) await gateway.post('{');
    const all = (await gateway.settled(7)).map(({ id }) => formatRequestId(id)).reverse();
    const reader = createRemoteReader(ask, clock, 3);
    for (const limit of [1, 3, 5, 6, 7, 20]) {
      expect(await ids(reader.requests({ limit }))).toEqual(all.slice(0, limit));
    }
  });

  test('reads the calls of an agent, page by page and with those that run', async () => {
    const { clock, gateway, reader } = await started();
    const headers = { 'x-claude-code-session-id': 'session-1', 'user-agent': 'claude-cli/2.1.329' };
    gateway.upstream.queue(completion(), completion());
    for (let i = 0; i < 2; i++) await gateway.post(PLAIN, { headers });
    await complete(gateway);
    await gateway.settled(3);
    const gate = createGate();
    gateway.upstream.queue(async (exchange) => {
      await gate.pass();
      await completion()(exchange);
    });
    const running = gateway.post(PLAIN, { headers });
    await gate.reached();
    const query = { agent: 'claude', since: timeText(NOW), until: timeText(clock.now() + 1), limit: 2 };
    const first = await reader.calls(query);
    const rest = await reader.calls({ ...query, cursor: first[1]?.id });
    expect([...first, ...rest].map((call) => [call.session_id, call.ended_at === null])).toEqual([
      ['session-1', false],
      ['session-1', false],
      ['session-1', true],
    ]);
    expect(first[0]).toMatchObject({
      upstream_message_id: expect.stringMatching(/^chatcmpl/),
      input_tokens: 22,
    });
    expect(await reader.calls({ ...query, agent: '' })).toHaveLength(1);
    expect(await reader.calls({ ...query, since: timeText(NOW + 1), until: timeText(NOW + 2) })).toEqual([]);
    gate.open();
    await running;
  });

  test('follows requests: each one once, and those that match', async () => {
    const { gateway, reader } = await started();
    await complete(gateway);
    const follower = await reader.followRequests({});
    const refused = await reader.followRequests({ status: 'failed' });
    expect(await follower.next()).toEqual([]);
    const second = await complete(gateway);
    const third = (await gateway.post('{')).header('x-service-request-id') ?? '';
    expect(await ids(follower.next())).toEqual([second, third]);
    expect(await follower.next()).toEqual([]);
    expect(await ids(refused.next())).toEqual([third]);
  });

  test('goes on following after the server has forgotten its cursor', async () => {
    const { clock, gateway, reader } = await started();
    const follower = await reader.followRequests({});
    const first = await complete(gateway);
    expect(await ids(follower.next())).toEqual([first]);
    await clock.advance(2 * 60_000);
    const missed = await complete(gateway);
    expect(await ids(follower.next())).toContain(missed);
    const next = await complete(gateway);
    expect(await ids(follower.next())).toEqual([next]);
  });

  test('reads what the dashboard shows, and only after a change', async () => {
    const { clock, gateway, reader } = await started();
    await complete(gateway);
    await gateway.post('{');
    await gateway.settled(2);
    const feed = await reader.dashboard();
    const query = { window: 'day', filter: { kind: 'all', text: '' }, now: NOW } as const;
    const db = await openDatabase(gateway.paths.database, { readonly: true });
    const scope = { admin: true, project: 'default', projectId: 1 };
    const calendar = createCalendar('UTC');
    const here = await localDashboard({ calendar, db, scope, pollDb: async () => db });
    for (const window of ['hour', 'day', 'month'] as const) {
      expect(await feed.read({ ...query, window })).toEqual(await here.read({ ...query, window }));
    }
    db.close();
    await feed.read(query);
    expect(await feed.read(query)).toBeUndefined();
    const other = { ...query, filter: { kind: 'failed', text: '' } } as const;
    expect((await feed.read(other))?.requests).toHaveLength(1);
    expect((await feed.read(query))?.requests).toHaveLength(2);
    await complete(gateway);
    expect((await feed.read(query))?.requests).toHaveLength(3);
    expect(await feed.read(query)).toBeUndefined();
    await clock.advance(60_000);
    expect((await feed.read(query))?.now).toBe(NOW + 60_000);
  });
});
