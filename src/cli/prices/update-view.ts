import { formatUsd, usdNumber } from '../../money.ts';
import type { PriceCard } from '../../pricing/price-card.ts';
import type { PriceChange } from '../../pricing/published/compare-prices.ts';
import { usdPerMillion } from '../../reading/price-views.ts';
import { plural } from '../../terminal/numbers.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { clean } from '../../terminal/text.ts';
import type { BudgetEffect } from './budget-effects.ts';
import { perMillion } from './read.ts';

/** What a downloaded file would change. */
export interface PriceUpdate {
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
export function changesText(
  { url, sha256, changes, lowered, budgets }: PriceUpdate,
  terminal: Terminal,
): string {
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
    { header: 'input', value: (each) => pair(each, 'input'), align: 'right' },
    { header: 'output', value: (each) => pair(each, 'output'), align: 'right' },
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

/** Says so where neither of the two shown prices differs. */
function kindText({ kind, before, after }: PriceChange): string {
  const isShown =
    before?.input.picoUsd !== after?.input.picoUsd || before?.output.picoUsd !== after?.output.picoUsd;
  return `${NAMES[kind]}${isShown ? '' : ' (cache, tiers, audio or fee)'}`;
}

/** Both prices per million tokens. */
function pair({ before, after }: PriceChange, kind: 'input' | 'output'): string {
  const [old, fresh] = [before, after].map((card) => (card ? perMillion(Number(card[kind].picoUsd)) : '-'));
  return old === fresh ? `${old}` : `${old} > ${fresh}`;
}

/** The JSON form of an update. */
export function updateJson({ url, sha256, changes, lowered, budgets }: PriceUpdate, stored: boolean): object {
  return {
    object: 'price_update',
    url,
    sha256,
    stored,
    changes: changes.map(changeJson),
    lower_than_packaged: lowered.map(changeJson),
    budgets: budgets.map(({ budget, changedNanoUsd, newNanoUsd, gone }) => ({
      budget_id: budget,
      booked_usd: usdNumber(changedNanoUsd),
      booked_nano_usd: changedNanoUsd,
      at_new_prices_usd: usdNumber(newNanoUsd),
      at_new_prices_nano_usd: newNanoUsd,
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
