import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import { REMOTE_DATA_JSON_URL } from '@pydantic/genai-prices';
import { describe, expect, test } from 'vitest';
import { checkPrices } from '../../src/cli/commands/doctor.ts';
import { PACKAGED_PRICES, packagedPrices } from '../../src/pricing/library.ts';
import { isLinear, parsePriceFile } from '../../src/pricing/published/price-file.ts';
import { readStoredPrices, writeStoredPrices } from '../../src/pricing/published/stored-prices.ts';
import { type CliHome, cliHome, commandLineOf } from '../cli/cli-home.ts';
import { completion } from '../support/chat-scripts.ts';
import { startGateway } from '../support/gateway.ts';
import { respond } from '../support/scripts.ts';
import { startUpstream } from '../support/upstream.ts';
import { createVirtualClock } from '../support/virtual-clock.ts';

type Models = Map<string, Record<string, unknown>>;
type Data = { id: string; models: Record<string, unknown>[] }[];

const NOW = Date.UTC(2026, 10, 20, 12);

/** The packaged data in the published form, changed. `most`: only so many models of each provider. */
function published(change: (models: Models, data: Data) => void, most = Number.POSITIVE_INFINITY): string {
  const data = structuredClone(packagedPrices()) as unknown as Data;
  for (const each of data) each.models.splice(most);
  change(new Map(data.flatMap(({ id, models }) => models.map((each) => [`${id}/${each.id}`, each]))), data);
  return JSON.stringify(data);
}

const change = (models: Models, name: string, fields: object) => {
  const model = models.get(name);
  if (!model) throw new Error(`the data has no ${name} any more`);
  Object.assign(model, fields);
};
const modelsOf = (data: Data, id: string) => data.find((each) => each.id === id)?.models ?? [];

/** A command line whose price file has this text. */
async function offer(cli: CliHome, text: string): Promise<CliHome> {
  const server = await startUpstream();
  await cli.run(['config', 'set', 'prices.url', `${server.url}/data.json`]);
  server.script(respond(200, { 'content-type': 'text/plain' }, text));
  return cli;
}

