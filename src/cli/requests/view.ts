import type { RequestView } from '../../operations/schemas/requests.ts';
import { tokens } from '../../terminal/numbers.ts';
import { costOf, mark } from '../../terminal/request-words.ts';
import { type Column, right } from '../../terminal/table.ts';
import { type Terminal, terminalOf } from '../../terminal/terminal.ts';
import { createTimeFormat, timeColumn, tookText } from '../../terminal/time.ts';
import type { Context } from '../context.ts';
import { listText } from '../print-list.ts';

export interface TableLook {
  timezone: string;
  now: number;
  terminal: Terminal;
}

const project: Column<RequestView> = {
  header: 'project',
  value: (request) => request.project_id,
  shrinks: true,
  optional: true,
};
const took: Column<RequestView> = {
  header: 'took',
  value: ({ duration_ms }) => tookText(duration_ms),
  align: 'right',
  optional: true,
};

/** Look of a table with times. */
export function tableLook({ clock, stdout, env }: Context, timezone: string): TableLook {
  return { timezone, now: clock.now(), terminal: terminalOf(stdout, env) };
}

/** Requests as a table, newest first. */
export function requestTable(requests: RequestView[], { timezone, now, terminal }: TableLook): string {
  const { palette } = terminal;
  const timeText = timeColumn(
    requests.map(({ created_at }) => Date.parse(created_at)),
    createTimeFormat(timezone),
    now,
  );
  const manyProjects = new Set(requests.map(({ project_id }) => project_id)).size > 1;
  const columns: Column<RequestView>[] = [
    {
      header: ' ',
      value: mark,
      style: (text, { outcome }) => (outcome === 'blocked' ? palette.bad(text) : palette.warn(text)),
    },
    { header: 'id', value: ({ id }) => id },
    { header: 'time', value: ({ created_at }) => timeText(Date.parse(created_at)) },
    { header: 'model', value: modelText, shrinks: true },
    ...(manyProjects ? [project] : []),
    { header: 'st', value: ({ status }) => String(status || '-') },
    {
      ...right('in>out', (r: RequestView) => `${tokens(r.input_tokens)}>${tokens(r.output_tokens)}`),
      optional: true,
    },
    right('cost', ({ cost_nano_usd, flags }) => costOf({ costNanoUsd: cost_nano_usd, flags })),
    took,
  ];
  return listText(requests, columns, terminal, { title: `Requests (${timezone})` });
}

/**
 * The model that served the request, or would have, and the providers that failed before it. Old records may be of
 * shadow requests, which gw made itself.
 */
function modelText({ model, asked_model, fallback_from, flags, detail }: RequestView): string {
  const attempts = Array.isArray(detail.attempts) ? detail.attempts.slice(0, -1) : [];
  const failed = [...new Set(attempts.map(({ provider }: { provider?: unknown }) => String(provider)))];
  const shadow = flags.includes('shadow') ? ' (shadow)' : '';
  const fallen = fallback_from === null ? '' : ` (for ${fallback_from})`;
  return `${model || asked_model || '-'}${fallen}${failed.length > 0 ? ` (${failed.join(', ')} failed)` : ''}${shadow}`;
}
