import type { FeedRow } from '../store/dashboard/feed.ts';
import { type Look, styleOf } from './look.ts';
import { tokens } from './numbers.ts';
import { plain } from './palette.ts';
import { costOf, mark } from './request-words.ts';
import type { Cell } from './styled-lines.ts';
import { tookText } from './time.ts';

/** The layout of a line. */
export interface FeedColumns {
  /** Whether there is room for the project, the tokens and the duration. */
  wide: boolean;
  /** Width of the model's name in cells. */
  model: number;
}

const WIDTHS = { mark: 2, time: 8, project: 10, status: 4, tokens: 13, cost: 10, took: 7 };
const WIDE_FROM = 72;
/** A long note shrinks the model's name down to this many cells. */
const MIN_MODEL_WITH_NOTE = 16;

/** Computes the layout for a width. */
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

/** A request as cells: its tokens and cost, or a note if it failed. */
export function feedCells(
  row: FeedRow,
  columns: FeedColumns,
  look: Look,
  { selected = false, note }: { selected?: boolean; note?: string | undefined } = {},
): Cell[] {
  const text = note ?? noteOf(row);
  if (text === undefined) {
    return [...headCells(row, columns, look, selected), ...figureCells(row, columns)];
  }
  const figures = WIDTHS.cost + (columns.wide ? WIDTHS.tokens + WIDTHS.took + 2 : 0);
  const lack = Math.max(0, text.length - figures);
  const model = Math.max(Math.min(columns.model, MIN_MODEL_WITH_NOTE), columns.model - lack);
  return [
    ...headCells(row, { ...columns, model }, look, selected),
    { text, width: figures + columns.model - model, style: styleOf(mark(row), look) },
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

/** The note for a failed request that cost nothing. */
function noteOf({ outcome, error, costNanoUsd }: FeedRow): string | undefined {
  if (outcome === 'ok' || outcome === 'capped' || costNanoUsd > 0) return undefined;
  const label = outcome.replaceAll('_', ' ');
  if (error === null) return label;
  // These codes name the outcome already.
  return error.startsWith('upstream_') ? error.replaceAll('_', ' ') : `${label}: ${error}`;
}
