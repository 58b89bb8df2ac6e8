import { expect, test } from 'vitest';
import { pointCline } from '../../../src/agents/connect/cline.ts';
import { FOLDER, KEY, ORIGIN, startOf } from './start-of.ts';

const FILE = '/home/me/.cline/data/settings/providers.json';
const ADDRESS = { apiKey: KEY, baseUrl: `${ORIGIN}/v1` };

function pointed(start: Parameters<typeof startOf>[0]) {
  const pointing = pointCline(startOf(start));
  return { ...pointing, file: JSON.parse(pointing.files?.['providers.json'] ?? '') };
}

test('Cline gets a providers file of this run', () => {
  const { args, env, file, notes } = pointed({ args: ['-m', 'gpt-5.2', 'say hi'] });
  expect(args).toEqual(['-m', 'gpt-5.2', 'say hi']);
  expect(env).toEqual({
    CLINE_PROVIDER_SETTINGS_PATH: `${FOLDER}/providers.json`,
    // No hub of an earlier run, which has other settings.
    CLINE_SESSION_BACKEND_MODE: 'local',
    CLINE_HUB_DISCOVERY_PATH: `${FOLDER}/hub.json`,
  });
  expect(file).toMatchObject({ version: 1, lastUsedProvider: 'openai-compatible', modes: {} });
  expect(file.providers['openai-compatible']).toEqual({
    updatedAt: '1970-01-01T00:00:00.000Z',
    tokenSource: 'manual',
    settings: { provider: 'openai-compatible', ...ADDRESS },
  });
  expect(notes).toEqual([]);
});

test("keeps the user's model and headers, and drops other providers and keys", () => {
  const entry = {
    settings: { provider: 'anthropic', apiKey: 'sk-ant', model: 'claude-x', baseUrl: 'https://x' },
  };
  const own = {
    version: 1,
    lastUsedProvider: 'anthropic',
    modes: { plan: 'cline' },
    providers: { anthropic: entry, cline: {} },
  };
  const { args, file, notes } = pointed({ args: ['-k', 'sk-mine', 'say hi'], files: { [FILE]: own } });
  expect(args).toEqual(['say hi']);
  expect(file).toMatchObject({ lastUsedProvider: 'anthropic', modes: {} });
  expect(file.providers.anthropic.settings).toEqual({ provider: 'anthropic', model: 'claude-x', ...ADDRESS });
  expect(Object.keys(file.providers)).toEqual(['openai-compatible', 'openai-native', 'anthropic']);
  expect(notes).toEqual(["left out --key: gw's own key is used"]);
});

test('says that the provider in use is off, and refuses one that is asked for', () => {
  const used = pointed({
    files: { '/d/settings/providers.json': { lastUsedProvider: 'cline' } },
    args: ['--data-dir', '/d', 'hi'],
  });
  expect(used.notes).toEqual(['provider cline is off in this run: openai-compatible goes to gw']);
  expect(used.bypass).toBeUndefined();
  expect(pointed({ args: ['-P', 'openrouter', 'hi'] }).bypass).toEqual({
    reason: "Cline's provider openrouter has an address of its own",
    remedy: 'Use: -P openai-compatible',
  });
  expect(pointed({ args: ['-P', 'openai-native', 'hi'] }).file.lastUsedProvider).toBe('openai-native');
});
