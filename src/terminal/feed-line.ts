import type { FeedRow } from '../store/dashboard/feed.ts';
import { type Look, styleOf } from './look.ts';
import { tokens } from './numbers.ts';
import { plain } from './palette.ts';
import { costOf, mark, modelName } from './request-words.ts';
import type { Cell } from './styled-lines.ts';
import { widthOf } from './text.ts';
import { tookText } from './time.ts';

interface FeedColumns {
  /** Whether there is room for the column. */
  project: boolean;
  tokens: boolean;
  took: boolean;
  /** Width of the model column in cells. */
  model: number;
}

const WIDTHS = { mark: 2, time: 8, project: 10, status: 4, tokens: 13, cost: 10, took: 7 };
/** Minimum line widths of the optional columns. */
const FROM = { project: 56, took: 66, tokens: 72 };
/** Minimum width of the model column beside a long note. */
const MIN_MODEL_WITH_NOTE = 16;

/** `projects`: how many there are; one needs no column. */
export function feedColumns(width: number, projects = 2): FeedColumns {
  const project = projects > 1 && width >= FROM.project;
  const [tokens, took] = [width >= FROM.tokens, width >= FROM.took];
  const always = WIDTHS.mark + WIDTHS.time + WIDTHS.status + WIDTHS.cost + 4;
  const more = (project ? WIDTHS.project + 1 : 0) + optionalFigures({ tokens, took });
  return { project, tokens, took, model: Math.max(8, width - always - more) };
}

/** Width of the optional figures that are shown, each with a leading space. */
function optionalFigures({ tokens, took }: Pick<FeedColumns, 'tokens' | 'took'>): number {
  return (tokens ? WIDTHS.tokens + 1 : 0) + (took ? WIDTHS.took + 1 : 0);
}

export function feedHeader({ project, tokens, took, model }: FeedColumns): string {
  return [
    ' '.repeat(WIDTHS.mark),
    'time'.padEnd(WIDTHS.time),
    ...(project ? ['project'.padEnd(WIDTHS.project)] : []),
    'model'.padEnd(model),
    'st'.padEnd(WIDTHS.status),
    ...(tokens ? ['in>out'.padStart(WIDTHS.tokens)] : []),
    'cost'.padStart(WIDTHS.cost),
    ...(took ? ['took'.padStart(WIDTHS.took)] : []),
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
  if (text === undefined) return [...headCells(row, columns, look, selected), ...figureCells(row, columns)];
  const figures = WIDTHS.cost + optionalFigures(columns);
  const lack = Math.max(0, text.length - figures);
  const least = Math.min(columns.model, MIN_MODEL_WITH_NOTE, widthOf(modelName(row)));
  const model = Math.max(least, columns.model - lack);
  return [
    ...headCells(row, { ...columns, model }, look, selected),
    { text, width: figures + columns.model - model, style: styleOf(mark(row), look) },
  ];
}

function headCells(row: FeedRow, { project, model }: FeedColumns, look: Look, selected: boolean): Cell[] {
  const { bold, dim } = look.palette;
  const sign = mark(row);
  const style = styleOf(sign, look);
  return [
    { text: `${selected ? '>' : ' '}${sign}`, width: WIDTHS.mark, style },
    { text: look.times.time(row.timeMs), width: WIDTHS.time, style: selected ? bold : dim },
    ...(project ? [{ text: row.project, width: WIDTHS.project }] : []),
    { text: modelName(row), width: model, style: selected ? bold : plain },
    { text: row.status === 0 ? '-' : String(row.status), width: WIDTHS.status, style },
  ];
}

function figureCells(row: FeedRow, columns: FeedColumns): Cell[] {
  const used = `${tokens(row.inputTokens)}>${tokens(row.outputTokens)}`;
  const figure = (text: string, width: number): Cell => ({ text, width, align: 'right' });
  return [
    ...(columns.tokens ? [figure(used, WIDTHS.tokens)] : []),
    figure(costOf(row), WIDTHS.cost),
    ...(columns.took ? [figure(tookText(row.durationMs), WIDTHS.took)] : []),
  ];
}

/** The note for a failed request that cost nothing. */
function noteOf({ outcome, error, costNanoUsd }: FeedRow): string | undefined {
  if (outcome === 'ok' || outcome === 'capped' || costNanoUsd > 0) return undefined;
  const label = outcome.replaceAll('_', ' ');
  if (error === null) return label;
  // These codes already name the outcome.
  return error.startsWith('upstream_') ? error.replaceAll('_', ' ') : `${label}: ${error}`;
}
