import { join } from 'node:path';
import { optionValue } from './options.ts';
import { parseYaml, textIn } from './settings-text.ts';
import type { Bypass, Pointing, Start } from './start.ts';

const COVERED = ['openai', 'anthropic'];
/** Variables and settings that choose a provider, for the session or for a part of it. */
const CHOICES = ['GOOSE_PROVIDER', 'GOOSE_LEAD_PROVIDER', 'GOOSE_PLANNER_PROVIDER'];

/** Goose: its hosts as variables, which beat its config file; keys in variables beat its keyring. */
export function pointGoose(start: Start): Pointing {
  const bypass = bypassOf(start);
  return {
    args: start.args,
    env: {
      OPENAI_HOST: start.origin,
      OPENAI_BASE_PATH: 'v1/chat/completions',
      ANTHROPIC_HOST: start.origin,
    },
    ...(bypass && { bypass }),
  };
}

function bypassOf({ args, env, home, platform, files }: Start): Bypass | undefined {
  const folder =
    platform === 'win32'
      ? join(env.APPDATA || join(home, 'AppData', 'Roaming'), 'Block', 'goose', 'config')
      : join(env.XDG_CONFIG_HOME || join(home, '.config'), 'goose');
  const file = join(folder, 'config.yaml');
  const settings = parseYaml(files.read(file));
  const chosen = [
    { source: '--provider', provider: optionValue(args, '--provider') },
    ...CHOICES.map((name) => ({ source: name, provider: env[name] || textIn(settings, name) })),
    { source: file, provider: env.GOOSE_PROVIDER ? undefined : textIn(settings, 'active_provider') },
  ].find(({ provider }) => provider !== undefined && !COVERED.includes(provider));
  if (!chosen) return undefined;
  return {
    reason: `${chosen.source} chooses Goose's provider ${chosen.provider}, which gw does not stand in front of`,
    remedy: 'Choose openai or anthropic: export GOOSE_PROVIDER=openai',
  };
}
