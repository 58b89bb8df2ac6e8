import type { ProviderSettings } from '../config/settings.ts';
import type { OwnProxy } from '../network/way-out.ts';
import { deploymentsWith, type LearntDeployments } from '../pricing/deployments.ts';
import type { BilledAs } from '../pricing/library.ts';
import { type CloudAccounts, createCloudAccounts, isCloud } from './clouds/account.ts';
import type { Address, Cloud } from './clouds/cloud.ts';
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
  /** What the cloud that it is puts around the API. */
  cloud?: Cloud;
  /** How the same account serves Claude and Gemini, and the models behind names that don't say them. */
  claude?: Provider;
  gemini?: Provider;
  deployments?: Readonly<Record<string, string>>;
}

/** Gemini's models that Vertex AI serves by Gemini's API to all clients. */
const GEMINI = /^(?:google\/)?gemini-(?!embedding)/;
/** Google's models for embeddings, after their provider or publisher: Vertex AI serves them to clients of Gemini's API. */
const EMBEDDINGS = /(?:^|\/)(?:gemini|text|text-multilingual)-embedding-/;

/**
 * AWS's application profiles, which say no model: clients of Anthropic's API mean Claude, whose cache marks chat
 * completions would lose (https://github.com/BerriAI/litellm/issues/26625).
 */
const PROFILE = /^arn:aws[\w-]*:bedrock:[^/]*:application-inference-profile\//;

/** Whether Google's name for a model says that it makes embeddings. */
export const isGoogleEmbedding = (model: string): boolean => EMBEDDINGS.test(model);

/** The account as it serves a model to clients of an API: clouds have APIs of their own for Claude and Gemini. */
export function servingModel(provider: Provider, model: string, family: Provider['wire']): Provider {
  const { claude, gemini, deployments } = provider;
  const name = deployments?.[model] ?? model;
  if (claude && (/claude/i.test(name) || (family === 'anthropic' && PROFILE.test(name)))) return claude;
  const isGemini = GEMINI.test(model) || (family === 'gemini' && isGoogleEmbedding(model));
  return gemini && isGemini ? gemini : provider;
}

export interface RegistryOptions {
  configured: Readonly<Record<string, ProviderSettings>>;
  /** Stored keys by provider name. */
  credentials: Readonly<Record<string, string>>;
  env: Readonly<Record<string, string | undefined>>;
  /** The built-in sandbox, if it is running. */
  sandbox?: { url: string; secret: string };
  /** Keeps the credentials of clouds when the registry is built anew. */
  clouds?: CloudAccounts;
}

export interface Registry {
  providers: ReadonlyMap<string, Provider>;
  /** Configured providers that are unusable, and why. */
  problems: { name: string; message: string }[];
}

/** Builds all providers: configured ones, those with a key in the environment, and the sandbox. */
export function buildRegistry(options: RegistryOptions): Registry {
  const { configured, credentials, env, sandbox, clouds = createCloudAccounts() } = options;
  const providers = new Map<string, Provider>();
  const problems: Registry['problems'] = [];
  for (const [name, settings] of Object.entries(configured)) {
    const result = build(name, settings, findKey(name, settings, credentials[name], env), clouds);
    if (typeof result === 'string') problems.push({ name, message: result });
    else providers.set(name, result);
  }
  for (const [name, preset] of Object.entries(PRESETS)) {
    if (providers.has(name) || Object.hasOwn(configured, name)) continue;
    if (preset.baseUrl === undefined || !preset.keyEnv.some((variable) => keyFrom(env, variable))) continue;
    const result = build(name, {}, findKey(name, {}, undefined, env), clouds);
    if (typeof result !== 'string') providers.set(name, { ...result, source: 'environment' });
  }
  if (sandbox && !providers.has('sandbox')) providers.set('sandbox', sandboxProvider(sandbox));
  return { providers, problems };
}

interface Key {
  key: string | undefined;
  source: string;
}

