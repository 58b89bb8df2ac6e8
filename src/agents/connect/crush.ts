import { join } from 'node:path';
import { objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';

const COVERED = ['openai', 'anthropic'];

/** Crush: addresses of the built-in providers, as variables. A settings file that sets addresses overrides them. */
export function pointCrush(start: Start): Pointing {
  const bypass = bypassOf(start);
  return {
    args: start.args,
    env: { OPENAI_API_ENDPOINT: `${start.origin}/v1`, ANTHROPIC_API_ENDPOINT: start.origin },
    ...(bypass && { bypass }),
  };
}

function bypassOf(start: Start): Bypass | undefined {
  const file = settingsFiles(start).find((path) => setsAddress(path, start.files.read(path)));
  if (file === undefined) return undefined;
  return {
    reason: `${file} sets providers of its own, which beat the environment`,
    remedy: `Remove the providers and models from it that are not openai or anthropic at their own address`,
  };
}

/** Checks Crush's JSON, or the shell script that newer versions read. */
function setsAddress(path: string, text: string | undefined): boolean {
  if (text === undefined) return false;
  if (path.endsWith('rc')) return /^[ \t]*provider\s+add\b|_API_ENDPOINT=/m.test(text);
  const settings = parseObject(text);
  const providers = objectIn(settings, 'providers');
  const models = objectIn(settings, 'models');
  return (
    Object.keys(providers).some(
      (id) => !COVERED.includes(id) || textIn(objectIn(providers, id), 'base_url') !== undefined,
    ) ||
    Object.keys(models).some((size) => {
      const provider = textIn(objectIn(models, size), 'provider');
      return provider !== undefined && !COVERED.includes(provider);
    })
  );
}

function settingsFiles({ env, home, cwd }: Start): string[] {
  const config = env.CRUSH_GLOBAL_CONFIG || join(env.XDG_CONFIG_HOME || join(home, '.config'), 'crush');
  const data = join(env.XDG_DATA_HOME || join(home, '.local', 'share'), 'crush');
  return [
    ...['.crushrc', 'crushrc', '.crush.json', 'crush.json'].map((name) => join(cwd, name)),
    join(config, 'crushrc'),
    join(config, 'crush.json'),
    join(data, 'crush.json'),
  ];
}
