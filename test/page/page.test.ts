import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cliHome } from '../cli/cli-home.ts';
import { goldenFile } from '../frozen/golden.ts';
import { startGateway } from '../support/gateway.ts';
import {
  enter,
  hasBrowser,
  type Look,
  openWindow,
  show,
  startBrowser,
  type Window,
} from './support/browser.ts';
import { layoutOf } from './support/layout.ts';
import { type Stage, startMonth } from './support/stage.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const undo: (() => Promise<void>)[] = [];
let browser: Browser;
let stage: Stage;

beforeAll(async () => {
  if (hasBrowser) browser = await startBrowser();
});
afterAll(() => browser?.close());

/** Windows of a real Chromium on a daemon with a month of data. */
describe.skipIf(!hasBrowser)('the page', () => {
  beforeAll(async () => {
    stage = await startMonth((each) => undo.unshift(each));
  });
  afterAll(async () => {
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
    ...['failed', 'blocked', 'missed'].map((name) => `#/requests/<${name}>`),
    ...['#/budgets', '#/budgets/default%2Fmonthly', '#/budgets/default%2Fdaily', '#/keys', '#/webhooks'],
    ...['#/cache', '#/team'],
  ];

  const withId = (view: string) => view.replace(/<(\w+)>/, (_, name: string) => stage.month.ids[name] ?? '');

  /** What axe finds, as `rule: element`. */
  async function faultsIn({ page }: Window): Promise<string[]> {
    const { violations } = (await page.evaluate(
      "axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'], resultTypes: ['violations'], preload: false })",
    )) as { violations: { id: string; nodes: { html: string }[] }[] };
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => `${id}: ${html}`));
  }

  /** The looks in which all views are tried, in one window. */
  const LOOKS = [
    { width: 400, height: 700, colorScheme: 'light' },
    { width: 1000, height: 800, colorScheme: 'dark' },
    { width: 2000, height: 900, colorScheme: 'light' },
  ] as const;

  test('has no fault in any view and look: axe, console, what sticks out; its boxes and colours are approved', async () => {
    const window = await opened();
    const { page } = window;
    await page.evaluate(AXE);
    const golden = goldenFile('page-layout');
    for (const view of views()) {
      const boxes: string[] = [];
      for (const { width, height, colorScheme } of LOOKS) {
        await page.setViewportSize({ width, height });
        await page.emulateMedia({ colorScheme });
        await show(window, withId(view));
        const look = `${view} ${width} ${colorScheme}`;
        expect.soft(await faultsIn(window), look).toEqual([]);
        const all = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(all, look).toBeLessThanOrEqual(width);
        boxes.push(`${width} ${colorScheme}`, ...(await layoutOf(page)).map((line) => `  ${line}`));
      }
      golden.add(view, boxes.join('\n'));
    }
    golden.check();
    expect(window.problems).toEqual([]);
  });

  test('shows what is approved', async () => {
    const window = await opened();
    const golden = goldenFile('page');
    for (const view of [
      ...['#/', '#/spend', '#/sessions/thread-1', '#/requests?status=blocked', '#/requests/<blocked>'],
      ...['#/budgets', '#/budgets/default%2Fmonthly', '#/keys', '#/cache', '#/team'],
    ]) {
      await show(window, withId(view));
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
    // As a report of spend, the dearest first: here all cost the same, by name.
    await show(window, '#/spend?by=session&from=2026-01-01&to=2026-01-01');
    await page.getByRole('button', { name: 'Show 10,000' }).waitFor();
    expect(await page.getByRole('row').count()).toBe(502);
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
    // What opening the page still asks for.
    await pass(1);
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
