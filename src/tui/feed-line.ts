import { tokens } from '../cli/output/numbers.ts';
import { duration } from '../cli/output/time.ts';
import { costOf, mark } from '../cli/requests/view.ts';
import type { FeedRow } from '../store/dashboard/feed.ts';
import type { Cell } from './lines.ts';
import { type Look, styleOf } from './look.ts';

/** What of a request a line shows beside the columns that all have. */
export interface FeedColumns {
  project: boolean;
  tokens: boolean;
  took: boolean;
  model: number;
}

const WIDTHS = { time: 8, project: 10, status: 4, tokens: 13, cost: 10, took: 7 };
const NOTED_MODEL = 16;
/** Below this width a line drops what can be done without. */
export const WIDE_FEED_FROM = 72;

/** What there is room for. */
export function feedColumns(width: number): FeedColumns {
  const wide = width >= WIDE_FEED_FROM;
  const fixed = 2 + WIDTHS.time + WIDTHS.status + WIDTHS.cost + 4;
  const more = wide ? WIDTHS.project + WIDTHS.tokens + WIDTHS.took + 3 : 0;
  return { project: wide, tokens: wide, took: wide, model: Math.max(8, width - fixed - more) };
}

export function feedHeader({ project, tokens, took, model }: FeedColumns): string {
  return [
    ' '.repeat(2),
    'time'.padEnd(WIDTHS.time),
    ...(project ? ['project'.padEnd(WIDTHS.project)] : []),
    'model'.padEnd(model),
    'st'.padEnd(WIDTHS.status),
    ...(tokens ? ['in>out'.padStart(WIDTHS.tokens)] : []),
    'cost'.padStart(WIDTHS.cost),
    ...(took ? ['took'.padStart(WIDTHS.took)] : []),
  ].join(' ');
}

/** A request as cells: what it used and cost, or why it did not come to that. */
export function feedCells(
  row: FeedRow,
  columns: FeedColumns,
  look: Look,
  { selected = false, note }: { selected?: boolean; note?: string | undefined } = {},
): Cell[] {
  const sign = mark(row);
  const style = styleOf(sign, look);
  const said = note ?? noteOf(row);
  // Where columns were dropped, words need some of the model's room.
  const model = said === undefined || columns.tokens ? columns.model : Math.min(columns.model, NOTED_MODEL);
  const head: Cell[] = [
    { text: `${selected ? '>' : ' '}${sign}`, width: 2, style },
    {
      text: look.times.time(row.timeMs),
      width: WIDTHS.time,
      style: selected ? look.palette.bold : look.palette.dim,
    },
    ...(columns.project ? [{ text: row.project, width: WIDTHS.project }] : []),
    { text: modelOf(row), width: model, style: selected ? look.palette.bold : plain },
    { text: row.status === 0 ? '-' : String(row.status), width: WIDTHS.status, style },
  ];
  const more = (columns.tokens ? WIDTHS.tokens + 1 : 0) + (columns.took ? WIDTHS.took + 1 : 0);
  const room = WIDTHS.cost + more + columns.model - model;
  if (said !== undefined) return [...head, { text: said, width: room, style }];
  return [
    ...head,
    ...(columns.tokens
      ? [
          {
            text: `${tokens(row.inputTokens)}>${tokens(row.outputTokens)}`,
            width: WIDTHS.tokens,
            align,
          } as Cell,
        ]
      : []),
    { text: costOf(row), width: WIDTHS.cost, align: 'right' },
    ...(columns.took ? [{ text: tookText(row.durationMs), width: WIDTHS.took, align } as Cell] : []),
  ];
}

const align = 'right';
const plain = (text: string) => text;

/** `812ms`, `1.9s`, `1m05s`. */
export function tookText(ms: number): string {
  return ms >= 1_000 && ms < 10_000 ? `${(ms / 1_000).toFixed(1)}s` : duration(ms);
}

export function modelOf({ model, askedModel }: Pick<FeedRow, 'model' | 'askedModel'>): string {
  return model || askedModel;
}

/** What is said of a request that cost nothing because it failed. */
function noteOf({ outcome, error, costNanoUsd }: FeedRow): string | undefined {
  if (outcome === 'ok' || outcome === 'capped' || costNanoUsd > 0) return undefined;
  const words = outcome.replaceAll('_', ' ');
  return error === null ? words : `${words}: ${error}`;
}
