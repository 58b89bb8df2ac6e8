import { systemTimezone } from '../calendar.ts';
import type { MAPS, MapKey } from './maps.ts';
import type { DialectSettings } from './provider-settings.ts';
import {
  alertPercents,
  authorities,
  channelNames,
  collectorAddress,
  file,
  lifetime,
  OPTIMIZER_LEVELS,
  oneOf,
  onOrOff,
  ownProxyAddress,
  parseHostNames,
  parseOrigins,
  parseRetention,
  proxyAddress,
  quarterOfMemory,
  text,
  timezone,
  webAddress,
  whole,
} from './values.ts';

export { SettingError } from './setting-error.ts';
export { ownProxyAddress };

/** Origin of a setting's value, in descending precedence. */
export type Origin = 'flag' | 'environment' | 'config' | 'default';

/** Connection settings of a provider. */
export interface ProviderSettings {
  baseUrl?: string;
  /** Environment variable that holds the key. */
  keyEnv?: string;
  /** Whether the key is in the credentials file. */
  keyStored?: boolean;
  /** API of the provider. */
  wire?: 'openai' | 'anthropic' | 'gemini';
  /** Proxy for this provider, or `none`. */
  proxy?: string;
  /** The provider at whose prices it is billed. */
  pricesOf?: string;
  /** The cloud that it is an account of, unless its name says so. */
  kind?: 'azure' | 'bedrock' | 'vertex';
  /** A cloud's region or location. */
  region?: string;
  /** AWS's profile with the credentials. */
  profile?: string;
  /** Which of Bedrock's APIs. */
  surface?: 'runtime' | 'mantle' | 'invoke';
  /** Google's project. */
  project?: string;
  /** Azure's resource. */
  resource?: string;
  /** Tokens of Entra ID instead of a key. */
  entra?: boolean;
  /** Models, with the kind of deployment, by names that don't say them: `{"prod": "gpt-5.4,datazone"}`. */
  deployments?: Record<string, string>;
  /** What it does differently from what gw knows. */
  dialect?: DialectSettings;
}

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;

