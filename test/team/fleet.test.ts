import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { newApiKey } from '../../src/ids.ts';
import { hashKey } from '../../src/store/accounts/callers.ts';
import { revokeKey } from '../../src/store/accounts/keys.ts';
import { addMembership, readMembership, startLeaving } from '../../src/store/team/membership.ts';
import type { TeamAdmin, TeamAuthority } from '../../src/team/authority.ts';
import { fingerprintOf } from '../../src/team/fingerprint.ts';
import { createPostgresAdmin } from '../../src/team/postgres/admin.ts';
import { createPostgresAuthority } from '../../src/team/postgres/authority.ts';
import { signatureHeaders } from '../../src/webhooks/sign.ts';
import { completion } from '../support/chat-scripts.ts';
import { type GatewayOptions, PLAIN, startGateway, type TestGateway, until } from '../support/gateway.ts';
import { postgresMissing } from '../support/postgres.ts';
import { startUpstream, type Upstream } from '../support/upstream.ts';
import { type Answer, answerOk, createReceiver, type Receiver } from '../webhooks/support/receiver.ts';
import { breakFunction, startTeam, type TeamServer } from './team-server.ts';

/** A request holds $0.001 at most and costs as much. */
const PRICE = { input: 0, output: 10 };
const BODY = { ...PLAIN, max_tokens: 100 };
/** Keys are checked every half second. */
const CACHE_MS = 1_000;
const SECRET = 'whsec_c2VjcmV0IG9mIHRoZSB0ZWFt';
const missing = postgresMissing({ ownServer: true });

