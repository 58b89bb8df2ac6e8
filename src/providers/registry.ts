import type { ProviderSettings } from '../config/settings.ts';
import type { OwnProxy } from '../network/way-out.ts';
import type { Dialect } from './dialects/dialect.ts';
import { DIALECTS, NO_DIALECT, OTHER_HOSTS, UNKNOWN } from './dialects/dialects.ts';
import { PRESETS, type Preset, UNKNOWN_PRESET } from './presets.ts';

/** Headers that each wire requires, as alternating names and values. A client's own headers override them. */
export const WIRE_HEADERS: Readonly<Record<Preset['wire'], readonly string[]>> = {
  openai: [],
  anthropic: ['anthropic-version', '2023-06-01'],
  gemini: [],
};

/** An upstream provider with its address and credentials. */
export interface Provider extends Pick<Preset, 'wire' | 'outputLimit' | 'models'> {
  name: string;
  /** The known provider that it is, by its name or address: `deepseek` of a second one named `deepseek-work`. */
  knownAs?: string;
  dialect?: Dialect;
  /** Scheme, host and port. */
  origin: string;
  /** Path of the base URL, without a trailing slash. */
  basePath: string;
  /** The proxy for this provider only. */
  ownProxy?: OwnProxy;
  local: boolean;
  /** Stops generating and billing when the client of a stream disconnects. */
  stopsOnHangUp: boolean;
  /** Headers that authenticate gw, as alternating names and values. Never logged. */
  authHeaders: readonly string[];
  /** The key's source, for display: `env OPENAI_API_KEY`, `stored`, `none`. */
  keySource: string;
  /** Source of the provider's configuration. */
  source: 'config' | 'environment' | 'built-in';
}

export interface RegistryOptions {
  configured: Readonly<Record<string, ProviderSettings>>;
  /** Stored keys by provider name. */
  credentials: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string | undefined>>;
  /** The built-in sandbox, if it is running. */
  sandbox?: { url: string; secret: string };
}

export interface Registry {
  providers: ReadonlyMap<string, Provider>;
  /** Configured providers that are unusable, and why. */
  problems: { name: string; message: string }[];
}

/** Builds all providers: configured ones, those with a key in the environment, and the sandbox. */
export function buildRegistry({ configured, credentials, env, sandbox }: RegistryOptions): Registry {
  const providers = new Map<string, Provider>();
  const problems: Registry['problems'] = [];
  for (const [name, settings] of Object.entries(configured)) {
    const result = build(name, settings, credentials[name], env);
    if (typeof result === 'string') problems.push({ name, message: result });
    else providers.set(name, result);
  }
  for (const [name, preset] of Object.entries(PRESETS)) {
    if (providers.has(name) || Object.hasOwn(configured, name)) continue;
    if (preset.baseUrl === undefined || !preset.keyEnv.some((variable) => keyFrom(env, variable))) continue;
    const result = build(name, {}, undefined, env);
    if (typeof result !== 'string') providers.set(name, { ...result, source: 'environment' });
  }
  if (sandbox && !providers.has('sandbox')) providers.set('sandbox', sandboxProvider(sandbox));
  return { providers, problems };
}

function build(
  name: string,
  settings: ProviderSettings,
  stored: string | undefined,
  env: RegistryOptions['env'],
): Provider | string {
  const own = presetOf(name);
  const baseUrl = settings.baseUrl ?? own.baseUrl;
  if (baseUrl === undefined) return `has no address. Run: gw providers add ${name} --base-url URL`;
  if (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)) {
    return `"${baseUrl}" is no http(s) address. Run: gw providers add ${name} --base-url URL`;
  }
  const { key, source } = findKey(settings, stored, own, env);
  if (key === undefined && settings.keyEnv !== undefined) {
    return `its key is to come from ${settings.keyEnv}, which is not set where gw was started`;
  }
  const url = new URL(baseUrl);
  const knownAs = settings.wire === 'gemini' ? settings.wire : knownName(name, url);
  const preset = presetOf(knownAs);
  const wire = settings.wire ?? preset.wire;
  return {
    name,
    ...(knownAs === undefined ? {} : { knownAs }),
    origin: url.origin,
    basePath: basePathOf(url, wire),
    wire,
    ...(settings.proxy === undefined
      ? {}
      : { ownProxy: { address: settings.proxy, source: `providers.${name}.proxy` } }),
    outputLimit: preset.outputLimit,
    ...(own.models ? { models: own.models } : {}),
    dialect: { ...dialectOf(knownAs), ...settings.dialect },
    local: own.local === true,
    stopsOnHangUp: isAt(url.hostname, preset.stopsOnHangUp),
    authHeaders: key === undefined ? [] : authHeaders(preset, wire, key),
    keySource: source,
    source: 'config',
  };
}

