import type { IncomingHttpHeaders } from 'node:http';
import type { Provider } from './registry.ts';

/** A client's own login, named by the plan that pays for it. */
export type Login = 'claude' | 'chatgpt';

/** The upstream service of each login. */
export type Subscriptions = Readonly<Record<Login, Provider>>;

const service = (name: string, url: string, wire: Provider['wire']): Provider => ({
  name,
  origin: new URL(url).origin,
  basePath: new URL(url).pathname,
  wire,
  outputLimit: 'max_tokens',
  local: false,
  stopsOnHangUp: false,
  authHeaders: [],
  keySource: 'none',
  source: 'built-in',
});

/**
 * The addresses are fixed: a login is sent only to its own service, whatever address the provider is configured with.
 * The names are those of the price lists.
 */
export const SUBSCRIPTIONS: Subscriptions = {
  claude: service('anthropic', 'https://api.anthropic.com/v1', 'anthropic'),
  // https://github.com/openai/codex/blob/main/codex-rs/model-provider-info
  chatgpt: service('openai', 'https://chatgpt.com/backend-api/codex', 'openai'),
};

/** Header for gw's key, used by clients whose `authorization` carries their own login. */
export const OWN_KEY_HEADER = 'x-gw-key';

const CLAUDE = /^Bearer +sk-ant-oat/i;
/** A JSON Web Token. Other bearer tokens may be API keys, which are billed. */
const CHATGPT = /^Bearer +eyJ[\w-]*\.[\w-]+\.[\w-]+ *$/i;

/** The login in a request's headers; undefined if missing or unknown. */
export function loginIn(headers: IncomingHttpHeaders): Login | undefined {
  const { authorization = '' } = headers;
  if (CLAUDE.test(authorization)) return 'claude';
  // Codex sends the account id beside its token.
  return CHATGPT.test(authorization) && headers['chatgpt-account-id'] !== undefined ? 'chatgpt' : undefined;
}
