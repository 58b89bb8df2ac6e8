import { singleQuoted } from '../../shell-quoted.ts';

/** The environment variables that point OpenAI's and Anthropic's client libraries, old and new, at gw. */
export function clientVariables(origin: string, key: string): Record<string, string> {
  return {
    OPENAI_BASE_URL: `${origin}/v1`,
    OPENAI_API_BASE: `${origin}/v1`,
    OPENAI_API_KEY: key,
    // Anthropic's clients add /v1 themselves.
    ANTHROPIC_BASE_URL: origin,
    ANTHROPIC_AUTH_TOKEN: key,
  };
}

export const SHELLS = ['sh', 'fish', 'powershell'] as const;
export type Shell = (typeof SHELLS)[number];

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
