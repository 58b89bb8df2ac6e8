import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { Webhook } from 'standardwebhooks';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { systemRandom } from '../../../src/ids.ts';
import { inTransaction } from '../../../src/store/database/write.ts';
import { createEvents } from '../../../src/store/ledger/events.ts';
import { createOutbox } from '../../../src/store/webhooks/outbox.ts';
import { type Answer, createReceiver, type Received } from '../../webhooks/support/receiver.ts';
import { until } from '../../webhooks/support/world.ts';
import { type CliHome, cliHome, stopAfterwards } from '../cli-home.ts';

const SLACK = 'https://hooks.slack.com/services/T0000/B0000/abcdefgh1234';
const HOUR = 3_600_000;

async function receiver(answer?: Answer) {
  const server = await createReceiver(systemClock, answer);
  onTestFinished(() => server.close());
  return server;
}

/** Writes an event of the default project as the ledger does. */
async function emit(cli: CliHome): Promise<void> {
  const db = await cli.open();
  const emitOne = createEvents(db, () => cli.clock.now(), systemRandom);
  const data = { budget_id: 'default/daily', period: 'daily', cap_usd: 5, spent_usd: 5 };
  inTransaction(db, () => emitOne('budget.exceeded', 1, data));
}

/** Fails every pending delivery. */
async function failAll(cli: CliHome): Promise<void> {
  const db = await cli.open();
  const outbox = createOutbox(db, async (command) => inTransaction(db, command));
  const now = cli.clock.now();
  for (const claim of await outbox.claim({ now, leaseMs: HOUR })) {
    const attempt = { at: now, durationMs: 5, status: 500, error: 'HTTP 500', response: null };
    await outbox.failed(claim, attempt, now);
  }
}

/** A home whose default project has a webhook and two failed deliveries, an hour apart. */
async function homeWithFailures(): Promise<CliHome> {
  const cli = cliHome();
  await cli.run(['webhooks', 'add', 'http://127.0.0.1:9/hook']);
  for (const waitMs of [HOUR, HOUR]) {
    await emit(cli);
    await failAll(cli);
    await cli.clock.advance(waitMs);
  }
  return cli;
}

