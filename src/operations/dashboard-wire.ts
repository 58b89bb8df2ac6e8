import { formatRequestId, parseRequestId } from '../ids.ts';
import { isObject } from '../json/object.ts';
import { NO_STREAM } from '../store/dashboard/running.ts';
import type { DashboardReading } from './reader.ts';
import type { DashboardView } from './schemas/dashboard.ts';

/** A reading as the HTTP API returns it: field names in snake case, ids of requests as text, null for the future. */
export function encodeDashboard(reading: DashboardReading): DashboardView {
  const { budgets, asks, runaways, limits, imported, running, waiting, requests, series, parts, ...rest } =
    reading;
  const withId = <T extends { id: number }>(row: T) => ({ ...row, id: formatRequestId(row.id) });
  const encoded = {
    ...rest,
    series: series.map((cost) => cost ?? null),
    parts: parts.map((part) => ({ ...part, series: part.series.map((cost) => cost ?? null) })),
    running: running.map(withId),
    waiting: waiting.map(withId),
    requests: requests.map((row) => ({ ...withId(row), budget: row.budget ?? null })),
  };
  // Renaming keeps the types of the values; the schema's test validates the fields.
  const renamed = renameFields(encoded, snakeCase) as Omit<DashboardView, Viewed>;
  return { ...renamed, budgets, asks, runaways, limits, imported };
}

/** The reading of an answer. */
export function decodeDashboard(view: DashboardView): DashboardReading {
  const {
    budgets,
    asks = [],
    limits = [],
    imported = [],
    runaways = [],
    misses = [],
    running: runs = [],
    waiting: waits = [],
    parts: stack = [],
    trends = [],
    ...others
  } = view;
  const decoded = renameFields(
    { ...others, misses, running: runs, waiting: waits, parts: stack, trends },
    camelCase,
  ) as Decoded;
  const { running, waiting, requests, series, parts, ...rest } = decoded;
  const withId = <T extends { id: string }>(row: T) => ({ ...row, id: parseRequestId(row.id) ?? 0 });
  return {
    ...rest,
    series: series.map((cost) => cost ?? undefined),
    parts: parts.map((part) => ({ ...part, series: part.series.map((cost) => cost ?? undefined) })),
    // Older versions say nothing of streams.
    running: running.map((row) => ({ ...NO_STREAM, ...withId(row) })),
    waiting: waiting.map(withId),
    requests: requests.map(({ budget, ...row }) => ({
      ...withId(row),
      ...(budget === null ? {} : { budget }),
    })),
    budgets,
    asks,
    limits,
    imported,
    runaways,
  };
}

type Row = DashboardReading['requests'][number];

type Encoded<T> = Omit<T, 'id'> & { id: string };

/** The fields whose rows are views already. */
type Viewed = 'budgets' | 'asks' | 'runaways' | 'limits' | 'imported';

interface Decoded
  extends Omit<DashboardReading, Viewed | 'running' | 'waiting' | 'requests' | 'series' | 'parts'> {
  running: Encoded<DashboardReading['running'][number]>[];
  waiting: Encoded<DashboardReading['waiting'][number]>[];
  series: (number | null)[];
  parts: { name: string | null; series: (number | null)[] }[];
  requests: (Encoded<Omit<Row, 'budget'>> & { budget: string | null })[];
}

function renameFields(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renameFields(each, rename));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [rename(name), renameFields(each, rename)]),
  );
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
