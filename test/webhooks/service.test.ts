import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { GwError } from '../../src/errors.ts';
import { createProject, setPlan } from '../../src/store/accounts/projects.ts';
import { inTransaction } from '../../src/store/database/write.ts';
import { createWebhookService, type WebhookCaller, type WebhookService } from '../../src/webhooks/service.ts';
import { createReceiver, type Receiver } from './support/receiver.ts';
import { START } from './support/virtual-clock.ts';
import { createWorld, LOCAL, UTC, type World } from './support/world.ts';

const SLACK = 'https://hooks.slack.com/services/T012AB3CD/B045EF6GH/abcdefghijklmnopqrst1234';

let world: World;
let service: WebhookService;
let receiver: Receiver;
let admin: WebhookCaller;
let web: WebhookCaller;
let other: WebhookCaller;
let status = 200;

beforeEach(async () => {
  status = 200;
  world = await createWorld();
  const { db, clock, dispatcher, send, project } = world;
  receiver = await createReceiver(clock, (response) => {
    response.statusCode = status;
    response.end(`status ${status}`);
  });
  service = createWebhookService({
    db,
    write: async (command) => inTransaction(db, command),
    clock,
    calendar: () => UTC,
    send,
    policy: () => LOCAL,
    wake: dispatcher.wake,
  });
  const { id } = await createProject(db, { name: 'other', now: START });
  web = { project: 'web', projectId: project.id, admin: false };
  other = { project: 'other', projectId: id, admin: false };
  admin = { ...web, admin: true };
});

afterEach(async () => {
  await receiver.close();
  await world.close();
});

async function refusal(promise: Promise<unknown>) {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof GwError)) throw new Error(`not refused: ${String(error)}`);
  return {
    status: error.status,
    type: error.type,
    code: error.code,
    param: error.param,
    message: error.message,
  };
}

