import { listPrices, removePrice, type StoredPrice, setPrice } from '../../store/accounts/prices.ts';
import { terminalOf } from '../../terminal/terminal.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { feeText, modelOf, perMillion, readFee, readPrice } from '../prices/read.ts';
import { knownJson, knownTable, nameOf, priceJson, priceTable } from '../prices/view.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

interface SetOptions {
  input: string;
  output: string;
  cachedInput?: string;
  cacheWrite?: string;
  perRequest?: string;
}

export const prices: SetUp = (command, context) => {
  command
    .command('list [model]')
    .description('the prices that you set, or the price in force of a model')
    .option('--json', 'as JSON')
    .action((model: string | undefined, { json }: { json?: boolean }) => list(context, model, json));
  command
    .command('set <model>')
    .description('set the price of a model, or of provider/model; it goes before the built-in one')
    .requiredOption('--input <usd>', 'dollars for a million tokens of input')
    .requiredOption('--output <usd>', 'dollars for a million tokens of output')
    .option('--cached-input <usd>', 'dollars for a million tokens read from the prompt cache')
    .option('--cache-write <usd>', 'dollars for a million tokens written to the prompt cache')
    .option('--per-request <usd>', 'dollars for each request, beside its tokens')
    .action((model: string, options: SetOptions) => set(context, model, options));
  command
    .command('remove <model>')
    .description('forget a price that you set')
    .action((model: string) => remove(context, model));
};

async function list(context: Context, model: string | undefined, json = false): Promise<void> {
  const own = await withStore(context, listPrices);
  if (model !== undefined) {
    await listKnown(context, model, own, json);
  } else if (json) {
    sayJson(context, own.map(priceJson));
  } else if (own.length === 0) {
    note(
      context,
      'No prices of your own: the built-in ones hold. To see one: gw prices list MODEL   To set one: gw prices set MODEL --input X --output Y',
    );
  } else {
    say(context, priceTable(own, terminalOf(context.stdout, context.env)));
  }
}

/** The price table of a library is large: it is loaded only for a model that is asked for. */
async function listKnown(
  context: Context,
  text: string,
  overrides: StoredPrice[],
  json: boolean,
): Promise<void> {
  const { knownPrices } = await import('../prices/known.ts');
  const found = knownPrices(context, text, overrides);
  if (found.length === 0) {
    throw new CliError(
      `nobody knows the price of "${text}". To set it: gw prices set ${text} --input X --output Y`,
      EXIT.notFound,
    );
  }
  if (json) sayJson(context, found.map(knownJson));
  else say(context, knownTable(found, terminalOf(context.stdout, context.env)));
}

async function set(context: Context, text: string, options: SetOptions): Promise<void> {
  const price: StoredPrice = {
    ...modelOf(text, readSettings(context).settings),
    inputPicoUsd: readPrice(options.input, '--input'),
    outputPicoUsd: readPrice(options.output, '--output'),
    ...(options.cachedInput === undefined
      ? {}
      : { cachedInputPicoUsd: readPrice(options.cachedInput, '--cached-input') }),
    ...(options.cacheWrite === undefined
      ? {}
      : { cacheWritePicoUsd: readPrice(options.cacheWrite, '--cache-write') }),
    ...(options.perRequest === undefined
      ? {}
      : { requestPicoUsd: readFee(options.perRequest, '--per-request') }),
  };
  await withStore(context, (db) => setPrice(db, price, context.clock.now()));
  const fee = price.requestPicoUsd ? `, and ${feeText(price.requestPicoUsd)} a request` : '';
  note(
    context,
    `${nameOf(price)}${price.provider === '' ? ' (at any provider)' : ''}: ${perMillion(price.inputPicoUsd)} in, ${perMillion(price.outputPicoUsd)} out for a million tokens${fee}. It holds from the next request on; what was booked stays.`,
  );
}

async function remove(context: Context, text: string): Promise<void> {
  const { provider, model } = modelOf(text, readSettings(context).settings);
  const removed = await withStore(context, (db) => removePrice(db, provider, model));
  if (!removed) throw new CliError(`no price of yours for "${text}". See: gw prices list`, EXIT.notFound);
  note(context, `The price of ${text} is removed; the built-in one holds, where there is one.`);
}
