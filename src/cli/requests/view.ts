import { formatRequestId } from '../../ids.ts';
import type { LoggedRequest } from '../../store/requests/request-log.ts';
import { tokens } from '../../terminal/numbers.ts';
import { costOf, mark } from '../../terminal/request-words.ts';
import { type Column, table } from '../../terminal/table.ts';
import type { Terminal } from '../../terminal/terminal.ts';
import { createTimeFormat, timeColumn, tookText } from '../../terminal/time.ts';

/** Narrower terminals have no room for both the project and the duration. */
const WIDE_COLUMNS = 100;

const project: Column<LoggedRequest> = {
  header: 'project',
  value: (request) => request.project,
  shrinks: true,
};
const took: Column<LoggedRequest> = {
  header: 'took',
  value: ({ durationMs }) => tookText(durationMs),
  align: 'right',
};

/** Requests as a table, newest first. */
export function requestTable(requests: LoggedRequest[], timezone: string, terminal: Terminal): string {
  const { palette } = terminal;
  const timeText = timeColumn(
    requests.map(({ timeMs }) => timeMs),
    createTimeFormat(timezone),
  );
  const manyProjects = new Set(requests.map(({ project }) => project)).size > 1;
  const columns: Column<LoggedRequest>[] = [
    {
      header: ' ',
      value: mark,
      style: (text, { outcome }) => (outcome === 'blocked' ? palette.bad(text) : palette.warn(text)),
    },
    { header: 'id', value: ({ id }) => formatRequestId(id) },
    { header: 'time', value: ({ timeMs }) => timeText(timeMs) },
    { header: 'model', value: modelText, shrinks: true },
    ...(manyProjects ? [project] : []),
    { header: 'st', value: ({ status }) => String(status || '-') },
    { header: 'in>out', value: (r) => `${tokens(r.inputTokens)}>${tokens(r.outputTokens)}`, align: 'right' },
    { header: 'cost', value: costOf, align: 'right' },
    ...(manyProjects && terminal.columns < WIDE_COLUMNS ? [] : [took]),
  ];
  return [palette.bold(`Requests (${timezone})`), '', ...table(requests, columns, { terminal })].join('\n');
}

/** The model that served the request, or would have. Old records may be of shadow requests, which gw made itself. */
function modelText({ model, askedModel, flags }: LoggedRequest): string {
  return `${model || askedModel || '-'}${flags.includes('shadow') ? ' (shadow)' : ''}`;
}
