import { join } from 'node:path';
import { badRequest } from '../../errors.ts';
import { RUN_KEY } from './key.ts';
import { hasFlag } from './options.ts';
import { type Json, objectIn, parseObject, textIn } from './settings-text.ts';
import type { Bypass, Pointing, Start } from './start.ts';

/** opencode, or a fork of it: the names that differ. */
interface Variant {
  /** Of its command, its folders and its provider's service. */
  name: string;
  /** The start of its variables' names. */
  prefix: string;
}

export const pointOpencode = (start: Start) => point(start, { name: 'opencode', prefix: 'OPENCODE' });
export const pointKilo = (start: Start) => point(start, { name: 'kilo', prefix: 'KILO' });

/** The providers that gw stands in front of, and the one that `gw connect` adds. */
const COVERED = ['openai', 'anthropic', 'gw'];

/** Settings in a variable, which beats the project's files and the environment. Other providers are off in the run. */
function point(start: Start, variant: Variant): Pointing {
  const variable = `${variant.prefix}_CONFIG_CONTENT`;
  const given = start.env[variable];
  const own = given ? parseObject(given) : {};
  if (!own) throw badRequest(`${variable} is not a JSON object, so gw can't add its settings to it`);
  const options = { baseURL: `${start.origin}/v1`, apiKey: `{env:${RUN_KEY}}` };
  const providers = objectIn(own, 'provider');
  const provider = COVERED.map((id) => {
    const theirs = objectIn(providers, id);
    return [id, { ...theirs, options: { ...objectIn(theirs, 'options'), ...options } }];
  });
  const config = {
    ...own,
    provider: { ...providers, ...Object.fromEntries(provider) },
    enabled_providers: COVERED,
  };
  const bypass = bypassOf(start, variant);
  return {
    args: start.args,
    env: { [variable]: JSON.stringify(config), [RUN_KEY]: start.key },
    ...(bypass && { bypass }),
  };
}

function bypassOf(start: Start, { name, prefix }: Variant): Bypass | undefined {
  const { env, home, files, args } = start;
  if (hasFlag(args, '--attach') || args.some((arg) => arg.startsWith('--attach=')) || args[0] === 'attach') {
    return {
      reason: `${name} would attach to a server that was started without gw`,
      remedy: `Start the server with: gw run -- ${name} serve`,
    };
  }
  const authFile = join(env.XDG_DATA_HOME || join(home, '.local', 'share'), name, 'auth.json');
  const logins = parseObject(env[`${prefix}_AUTH_CONTENT`] ?? files.read(authFile));
  const login = ['openai', 'anthropic'].find((id) => textIn(objectIn(logins, id), 'type') === 'oauth');
  if (login !== undefined) {
    return {
      reason: `the login for ${login} in ${authFile} sends requests to its own service, whatever the address`,
      remedy: `Log out first: ${name} auth logout`,
    };
  }
  const managed = managedFiles(start, name).find((path) => setsProviders(parseObject(files.read(path))));
  if (managed === undefined) return undefined;
  return {
    reason: `managed settings in ${managed} set providers and beat those of this run`,
    remedy: 'Ask who manages this machine to remove them',
  };
}

function setsProviders(settings: Json | undefined): boolean {
  return settings !== undefined && ('provider' in settings || 'enabled_providers' in settings);
}

function managedFiles({ platform, env }: Start, name: string): string[] {
  const folder =
    platform === 'darwin'
      ? `/Library/Application Support/${name}`
      : platform === 'win32'
        ? join(env.ProgramData || 'C:\\ProgramData', name)
        : `/etc/${name}`;
  return [join(folder, `${name}.json`), join(folder, `${name}.jsonc`)];
}
