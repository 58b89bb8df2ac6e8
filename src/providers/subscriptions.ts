import type { IncomingHttpHeaders } from 'node:http';
import type { Provider } from './registry.ts';

/** A login of a client's own, by the plan that pays for it. */
export type Login = 'claude' | 'chatgpt';

/** The service of each login. */
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
 * The addresses are fixed: a login goes to its own service and nowhere else, whatever address is configured for the
 * provider. The names are those of the price lists.
 */
export const SUBSCRIPTIONS: Subscriptions = {
  claude: service('anthropic', 'https://api.anthropic.com/v1', 'anthropic'),
  // https://github.com/openai/codex/blob/main/codex-rs/model-provider-info
  chatgpt: service('openai', 'https://chatgpt.com/backend-api/codex', 'openai'),
};

/** gw's key, for clients whose `authorization` is a login of their own. */
export const OWN_KEY_HEADER = 'x-gw-key';

const CLAUDE = /^Bearer +sk-ant-oat/i;
/** A JSON Web Token. Other bearers may be API keys, which are billed. */
const CHATGPT = /^Bearer +eyJ[\w-]*\.[\w-]+\.[\w-]+ *$/i;

/** The login that a request brings; undefined if it has none, or one that gw doesn't know. */
export function loginIn(headers: IncomingHttpHeaders): Login | undefined {
  const { authorization = '' } = headers;
  if (CLAUDE.test(authorization)) return 'claude';
  // Codex sends the account beside its token.
  return CHATGPT.test(authorization) && headers['chatgpt-account-id'] !== undefined ? 'chatgpt' : undefined;
}
