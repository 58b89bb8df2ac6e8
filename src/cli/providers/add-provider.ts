import { lookup } from 'node:dns/promises';
import { hostname, networkInterfaces } from 'node:os';
import { openSettingsFile } from '../../config/save.ts';
import { ownProxyAddress, type ProviderSettings } from '../../config/settings.ts';
import { isLoopback } from '../../loopback.ts';
import { makeHome } from '../../paths.ts';
import { LIBRARY_PROVIDERS } from '../../pricing/library.ts';
import { type CloudKind, isCloud, missingPackages } from '../../providers/clouds/account.ts';
import { PRESETS, type Preset } from '../../providers/presets.ts';
import type { Context } from '../context.ts';
import { findDaemon } from '../daemon/find.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { askHidden, canAsk, readSecret } from '../input/prompt.ts';
import { announceChange, readSettings } from '../settings.ts';
import { type CloudOptions, cloudOf, cloudSettings } from './cloud-settings.ts';

interface AddOptions extends CloudOptions {
  baseUrl?: string;
  keyEnv?: string;
  stdin?: boolean;
  /** Always refused, with advice on how to pass the key. */
  key?: string;
  wire?: Preset['wire'];
  proxy?: string;
  /** A provider whose prices gw knows. */
  pricesOf?: string;
}

const NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

type KeySource =
  | { kind: 'stored'; key: string }
  | { kind: 'environment'; variable: string }
  /** A cloud's own. */
  | { kind: 'credentials' }
  | { kind: 'none' };

/** Adds a provider to the settings and its key to the credentials. Returns a note on where the key comes from. */
export async function addProvider(context: Context, name: string, options: AddOptions): Promise<string> {
  checkName(name);
  if (options.key !== undefined) throw keyOnCommandLine(name);
  const cloud = cloudOf(name, options.kind);
  const ofCloud = cloudSettings(context, name, options);
  const preset = presetOf(cloud ?? name);
  const proxy = options.proxy === undefined ? undefined : ownProxyAddress(options.proxy);
  checkAddress(name, preset, options.baseUrl, ofCloud);
  const baseUrl = options.baseUrl ?? preset?.baseUrl;
  if (baseUrl !== undefined) await refuseOwnAddress(context, name, baseUrl);
  const source = await keySourceOf(context, name, preset, options);
  if (source.kind === 'credentials' && cloud) await checkPackages(cloud);
  const wire = options.wire ?? (isCloud(options.kind) ? undefined : options.kind);
  makeHome(context.paths);
  const credentials = await openSettingsFile(context.paths.credentials);
  if (source.kind === 'stored') credentials.set([name], source.key);
  else credentials.delete([name]);
  const before = readSettings(context).settings.providers[name];
  const { dialect } = before ?? {};
  const settings: ProviderSettings = {
    ...(name === 'google' && !before && !options.baseUrl && !wire ? OWN_API_OF_GOOGLE : {}),
    ...(options.baseUrl === undefined ? {} : { baseUrl: options.baseUrl }),
    ...(wire === undefined ? {} : { wire }),
    ...ofCloud,
    ...(proxy === undefined ? {} : { proxy }),
    ...(options.pricesOf === undefined ? {} : { pricesOf: sellerOf(options.pricesOf) }),
    ...(options.keyEnv === undefined ? {} : { keyEnv: options.keyEnv }),
    ...(source.kind === 'stored' ? { keyStored: true } : {}),
    ...(dialect === undefined ? {} : { dialect }),
  };
  (await openSettingsFile(context.paths.config)).set(['providers', name], settings);
  await announceChange(context);
  return keyNote(context, source);
}

/** A new `google` has the API of `gemini`. One that is configured keeps its chat completions. */
const OWN_API_OF_GOOGLE: ProviderSettings = {
  wire: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta',
};

const presetOf = (name: string): Preset | undefined =>
  Object.hasOwn(PRESETS, name) ? PRESETS[name] : undefined;

async function checkPackages(cloud: CloudKind): Promise<void> {
  const missing = await missingPackages(cloud);
  if (missing !== undefined) throw new CliError(missing, EXIT.failure);
}

function sellerOf(name: string): string {
  if (LIBRARY_PROVIDERS.has(name) || PRESETS[name]?.local) return name;
  const known = [...LIBRARY_PROVIDERS.keys()].join(', ');
  throw usageError(`--prices-of: gw knows no prices of "${name}". It knows those of ${known}`);
}

function checkName(name: string): void {
  if (name === 'sandbox') throw usageError('"sandbox" is the built-in provider. Choose another name');
  if (!NAME.test(name)) {
    throw usageError(
      `"${name}" is not a valid provider name: use lower-case letters, digits, dots, dashes, underscores`,
    );
  }
}

/** Other users can see the command lines of processes, and shells keep them in their history. */
function keyOnCommandLine(name: string): CliError {
  return usageError(
    `a key on the command line is visible to other users and stays in your shell's history: this one was not stored. To be prompted for it: gw providers add ${name}   To read it from a file: gw providers add ${name} --stdin < FILE`,
  );
}

function checkAddress(
  name: string,
  preset: Preset | undefined,
  baseUrl: string | undefined,
  { region, project, resource }: ProviderSettings,
): void {
  if (baseUrl !== undefined) {
    if (URL.canParse(baseUrl) && /^https?:$/.test(new URL(baseUrl).protocol)) return;
    throw usageError(`--base-url "${baseUrl}" is not an http(s) URL`);
  }
  if (preset?.baseUrl !== undefined || region || project || resource) return;
  const presets = Object.keys(PRESETS).join(', ');
  throw usageError(
    preset
      ? `every account at ${name} has its own base URL. Pass it with --base-url URL${name === 'azure' ? ', or its resource with --resource NAME' : ''}`
      : `"${name}" is not one of ${presets}. For any other OpenAI-compatible service, add --base-url URL`,
  );
}

