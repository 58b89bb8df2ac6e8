import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemTimezone } from '../../src/calendar.ts';
import { loadSettings, loadSoundSettings } from '../../src/config/load.ts';
import { DEFINITIONS, isScalarKey, SCALAR_KEYS, SettingError } from '../../src/config/settings.ts';
import { writtenOf } from '../../src/config/written.ts';
import { temporaryDirectory } from '../support/simulator.ts';

/** The path of a settings file with this content; undefined makes none. */
function settingsFile(content?: unknown): string {
  const file = join(temporaryDirectory(), 'config.json');
  if (content !== undefined)
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
  return file;
}

describe('loadSettings()', () => {
  test('has a default for everything when there is no file', () => {
    const { settings, origins, problems } = loadSettings({ file: settingsFile() });
    expect(settings).toMatchObject({ port: 4747, host: 'localhost', timezone: systemTimezone() });
    expect(settings.aliases).toEqual({});
    expect(new Set(Object.values(origins))).toEqual(new Set(['default']));
    expect(problems).toEqual([]);
  });

  test('takes a flag over the environment over the file over the default, and says which', () => {
    const file = settingsFile({ port: 1, host: 'file', timezone: 'Asia/Tokyo' });
    const { settings, origins } = loadSettings({
      file,
      env: { GW_PORT: '2', GW_HOST: 'env' },
      flags: { port: 3 },
    });
    expect(settings).toMatchObject({ port: 3, host: 'env', timezone: 'Asia/Tokyo' });
    expect(origins).toMatchObject({
      port: 'flag',
      host: 'environment',
      timezone: 'config',
      'log.level': 'default',
    });
  });

  test('reads dotted settings from nested objects, and only their own fields', () => {
    const file = settingsFile({ admission: { max_wait_ms: 5 }, limits: {}, log: { level: 'debug' } });
    const { settings, problems } = loadSettings({ file });
    expect(settings['admission.max_wait_ms']).toBe(5);
    expect(settings['log.level']).toBe('debug');
    expect(settings['limits.max_body_bytes']).toBe(32 * 1024 * 1024);
    expect(problems).toEqual([]);
  });

  test('ignores what this version has no longer, and says what it was', () => {
    const file = settingsFile({ routing: { hedge: 'on', shadow_share: '5%', deadline_ms: 7_000 } });
    const { settings, problems, retired } = loadSettings({ file });
    expect(retired).toEqual(['routing.hedge', 'routing.shadow_share']);
    expect(problems).toEqual([]);
    expect(settings['routing.deadline_ms']).toBe(7_000);
    expect(settings).not.toHaveProperty(['routing.hedge']);
  });

  test('takes an empty environment variable for none', () => {
    expect(loadSettings({ file: settingsFile(), env: { GW_PORT: '' } }).settings.port).toBe(4747);
  });

  test('reports a bad value of the file and goes on with the default', () => {
    const file = settingsFile({ port: 'many', timezone: 'Mars/Olympus', providers: { a: 1, b: {} } });
    const { settings, problems } = loadSettings({ file });
    expect(settings).toMatchObject({ port: 4747, timezone: systemTimezone() });
    expect(problems).toEqual([
      `${file}:1:2: port: "many" is not a whole number from 0 to 65535. To drop it: gw config unset port`,
      `${file}:1:16: timezone: "Mars/Olympus" is not a time zone; an example is Europe/Paris. To drop it: gw config unset timezone`,
      `${file}:1:55: provider a is not an object. To drop it: gw providers remove a`,
    ]);
    expect(settings.providers).toEqual({ b: {} });
  });

  test.each([
    ['{', ':1:2: the file is not JSON: a string was expected'],
    ['', ':1:1: the file is not JSON: a JSON object was expected'],
    ['{\n  "port": 1,\n}', ':3:1: the file is not JSON: a string was expected'],
    ['{\n  "port": 1\n  "host": "a"\n}', ':3:3: the file is not JSON: a comma or } was expected'],
    ['{"port": 01}', ':1:10: the file is not JSON: a bad value'],
    ['{"host": "\\x"}', ':1:10: the file is not JSON: a bad value'],
    ['{} // none', ':1:4: the file is not JSON: text after the end'],
    ['[1]', 'is not a JSON object'],
    ['null', 'is not a JSON object'],
    [
      '{\n "max_wait_ms": 5}',
      ':2:2: no setting "max_wait_ms" here. Set it with: gw config set admission.max_wait_ms',
    ],
    [
      '{"admission.max_wait_ms": 5}',
      ':1:2: no setting "admission.max_wait_ms" here. Set it with: gw config set admission.max',
    ],
    [
      '{"admission": {"port": 5}}',
      ':1:16: no setting "admission.port" here. Set it with: gw config set port',
    ],
    ['{"admission": {"max_wait_ms": {"ms": 5}}}', ':1:16: admission.max_wait_ms: '],
    ['{"limits": 7}', ':1:2: limits must be an object'],
    ['{"aliases": "fast"}', ':1:2: aliases must be an object'],
    ['{"providers": []}', ':1:2: providers must be an object'],
    ['{"optimizer": {"projects": 1}}', ':1:16: optimizer.projects must be an object'],
    ['{"providers": {"a": {"base_url": "http://x"}}}', ':1:22: a provider has no field "base_url"'],
    ['{"providers": {"a": {"baseUrl": 5}}}', ':1:22: baseUrl of provider a has a value that gw cannot use'],
    ['{"gw": {"port": 5}}', ':1:2: no setting "gw". See: gw config list. To drop it: gw config unset gw'],
    ['{"__proto__": {"port": 5}}', ':1:2: no setting "__proto__"'],
    ['{"port": 5, "port": 4747}', ':1:13: "port" is here a second time'],
    ['{"providers": {"a": {}}, "aliases": {}, "providers": {}}', ':1:41: "providers" is here a second time'],
  ])('reports a file that holds %j', (content, problem) => {
    const { problems, settings } = loadSettings({ file: settingsFile(content) });
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain(problem);
    expect(settings.port).toBe(4747);
    expect(() => loadSoundSettings({ file: settingsFile(content) })).toThrow(SettingError);
  });

  test('reads a file with a byte order mark', () => {
    const { settings, problems } = loadSettings({ file: settingsFile('\uFEFF{"port": 5}') });
    expect(problems).toEqual([]);
    expect(settings.port).toBe(5);
  });

  test('says nothing of a value that may be a key', () => {
    const file = settingsFile(
      '{"api_key": "sk-secret", "providers": {"a": {"key": "sk-secret"}}, "b": "sk-secret}',
    );
    const other = settingsFile({ api_key: 'sk-secret', providers: { a: { key: 'sk-secret' } } });
    for (const each of [file, other]) {
      const { problems } = loadSettings({ file: each });
      expect(problems.length).toBeGreaterThan(0);
      expect(problems.join()).not.toContain('sk-secret');
    }
  });

  test('stops at a bad flag or environment variable, which a person has just written', () => {
    const file = settingsFile();
    expect(() => loadSettings({ file, env: { GW_PORT: '99999' } })).toThrow(
      'GW_PORT: "99999" is not a whole number from 0 to 65535',
    );
    expect(() => loadSettings({ file, flags: { port: '99999' } })).toThrow(/^--port: "99999"/);
    expect(() => loadSettings({ file, flags: { 'log.level': 'loud' } })).toThrow(
      '"loud" is not one of: error, warn, info, debug',
    );
  });

  test('keeps only aliases that are texts', () => {
    const file = settingsFile({ aliases: { fast: 'openai/gpt-5-mini', broken: 5 } });
    expect(loadSettings({ file }).settings.aliases).toEqual({ fast: 'openai/gpt-5-mini' });
  });
});

