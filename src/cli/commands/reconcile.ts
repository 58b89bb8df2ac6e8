import { Argument, Option } from 'commander';
import { addDays, createCalendar } from '../../calendar.ts';
import type { BillLine, UsageLine } from '../../insight/reconcile/bill.ts';
import { COST_REPORTS, type CostReport, type Days } from '../../insight/reconcile/reports.ts';
import { USAGE_SOURCES, type UsageSource } from '../../store/reports/query.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, sayJson, tell } from '../context.ts';
import { EXIT, Exit, usageError } from '../exit.ts';
import { parseDay } from '../input/dates.ts';
import { askHidden, canAsk, readSecret } from '../input/prompt.ts';
import { billFromCsv, billFromProvider, usageFromProvider } from '../reconcile/read-bill.ts';
import { readLedger } from '../reconcile/read-ledger.ts';
import { reconciliationText } from '../reconcile/view.ts';
import { withReader } from '../with-gateway.ts';

interface Options {
  from?: string;
  to?: string;
  csv?: string;
  source: UsageSource;
  stdin?: boolean;
  json?: boolean;
}

const DEFAULT_DAYS = 30;
const UTC = createCalendar('UTC');

export const reconcileBill: SetUp = (command, context) => {
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
    .option('--json', 'print JSON')
    .addHelpText(
      'after',
      "\nReads OpenAI's organization costs, Anthropic's cost report or OpenRouter's activity, by UTC day and model, and\nwhere these differ what the provider counted.\nAmounts agree if they differ by less than a cent. Exits with code 1 if a day that is over doesn't agree.",
    )
    .action((provider: string, options: Options) => run(context, provider, options));
};

async function run(context: Context, provider: string, options: Options): Promise<void> {
  const today = UTC.dateOf(context.clock.now());
  const report = COST_REPORTS[provider] as CostReport;
  const isDifferent = await withReader(context, async (reader) => {
    const { days, bill, readUsage } = await readBill(context, provider, { report, options, today });
    const ledger = await readLedger(reader, { provider, days, source: options.source });
    const [{ reconcile }, { withTokens }] = await Promise.all([
      import('../../insight/reconcile/reconcile.ts'),
      import('../../insight/reconcile/compare-tokens.ts'),
    ]);
    const { data: rows, total } = reconcile(ledger, bill, today);
    // Where all agrees, nobody asks for the tokens.
    const usage = rows.some(({ state }) => state !== 'agrees') ? await readUsage() : undefined;
    const data = withTokens(rows, ledger, usage);
    const scope = { provider, ...days, timezone: 'UTC', source: options.source };
    const result = { object: 'reconciliation' as const, ...scope, data, total };
    if (options.json) sayJson(context, result);
    else tell(context, reconciliationText(result, terminalOf(context.stdout, context.env)));
    return data.some(({ state, partial }) => state !== 'agrees' && !partial);
  });
  if (isDifferent) throw new Exit(EXIT.failure);
}

interface Asked {
  report: CostReport;
  options: Options;
  today: string;
}

interface Bill {
  days: Days;
  bill: BillLine[];
  /** What the provider counted; undefined if it doesn't say. */
  readUsage(): Promise<UsageLine[] | undefined>;
}

async function readBill(
  context: Context,
  provider: string,
  { report, options, today }: Asked,
): Promise<Bill> {
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
  const asked = { provider, report, days, key };
  const bill = await billFromProvider(context, asked);
  return { days, bill, readUsage: () => usageFromProvider(context, asked) };
}

async function keyOf(
  context: Context,
  provider: string,
  report: CostReport,
  { stdin }: Options,
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

function daysOf({ clock }: Context, { from, to }: Options, defaults: { from?: string; to: string }): Days {
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
