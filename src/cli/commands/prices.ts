import { listPrices, removePrice, type StoredPrice, setPrice } from '../../store/prices.ts';
import type { SetUp } from '../command.ts';
import { type Context, note, say, sayJson } from '../context.ts';
import { CliError, EXIT } from '../exit.ts';
import { table } from '../output/table.ts';
import { terminalOf } from '../output/terminal.ts';
import { modelOf, perMillion, readPrice, usdPerMillion } from '../prices/read.ts';
import { readSettings } from '../settings.ts';
import { withStore } from '../with-store.ts';

interface SetOptions {
  input: string;
  output: string;
  cachedInput?: string;
  cacheWrite?: string;
}

export const prices: SetUp = (command, context) => {
  command
    .command('list [model]')
    .description('list the prices that you set')
    .option('--json', 'as JSON')
    .action((model: string | undefined, { json }: { json?: boolean }) => list(context, model, json));
  command
    .command('set <model>')
    .description('set the price of a model, or of provider/model; it goes before the built-in one')
    .requiredOption('--input <usd>', 'dollars for a million tokens of input')
    .requiredOption('--output <usd>', 'dollars for a million tokens of output')
    .option('--cached-input <usd>', 'dollars for a million tokens read from the prompt cache')
    .option('--cache-write <usd>', 'dollars for a million tokens written to the prompt cache')
    .action((model: string, options: SetOptions) => set(context, model, options));
  command
    .command('remove <model>')
    .description('forget a price that you set')
    .action((model: string) => remove(context, model));
};

async function list(context: Context, model: string | undefined, json = false): Promise<void> {
  const all = await withStore(context, listPrices);
  const found = model === undefined ? all : all.filter((price) => isFor(context, price, model));
  if (json) {
    sayJson(context, found.map(priceJson));
    return;
  }
  if (found.length === 0) {
    note(
      context,
      'No prices of your own: the built-in ones hold. To set one: gw prices set MODEL --input X --output Y',
    );
    return;
  }
  const lines = table(
    found,
    [
      { header: 'model', value: nameOf, shrinks: true },
      { header: 'input', value: (price) => perMillion(price.inputPicoUsd), align: 'right' },
      { header: 'cached input', value: (price) => perMillion(price.cachedInputPicoUsd), align: 'right' },
      { header: 'cache write', value: (price) => perMillion(price.cacheWritePicoUsd), align: 'right' },
      { header: 'output', value: (price) => perMillion(price.outputPicoUsd), align: 'right' },
    ],
    { terminal: terminalOf(context.stdout, context.env) },
  );
  say(context, ['Prices that you set, in dollars for a million tokens', '', ...lines].join('\n'));
}

function isFor(context: Context, price: StoredPrice, text: string): boolean {
  const { provider, model } = modelOf(text, readSettings(context).settings);
  return price.model === model && (provider === '' || price.provider === provider || price.provider === '');
}

function nameOf({ provider, model }: StoredPrice): string {
  return provider === '' ? model : `${provider}/${model}`;
}

function priceJson(price: StoredPrice): Record<string, unknown> {
  return {
    provider: price.provider === '' ? null : price.provider,
    model: price.model,
    input_usd_per_million: usdPerMillion(price.inputPicoUsd),
    output_usd_per_million: usdPerMillion(price.outputPicoUsd),
    cached_input_usd_per_million: usdPerMillion(price.cachedInputPicoUsd),
    cache_write_usd_per_million: usdPerMillion(price.cacheWritePicoUsd),
  };
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
  };
  await withStore(context, (db) => setPrice(db, price, context.clock.now()));
  note(
    context,
    `${nameOf(price)}${price.provider === '' ? ' (at any provider)' : ''}: ${perMillion(price.inputPicoUsd)} in, ${perMillion(price.outputPicoUsd)} out for a million tokens. It holds from the next request on; what was booked stays.`,
  );
}

async function remove(context: Context, text: string): Promise<void> {
  const { provider, model } = modelOf(text, readSettings(context).settings);
  const removed = await withStore(context, (db) => removePrice(db, provider, model));
  if (!removed) throw new CliError(`no price of yours for "${text}". See: gw prices list`, EXIT.notFound);
  note(context, `The price of ${text} is removed; the built-in one holds, where there is one.`);
}
