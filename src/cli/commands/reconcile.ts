import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { Argument, Option } from 'commander';
import { addDays, createCalendar } from '../../calendar.ts';
import type { FetchOptions } from '../../insight/reconcile/fetch-report.ts';
import type { CountedRow, ReconciledTotal, Tokens } from '../../insight/reconcile/reconcile.ts';
import {
  BillError,
  type BillLine,
  COST_REPORTS,
  type CostReport,
  type Days,
  type UsageLine,
} from '../../insight/reconcile/reports.ts';
import type { Reader } from '../../operations/registry.ts';
import { USAGE_SOURCES, type UsageSource } from '../../store/reports/query.ts';
import { count, usdText } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { AS_JSON, type SetUp } from '../command.ts';
import { type Context, note, sayJson, screenOf, tell } from '../context.ts';
import { CliError, EXIT, Exit, usageError } from '../exit.ts';
import { askHidden, canAsk, readSecret } from '../input/prompt.ts';
import { parseDay } from '../input/values.ts';
import { remoteOf } from '../remote/connection.ts';
import { networkOf } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';

const DEFAULT_DAYS = 30;
const UTC = createCalendar('UTC');

export const reconcileBill: SetUp = (command, context) =>
  command
    .addArgument(new Argument('<provider>', 'whose bill').choices(Object.keys(COST_REPORTS)))
    .option('--from <day>', 'first UTC day: YYYY-MM-DD, yesterday, 7d (default: 29 days before --to)')
    .option('--to <day>', 'last UTC day (default: yesterday)')
    .option('--csv <file>', "read the provider's CSV export instead of asking it")
    .option('--stdin', 'read the admin key from stdin; it is not kept')
    .addOption(
      new Option(
        '--source <source>',
        'what of the ledger to compare: imported requests too, if the account is the same',
      )
        .choices(USAGE_SOURCES)
        .default('gw'),
    )
    .option(...AS_JSON)
    .addHelpText(
      'after',
      "\nReads OpenAI's organization costs, Anthropic's cost report or OpenRouter's activity, by UTC day and model, and\nwhere these differ what the provider counted.\nAmounts agree if they differ by less than a cent. Exits with code 1 if a day that is over doesn't agree.",
    )
    .action(async (provider, options) => {
      const today = UTC.dateOf(context.clock.now());
      const report = COST_REPORTS[provider] as CostReport;
      const isDifferent = await withGateway(context, async (reader) => {
        const { days, bill, readUsage } = await readBill(context, provider, { report, options, today });
        const ledger = await readLedger(reader, { provider, days, source: options.source });
        const [{ reconcile }, { withTokens }] = await Promise.all([
          import('../../insight/reconcile/reconcile.ts'),
          import('../../insight/reconcile/reconcile.ts'),
        ]);
        const { data: rows, total } = reconcile(ledger, bill, today);
        // Where all agrees, nobody asks for the tokens.
        const usage = rows.some(({ state }) => state !== 'agrees') ? await readUsage() : undefined;
        const data = withTokens(rows, ledger, usage);
        const scope = { provider, ...days, timezone: 'UTC', source: options.source };
        const result = { object: 'reconciliation' as const, ...scope, data, total };
        if (options.json) sayJson(context, result);
        else tell(context, reconciliationText(result, screenOf(context)));
        return data.some(({ state, partial }) => state !== 'agrees' && !partial);
      });
      if (isDifferent) throw new Exit(EXIT.failure);
    });

interface BillOptions {
  from?: string;
  to?: string;
  csv?: string;
  stdin?: boolean;
}

async function readBill(
  context: Context,
  provider: string,
  { report, options, today }: { report: CostReport; options: BillOptions; today: string },
) {
  if (options.csv !== undefined) {
    if (options.stdin) throw usageError('--csv needs no key: use it without --stdin');
    const lines = await billFromCsv(options.csv, report);
    const inFile = lines.map(({ day }) => day).sort();
    const yesterday = addDays(today, -1);
    const days = daysOf(context, options, { from: inFile[0] ?? yesterday, to: inFile.at(-1) ?? yesterday });
    const bill = lines.filter(({ day }) => day >= days.from && day <= days.to);
    return { days, bill, readUsage: async () => undefined };
  }
  const days = daysOf(context, options, { to: addDays(today, -1) });
  const earliest = report.pastDays === undefined ? undefined : addDays(today, -report.pastDays);
  if (earliest !== undefined && days.from < earliest)
    throw usageError(
      `--from ${days.from} is too early: ${provider} reports the last ${report.pastDays} days, from ${earliest}. For earlier ones: --csv FILE`,
    );
  const key = await keyOf(context, provider, report, options);
  const destination = await destinationOf(context, provider, report);
  const { fetchBill, fetchUsage } = await import('../../insight/reconcile/fetch-report.ts');
  const query = { provider, report, days, key, ...destination, wait, now: () => context.clock.now() };
  const failed = (error: unknown): BillError => {
    if (error instanceof BillError) return error;
    throw error;
  };
  const bill = await fetchBill(query).catch((error) => {
    throw new CliError(failed(error).message);
  });
  // Some report no token counts: the costs are compared all the same.
  const readUsage = () =>
    fetchUsage(query).catch((error) => {
      note(context, `Tokens are not compared: ${failed(error).message}`);
      return undefined;
    });
  return { days, bill, readUsage };
}

