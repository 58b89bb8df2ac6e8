import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { addDays, type Calendar } from '../../calendar.ts';
import { messageOf } from '../../errors.ts';
import { formatUsd, usdFields } from '../../money.ts';
import type { Network } from '../../network/network.ts';
import { usdPerMillion } from '../../operations/price-views.ts';
import type { Reader } from '../../operations/registry.ts';
import type { BudgetView } from '../../operations/schemas/budgets.ts';
import type { RequestConditions } from '../../operations/schemas/requests.ts';
import type { UsageViewRow } from '../../operations/schemas/usage.ts';
import { type Catalog, createCatalog } from '../../pricing/catalog.ts';
import { costOf } from '../../pricing/cost.ts';
import { type PublishedPrices, packagedPrices } from '../../pricing/library.ts';
import type { PriceOverride } from '../../pricing/override.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import {
  compareKnowledge,
  comparePrices,
  type ModelNames,
  namesIn,
  type PriceChange,
} from '../../pricing/published/compare-prices.ts';
import { MAX_FILE_BYTES, PriceFileError, parsePriceFile } from '../../pricing/published/price-file.ts';
import { readStoredPrices, writeStoredPrices } from '../../pricing/published/stored-prices.ts';
import { listPrices } from '../../store/accounts/prices.ts';
import { spanOf } from '../../store/ledger/terms.ts';
import { count, plural } from '../../terminal/numbers.ts';
import { type Column, right, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean } from '../../terminal/text.ts';
import { NO_USAGE } from '../../usage.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { withLocalGateway } from '../local-gateway.ts';
import { localOnly, remoteOf } from '../remote/connection.ts';
import { announceChange, networkOf, readSettings } from '../settings.ts';
import { perMillion } from './read.ts';

interface UpdateOptions {
  yes?: boolean;
  packaged?: boolean;
  json?: boolean;
}

/** The file that the library itself would update from. */
const PUBLISHED_URL =
  'https://raw.githubusercontent.com/pydantic/genai-prices/main/prices/new_data/v2/data.json';

/** A file that has lost a larger share of the models is damaged, not newer. */
const MAX_LOST_SHARE = 0.1;

/** Downloads newer prices, shows what they change, and stores them. */
export async function updatePrices(context: Context, options: UpdateOptions): Promise<void> {
  const remote = remoteOf(context);
  if (remote) throw localOnly('gw prices update', remote.gateway);
  if (options.packaged) {
    await goBack(context);
    return;
  }
  const url = readSettings(context).settings['prices.url'] || PUBLISHED_URL;
  const { prices, sha256 } = await fetchPrices(url, await networkOf(context));
  const update = await withLocalGateway(context, async (reader, db) => {
    const overrides = await listPrices(db);
    return { url, sha256, ...(await compare(context, prices, { reader, overrides, url })) };
  });
  const { changes, lowered } = update;
  if (!options.json) {
    say(context, changesText(update, screenOf(context)));
    if (lowered.length > 0) {
      note(
        context,
        `warning: ${plural(lowered.length, 'price')} would be lower than the packaged ones. Holds shrink with prices: if the providers charge more than this file says, budgets let more through than their caps.`,
      );
    }
  }
  const isNew = readStoredPrices(context.paths.prices).stored?.sha256 !== sha256;
  const isPreview = isNew && options.json === true && !options.yes;
  if (!isPreview) {
    if (isNew)
      await confirmLoss(context, `This replaces the prices of ${plural(changes.length, 'model')}.`, options);
    // Those in use already are of today again.
    writeStoredPrices(context.paths.prices, prices, { url, sha256, fetchedAt: context.clock.now() });
    await announceChange(context);
  }
  if (options.json) sayJson(context, updateJson(update, !isPreview));
  else if (isNew)
    note(
      context,
      'Stored. A running gw uses these prices from its next request; recorded costs stay as they are. To go back: gw prices update --packaged',
    );
  else note(context, 'These prices are in use already.');
}