/** A setting with a single value. `parse` takes text or a JSON value and throws SettingError. */
export interface Definition<T> {
  default: () => T;
  environment?: string;
  /** Option of the commands that start gw, without dashes. */
  flag?: string;
  /** Its place in config.json, where its name would be inside another setting. */
  place?: string;
  parse(value: unknown): T;
  about: string;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** Durations are in milliseconds, sizes in bytes. */
const SCALARS = {
  port: {
    default: () => 4747,
    environment: 'GW_PORT',
    flag: 'port',
    parse: whole(0, 65_535),
    about: 'port that the daemon listens on; 0 picks a free port',
  },
  host: {
    default: () => 'localhost',
    environment: 'GW_HOST',
    flag: 'host',
    parse: text,
    about: 'address to listen on; localhost is 127.0.0.1 and ::1',
  },
  'server.allowed_hosts': {
    default: () => parseHostNames(''),
    environment: 'GW_ALLOWED_HOSTS',
    parse: parseHostNames,
    about: "gw's names besides localhost, such as gw.example.com of a reverse proxy: comma-separated",
  },
  'server.allowed_origins': {
    default: () => parseOrigins(''),
    environment: 'GW_ALLOWED_ORIGINS',
    parse: parseOrigins,
    about:
      'web pages and apps in web views that may use gw, as exact origins such as http://localhost:3000 or app://obsidian.md: comma-separated; scripts of these pages can send requests with any key that they know',
  },
  'server.tls_cert': {
    default: () => '',
    flag: 'tls-cert',
    parse: file,
    about: 'file with the certificate chain (PEM) for https; needs server.tls_key',
  },
  'server.tls_key': {
    default: () => '',
    flag: 'tls-key',
    parse: file,
    about: 'file with the private key (PEM) of the certificate',
  },
  'proxy.url': {
    default: () => '',
    parse: proxyAddress,
    about:
      'proxy to everything outside this machine, http://USER:PASSWORD@HOST:PORT, or none; empty: HTTPS_PROXY and HTTP_PROXY of the environment. NO_PROXY excepts hosts from both, providers.NAME.proxy a provider',
  },
  'tls.ca_file': {
    default: () => '',
    parse: authorities,
    about:
      "file with certificate authorities (PEM) that are trusted besides the usual ones, such as that of a company's proxy",
  },
  timezone: {
    default: systemTimezone,
    environment: 'GW_TIMEZONE',
    parse: timezone,
    about: 'time zone of the days and months in budgets and reports',
  },
  'admission.max_wait_ms': {
    default: () => 10_000,
    parse: whole(0, 10 * MINUTE),
    about: 'how long a request waits for running requests to free room in a budget',
  },
  'admission.ask_wait_s': {
    default: () => 60,
    parse: whole(0, 600),
    about:
      'seconds that a request waits for approval if its budget asks (gw budget set --on-limit ask); at most half of the time that its client waits for a first byte',
  },
  'admission.min_output_tokens': {
    default: () => 256,
    parse: whole(1, 1_000_000),
    about:
      'lowest output limit, in tokens, that gw sets to fit a request into a budget, unless the request itself sets a lower one; four times as much for requests with tools or JSON output',
  },
  'admission.max_tool_calls': {
    default: () => 5,
    parse: whole(1, 1_000),
    about: "calls of the provider's own tools that a request under a budget may make if it sets no limit",
  },
  'admission.code_result_tokens': {
    default: () => 25_000,
    parse: whole(0, 10_000_000),
    about:
      "tokens that gw reserves for the output of a round of code at Anthropic, which has no documented limit; 0 reserves the model's whole context",
  },
  'admission.service_tier': {
    default: () => 'default' as const,
    parse: oneOf(['default', 'account']),
    about:
      "service tier at OpenAI and Azure of requests under a budget that don't set one: default, at the listed price; account, the account's own, which may cost more than gw holds until the first answer reports it",
  },
  'admission.host_price': {
    default: () => 'listed' as const,
    parse: oneOf(['listed', 'any']),
    about:
      'hosts that OpenRouter may choose for requests under a budget: listed, those at the listed price; any, dearer ones too, which may cost more than gw holds',
  },
  'team.key_cache_ms': {
    default: () => HOUR,
    parse: whole(1_000, 30 * DAY),
    about: "how long the team's keys work while its PostgreSQL can't be asked whether they were revoked",
  },
  'optimizer.level': {
    default: () => 'safe' as const,
    parse: oneOf(OPTIMIZER_LEVELS),
    about:
      'how prompts are shortened: off; safe, without loss; balanced, also drops what the question does not need',
  },
  'optimizer.deadline_ms': {
    default: () => 50,
    parse: whole(1, MINUTE),
    about:
      'time limit for shortening a prompt, plus 1 ms for each 1,000 tokens; past it the prompt is sent unchanged',
  },
  'optimizer.holdout': {
    default: () => 2,
    parse: whole(0, 50),
    about: 'percent of conversations that are never shortened, to measure whether shortening pays',
  },
  'limits.max_body_bytes': {
    default: () => 32 * 1024 * 1024,
    parse: whole(1024, 512 * 1024 * 1024),
    about: 'largest request body',
  },
  'limits.max_memory_bytes': {
    default: quarterOfMemory,
    parse: whole(1024, 64 * 1024 * 1024 * 1024),
    about: 'memory for the bodies of all running requests, with the copies that gw makes of them',
  },
  'limits.client_idle_ms': {
    default: () => 5 * MINUTE,
    parse: whole(100, 60 * MINUTE),
    about: 'how long a client may stop reading its answer before gw cuts it off',
  },
  'upstream.connect_timeout_ms': {
    default: () => 10_000,
    parse: whole(100, 10 * MINUTE),
    about: 'how long connecting to a provider may take',
  },
  'upstream.first_byte_timeout_ms': {
    default: () => 10 * MINUTE,
    parse: whole(100, 60 * MINUTE),
    about: 'how long a provider may take to send its first byte',
  },
  'upstream.idle_timeout_ms': {
    default: () => 5 * MINUTE,
    parse: whole(100, 60 * MINUTE),
    about: 'how long a provider may pause within an answer',
  },
  'routing.deadline_ms': {
    default: () => 10 * MINUTE,
    parse: whole(100, 60 * MINUTE),
    about:
      'for models with several targets: how long after its arrival a request may still be tried on another target',
  },
  'routing.first_byte_timeout_ms': {
    default: () => MINUTE,
    parse: whole(100, 60 * MINUTE),
    about:
      'for models with several targets: how long a stream may take to begin before gw tries another target',
  },
  'metering.max_tokens_per_second': {
    default: () => 500,
    parse: whole(1, 100_000),
    about: 'assumed maximum speed of a provider, to estimate answers that end without usage',
  },
  'metrics.otlp_endpoint': {
    default: () => '',
    parse: collectorAddress,
    about:
      'OpenTelemetry collector that gets a trace and metrics of each request by OTLP/HTTP, such as http://localhost:4318; empty for none',
  },
  'passthrough.unmetered': {
    default: () => 'refuse' as const,
    parse: oneOf(['refuse', 'allow']),
    about: 'endpoints of unbounded cost (fine-tuning, some media) under a budget: refuse or allow',
  },
  'passthrough.subscriptions': {
    default: () => 'refuse' as const,
    parse: oneOf(['refuse', 'allow']),
    about:
      "logins of Claude Code and Codex, passed to Anthropic and OpenAI as they are, and in no budget: refuse or allow. Your plan's terms apply: read there whether they allow a local proxy",
  },
  'passthrough.subscriptions.overage': {
    default: () => 'count' as const,
    place: 'passthrough.subscriptions_overage',
    parse: oneOf(['count', 'refuse']),
    about:
      "requests of a login whose plan is used up and bills them beyond it: count, at list price in the project's budgets; or refuse",
  },
  'passthrough.organization': {
    default: () => 'refuse' as const,
    parse: oneOf(['refuse', 'allow']),
    about: "endpoints that manage a provider's organization, users, keys and bills: refuse or allow",
  },
  'passthrough.unlisted': {
    default: () => 'refuse' as const,
    parse: oneOf(['refuse', 'admin', 'allow']),
    about: "endpoints that gw doesn't know, beside other projects: refuse, admin (for admin keys) or allow",
  },
  'passthrough.names': {
    default: () => channelNames(''),
    parse: channelNames,
    about: 'headers and query parameters that reach providers beside those that gw knows: comma-separated',
  },
  'import.watch': {
    default: () => 'off' as const,
    parse: onOrOff,
    about:
      'whether gw reads the session logs of coding agents as they grow, and imports what did not come through it (gw import --watch): on or off',
  },
  'limits.alerts': {
    default: () => alertPercents('80'),
    parse: alertPercents,
    about:
      "percentages of a subscription's window that send alerts (gw limits alert): comma-separated; empty for none",
  },
  'limits.forecast_alerts': {
    default: () => 'off' as const,
    parse: onOrOff,
    about: "whether an alert is sent once a subscription's window will be full before it resets: on or off",
  },
  'dashboard.theme': {
    default: () => 'gw' as const,
    parse: oneOf(['gw', 'ember', 'mono']),
    about: 'colours of gw top',
  },
  'dashboard.background': {
    default: () => 'auto' as const,
    parse: oneOf(['auto', 'dark', 'light']),
    about: 'background that the colours of gw top are for; auto asks the terminal',
  },
  'dashboard.mouse': {
    default: () => 'on' as const,
    parse: onOrOff,
    about: 'whether gw top reads clicks and the wheel; the terminal then selects text with shift held',
  },
  'page.enabled': {
    default: () => 'on' as const,
    parse: onOrOff,
    about: 'whether gw shows its page in a browser (gw open): on or off',
  },
  'prices.url': {
    default: () => '',
    parse: (value) => (value === '' ? '' : webAddress(value)),
    about: 'address of the price file that gw prices update downloads; empty: that of genai-prices',
  },
  'requests.keep_bodies': {
    default: () => 'off' as const,
    parse: onOrOff,
    about:
      'whether gw keeps the bodies of requests that the optimizer changed, for gw requests ID --diff: on or off; for 24 hours, readable by your user alone, not encrypted',
  },
  'replay.ttl': {
    default: () => lifetime('off'),
    parse: lifetime,
    about:
      'how long gw answers the same request of the same key from disk, at no cost: a time such as 24h, or off; answers are kept readable by your user alone, not encrypted. replay.projects.NAME and replay.keys.ID set it for one project or key',
  },
  'replay.max_mb': {
    default: () => 512,
    parse: whole(1, 1_000_000),
    about:
      'size of the answers that are kept for replays, above which those that would expire first are deleted',
  },
  'replay.any_temperature': {
    default: () => 'off' as const,
    parse: onOrOff,
    about: 'whether requests with a temperature above 0 are replayed too: on or off',
  },
  'retention.requests': {
    default: () => parseRetention('90d'),
    parse: parseRetention,
    about: 'how long request records are kept: days, such as 90d, or forever; reports keep their figures',
  },
  'retention.max_bytes': {
    default: () => 2 * 1024 ** 3,
    parse: whole(1024 ** 2, 1024 ** 4),
    about: 'database size above which refusals, then other records without cost and events are deleted',
  },
  attribution: {
    default: () => 'on' as const,
    parse: onOrOff,
    about: 'whether gw finds out which local program and repository a request comes from: on or off',
  },
  'log.level': {
    default: () => 'info' as const,
    environment: 'GW_LOG_LEVEL',
    parse: oneOf(LOG_LEVELS),
    about: `one of ${LOG_LEVELS.join(', ')}`,
  },
} satisfies Record<string, Definition<unknown>>;

export type ScalarKey = keyof typeof SCALARS;
type Scalars = { [Key in ScalarKey]: ReturnType<(typeof SCALARS)[Key]['parse']> };

export const DEFINITIONS: { [Key in ScalarKey]: Definition<Scalars[Key]> } = SCALARS;

export type Settings = Scalars & {
  [Key in MapKey]: Record<string, ReturnType<(typeof MAPS)[Key]['parse']>>;
} & { providers: Record<string, ProviderSettings> };

export const SCALAR_KEYS = Object.keys(DEFINITIONS) as ScalarKey[];

/** Where a setting stands in config.json. */
export const placeOf = (key: ScalarKey): string[] => (DEFINITIONS[key].place ?? key).split('.');

export function isScalarKey(key: string): key is ScalarKey {
  return Object.hasOwn(DEFINITIONS, key);
}