async function keyOf(
  context: Context,
  provider: string,
  report: CostReport,
  { stdin }: BillOptions,
): Promise<string> {
  if (!stdin && !canAsk(context))
    throw usageError(
      `the cost report of ${provider} needs ${report.key}: gw reconcile ${provider} --stdin < FILE, or read an export with --csv FILE`,
    );
  const key = canAsk(context)
    ? await askHidden(context, `Key of ${provider}, ${report.key} (not shown, not kept): `)
    : await readSecret(context);
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw usageError(
    key === '' ? 'stdin has no key' : 'stdin has more than a key: it has spaces, lines or odd characters',
  );
}

function daysOf(
  { clock }: Context,
  { from, to }: BillOptions,
  defaults: { from?: string; to: string },
): Days {
  const now = clock.now();
  const last = to === undefined ? defaults.to : parseDay(to, '--to', UTC, now);
  const first =
    from === undefined
      ? (defaults.from ?? addDays(last, 1 - DEFAULT_DAYS))
      : parseDay(from, '--from', UTC, now);
  if (last > UTC.dateOf(now)) throw usageError(`--to ${last} is in the future (UTC)`);
  if (first > last) throw usageError(`--from ${first} is after --to ${last}`);
  return { from: first, to: last };
}

async function billFromCsv(file: string, { columns }: CostReport): Promise<BillLine[]> {
  const { readCsv } = await import('../../insight/reconcile/read-csv.ts');
  try {
    return readCsv(readFileSync(file, 'utf8'), columns);
  } catch (error) {
    if (error instanceof BillError) throw usageError(`can't use ${file}: ${error.message}`);
    throw usageError(`can't read ${file}: ${(error as NodeJS.ErrnoException).code ?? 'error'}`);
  }
}

/** The address configured on this machine. A remote gw has no say in it, and no admin key goes out unencrypted. */
async function destinationOf(
  context: Context,
  provider: string,
  report: CostReport,
): Promise<Pick<FetchOptions, 'origin' | 'network' | 'ownProxy'>> {
  const network = await networkOf(context);
  if (remoteOf(context)) return { origin: report.origin, network };
  const { knownProviders } = await import('../known-providers.ts');
  const known = knownProviders(context).providers.get(provider);
  const origin = known?.origin ?? report.origin;
  const { protocol, hostname } = new URL(origin);
  if (protocol === 'https:' || ['127.0.0.1', 'localhost', '[::1]'].includes(hostname))
    return { origin, network, ownProxy: known?.ownProxy };
  throw usageError(
    `${provider} is configured at ${origin}: an admin key goes over https only. Use --csv FILE`,
  );
}

/** Costs and tokens that the ledger booked at a provider, by UTC day and model. Requests that weren't billed cost nothing. */
async function readLedger(
  reader: Reader,
  { provider, days, source }: { provider: string; days: Days; source: UsageSource },
): Promise<(BillLine & UsageLine)[]> {
  const report = await reader.usage({
    ...days,
    group_by: 'day,model',
    timezone: 'UTC',
    source: source === 'gw' ? undefined : source,
  });
  if (report.project_id !== null)
    throw new CliError(
      `this key sees only the project ${report.project_id}, the bill is of all: use an admin key`,
      EXIT.key,
    );
  const prefix = `${provider}/`;
  return report.data.flatMap(({ day = '', model = '', ...figures }) => {
    if (!model.startsWith(prefix)) return [];
    const { cost_nano_usd: nanoUsd, input_tokens: inputTokens, output_tokens: outputTokens } = figures;
    return [{ day, model: model.slice(prefix.length), nanoUsd, inputTokens, outputTokens }];
  });
}

interface Reconciliation {
  provider: string;
  from: string;
  to: string;
  data: CountedRow[];
  total: ReconciledTotal;
}

const WORDS = {
  agrees: 'agrees',
  differs: 'differs',
  only_billed: 'only billed',
  only_booked: 'only in gw',
} as const;

function whyOf({ partial, because, ledger_tokens: ledger, billed_tokens: billed }: CountedRow): string {
  if (partial) return ' (day not over)';
  if (because === 'price') return ' (same tokens)';
  return because === 'tokens' && ledger && billed
    ? ` (${tokensText(ledger)}, billed ${tokensText(billed)})`
    : '';
}

const tokensText = ({ input, output }: Tokens) => `${count(input)} in ${count(output)} out`;

/** The comparison for people: a row a day and model, then what it comes to. */
function reconciliationText({ provider, from, to, data, total }: Reconciliation, terminal: Terminal): string {
  const span = `${from} to ${to} (UTC)`;
  if (data.length === 0) return `Neither gw nor ${provider} has costs, ${span}`;
  const { palette } = terminal;
  const columns: Column<CountedRow>[] = [
    { header: 'day', value: ({ day }) => day },
    { header: 'model', value: ({ model }) => model, shrinks: true },
    right('gw', ({ ledger_usd }) => usdText(ledger_usd)),
    { header: provider, value: ({ billed_usd }) => usdText(billed_usd), align: 'right' },
    {
      header: '',
      value: (row) => `${WORDS[row.state]}${whyOf(row)}`,
      style: (text, { state }) => (state === 'agrees' ? palette.dim(text) : text),
    },
  ];
  const { agrees, differs, only_billed, only_booked } = total;
  return [
    ...table(data, columns, { terminal }),
    '',
    `${span}: gw ${usdText(total.ledger_usd)}, ${provider} ${usdText(total.billed_usd)}`,
    `${agrees} agree, ${differs} differ, ${only_billed} only billed, ${only_booked} only in gw`,
  ].join('\n');
}