async function goBack(context: Context): Promise<void> {
  rmSync(context.paths.prices, { force: true });
  await announceChange(context);
  note(context, 'The packaged prices apply from the next request.');
}

async function fetchPrices(
  url: string,
  network: Network,
): Promise<{ prices: PublishedPrices; sha256: string }> {
  try {
    const bytes = await downloadPrices(url, network);
    return { prices: parsePriceFile(bytes.toString('utf8')), sha256: hash('sha256', bytes) };
  } catch (error) {
    throw error instanceof PriceFileError ? refusal(url, error.message) : error;
  }
}

function refusal(url: string, why: string): CliError {
  return new CliError(
    `cannot take the prices at ${url}: ${why}. Nothing was changed. For another address: gw config set prices.url URL; for one model: gw prices set MODEL --input X --output Y`,
    EXIT.failure,
  );
}

interface Comparison {
  reader: Reader;
  overrides: PriceOverride[];
  url: string;
}

async function compare(
  { paths, clock }: Context,
  fresh: PublishedPrices,
  { reader, overrides, url }: Comparison,
): Promise<Omit<PriceUpdate, 'url' | 'sha256'>> {
  const inUse = readStoredPrices(paths.prices).stored?.prices;
  const atMs = clock.now();
  const catalogOf = (published?: PublishedPrices): Catalog =>
    createCatalog({ overrides, published, now: () => atMs });
  const after = catalogOf(fresh);
  refuseOlder(url, inUse ?? packagedPrices(), fresh);
  const names = [
    ...namesIn(inUse),
    ...namesIn(undefined),
    ...namesIn(fresh),
    ...(await usedNames(reader, atMs)),
  ];
  const changes = comparePrices(names, { before: catalogOf(inUse), after, atMs });
  const againstPackaged =
    inUse === undefined ? changes : comparePrices(names, { before: catalogOf(), after, atMs });
  const lowered = againstPackaged.filter(({ kind }) => kind === 'lower');
  return { changes, lowered, budgets: await budgetEffects(reader, changes, atMs) };
}

function refuseOlder(url: string, inUse: PublishedPrices, fresh: PublishedPrices): void {
  const { lost, isOlder } = compareKnowledge(inUse, fresh);
  const known = inUse.reduce((sum, { models }) => sum + models.length, 0);
  const some = `${lost.slice(0, 3).join(', ')}${lost.length > 3 ? ', ...' : ''}`;
  if (lost.length > known * MAX_LOST_SHARE)
    throw refusal(
      url,
      `it lacks ${count(lost.length)} of ${plural(known, 'model')} (${some}), so it is damaged`,
    );
  if (!isOlder) return;
  const what = lost.length > 0 ? `models (${some})` : 'dates of price changes';
  throw refusal(url, `it lacks ${what} of the prices in use and has fewer new ones, so it is older`);
}

const USED_DAYS = 90;

/** The models that requests of the last days went to, whose names may be others than those in the data. */
async function usedNames(reader: Reader, now: number): Promise<ModelNames> {
  const to = (await reader.calendar()).dateOf(now);
  const { data } = await reader.usage({ from: addDays(to, -USED_DAYS), to, group_by: 'model' });
  return data.flatMap(({ model = '' }) => {
    const name = providerAndModel(model);
    return name ? [name] : [];
  });
}

const TIMEOUT_MS = 30_000;