describe('gw webhooks', () => {
  test('add prints only the secret to stdout, and list never shows it', async () => {
    const cli = cliHome();
    const { code, stdout, stderr } = await cli.run(['webhooks', 'add', 'http://localhost:3000/hook']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/);
    expect(stderr).toBe(
      'Added webhook wh_1 (json) of project default: http://localhost:3000/hook gets all events.\n' +
        'Its secret is shown only once. To test the webhook: gw webhooks test wh_1\n',
    );
    expect((await cli.run(['webhooks', 'list', '--json'])).stdout).not.toContain('whsec_');
  });

  test('list masks the secret part of a chat URL, and says why a webhook gets no events', async () => {
    const cli = cliHome();
    const added = await cli.run(['webhooks', 'add', SLACK, '--events', 'budget.exceeded, budget.reset']);
    await cli.run(['webhooks', 'add', 'http://localhost:3000/hook', '--format', 'mattermost']);
    await cli.run(['webhooks', 'disable', 'wh_2']);
    const { stdout } = await cli.run(['webhooks'], { columns: 110 });
    expect(stdout).toMatchInlineSnapshot(`
      "Webhooks

         id    project  format      status    events                        url
         wh_1  default  slack       enabled   budget.exceeded,budget.reset  https://hooks.slack.com/...1234
      !  wh_2  default  mattermost  disabled  all                           http://localhost:3000/...hook

        wh_2 is disabled: disabled by hand. To enable it: gw webhooks enable wh_2
      "
    `);
    expect(added.stderr + stdout).not.toContain('abcdefgh');
    expect((await cli.run(['webhooks', 'enable', '2'])).stderr).toBe('Webhook wh_2 is enabled.\n');
  });

  test('a project on the free plan gets the command to run, from add and from list', async () => {
    const cli = cliHome();
    await cli.run(['webhooks', 'add', 'http://localhost:3000/hook']);
    await cli.run(['plan', 'set', 'free']);
    const refused = await cli.run(['webhooks', 'add', 'http://localhost:3001/hook']);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('Run: gw plan set pro -p default');
    const { stdout } = await cli.run(['webhooks', 'list']);
    expect(stdout).toContain(
      'wh_1 is paused: project default is on the free plan. Run: gw plan set pro -p default',
    );
  });

  test('rotate prints a new secret, and says that the old one stays valid for a day', async () => {
    const cli = cliHome();
    const { secret } = await cli.json<{ secret: string }>(['webhooks', 'add', 'http://localhost:3000/hook']);
    const { stdout, stderr } = await cli.run(['webhooks', 'rotate', 'wh_1']);
    expect(stdout).toMatch(/^whsec_/);
    expect(stdout.trim()).not.toBe(secret);
    expect(stderr).toContain('For 24 hours, deliveries are also signed with the old one.');
    expect(await cli.json(['webhooks', 'list'])).toMatchObject([
      { previous_secret_expires_at: '2026-01-02T12:00:00.000Z' },
    ]);
  });

  test('remove deletes a webhook, which is then not found', async () => {
    const cli = cliHome();
    await cli.run(['webhooks', 'add', 'http://localhost:3000/hook']);
    expect(await cli.json(['webhooks', 'remove', '1'])).toEqual({ id: 'wh_1', deleted: true });
    expect(await cli.run(['webhooks', 'remove', 'wh_1'])).toEqual({
      code: 5,
      stdout: '',
      stderr: 'gw: no webhook "wh_1". See: gw webhooks list\n',
    });
    expect((await cli.run(['webhooks'])).stderr).toBe('No webhooks. To add one: gw webhooks add URL\n');
  });

  test('test sends a signed sample now, and fails if the receiver does', async () => {
    const cli = cliHome();
    const good = await receiver();
    const bad = await receiver((response) => response.writeHead(503).end('out of\u001b[2J order'));
    await cli.run(['webhooks', 'add', `${good.url}/hook`]);
    expect(await cli.run(['webhooks', 'test'])).toMatchObject({
      code: 0,
      stdout: 'budget.threshold_reached to wh_1: HTTP 200, after 0ms\nok\n',
    });
    await cli.run(['webhooks', 'add', `${bad.url}/hook`]);
    expect(await cli.run(['webhooks', 'test'])).toEqual({
      code: 2,
      stdout: '',
      stderr: `gw: there are 2 webhooks. Choose one:\n  gw webhooks test wh_1   ${good.url}/hook\n  gw webhooks test wh_2   ${bad.url}/hook\n`,
    });
    const fine = await cli.run(['webhooks', 'test', 'wh_1']);
    expect(fine).toMatchObject({ code: 0, stderr: '' });
    expect(fine.stdout).toBe('budget.threshold_reached to wh_1: HTTP 200, after 0ms\nok\n');
    expect(JSON.parse(String(good.received[0]?.body))).toMatchObject({ data: { test: true } });
    expect(await cli.run(['webhooks', 'test', 'wh_2'])).toEqual({
      code: 1,
      stdout: 'budget.threshold_reached to wh_2: HTTP 503, after 0ms\nout of[2J order\n',
      stderr: 'gw: webhook wh_2 did not accept the test event\n',
    });
  });

  test('deliveries lists failures with their reasons, by webhook and time', async () => {
    const cli = await homeWithFailures();
    const { stdout } = await cli.run(['webhooks', 'deliveries', 'wh_1', '--failed']);
    expect(stdout).toMatchInlineSnapshot(`
      "Deliveries (Europe/Paris)

         id     time      event            status  tries  response
      !  dlv_2  14:00:00  budget.exceeded  failed      1  HTTP 500
      !  dlv_1  13:00:00  budget.exceeded  failed      1  HTTP 500
      "
    `);
    const recent = await cli.json<{ id: string }[]>(['webhooks', 'deliveries', '--since', '90m']);
    expect(recent.map(({ id }) => id)).toEqual(['dlv_2']);
    expect(await cli.json(['webhooks', 'deliveries', '-n', '1'])).toHaveLength(1);
  });

  test('replay resends one delivery, or each failed one once, and warns if gw is not running', async () => {
    const cli = await homeWithFailures();
    const one = await cli.run(['webhooks', 'replay', 'dlv_1']);
    expect(one.code).toBe(0);
    expect(one.stderr).toMatch(
      /^Delivery dlv_3 resends evt_\w+ to wh_1\.\ngw is not running; deliveries wait until it is\. Run: gw start\n$/,
    );
    const failed = ['webhooks', 'replay', '--failed', '--since', '3h', '-p', 'default'];
    expect(await cli.json(failed)).toEqual({ replayed: 1 });
    expect((await cli.run(failed)).stderr).toBe('No failed deliveries to resend.\n');
    const open = await cli.run(['webhooks', 'replay', 'dlv_3']);
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining('still on its way') });
  });

  test.each([
    [['add', 'ftp://example.com'], 2, 'url must be an http:// or https:// address'],
    [['add', 'http://169.254.169.254/x'], 2, 'metadata'],
    [['add', 'https://example.com', '--events', 'budget.gone'], 2, 'unknown event "budget.gone"'],
    [['add', 'https://example.com', '--format', 'irc'], 2, 'Allowed choices are json, slack'],
    [['add', 'https://example.com', '-p', 'nobody'], 5, 'no project "nobody"'],
    [['add'], 2, "missing required argument 'url'"],
    [['test', 'wh_9'], 5, 'no webhook "wh_9"'],
    [['test'], 2, 'no webhook to test. To add one: gw webhooks add URL'],
    [['deliveries', '--since', 'soon'], 2, '--since soon is not a time'],
    [['deliveries', '-n', '0'], 2, '--limit 0 is not a whole number from 1 to 1000'],
    [['replay'], 2, 'missing delivery id'],
    [['replay', 'dlv_1', '--failed'], 2, 'not both'],
    [['replay', 'dlv_1', '--since', '2h'], 2, 'Use them with --failed'],
    [['replay', 'dlv_1'], 5, 'no delivery "dlv_1"'],
    [['listen', '--forward-to', 'ftp://example.com'], 2, 'url must be an http:// or https:// address'],
    [['listen', '-p', 'nobody'], 5, 'no project "nobody"'],
  ])('%j exits with %i', async (args, code, message) => {
    const result = await cliHome().run(['webhooks', ...args]);
    expect(result).toMatchObject({ code, stdout: '' });
    expect(result.stderr).toContain(message);
  });
});

