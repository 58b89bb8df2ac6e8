export interface Size {
  columns: number;
  rows: number;
}

/** Panels in the order in which they get room: what matters most first. */
const RANKED = [
  'asks',
  'budgets',
  'running',
  'limits',
  'refused',
  'spend',
  'requests',
  'imported',
  'webhooks',
  'providers',
  'models',
  'callers',
  'misses',
  'detail',
] as const;

export type PanelName = (typeof RANKED)[number];

export function isPanel(name: unknown): name is PanelName {
  return RANKED.some((panel) => panel === name);
}

/** The lines that a budget has in a panel: two in a narrow column, if all budgets fit. */
export function budgetHeight(budgets: number, { width, height }: Pick<PanelBox, 'width' | 'height'>): 1 | 2 {
  return width < WIDE_BUDGET_FROM && height - 1 >= budgets * 2 ? 2 : 1;
}

/** Number of rows of each panel that has rows. */
export type Counts = Record<Exclude<PanelName, 'spend' | 'requests' | 'detail'>, number>;

export interface PanelBox {
  panel: PanelName;
  /** The cell of its upper left corner in the frame. */
  x: number;
  y: number;
  width: number;
  height: number;
}

/** What the mouse did at a cell of the frame. */
export interface MouseEvent {
  kind: 'click' | 'wheelup' | 'wheeldown';
  x: number;
  y: number;
}

/** A header line, columns of panels, and a footer line. */
export type Layout =
  | { kind: 'too_small' }
  | { kind: 'panels'; width: number; height: number; columns: PanelBox[][]; gap: number };

const MIN_COLUMNS = 40;
const MIN_ROWS = 8;
const GAP = 2;
const HEADER_AND_FOOTER = 2;
/** Minimum width of a column whose budgets have a line each. */
export const WIDE_BUDGET_FROM = 76;

/** Columns by the size that they need, as shares of the width and panels from the top. */
const DESIGNS: readonly {
  from: Size;
  columns: readonly { share: number; panels: readonly PanelName[] }[];
}[] = [
  {
    from: { columns: 190, rows: 34 },
    columns: [
      { share: 0.36, panels: ['asks', 'budgets', 'limits', 'running', 'refused', 'requests'] },
      { share: 0.36, panels: ['spend', 'models', 'callers', 'imported'] },
      { share: 0.28, panels: ['providers', 'misses', 'webhooks', 'detail'] },
    ],
  },
  {
    from: { columns: 100, rows: 28 },
    columns: [
      { share: 0.58, panels: ['asks', 'budgets', 'limits', 'running', 'refused', 'requests'] },
      {
        share: 0.42,
        panels: ['spend', 'models', 'callers', 'imported', 'providers', 'misses', 'webhooks', 'detail'],
      },
    ],
  },
  {
    from: { columns: 60, rows: 15 },
    columns: [
      {
        share: 1,
        panels: [
          ...['asks', 'budgets', 'limits', 'running', 'refused', 'spend', 'requests'],
          ...['models', 'callers', 'imported', 'providers', 'misses', 'webhooks'],
        ] as PanelName[],
      },
    ],
  },
  {
    from: { columns: 0, rows: 0 },
    columns: [{ share: 1, panels: ['asks', 'budgets', 'limits', 'running'] }],
  },
];

/**
 * Computes the panels that fit. The frame is one line shorter than the terminal: a frame of full height would scroll
 * the terminal and wipe the scrollback.
 */
