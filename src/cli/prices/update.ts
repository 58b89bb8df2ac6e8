import { hash } from 'node:crypto';
import { rmSync } from 'node:fs';
import { addDays } from '../../calendar.ts';
import type { Network } from '../../network/network.ts';
import { type Catalog, createCatalog } from '../../pricing/catalog.ts';
import { type PublishedPrices, packagedPrices } from '../../pricing/library.ts';
import type { PriceOverride } from '../../pricing/override.ts';
import {
  compareKnowledge,
  comparePrices,
  type ModelNames,
  namesIn,
} from '../../pricing/published/compare-prices.ts';
import { PriceFileError, parsePriceFile } from '../../pricing/published/price-file.ts';
import { readStoredPrices, writeStoredPrices } from '../../pricing/published/stored-prices.ts';
import { overrideOf } from '../../reading/known-prices.ts';
import type { Reader } from '../../reading/reader.ts';
import { listPrices } from '../../store/accounts/prices.ts';
import { count, plural } from '../../terminal/numbers.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import { announceChange } from '../config/announce-change.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { confirmLoss } from '../input/confirm.ts';
import { withLocalGateway } from '../local-gateway.ts';
import { networkOf } from '../network.ts';
import { localOnly, remoteOf } from '../remote/connection.ts';
import { readSettings } from '../settings.ts';
import { budgetEffects, providerAndModel } from './budget-effects.ts';
import { downloadPrices } from './download.ts';
import { changesText, type PriceUpdate, updateJson } from './update-view.ts';

export interface UpdateOptions {
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
  const update = await withLocalGateway(context, async ({ reader }, db) => {
    const overrides = (await listPrices(db)).map(overrideOf);
    return { url, sha256, ...(await compare(context, prices, { reader, overrides, url })) };
  });
  const { changes, lowered } = update;
  if (!options.json) {
    say(context, changesText(update, terminalOf(context.stdout, context.env)));
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
  const { data } = await reader.usage({ from: addDays(to, -USED_DAYS), to, groupBy: 'model' });
  return data.flatMap(({ model = '' }) => {
    const name = providerAndModel(model);
    return name ? [name] : [];
  });
}
