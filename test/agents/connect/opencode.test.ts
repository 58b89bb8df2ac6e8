import { describe, expect, test } from 'vitest';
import { pointKilo, pointOpencode } from '../../../src/agents/connect/opencode.ts';
import { KEY, ORIGIN, startOf } from './start-of.ts';

const OPTIONS = { baseURL: `${ORIGIN}/v1`, apiKey: '{env:GW_RUN_KEY}' };

describe.each([
  { name: 'opencode', prefix: 'OPENCODE', point: pointOpencode },
  { name: 'kilo', prefix: 'KILO', point: pointKilo },
])('$name', ({ name, prefix, point }) => {
  const variable = `${prefix}_CONFIG_CONTENT`;

  test('gets its settings in a variable, with other providers off', () => {
    const { args, env, bypass } = point(startOf({ args: ['run', 'hi'] }));
    expect(args).toEqual(['run', 'hi']);
    expect(env.GW_RUN_KEY).toBe(KEY);
    expect(JSON.parse(env[variable] ?? '')).toEqual({
      provider: { openai: { options: OPTIONS }, anthropic: { options: OPTIONS }, gw: { options: OPTIONS } },
      enabled_providers: ['openai', 'anthropic', 'gw'],
    });
    expect(bypass).toBeUndefined();
  });

  test("merges what the user's variable has, comments or not", () => {
    const own =
      '{ // mine\n "model": "openai/gpt-5.2", "provider": {"openai": {"options": {"baseURL": "https://x", "timeout": 9}}},}';
    expect(JSON.parse(point(startOf({ env: { [variable]: own } })).env[variable] ?? '')).toMatchObject({
      model: 'openai/gpt-5.2',
      provider: { openai: { options: { ...OPTIONS, timeout: 9 } } },
    });
    expect(() => point(startOf({ env: { [variable]: '[oops' } }))).toThrow(
      `${variable} is not a JSON object`,
    );
  });

  test('goes around gw with a login for openai, but not with a key', () => {
    const file = `/home/me/.local/share/${name}/auth.json`;
    const bypass = (type: string) => point(startOf({ files: { [file]: { openai: { type } } } })).bypass;
    expect(bypass('oauth')).toEqual({
      reason: `the login for openai in ${file} sends requests to its own service, whatever the address`,
      remedy: `Log out first: ${name} auth logout`,
    });
    expect(bypass('api')).toBeUndefined();
    const moved = startOf({
      files: { [file]: { openai: { type: 'oauth' } } },
      env: { XDG_DATA_HOME: '/data' },
    });
    expect(point(moved).bypass).toBeUndefined();
  });

  test('goes around gw with managed providers, or on a server that runs elsewhere', () => {
    const managed = { [`/etc/${name}/${name}.json`]: { provider: {} } };
    expect(point(startOf({ files: managed })).bypass?.reason).toContain(`/etc/${name}/${name}.json`);
    expect(point(startOf({ args: ['run', '--attach', 'http://x', 'hi'] })).bypass?.remedy).toBe(
      `Start the server with: gw run -- ${name} serve`,
    );
  });
});
