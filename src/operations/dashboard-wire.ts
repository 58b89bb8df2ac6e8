import { formatRequestId, parseRequestId } from '../ids.ts';
import { isObject } from '../json/object.ts';
import type { DashboardReading } from './reader.ts';
import type { DashboardView } from './schemas/dashboard.ts';

/** A reading as the HTTP API returns it: field names in snake case, ids of requests as text, null for the future. */
export function encodeDashboard(reading: DashboardReading): DashboardView {
  const { budgets, asks, running, requests, series, ...rest } = reading;
  const encoded = {
    ...rest,
    series: series.map((cost) => cost ?? null),
    running: running.map((row) => ({ ...row, id: formatRequestId(row.id) })),
    requests: requests.map((row) => ({ ...row, id: formatRequestId(row.id), budget: row.budget ?? null })),
  };
  // Renaming keeps the types of the values; the schema's test validates the fields.
  return { ...(renameFields(encoded, snakeCase) as Omit<DashboardView, 'budgets' | 'asks'>), budgets, asks };
}

/** The reading of an answer. */
export function decodeDashboard(view: DashboardView): DashboardReading {
  const { budgets, asks = [], misses = [], running: runs = [], ...others } = view;
  const decoded = renameFields({ ...others, misses, running: runs }, camelCase) as Decoded;
  const { running, requests, series, ...rest } = decoded;
  return {
    ...rest,
    series: series.map((cost) => cost ?? undefined),
    running: running.map(({ id, ...row }) => ({ ...row, id: parseRequestId(id) ?? 0 })),
    requests: requests.map(({ budget, id, ...row }) => ({
      ...row,
      id: parseRequestId(id) ?? 0,
      ...(budget === null ? {} : { budget }),
    })),
    budgets,
    asks,
  };
}

type Row = DashboardReading['requests'][number];

interface Decoded extends Omit<DashboardReading, 'budgets' | 'asks' | 'running' | 'requests' | 'series'> {
  running: (Omit<DashboardReading['running'][number], 'id'> & { id: string })[];
  series: (number | null)[];
  requests: (Omit<Row, 'id' | 'budget'> & { id: string; budget: string | null })[];
}

/** Renames the fields of all objects in a value. */
function renameFields(value: unknown, rename: (name: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each) => renameFields(each, rename));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [rename(name), renameFields(each, rename)]),
  );
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const camelCase = (name: string) => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
