import type { Terminal } from '../../terminal/terminal.ts';
import type { Daemon } from '../daemon/find.ts';
import type { FirstKeys } from './default-keys.ts';

/** What a person does next once gw runs: the line to paste, and a request that needs no provider. `gw` is what to type for gw. */
export function firstSteps({ origin }: Daemon, keys: FirstKeys, { palette }: Terminal, gw: string): string {
  const key = keys.project ?? '$OPENAI_API_KEY';
  const lines = [`${palette.bold('Base URL')}     ${origin}/v1`];
  if (keys.project) lines.push(`${palette.bold('Project key')}  ${keys.project}`);
  if (keys.admin) lines.push(`${palette.bold('Admin key')}    ${keys.admin}`);
  if (keys.project || keys.admin)
    lines.push(palette.dim(`Keys are shown this once. More: ${gw} keys create`));
  lines.push(
    '',
    'Point this shell, and every OpenAI client started from it, at gw:',
    `  ${palette.accent(`eval "$(${gw} env)"`)}`,
    '',
    'Try it, with the built-in model that needs no provider:',
    `  curl ${origin}/v1/chat/completions -H "Authorization: Bearer ${key}" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
    `Then: ${gw} usage`,
  );
  return lines.join('\n');
}
