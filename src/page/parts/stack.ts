import { remembered } from '../../json/grouped.ts';
/** A part of each bar or area: its name, its values in order, and their sum. */
export interface Layer {
  name: string;
  values: number[];
  total: number;
}

/** How many layers have a colour of their own; the others are one. */
const MAX_LAYERS = 7;

interface Cell {
  at: string;
  name: string;
  value: number;
}

/** Layers of the values at each of `places`, the largest first. The smallest are merged into one. */
export function layersOf(cells: readonly Cell[], places: readonly string[]): Layer[] {
  const position = new Map(places.map((place, i) => [place, i]));
  const layers = new Map<string, Layer>();
  for (const { at, name, value } of cells) {
    const i = position.get(at);
    if (i === undefined || value === 0) continue;
    const layer = remembered(layers, name, () => ({ name, values: places.map(() => 0), total: 0 }));
    layer.values[i] = (layer.values[i] ?? 0) + value;
    layer.total += value;
  }
  const sorted = [...layers.values()].sort((a, b) => b.total - a.total || (a.name < b.name ? -1 : 1));
  if (sorted.length <= MAX_LAYERS) return sorted;
  return [...sorted.slice(0, MAX_LAYERS - 1), merged(sorted.slice(MAX_LAYERS - 1))];
}

function merged(layers: readonly Layer[]): Layer {
  const values = (layers[0]?.values ?? []).map((_, i) =>
    layers.reduce((sum, layer) => sum + (layer.values[i] ?? 0), 0),
  );
  return {
    name: `${layers.length} others`,
    values,
    total: layers.reduce((sum, { total }) => sum + total, 0),
  };
}

/** The upper edge of each layer on those before it, as charts draw them. */
export function stacked(layers: readonly Layer[]): number[][] {
  let below: number[] = [];
  return layers.map(({ values }) => {
    below = values.map((value, i) => value + (below[i] ?? 0));
    return below;
  });
}