describe('gw prices update', () => {
  test('shows what changes, stores it with --yes alone, and a running gw books by it', async () => {
    const upstream = await startUpstream();
    const gateway = await startGateway({
      upstream,
      clock: createVirtualClock(NOW),
      budget: { period: 'daily', capUsd: 5 },
      settings: { providers: { openai: { baseUrl: upstream.url } } },
      credentials: { openai: 'sk-1' },
    });
    const prompt_tokens = 100_000;
    const cost = async () => {
      upstream.queue(
        completion({ usage: { prompt_tokens, completion_tokens: 0, total_tokens: prompt_tokens } }),
      );
      const messages = [{ role: 'user', content: 'Hi' }];
      const answer = await gateway.post({ model: 'openai/gpt-4o-mini', messages });
      return Number(answer.header('x-service-cost-usd'));
    };
    expect(await cost()).toBeCloseTo(0.015, 4);
    await gateway.settled(1);
    const file = published((models, data) => {
      change(models, 'openai/gpt-4o-mini', { prices: { input_mtok: 0.05, output_mtok: 0.2 } });
      change(models, 'openai/gpt-4o', { prices: { input_mtok: 5, output_mtok: 20 } });
      const prices = { input_mtok: 1, output_mtok: 2 };
      modelsOf(data, 'openai').push({ id: 'gpt-99', match: { equals: 'gpt-99' }, prices });
      // Nobody knows what gw would leave out of the price.
      modelsOf(data, 'openai').push({
        id: 'gpt-98',
        match: { equals: 'gpt-98' },
        prices: { ...prices, thought: 1 },
      });
    });
    const cli = await offer(commandLineOf(gateway, 'locally', createVirtualClock(NOW)), file);
    const asked = await cli.run(['prices', 'update']);
    expect(asked.code).toBe(2);
    expect(asked.stdout).toMatch(/^sha256 [0-9a-f]{64}$/m);
    expect(asked.stdout).toMatch(/^! +openai\/gpt-4o-mini +\$0\.15 > \$0\.05 +\$0\.60 > \$0\.20 +lower$/m);
    expect(asked.stdout).toMatch(/^ +openai\/gpt-4o +\$2\.50 > \$5\.00 .* higher$/m);
    expect(asked.stdout).toMatch(/^ +openai\/gpt-99 +- > \$1\.00 .* new$/m);
    expect(asked.stdout).not.toContain('gpt-98');
    expect(asked.stdout).toContain('default/daily: $0.015 of this period would have been $0.0050');
    expect(asked.stderr).toContain('warning: 2 prices would be lower than the packaged ones');
    expect(await cost()).toBeCloseTo(0.015, 4);

    expect(await cli.json(['prices', 'update', '--yes'])).toMatchObject({
      object: 'price_update',
      stored: true,
    });
    expect(await cost()).toBeCloseTo(0.005, 4);
    expect(statSync(cli.paths.prices).mode & 0o777).toBe(0o600);
    expect((await cli.run(['prices', 'update', '--packaged'])).code).toBe(0);
    expect(await cost()).toBeCloseTo(0.015, 4);
  });

  test('takes no older file, and changes nothing', async () => {
    const cli = cliHome();
    await offer(
      cli,
      published((_, data) => void modelsOf(data, 'openai').splice(0, 5)),
    );
    const { code, stderr } = await cli.run(['prices', 'update', '--yes']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/it lacks models \(openai.* so it is older\. Nothing was changed/);
    expect(readStoredPrices(cli.paths.prices)).toEqual({});
  });

  test('takes a file of up to 8 MB, and of the models in use all but a tenth', async () => {
    const cli = cliHome();
    const update = async (text: string) => {
      await offer(cli, text);
      const { code, stderr } = await cli.run(['prices', 'update', '--json']);
      return `${code} ${stderr}`;
    };
    const known = packagedPrices().reduce((sum, { models }) => sum + models.length, 0);
    const without = (lost: number) =>
      published((_, data) => {
        const models = data.reduce(
          (most, each) => (each.models.length > most.length ? each.models : most),
          [{}],
        );
        const prices = { input_mtok: 1, output_mtok: 2 };
        const fresh = Array.from({ length: lost }, (_, i) => ({
          id: `new-${i}`,
          match: { equals: `new-${i}` },
          prices,
        }));
        models.splice(-lost, lost, ...fresh);
      });
    const tenth = Math.floor(known / 10);
    const text = without(tenth);
    const padded = text + ' '.repeat(8 * 1024 ** 2 - Buffer.byteLength(text));
    expect(await update(padded)).toMatch(/^0 /);
    expect(await update(`${padded} `)).toMatch(/^1 .*it is larger than 8 MB\. Nothing was changed/s);
    expect(await update(without(tenth + 1))).toMatch(
      new RegExp(`^1 .*it lacks ${tenth + 1} of [\\d,]+ models .* so it is damaged`, 's'),
    );
    expect(readStoredPrices(cli.paths.prices)).toEqual({});
  });

  test.each([20, 5_000_000])('says how a server refuses, with %d bytes beside', async (size) => {
    const cli = cliHome();
    const server = await startUpstream();
    await cli.run(['config', 'set', 'prices.url', `${server.url}/data.json`]);
    server.script(respond(502, { 'content-type': 'text/html' }, 'x'.repeat(size)));
    const { code, stderr } = await cli.run(['prices', 'update']);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^gw: cannot take the prices at .*: the server answered HTTP 502\. [^\n]*\n$/);
    // An error that nobody handles would come now, and fail the run.
    await setImmediate();
    // The upstream's own write fails once the client has left.
    await server.close().catch(() => undefined);
  });

  test('takes the file that the library itself would update from, unless another address is set', async () => {
    const update = readFileSync('src/cli/prices/update.ts', 'utf8');
    expect(update).toContain(`'${REMOTE_DATA_JSON_URL}'`);
    const { code, stderr } = await cliHome().run([
      'config',
      'set',
      'prices.url',
      'http://prices.test/data.json',
    ]);
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('is not an https:// address'),
    });
  });

  test('is refused for another machine', async () => {
    const { code, stderr } = await cliHome().run(['prices', 'update'], {
      env: { GW_URL: 'http://127.0.0.1:9', GW_KEY: 'gw_x' },
    });
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('gw prices update is for'),
    });
  });
});

