import { join } from 'node:path';
import { badRequest } from '../../errors.ts';
import { RUN_KEY } from '../run/environment.ts';
import { hasFlag } from '../run/options.ts';
import { type Json, objectIn, parseObject, textIn } from '../run/settings-text.ts';
import type { Bypass, Pointing, Start } from '../run/start.ts';
import { type Connecting, configHome, type Endpoint, FREE_MODEL, membersOf } from './connecting.ts';

/** Names that differ between opencode and its forks. */
interface Variant {
  /** Name of the command, the folders and the provider's service. */
  name: string;
  /** Prefix of environment variables. */
  prefix: string;
}

export const pointOpencode = (start: Start) => point(start, { name: 'opencode', prefix: 'OPENCODE' });
export const pointKilo = (start: Start) => point(start, { name: 'kilo', prefix: 'KILO' });

/** Providers that gw proxies, and the provider that `gw connect` adds. */
const COVERED = ['openai', 'anthropic', 'gw'];

/**
 * Settings in a variable override the project's files and the environment. Other providers are disabled for the run.
 */
function point(start: Start, variant: Variant): Pointing {
  const variable = `${variant.prefix}_CONFIG_CONTENT`;
  const inline = start.env[variable];
  const own = inline ? parseObject(inline) : {};
  if (!own) throw badRequest(`${variable} is not a JSON object, so gw can't add its settings to it`);
  const options = { baseURL: `${start.origin}/v1`, apiKey: `{env:${RUN_KEY}}` };
  const providers = objectIn(own, 'provider');
  const provider = COVERED.map((id) => {
    const configured = objectIn(providers, id);
    return [id, { ...configured, options: { ...objectIn(configured, 'options'), ...options } }];
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

const FREE_MODEL_LISTED = JSON.stringify({ provider: { openai: { models: { [FREE_MODEL]: {} } } } });

/** https://opencode.ai/docs/config */
export const connectOpencode = connecting('opencode', ['config.json', 'opencode.json', 'opencode.jsonc']);

/** Kilo Code's CLI, a fork of opencode. */
export const connectKilo = connecting('kilo', ['config.json', 'kilo.json', 'kilo.jsonc']);

/**
 * Points the built-in providers at gw, so that the user's choice of model stays. A model of `--model` gets a separate
 * provider, because the built-in providers accept only models of models.dev.
 */
function connecting(folder: 'opencode' | 'kilo', names: readonly string[]): Connecting {
  return {
    needsModel: false,
    edits: (endpoint) => {
      const { origin, key, model } = endpoint;
      const options = { baseURL: `${origin}/v1`, apiKey: key };
      return [
        {
          path: configFile(endpoint, folder, names),
          format: 'json',
          changes: [
            ...membersOf(['provider', 'openai', 'options'], options),
            ...membersOf(['provider', 'anthropic', 'options'], options),
            ...(model === undefined ? [] : ownProvider(model, options)),
          ],
        },
      ];
    },
    // Models that models.dev doesn't list have to be declared.
    proof: (model) =>
      model === undefined
        ? {
            model: `openai/${FREE_MODEL}`,
            env: { [`${folder.toUpperCase()}_CONFIG_CONTENT`]: FREE_MODEL_LISTED },
          }
        : { model: `gw/${model}` },
    notes: () => [`models of other providers than openai, anthropic and gw go around gw`],
  };
}

function ownProvider(model: string, options: { baseURL: string; apiKey: string }) {
  return [
    ...membersOf(['provider', 'gw'], { npm: '@ai-sdk/openai-compatible', name: 'gw' }),
    ...membersOf(['provider', 'gw', 'options'], options),
    { path: ['provider', 'gw', 'models', model], value: { name: model } },
    ...membersOf([], { model: `gw/${model}`, small_model: `gw/${model}` }),
  ];
}

/** The last existing file wins. */
function configFile(endpoint: Endpoint, folder: string, names: readonly string[]): string {
  const base = join(configHome(endpoint), folder);
  const found = names.findLast((name) => endpoint.files.read(join(base, name)) !== undefined);
  return join(base, found ?? (folder === 'kilo' ? 'kilo.jsonc' : 'opencode.json'));
}