describe('register()', () => {
  it('needs a URL alone: all events, the project of the key, the format of the URL', async () => {
    expect(await service.register(web, { url: 'https://example.com/hook' })).toEqual({
      id: 'wh_1',
      url: 'https://example.com/hook',
      events: ['budget.threshold_reached', 'budget.exceeded', 'budget.reset', 'request.blocked'],
      project_id: 'web',
      format: 'json',
      secret: expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/),
      status: 'enabled',
      status_reason: null,
      consecutive_failures: 0,
      created_at: '2026-05-12T13:40:00.000Z',
      previous_secret_expires_at: null,
    });
  });

  it('takes events in any order, once each, and a project to an admin key', async () => {
    const events = ['request.blocked', 'budget.exceeded', 'request.blocked'];
    const made = await service.register(admin, { url: 'http://localhost:3000', events, project_id: 'other' });
    expect(made).toMatchObject({
      url: 'http://localhost:3000',
      events: ['budget.exceeded', 'request.blocked'],
      project_id: 'other',
    });
  });

  it('shows a secret once, and a chat URL never', async () => {
    const made = await service.register(web, { url: SLACK });
    const shown = JSON.stringify([await service.list(web), await service.get(web, made.id)]);
    expect(made).toMatchObject({ format: 'slack', url: 'https://hooks.slack.com/...1234' });
    expect(shown).not.toContain('whsec_');
    expect(shown).not.toContain('abcdefgh');
  });

  it('takes a format for what no URL tells', async () => {
    const url = 'https://chat.example/hooks/abcdefghijklmnopqrstuvwxyz';
    expect(await service.register(web, { url, format: 'mattermost' })).toMatchObject({
      format: 'mattermost',
    });
    expect(await service.register(web, { url: SLACK, format: 'json' })).toMatchObject({ format: 'json' });
  });

  const URL_HINT = 'url must be an http:// or https:// address, not';
  it.each<[string, unknown, string, string]>([
    ['nothing', undefined, '', 'the request body must be a JSON object'],
    ['a list', [], '', 'the request body must be a JSON object'],
    ['no URL', {}, 'url', 'url must be a string, not null'],
    ['a number', { url: 7 }, 'url', 'url must be a string, not 7'],
    ['no address', { url: 'example.com/hook' }, 'url', `${URL_HINT} "example.com/hook"`],
    ['another scheme', { url: 'ftp://example.com' }, 'url', URL_HINT],
    ['a file', { url: 'file:///etc/passwd' }, 'url', URL_HINT],
    ['an empty host', { url: 'http://' }, 'url', URL_HINT],
    ['a password', { url: 'https://u:p@example.com' }, 'url', 'user name or password'],
    ['too long a URL', { url: `https://example.com/${'a'.repeat(2_048)}` }, 'url', 'longer than 2048'],
    [
      'an unknown event',
      { url: 'https://e.com', events: ['budget.gone'] },
      'events',
      'unknown event "budget.gone": choose from budget.threshold_reached,',
    ],
    ['no events', { url: 'https://e.com', events: [] }, 'events', 'a list of at least one of'],
    [
      'events that are no list',
      { url: 'https://e.com', events: 'budget.reset' },
      'events',
      'a list of at least one of',
    ],
    [
      'an unknown format',
      { url: 'https://e.com', format: 'irc' },
      'format',
      'unknown format "irc": choose from json, slack',
    ],
    ['a misspelt field', { url: 'https://e.com', event: [] }, 'event', 'unknown field "event"'],
    [
      'a retired connector',
      { url: 'https://x.webhook.office.com/webhookb2/y' },
      'url',
      'Microsoft has retired',
    ],
    ['a metadata address', { url: 'http://169.254.169.254/latest' }, 'url', 'webhooks never go to'],
    ['gw itself', { url: 'http://127.0.0.1:4747/v1/webhooks' }, 'url', 'is gw itself'],
    ['gw itself by name', { url: 'http://localhost:4747/' }, 'url', 'is gw itself'],
  ])('refuses %s and says why', async (_what, input, param, message) => {
    const refused = await refusal(service.register(web, input));
    expect(refused).toMatchObject({ status: 400, type: 'invalid_request_error', param: param || null });
    expect(refused.message).toContain(message);
  });

  it('refuses a project that there is none of, one that is not the key’s, and a plan below pro', async () => {
    const url = 'https://example.com';
    expect(await refusal(service.register(admin, { url, project_id: 'none' }))).toMatchObject({
      status: 404,
      code: 'project_not_found',
    });
    expect(await refusal(service.register(web, { url, project_id: 'other' }))).toMatchObject({
      status: 403,
      code: 'budget_forbidden',
    });
    await setPlan(world.db, 'web', 'free');
    expect(await refusal(service.register(web, { url }))).toMatchObject({
      status: 403,
      type: 'permission_error',
      code: 'plan_required',
      message: 'webhooks need the pro plan, and project web is on free. Run: gw plan set pro -p web',
    });
  });
});

