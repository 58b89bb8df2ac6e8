import type { Palette } from '../../terminal/palette.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import type { Daemon } from '../daemon/find.ts';
import type { FirstKeys } from './default-keys.ts';

/** What to do next once gw runs: the line to paste, and a request that needs no provider. */
export function firstSteps({ origin }: Daemon, keys: FirstKeys, { palette }: Terminal): string {
  const key = keys.project ?? '$OPENAI_API_KEY';
  const lines = [
    `${palette.bold('Base URL')}     ${origin}/v1`,
    ...keyLines(keys, palette),
    '',
    'Point this shell, and every OpenAI client started from it, at gw:',
    `  ${palette.accent('eval "$(gw env)"')}`,
    '',
    'Try it with the built-in model, which needs no provider:',
    `  curl ${origin}/v1/chat/completions -H "Authorization: Bearer ${key}" \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '{"model":"sandbox/echo","messages":[{"role":"user","content":"Hello"}]}'`,
    '',
    'Then: gw usage',
  ];
  return lines.join('\n');
}

/** New keys, to be copied now: they cannot be shown again. */
export function keyLines({ project, admin }: FirstKeys, { bold, dim }: Palette): string[] {
  return [
    ...(project ? [`${bold('Project key')}  ${project}`] : []),
    ...(admin ? [`${bold('Admin key')}    ${admin}`] : []),
    ...(project || admin ? [dim('Keys are shown only once. To create another: gw keys create')] : []),
  ];
}
