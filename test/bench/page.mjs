// What the page's first view takes on a database with many requests in a month, and what an open page costs the requests.
// Usage: npm run bench:page -- [--times 5] [--requests 1000000] [--database FILE] [--rounds 3] [--seconds 4]
// FILE is made if it doesn't exist, and kept; the daemon works on a copy. --rounds 0 leaves the requests out.
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs, promisify } from 'node:util';
import { DAY_MS, openBigDatabase } from './big-database.mjs';
import { startChromium } from './chromium.mjs';
import { MODEL, serve, startGw, startScript } from './targets.mjs';

const { values: options } = parseArgs({
  options: {
    times: { type: 'string', default: '5' },
    requests: { type: 'string', default: '1000000' },
    database: { type: 'string' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
  },
});
const VIEWS = { Today: '#/', Sessions: '#/sessions' };
/** The daemon has then done what it does after a start. */
const SETTLE_MS = 2_000;
/** What a browser takes to open the link that `gw open` hands it. */
const BROWSER_MS = 300;
/** Notes when nothing of the view is missing any more, and the frame that shows it is drawn. */
const WATCH = `(() => {
  const isWhole = () => document.querySelector('main footer') && !document.querySelector('.waiting');
  globalThis.shown = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      if (!isWhole()) return;
      observer.disconnect();
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    });
    observer.observe(document, { childList: true, subtree: true });
  });
})()`;
/** When a load was done with what, in milliseconds after its navigation began, and the bytes that came. */
const FIGURES = `shown.then((shown) => {
  const all = performance.getEntriesByType('resource').filter(({ responseEnd }) => responseEnd > 0 && responseEnd <= shown);
  const [page] = performance.getEntriesByType('navigation');
  const [asked, files] = [true, false].map((is) => all.filter(({ name }) => name.includes('/v1/') === is));
  const last = (entries) => Math.max(0, ...entries.map(({ responseEnd }) => responseEnd));
  const bytes = (entries) => entries.reduce((sum, { transferSize }) => sum + transferSize, 0);
  return {
    page: page.responseEnd,
    files: last(files),
    asked: Math.min(...asked.map(({ startTime }) => startTime)),
    answered: last(asked),
    shown,
    fileBytes: bytes(files) + page.transferSize,
    answerBytes: bytes(asked),
    operations: asked.map(({ name, startTime, responseEnd }) => [new URL(name).pathname, responseEnd - startTime]),
  };
})`;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];

/** The hour of the day at which it is evening: most of the day's requests are there. */
const EVENING = 20;

function eveningZone(hour = new Date().getUTCHours()) {
  const ahead = ((EVENING - hour + 35) % 24) - 11;
  // The signs of these zones are turned around.
  return `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}

/** Signs a context in with a link, as `gw open` makes one. */
async function enter(context, { port, adminKey: key }) {
  const origin = `http://127.0.0.1:${port}`;
  const headers = { authorization: `Bearer ${key}` };
  const { path } = await (await fetch(`${origin}/login`, { method: 'POST', headers })).json();
  const answer = await fetch(`${origin}${path}`, { redirect: 'manual' });
  const session = answer.headers.get('location').replace('/#session=', '');
  const [name, value] = answer.headers.get('set-cookie').split(/[=;]/);
  await context.setCookies([{ name, value, url: origin, httpOnly: true, sameSite: 'Strict' }]);
  const tab = await context.openTab();
  await tab.go(`${origin}/assets/icon.svg`);
  await tab.evaluate(`localStorage.setItem('gw-session', '${session}')`);
  await tab.close();
  await sleep(BROWSER_MS);
  return origin;
}

async function load(context, url) {
  const tab = await context.openTab(WATCH);
  await tab.go(url);
  const figures = await tab.evaluate(FIGURES);
  await tab.close();
  return figures;
}

/** Loads of each view: the first of a browser and of a daemon, and one more. */
async function timeViews(chromium, gw, times) {
  const loads = [];
  for (let i = 0; i < times; i++)
    for (const [view, hash] of Object.entries(VIEWS)) {
      await gw.restart();
      await sleep(SETTLE_MS);
      const context = await chromium.newContext();
      const url = `${await enter(context, gw)}/${hash}`;
      for (const which of ['first', 'second']) loads.push({ view, which, ...(await load(context, url)) });
      await context.close();
    }
  return loads;
}