describe('a registered webhook', () => {
  it('is seen by its own project and by admins, and by nobody else', async () => {
    const { id } = await service.register(web, { url: 'https://example.com' });
    await service.register(other, { url: 'https://example.org' });
    expect((await service.list(web)).map((view) => view.id)).toEqual(['wh_1']);
    expect((await service.list(other)).map((view) => view.id)).toEqual(['wh_2']);
    expect((await service.list(admin)).map((view) => view.id)).toEqual(['wh_1', 'wh_2']);
    expect((await service.list(admin, 'other')).map((view) => view.id)).toEqual(['wh_2']);
    expect(await refusal(service.list(web, 'other'))).toMatchObject({ status: 403 });
    const forbidden = { status: 404, code: 'webhook_not_found' };
    expect(await refusal(service.get(other, id))).toMatchObject(forbidden);
    expect(await refusal(service.update(other, id, {}))).toMatchObject(forbidden);
    expect(await refusal(service.remove(other, id))).toMatchObject(forbidden);
    expect(await refusal(service.rotate(other, id))).toMatchObject(forbidden);
    expect(await refusal(service.test(other, id))).toMatchObject(forbidden);
    expect(await refusal(service.deliveries(other, { webhook: id }))).toMatchObject(forbidden);
    for (const bad of ['wh_9', 'wh_x', 'dlv_1', '', '0', '-1', '1e3']) {
      expect(await refusal(service.get(admin, bad))).toMatchObject(forbidden);
    }
  });

  it('changes what is named, and its format with its URL', async () => {
    const { id } = await service.register(web, { url: 'https://example.com', events: ['budget.reset'] });
    expect(await service.update(web, id, { url: SLACK })).toMatchObject({
      format: 'slack',
      events: ['budget.reset'],
    });
    expect(await service.update(web, id, { events: ['request.blocked'] })).toMatchObject({
      format: 'slack',
      events: ['request.blocked'],
    });
    expect(await service.update(web, id, { format: 'json' })).toMatchObject({ format: 'json' });
    expect(await refusal(service.update(web, id, { project_id: 'other' }))).toMatchObject({
      code: 'unknown_field',
    });
    expect(await refusal(service.update(web, id, { enabled: 'no' }))).toMatchObject({ param: 'enabled' });
  });

  it('stays one of Mattermost at a new address of its own', async () => {
    const url = 'https://chat.example/hooks/abcdefghijklmnopqrstuvwxyz';
    const { id } = await service.register(web, { url, format: 'mattermost' });
    expect(await service.update(web, id, { url: `${url}2` })).toMatchObject({ format: 'mattermost' });
    expect(await service.update(web, id, { url: SLACK })).toMatchObject({ format: 'slack' });
    expect(await service.update(web, id, { url })).toMatchObject({ format: 'json' });
  });

  it('posts to an ntfy server as JSON, with the topic of the URL in the body', async () => {
    const url = `${receiver.url}/push/my-alerts`;
    const { id } = await service.register(web, { url, format: 'ntfy' });
    expect(await service.test(web, id)).toMatchObject({ delivered: true });
    const [posted] = receiver.received.slice(-1);
    expect(posted?.path).toBe('/push/');
    expect(JSON.parse(`${posted?.body}`)).toMatchObject({
      topic: 'my-alerts',
      title: expect.stringContaining('Test: '),
      message: expect.stringContaining('Project: '),
      priority: expect.any(Number),
    });
    expect(await service.update(web, id, { url: `${receiver.url}/other` })).toMatchObject({ format: 'ntfy' });
    for (const wrong of [`${receiver.url}/`, `${receiver.url}/a%20b`])
      expect(await refusal(service.register(web, { url: wrong, format: 'ntfy' }))).toMatchObject({
        param: 'url',
        message: expect.stringContaining('ends with its topic'),
      });
  });

  it('gets nothing while it is disabled, and what comes after once it is enabled', async () => {
    const { id } = await service.register(web, { url: receiver.url });
    world.emit((emit) => emit('budget.reset', web.projectId, { n: 0 }));
    expect(await service.update(web, id, { enabled: false })).toMatchObject({
      status: 'disabled',
      status_reason: 'disabled by hand',
    });
    world.emit((emit) => emit('budget.reset', web.projectId, { n: 1 }));
    expect(await service.update(web, id, { enabled: true })).toMatchObject({ status: 'enabled' });
    world.emit((emit) => emit('budget.reset', web.projectId, { n: 2 }));
    world.dispatcher.start();
    await world.drain();
    expect(receiver.received.map(({ body }) => JSON.parse(String(body)).data.n)).toEqual([2]);
    expect(await service.deliveries(web)).toMatchObject([
      { status: 'delivered' },
      { status: 'failed', error: 'the endpoint was disabled', attempts: 0 },
    ]);
  });

  it('shows that it is paused while the plan is below pro', async () => {
    const { id } = await service.register(web, { url: receiver.url });
    await setPlan(world.db, 'web', 'free');
    expect(await service.get(web, id)).toMatchObject({
      status: 'paused',
      status_reason: 'project web is on the free plan. Run: gw plan set pro -p web',
    });
    expect(await refusal(service.test(web, id))).toMatchObject({ code: 'plan_required' });
  });

  it('goes with its deliveries when it is removed, even while one is in flight', async () => {
    const { id } = await service.register(web, { url: receiver.url });
    world.emit((emit) => emit('budget.reset', web.projectId, {}));
    const [claim] = await world.outbox.claim({ now: START, leaseMs: 20_000 });
    await service.remove(web, id);
    expect(await service.list(web)).toEqual([]);
    expect(await service.deliveries(web)).toEqual([]);
    if (!claim) throw new Error('nothing was claimed');
    const attempt = { at: START, durationMs: 1, status: 200, error: null, response: null };
    expect(await world.outbox.delivered(claim, attempt, START)).toBe(false);
    expect((await service.register(web, { url: receiver.url })).id).toBe('wh_2');
  });

  it('signs with both secrets for a day after a rotation, and then with the new one', async () => {
    const { id, secret } = await service.register(web, { url: receiver.url });
    const rotated = await service.rotate(web, id);
    expect(rotated.secret).not.toBe(secret);
    expect(rotated.previous_secret_expires_at).toBe('2026-05-13T13:40:00.000Z');
    const signatures = async () => {
      await service.test(web, id);
      const { headers } = receiver.received.at(-1) ?? {};
      return [headers?.['x-service-signature'], headers?.['webhook-signature']].map(
        (header) => String(header).match(/v1[=,]/g)?.length,
      );
    };
    world.clock.advance(86_399_999);
    expect(await signatures()).toEqual([2, 2]);
    world.clock.advance(1);
    expect(await signatures()).toEqual([1, 1]);
    expect((await service.get(web, id)).previous_secret_expires_at).toBeNull();
  });
});

