import { join } from 'node:path';
import { optionValue, takeOption } from '../run/options.ts';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Pointing, Start } from '../run/start.ts';
import { type Connecting, defaultsOf, type Endpoint, membersOf } from './connecting.ts';

const COVERED = ['openai-compatible', 'openai-native', 'anthropic'];
const FILE = 'providers.json';

/**
 * Cline: a providers file for this run, with only the covered providers. Cline reads no base URL from the environment.
 * Its hub outlives a run and keeps the settings it was started with, so that a later run would go around gw; a run neither
 * finds nor leaves one: https://github.com/cline/cline/issues/13631
 */
export function pointCline(start: Start): Pointing {
  const { values: keys, rest } = takeOption(start.args, ['-k', '--key']);
  const option = optionValue(start.args, '-P', '--provider');
  const own = parseObject(start.files.read(settingsFile(start)));
  const used = option ?? textIn(own, 'lastUsedProvider');
  const provider = used !== undefined && COVERED.includes(used) ? used : 'openai-compatible';
  const providers = COVERED.map((id) => {
    const entry = objectIn(objectIn(own, 'providers'), id);
    const address = { provider: id, apiKey: start.key, baseUrl: `${start.origin}/v1` };
    const settings = { ...objectIn(entry, 'settings'), ...address };
    return [id, { updatedAt: new Date(0).toISOString(), tokenSource: 'manual', ...entry, settings }];
  });
  const file = {
    version: 1,
    ...own,
    lastUsedProvider: provider,
    modes: {},
    providers: Object.fromEntries(providers),
  };
  return {
    args: rest,
    env: {
      CLINE_PROVIDER_SETTINGS_PATH: join(start.folder, FILE),
      CLINE_SESSION_BACKEND_MODE: 'local',
      CLINE_HUB_DISCOVERY_PATH: join(start.folder, 'hub.json'),
    },
    files: { [FILE]: JSON.stringify(file) },
    notes: [
      ...(used === undefined || used === provider || option !== undefined
        ? []
        : [`provider ${used} is off in this run: ${provider} goes to gw`]),
      ...keys.map(() => "left out --key: gw's own key is used"),
    ],
    ...(option !== undefined &&
      option !== provider && {
        bypass: {
          reason: `Cline's provider ${option} has an address of its own`,
          remedy: `Use: -P ${provider}`,
        },
      }),
  };
}

function settingsFile({ args, home }: Start): string {
  const config = optionValue(args, '--config') ?? join(home, '.cline');
  return join(optionValue(args, '--data-dir') ?? join(config, 'data'), 'settings', FILE);
}

/** Cline: the providers file that the CLI and the VS Code extension share. Cline rewrites it at each run. */
export const connectCline: Connecting = {
  needsModel: true,
  ownModel: (endpoint) => {
    const settings = parseObject(endpoint.files.read(globalSettings(endpoint)));
    const used = objectIn(objectIn(settings, 'providers'), textIn(settings, 'lastUsedProvider') ?? '');
    return textIn(objectIn(used, 'settings'), 'model');
  },
  edits: (endpoint) => {
    const { origin, key, model } = endpoint;
    const path = globalSettings(endpoint);
    const provider = ['providers', 'openai-compatible'];
    return [
      {
        path,
        format: 'json',
        changes: [
          ...defaultsOf([], { version: 1 }),
          ...membersOf([], { lastUsedProvider: 'openai-compatible' }),
          ...membersOf([...provider, 'settings'], {
            provider: 'openai-compatible',
            apiKey: key,
            model: model ?? '',
            baseUrl: `${origin}/v1`,
          }),
          // Cline drops entries without a date, and updates the date itself.
          ...defaultsOf(provider, { updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' }),
        ],
      },
    ];
  },
  notes: () => ['another provider chosen in Cline, such as its own, goes around gw'],
};

function globalSettings({ env, home }: Endpoint): string {
  return env.CLINE_PROVIDER_SETTINGS_PATH || join(home, '.cline', 'data', 'settings', 'providers.json');
}
