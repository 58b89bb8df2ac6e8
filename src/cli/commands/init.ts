import { Option } from 'commander';
import { formatUsd } from '../../money.ts';
import { PRESETS } from '../../providers/presets.ts';
import { DEFAULT_PROJECT, getProject } from '../../store/accounts/projects.ts';
import { notImported } from '../../store/archive/import-usage.ts';
import { setBudget } from '../../store/budgets/budgets.ts';
import { plural } from '../../terminal/numbers.ts';
import { PLAIN } from '../../terminal/palette.ts';
import { readAmount } from '../budgets/read.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson, screenOf, tell } from '../context.ts';
import { ensureDefaults, type FirstKeys, keyLines } from '../first-run/default-keys.ts';
import { ask, canAsk } from '../input/prompt.ts';
import { knownProviders } from '../known-providers.ts';
import { withLocalGateway } from '../local-gateway.ts';
import { addProvider } from '../providers/add-provider.ts';
import { settingsAndCalendar } from '../settings.ts';
import { withStore } from '../with-store.ts';
import { importAll, importText, readSource, sourcesOf, sumOf } from './import.ts';

export const init: SetUp = (command, context) =>
  command
    .option('-y, --yes', 'do not prompt; use the options and the environment')
    .option('--provider <name>', 'provider to add')
    .option('--base-url <url>', 'its base URL, if gw does not know it')
    .addOption(
      new Option('--key-env <variable>', 'environment variable that holds its key').conflicts('stdin'),
    )
    .option('--stdin', 'read its key from stdin')
    .option('--budget <usd>', 'daily cap in dollars for the default project')
    .option(...AS_JSON)
    .action(async (options) => {
      const isInteractive = canAsk(context) && !options.yes && !options.stdin;
      const budget = options.budget === undefined ? undefined : readAmount(options.budget);
      const provider = options.provider ?? (isInteractive ? await askProvider(context) : undefined);
      if (provider)
        note(context, `Added provider ${provider}: ${await addProvider(context, provider, options)}.`);
      const cap = budget ?? (isInteractive ? await askBudget(context) : undefined);
      const keys = await withStore(context, async (db) => {
        const newKeys = await ensureDefaults(db, context.clock.now());
        if (cap !== undefined) {
          const { calendar } = settingsAndCalendar(context);
          const project = await getProject(db, DEFAULT_PROJECT);
          const terms = { period: 'daily' as const, capNanoUsd: cap };
          await setBudget(db, project, terms, { calendar, now: context.clock.now() });
        }
        return newKeys;
      });
      if (!options.json) await offerImport(context, { isInteractive });
      show(context, keys, options.json);
    });

function show(context: Context, keys: FirstKeys, json = false): void {
  const { home } = context.paths;
  const providers = [...knownProviders(context).providers.values()].map(({ name }) => name);
  const lines = [
    `State directory: ${home}`,
    `Providers: ${providers.join(', ') || 'only the built-in sandbox'}`,
    ...keyLines(keys, PLAIN),
    '',
    'Next: gw start',
  ];
  if (json) sayJson(context, { home, providers, keys });
  else tell(context, lines.join('\n'));
}

async function askProvider(context: Context): Promise<string | undefined> {
  const providers = [...knownProviders(context).providers.values()];
  for (const { name, keySource } of providers) note(context, `Found ${name} (key: ${keySource}).`);
  const suggestion = providers.length > 0 ? 'none' : 'openai';
  note(context, `Known providers: ${Object.keys(PRESETS).join(', ')}.`);
  const question =
    suggestion === 'none' ? 'Add another provider [none]: ' : `Add a provider [${suggestion}; or none]: `;
  const answer = await ask(context, question);
  const name = answer === '' ? suggestion : answer;
  return name === 'none' ? undefined : name;
}

async function askBudget(context: Context): Promise<number | undefined> {
  const answer = await ask(context, 'Daily cap in dollars [empty for none]: ');
  return answer === '' ? undefined : readAmount(answer);
}

const DAYS = 30;
const DAY_MS = 86_400_000;
/** Longer logs are offered by what was read of them. */
const LIMIT_MS = 3_000;

/** Offers to import what agents have logged, if there is anything. Asks on a terminal, else names the command. */
async function offerImport(context: Context, { isInteractive }: { isInteractive: boolean }): Promise<void> {
  const found = await summarize(context);
  if (!found) return;
  if (!isInteractive) {
    note(context, `${found}. To add them to the reports: gw import`);
    return;
  }
  const answer = await ask(context, `${found}. Import them? [Y/n]: `);
  if (!/^(y|yes)?$/i.test(answer)) return;
  tell(context, `${importText(await importAll(context, []), screenOf(context))}\n`);
}

/** Such as `Codex and Claude Code: 41 sessions in 30 days, $312.00 at list price`; undefined without any. */
async function summarize(context: Context): Promise<string | undefined> {
  const { clock } = context;
  const deadline = clock.monotonic() + LIMIT_MS;
  const since = clock.now() - DAYS * DAY_MS;
  const isOver = () => clock.monotonic() > deadline;
  return withLocalGateway(context, async (reader, db) => {
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