const first = (models: Models, fields: object) => change(models, [...models.keys()][0] ?? '', fields);
const refused: [string, string, RegExp][] = [
  ['half a file', published(() => {}, 3).slice(0, 1_000), /it isn't JSON/],
  ['another shape', '{"prices": []}', /the file: .*expected array/],
  [
    'a negative price',
    published((models) => first(models, { prices: { input_mtok: -1 } }), 3),
    /^anthropic\//,
  ],
  [
    'a slow expression',
    published((models) => first(models, { match: { regex: '^(a+)+$' } }), 3),
    /linear time/,
  ],
  [
    'a broken expression',
    published((models) => first(models, { match: { regex: '^(a' } }), 3),
    /can't be read/,
  ],
  ['a missing provider', published((_, data) => void data.shift(), 3), /lacks the provider anthropic/],
];
test.each(refused)('parsePriceFile() refuses %s', (_, text, why) => {
  expect(() => parsePriceFile(text)).toThrow(why);
});

test('a stored file that was damaged since is not used, and doctor says so', async () => {
  const { paths } = cliHome();
  writeStoredPrices(paths.prices, packagedPrices(), { url: 'https://a.test', sha256: '', fetchedAt: NOW });
  expect(readStoredPrices(paths.prices).stored?.prices).toHaveLength(packagedPrices().length);
  writeFileSync(paths.prices, readFileSync(paths.prices, 'utf8').replace('_mtok":', '_mtok":0'));
  expect(readStoredPrices(paths.prices)).toEqual({
    problem: expect.stringContaining('is damaged; the packaged'),
  });
  const finding = checkPrices({ paths, clock: createVirtualClock(NOW) });
  expect(finding).toMatchObject({ state: 'warning', mend: 'gw prices update' });
});

test('stored prices that are older than the packaged ones give way to them', () => {
  const { paths } = cliHome();
  const fetchedAt = PACKAGED_PRICES.releasedAt - 1;
  writeStoredPrices(paths.prices, packagedPrices(), { url: 'https://a.test', sha256: '', fetchedAt });
  expect(readStoredPrices(paths.prices)).toEqual({});
});

test.each([
  '^gpt-5\\.4-\\d{4}-\\d{2}$',
  '^(?!.*-[tT][tT][sS](?:$|-))',
  'a|b',
  '^composer\\[fast=true\\]$',
  '^x.*y',
])('%s takes linear time', (source) => {
  expect(isLinear(source)).toBe(true);
});

test.each([
  '^(a+)+$',
  '^(?:a|a)*$',
  'a.*b',
  '^.*.*$',
  '^a*b*$',
  '(a)\\1',
  '(?<=a+)b',
  '^a|b.*c',
  `^${'a?'.repeat(13)}`,
  '^a{99999}',
  '^(a{9}){9}',
])('%s is not known to', (source) => {
  expect(isLinear(source)).toBe(false);
});

test('every expression in the packaged data takes linear time', () => {
  const patterns = [
    ...JSON.stringify(packagedPrices()).matchAll(/"match":|"regex":("(?:[^"\\]|\\.)*")/g),
  ].flatMap(([, quoted]) => (quoted === undefined ? [] : [JSON.parse(quoted) as string]));
  expect(patterns.length).toBeGreaterThan(10);
  expect(patterns.filter((source) => !isLinear(source))).toEqual([]);
});
