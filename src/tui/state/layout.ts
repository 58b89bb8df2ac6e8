export interface Size {
  columns: number;
  rows: number;
}

/** What the layout needs to know of the content. */
export interface Counts {
  budgets: number;
  models: number;
  /** None where gw does not look for them. */
  callers: number;
  blocked: number;
  webhooks: number;
}

export type PanelName =
  | 'today'
  | 'budgets'
  | 'requests'
  | 'detail'
  | 'models'
  | 'callers'
  | 'blocked'
  | 'webhooks';

export interface Place {
  panel: PanelName;
  width: number;
  height: number;
}

/** Where everything goes: a line at the top and at the bottom, and columns of panels between. */
export type Layout =
  | { kind: 'too_small' }
  | { kind: 'panels'; width: number; height: number; columns: Place[][]; gap: number };

const MIN_COLUMNS = 40;
const MIN_ROWS = 8;
const TWO_COLUMNS_FROM = { columns: 100, rows: 28 };
const BUDGETS_ALONE_BELOW = { columns: 60, rows: 15 };
const CALLERS_FROM = 34;
const GAP = 2;
const HEADER_AND_FOOTER = 2;

/**
 * Decides what fits. The frame is a line less than the terminal: one as high would scroll it, and wipe what can be
 * scrolled back to.
 */
export function layoutOf({ columns, rows }: Size, counts: Counts): Layout {
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) return { kind: 'too_small' };
  const height = rows - 1;
  const inner = height - HEADER_AND_FOOTER;
  const frame = { kind: 'panels' as const, width: columns, height, gap: GAP };
  if (columns < BUDGETS_ALONE_BELOW.columns || rows < BUDGETS_ALONE_BELOW.rows) {
    return { ...frame, columns: [[{ panel: 'budgets', width: columns, height: inner }]] };
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

function oneColumn(width: number, height: number, counts: Counts): Place[] {
  const fixed: Place[] = [{ panel: 'today', width, height: 3 }];
  const room = height - 3;
  const budgets = 1 + clamp(counts.budgets, 1, Math.max(2, Math.floor(room / 4)));
  const webhooks = counts.webhooks > 0 ? 1 + clamp(counts.webhooks, 1, Math.max(1, Math.floor(room / 9))) : 0;
  let left = room - budgets - webhooks;
  const extra: Place[] = [];
  // The feed keeps ten lines before anything else gets one.
  for (const [panel, wanted] of [
    ['blocked', counts.blocked],
    ['models', counts.models],
    ['callers', counts.callers],
  ] as const) {
    const lines = 1 + clamp(wanted, 1, 4);
    if (wanted === 0 || left - lines < 10) continue;
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

function leftColumn(width: number, height: number): Place[] {
  const today = clamp(Math.floor(height / 4), 7, 10);
  const detail = clamp(Math.floor(height / 3), 8, 16);
  return [
    { panel: 'today', width, height: today },
    { panel: 'requests', width, height: height - today - detail },
    { panel: 'detail', width, height: detail },
  ];
}

/** Each panel has what it needs, up to its share, and a blank line below; the last one has the rest. */
function rightColumn(width: number, height: number, counts: Counts): Place[] {
  const callers = height >= CALLERS_FROM && counts.callers > 0;
  const shares = [
    { panel: 'budgets' as const, wanted: 2 * counts.budgets, most: Math.floor(height * 0.35) },
    { panel: 'models' as const, wanted: counts.models, most: Math.floor(height / (callers ? 6 : 5)) },
    ...(callers ? [{ panel: 'callers' as const, wanted: counts.callers, most: Math.floor(height / 8) }] : []),
    { panel: 'blocked' as const, wanted: counts.blocked, most: Math.floor(height / 8) },
  ];
  const places = shares.map(({ panel, wanted, most }): Place => {
    return { panel, width, height: 2 + clamp(wanted, 1, most) };
  });
  const used = places.reduce((sum, place) => sum + place.height, 0);
  return [...places, { panel: 'webhooks', width, height: height - used }];
}

function clamp(value: number, least: number, most: number): number {
  return Math.max(least, Math.min(most, value));
}
