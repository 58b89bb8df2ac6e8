import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/database/open.ts';
import { cliHome, stopAfterwards } from '../cli/cli-home.ts';
import { makeCertificate } from '../support/certificate.ts';
import { answer } from '../support/chat-scripts.ts';
import { PLAIN, startGateway, until } from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { createReceiver } from '../webhooks/support/receiver.ts';
import { enter, hasBrowser, openWindow, show, startBrowser } from './support/browser.ts';

let browser: Browser;

describe.skipIf(!hasBrowser)('a session of the page', () => {
  beforeAll(async () => {
    browser = await startBrowser();
  });
  afterAll(() => browser.close());

  async function started() {
    const clock = createVirtualClock();
    const gateway = await startGateway({ clock, budget: { period: 'daily', capUsd: 5 } });
    const window = await openWindow(browser);
    onTestFinished(() => window.context.close());
    const cli = cliHome();
    Object.assign(cli.env, { GW_HOME: gateway.paths.home, GW_TIMEZONE: 'UTC' });
    Object.assign(cli, { paths: gateway.paths, clock });
    return { clock, gateway, window, page: window.page, cli };
  }

  test('begins with a key, and ends by itself after 12 hours', async () => {
    const { clock, gateway, page } = await started();
    await page.goto(`${gateway.origin}/login`);
    await page.getByLabel('Or sign in with a key of gw').fill('sk-gw-wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').getByText('gw does not know this API key').waitFor();
    await page.getByLabel('Or sign in with a key of gw').fill(gateway.adminKey);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Today' }).waitFor();
    expect(page.url()).toBe(`${gateway.origin}/`);
    // A page that is seen asks once a second: a request of it that came halfway through the 12 hours would prolong it.
    await page.goto('about:blank');
    clock.setWallTime(clock.now() + 12 * 3_600_000);
    await page.goto(gateway.origin);
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
  });

  test('shows what runs and what waits, until it ends', async () => {
    const { clock, gateway, window, page } = await started();
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    gateway.upstream.script(async (exchange) => {
      await released;
      await answer('Hello')(exchange);
    });
    await gateway.setPrice({ provider: 'mock', model: 'test-model', inputPicoUsd: 1e9, outputPicoUsd: 1e9 });
    const ask = () =>
      gateway.post({
        model: 'test-model',
        messages: [{ role: 'user', content: 'Hi' }],
        max_tokens: 4_900,
      });
    const first = ask();
    await enter(window, gateway.origin, gateway.adminKey);
    const rowOf = (name: string) => page.getByRole('table', { name }).getByRole('row').nth(1);
    const [running, waiting] = [rowOf('Running requests'), rowOf('Waiting requests')];
    await running.waitFor();
    expect(await running.innerText()).toMatch(/mock\/test-model.*\$\d/s);
    const second = ask();
    // It waits ten seconds of the virtual clock, which stands still while the page comes to show it.
    await until(async () => {
      await clock.advance(10);
      const shown = (await gateway.get('/v1/gw/dashboard')).json() as { data: { waiting: unknown[] } };
      return shown.data.waiting.length > 0;
    });
    await waiting.waitFor();
    expect(await waiting.innerText()).toMatch(/mock\/test-model.*\$0\.\d/s);
    release();
    expect(await Promise.all([first, second])).toMatchObject([{ status: 200 }, { status: 200 }]);
    await clock.advance(500);
    await running.waitFor({ state: 'detached' });
    await waiting.waitFor({ state: 'detached' });
  });

  test('shows the windows of subscriptions to their owner, and not to a project', async () => {
    const { clock, gateway, window, page } = await started();
    const resetsAt = clock.now() + 3_600_000;
    const db = await openDatabase(gateway.paths.database);
    db.prepare(`INSERT INTO limits (login, service, window, model, used_ppm, resets_at, status, updated_at)
        VALUES ('a1b2c3', 'anthropic', '5h', '', 620000, ?, 'allowed', ?)`).run(resetsAt, clock.now());
    db.close();
    await enter(window, gateway.origin, gateway.adminKey);
    await page.getByRole('heading', { name: 'Plan windows' }).waitFor();
    await page.getByText('anthropic 5h').waitFor();
    await page.getByText('62% used by login a1b2c3, resets 13:00').waitFor();
    await page.getByRole('img', { name: '62% used' }).waitFor();

    const other = await openWindow(browser);
    onTestFinished(() => other.context.close());
    await enter(other, gateway.origin, gateway.key);
    await other.page.getByRole('heading', { name: 'Providers' }).waitFor();
    expect(await other.page.getByText('Plan windows').count()).toBe(0);
    expect([...window.problems, ...other.problems]).toEqual([]);
  });

  test('is not had from a link that was used, and says so', async () => {
    const { gateway, window, page } = await started();
    await enter(window, gateway.origin, gateway.adminKey);
    expect(page.url()).not.toContain('session=');
    const answer = await fetch(`${gateway.origin}/login`, {
      method: 'POST',
      headers: { authorization: `Bearer ${gateway.adminKey}` },
    });
    const { path } = (await answer.json()) as { path: string };
    await fetch(`${gateway.origin}${path}`, { redirect: 'manual' });
    const thief = await openWindow(browser);
    onTestFinished(() => thief.context.close());
    await thief.page.goto(`${gateway.origin}${path}`);
    await thief.page.getByRole('alert').getByText('This link was used already').waitFor();
  });

  test("of a project's key shows that project, and nothing to change", async () => {
    const { gateway, window, page } = await started();
    await enter(window, gateway.origin, gateway.key);
    await show(window, '#/budgets');
    await page.getByRole('link', { name: 'default/daily' }).waitFor();
    expect(await page.getByText('neighbour').count()).toBe(0);
    expect(await page.getByRole('button', { name: /Raise|Change|Remove|Pause|Add/ }).count()).toBe(0);
    await show(window, '#/keys');
    expect(await page.getByRole('button', { name: /Create|Revoke|Rotate/ }).count()).toBe(0);
  });

  test('ends with the sign-out, whose secret the browser forgets', async () => {
    const { gateway, window, page } = await started();
    await enter(window, gateway.origin, gateway.adminKey);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    await page.reload();
    await page.getByRole('button', { name: 'Sign in' }).waitFor();
    expect(await window.context.cookies()).toEqual([]);
  });

  test('changes what the command line then shows', async () => {
    const { gateway, window, page, cli } = await started();
    await enter(window, gateway.origin, gateway.adminKey);
    const doIt = async (
      button: string,
      fields: Record<string, string> = {},
      confirm = button.split(' ')[0] ?? '',
    ) => {
      await page.getByRole('button', { name: button, exact: true }).click();
      const dialog = page.getByRole('dialog');
      for (const [label, value] of Object.entries(fields)) await dialog.getByLabel(label).fill(value);
      await dialog.getByRole('button', { name: confirm, exact: true }).click();
      return dialog;
    };
    const gone = async (button: string, fields?: Record<string, string>) =>
      (await doIt(button, fields)).waitFor({ state: 'hidden' });
    const caps = async () => {
      const budgets = await cli.json<{ id: string; cap_usd: number; raised_usd: number }[]>([
        'budget',
        'list',
      ]);
      return budgets.flatMap(({ id, cap_usd: cap, raised_usd: raised }) =>
        id.startsWith('default') ? [[id, cap, raised]] : [],
      );
    };

    await show(window, '#/budgets');
    await gone('Raise default/daily', { 'Raise by ($)': '2.50', For: '1h' });
    expect(await caps()).toEqual([['default/daily', 7.5, 2.5]]);
    await gone('Change default/daily', { 'Cap ($)': '9', 'Alerts at (%)': '50, 90' });
    expect((await caps())[0]?.[1]).not.toBe(7.5);
    await gone('Add a budget', { 'Cap ($)': '100' });
    await doIt('Pause default');
    await page.getByRole('button', { name: 'Resume default' }).waitFor();
    const projects = await cli.json<{ project_id: string; paused_at: string | null }[]>(['projects', 'list']);
    expect(projects.find(({ project_id: id }) => id === 'default')?.paused_at).not.toBeNull();
    await gone('Remove default/daily');
    expect((await caps()).map(([id]) => id)).not.toContain('default/daily');

    await show(window, '#/keys');
    const whoami = (key: string | null) => gateway.get('/v1/gw/whoami', { authorization: `Bearer ${key}` });
    const keyOf = async (button: string, fields?: Record<string, string>) => {
      const dialog = await doIt(button, fields);
      const key = await dialog.getByText(/^sk-gw-/).textContent();
      await dialog.getByRole('button', { name: 'Done' }).click();
      return key;
    };
    const first = await keyOf('Create a key', { Label: 'second' });
    expect((await whoami(first)).json()).toMatchObject({ key: { label: 'second' } });
    const key = await keyOf('Rotate second');
    const keys = () => cli.json<{ label: string | null; hint: string }[]>(['keys', 'list']);
    expect((await keys()).find(({ label }) => label === 'second')?.hint).toBe(key?.slice(-4));
    await gone('Revoke second');
    expect((await whoami(key)).status).toBe(401);
    expect((await keys()).map(({ label }) => label)).not.toContain('second');
    expect(window.problems).toEqual([]);
  });

  test('says what gw says to a change that it refuses, and keeps the question open', async () => {
    const { gateway, window, page } = await started();
    await enter(window, gateway.origin, gateway.adminKey);
    await show(window, '#/budgets');
    await page.getByRole('button', { name: 'Raise default/daily', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Raise by ($)').fill('-1');
    await dialog.getByRole('button', { name: 'Raise' }).click();
    await dialog.getByRole('alert').getByText('amount').waitFor();
  });

  test('sends samples to webhooks and deliveries again, as the command line then lists', async () => {
    const { clock, gateway, window, page, cli } = await started();
    const receiver = await createReceiver(clock);
    onTestFinished(() => receiver.close());
    await cli.run(['plan', 'set', 'pro']);
    await cli.run(['webhooks', 'add', receiver.url]);
    await enter(window, gateway.origin, gateway.adminKey);
    await show(window, '#/webhooks');
    await page.getByRole('button', { name: 'Test wh_1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Test' }).click();
    await page.getByRole('dialog').getByText('HTTP 200').waitFor();
    await page.getByRole('button', { name: 'Done' }).click();
    const listed = () => cli.json<{ status: string }[]>(['webhooks', 'deliveries']);
    // A refusal is an event, which the daemon delivers.
    await gateway.setBudget({ period: 'daily', capUsd: 0 });
    expect((await gateway.post(PLAIN)).status).toBe(402);
    await until(async () => {
      await clock.advance(1_000);
      const deliveries = await listed();
      return deliveries.length > 0 && deliveries.every(({ status }) => status === 'delivered');
    });
    const before = (await listed()).length;
    await page
      .getByRole('button', { name: /^Replay/ })
      .first()
      .click();
    await page.getByRole('dialog').getByRole('button', { name: 'Replay' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(await listed()).toHaveLength(before + 1);
    expect(window.problems).toEqual([]);
  });

  test('answers a question of a budget, whose request then goes on', async () => {
    const { clock, gateway, window, page, cli } = await started();
    gateway.upstream.script(answer('Hello'));
    await gateway.setPrice({ provider: 'mock', model: 'test-model', inputPicoUsd: 1e9, outputPicoUsd: 1e9 });
    expect((await cli.run(['budget', 'set', '0.01', '--on-limit', 'ask'])).code).toBe(0);
    let status = 0;
    const messages = [{ role: 'user', content: 'Hi' }];
    const asked = gateway.post({ model: 'test-model', messages, max_tokens: 900 }).then((found) => {
      status = found.status;
    });
    await enter(window, gateway.origin, gateway.adminKey);
    await page.getByRole('button', { name: /^Approve/ }).click();
    expect(await cli.json(['asks'])).toHaveLength(1);
    await page.getByRole('dialog').getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await until(async () => {
      await clock.advance(200);
      return status !== 0;
    });
    await asked;
    expect(status).toBe(200);
    expect(await cli.json(['asks'])).toEqual([]);
    expect(window.problems).toEqual([]);
  });

  test('signs a team in over TLS, with a key of gw and a cookie of the host alone', async () => {
    const cli = cliHome();
    stopAfterwards(cli);
    const { certFile, keyFile } = makeCertificate();
    const { stdout } = await cli.exec(['start', '--tls-cert', certFile, '--tls-key', keyFile]);
    const origin = /https:\/\/localhost:\d+/.exec(stdout)?.[0] ?? '';
    const { key } = await cli.json<{ key: string }>(['keys', 'create']);
    const context = await browser.newContext({ ignoreHTTPSErrors: true });
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(`${origin}/login`);
    await page.getByLabel('Or sign in with a key of gw').fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('project default').waitFor();
    expect(await context.cookies()).toMatchObject([
      {
        name: expect.stringMatching(/^__Host-gw-session-/),
        secure: true,
        httpOnly: true,
        sameSite: 'Strict',
        path: '/',
      },
    ]);
    await page.goto(`${origin}/#/keys`);
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
    expect(await page.getByRole('button', { name: /Create|Revoke|Rotate/ }).count()).toBe(0);
  });
});
