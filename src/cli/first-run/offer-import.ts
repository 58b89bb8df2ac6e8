import { formatUsd } from '../../money.ts';
import { notImported } from '../../store/archive/import-usage.ts';
import { plural } from '../../terminal/numbers.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { type Context, note, tell } from '../context.ts';
import { importAll } from '../imports/import-all.ts';
import { readSource, sumOf } from '../imports/import-source.ts';
import { sourcesOf } from '../imports/sources.ts';
import { importText } from '../imports/view.ts';
import { ask } from '../input/prompt.ts';
import { withLocalGateway } from '../local-gateway.ts';

const DAYS = 30;
const DAY_MS = 86_400_000;
/** Longer logs are offered by what was read of them. */
const LIMIT_MS = 3_000;

/** Offers to import what agents have logged, if there is anything. Asks on a terminal, else names the command. */
export async function offerImport(
  context: Context,
  { isInteractive }: { isInteractive: boolean },
): Promise<void> {
  const found = await summarize(context);
  if (!found) return;
  if (!isInteractive) {
    note(context, `${found}. To add them to the reports: gw import`);
    return;
  }
  const answer = await ask(context, `${found}. Import them? [Y/n]: `);
  if (!/^(y|yes)?$/i.test(answer)) return;
  tell(context, `${importText(await importAll(context, []), terminalOf(context.stdout, context.env))}\n`);
}

/** Such as `Codex and Claude Code: 41 sessions in 30 days, $312.00 at list price`; undefined without any. */
async function summarize(context: Context): Promise<string | undefined> {
  const { clock } = context;
  const deadline = clock.monotonic() + LIMIT_MS;
  const since = clock.now() - DAYS * DAY_MS;
  const isOver = () => clock.monotonic() > deadline;
  return withLocalGateway(context, async ({ reader }, db) => {
    const titles: string[] = [];
    const sessions = new Set<string>();
    let nanoUsd = 0;
    let complete = true;
    for (const source of await sourcesOf([])) {
      const found = await readSource(context, source, { reader, db, since, isOver });
      const calls = notImported(db, found?.calls ?? []);
      if (calls.length > 0) titles.push(source.agent.title);
      for (const { agent, session } of calls) sessions.add(`${agent} ${session}`);
      nanoUsd += sumOf(calls);
      complete &&= found?.reading.complete ?? true;
    }
    if (sessions.size === 0) return undefined;
    const atLeast = complete ? '' : 'at least ';
    return `${titles.join(', ')}: ${atLeast}${plural(sessions.size, 'session')} in ${DAYS} days, ${formatUsd(nanoUsd)} at list price`;
  });
}
