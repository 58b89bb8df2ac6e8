import { foreignKeys, withLoopback } from '../../agents/run/environment.ts';
import { singleQuoted } from '../../shell-quoted.ts';
import { type Context, note } from '../context.ts';

interface GatewayAccess {
  /** gw's URL, without a trailing slash or `/v1`. */
  origin: string;
  key: string;
}

/** The environment variables that point OpenAI's and Anthropic's client libraries, old and new, at gw. */
export function clientVariables(
  { origin, key }: GatewayAccess,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  const noProxy = withLoopback(env.NO_PROXY ?? env.no_proxy);
  return {
    OPENAI_BASE_URL: `${origin}/v1`,
    OPENAI_API_BASE: `${origin}/v1`,
    // Open WebUI's name.
    OPENAI_API_BASE_URL: `${origin}/v1`,
    OPENAI_API_KEY: key,
    // Anthropic's clients add /v1 themselves.
    ANTHROPIC_BASE_URL: origin,
    // LiteLLM's name, and that of LangChain for Python.
    ANTHROPIC_API_BASE: origin,
    ANTHROPIC_API_URL: origin,
    ANTHROPIC_AUTH_TOKEN: key,
    // Clients send both. A real key would win over the token, and some clients don't start without a key.
    ANTHROPIC_API_KEY: key,
    NO_PROXY: noProxy,
    no_proxy: noProxy,
    // OpenAI's agents would post traces to OpenAI with gw's key.
    OPENAI_AGENTS_DISABLE_TRACING: '1',
  };
}

/**
 * The variables of Google's libraries and Gemini CLI, for other programs than agents: an agent takes a key of Google's for
 * one that it may use at Google. The libraries prefer GOOGLE_API_KEY, which other services of Google's have too.
 * https://github.com/googleapis/js-genai#environment-variables
 */
export function googleVariables(
  { origin, key }: GatewayAccess,
  env: Readonly<Record<string, string | undefined>>,
): Record<string, string> {
  return {
    GOOGLE_GEMINI_BASE_URL: origin,
    GEMINI_API_KEY: key,
    ...(env.GOOGLE_API_KEY && { GOOGLE_API_KEY: key }),
    ...(env.GOOGLE_GENAI_USE_VERTEXAI && { GOOGLE_GENAI_USE_VERTEXAI: 'false' }),
  };
}

export const SHELLS = ['sh', 'fish', 'powershell'] as const;
type Shell = (typeof SHELLS)[number];

/** Shell commands that set the variables. */
export function exportLines(variables: Record<string, string>, shell: Shell): string {
  return Object.entries(variables)
    .map(([name, value]) => exportLine(name, value, shell))
    .join('\n');
}

function exportLine(name: string, value: string, shell: Shell): string {
  switch (shell) {
    case 'sh':
      return `export ${name}=${singleQuoted(value)}`;
    case 'fish':
      return `set -gx ${name} '${value.replace(/['\\]/g, '\\$&')}'`;
    case 'powershell':
      return `$env:${name} = '${value.replaceAll("'", "''")}'`;
  }
}

/** Names the keys in the environment with which a program would call a provider directly. `set` are replaced. */
export function warnOfForeignKeys(context: Context, set: Readonly<Record<string, string>> = {}): void {
  const names = foreignKeys(context.env).filter((name) => !(name in set));
  if (names.length === 0) return;
  note(
    context,
    `warning: ${names.join(', ')} ${names.length === 1 ? 'is' : 'are'} set: what uses ${names.length === 1 ? 'it' : 'them'} goes around gw, uncounted`,
  );
}
