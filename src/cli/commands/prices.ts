import { modelOf } from '../../operations/price-name.ts';
import { statedPrice } from '../../operations/price-views.ts';
import type { PriceInForceView, PriceView } from '../../operations/schemas/prices.ts';
import { timeText } from '../../operations/times.ts';
import type { StoredPrice } from '../../store/accounts/prices.ts';
import { tokens, usdText } from '../../terminal/numbers.ts';
import type { Column } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { AS_JSON, ONLY_PROJECT, type SetUp, UNASKED } from '../command.ts';
import { type Context, note, say, sayJson, screenOf } from '../context.ts';
import { CliError, EXIT, usageError } from '../exit.ts';
import { confirmLoss } from '../input/prompt.ts';
import { parseTime } from '../input/values.ts';
import { feeText, perMillion, readFee, readPrice } from '../prices/read.ts';
import { listText } from '../print-list.ts';
import { readSettings } from '../settings.ts';
import { withGateway } from '../with-gateway.ts';

export const prices: SetUp = (command, context) => {
  command
    .command('list [model]')
    .description('list the prices that you set, or show the price in force of a model')
    .option(...AS_JSON)
    .action((model, { json }) => list(context, model, json));
  set(command, context);
  remove(command, context);
  diff(command, context);
  command
    .command('update')
    .description('download newer prices of genai-prices, and show what they change before they are used')
    .option('--yes', 'do not ask')
    .option('--packaged', 'go back to the prices that came with gw')
    .option('--json', 'print the changes as JSON; stores them with --yes only')
    .action(async (options) => (await import('../prices/update.ts')).updatePrices(context, options));
};

async function list(context: Context, model: string | undefined, json = false): Promise<void> {
  const terminal = screenOf(context);
  await withGateway(context, async (reader) => {
    if (model !== undefined) {
      const matches = await reader.pricesInForce({ model });
      if (json) sayJson(context, matches);
      else say(context, knownTable(matches, terminal));
      return;
    }
    const own = await reader.prices();
    if (json) sayJson(context, own);
    else if (own.length > 0) say(context, priceTable(own, terminal));
    else {
      note(
        context,
        'No prices of your own: the built-in ones apply. To see one: gw prices list MODEL   To set one: gw prices set MODEL --input X --output Y',
      );
    }
  });
}

const diff: SetUp = (command, context) =>
  command
    .command('diff')
    .description("compare what was booked with today's prices, by model")
    .option('--since <time>', 'how far back: 24h, 7d, today, YYYY-MM-DD or an ISO time', '30d')
    .option(...ONLY_PROJECT)
    .option(...AS_JSON)
    .action(async ({ since, project, json }) => {
      const { bookedJson, bookedPrices, bookedTable } = await import('../prices/booked.ts');
      await withGateway(context, async (reader) => {
        const calendar = await reader.calendar();
        const now = context.clock.now();
        const from = parseTime(since, '--since', calendar, now) ?? now;
        if (from > now) throw usageError(`--since ${since} is in the future`);
        const rows = await bookedPrices(reader, { project_id: project, since: timeText(from) });
        if (json) sayJson(context, bookedJson(rows));
        else if (rows.length === 0) note(context, `No requests were booked since ${calendar.dateOf(from)}.`);
        else say(context, bookedTable(rows, calendar.dateOf(from), screenOf(context)));
      });
    });

