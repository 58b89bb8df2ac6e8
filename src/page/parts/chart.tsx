import { useEffect, useRef, useSyncExternalStore } from 'preact/compat';
import uPlot from 'uplot';
import { type Layer, stacked } from './stack.ts';

interface ChartProps {
  /** What it shows, for whoever can't see it. */
  label: string;
  /** The places of the values: `14:00`, `2026-11-20`. */
  places: readonly string[];
  layers: readonly Layer[];
  kind: 'bars' | 'areas' | 'lines';
  /** A value as text, such as an amount. */
  text(value: number): string;
  /** A height to draw a line at, such as a cap. */
  limit?: number | undefined;
}

const HEIGHT = 220;
/** uPlot writes its labels into a canvas, which takes no font from the style sheet. */
const FONT = '12px ui-sans-serif, system-ui, sans-serif';
const dark = typeof matchMedia === 'undefined' ? undefined : matchMedia('(prefers-color-scheme: dark)');

/** The colours of the style sheet, which change with the light. */
function useIsDark(): boolean {
  return useSyncExternalStore(
    (listener) => {
      dark?.addEventListener('change', listener);
      return () => dark?.removeEventListener('change', listener);
    },
    () => dark?.matches ?? false,
  );
}

/** Layers on each other over time, with the amounts under the pointer below. */
export function Chart(props: ChartProps) {
  const { label, places, layers, kind, text, limit } = props;
  const frame = useRef<HTMLDivElement>(null);
  const isDark = useIsDark();
  const drawn = JSON.stringify([places, layers, kind, limit, isDark]);
  const latest = useRef(props);
  latest.current = props;
  // biome-ignore lint/correctness/useExhaustiveDependencies: `drawn` says whether anything has changed
  useEffect(() => {
    const parent = frame.current;
    if (!parent) return;
    const plot = new uPlot(optionsOf(latest.current, parent), dataOf(latest.current), parent);
    const observer = new ResizeObserver(() => plot.setSize({ width: parent.clientWidth, height: HEIGHT }));
    observer.observe(parent);
    return () => {
      observer.disconnect();
      plot.destroy();
    };
  }, [drawn]);
  return (
    <figure className="chart">
      <div ref={frame} className="plot" role="img" aria-label={label} />
      {kind === 'lines' ? null : (
        <ul className="legend">
          {layers.map(({ name, total }, i) => (
            <li key={name}>
              <i className={`swatch c${i + 1}`} />
              {name} <b>{text(total)}</b>
            </li>
          ))}
        </ul>
      )}
    </figure>
  );
}

/** The upper layers first: each is drawn from the ground, and the next over it. */
function dataOf({ places, layers, kind, limit }: ChartProps): uPlot.AlignedData {
  // Without a line on the ground where there is nothing.
  const drawn = (value: number) => (kind === 'bars' && value === 0 ? null : value);
  const edges =
    kind === 'lines'
      ? layers.map(({ values }) => places.map((_, i) => values[i] ?? null))
      : stacked(layers)
          .reverse()
          .map((edge) => edge.map(drawn));
  const line = limit === undefined ? [] : [places.map(() => limit)];
  return [places.map((_, i) => i), ...edges, ...line];
}

function optionsOf({ places, layers, kind, text, limit }: ChartProps, parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const order = layers.map((_, i) => (kind === 'lines' ? i : layers.length - 1 - i));
  const series = order.map((i): uPlot.Series => {
    const fill = colour(`--c${i + 1}`);
    if (kind === 'lines') return { label: layers[i]?.name ?? '', stroke: fill, width: 2 };
    return {
      label: layers[i]?.name ?? '',
      fill,
      stroke: fill,
      width: 1,
      points: { show: false },
      ...(kind === 'bars' ? { paths: bars() } : {}),
    };
  });
  const line: uPlot.Series[] =
    limit === undefined
      ? []
      : [{ label: 'cap', stroke: colour('--bad'), width: 1, dash: [6, 4], points: { show: false } }];
  const axis = { stroke: colour('--quiet'), font: FONT, ticks: { show: false }, gap: 6 };
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_, min, max) => (kind === 'bars' ? [min - 0.6, max + 0.6] : [min, max]) },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.08 : 1] },
    },
    axes: [
      {
        ...axis,
        grid: { show: false },
        values: (_, at) => at.map((i) => placeText(places[i] ?? '')),
        size: 28,
        space: 64,
        incrs: INCREMENTS,
      },
      {
        ...axis,
        grid: { stroke: colour('--line'), width: 1 },
        values: (_, at) => at.map(text),
        size: 64,
        space: 40,
      },
    ],
    series: [{}, ...series, ...line],
  };
}

/** Distances between labels: whole places. */
const INCREMENTS = [1, 2, 3, 6, 7, 12, 14, 28, 56, 112, 365];

/** The builder of bars; uPlot's types allow for builds without it. */
const bars = () => uPlot.paths.bars?.({ size: [0.72, 48] }) ?? (() => null);

/** `11-20` of a day. */
const placeText = (place: string) => place.replace(/^\d{4}-/, '');
