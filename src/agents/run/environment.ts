import type { Environment } from './start.ts';

/** Variable with gw's key, if an agent's settings name one. Not GW_KEY, which a `.env` of the agent could override. */
export const RUN_KEY = 'GW_RUN_KEY';

/** Header with gw's key, for agents that send their own login in `authorization`. */
export const KEY_HEADER = 'x-gw-key';

/** Claude Code's custom headers, one per line, with gw's key replacing an earlier one. */
export function withKeyHeader(headers: string | undefined, key: string): string {
  const others = (headers ?? '').split('\n').filter((line) => !/^\s*(x-gw-key\s*:|$)/i.test(line));
  return [...others, `${KEY_HEADER}: ${key}`].join('\n');
}

/** Keys with which programs call a provider directly, whatever base URL OpenAI's and Anthropic's clients use. */
const NAMES: ReadonlySet<string> = new Set([
  ...['GEMINI_API_KEY', 'GOOGLE_API_KEY', 'GOOGLE_GENERATIVE_AI_API_KEY', 'OPENROUTER_API_KEY'],
  ...['AZURE_API_KEY', 'AZURE_OPENAI_API_KEY', 'AZURE_AI_API_KEY', 'AWS_BEARER_TOKEN_BEDROCK'],
  ...['CEREBRAS_API_KEY', 'COHERE_API_KEY', 'CO_API_KEY', 'DASHSCOPE_API_KEY', 'DEEPSEEK_API_KEY'],
  ...['FIREWORKS_API_KEY', 'GROQ_API_KEY', 'MINIMAX_API_KEY', 'MISTRAL_API_KEY', 'MOONSHOT_API_KEY'],
  ...['NVIDIA_API_KEY', 'PERPLEXITY_API_KEY', 'TOGETHER_API_KEY', 'XAI_API_KEY', 'ZAI_API_KEY'],
]);

/** Variables of an environment that hold provider keys, with which a program would bypass gw. */
export function foreignKeys(env: Environment): string[] {
  return Object.keys(env).filter((name) => NAMES.has(name) && env[name]);
}

/** Like foreignKeys(), for an env file. */
export function foreignKeysIn(text: string): string[] {
  const names = [...text.matchAll(/^[ \t]*(?:export[ \t]+)?([A-Z_]+)\s*=\s*\S/gm)].flatMap(
    ([, name]) => name ?? [],
  );
  return names.filter((name) => NAMES.has(name));
}

const LOOPBACK = ['localhost', '127.0.0.1', '::1'];

/**
 * Adds the loopback hosts to NO_PROXY: behind a company's proxy, clients would send localhost requests to the proxy.
 */
export function withLoopback(list = ''): string {
  const hosts = list.split(',').flatMap((host) => host.trim() || []);
  return [...hosts, ...LOOPBACK.filter((host) => !hosts.includes(host))].join(',');
}
