import pino from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { boot } from '../../src/daemon/boot.ts';
import { resolvePaths } from '../../src/paths.ts';
import { type ApiOptions, routesOf } from '../../src/server/api.ts';
import { acquireLock } from '../../src/store/database/lock.ts';
import { type CliHome, cliHome } from '../cli/cli-home.ts';
import { request } from '../support/client.ts';
import { seededRandom } from '../support/random.ts';
import { tmpHome } from '../support/tmp-home.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';
import { READING } from './commands.ts';
import { ENDPOINTS } from './endpoints.ts';
import { difference, goldenFile, laidOut, normalise } from './golden.ts';
import { buildMonth, type Month, NOW, TIMEZONE } from './month.ts';

const COLUMNS = 110;

const undo: (() => unknown)[] = [];
let month: Month;
let origin: string;
let home: string;

/** A daemon on the month's home, at a time that stands still. */
beforeAll(async () => {
  const whenDone = (work: () => Promise<void>) => void undo.push(work);
  home = tmpHome(whenDone);
  const paths = resolvePaths({ GW_HOME: home });
  const upstream = await startUpstream();
  undo.push(() => upstream.close());
  month = await buildMonth(paths, upstream.url);
  const lock = acquireLock(paths.lock);
  undo.push(() => lock?.release());
  const log = pino({ level: 'silent' });
  const daemon = await boot({
    ...{ paths, env: {}, flags: { port: 0 }, log },
    ...{ clock: createVirtualClock(NOW), random: seededRandom('daemon') },
  });
  undo.push(() => daemon.stop({ graceMs: 0 }));
  origin = `http://127.0.0.1:${daemon.port}`;
});
afterAll(async () => {
  for (const work of undo.reverse()) await work();
});

/** A command line on the daemon's machine, or on another one. */
function commandLine(how: 'locally' | 'remotely', key = month.adminKey): CliHome {
  const cli = cliHome({ timezone: TIMEZONE });
  cli.clock = createVirtualClock(NOW);
  cli.env.PATH = '';
  if (how === 'locally') {
    cli.paths = resolvePaths({ GW_HOME: home });
    Object.assign(cli.env, { GW_HOME: home, GW_PORT: new URL(origin).port });
  } else Object.assign(cli.env, { GW_URL: origin, GW_KEY: key });
  return cli;
}

async function printed(cli: CliHome, line: string): Promise<string> {
  const { code, stdout, stderr } = await cli.run(line.split(' '), { columns: COLUMNS });
  const errors = stderr === '' ? '' : `--- stderr\n${normalise(stderr, home)}`;
  const text = `exit ${code}\n${laidOut(normalise(stdout, home), 2).trimEnd()}\n${errors}`;
  return text.replaceAll(cli.env.HOME ?? home, '<user>');
}

const fill = (line: string) =>
  line.replace(/<(\w+)>/g, (whole, name: string) => month.ids[name as keyof Month['ids']] ?? whole);

describe('reading commands', () => {
  for (const [area, lines] of Object.entries(READING))
    test(area, async () => {
      const golden = goldenFile(area);
      const here = commandLine('locally');
      const away = commandLine('remotely');
      for (const line of lines) {
        const local = await printed(here, `${fill(line)} --json`);
        golden.add(`gw ${line} --json`, local);
        golden.add(
          `gw ${line} --json, remotely`,
          difference(await printed(away, `${fill(line)} --json`), local),
        );
        golden.add(`gw ${line}`, await printed(here, fill(line)));
      }
      golden.check();
    });
});

describe('GET endpoints', () => {
  test('are all listed', () => {
    // The handlers are not called.
    const routes = Object.keys(
      routesOf({ gateway: {}, webhooks: {}, db: { prepare() {} } } as unknown as ApiOptions),
    );
    expect(Object.keys(ENDPOINTS).sort()).toEqual(
      routes
        .filter((route) => route.startsWith('GET /v1/'))
        .map((route) => route.slice(4))
        .sort(),
    );
  });

  test('http', async () => {
    const golden = goldenFile('http');
    const get = async (path: string, key: string) => {
      const headers = { authorization: `Bearer ${key}` };
      const answer = await request(origin, { method: 'GET', path: fill(path), headers });
      return `HTTP ${answer.status}\n${laidOut(normalise(answer.body.toString(), home))}`;
    };
    for (const path of Object.values(ENDPOINTS).flat()) {
      const answer = await get(path, month.adminKey);
      golden.add(`GET ${path}`, answer);
      const own = await get(path, month.webKey);
      golden.add(
        `GET ${path}, with a project's key`,
        difference(own, answer) === 'the same' ? 'the same' : own,
      );
    }
    golden.check();
  });
});