const set: SetUp = (command, context) =>
  command
    .command('set <model>')
    .description('set the price of a model, or of provider/model; it overrides the built-in one')
    .option('--input <usd>', 'dollars per million input tokens')
    .option('--output <usd>', 'dollars per million output tokens')
    .option('--cached-input <usd>', 'dollars per million tokens read from the prompt cache')
    .option('--cache-write <usd>', 'dollars per million tokens written to the prompt cache')
    .option('--cache-write-1h <usd>', 'the same, with a lifetime of an hour')
    .option('--per-request <usd>', 'dollars per request, on top of its tokens')
    .option('--per-image <usd>', 'dollars per picture')
    .option('--per-second <usd>', 'dollars per second of sound or film')
    .option('--per-million-characters <usd>', 'dollars per million characters that are spoken')
    .action(async (text, options) => {
      const rate = (text: string | undefined, option: string) =>
        text === undefined ? undefined : readPrice(text, option);
      const fee = (text: string | undefined, option: string) =>
        text === undefined ? undefined : readFee(text, option);
      checkUnits(text, options);
      const price: StoredPrice = {
        ...modelOf(text, configuredIn(context)),
        inputPicoUsd: rate(options.input, '--input'),
        outputPicoUsd: rate(options.output, '--output'),
        cachedInputPicoUsd: rate(options.cachedInput, '--cached-input'),
        cacheWritePicoUsd: rate(options.cacheWrite, '--cache-write'),
        cacheWrite1hPicoUsd: rate(options.cacheWrite1h, '--cache-write-1h'),
        requestPicoUsd: fee(options.perRequest, '--per-request'),
        imagePicoUsd: fee(options.perImage, '--per-image'),
        secondPicoUsd: fee(options.perSecond, '--per-second'),
        characterPicoUsd: rate(options.perMillionCharacters, '--per-million-characters'),
      };
      await withGateway(context, ({ setPrice }) => setPrice(statedPrice(price)));
      note(
        context,
        `Set the price of ${nameOf(price)}${price.provider === '' ? ' (at any provider)' : ''}: ${unitsOf(price)}. It applies from the next request; recorded costs stay as they are.`,
      );
    });

/** Exit code 2 for a price of input without output, or of nothing. */
function checkUnits(
  model: string,
  options: {
    input?: string;
    output?: string;
    perImage?: string;
    perSecond?: string;
    perMillionCharacters?: string;
  },
): void {
  const { input, output, perImage, perSecond, perMillionCharacters } = options;
  const isOfMedia = (perImage ?? perSecond ?? perMillionCharacters) !== undefined;
  if ((input === undefined) === (output === undefined) && (input !== undefined || isOfMedia)) return;
  throw usageError(
    `a price has --input and --output, or one of --per-image, --per-second and --per-million-characters: gw prices set ${model} --input 2.50 --output 10`,
  );
}

/** The parts of a price, in words. */
function unitsOf(price: StoredPrice): string {
  const { requestPicoUsd, imagePicoUsd, secondPicoUsd, characterPicoUsd } = price;
  const parts = [
    price.inputPicoUsd !== undefined &&
      `${perMillion(price.inputPicoUsd)} in, ${perMillion(price.outputPicoUsd)} out per million tokens`,
    requestPicoUsd && `plus ${feeText(requestPicoUsd)} per request`,
    imagePicoUsd !== undefined && `${feeText(imagePicoUsd)} per picture`,
    secondPicoUsd !== undefined && `${feeText(secondPicoUsd)} per second`,
    characterPicoUsd !== undefined && `${perMillion(characterPicoUsd)} per million characters`,
  ];
  return parts.filter((part) => typeof part === 'string').join(', ');
}

const remove: SetUp = (command, context) =>
  command
    .command('remove <model>')
    .description('remove a price that you set')
    .option(...UNASKED)
    .action(async (text, { yes }) => {
      const { provider, model } = modelOf(text, configuredIn(context));
      const loss = `This removes your price of ${text}; without a built-in one, budgets refuse its requests.`;
      const removed = await withGateway(context, async ({ prices, removePrice }) => {
        const isSet = (await prices()).some(
          (each) => (each.provider ?? '') === provider && each.model === model,
        );
        if (isSet) await confirmLoss(context, loss, { yes, scripted: true });
        return (await removePrice({ provider, model })).deleted;
      });
      if (!removed) throw new CliError(`you set no price for "${text}". See: gw prices list`, EXIT.notFound);
      note(context, `Removed the price of ${text}. The built-in price applies, if there is one.`);
    });

const configuredIn = (context: Context): string[] => Object.keys(readSettings(context).settings.providers);

type RateName = Extract<keyof PriceInForceView['tiers'][number], `${string}_per_million`>;

