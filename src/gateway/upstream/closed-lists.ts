/**
 * Query parameters and headers that a provider may be sent where a budget, a key's models or another project is at stake.
 * What is not listed may choose another model, host or payer there: `?model=` wins over the body at LiteLLM, and gateways
 * such as Portkey (`x-portkey-*`), Helicone (`helicone-*`) and Cloudflare (`cf-aig-*`) take their orders from headers.
 */

/** Query parameters of calls that generate: Azure's version (https://learn.microsoft.com/azure/ai-services/openai/reference), Claude Code's mark. */
const QUERY = new Set(['api-version', 'beta']);
/** Query parameters of calls that read or remove: pages and filters of lists, parts of objects, at OpenAI, Anthropic and Mistral. */
// biome-ignore format: they fit a few lines
const READING = new Set([
  'after', 'after_id', 'before', 'before_id', 'created_after', 'created_by_me', 'cursor', 'filter', 'include', 'include[]',
  'limit', 'order', 'page', 'page_size', 'page_token', 'purpose', 'sample_type', 'scope', 'search', 'source',
  'starting_after', 'status', 'stream', 'suffix', 'type', 'variant',
]);

/** Names that the owner of gw allows in addition, and a callback for the names of the rest. */
export interface Beside {
  /** Names in small letters. */
  names: ReadonlySet<string>;
  leaveOut: (name: string) => void;
}

/** The query that passes, with its `?`. */
export function passingQuery(query: string, method: string, { names, leaveOut }: Beside): string {
  if (query.length < 2) return '';
  const isReading = method !== 'POST' && method !== 'PUT' && method !== 'PATCH';
  const passing = query
    .slice(1)
    .split('&')
    .filter((pair) => {
      const name = nameOf(pair);
      // Some servers take `;` for `&`.
      const isListed = QUERY.has(name) || (isReading && READING.has(name)) || names.has(name.toLowerCase());
      if (!pair.includes(';') && isListed) return true;
      if (pair !== '') leaveOut(`?${name}`);
      return false;
    });
  return passing.length === 0 ? '' : `?${passing.join('&')}`;
}

function nameOf(pair: string): string {
  const [name = ''] = pair.split('=');
  try {
    return decodeURIComponent(name.replaceAll('+', ' '));
  } catch {
    return name;
  }
}

/**
 * Headers of the providers' APIs, their SDKs and of agents: content, versions and betas, ids for support and retries,
 * sessions that providers keep their caches by, and who asks.
 */
// biome-ignore format: they fit a few lines
const HEADERS = new Set([
  'accept', 'accept-language', 'content-disposition', 'content-encoding', 'content-type', 'dnt', 'if-match',
  'if-modified-since', 'if-none-match', 'range', 'sec-fetch-mode', 'user-agent',
  'anthropic-beta', 'anthropic-dangerous-direct-browser-access', 'anthropic-version', 'openai-beta', 'openai-intent',
  'idempotency-key', 'request-id', 'x-client-request-id', 'x-correlation-id', 'x-request-id', 'x-ms-client-request-id',
  'conversation_id', 'conversation-id', 'session_id', 'session-id', 'thread_id', 'thread-id', 'x-conversation-id',
  'x-grok-conv-id', 'x-interaction-id', 'x-session-affinity', 'x-session-id',
  'chatgpt-account-id', 'http-referer', 'originator', 'version', 'x-app', 'x-initiator', 'x-title', 'x-ms-useragent',
  'x-openrouter-categories', 'x-openrouter-title',
]);
/** Stainless builds the SDKs of OpenAI and Anthropic; the others are of agents. */
// biome-ignore format: they fit a few lines
const PREFIXES = [
  'anthropic-client-', 'copilot-', 'editor-', 'sec-ch-ua', 'x-cc-', 'x-claude-', 'x-codex-', 'x-cline-', 'x-continue-',
  'x-goog-api-client', 'x-kilocode-', 'x-oai-', 'x-opencode-', 'x-qwen-', 'x-roo-', 'x-stainless-', 'x-zed-',
];

/** Whether a header, in small letters, passes. */
export const passesHeader = (name: string): boolean =>
  HEADERS.has(name) || PREFIXES.some((prefix) => name.startsWith(prefix));