describe.skipIf(missing)('daemons of one team in PostgreSQL', () => {
  let team: TeamServer;
  let admin: TeamAdmin;
  let upstream: Upstream;
  beforeAll(async () => {
    team = await startTeam();
    admin = createPostgresAdmin(team.url('boss'));
    upstream = await startUpstream({
      script: completion({ usage: { prompt_tokens: 10, completion_tokens: 100, total_tokens: 110 } }),
    });
  }, 60_000);
  beforeEach(() => team.reset());
  afterAll(async () => {
    await admin?.close();
    await upstream?.close();
    await team?.end();
  });

  interface MemberOptions extends GatewayOptions {
    name?: string;
    courier?: boolean;
    /** What the daemon does to what the authority answers. */
    wrap?: (authority: TeamAuthority) => Partial<TeamAuthority>;
  }

  const open = (user: string) => async () => createPostgresAuthority(team.url(user));

  async function startMember({
    name = 'a',
    courier,
    wrap,
    ...options
  }: MemberOptions = {}): Promise<TestGateway> {
    const url = team.url(courier ? 'carl' : 'ann');
    const gateway = await startGateway({
      upstream,
      price: PRICE,
      settings: { 'team.key_cache_ms': CACHE_MS },
      openTeam: async () => {
        const authority = createPostgresAuthority(url);
        return { ...authority, ...wrap?.(authority) };
      },
      ...options,
    });
    const authority = createPostgresAuthority(url);
    const token = `token of ${name}`;
    addMembership(gateway.db, {
      gatewayId: await authority.join({ name, token, nonce: 'n' }),
      name,
      teamName: 'acme',
      token,
      nonce: 'n',
      fingerprint: fingerprintOf(gateway.paths.database),
      timezone: 'UTC',
      courier: courier ? 1 : 0,
      joinedAt: Date.now(),
    });
    await authority.close();
    // A request has the daemon look for changes of its configuration.
    await until(
      async () => (await gateway.get('/v1/budgets')) && readMembership(gateway.db)?.syncedAt != null,
    );
    return gateway;
  }

  async function createKey(options: { project?: string; models?: string[]; expiresAt?: number } = {}) {
    const key = newApiKey();
    const { project = 'default', models = null, expiresAt = null } = options;
    const id = await admin.createKey({
      hash: hashKey(key).toString('hex'),
      ...{ hint: key.slice(-4), label: 'ci', project, expiresAt, models, rpm: null },
    });
    return { id, key };
  }
  const ask = async (gateway: TestGateway, key: string) => {
    const { status, body } = await gateway.post(BODY, { headers: { authorization: `Bearer ${key}` } });
    return { status, error: status === 200 ? undefined : JSON.parse(String(body)).error };
  };
  const answers = (gateways: TestGateway[], key: string, status: number) =>
    until(async () =>
      (await Promise.all(gateways.map((each) => ask(each, key)))).every((a) => a.status === status),
    );

  test('a key of the team works on each daemon with its project and limits, until it is revoked', async () => {
    const members = [await startMember({ name: 'a' }), await startMember({ name: 'b' })];
    const [first] = members as [TestGateway];
    await admin.setBudget({ project: 'web', period: 'daily', capNanoUsd: 0 });
    const { id, key } = await createKey({ models: ['mock/*'] });
    const web = await createKey({ project: 'web' });
    await answers(members, key, 200);
    // The budget of the key's project applies.
    await until(async () => (await ask(first, web.key)).error?.budget_id === 'web@team/daily');
    const other = { model: 'openai/gpt-4.1', messages: [{ role: 'user', content: 'Hi' }] };
    const refused = await first.post(other, { headers: { authorization: `Bearer ${key}` } });
    expect(refused.status).toBe(403);
    expect(
      first.db.prepare('SELECT id, admin, team_key_id FROM keys WHERE label = ?').get('ci'),
    ).toMatchObject({
      admin: 0,
      team_key_id: id,
    });
    // It is not a local command that ends it.
    const local = first.db.prepare('SELECT id FROM keys WHERE team_key_id = ?').pluck().get(id) as number;
    await expect(revokeKey(first.db, local, Date.now())).rejects.toThrow(`gw team keys revoke ${id}`);
    await admin.revokeKey(id);
    await answers(members, key, 401);
    expect(await ask(first, key)).toMatchObject({ error: { code: 'invalid_api_key' } });
    expect((await ask(first, first.key)).status).toBe(200);
  });

  test('a revocation of which gateways hear nothing is found out, and by the next start at the latest it counts', async () => {
    const member = await startMember();
    const { id, key } = await createKey();
    await answers([member], key, 200);
    const repair = await breakFunction(team.su, 'revoke_key', ', version = v', '');
    await admin.revokeKey(id);
    const later = await createKey();
    await answers([member], later.key, 200);
    expect((await ask(member, key)).status).toBe(200);
    await repair();
    const { home } = member.paths;
    await member.stop();
    const again = await startGateway({ home, upstream, price: PRICE, openTeam: open('ann') });
    await answers([again], key, 401);
    expect((await ask(again, later.key)).status).toBe(200);
  });

  test('a flood of unknown keys asks the team nothing', async () => {
    let asked = 0;
    const count: MemberOptions['wrap'] = (authority) =>
      Object.fromEntries(
        Object.entries(authority).map(([name, call]) => [
          name,
          (...values: unknown[]) => {
            asked++;
            return (call as (...values: unknown[]) => unknown)(...values);
          },
        ]),
      );
    const member = await startMember({ wrap: count, settings: {} });
    await until(() => asked >= 4);
    const before = asked;
    const statuses = await Promise.all(
      Array.from({ length: 200 }, async () => (await ask(member, newApiKey())).status),
    );
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect(asked).toBe(before);
  });

  test('while PostgreSQL is down, a key works as long as its copy is good, and is then refused with a reason', async () => {
    const member = await startMember();
    const { key } = await createKey();
    await answers([member], key, 200);
    await team.server.stop();
    expect((await ask(member, key)).status).toBe(200);
    await until(async () => (await ask(member, key)).status === 503);
    const { error } = await ask(member, key);
    expect(error).toMatchObject({
      code: 'team_unreachable',
      message: expect.stringMatching(
        /could not be asked whether it was revoked since 20\d\d.*gw team status/,
      ),
    });
    // A key of the gateway's own is none of the team's business.
    expect((await member.get('/v1/models')).status).toBe(200);
    await team.server.start();
    await team.reconnect();
    await answers([member], key, 200);
  });

  test('keys end with the membership', async () => {
    const member = await startMember();
    const { key } = await createKey();
    await answers([member], key, 200);
    startLeaving(member.db);
    await until(async () => (await member.get('/v1/budgets')) && readMembership(member.db) === undefined);
    expect((await ask(member, key)).status).toBe(401);
  });

  test('a daemon that is stopped while it leaves completes that first', async () => {
    const member = await startMember();
    startLeaving(member.db);
    await member.get('/v1/budgets');
    await member.stop();
    expect(await admin.members()).toMatchObject([{ name: 'a', state: 'left' }]);
  });

  /** Crosses the alert of a budget, and uses it up. */
  async function spendAll(member: TestGateway, requests = 10): Promise<void> {
    await admin.setBudget({ project: '', period: 'daily', capNanoUsd: requests * 1e6 });
    await until(async () => (await ask(member, member.key)).error?.code === 'budget_exceeded');
  }
  async function addWebhook(answer: Answer = answerOk): Promise<Receiver> {
    const receiver = await createReceiver(systemClock, answer);
    onTestFinished(() => receiver.close());
    const events = ['budget.threshold_reached', 'budget.exceeded'];
    await admin.addWebhook({ url: `${receiver.url}/hook`, secret: SECRET, format: 'json', events });
    return receiver;
  }
  const isDone = async () => (await admin.webhooks())[0]?.pendingDeliveries === 0;
  const typesOf = ({ received }: Receiver) => received.map(({ body }) => JSON.parse(String(body)).type);
  const idsOf = ({ received }: Receiver) => received.map(({ headers }) => headers['webhook-id']);

  test('two couriers deliver each event once, signed, and the one that stops hands over', async () => {
    const receiver = await addWebhook();
    const couriers = [
      await startMember({ name: 'a', courier: true }),
      await startMember({ name: 'b', courier: true }),
    ];
    await spendAll(couriers[1] as TestGateway);
    await until(async () => receiver.received.length >= 2 && (await isDone()));
    expect(typesOf(receiver)).toEqual(['budget.threshold_reached', 'budget.exceeded']);
    for (const { headers, body } of receiver.received) {
      const timestamp = Number(headers['webhook-timestamp']);
      const id = String(headers['webhook-id']);
      expect(headers).toMatchObject(signatureHeaders({ id, timestamp, body, secrets: [SECRET] }));
      expect(JSON.parse(String(body))).toMatchObject({
        id,
        project_id: null,
        data: { budget_id: '@team/daily', team: true, cap_usd: 0.01 },
      });
    }
    const holders = () => couriers.filter(({ db }) => (readMembership(db)?.courierUntil ?? 0) > Date.now());
    expect(holders()).toHaveLength(1);
    const [holder] = holders();
    const other = couriers.find((each) => each !== holder);
    await holder?.stop();
    expect((await admin.status()).courier).toBeNull();
    // The other asks again within ten seconds; in another period the budget is used up anew.
    await admin.setBudget({ project: '', period: 'monthly', capNanoUsd: 0 });
    await until(
      async () => (await ask(other as TestGateway, (other as TestGateway).key)).error !== undefined,
    );
  });

  test('an attempt that fails is repeated with the same id and body', async () => {
    const receiver = await addWebhook((response) => {
      response.statusCode = receiver.received.length === 1 ? 500 : 200;
      response.end();
    });
    const courier = await startMember({ courier: true });
    await spendAll(courier);
    await until(async () => receiver.received.length >= 3 && (await isDone()));
    const [first, second, third] = idsOf(receiver);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const [one, two] = receiver.received;
    expect(two?.body).toEqual(one?.body);
    expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThanOrEqual(1_000);
  });

  /** What a receiver gets when the courier dies after it sent an event, and before that is on record. */
  async function killCourier(): Promise<Receiver> {
    const receiver = await addWebhook();
    let isDead = false;
    const dead = () => Promise.reject(new Error('killed'));
    const first = await startMember({
      name: 'a',
      courier: true,
      wrap: ({ claimEvents }) => ({
        claimEvents: (...args) => (isDead ? dead() : claimEvents(...args)),
        finishDelivery() {
          isDead = true;
          return dead();
        },
      }),
    });
    const second = await startMember({
      name: 'b',
      courier: true,
      // It stands by; its lease's time passes in the next step.
      wrap: ({ claimEvents }) => ({
        claimEvents: async (...args) => ({ ...(await claimEvents(...args)), leaseMs: 20 }),
      }),
    });
    await spendAll(second);
    await until(() => isDead);
    expect(receiver.received).not.toHaveLength(0);
    expect((await admin.status()).courier).toBe('a');
    await team.su.query(
      'UPDATE courier SET lease_ends = lease_ends - 30000; UPDATE deliveries SET claim_ends = claim_ends - 20000',
    );
    await until(isDone);
    await Promise.all([first.stop(), second.stop()]);
    return receiver;
  }

  test('an event whose courier dies between sending and recording is delivered by another, under the same id', async () => {
    const receiver = await killCourier();
    expect(typesOf(receiver)).toEqual([
      'budget.threshold_reached',
      'budget.threshold_reached',
      'budget.exceeded',
    ]);
    expect(new Set(idsOf(receiver)).size).toBe(2);
  });

  test('a claim that counts as a delivery loses that event, which is found out', async () => {
    const repair = await breakFunction(
      team.su,
      'claim_events',
      'claims = d.claims + 1',
      'claims = d.claims + 1, delivered_at = at',
    );
    onTestFinished(repair);
    expect(typesOf(await killCourier())).toEqual(['budget.threshold_reached', 'budget.exceeded']);
  });
});
test.runIf(missing)(`skipped: ${missing}`, () => {});
