import { afterEach, describe, expect, it } from 'vitest';
import { type Answer, answerOk, createReceiver, type Receiver } from './support/receiver.ts';
import { START } from './support/virtual-clock.ts';
import { createWorld, type World } from './support/world.ts';

const receivers: Receiver[] = [];
const worlds: World[] = [];

async function start(answer: Answer = answerOk): Promise<{ world: World; receiver: Receiver }> {
  const world = await createWorld();
  const receiver = await createReceiver(world.clock, answer);
  worlds.push(world);
  receivers.push(receiver);
  world.dispatcher.start();
  return { world, receiver };
}

afterEach(async () => {
  await Promise.all(receivers.splice(0).map((receiver) => receiver.close()));
  await Promise.all(worlds.splice(0).map((world) => world.close()));
});

function exceeded(world: World, times = 1): void {
  world.emit((emit) => {
    for (let i = 0; i < times; i++) emit('budget.exceeded', world.project.id, { n: i });
  });
  world.dispatcher.wake();
}

const numbersOf = (receiver: Receiver) =>
  receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { data: { n: number } }).data.n);
const timesOf = (receiver: Receiver, path: string) =>
  receiver.received.filter((request) => request.path === path).map(({ at }) => at - START);

describe('the dispatcher', () => {
  it('delivers an event once, as a POST of its JSON body', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/hook`);
    exceeded(world);
    await world.drain();
    const [request] = receiver.received;
    const { id } = JSON.parse(String(request?.body)) as { id: string };
    expect(receiver.received).toHaveLength(1);
    expect(request?.headers['webhook-id']).toBe(id);
    expect(JSON.parse(String(request?.body))).toEqual({
      id,
      type: 'budget.exceeded',
      timestamp: new Date(START).toISOString(),
      project_id: 'web',
      data: { n: 0 },
    });
    expect(await world.deliveries()).toMatchObject([
      { state: 'delivered', attempts: 1, status: 200, response: 'ok' },
    ]);
  });

  it('answers every status from 100 to 599 with the schedule that it earns', async () => {
    const { world, receiver } = await start((response, { path }, own) => {
      const status = Number(path.slice(1));
      if (status < 200) own.hang(response);
      response.writeHead(status, { connection: 'close' });
      response.end(status >= 200 && status !== 204 && status !== 304 ? `status ${status}` : undefined);
    });
    const statuses = Array.from({ length: 500 }, (_, i) => 100 + i);
    for (const status of statuses) await world.addEndpoint(`${receiver.url}/${status}`);
    exceeded(world);
    await world.drain(() => receiver.hanging);

    const deliveries = await world.deliveries();
    expect(deliveries).toHaveLength(500);
    for (const [i, delivery] of deliveries.entries()) {
      const status = 100 + i;
      const times = timesOf(receiver, `/${status}`);
      const ok = status >= 200 && status < 300;
      expect([status, delivery.state, delivery.attempts]).toEqual([
        status,
        ok ? 'delivered' : 'failed',
        ok ? 1 : 4,
      ]);
      if (status >= 200)
        expect([status, ...times]).toEqual([status, ...(ok ? [0] : [0, 1_000, 6_000, 36_000])]);
      else expect(times).toHaveLength(4);
    }
    const disabled = (await world.endpoints.list()).filter((endpoint) => endpoint.disabledAt !== null);
    expect(disabled.map(({ url, disabledReason }) => [url.slice(-3), disabledReason])).toEqual([
      ['410', 'it answered 410 Gone'],
    ]);
  });

  it('gives up an answer that never comes after 15 seconds, four times', async () => {
    const { world, receiver } = await start((response, _request, own) => own.hang(response));
    await world.addEndpoint(`${receiver.url}/`);
    exceeded(world);
    await world.drain(() => receiver.hanging);
    expect(timesOf(receiver, '/')).toEqual([0, 16_000, 36_000, 81_000]);
    expect(await world.deliveries()).toMatchObject([
      {
        state: 'failed',
        attempts: 4,
        status: null,
        error: 'no complete answer within 15 s',
        durationMs: 15_000,
      },
    ]);
  });

  it('keeps to its schedule, whatever retry-after asks for', async () => {
    const waits = ['120', '0', new Date(START + 600_000).toUTCString()];
    const { world, receiver } = await start((response) => {
      response.writeHead(429, { 'retry-after': waits.shift() ?? '5' });
      response.end();
    });
    await world.addEndpoint(`${receiver.url}/`);
    exceeded(world);
    await world.drain();
    expect(timesOf(receiver, '/')).toEqual([0, 1_000, 6_000, 36_000]);
  });

  it('delivers the events of an endpoint in order, one at a time, whatever fails', async () => {
    let open = 0;
    let most = 0;
    let count = 0;
    const { world, receiver } = await start((response) => {
      most = Math.max(most, ++open);
      setImmediate(() => {
        open--;
        response.statusCode = count++ % 3 === 0 ? 500 : 200;
        response.end();
      });
    });
    await world.addEndpoint(`${receiver.url}/`);
    exceeded(world, 12);
    await world.drain();
    const numbers = numbersOf(receiver);
    expect(most).toBe(1);
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
    expect(new Set(numbers).size).toBe(12);
    expect((await world.deliveries()).every(({ state }) => state === 'delivered')).toBe(true);
  });

  it('lets no slow endpoint delay another', async () => {
    const { world, receiver } = await start((response, { path }, own) => {
      if (path === '/slow') own.hang(response);
      else response.end();
    });
    await world.addEndpoint(`${receiver.url}/slow`);
    await world.addEndpoint(`${receiver.url}/quick`);
    exceeded(world, 5);
    await world.quiet(() => receiver.hanging);
    expect(timesOf(receiver, '/quick')).toEqual([0, 0, 0, 0, 0]);
    expect(timesOf(receiver, '/slow')).toEqual([0]);
  });

  it('disables an endpoint after 20 events in a row that failed, and fails what waits for it', async () => {
    const { world, receiver } = await start((response) => {
      response.statusCode = 500;
      response.end();
    });
    const id = await world.addEndpoint(`${receiver.url}/`);
    exceeded(world, 25);
    await world.drain();
    const endpoint = await world.endpoints.get(id);
    expect(endpoint).toMatchObject({
      consecutiveFailures: 20,
      disabledReason: '20 events in a row could not be delivered',
    });
    expect(receiver.received).toHaveLength(80);
    expect((await world.deliveries()).map(({ state, attempts }) => [state, attempts])).toEqual([
      ...Array.from({ length: 20 }, () => ['failed', 4]),
      ...Array.from({ length: 5 }, () => ['failed', 0]),
    ]);
    expect(world.warnings).toEqual([
      `webhook wh_${id} of web is disabled: 20 events in a row could not be delivered`,
    ]);
  });

  it('counts failures anew after a delivery that arrived', async () => {
    let count = 0;
    const { world, receiver } = await start((response) => {
      response.statusCode = count++ >= 4 * 19 && count <= 4 * 19 + 1 ? 200 : 500;
      response.end();
    });
    const id = await world.addEndpoint(`${receiver.url}/`);
    exceeded(world, 30);
    await world.drain();
    expect(await world.endpoints.get(id)).toMatchObject({ disabledAt: null, consecutiveFailures: 10 });
  });

  it('pauses while the plan is below pro, and goes on where it stopped', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`);
    world.db.prepare("UPDATE projects SET plan = 'free'").run();
    exceeded(world, 2);
    await world.quiet();
    await world.pass(60_000);
    expect(receiver.received).toEqual([]);
    world.db.prepare("UPDATE projects SET plan = 'pro'").run();
    await world.drain();
    expect(numbersOf(receiver)).toEqual([0, 1]);
  });

  it('finds events of other processes by itself within a second', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`);
    await world.quiet();
    world.emit((emit) => emit('budget.reset', world.project.id, { n: 0 }));
    await world.pass(1_000);
    expect(receiver.received).toHaveLength(1);
  });

  it('takes up again, under the same id and uncounted, what a dead daemon was sending', async () => {
    const { world, receiver } = await start();
    await world.dispatcher.stop();
    await world.addEndpoint(`${receiver.url}/`);
    exceeded(world, 2);
    const [claim] = await world.outbox.claim({ now: START, leaseMs: 20_000 });
    expect(claim).toMatchObject({ attempts: 0, claims: 1 });
    world.dispatcher.start();
    await world.quiet();
    await world.pass(19_999);
    expect(receiver.received).toEqual([]);
    world.clock.advance(1);
    await world.drain();
    expect(numbersOf(receiver)).toEqual([0, 1]);
    expect(await world.deliveries()).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  it('sends nothing under a claim that it was too slow to use', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`);
    const { claim } = world.outbox;
    world.outbox.claim = async (options) => {
      const claims = await claim(options);
      // The process is halted for as long as attempts have to spare.
      world.clock.advance(5_001);
      world.outbox.claim = claim;
      return claims;
    };
    exceeded(world);
    await world.drain();
    expect(timesOf(receiver, '/')).toEqual([5_001]);
    expect(await world.deliveries()).toMatchObject([{ state: 'delivered', attempts: 1 }]);
    expect(world.db.prepare('SELECT claims FROM deliveries').pluck().get()).toBe(2);
  });

  it('fails an event that cannot be put into words, and goes on with the next', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`, { format: 'slack' });
    exceeded(world, 2);
    world.db.prepare("UPDATE events SET data = '{' WHERE sequence = 1").run();
    await world.drain();
    expect(receiver.received).toHaveLength(1);
    expect(await world.deliveries()).toMatchObject([
      { state: 'failed', attempts: 4, error: expect.stringContaining('JSON') },
      { state: 'delivered' },
    ]);
  });

  it('waits while the database cannot be written, says so once, and goes on', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`);
    await world.quiet();
    const { claim } = world.outbox;
    world.outbox.claim = () => Promise.reject(new Error('disk full'));
    exceeded(world);
    await world.pass(10_000);
    expect(world.warnings).toEqual(['webhooks wait until the database can be written: disk full']);
    world.outbox.claim = claim;
    await world.drain();
    expect(receiver.received).toHaveLength(1);
  });

  it('gives back, on stop, what it could not finish', async () => {
    const { world, receiver } = await start((response, _request, own) => own.hang(response));
    await world.addEndpoint(`${receiver.url}/`);
    exceeded(world);
    await world.quiet(() => receiver.hanging);
    const stopped = world.dispatcher.stop(100);
    await world.quiet(() => receiver.hanging);
    world.clock.advance(100);
    await stopped;
    expect(await world.deliveries()).toMatchObject([{ state: 'pending', attempts: 0, dueAt: START + 100 }]);
  });

  it('tells a chat of blocked requests once a minute, and of budgets at once', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`, { format: 'slack' });
    const block = (times: number) => {
      world.emit((emit) => {
        for (let i = 0; i < times; i++) emit('request.blocked', world.project.id, { budget_id: 'web/daily' });
      });
      world.dispatcher.wake();
    };
    const titles = () =>
      receiver.received.map(({ at, body }) => {
        const { blocks } = JSON.parse(body.toString()) as { blocks: { text: { text: string } }[] };
        return `${(at - START) / 1000}: ${blocks[0]?.text.text}`;
      });
    block(24);
    await world.quiet();
    for (let second = 0; second < 59; second++) {
      block(10);
      await world.pass(1_000);
    }
    exceeded(world);
    await world.quiet();
    await world.pass(1_000);
    await world.pass(120_000);
    block(1);
    await world.quiet();
    expect(titles()).toEqual([
      '0: 24 requests blocked since 13:40',
      '59: Budget used up: requests are blocked',
      '60: 590 requests blocked since 13:40',
      '180: 1 request blocked at 13:43',
    ]);
  });

  it.each([
    ['hangs', (_status: number) => -1],
    ['fails', (_status: number) => 500],
  ])('sends alerts at once, in order, while a summary of blocked requests %s', async (_how, statusOf) => {
    const typeOf = (body: Buffer) => (JSON.parse(body.toString()) as { type: string }).type;
    const { world, receiver } = await start((response, { body }, own) => {
      const status = typeOf(body) === 'request.blocked' ? statusOf(200) : 200;
      if (status < 0) return own.hang(response);
      response.statusCode = status;
      response.end();
    });
    await world.addEndpoint(`${receiver.url}/`);
    const block = () =>
      world.emit((emit) => {
        for (let i = 0; i < 500; i++) emit('request.blocked', world.project.id, { n: i });
      });
    block();
    world.dispatcher.wake();
    await world.quiet(() => receiver.hanging);
    for (let i = 0; i < 3; i++) {
      block();
      exceeded(world, 2);
      await world.quiet(() => receiver.hanging);
    }
    const alerts = receiver.received.filter(({ body }) => typeOf(body) === 'budget.exceeded');
    expect(alerts.map(({ at }) => at - START)).toEqual([0, 0, 0, 0, 0, 0]);
    expect(alerts.map(({ body }) => JSON.parse(body.toString()).data.n)).toEqual([0, 1, 0, 1, 0, 1]);
    await world.drain(() => receiver.hanging);
    // 2,000 refusals: an event each, and two summaries.
    expect(world.db.prepare("SELECT count(*) FROM events WHERE type = 'request.blocked'").pluck().get()).toBe(
      2_000,
    );
    const summaries = (await world.deliveries()).filter(({ type }) => type === 'request.blocked');
    expect(summaries.length).toBeLessThanOrEqual(2);
    expect(
      receiver.received.filter(({ body }) => typeOf(body) === 'request.blocked').length,
    ).toBeLessThanOrEqual(8);
  });

  it('sends no summary before an open alert', async () => {
    let status = 500;
    const { world, receiver } = await start((response) => {
      response.statusCode = status;
      response.end();
    });
    await world.addEndpoint(`${receiver.url}/`);
    exceeded(world);
    await world.quiet();
    world.emit((emit) => emit('request.blocked', world.project.id, { n: 1 }));
    world.dispatcher.wake();
    await world.pass(500);
    status = 200;
    await world.drain();
    const types = receiver.received.map(({ body }) => (JSON.parse(body.toString()) as { type: string }).type);
    expect(types).toEqual(['budget.exceeded', 'budget.exceeded', 'request.blocked']);
  });

  it('says what a summary counts in the JSON of a program', async () => {
    const { world, receiver } = await start();
    await world.addEndpoint(`${receiver.url}/`);
    const block = (n: number) => {
      world.emit((emit) => emit('request.blocked', world.project.id, { n }));
      world.dispatcher.wake();
    };
    block(0);
    await world.quiet();
    for (let n = 1; n < 4; n++) {
      await world.pass(1_000);
      block(n);
    }
    await world.drain();
    await world.pass(60_000);
    const at = (ms: number) => new Date(START + ms).toISOString();
    expect(receiver.received.map(({ body }) => JSON.parse(body.toString()).data)).toEqual([
      { n: 0, count: 1, first_at: at(0), last_at: at(0) },
      { n: 3, count: 3, first_at: at(1_000), last_at: at(3_000) },
    ]);
  });

  it('gathers what an earlier version has queued one by one', async () => {
    const { world, receiver } = await start();
    await world.dispatcher.stop();
    const endpoint = await world.addEndpoint(`${receiver.url}/`);
    for (let n = 0; n < 5; n++) world.emit((emit) => emit('request.blocked', world.project.id, { n }));
    world.db.exec(`DELETE FROM blocked_summaries; INSERT INTO deliveries (endpoint_id, sequence, due_at, created_at)
      SELECT ${endpoint}, sequence, created_at, created_at FROM events`);
    exceeded(world);
    world.dispatcher.start();
    await world.drain();
    expect((await world.deliveries()).map(({ type, eventCount }) => [type, eventCount])).toEqual([
      ['budget.exceeded', 1],
      ['request.blocked', 5],
    ]);
  });

  it('keeps counting while a summary is on its way, and then waits a minute again', async () => {
    let status = 500;
    const { world, receiver } = await start((response) => {
      response.statusCode = status;
      response.end();
    });
    await world.addEndpoint(`${receiver.url}/`, { format: 'slack' });
    const block = () => {
      world.emit((emit) => emit('request.blocked', world.project.id, { budget_id: 'web/daily' }));
      world.dispatcher.wake();
    };
    block();
    await world.quiet();
    block();
    await world.pass(5_999);
    status = 200;
    block();
    await world.pass(200_000);
    expect(receiver.received.map(({ at }) => at - START).slice(0, 3)).toEqual([0, 1_000, 6_000]);
    const delivered = (await world.deliveries()).map(({ eventCount, state }) => [eventCount, state]);
    expect(delivered).toEqual([
      [1, 'delivered'],
      [2, 'delivered'],
    ]);
    const finished = (await world.deliveries()).map(({ finishedAt }) => finishedAt ?? 0);
    expect((finished[1] ?? 0) - (finished[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
  });
});