async function keySourceOf(
  context: Context,
  name: string,
  preset: Preset | undefined,
  { keyEnv, stdin, profile, entra, kind }: AddOptions,
): Promise<KeySource> {
  const hasOwn = cloudOf(name, kind) === 'bedrock' || cloudOf(name, kind) === 'vertex';
  if (profile !== undefined || entra) {
    if (keyEnv === undefined && !stdin) return { kind: 'credentials' };
    throw usageError(
      `${entra ? '--entra' : '--profile'} is instead of a key: leave out --key-env and --stdin`,
    );
  }
  if (keyEnv !== undefined) return { kind: 'environment', variable: variableName(keyEnv) };
  if (stdin && !canAsk(context)) return storedKey(await readSecret(context), 'stdin');
  if (preset?.local && !stdin) return { kind: 'none' };
  const variable = preset?.keyEnv.find((candidate) => isProviderKey(context.env[candidate]));
  if (variable !== undefined && !stdin) return { kind: 'environment', variable };
  if (hasOwn && !stdin) return { kind: 'credentials' };
  if (canAsk(context)) {
    const key = await askHidden(context, `Key of ${name} (not shown${preset ? '' : '; empty for none'}): `);
    return key === '' && !preset ? { kind: 'none' } : storedKey(key, 'the answer');
  }
  if (!preset) return { kind: 'none' };
  throw new CliError(
    `no key for ${name}: set ${preset.keyEnv.join(' or ')}, or pipe the key in: gw providers add ${name} --stdin < FILE`,
    EXIT.key,
  );
}

/** Refuses a key passed instead of a variable name, which would end up in the settings. The error does not repeat it. */
function variableName(text: string): string {
  if (/^[A-Za-z_][A-Za-z0-9_]*$/.test(text)) return text;
  throw usageError(
    '--key-env takes the name of an environment variable, such as OPENAI_API_KEY, not the key',
  );
}

function storedKey(given: string, from: string): KeySource {
  // As it stands in a .env file.
  const key = given.replace(/^(['"])(.*)\1$/, '$2');
  if (key === '') throw new CliError(`${from} is empty: expected a key`, EXIT.key);
  if (/[^\x21-\x7e]/.test(key))
    throw new CliError(`${from} contains spaces or other characters that no key has`, EXIT.key);
  return { kind: 'stored', key };
}

/** False for gw's own keys, which `eval "$(gw env)"` puts into OPENAI_API_KEY. */
function isProviderKey(value: string | undefined): boolean {
  return value !== undefined && value.trim() !== '' && !value.startsWith('sk-gw-');
}

function keyNote({ env, paths }: Context, source: KeySource): string {
  switch (source.kind) {
    case 'stored':
      return `its key is stored in ${paths.credentials}, readable only by you`;
    case 'environment':
      return env[source.variable]
        ? `its key comes from ${source.variable} in the environment that gw starts in (if gw runs without it: gw restart)`
        : `its key will come from ${source.variable}, which is not set here: set it before you start gw`;
    case 'credentials':
      return "it uses the cloud's own credentials, as gw finds them where it was started (if gw runs: gw restart)";
    case 'none':
      return 'it needs no key';
  }
}

const LOOKUP_MS = 2_000;

/** Refuses the address of this gw as that of a provider: each request would come back to it until memory runs out. */
async function refuseOwnAddress(context: Context, name: string, baseUrl: string): Promise<void> {
  const url = new URL(baseUrl);
  const host = url.hostname.replace(/^\[|\]$|\.$/g, '').toLowerCase();
  const { settings } = readSettings(context);
  const refuse = (how: string) => {
    throw usageError(
      `"${baseUrl}" is this gw itself (${how}), so its requests would go round in circles. Give the address of ${name}`,
    );
  };
  if (settings['server.allowed_hosts'].names.includes(host)) refuse('server.allowed_hosts names it');
  const port = Number(url.port) || (url.protocol === 'https:' ? 443 : 80);
  const state = await findDaemon(context);
  const ports = [settings.port, ...(state.kind === 'running' ? [state.daemon.port] : [])];
  if (!ports.includes(port)) return;
  const own = [hostname().toLowerCase(), settings.host.toLowerCase()];
  if (own.includes(host) || isThisMachine(host)) refuse(`port ${port} of this machine`);
  const addresses = await addressesOf(host);
  if (addresses.some(isThisMachine)) refuse(`${host} is this machine, and port ${port} is gw's`);
}

function isThisMachine(host: string): boolean {
  if (isLoopback(host) || host.endsWith('.localhost') || host === '0.0.0.0' || host === '::') return true;
  // 127.0.0.0/8 as the URL parser writes it in IPv6.
  if (/^::ffff:(7f[0-9a-f]{2}:|127\.)/.test(host)) return true;
  return Object.values(networkInterfaces()).some((list) => list?.some(({ address }) => address === host));
}

/** Empty for a name that can't be resolved in time: it may be known later, or elsewhere. */
async function addressesOf(host: string): Promise<string[]> {
  const found = lookup(host, { all: true }).catch(() => []);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never[]>((resolve) => {
    timer = setTimeout(resolve, LOOKUP_MS, []);
  });
  const addresses = await Promise.race([found, late]);
  clearTimeout(timer);
  return addresses.map(({ address }) => address.toLowerCase());
}
