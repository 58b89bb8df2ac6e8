import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';

/** Debian's Chromium, which `.ci/run` installs, or another. */
const CHROMIUM = process.env.GW_TEST_CHROMIUM ?? '/usr/bin/chromium';

export const hasBrowser = existsSync(CHROMIUM);

export function startBrowser(): Promise<Browser> {
  // Containers have neither the sandbox's namespaces nor much shared memory.
  return chromium.launch({ executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] });
}

export interface Look {
  width?: number;
  height?: number;
  scheme?: 'light' | 'dark';
}

/** A window of its own, with what its console reported as errors. */
export interface Window {
  page: Page;
  context: BrowserContext;
  problems: string[];
}

export async function openWindow(
  browser: Browser,
  { width = 1280, height = 900, scheme = 'light' }: Look = {},
): Promise<Window> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
  const page = await context.newPage();
  const problems: string[] = [];
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(message.text());
  });
  page.on('pageerror', (error) => void problems.push(String(error)));
  return { page, context, problems };
}

/** Signs a window in by a link, as `gw open` does. */
export async function enter({ page }: Pick<Window, 'page'>, origin: string, key: string): Promise<void> {
  const answer = await fetch(`${origin}/login`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
  });
  const { path } = (await answer.json()) as { path: string };
  await page.goto(`${origin}${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
}

/**
 * Goes to a view, and waits until nothing of it is missing. Begins at another view, as one whose parameters change shows
 * the answer to the former until it has its own.
 */
export async function show({ page }: Pick<Window, 'page'>, hash: string): Promise<void> {
  const from = new URL(page.url()).hash;
  if (from !== hash && viewIn(from) === viewIn(hash)) {
    await setHash(page, '#/keys');
    await page.getByRole('heading', { level: 1, name: 'Keys' }).waitFor();
  }
  await setHash(page, hash);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await page.waitForFunction(
    () => document.querySelector('main footer') !== null && document.querySelector('.waiting') === null,
  );
}

const viewIn = (hash: string): string => hash.split(/[/?]/)[1] ?? '';

async function setHash(page: Page, hash: string): Promise<void> {
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
}