describe('test()', () => {
  it('sends a sample of an event that it subscribed to, signed, and tells what came back', async () => {
    const { id } = await service.register(web, { url: receiver.url, events: ['request.blocked'] });
    status = 503;
    const result = await service.test(web, id);
    expect(result).toMatchObject({
      delivered: false,
      event_type: 'request.blocked',
      response_status: 503,
      response_body: 'status 503',
      error: 'HTTP 503',
    });
    const [request] = receiver.received;
    expect(request?.headers).toMatchObject({ 'webhook-id': result.event_id });
    expect(JSON.parse(String(request?.body))).toMatchObject({
      id: result.event_id,
      type: 'request.blocked',
      project_id: 'web',
      data: { test: true },
    });
    expect(await service.deliveries(web)).toEqual([]);
  });
});

describe('replay', () => {
  async function failOne(): Promise<string> {
    const { id } = await service.register(web, { url: receiver.url });
    status = 500;
    world.emit((emit) => emit('budget.exceeded', web.projectId, {}));
    world.dispatcher.start();
    await world.drain();
    status = 200;
    return id;
  }

  it('sends a failed delivery anew under the same event id', async () => {
    await failOne();
    const replayed = await service.replay(web, 'dlv_1');
    expect(replayed).toMatchObject({ id: 'dlv_2', status: 'pending', attempts: 0 });
    await world.drain();
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    expect(await service.deliveries(web)).toMatchObject([
      { id: 'dlv_2', status: 'delivered', replayed_at: null },
      { id: 'dlv_1', status: 'failed', replayed_at: '2026-05-12T13:40:36.000Z' },
    ]);
  });

  it('sends all that failed since a time anew, each once', async () => {
    await failOne();
    const query = { since: START };
    expect(await service.replayFailed(other, query)).toBe(0);
    expect(await service.replayFailed(web, { since: START + 1 })).toBe(0);
    expect(await service.replayFailed(web, query)).toBe(1);
    expect(await service.replayFailed(web, query)).toBe(0);
    await world.drain();
    expect(receiver.received).toHaveLength(5);
    expect(await service.deliveries(web, { status: 'delivered' })).toHaveLength(1);
  });

  it('refuses what is still on its way, unknown, another project’s, or of a disabled webhook', async () => {
    const id = await failOne();
    await service.replay(web, 'dlv_1');
    expect(await refusal(service.replay(web, 'dlv_2'))).toMatchObject({ status: 400, code: 'delivery_open' });
    expect(await refusal(service.replay(web, 'dlv_7'))).toMatchObject({ status: 404 });
    expect(await refusal(service.replay(other, 'dlv_1'))).toMatchObject({ status: 404 });
    await service.update(web, id, { enabled: false });
    expect(await refusal(service.replay(web, 'dlv_1'))).toMatchObject({
      status: 400,
      message: 'webhook wh_1 is disabled (disabled by hand). Enable it first: gw webhooks enable wh_1',
    });
    expect(await service.replayFailed(web)).toBe(0);
  });
});
