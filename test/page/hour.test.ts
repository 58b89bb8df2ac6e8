import { readFileSync } from 'node:fs';
import type { CDPSession, Page } from 'playwright-core';
import { describe, expect, onTestFinished, test } from 'vitest';
import { answer } from '../support/chat-scripts.ts';
import { MODEL } from '../support/gateway.ts';
import { prepareHome } from '../support/home.ts';
import { spawnDaemon } from '../support/spawned.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { enter, hasBrowser, openWindow, show, startBrowser } from './support/browser.ts';

/** Readings of the page in an hour, one a second. */
const HOUR = Number(process.env.GW_PAGE_READINGS ?? 3_600);
const TEN_MINUTES_MS = Number(process.env.GW_PAGE_MS ?? 600_000);
/** Of each, after a warm-up. */
const SAMPLES = 6;
const MEGABYTE = 1_048_576;

interface Sample {
  /** What the page's scripts hold after a collection. */
  heapMb: number;
  nodes: number;
  listeners: number;
  daemonMb: number;
}

/** A page on a daemon of its own, under a steady load of two requests a second. */
async function watched() {
  const upstream = await startUpstream();
  onTestFinished(() => upstream.close());
  upstream.script(answer('Hello'));
  const home = await prepareHome(tmpHome(), {
    upstreamUrl: upstream.url,
    budget: { period: 'daily', capUsd: 1_000 },
  });
  const daemon = await spawnDaemon(home.paths.home);
  const origin = new URL(daemon.url).origin;
  const headers = { authorization: `Bearer ${home.key}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ model: MODEL, messages: [{ role: 'user', content: 'Hi' }] });
  const send = async () => {
    const { status } = await fetch(`${daemon.url}/chat/completions`, { method: 'POST', headers, body });
    expect(status).toBe(200);
  };
  const browser = await startBrowser();
  onTestFinished(() => browser.close());
  const window = await openWindow(browser);
  await enter(window, origin, home.adminKey);
  await show(window, '#/');
  const cdp = await window.context.newCDPSession(window.page);
  return { ...window, send, sample: () => sampleOf(cdp, daemon.child.pid ?? 0) };
}

async function sampleOf(cdp: CDPSession, pid: number): Promise<Sample> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { usedSize } = await cdp.send('Runtime.getHeapUsage');
  const { nodes, jsEventListeners: listeners } = await cdp.send('Memory.getDOMCounters');
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return { heapMb: usedSize / MEGABYTE, nodes, listeners, daemonMb: Number(kilobytes) / 1_024 };
}

/** The last sample is no more than the first but for noise. */
function isFlat(samples: readonly Sample[]): void {
  console.info(samples.map((each) => Object.values(each).map((value) => Math.round(value * 10) / 10)));
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last) throw new Error('there are no samples');
  expect(last.heapMb - first.heapMb).toBeLessThan(1.5);
  expect(last.nodes).toBeLessThan(first.nodes * 1.5);
  expect(last.listeners).toBeLessThan(first.listeners * 1.5);
  expect(last.daemonMb - first.daemonMb).toBeLessThan(30);
}

/** A second of the page's own clock, and an answer to what it asked. */
async function passSecond(page: Page): Promise<void> {
  const answered = page.waitForResponse((response) => response.url().includes('/v1/gw/'));
  await page.clock.runFor(1_000);
  await answered;
}

describe.runIf(hasBrowser && (process.env.GW_LONG || process.env.GW_PAGE_READINGS))(
  'a page left open',
  () => {
    test(
      'takes no more memory after an hour of readings, nor does the daemon',
      async () => {
        const { page, problems, send, sample } = await watched();
        await page.clock.install();
        await page.reload();
        await page.getByRole('heading', { level: 1 }).waitFor();
        const samples: Sample[] = [];
        for (let reading = 0; reading <= HOUR; reading++) {
          await send();
          await passSecond(page);
          if (reading > 0 && reading % Math.ceil(HOUR / SAMPLES) === 0) samples.push(await sample());
        }
        isFlat(samples);
        expect(problems).toEqual([]);
      },
      30 * 60_000,
    );

    test(
      'takes no more memory after ten minutes of its own time',
      async () => {
        const { problems, send, sample } = await watched();
        const samples: Sample[] = [];
        const started = performance.now();
        const last = () => Math.floor(((performance.now() - started) / TEN_MINUTES_MS) * SAMPLES);
        while (performance.now() - started < TEN_MINUTES_MS) {
          await send();
          await new Promise((resolve) => setTimeout(resolve, 500));
          if (samples.length < last()) samples.push(await sample());
        }
        isFlat(samples);
        expect(problems).toEqual([]);
      },
      20 * 60_000,
    );
  },
);