describe('gw webhooks listen', () => {
  test('prints and forwards the events that a running gw also delivers, until Ctrl-C', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const { stdout: started } = await cli.exec(['start']);
    const { received, url } = await receiver();
    const added = await cli.exec(['webhooks', 'add', `${url}/registered`]);
    const listening = follow(cli.spawn(['webhooks', 'listen', '--forward-to', `${url.slice(7)}/forwarded`]));
    await until(() => listening.stderr().includes('To stop: Ctrl-C'), 'ready');
    await cli.exec(['budget', 'set', '0']);
    const base = /(http:\/\/localhost:\d+\/v1)/.exec(started)?.[1];
    const key = /^Project key +(\S+)$/m.exec(started)?.[1];
    const answer = await fetch(`${base}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'sandbox/echo', messages: [{ role: 'user', content: 'Hello' }] }),
    });
    expect(answer.status).toBe(402);
    const at = (path: string) =>
      received.find((each) => each.path === path && each.body.includes('request.blocked'));
    await until(() => at('/registered') !== undefined, 'the registered webhook');
    await until(() => /request\.blocked.*\n.* <-- .*\n/.test(listening.stdout()), 'the forwarded event');
    listening.child.kill('SIGINT');
    expect(await listening.code).toBe(130);

    expect(listening.stdout()).toMatch(
      /^[\d:]{8} {2}--> request\.blocked {2}default {2}1 request blocked at [\d:]+ {2}(evt_\w+)\n[\d:]{8} {2}<-- 200 {2}POST http:\/\/127\.0\.0\.1:\d+\/forwarded {2}\d+m?s {2}\1\n/m,
    );
    const secret = /^ {2}(whsec_\S+)$/m.exec(listening.stderr())?.[1] ?? '';
    expect(verified(secret, at('/forwarded'))).toMatchObject({ type: 'request.blocked' });
    expect(verified(added.stdout.trim(), at('/registered'))).toEqual(verified(secret, at('/forwarded')));
  }, 60_000);

  test('with --json prints the secret, the event as sent and the response, one line each', async () => {
    const cli = cliHome();
    await cli.run(['projects', 'list']);
    const { url } = await receiver((response) => response.writeHead(500).end('no'));
    const listening = follow(cli.spawn(['webhooks', 'listen', '--json', '--forward-to', url]));
    await until(() => listening.stdout().includes('\n'), 'ready');
    await emit(cli);
    await until(() => listening.stdout().split('\n').length === 4, 'both');
    listening.child.kill('SIGINT');
    expect(await listening.code).toBe(130);
    const lines = listening.stdout().trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        kind: 'listening',
        project_id: null,
        forward_to: `${url}/`,
        secret: expect.stringMatching(/^whsec_/),
      },
      {
        kind: 'event',
        event: expect.objectContaining({ type: 'budget.exceeded', project_id: 'default' }),
      },
      expect.objectContaining({
        kind: 'forwarded',
        delivered: false,
        response_status: 500,
        response_body: 'no',
      }),
    ]);
  }, 30_000);
});

/** A running process, with its output so far. */
function follow(child: ChildProcess) {
  let stdout = '';
  let stderr = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const code = once(child, 'close').then(([exitCode]) => exitCode as number | null);
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, code, stdout: () => stdout, stderr: () => stderr };
}

function verified(secret: string, request: Received | undefined): unknown {
  return new Webhook(secret).verify(String(request?.body), request?.headers as Record<string, string>);
}
