import { readFile } from 'node:fs/promises';
import { NO_USAGE } from '../../usage.ts';
import { field, textField, timeField } from './fields.ts';
import type { AgentLog, LoggedCall } from './logged-call.ts';
import type { LineReader } from './read-lines.ts';

/** The columns' sum is `Total Tokens`: https://github.com/pingdotgg/t3code/pull/6046. */
const COLUMNS = {
  written: 'Input (w/ Cache Write)',
  fresh: 'Input (w/o Cache Write)',
  cached: 'Cache Read',
  output: 'Output Tokens',
} as const;

/**
 * Cursor's usage export, a CSV file from its dashboard: Cursor keeps no usage on the machine. A row a request, without
 * ids, sessions and folders.
 */
export const CURSOR_EXPORT: AgentLog = {
  folders: () => [],
  isLog: () => false,
  recognizes: (line) =>
    typeof line === 'string' &&
    line.includes('Model') &&
    Object.values(COLUMNS).every((name) => line.includes(name)),
  markers: [COLUMNS.output],
  readLines: readRows,
  createParser: () => ({ parse: parseRow }),
};

async function readRows(...[path, { onLine, onBytes }]: Parameters<LineReader>): Promise<boolean> {
  const { parse } = await import('csv-parse/sync');
  const text = await readFile(path);
  const rows: unknown[] = parse(text, { bom: true, columns: true, skip_empty_lines: true, trim: true });
  for (const row of rows) onLine(Buffer.from(JSON.stringify(row)));
  onBytes?.(text.length);
  return true;
}

function parseRow(text: string): LoggedCall | undefined {
  const row: unknown = JSON.parse(text);
  const at = timeField(row, 'Date');
  const count = (name: keyof typeof COLUMNS) => Math.max(0, Number(field(row, COLUMNS[name])) || 0);
  const [cached, written] = [count('cached'), count('written')];
  const inputTokens = cached + written + count('fresh');
  if (at === undefined || inputTokens + count('output') === 0) return undefined;
  const model = textField(row, 'Model');
  return {
    key: `${at} ${model} ${inputTokens} ${count('output')}`,
    ...{ messageId: '', requestId: '', sessionId: '', agentVersion: '', provider: '', cwd: '' },
    model,
    at,
    usage: {
      ...NO_USAGE,
      ...{ inputTokens, cachedInputTokens: cached, cacheWriteTokens: written, outputTokens: count('output') },
    },
  };
}