function viewsTable(loads) {
  const columns = ['page', 'files', 'asked', 'answered', 'shown'];
  const lines = Object.keys(VIEWS).flatMap((view) =>
    ['first', 'second'].map((which) => {
      const own = loads.filter((each) => each.view === view && each.which === which);
      const of = (name) => median(own.map((each) => each[name]));
      const operations = own[0].operations.map(([path], i) => {
        const ms = median(own.map(({ operations: all }) => all[i]?.[1] ?? 0));
        return `${path.replace('/v1/gw/', '')} ${ms.toFixed(0)}`;
      });
      const kb = [of('fileBytes'), of('answerBytes')].map((bytes) => (bytes / 1_000).toFixed(0));
      const lowest = Math.min(...own.map(({ shown }) => shown));
      const cells = [...columns.map(of), lowest].map((ms) => ms.toFixed(0));
      return `| ${[view, which, ...cells, ...kb, operations.join(', ')].join(' | ')} |`;
    }),
  );
  return [
    '| view | load | page ms | files ms | asked ms | answered ms | shown ms | lowest | files kB | answers kB | operations, ms |',
    '|---|---|--:|--:|--:|--:|--:|--:|--:|--:|---|',
    ...lines,
    '',
  ].join('\n');
}

/** Requests a second with the page open and without, in turn. */
async function timeRequests(chromium, gw, { rounds, seconds }) {
  const body = JSON.stringify({
    model: MODEL,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'What is the weather like?' }],
  });
  const run = async (forSeconds) => {
    const given = { port: gw.port, key: gw.key, body, connections: 64, seconds: forSeconds };
    const script = join(import.meta.dirname, 'load.mjs');
    const { stdout } = await promisify(execFile)(process.execPath, [script, JSON.stringify(given)]);
    return JSON.parse(stdout);
  };
  const context = await chromium.newContext();
  const origin = await enter(context, gw);
  await run(seconds);
  const found = { closed: [], open: [] };
  for (let round = 0; round < rounds; round++) {
    found.closed.push(await run(seconds));
    const tab = await context.openTab(WATCH);
    await tab.go(`${origin}/#/`);
    await tab.evaluate('shown');
    found.open.push(await run(seconds));
    await tab.close();
  }
  await context.close();
  return found;
}

function requestsTable({ closed, open }) {
  const line = (name, results) =>
    `| ${[name, ...['perSecond', 'p50', 'p99'].map((each) => median(results.map((one) => one[each])).toFixed(1))].join(' | ')} |`;
  return [
    '| page | requests/s | p50 ms | p99 ms |',
    '|---|--:|--:|--:|',
    line('closed', closed),
    line('open', open),
    `| open / closed | ${median(open.map((each, i) => each.perSecond / closed[i].perSecond)).toFixed(2)} | | |`,
    '',
  ].join('\n');
}

const directory = mkdtempSync(join(tmpdir(), 'gw-bench-page-'));
const ended = [];
try {
  const end = Date.now();
  const file = options.database ?? join(directory, 'big.db');
  (await openBigDatabase(file, Number(options.requests), { start: end - 30 * DAY_MS, end })).close();
  mkdirSync(join(directory, 'gw'));
  cpSync(file, join(directory, 'gw', 'gw.db'));
  const upstream = await startScript('upstream.mjs');
  ended.push(() => upstream.child.kill());
  const gw = await startGw(upstream.port, directory);
  gw.run(['config', 'set', 'timezone', eveningZone()]);
  gw.adminKey = JSON.parse(gw.run(['keys', 'create', '--admin', '--json'])).key;
  gw.restart = async () => {
    gw.child.kill();
    await new Promise((resolve) => gw.child.once('exit', resolve));
    gw.child = await serve(gw);
  };
  ended.push(() => gw.child.kill());
  const chromium = startChromium(directory);
  ended.push(chromium.close);
  console.log(viewsTable(await timeViews(chromium, gw, Number(options.times))));
  const [rounds, seconds] = [Number(options.rounds), Number(options.seconds)];
  if (rounds > 0) console.log(requestsTable(await timeRequests(chromium, gw, { rounds, seconds })));
} finally {
  for (const end of ended.reverse()) await end();
  rmSync(directory, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
}