function priceTable(prices: PriceView[], terminal: Terminal): string {
  const columns: Column<PriceView>[] = [
    { header: 'model', value: nameOf, shrinks: true },
    ...rateColumns<PriceView>((price, name) => rateText(price[name])),
    ...(prices.some(({ usd_per_request }) => usd_per_request) ? [feeColumn] : []),
    ...mediaColumns(prices),
  ];
  return listText(prices, columns, terminal, { title: 'Prices that you set, in dollars per million tokens' });
}

type MediaUnits = Pick<PriceView, 'usd_per_image' | 'usd_per_second' | 'usd_per_million_characters'>;

const MEDIA_COLUMNS: readonly Column<MediaUnits>[] = [
  { header: 'picture', value: (price) => rateText(price.usd_per_image), align: 'right' },
  { header: 'second', value: (price) => rateText(price.usd_per_second), align: 'right' },
  { header: 'M characters', value: (price) => rateText(price.usd_per_million_characters), align: 'right' },
];

/** The columns of units that some of the prices are for. */
const mediaColumns = (prices: readonly MediaUnits[]) =>
  MEDIA_COLUMNS.filter(({ value }) => prices.some((price) => value(price, 0) !== '-'));

/** The prices in force of a model at each provider, with their sources. */
function knownTable(prices: PriceInForceView[], terminal: Terminal): string {
  const columns: Column<PriceInForceView>[] = [
    { header: 'provider', value: ({ provider }) => provider },
    ...rateColumns<PriceInForceView>((price, name) => {
      const rises = price.tiers.some((tier) => tier[name] !== null);
      return `${rateText(price[name])}${rises ? '*' : ''}`;
    }),
    ...(prices.some(({ usd_per_request }) => usd_per_request) ? [feeColumn] : []),
    ...mediaColumns(prices),
    { header: 'source', value: ({ source }) => source, shrinks: true },
  ];
  const [first] = prices;
  const title = `Price of ${first?.model}, in dollars per million tokens`;
  return [listText(prices, columns, terminal, { title }), ...tierLines(prices), ...serviceLines(prices)].join(
    '\n',
  );
}

function rateColumns<T>(text: (price: T, name: RateName) => string): Column<T>[] {
  const column = (header: string, name: RateName): Column<T> => ({
    header,
    value: (price) => text(price, name),
    align: 'right',
  });
  return [
    column('input', 'input_usd_per_million'),
    column('cached input', 'cached_input_usd_per_million'),
    column('cache write', 'cache_write_usd_per_million'),
    column('output', 'output_usd_per_million'),
  ];
}

const feeColumn: Column<Pick<PriceView, 'usd_per_request'>> = {
  header: 'per request',
  value: ({ usd_per_request }) => rateText(usd_per_request),
  align: 'right',
};

const rateText = (usd: number | null): string => (usd === null ? '-' : usdText(usd));

function tierLines(prices: PriceInForceView[]): string[] {
  const lines = prices.flatMap(({ provider, tiers }) =>
    tiers.map(({ over_tokens, input_usd_per_million: input, output_usd_per_million: output }) => {
      const rest = output === null ? '' : `, output ${rateText(output)}`;
      return `* ${provider}, over ${tokens(over_tokens)} input tokens: input ${rateText(input)}${rest}`;
    }),
  );
  return lines.length > 0 ? ['', ...lines] : [];
}

function serviceLines([price]: PriceInForceView[]): string[] {
  const lines = (price?.service_prices ?? []).map(
    ({ field, value, factor }) => `${field} ${value}: ${Number(factor.toFixed(3))} times these prices`,
  );
  const fee = price?.router_fee_usd_per_million;
  if (fee) lines.push(`input ${usdText(fee)} more: the fee of the router, beside the model that it chooses`);
  return lines.length > 0 ? ['', ...lines] : [];
}

function nameOf({ provider, model }: Record<'provider' | 'model', string | null>): string {
  return provider ? `${provider}/${model}` : `${model}`;
}
