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
    .description('list the prices that you set, or show the price in force of a model')
    .option('--json', 'print JSON')
    .action((model: string | undefined, { json }: { json?: boolean }) => list(context, model, json));
  command
    .command('set <model>')
    .description('set the price of a model, or of provider/model; it overrides the built-in one')
    .requiredOption('--input <usd>', 'dollars per million input tokens')
    .requiredOption('--output <usd>', 'dollars per million output tokens')
    .option('--cached-input <usd>', 'dollars per million tokens read from the prompt cache')
    .option('--cache-write <usd>', 'dollars per million tokens written to the prompt cache')
    .option('--per-request <usd>', 'dollars per request, on top of its tokens')
    .action((model: string, options: SetOptions) => set(context, model, options));
  command
    .command('remove <model>')
    .description('remove a price that you set')
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
      'No prices of your own: the built-in ones apply. To see one: gw prices list MODEL   To set one: gw prices set MODEL --input X --output Y',
    );
  } else {
    say(context, priceTable(own, terminalOf(context.stdout, context.env)));
  }
}

/** Loads the bundled price table, which is large, only to look up a model. */
async function listKnown(
  context: Context,
  text: string,
  overrides: StoredPrice[],
  json: boolean,
): Promise<void> {
  const { knownPrices } = await import('../prices/known-prices.ts');
  const matches = knownPrices(context, text, overrides);
  if (matches.length === 0) {
    throw new CliError(
      `no known price for "${text}". To set it: gw prices set ${text} --input X --output Y`,
      EXIT.notFound,
    );
  }
  if (json) sayJson(context, matches.map(knownJson));
  else say(context, knownTable(matches, terminalOf(context.stdout, context.env)));
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
  const fee = price.requestPicoUsd ? `, plus ${feeText(price.requestPicoUsd)} per request` : '';
  note(
    context,
    `Set the price of ${nameOf(price)}${price.provider === '' ? ' (at any provider)' : ''}: ${perMillion(price.inputPicoUsd)} in, ${perMillion(price.outputPicoUsd)} out per million tokens${fee}. It applies from the next request; recorded costs stay as they are.`,
  );
}

async function remove(context: Context, text: string): Promise<void> {
  const { provider, model } = modelOf(text, readSettings(context).settings);
  const removed = await withStore(context, (db) => removePrice(db, provider, model));
  if (!removed) throw new CliError(`you set no price for "${text}". See: gw prices list`, EXIT.notFound);
  note(context, `Removed the price of ${text}. The built-in price applies, if there is one.`);
}
