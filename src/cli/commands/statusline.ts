import { text } from 'node:stream/consumers';
import type { Reader } from '../../operations/registry.ts';
import { budgetLabel } from '../../store/ledger/terms.ts';
import { windowText } from '../../terminal/limit-words.ts';
import type { SetUp } from '../command.ts';
import { say } from '../context.ts';
import { remoteOf } from '../remote/connection.ts';
import { sessionIn, statusText, wrapped } from '../statusline/line.ts';
import { withGateway } from '../with-gateway.ts';

export const statusline: SetUp = (command, context) =>
  command
    .option('--wrap <command>', 'print the line after the output of your own status line command')
    .addHelpText(
      'after',
      '\nReads the JSON of Claude Code or Copilot CLI from stdin. To use it: gw connect claude --statusline',
    )
    .action(async ({ wrap }) => {
      // Never fails: an agent shows nothing instead, and nobody knows why.
      const { stdin, env, clock } = context;
      const input = stdin.isTTY ? '' : await text(stdin);
      const sessionId = sessionIn(input) || (env.CLAUDE_CODE_SESSION_ID ?? '');
      const line = remoteOf(context)
        ? await withGateway(context, (reader) => remoteLine(reader, sessionId)).catch(
            () => 'gw is not reachable',
          )
        : (await import('../statusline/local.ts')).localLine(env, sessionId, clock.now());
      const before =
        wrap === undefined ? '' : (await import('../statusline/run-wrapped.ts')).runWrapped(wrap, input);
      say(context, wrapped(before, line));
    });

async function remoteLine(reader: Reader, sessionId: string): Promise<string> {
  const { today, budgets, limits = [] } = await reader.status();
  const sessions = sessionId === '' ? [] : await reader.session({ id: sessionId, limit: 10 }).catch(() => []);
  const [last] = sessions;
  const counting = budgets.filter(({ project_id: project, scope }) => {
    // '': the whole team.
    if (last && project !== '' && project !== last.project_id) return false;
    const values: (string | null | undefined)[] = [sessionId, last?.agent, last?.repo];
    return scope === null || values.includes(scope.value);
  });
  const [tightest] = counting.sort((a, b) => a.left_nano_usd - b.left_nano_usd);
  const figures = {
    session: last && sessions.reduce((sum, { cost_nano_usd }) => sum + cost_nano_usd, 0),
    today: today.cost_nano_usd,
    windows: limits
      .filter(({ resets_at }) => resets_at !== null)
      .map((each) => ({ name: windowText(each), used: each.used })),
    tightest: tightest && { name: budgetLabel(tightest.id), left: tightest.left_nano_usd },
  };
  return statusText(figures, true);
}