/** The providers at whose prices others are billed: as the user says, or the known one at the same address. */
export function billedAs(configured: RegistryOptions['configured']): Map<string, string> {
  return new Map(
    Object.entries(configured).flatMap(([name, { pricesOf, baseUrl = '' }]) => {
      const seller = pricesOf ?? (URL.canParse(baseUrl) ? sellerAt(new URL(baseUrl)) : undefined);
      return seller === undefined || seller === name || (!pricesOf && Object.hasOwn(PRESETS, name))
        ? []
        : [[name, seller]];
    }),
  );
}

const sellerAt = ({ origin }: URL): string | undefined =>
  [...OWN_ORIGINS].find(([name, own]) => own === origin && !PRESETS[name]?.local)?.[0];

/** A known provider's name for one of this name or at this address; undefined for any other. */
function knownName(name: string, { hostname }: URL): string | undefined {
  if (Object.hasOwn(PRESETS, name) || Object.hasOwn(DIALECTS, name)) return name;
  if (Object.hasOwn(OTHER_HOSTS, hostname)) return OTHER_HOSTS[hostname];
  return HOSTED.find(({ host }) => isAt(hostname, host))?.name;
}

/** The providers that are reached by a host of their own. */
const HOSTED = Object.entries(PRESETS).flatMap(([name, { baseUrl, stopsOnHangUp, local }]) =>
  local ? [] : [{ name, host: baseUrl ? new URL(baseUrl).hostname : stopsOnHangUp }],
);

const presetOf = (name = ''): Preset =>
  Object.hasOwn(PRESETS, name) ? (PRESETS[name] as Preset) : UNKNOWN_PRESET;

function dialectOf(name: string | undefined): Dialect {
  if (name === undefined) return UNKNOWN;
  return Object.hasOwn(DIALECTS, name) ? (DIALECTS[name] as Dialect) : NO_DIALECT;
}

/** Whether a name is that of `host`, or of a host below it. */
function isAt(hostname: string, host: string | undefined): boolean {
  return host !== undefined && (hostname === host || hostname.endsWith(`.${host}`));
}

function findKey(
  settings: ProviderSettings,
  stored: string | undefined,
  preset: Preset,
  env: RegistryOptions['env'],
): { key: string | undefined; source: string } {
  if (settings.keyEnv !== undefined) {
    return { key: keyFrom(env, settings.keyEnv), source: `env ${settings.keyEnv}` };
  }
  if (stored !== undefined) return { key: stored, source: 'stored' };
  const variable = preset.keyEnv.find((name) => keyFrom(env, name));
  if (variable === undefined) return { key: undefined, source: 'none' };
  return { key: keyFrom(env, variable), source: `env ${variable}` };
}

/** A key from the environment. Ignores gw's own keys: after `eval "$(gw env)"` OPENAI_API_KEY holds one. */
function keyFrom(env: RegistryOptions['env'], variable: string): string | undefined {
  const value = env[variable]?.trim();
  return value && !value.startsWith('sk-gw-') ? value : undefined;
}

/** An endpoint at the end of a base URL that was copied from an example of a request. */
const ENDPOINT = /\/(?:(?:chat\/)?completions|responses|messages|embeddings|models)$/;

/** The version that all paths of an API begin with, for base URLs that omit it. */
const VERSION: Readonly<Record<Preset['wire'], string>> = { openai: '', anthropic: '/v1', gemini: '/v1beta' };

function basePathOf(url: URL, wire: Preset['wire']): string {
  const path = url.pathname.replace(/(?<!\/)\/+$/, '').replace(ENDPOINT, '');
  return /\/v\d+(?:alpha|beta)?$/.test(path) ? path : path + VERSION[wire];
}

function authHeaders(preset: Preset, wire: Preset['wire'], key: string): string[] {
  if (preset.keyHeader) return [preset.keyHeader, key];
  if (wire === 'anthropic') return ['x-api-key', key];
  if (wire === 'gemini') return ['x-goog-api-key', key];
  return ['authorization', `Bearer ${key}`];
}

function sandboxProvider({ url, secret }: NonNullable<RegistryOptions['sandbox']>): Provider {
  const { origin, pathname } = new URL(url);
  return {
    name: 'sandbox',
    origin,
    basePath: pathname.replace(/(?<!\/)\/+$/, ''),
    wire: 'openai',
    outputLimit: 'max_completion_tokens',
    models: /^sandbox\//,
    local: true,
    stopsOnHangUp: false,
    authHeaders: ['authorization', `Bearer ${secret}`],
    keySource: 'none',
    source: 'built-in',
  };
}

const OWN_ORIGINS: ReadonlyMap<string, string> = new Map(
  Object.entries(PRESETS).flatMap(([name, { baseUrl }]) =>
    baseUrl === undefined ? [] : [[name, new URL(baseUrl).origin]],
  ),
);

/** Whether a provider's requests go to its official host, not to a relay configured under its name. */
export function isOwnHost({ name, origin }: Provider): boolean {
  return OWN_ORIGINS.get(name) === origin;
}