function build(
  name: string,
  settings: ProviderSettings,
  found: Key,
  clouds: CloudAccounts,
): Provider | string {
  const kind = settings.kind ?? name;
  const baseUrl = settings.baseUrl ?? presetOf(kind).baseUrl;
  if (baseUrl !== undefined && (!URL.canParse(baseUrl) || !/^https?:$/.test(new URL(baseUrl).protocol)))
    return `"${baseUrl}" is no http(s) address. Run: gw providers add ${name} --base-url URL`;
  if (found.key === undefined && settings.keyEnv !== undefined)
    return `its key is to come from ${settings.keyEnv}, which is not set where gw was started`;
  if (isCloud(kind)) {
    const account = clouds(kind, { settings, key: found.key });
    if (typeof account === 'string') return account;
    const { claude, gemini, keySource } = account;
    const key = { ...found, source: (found.key === undefined && keySource) || found.source };
    const deployed = settings.deployments ? { deployments: settings.deployments } : {};
    const serving = ({ baseUrl, cloud }: Address): Provider => ({
      ...describe(name, { ...settings, kind, wire: cloud.wire }, key, baseUrl),
      ...deployed,
      cloud,
    });
    return {
      ...serving(account),
      ...(claude ? { claude: serving(claude) } : {}),
      ...(gemini ? { gemini: serving(gemini) } : {}),
    };
  }
  if (baseUrl === undefined) return `has no address. Run: gw providers add ${name} --base-url URL`;
  return describe(name, settings, found, baseUrl);
}

function describe(name: string, settings: ProviderSettings, { key, source }: Key, baseUrl: string): Provider {
  const own = presetOf(settings.kind ?? name);
  const url = new URL(baseUrl);
  const knownAs = settings.kind ?? (settings.wire === 'gemini' ? settings.wire : knownName(name, url));
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

/** How providers are billed: as the user says, or as the known one of their kind or at the same address. */
export function billedAs(configured: RegistryOptions['configured'], learnt: LearntDeployments): BilledAs {
  return new Map(
    Object.entries(configured).flatMap(([name, { pricesOf, kind, deployments: own, baseUrl = '' }]) => {
      const seller = pricesOf ?? kind ?? (URL.canParse(baseUrl) ? sellerAt(new URL(baseUrl)) : undefined);
      const isOwn = seller === undefined || seller === name || (!pricesOf && Object.hasOwn(PRESETS, name));
      const deployments = deploymentsWith(learnt[name], own);
      if (isOwn && Object.keys(deployments).length === 0) return [];
      return [[name, { seller: isOwn ? name : seller, deployments }]];
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
  name: string,
  { keyEnv, kind, profile, entra }: ProviderSettings,
  stored: string | undefined,
  env: RegistryOptions['env'],
): Key {
  if (keyEnv !== undefined) return { key: keyFrom(env, keyEnv), source: `env ${keyEnv}` };
  if (profile !== undefined || entra) return { key: undefined, source: 'none' };
  if (stored !== undefined) return { key: stored, source: 'stored' };
  const variable = presetOf(kind ?? name).keyEnv.find((each) => keyFrom(env, each));
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
  return /\/v\d+(?:(?:alpha|beta)?$|\/(?:projects|publishers)\/)/.test(path) ? path : path + VERSION[wire];
}

/** Google's keys, which are no access tokens: https://docs.cloud.google.com/docs/authentication/api-keys */
const API_KEY = /^(?:AIza|AQ\.)/;

function authHeaders({ keyHeader, hasBearer }: Preset, wire: Preset['wire'], key: string): string[] {
  if (keyHeader && wire !== 'anthropic') return [keyHeader, key];
  if (wire === 'anthropic' && !hasBearer) return ['x-api-key', key];
  if (wire === 'gemini' && (!hasBearer || API_KEY.test(key))) return ['x-goog-api-key', key];
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
export const isOwnHost = ({ name, origin }: Provider): boolean => OWN_ORIGINS.get(name) === origin;
