import type { FeedRow } from '../store/dashboard/feed.ts';
import { type Look, styleOf } from './look.ts';
import { tokens } from './numbers.ts';
import { plain } from './palette.ts';
import { costOf, mark } from './request-words.ts';
import type { Cell } from './styled-lines.ts';
import { tookText } from './time.ts';

/** How the width of a line is used. */
export interface FeedColumns {
  /** There is room for the project, the tokens and the time too. */
  wide: boolean;
  /** Cells of the model's name. */
  model: number;
}

const WIDTHS = { mark: 2, time: 8, project: 10, status: 4, tokens: 13, cost: 10, took: 7 };
const WIDE_FROM = 72;
/** Where there is no more room, words take some of the model's. */
const MODEL_BESIDE_WORDS = 16;

/** What there is room for. */
export function feedColumns(width: number): FeedColumns {
  const wide = width >= WIDE_FROM;
  const always = WIDTHS.mark + WIDTHS.time + WIDTHS.status + WIDTHS.cost + 4;
  const more = wide ? WIDTHS.project + WIDTHS.tokens + WIDTHS.took + 3 : 0;
  return { wide, model: Math.max(8, width - always - more) };
}

export function feedHeader({ wide, model }: FeedColumns): string {
  return [
    ' '.repeat(WIDTHS.mark),
    'time'.padEnd(WIDTHS.time),
    ...(wide ? ['project'.padEnd(WIDTHS.project)] : []),
    'model'.padEnd(model),
    'st'.padEnd(WIDTHS.status),
    ...(wide ? ['in>out'.padStart(WIDTHS.tokens)] : []),
    'cost'.padStart(WIDTHS.cost),
    ...(wide ? ['took'.padStart(WIDTHS.took)] : []),
  ].join(' ');
}

/** A request as cells: what it used and cost, or why it did not come to that. */
export function feedCells(
  row: FeedRow,
  columns: FeedColumns,
  look: Look,
  { selected = false, note }: { selected?: boolean; note?: string | undefined } = {},
): Cell[] {
  const words = note ?? noteOf(row);
  if (words === undefined) {
    return [...headCells(row, columns, look, selected), ...figureCells(row, columns)];
  }
  const figures = WIDTHS.cost + (columns.wide ? WIDTHS.tokens + WIDTHS.took + 2 : 0);
  const lack = Math.max(0, words.length - figures);
  const model = Math.max(Math.min(columns.model, MODEL_BESIDE_WORDS), columns.model - lack);
  return [
    ...headCells(row, { ...columns, model }, look, selected),
    { text: words, width: figures + columns.model - model, style: styleOf(mark(row), look) },
  ];
}

function headCells(row: FeedRow, { wide, model }: FeedColumns, look: Look, selected: boolean): Cell[] {
  const { bold, dim } = look.palette;
  const sign = mark(row);
  const style = styleOf(sign, look);
  return [
    { text: `${selected ? '>' : ' '}${sign}`, width: WIDTHS.mark, style },
    { text: look.times.time(row.timeMs), width: WIDTHS.time, style: selected ? bold : dim },
    ...(wide ? [{ text: row.project, width: WIDTHS.project }] : []),
    { text: row.model || row.askedModel || '-', width: model, style: selected ? bold : plain },
    { text: row.status === 0 ? '-' : String(row.status), width: WIDTHS.status, style },
  ];
}

function figureCells(row: FeedRow, { wide }: FeedColumns): Cell[] {
  const cost: Cell = { text: costOf(row), width: WIDTHS.cost, align: 'right' };
  if (!wide) return [cost];
  const used = `${tokens(row.inputTokens)}>${tokens(row.outputTokens)}`;
  return [
    { text: used, width: WIDTHS.tokens, align: 'right' },
    cost,
    { text: tookText(row.durationMs), width: WIDTHS.took, align: 'right' },
  ];
}

/** What is said of a request that cost nothing because it failed. */
function noteOf({ outcome, error, costNanoUsd }: FeedRow): string | undefined {
  if (outcome === 'ok' || outcome === 'capped' || costNanoUsd > 0) return undefined;
  const words = outcome.replaceAll('_', ' ');
  if (error === null) return words;
  // These say it all themselves.
  return error.startsWith('upstream_') ? error.replaceAll('_', ' ') : `${words}: ${error}`;
}
