import { join } from 'node:path';
import { optionValue, takeOption } from './options.ts';
import { objectIn, parseObject, textIn } from './settings-text.ts';
import type { Pointing, Start } from './start.ts';

const COVERED = ['openai-compatible', 'openai-native', 'anthropic'];
const FILE = 'providers.json';

/** Cline: a providers file of this run with the covered providers alone. It reads no base URL from the environment. */
export function pointCline(start: Start): Pointing {
  const { values: keys, rest } = takeOption(start.args, ['-k', '--key']);
  const given = optionValue(start.args, '-P', '--provider');
  const own = parseObject(start.files.read(settingsFile(start)));
  const used = given ?? textIn(own, 'lastUsedProvider');
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
    env: { CLINE_PROVIDER_SETTINGS_PATH: join(start.folder, FILE) },
    files: { [FILE]: JSON.stringify(file) },
    notes: [
      ...(used === undefined || used === provider || given !== undefined
        ? []
        : [`provider ${used} is off in this run: ${provider} goes to gw`]),
      ...keys.map(() => "left out --key: gw's own key is used"),
    ],
    ...(given !== undefined &&
      given !== provider && {
        bypass: {
          reason: `Cline's provider ${given} has an address of its own`,
          remedy: `Use: -P ${provider}`,
        },
      }),
  };
}

function settingsFile({ args, home }: Start): string {
  const config = optionValue(args, '--config') ?? join(home, '.cline');
  return join(optionValue(args, '--data-dir') ?? join(config, 'data'), 'settings', FILE);
}
