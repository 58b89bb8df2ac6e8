import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/store/database/open.ts';
import { cliHome } from '../cli/cli-home.ts';
import { goldenFile } from '../frozen/golden.ts';
import { answer } from '../support/chat-scripts.ts';
import { startGateway, until } from '../support/gateway.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import {
  enter,
  hasBrowser,
  type Look,
  openWindow,
  show,
  startBrowser,
  type Window,
} from './support/browser.ts';
import { type Stage, startMonth } from './support/stage.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const undo: (() => Promise<void>)[] = [];
let browser: Browser;
let stage: Stage;

/** Windows of a real Chromium on a daemon with a month of data. */
describe.skipIf(!hasBrowser)('the page', () => {
  beforeAll(async () => {
    stage = await startMonth((each) => undo.unshift(each));
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    for (const each of undo) await each();
  });

  async function opened(look: Look = {}, key = stage.month.adminKey, origin = stage.origin): Promise<Window> {
    const window = await openWindow(browser, look);
    onTestFinished(() => window.context.close());
    await enter(window, origin, key);
    return window;
  }

  const views = () => [
    ...['#/', '#/?by=agent', '#/spend', '#/spend?by=agent&and=model&from=6d', '#/spend?model=gpt-4.1'],
    ...['#/sessions', '#/sessions/thread-1', '#/requests', '#/requests?status=failed'],
    ...['failed', 'blocked', 'missed'].map((id) => `#/requests/${stage.month.ids[id]}`),
    ...['#/budgets', '#/budgets/default%2Fmonthly', '#/budgets/default%2Fdaily', '#/keys', '#/webhooks'],
    ...['#/cache', '#/team'],
  ];

  /** What axe finds, as `rule: element`. */
  async function faultsIn({ page }: Window): Promise<string[]> {
    const { violations } = (await page.evaluate(
      "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'], preload: false })",
    )) as { violations: { id: string; nodes: { html: string }[] }[] };
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }

  const LOOKS: [string, Look][] = [
    ['wide and light', { width: 2000 }],
    ['in dark', { width: 1100, scheme: 'dark' }],
    ['narrow', { width: 400, height: 700 }],
  ];

  test.each(LOOKS)('has no fault in any view %s: axe, console, and what sticks out', async (_, look) => {
    const window = await opened(look);
    await window.page.evaluate(AXE);
    for (const view of views()) {
      await show(window, view);
      expect.soft(await faultsIn(window), view).toEqual([]);
      const width = await window.page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, view).toBeLessThanOrEqual(look.width ?? 0);
    }
    expect(window.problems).toEqual([]);
  });

  test('shows what is approved', async () => {
    const window = await opened();
    const golden = goldenFile('page');
    const ids = stage.month.ids;
    for (const view of [
      ...['#/', '#/spend', '#/sessions/thread-1', '#/requests?status=blocked', '#/requests/<blocked>'],
      ...['#/budgets', '#/budgets/default%2Fmonthly', '#/keys', '#/cache', '#/team'],
    ]) {
      await show(
        window,
        view.replace(/<(\w+)>/, (_, id: string) => ids[id] ?? ''),
      );
      golden.add(view, (await window.page.locator('main').innerText()).replace(/\n{2,}/g, '\n'));
    }
    golden.check();
  });

  test('says what to do where there is nothing yet', async () => {
    const gateway = await startGateway({ alone: true });
    const window = await opened({}, gateway.adminKey, gateway.origin);
    const commands: Record<string, string> = {
      '#/': 'gw budget set 20 --period daily',
      '#/spend': 'eval "$(gw env)"',
      '#/sessions': 'gw run -- claude',
      '#/requests': 'gw requests',
      '#/budgets': 'gw budget set 20 --period daily',
      '#/webhooks': 'gw webhooks add URL',
      '#/cache': 'gw cache',
      '#/team': 'gw team join URL',
    };
    for (const [view, command] of Object.entries(commands)) {
      await show(window, view);
      await window.page.getByText(command, { exact: true }).first().waitFor();
    }
    expect(window.problems).toEqual([]);
  });

  test('lists ten thousand sessions in pages', async () => {
    const cli = cliHome({ timezone: 'UTC' });
    const gateway = await startGateway({ alone: true, clock: cli.clock, home: cli.paths.home });
    const now = Date.UTC(2026, 0, 1, 11);
    const sessions = Array.from({ length: 10_000 }, (_, i) => ({
      ...{ timeMs: now + i * 10, agent: 'claude', session: `run-${i}`, costNanoUsd: 1_000_000 },
    }));
    await cli.record(...sessions);
    const window = await opened({}, gateway.adminKey, gateway.origin);
    const { page } = window;
    await show(window, '#/sessions');
    await page.getByRole('link', { name: 'run-9999', exact: true }).waitFor();
    expect(await page.getByRole('row').count()).toBe(101);
    await page.getByRole('button', { name: 'Show 1,000' }).click();
    await page.getByRole('link', { name: 'run-9000', exact: true }).waitFor();
    expect(window.problems).toEqual([]);
  });

  test('keeps a view in its address: reloaded, and back', async () => {
    const window = await opened();
    const { page } = window;
    await show(window, '#/spend');
    await page.getByRole('button', { name: 'openai/gpt-4.1' }).click();
    await page.getByRole('button', { name: 'Remove the filter model openai/gpt-4.1' }).waitFor();
    expect(page.url()).toContain('model=openai%2Fgpt-4.1');
    await page.reload();
    await page.getByRole('button', { name: 'Remove the filter model openai/gpt-4.1' }).waitFor();
    await page.goBack();
    await page.getByRole('button', { name: 'openai/gpt-5-mini' }).waitFor();
  });

  test('can be used by the keyboard alone', async () => {
    const { page } = await opened();
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.textContent)).toBe('Skip to content');
    for (let i = 0; i < 6; i++) await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Budgets' }).waitFor();
    await page.getByRole('button', { name: 'Raise default/daily', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
  });

  test('asks once a second while it is seen, and never while it is hidden', async () => {
    const window = await opened();
    const { page } = window;
    await page.clock.install();
    await page.reload();
    await show(window, '#/');
    const asked: string[] = [];
    page.on('request', (request) => void asked.push(new URL(request.url()).pathname));
    const pass = async (seconds: number) => {
      for (let i = 0; i < seconds; i++) {
        await page.clock.runFor(1_000);
        await page.evaluate(() => fetch('/health'));
      }
      return asked.splice(0).filter((path) => path !== '/health').length;
    };
    const seen = await pass(6);
    expect(seen).toBeGreaterThan(2);
    expect(seen).toBeLessThanOrEqual(6);
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: true, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    await pass(1);
    expect(await pass(6)).toBe(0);
    await page.evaluate(() => {
      Object.defineProperty(document, 'hidden', { value: false });
      document.dispatchEvent(new Event('visibilitychange'));
    });
    expect(await pass(3)).toBeGreaterThan(0);
  });
});

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
    const dialog = await doIt('Create a key', { Label: 'second' });
    const key = await dialog.getByText(/^sk-gw-/).textContent();
    expect((await gateway.get('/v1/gw/whoami', { authorization: `Bearer ${key}` })).json()).toMatchObject({
      key: { label: 'second' },
    });
    await dialog.getByRole('button', { name: 'Done' }).click();
    await gone('Revoke second');
    expect((await gateway.get('/v1/gw/whoami', { authorization: `Bearer ${key}` })).status).toBe(401);
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
});
