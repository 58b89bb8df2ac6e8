import { test } from 'vitest';
import { createCatalog } from '../../src/pricing/catalog.ts';
import { libraryModelNames, packagedPrices } from '../../src/pricing/library.ts';
import { compareKnowledge, comparePrices, namesIn } from '../../src/pricing/published/compare-prices.ts';
import { parsePriceFile } from '../../src/pricing/published/price-file.ts';
import { expectFrozen, type Row, variationsOf } from '../support/frozen.ts';

type Prices = ReturnType<typeof packagedPrices>;

const MODEL = {
  id: 'm',
  match: { or: [{ equals: 'm' }, { and: [{ starts_with: 'n' }, { regex: '^n.*x$' }] }] },
  context_window: 1_000,
  prices: [
    { prices: { input_mtok: 1, output_mtok: { base: 2, tiers: [{ start: 10, price: 3 }] } } },
    { constraint: { start_date: '2026-10-01' }, prices: { input_mtok: 5, output_mtok: 6 } },
  ],
};
const NOW = Date.UTC(2026, 10, 20);

/** Every provider with this one model; the first is changed. */
function file(first: object): object[] {
  const [one, ...others] = packagedPrices().map(({ id, name, fallback_model_providers }) => ({
    ...{ id, name, api_pattern: 'x', models: [] },
    ...(fallback_model_providers && { fallback_model_providers }),
  }));
  return [{ ...one, models: [MODEL], ...first }, ...others];
}

const parsed = (data: unknown) => {
  const [first, ...others] = parsePriceFile(JSON.stringify(data));
  return [first, others.length];
};

/** Wrong types, and a kind of price that nobody knows. */
const others = (value: unknown) =>
  typeof value === 'string' ? [5, ''] : typeof value === 'number' ? [-1] : [5];

test('what is taken from a price file, and what is refused', async () => {
  const model = (change: object) => file({ models: [{ ...MODEL, ...change }] });
  const regex = (source: string) => model({ match: { regex: source } });
  const changed: Record<string, () => unknown> = {
    'no list': () => parsed({}),
    'an empty list': () => parsed([]),
    'a provider twice': () => parsed([...file({}), ...file({}).slice(0, 1)]),
    'a provider less': () => parsed(file({}).slice(1)),
    'a provider more': () => parsed([...file({}), { ...file({})[0], id: 'new' }]),
    'a slow expression': () => parsed(regex('(a+)+')),
    'a broken expression': () => parsed(regex('a)')),
    'an expression inside': () => parsed(model({ match: { and: [{ or: [{ regex: 'a*' }] }] } })),
    'an unknown kind of price': () => parsed(model({ prices: { input_mtok: 1, thoughts: 2 } })),
    'an unknown kind of price at a date': () =>
      parsed(model({ prices: [{ prices: { input_mtok: 1, thoughts: 2 } }, { prices: { input_mtok: 3 } }] })),
    'an unknown constraint': () => parsed(model({ prices: [{ constraint: { day: 1 }, prices: {} }] })),
    'a time of day': () =>
      parsed(
        model({ prices: [{ constraint: { start_time: '01:00:00Z', end_time: '02:00:00Z' }, prices: {} }] }),
      ),
    'the packaged data afterwards': () => {
      parsed(file({}));
      return libraryModelNames('cerebras').length;
    },
  };
  await expectFrozen(import.meta.dirname, 'price-file', [
    ...Object.entries(changed).map(([name, outcome]): Row => ({ name, outcome })),
    {
      name: 'a model',
      outcome: () => parsed(file({})),
      variations: Array.from(variationsOf(MODEL, others), (other) => ({
        name: other.name,
        outcome: () => parsed(file({ models: [other.value] })),
      })),
    },
  ]);
});

const price = (input: unknown, more: object = {}) => ({ input_mtok: input, output_mtok: 2, ...more });
const tiered = (first: number, second: number) =>
  price({ base: first, tiers: [{ start: 10, price: second }] });

test('how prices differ', async () => {
  const catalogOf = (prices: object | undefined) => {
    const models = prices ? [{ id: 'gpt-4o', match: { equals: 'gpt-4o' }, prices }] : [];
    const published = packagedPrices().map((each) => ({
      ...each,
      models: each.id === 'openai' ? models : [],
    }));
    return createCatalog({ published: published as unknown as Prices, now: () => NOW });
  };
  const compare = (before: object | undefined, after: object | undefined) =>
    comparePrices(
      [
        ['openai', 'gpt-4o'],
        ['openai', 'gpt-4o'],
        ['openai', 'x'],
      ],
      { before: catalogOf(before), after: catalogOf(after), atMs: NOW },
    ).map(({ model, kind }) => `${model} ${kind}`);
  const pairs: Record<string, [object | undefined, object | undefined]> = {
    same: [price(1), price(1)],
    higher: [price(1), price(2)],
    lower: [price(2), price(1)],
    'one lower, one higher': [price(2), price(1, { output_mtok: 9 })],
    new: [undefined, price(1)],
    gone: [price(1), undefined],
    neither: [undefined, undefined],
    'a higher tier': [tiered(1, 3), tiered(1, 4)],
    'a lower tier': [tiered(1, 3), tiered(1, 2)],
    'a tier more': [price(1), tiered(1, 3)],
    'a tier less': [tiered(1, 3), price(1)],
    'a price for each request': [price(1), price(1, { requests_kcount: 1 })],
    'no price for each request': [price(1, { requests_kcount: 1 }), price(1)],
  };
  const dated = (...dates: (string | undefined)[]) =>
    [
      {
        id: 'p',
        models: dates.map((date, i) => ({
          id: `m${i}`,
          prices:
            date === undefined
              ? {}
              : [
                  { prices: {} },
                  { constraint: { type: 'start_date', start_date: date } },
                  { constraint: { type: 'start_date', start_date: '2020-01-01' } },
                ],
        })),
      },
    ] as unknown as Prices;
  const knowledge: [string, Prices, Prices][] = [
    ['the same', dated('2026-01-01'), dated('2026-01-01')],
    ['a model more', dated(undefined), dated(undefined, undefined)],
    ['a model less', dated(undefined, undefined), dated(undefined)],
    ['a later date', dated('2026-01-01'), dated('2026-02-01')],
    ['an earlier date', dated('2026-02-01'), dated('2026-01-01')],
    ['no date any more', dated('2026-02-01'), dated(undefined)],
    ['a date earlier, a model more', dated('2026-02-01'), dated('2026-01-01', undefined)],
    [
      'two dates earlier, a model more',
      dated('2026-02-01', '2026-03-01'),
      dated('2026-01-01', '2026-01-01', undefined),
    ],
  ];
  await expectFrozen(import.meta.dirname, 'price-changes', [
    ...Object.entries(pairs).map(([name, [a, b]]): Row => ({ name, outcome: () => compare(a, b) })),
    ...knowledge.map(
      ([name, a, b]): Row => ({ name: `known: ${name}`, outcome: () => compareKnowledge(a, b) }),
    ),
    {
      name: 'names of a file',
      outcome: () => namesIn(dated('2026-01-01').map((each) => ({ ...each, id: 'openai' }))),
    },
    {
      name: 'names of the packaged file',
      outcome: () => new Set(namesIn(undefined).map(([name]) => name)).size,
    },
  ]);
});