describe('settings with a value that is not their text', () => {
  test('are parsed when they are loaded, and keep their text', () => {
    const { settings, problems } = loadSettings({
      file: settingsFile({
        retention: { requests: '7d' },
        routing: { shares: { web: '30%', api: 0.5 } },
        fees: { web_search: '0.010', mcp: 0.5 },
        tiers: { 'gpt-5': 'strong: a; fast: b; share=1%' },
      }),
    });
    expect(settings['retention.requests']).toEqual({ written: '7d', ms: 7 * 86_400_000 });
    expect({ ...settings['routing.shares'] }).toEqual({
      web: { written: '30%', share: 0.3 },
      api: { written: '0.5', share: 0.5 },
    });
    expect({ ...settings.fees }).toEqual({
      web_search: { written: '0.010', nanoUsd: 10_000_000 },
      mcp: { written: '0.5', nanoUsd: 500_000_000 },
    });
    expect(settings.tiers['gpt-5']).toEqual({
      written: 'strong: a; fast: b; share=1%',
      strong: 'a',
      weak: { name: 'fast', models: 'b' },
      share: 0.01,
      up: false,
    });
    expect(problems).toEqual([]);
  });

  test('are left out, with a problem each, where the file has them wrong', () => {
    const file = settingsFile({
      retention: { requests: '0d' },
      routing: { shares: { web: '130%' } },
      fees: { web_search: 'much' },
      tiers: { 'gpt-5': 'strong: a' },
    });
    const { settings, problems } = loadSettings({ file });
    expect(settings['retention.requests'].written).toBe('90d');
    expect([settings['routing.shares'], settings.fees, settings.tiers].flatMap(Object.keys)).toEqual([]);
    expect(problems).toEqual([
      `${file}:1:15: retention.requests: "0d" is neither a number of days, such as 90d, nor forever. To drop it: gw config unset retention.requests`,
      `${file}:1:76: fees.web_search: "much" is not an amount of dollars; an example is 0.01. To drop it: gw config unset fees.web_search`,
      `${file}:1:106: tiers.gpt-5: with the tier strong alone there is nothing to choose. An example is "strong: openai/gpt-5; fast: openai/gpt-5-mini; share=30%". To drop it: gw config unset tiers.gpt-5`,
      `${file}:1:53: routing.shares.web: "130%" is no share; examples are 30% and 0.3. To drop it: gw config unset routing.shares.web`,
    ]);
  });
});

describe('the definitions', () => {
  test.each(SCALAR_KEYS)('%s takes its own default, as a value and as text', (key) => {
    const { default: initial, parse } = DEFINITIONS[key];
    const written = writtenOf(initial());
    expect(parse(written)).toEqual(initial());
    expect(parse(String(written))).toEqual(initial());
  });

  test.each([
    ['port', -1],
    ['port', 1.5],
    ['port', ' '],
    ['port', 'many'],
    ['host', ''],
    ['timezone', 7],
    ['log.level', 'INFO'],
    ['admission.max_wait_ms', null],
    ['metrics.otlp_endpoint', 'localhost:4318'],
    ['metrics.otlp_endpoint', 'http://user@localhost'],
  ] as const)('%s refuses %j', (key, value) => expect(() => DEFINITIONS[key].parse(value)).toThrow(/is not/));

  test('are the keys that can be set', () => {
    expect(isScalarKey('port')).toBe(true);
    expect(isScalarKey('toString')).toBe(false);
    expect(isScalarKey('aliases')).toBe(false);
  });
});