export function layoutOf({ columns, rows }: Size, counts: Counts, zoomed: PanelName | null = null): Layout {
  if (columns < MIN_COLUMNS || rows < MIN_ROWS) return { kind: 'too_small' };
  const height = rows - 1;
  const inner = height - HEADER_AND_FOOTER;
  const frame = { kind: 'panels' as const, width: columns, height, gap: GAP };
  if (zoomed) return { ...frame, columns: [[{ panel: zoomed, x: 0, y: 1, width: columns, height: inner }]] };
  const design = DESIGNS.find(({ from }) => columns >= from.columns && rows >= from.rows);
  const shares = design?.columns ?? [];
  const room = columns - GAP * (shares.length - 1);
  let x = 0;
  return {
    ...frame,
    columns: shares.map(({ share, panels }, i) => {
      const isLast = i === shares.length - 1;
      const width = isLast ? columns - x : Math.floor(room * share);
      const left = x;
      x += width + GAP;
      return columnOf(panels, { x: left, width, height: inner }, counts);
    }),
  };
}

interface ColumnBox {
  x: number;
  width: number;
  height: number;
}

/** Each panel with something to say gets the lines that it needs, by rank; what is left goes to those that grow. */
function columnOf(panels: readonly PanelName[], { x, width, height }: ColumnBox, counts: Counts): PanelBox[] {
  const heights = new Map<PanelName, number>();
  let left = height;
  for (const panel of RANKED.filter((each) => panels.includes(each))) {
    const { least, wanted } = needOf(panel, { width, height }, counts);
    // The feed's room is not given away.
    const reserved = panels.includes('requests') && panel !== 'requests' && !heights.has('requests') ? 5 : 0;
    const given = Math.min(wanted, left - reserved);
    if (wanted === 0 || given < least) continue;
    heights.set(panel, given);
    left -= given;
  }
  const shown = panels.filter((panel) => heights.has(panel));
  const growing = shown.filter((panel) => GROWTH[panel] !== undefined);
  const takers = growing.length > 0 ? growing : shown.slice(-1);
  const weights = takers.reduce((sum, panel) => sum + (GROWTH[panel] ?? 1), 0);
  takers.forEach((panel, i) => {
    const part = i === 0 ? left - sharesOf(takers.slice(1), left, weights) : shareOf(panel, left, weights);
    heights.set(panel, (heights.get(panel) ?? 0) + part);
  });
  let y = 1;
  return shown.map((panel) => {
    const box = { panel, x, y, width, height: heights.get(panel) ?? 0 };
    y += box.height;
    return box;
  });
}

/** How much of a column's spare lines a panel takes. */
const GROWTH: Partial<Record<PanelName, number>> = { requests: 3, spend: 2, detail: 2 };

const shareOf = (panel: PanelName, left: number, weights: number) =>
  Math.floor((left * (GROWTH[panel] ?? 1)) / weights);
const sharesOf = (panels: readonly PanelName[], left: number, weights: number) =>
  panels.reduce((sum, panel) => sum + shareOf(panel, left, weights), 0);

/** The lines of a panel with its title: at least, and at best. */
function needOf(
  panel: PanelName,
  { width, height }: { width: number; height: number },
  counts: Counts,
): { least: number; wanted: number } {
  const list = (rows: number, most: number) => ({
    least: 2,
    wanted: rows === 0 ? 0 : 1 + Math.min(rows, Math.max(1, Math.floor(most))),
  });
  switch (panel) {
    case 'asks':
      return list(counts.asks, height / 8);
    case 'budgets':
      // A narrow column has two lines for each.
      return list(
        Math.max(1, counts.budgets * (width < WIDE_BUDGET_FROM && height > 30 ? 2 : 1)),
        height / 3,
      );
    case 'limits':
    case 'running':
      return list(counts[panel], height / 6);
    case 'refused':
      return list(counts.refused, height / 8);
    case 'spend':
      return { least: 3, wanted: height < 30 ? 3 : Math.floor(height * 0.36) };
    case 'requests':
      return { least: 3, wanted: 12 };
    case 'detail':
      return { least: 8, wanted: 14 };
    case 'models':
    case 'callers':
    case 'imported':
    case 'providers':
      return list(counts[panel], height / 5);
    case 'misses':
    case 'webhooks':
      return list(counts[panel], height / 6);
  }
}
