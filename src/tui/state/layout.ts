export interface Size {
  columns: number;
  rows: number;
}

/** Number of rows of each panel. */
export interface Counts {
  /** Requests that wait for approval. */
  asks: number;
  budgets: number;
  models: number;
  /** 0 if attribution is off. */
  callers: number;
  blocked: number;
  /** Causes of cache misses. */
  misses: number;
  webhooks: number;
}

export type PanelName =
  | 'asks'
  | 'today'
  | 'budgets'
  | 'requests'
  | 'detail'
  | 'models'
  | 'callers'
  | 'blocked'
  | 'misses'
  | 'webhooks';

export interface PanelBox {
  panel: PanelName;
  width: number;
  height: number;
}

/** A header line, columns of panels, and a footer line. */
export type Layout =
  | { kind: 'too_small' }
  | { kind: 'panels'; width: number; height: number; columns: PanelBox[][]; gap: number };

const MIN_COLUMNS = 40;
const MIN_ROWS = 8;
const TWO_COLUMNS_FROM = { columns: 100, rows: 28 };
const BUDGETS_ALONE_BELOW = { columns: 60, rows: 15 };
const CALLERS_FROM = 33;
const GAP = 2;
const HEADER_AND_FOOTER = 2;

/**
 * Computes the panels that fit. The frame is one line shorter than the terminal: a frame of full height would scroll
 * the terminal and wipe the scrollback.
 */
export function layoutOf({ columns, rows }: Size, counts: Counts): Layout {
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) return { kind: 'too_small' };
  const height = rows - 1;
  const inner = height - HEADER_AND_FOOTER;
  const frame = { kind: 'panels' as const, width: columns, height, gap: GAP };
  if (columns < BUDGETS_ALONE_BELOW.columns || rows < BUDGETS_ALONE_BELOW.rows) {
    const asks = asksBox(columns, inner, counts);
    const height = inner - heightOf(asks);
    return { ...frame, columns: [[...asks, { panel: 'budgets', width: columns, height }]] };
  }
  if (columns < TWO_COLUMNS_FROM.columns || rows < TWO_COLUMNS_FROM.rows) {
    return { ...frame, columns: [oneColumn(columns, inner, counts)] };
  }
  const left = Math.floor((columns - GAP) * 0.58);
  return {
    ...frame,
    columns: [leftColumn(left, inner), rightColumn(columns - GAP - left, inner, counts)],
  };
}

/** Requests that wait for approval get the top panel while there are any. */
function asksBox(width: number, height: number, { asks }: Counts): PanelBox[] {
  if (asks === 0) return [];
  return [{ panel: 'asks', width, height: 1 + clamp(asks, 1, Math.max(1, Math.floor(height / 8))) }];
}

const heightOf = (boxes: PanelBox[]) => boxes.reduce((sum, { height }) => sum + height, 0);

function oneColumn(width: number, height: number, counts: Counts): PanelBox[] {
  const asks = asksBox(width, height, counts);
  const today: PanelBox[] = height - heightOf(asks) >= 12 ? [{ panel: 'today', width, height: 3 }] : [];
  const fixed = [...asks, ...today];
  const room = height - heightOf(fixed);
  const budgets = 1 + clamp(counts.budgets, 1, Math.max(2, Math.floor(room / 4)));
  const webhooks = counts.webhooks > 0 ? 1 + clamp(counts.webhooks, 1, Math.max(1, Math.floor(room / 9))) : 0;
  let left = room - budgets - webhooks;
  const extra: PanelBox[] = [];
  // The feed keeps at least ten lines.
  for (const [panel, rows] of [
    ['blocked', counts.blocked],
    ['models', counts.models],
    ['callers', counts.callers],
    ['misses', counts.misses],
  ] as const) {
    const lines = 1 + clamp(rows, 1, 4);
    if (rows === 0 || left - lines < 10) continue;
    extra.push({ panel, width, height: lines });
    left -= lines;
  }
  return [
    ...fixed,
    { panel: 'budgets', width, height: budgets },
    { panel: 'requests', width, height: left },
    ...extra,
    ...(webhooks > 0 ? [{ panel: 'webhooks' as const, width, height: webhooks }] : []),
  ];
}

function leftColumn(width: number, height: number): PanelBox[] {
  const today = clamp(Math.floor(height / 4), 7, 10);
  const detail = clamp(Math.floor(height / 3), 8, 16);
  return [
    { panel: 'today', width, height: today },
    { panel: 'requests', width, height: height - today - detail },
    { panel: 'detail', width, height: detail },
  ];
}

/** Each panel gets the lines that it needs, up to its share, and a blank line; the last panel gets the rest. */
function rightColumn(width: number, whole: number, counts: Counts): PanelBox[] {
  const asks = asksBox(width, whole, counts);
  const height = whole - heightOf(asks);
  const callers = height >= CALLERS_FROM && counts.callers > 0;
  const shares = [
    { panel: 'budgets' as const, rows: 2 * counts.budgets, most: Math.floor(height * 0.35) },
    { panel: 'models' as const, rows: counts.models, most: Math.floor(height / (callers ? 6 : 5)) },
    ...(callers ? [{ panel: 'callers' as const, rows: counts.callers, most: Math.floor(height / 10) }] : []),
    { panel: 'blocked' as const, rows: counts.blocked, most: Math.floor(height / 8) },
  ];
  const boxes = shares.map(({ panel, rows, most }): PanelBox => {
    return { panel, width, height: 2 + clamp(rows, 1, most) };
  });
  const room = height - heightOf(boxes);
  const misses = missesBox(width, room, counts);
  return [...asks, ...boxes, ...misses, { panel: 'webhooks', width, height: room - heightOf(misses) }];
}

/** Cache misses get a panel if there are any and the webhooks leave room. */
function missesBox(width: number, room: number, { misses, webhooks }: Counts): PanelBox[] {
  const height = 2 + Math.min(misses, 4);
  const left = room - height;
  return misses > 0 && left > clamp(webhooks, 1, 4) ? [{ panel: 'misses', width, height }] : [];
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}