/** Downloads a price file, of a bounded size and in a bounded time. Follows no redirects. Throws PriceFileError. */
async function downloadPrices(url: string, network: Network): Promise<Buffer> {
  const { request } = await import('undici');
  try {
    const { statusCode, body } = await request(url, {
      dispatcher: network.open(new URL(url)),
      headersTimeout: TIMEOUT_MS,
      bodyTimeout: TIMEOUT_MS,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (statusCode !== 200) {
      await body.dump();
      throw new PriceFileError(`the server answered HTTP ${statusCode}`);
    }
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of body as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > MAX_FILE_BYTES)
        throw new PriceFileError(`it is larger than ${MAX_FILE_BYTES / 1024 ** 2} MB`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } catch (error) {
    throw error instanceof PriceFileError ? error : new PriceFileError(messageOf(error), { cause: error });
  }
}

/** Changes that a downloaded file would make. */
interface PriceUpdate {
  url: string;
  sha256: string;
  /** Against the prices in use. */
  changes: PriceChange[];
  /** The models that cost less than by the packaged prices. */
  lowered: PriceChange[];
  budgets: BudgetEffect[];
}

const MAX_SHOWN = 200;
const NAMES: Record<PriceChange['kind'], string> = {
  lower: 'lower',
  gone: 'no price',
  higher: 'higher',
  new: 'new',
  same: '',
};
const ORDER = Object.keys(NAMES);

/** The differences, those that loosen holds or refuse requests first, and what they mean for budgets. */
function changesText({ url, sha256, changes, lowered, budgets }: PriceUpdate, terminal: Terminal): string {
  const { palette } = terminal;
  const sorted = [...changes].sort((a, b) => ORDER.indexOf(a.kind) - ORDER.indexOf(b.kind));
  const loud = new Set(lowered.map(({ provider, model }) => `${provider}/${model}`));
  const columns: Column<PriceChange>[] = [
    {
      header: ' ',
      value: (each) => (loud.has(`${each.provider}/${each.model}`) ? '!' : ''),
      style: palette.bad,
    },
    { header: 'model', value: ({ provider, model }) => `${provider}/${model}`, shrinks: true },
    right('input', (each) => pair(each, 'input')),
    right('output', (each) => pair(each, 'output')),
    {
      header: '',
      value: kindText,
      style: (text, { kind }) => (kind === 'lower' || kind === 'gone' ? palette.bad(text) : text),
    },
  ];
  const more = sorted.length - MAX_SHOWN;
  return [
    palette.bold(`Prices at ${clean(url)}`),
    `sha256 ${sha256}`,
    '',
    ...(sorted.length === 0
      ? ['No price differs from those in use.']
      : table(sorted.slice(0, MAX_SHOWN), columns, { terminal })),
    ...(more > 0 ? [`and ${plural(more, 'more model')}: gw prices update --json`] : []),
    ...(budgets.length > 0
      ? ['', palette.bold('Open budgets, which keep what they have booked'), ...budgets.map(budgetText)]
      : []),
  ].join('\n');
}

function budgetText({ budget, changedNanoUsd, newNanoUsd, gone }: BudgetEffect): string {
  const refused = gone.length === 0 ? '' : `; it would refuse ${gone.join(', ')}, which has no price`;
  return clean(
    `${budget}: ${formatUsd(changedNanoUsd)} of this period would have been ${formatUsd(newNanoUsd)}${refused}`,
  );
}

/** Says so if neither of the two shown prices differs. */
function kindText({ kind, before, after }: PriceChange): string {
  const isShown =
    before?.input.picoUsd !== after?.input.picoUsd || before?.output.picoUsd !== after?.output.picoUsd;
  return `${NAMES[kind]}${isShown ? '' : ' (cache, tiers, audio or fee)'}`;
}

function pair({ before, after }: PriceChange, kind: 'input' | 'output'): string {
  const [old, fresh] = [before, after].map((card) => (card ? perMillion(Number(card[kind].picoUsd)) : '-'));
  return old === fresh ? `${old}` : `${old} > ${fresh}`;
}

function updateJson({ url, sha256, changes, lowered, budgets }: PriceUpdate, stored: boolean): object {
  return {
    object: 'price_update',
    url,
    sha256,
    stored,
    changes: changes.map(changeJson),
    lower_than_packaged: lowered.map(changeJson),
    budgets: budgets.map(({ budget, changedNanoUsd, newNanoUsd, gone }) => ({
      budget_id: budget,
      ...usdFields('booked', changedNanoUsd),
      ...usdFields('at_new_prices', newNanoUsd),
      models_without_price: gone,
    })),
  };
}

function changeJson({ provider, model, kind, before, after }: PriceChange): object {
  return { provider, model, change: kind, before: rates(before), after: rates(after) };
}

function rates(card: PriceCard | undefined): object | null {
  return card
    ? {
        input_usd_per_million: usdPerMillion(Number(card.input.picoUsd)),
        output_usd_per_million: usdPerMillion(Number(card.output.picoUsd)),
        cached_input_usd_per_million: usdPerMillion(Number(card.cachedInput.picoUsd)),
        cache_write_usd_per_million: usdPerMillion(Number(card.cacheWrite.picoUsd)),
      }
    : null;
}

/** Effect of changed prices on the spend of a budget in its running period. */
interface BudgetEffect {
  budget: string;
  /** Booked for models whose prices change. */
  changedNanoUsd: number;
  /** Cost of the same tokens at the new prices. */
  newNanoUsd: number;
  /** Models that the budget would refuse for want of a price. */
  gone: string[];
}

/** The budgets whose running period has spend at prices that change. */
async function budgetEffects(
  reader: Reader,
  changes: readonly PriceChange[],
  now: number,
): Promise<BudgetEffect[]> {
  const changed = new Map(changes.map((change) => [`${change.provider}/${change.model}`, change]));
  const calendar = await reader.calendar();
  const effects: BudgetEffect[] = [];
  for (const budget of await reader.budgets({})) {
    const { data } = await reader.usage({
      ...conditionsOf(budget),
      from: calendar.dateOf(startOf(budget, calendar, now)),
      to: calendar.dateOf(now),
      group_by: 'model',
    });
    const effect: BudgetEffect = { budget: budget.id, changedNanoUsd: 0, newNanoUsd: 0, gone: [] };
    for (const row of data) {
      const change = changed.get(providerAndModel(row.model ?? '')?.join('/') ?? '');
      if (!change?.before) continue;
      if (!change.after) effect.gone.push(row.model ?? '');
      effect.changedNanoUsd += row.cost_nano_usd;
      effect.newNanoUsd += change.after ? atNewPrice(row, change.before, change.after) : row.cost_nano_usd;
    }
    if (effect.changedNanoUsd > 0) effects.push(effect);
  }
  return effects;
}

/** The provider and the model of a report's row; undefined without either. */
function providerAndModel(name: string): readonly [string, string] | undefined {
  const slash = name.indexOf('/');
  return slash > 0 ? [name.slice(0, slash), name.slice(slash + 1)] : undefined;
}

/** Scales what was booked, which has fees and surcharges too, by the prices of the tokens. */
function atNewPrice(row: UsageViewRow, before: PriceCard, after: PriceCard): number {
  const usage = {
    ...NO_USAGE,
    inputTokens: row.input_tokens,
    cachedInputTokens: row.cached_input_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
  };
  const old = costOf(usage, before);
  return old === 0 ? row.cost_nano_usd : Math.round((row.cost_nano_usd * costOf(usage, after)) / old);
}

function startOf({ period, window_seconds: seconds }: BudgetView, calendar: Calendar, now: number): number {
  if (period === 'rolling') return now - (seconds ?? 0) * 1_000;
  // Reports begin with the database: no gw is older.
  return period === 'lifetime' ? Date.UTC(2020, 0) : spanOf(period, now, calendar).start;
}

function conditionsOf({ project_id, repo, scope }: BudgetView): RequestConditions {
  const conditions: RequestConditions = { project_id, repo: repo ?? undefined };
  if (scope?.value == null) return conditions;
  const { kind, value } = scope;
  return kind === 'key' || kind === 'session' || kind === 'agent'
    ? { ...conditions, [kind]: value }
    : conditions;
}
